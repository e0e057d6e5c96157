"""Resize to fill and crop the centre: how a reference is brought to the size of the generated clip.

The picture is scaled by one factor until it covers the target, then the middle is cut out. The filter is bilinear
with half-pixel centres and no antialias, in float32. The scaled size is rounded up in floating point, so that
316 rows brought to 480 give 481.

Source: the transform that LTX-2 applies to the videos it is conditioned on (resize and centre crop, there with
PyTorch's ``interpolate(mode="bilinear", align_corners=False)``), so that the compared region is the one that the
generator saw.
"""

from __future__ import annotations

import functools
import importlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]
Weights = NDArray[np.float32]


@dataclass(frozen=True)
class FillGeometry:
    """How a source size comes to a target size; all in pixels.

    Attributes:
        height, width: of the source.
        new_height, new_width: after the resize, before the crop.
        top, left: rows and columns cut off before the target begins.
        target_height, target_width: of the result.
    """

    height: int
    width: int
    new_height: int
    new_width: int
    top: int
    left: int
    target_height: int
    target_width: int

    @property
    def unchanged(self) -> bool:
        """Whether source and target have the same size, so that nothing is done."""
        return (self.height, self.width) == (self.target_height, self.target_width)


@dataclass(frozen=True)
class Taps:
    """The two source positions that each target position of one axis is blended from.

    Attributes:
        first, second: source indices; equal where the second would have no weight.
        weights: 2 x N, float32, of the first and of the second; they sum to 1.
    """

    first: Indices
    second: Indices
    weights: Weights


def fill_geometry(source: tuple[int, int], target: tuple[int, int]) -> FillGeometry:
    """The geometry for a source and a target size, both (height, width).

    With s = max(H/h, W/w) the new size is ceil(h s) x ceil(w s), all in floating point; the crop begins at
    floor((new - target) / 2).

    Raises:
        ValueError: a side is below 1.
    """
    (height, width), (target_height, target_width) = source, target
    if min(*source, *target) < 1:
        raise ValueError(f"sides must be at least 1 pixel; got {source} and {target}")
    scale = max(target_height / height, target_width / width)
    new_height, new_width = math.ceil(height * scale), math.ceil(width * scale)
    top, left = (new_height - target_height) // 2, (new_width - target_width) // 2
    return FillGeometry(height, width, new_height, new_width, top, left, target_height, target_width)


def fill_resize(frame: NDArray[Any], geometry: FillGeometry) -> NDArray[np.float32]:
    """Bring a picture to the target's size.

    Args:
        frame: H x W or H x W x C, integers or floats of any range; computed in float32.
        geometry: of `fill_geometry`, for a source of this height and width.

    Returns:
        float32, target height x target width (x C), not rounded, a new array. With equal sizes the values are the
        frame's own. NaN and infinity spread to the pixels that they have weight in.

    Raises:
        ValueError: the frame has another shape or a type that is no real number.
    """
    if frame.ndim not in {2, 3} or frame.shape[:2] != (geometry.height, geometry.width):
        raise ValueError(f"a frame of {geometry.height} x {geometry.width} pixels is wanted; got shape {frame.shape}")
    if frame.dtype.kind not in "buif":
        raise ValueError(f"a frame holds real numbers; got {frame.dtype}")
    if geometry.unchanged:
        return frame.astype(np.float32)
    values = frame if frame.dtype == np.uint8 else frame.astype(np.float32, copy=False)
    cube = np.ascontiguousarray(values if frame.ndim == 3 else values[:, :, np.newaxis])
    out = np.empty((geometry.target_height, geometry.target_width, cube.shape[2]), dtype=np.float32)
    rows, columns = taps(geometry)
    _kernels().blend(cube, rows, columns, out)
    return out if frame.ndim == 3 else out[:, :, 0]


