"""Integer sums and counts, compiled: squared differences for PSNR, histograms for the correlation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pixelgate.metrics._jit import COUNTS, PICTURE, ROW_COUNTS, kernel
from pixelgate.metrics.registry import Image


@kernel(PICTURE, PICTURE, ROW_COUNTS)
def squared_error_rows(x: Image, y: Image, sums: NDArray[np.int64]) -> None:
    """Sum of squared differences over all values of each row, into `sums`."""
    for row in range(x.shape[0]):
        a, b = x[row].reshape(-1), y[row].reshape(-1)
        total = np.int64(0)
        for j in range(a.size):
            difference = np.int64(a[j]) - np.int64(b[j])
            total += difference * difference
        sums[row] = total


@kernel(PICTURE, COUNTS)
def channel_counts(x: Image, counts: NDArray[np.int64]) -> None:
    """Add the number of pixels at each of the 256 levels of each channel to `counts` (3 x 256)."""
    # Two tables take turns, so that a run of equal pixels does not wait for its own last store.
    tables = np.zeros((2, 3, 256), dtype=np.int64)
    pixels = x.reshape(-1, 3)
    for j in range(pixels.shape[0]):
        table = tables[j & 1]
        table[0, pixels[j, 0]] += 1
        table[1, pixels[j, 1]] += 1
        table[2, pixels[j, 2]] += 1
    counts += tables[0] + tables[1]
