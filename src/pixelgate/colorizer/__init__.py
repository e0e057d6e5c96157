"""A Python function as the method: evaluation over the hint ratios, kept runs, baselines, curves as pictures."""

from __future__ import annotations

from pixelgate.colorizer.baseline import hint_fill_colorizer, plain_colorizer, spread_colorizer
from pixelgate.colorizer.canny import canny_line_art
from pixelgate.colorizer.evaluate import evaluate_colorizer
from pixelgate.colorizer.manifest import (
    Manifest,
    check,
    check_ground_truths,
    check_layout,
    check_predictions,
    read_manifest,
)
from pixelgate.colorizer.plot import plot_curves
from pixelgate.colorizer.rescore import rescore
from pixelgate.colorizer.result import ColorizerResult
from pixelgate.colorizer.sample import ColorizerError

__all__ = [
    "ColorizerError",
    "ColorizerResult",
    "Manifest",
    "canny_line_art",
    "check",
    "check_ground_truths",
    "check_layout",
    "check_predictions",
    "evaluate_colorizer",
    "hint_fill_colorizer",
    "plain_colorizer",
    "plot_curves",
    "read_manifest",
    "rescore",
    "spread_colorizer",
]
