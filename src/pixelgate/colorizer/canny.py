"""Canny's edge detector in whole numbers, equal to OpenCV's with its defaults, and line art made with it.

OpenCV is optional here, and the demo's line art is 255 minus its edges. Written from the definition (J. Canny, "A
computational approach to edge detection", 1986; OpenCV's documented choices: 3 x 3 Sobel, borders repeated, gradient
as |dx| + |dy|, directions told apart at 22.5 degrees in 15-bit fractions) and held to OpenCV's results by test.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pixelgate.colorizer.grey import grey

Picture = NDArray[np.uint8]
_Whole = NDArray[np.int64]

LOW, HIGH = 50, 150
"""Thresholds of the demo's line art."""

_BITS = 15
_TAN_22_5 = round((2**0.5 - 1) * (1 << _BITS))


def canny_line_art(picture: Picture, low: int = LOW, high: int = HIGH) -> Picture:
    """Black edges on white: 255 minus `canny` of the picture's grey values.

    Args:
        picture: uint8, height x width x 3, RGB.
        low, high: thresholds of the gradient, see `canny`.

    Returns:
        uint8, height x width, 0 and 255.
    """
    return np.uint8(255) - canny(grey(picture), low, high)


def canny(values: Picture, low: int = LOW, high: int = HIGH) -> Picture:
    """Edges by Canny's method, as ``cv2.Canny(values, low, high)`` gives them.

    Args:
        values: uint8, height x width, grey.
        low: a pixel whose gradient is above it belongs to an edge that is connected with a stronger pixel.
        high: a pixel whose gradient is above it begins an edge.

    Returns:
        uint8, height x width: 255 on edges, 0 elsewhere.
    """
    from scipy import ndimage

    dx, dy = _sobel(values)
    strength = np.abs(dx) + np.abs(dy)
    thin = _local_maxima(dx, dy, strength) & (strength > low)
    pieces, count = ndimage.label(thin, structure=np.ones((3, 3), dtype=bool))
    strong = np.zeros(count + 1, dtype=bool)
    strong[pieces[thin & (strength > high)]] = True
    return np.where(strong[pieces], np.uint8(255), np.uint8(0))


def _sobel(values: Picture) -> tuple[_Whole, _Whole]:
    wide = np.pad(values.astype(np.int64), 1, mode="edge")
    down = wide[:-2] + 2 * wide[1:-1] + wide[2:]
    across = wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]
    return down[:, 2:] - down[:, :-2], across[2:] - across[:-2]


def _local_maxima(dx: _Whole, dy: _Whole, strength: _Whole) -> NDArray[np.bool_]:
    """Where the gradient is no weaker than at its two neighbours along it; outside the picture it is 0."""
    wide = np.pad(strength, 1)
    height, width = strength.shape

    def at(down: int, right: int) -> _Whole:
        return wide[1 + down : 1 + down + height, 1 + right : 1 + right + width]

    x, y = np.abs(dx), np.abs(dy) << _BITS
    flat = x * _TAN_22_5
    # tan 67.5 = tan 22.5 + 2
    across, down = y < flat, y > flat + (x << (_BITS + 1))
    falling = (dx < 0) == (dy < 0)
    one = np.where(falling, at(-1, -1), at(-1, 1))
    two = np.where(falling, at(1, 1), at(1, -1))
    # Of two equal pixels along a row or a column the first is taken; along a diagonal neither is.
    slanted: NDArray[np.bool_] = (strength > one) & (strength > two)
    row = (strength > at(0, -1)) & (strength >= at(0, 1))
    column = (strength > at(-1, 0)) & (strength >= at(1, 0))
    return np.where(across, row, np.where(down, column, slanted))
