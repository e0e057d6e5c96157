"""Deterministic hints for colourisation: regions of an image, one scribble and one dot for each of them."""

from __future__ import annotations

from pixelgate.hints.drawing import hint_picture
from pixelgate.hints.generate import PAPER_SIZE, PATH_METHODS, generate_hints
from pixelgate.hints.ratios import (
    PAPER_GRID,
    RatioError,
    alpha_dir_name,
    check_alphas,
    is_paper_grid,
    parse_ratio_name,
    read_ratio_names,
)
from pixelgate.hints.result import KINDS, ORDERS, TIE_BREAKS, Hints
from pixelgate.hints.segmenters import SEGMENTERS
from pixelgate.hints.stored import read_stored_maps, save_maps

__all__ = [
    "KINDS",
    "ORDERS",
    "PAPER_GRID",
    "PAPER_SIZE",
    "PATH_METHODS",
    "SEGMENTERS",
    "TIE_BREAKS",
    "Hints",
    "RatioError",
    "alpha_dir_name",
    "check_alphas",
    "generate_hints",
    "hint_picture",
    "is_paper_grid",
    "parse_ratio_name",
    "read_ratio_names",
    "read_stored_maps",
    "save_maps",
]
