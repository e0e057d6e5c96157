"""The two resamplings of hint maps, in integers, equal to OpenCV's for 8-bit pictures.

`bilinear` is ``cv2.resize(..., interpolation=cv2.INTER_LINEAR)``: no antialiasing, weights of 11 bits. `nearest` is
``cv2.INTER_NEAREST``. Both were written from the definition and are held to OpenCV by test.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

_ONE = 1 << 11


def nearest(values: NDArray[T], height: int, width: int) -> NDArray[T]:
    """Resample by the nearest pixel, as OpenCV rounds.

    Args:
        values: height x width, or height x width x channels, any type.
        height, width: the size wanted, in pixels.

    Returns:
        A new array of that size and the same type. Each value is one of the input's.
    """
    rows = _nearest_places(values.shape[0], height)
    columns = _nearest_places(values.shape[1], width)
    return np.ascontiguousarray(values[rows[:, None], columns[None, :]])


def _nearest_places(source: int, target: int) -> NDArray[np.int64]:
    # The step is the inverse of the scale, not source / target: the two round differently for some sizes.
    step = 1.0 / (target / source)
    places: NDArray[np.int64] = np.floor(np.arange(target) * step).astype(np.int64)
    return np.minimum(places, source - 1)


def bilinear(picture: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """Resample an 8-bit picture bilinearly between the four nearest pixels, without antialiasing.

    Args:
        picture: uint8, height x width x channels.
        height, width: the size wanted, in pixels.

    Returns:
        uint8, the new size. The picture itself where the size is the same already.
    """
    if picture.shape[:2] == (height, width):
        return picture.copy()
    rows, row_weights = _linear_places(picture.shape[0], height)
    columns, column_weights = _linear_places(picture.shape[1], width)
    # The weight of a pixel outside the picture goes to the border pixel, along a row at once, along a column at last.
    left, right = (np.clip(columns + side, 0, picture.shape[1] - 1) for side in (0, 1))
    upper, lower = (np.clip(rows + side, 0, picture.shape[0] - 1) for side in (0, 1))
    used, inverse = np.unique(np.stack([upper, lower]), return_inverse=True)
    needed = picture[used].astype(np.int32)
    across = needed[:, left] * column_weights[0][:, None] + needed[:, right] * column_weights[1][:, None]
    # 22 fraction bits are cut to 18 before the second product and to 2 after it; then the sum is rounded.
    across >>= 4
    above, below = across[inverse.reshape(2, -1)]
    total: NDArray[Any] = ((row_weights[0][:, None, None] * above) >> 16) + (
        (row_weights[1][:, None, None] * below) >> 16
    )
    rounded: NDArray[np.uint8] = np.clip((total + 2) >> 2, 0, 255).astype(np.uint8)
    return rounded


def _linear_places(source: int, target: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The first of the two source places for each target place, and both weights in units of 1 / 2048."""
    scale = 1.0 / (target / source)
    position = ((np.arange(target) + 0.5) * scale - 0.5).astype(np.float32)
    first = np.floor(position)
    part = (position - first).astype(np.float32)
    weights = np.stack([np.float32(1) - part, part]) * np.float32(_ONE)
    return first.astype(np.int64), np.rint(weights).astype(np.int32)
