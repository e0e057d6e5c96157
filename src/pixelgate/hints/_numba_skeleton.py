"""The thinning of regions, compiled."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from pixelgate.metrics._jit import kernel

_LABELS = numba.types.Array(numba.int32, 2, "C")
_TABLE = numba.types.Array(numba.uint8, 1, "C", readonly=True)
_ALIVE = numba.types.Array(numba.boolean, 2, "C")


@kernel(_LABELS, _TABLE, _ALIVE)
def thin(labels: NDArray[np.int32], table: NDArray[np.uint8], alive: NDArray[np.bool_]) -> None:
    """Remove pixels of `alive` until none can be removed; `labels` has a border of -1."""
    height, width = labels.shape
    own, left_alive = labels.reshape(-1), alive.reshape(-1)
    steps = (-width - 1, -width, -width + 1, 1, width + 1, width, width - 1, -1)
    left = np.empty(height * width, dtype=np.int64)
    gone = np.empty(height * width, dtype=np.int64)
    count = 0
    for pixel in range(height * width):
        if left_alive[pixel]:
            left[count] = pixel
            count += 1
    removed = 1
    while removed:
        removed = 0
        for bit in (1, 2):
            kept, leaving = 0, 0
            for i in range(count):
                pixel = left[i]
                index = 0
                for k in range(8):
                    other = pixel + steps[k]
                    if left_alive[other] and own[other] == own[pixel]:
                        index |= 1 << k
                if table[index] & bit:
                    gone[leaving] = pixel
                    leaving += 1
                else:
                    left[kept] = pixel
                    kept += 1
            # All pixels of a pass are judged before any of them goes.
            for i in range(leaving):
                left_alive[gone[i]] = False
            count = kept
            removed += leaving
