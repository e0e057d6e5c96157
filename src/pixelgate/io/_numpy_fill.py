"""Bilinear blending along both axes, in numpy; the same operations in the same order as the compiled code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pixelgate.io.fill import Taps


def blend(source: NDArray[Any], rows: Taps, columns: Taps, out: NDArray[np.float32]) -> None:
    """Fill `out` (H x W x C) with the source (h x w x C, uint8 or float32) at the taps of its rows and columns."""
    low, high = int(rows.first.min()), int(rows.second.max()) + 1
    used = source[low:high].astype(np.float32, copy=False)
    before, after = columns.weights[:, np.newaxis, :, np.newaxis]
    lines = np.take(used, columns.first, axis=1)
    lines *= before
    second = np.take(used, columns.second, axis=1)
    second *= after
    lines += second
    above, below = rows.weights[:, :, np.newaxis, np.newaxis]
    np.multiply(lines[rows.first - low], above, out=out)
    out += lines[rows.second - low] * below
