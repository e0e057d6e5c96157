"""Integer sums and counts in plain numpy: squared differences for PSNR, histograms for the correlation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pixelgate.metrics.registry import Image

Counts = NDArray[np.int64]

CHUNK = 65_536
"""Values at a time, so that the differences stay in the processor's cache."""


def squared_error_rows(x: Image, y: Image, sums: Counts) -> None:
    """Sum of squared differences over all values of each row, into `sums`."""
    x_lines, y_lines = x.reshape(x.shape[0], -1), y.reshape(y.shape[0], -1)
    step = max(1, CHUNK // x_lines.shape[1])
    for start in range(0, x.shape[0], step):
        rows = slice(start, start + step)
        # Widened before the subtraction: 8-bit differences wrap around. Sums of this size are exact in float64.
        difference = np.subtract(x_lines[rows], y_lines[rows], dtype=np.float64)
        sums[rows] = np.einsum("ij,ij->i", difference, difference)


def channel_counts(x: Image, counts: Counts) -> None:
    """Add the number of pixels at each of the 256 levels of each channel to `counts` (3 x 256)."""
    for channel in range(3):
        counts[channel] += np.bincount(x[..., channel].ravel(), minlength=256)
