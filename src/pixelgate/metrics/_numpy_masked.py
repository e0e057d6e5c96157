"""Errors and SSIM over the kept pixels of a frame, in plain numpy, a few rows at a time.

A row of an H x W x 3 frame is one line of 3 W values, in which neighbours of one channel stand three apart; all
channels are thus filtered at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pixelgate.metrics._numpy_ssim import CHUNK, RADIUS, similarity_map, window_means

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Reference = NDArray[np.uint8] | NDArray[np.float32]


def error_rows(x: Bytes, y: Reference, keep: Bytes, first: int, end: int, squared: Floats, absolute: Floats) -> None:
    """Sums of squared and of absolute differences over the kept values of the rows `first` to `end`.

    Args:
        x, y: lines of 3 W values.
        keep: 1 where a pixel counts, else 0; lines of W.
        first, end: the rows to do.
        squared, absolute: one sum for each row, overwritten.
    """
    step = max(1, CHUNK // x.shape[1])
    for start in range(first, end, step):
        rows = slice(start, min(start + step, end))
        difference = np.subtract(x[rows], y[rows], dtype=np.float64)
        difference[np.repeat(keep[rows] == 0, 3, axis=1)] = 0.0
        squared[rows] = (difference * difference).sum(axis=1)
        absolute[rows] = np.abs(difference, out=difference).sum(axis=1)


def similarity_rows(
    x: Bytes, y: Reference, windows: Bytes, w: Floats, c1: float, c2: float, first: int, end: int, sums: Floats
) -> None:
    """Sum of the SSIM map over the kept windows of the rows `first` to `end` of the map, all channels together.

    Args:
        x, y: lines of 3 W values.
        windows: 1 where the window that begins at a pixel is wholly kept; lines of W - 10, 10 fewer.
        w: the 11 weights of the window along one axis.
        c1, c2: the stabilising constants.
        first, end: rows of the map.
        sums: one sum for each row of the map; zero on entry.
    """
    step = max(1, CHUNK // x.shape[1])
    for start in range(first, end, step):
        stop = min(start + step, end)
        flags = windows[start:stop]
        if not flags.any():
            continue
        spread = np.repeat(flags, 3, axis=1)
        a, b = (lines[start : stop + 2 * RADIUS].astype(np.float64) for lines in (x, y))
        # Masked values may be anything; what becomes of them is left out.
        with np.errstate(invalid="ignore", over="ignore"):
            mx, my, squares, product = (window_means(values, w) for values in (a, b, a * a + b * b, a * b))
            similar = similarity_map(mx, my, squares, product, c1, c2)
        sums[start:stop] = np.where(spread, similar, 0.0).sum(axis=1)