def fill_coverage(mask: Bools, geometry: FillGeometry) -> Bools:
    """Which target pixels touch a masked source pixel.

    Args:
        mask: bool, H x W, True is masked.
        geometry: of `fill_geometry`, for a source of this height and width.

    Returns:
        bool, target height x target width, a new array: True where the box of the source that the target pixel
        stands for overlaps a True pixel with positive area. The boxes' borders are exact fractions.

    Raises:
        ValueError: the mask has another shape or type.
    """
    _check_mask(mask, geometry)
    if geometry.unchanged:
        return mask.copy()
    (top, bottom), (left, right) = _boxes(geometry)
    lines = _any_between(mask, top, bottom, 0)
    return np.ascontiguousarray(_any_between(lines, left, right, 1))


def fill_bilinear_support(mask: Bools, geometry: FillGeometry) -> Bools:
    """Which target pixels `fill_resize` blends from a masked source pixel, with any weight above zero.

    Args, returns and errors as in `fill_coverage`. When a picture is made smaller this may miss masked pixels that
    `fill_coverage` finds, since the filter skips source pixels; when it is made larger it reaches further.
    """
    _check_mask(mask, geometry)
    if geometry.unchanged:
        return mask.copy()
    rows, columns = taps(geometry)
    lines = mask[rows.first] | mask[rows.second]
    return np.ascontiguousarray(lines[:, columns.first] | lines[:, columns.second])


@functools.lru_cache(maxsize=64)
def taps(geometry: FillGeometry) -> tuple[Taps, Taps]:
    """What the target's rows and columns are blended from. The arrays are shared: they cannot be written to."""
    return (
        _axis_taps(geometry.height, geometry.new_height, geometry.top, geometry.target_height),
        _axis_taps(geometry.width, geometry.new_width, geometry.left, geometry.target_width),
    )


def _axis_taps(size: int, new_size: int, start: int, count: int) -> Taps:
    # float32 throughout, since PyTorch computes positions so: double precision would move them by up to 1e-4 pixels.
    step = np.float32(size) / np.float32(new_size)
    centres = np.arange(start, start + count, dtype=np.float32) + np.float32(0.5)
    # Product and difference are rounded once: PyTorch's builds fuse them.
    positions = (centres.astype(np.float64) * step - 0.5).astype(np.float32)
    positions = np.maximum(positions, np.float32(0))
    first = np.minimum(positions.astype(np.intp), size - 1)
    share = np.clip(positions - first.astype(np.float32), np.float32(0), np.float32(1))
    # A neighbour without weight is not read: NaN times zero is NaN.
    second = np.where(share > 0, np.minimum(first + 1, size - 1), first)
    weights = np.stack([np.float32(1) - share, share])
    for array in (first, second, weights):
        array.flags.writeable = False
    return Taps(first, second, weights)


def _boxes(geometry: FillGeometry) -> tuple[tuple[Indices, Indices], tuple[Indices, Indices]]:
    return (
        _axis_boxes(geometry.height, geometry.new_height, geometry.top, geometry.target_height),
        _axis_boxes(geometry.width, geometry.new_width, geometry.left, geometry.target_width),
    )


def _axis_boxes(size: int, new_size: int, start: int, count: int) -> tuple[Indices, Indices]:
    places = np.arange(start, start + count, dtype=np.intp)
    return places * size // new_size, -(-(places + 1) * size // new_size)


def _any_between(mask: Bools, begin: Indices, end: Indices, axis: int) -> Bools:
    """Whether any value from `begin` to before `end` is True, for each pair, along one axis."""
    found = np.take(mask, begin, axis)
    for offset in range(1, int((end - begin).max())):
        found |= np.take(mask, np.minimum(begin + offset, end - 1), axis)
    return found


def _check_mask(mask: Bools, geometry: FillGeometry) -> None:
    if mask.dtype != np.bool_ or mask.shape != (geometry.height, geometry.width):
        wanted = f"{geometry.height} x {geometry.width}"
        raise ValueError(f"a mask is bool, {wanted} pixels; got {mask.dtype}, shape {mask.shape}")


def _kernels() -> Any:
    from pixelgate.metrics._backend import backend

    name = "_numba_fill" if backend().name == "numba" else "_numpy_fill"
    return importlib.import_module(f"pixelgate.io.{name}")
