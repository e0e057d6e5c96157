"""Resize to fill and crop the centre. STUB: signatures only, being written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class FillGeometry:
    height: int          # source
    width: int
    new_height: int      # after the resize
    new_width: int
    top: int             # of the crop
    left: int
    target_height: int
    target_width: int


def fill_geometry(source: tuple[int, int], target: tuple[int, int]) -> FillGeometry:
    """(height, width) of source and target."""
    raise NotImplementedError


def fill_resize(frame: NDArray[Any], geometry: FillGeometry) -> NDArray[np.float32]:
    """H x W or H x W x C of any real type, to the target's size; not rounded."""
    raise NotImplementedError


def fill_coverage(mask: NDArray[np.bool_], geometry: FillGeometry) -> NDArray[np.bool_]:
    """H x W: True where the target pixel's exact source box touches a True pixel with positive area."""
    raise NotImplementedError
