"""SSIM in plain numpy, a few rows at a time.

A row of an H x W x 3 picture is one line of 3 W values, in which neighbours of one channel stand three
apart; all channels are thus filtered at once. Four maps are enough: the means of both pictures, of the
sum of their squares and of their product.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pixelgate.metrics.registry import Image

Floats = NDArray[np.float64]

RADIUS = 5
CHUNK = 32_768
"""Values of a map at a time, so that the intermediate arrays stay in the processor's cache."""


def similarity_rows(x: Image, y: Image, w: Floats, c1: float, c2: float, first: int, end: int, sums: Floats) -> None:
    """Sum of the SSIM map over columns and channels for the valid rows `first` to `end`, into `sums`.

    Args:
        x, y: pictures of one size, at least 11 x 11.
        w: the 11 weights of the window along one axis.
        c1, c2: the stabilising constants.
        first, end: rows of the valid map, which is 10 rows and columns smaller than the pictures.
        sums: one sum for each valid row; zero on entry.
    """
    x_lines, y_lines = x.reshape(x.shape[0], -1), y.reshape(y.shape[0], -1)
    step = max(1, CHUNK // x_lines.shape[1])
    for start in range(first, end, step):
        stop = min(start + step, end)
        rows = slice(start, stop + 2 * RADIUS)
        a, b = x_lines[rows].astype(np.float64), y_lines[rows].astype(np.float64)
        mx, my, squares, product = (window_means(values, w) for values in (a, b, a * a + b * b, a * b))
        sums[start:stop] = similarity_map(mx, my, squares, product, c1, c2).sum(axis=1)


def window_means(values: Floats, w: Floats) -> Floats:
    """Weighted means over the 11 x 11 window, where it lies within `values`."""
    down = _taps([values[k : values.shape[0] - 2 * RADIUS + k] for k in range(2 * RADIUS + 1)], w)
    return _taps([down[:, 3 * k : down.shape[1] - 3 * (2 * RADIUS - k)] for k in range(2 * RADIUS + 1)], w)


def _taps(shifted: list[Floats], w: Floats) -> Floats:
    """The weighted sum; the window is symmetric, so that two taps share a product."""
    total: Floats = w[RADIUS] * shifted[RADIUS]
    pair = np.empty_like(total)
    for k in range(1, RADIUS + 1):
        np.add(shifted[RADIUS - k], shifted[RADIUS + k], out=pair)
        pair *= w[RADIUS + k]
        total += pair
    return total


def similarity_map(mx: Floats, my: Floats, squares: Floats, product: Floats, c1: float, c2: float) -> Floats:
    """The SSIM map from the means of both pictures, of the sum of their squares and of their product."""
    mean_product = mx * my
    mean_squares = mx * mx + my * my
    above = (2.0 * mean_product + c1) * (2.0 * (product - mean_product) + c2)
    below = (mean_squares + c1) * ((squares - mean_squares) + c2)
    similarity: Floats = above / below
    return similarity
