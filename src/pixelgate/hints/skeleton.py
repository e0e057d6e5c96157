"""Skeletons of all regions of a map at once, each thinned as if it were alone on the canvas.

Definition: T. Y. Zhang and C. Y. Suen, "A fast parallel algorithm for thinning digital patterns", CACM 27 (1984), with
the table of scikit-image's ``skeletonize``, which departs from the published rule in 25 of the 256 neighbourhoods.
"""

from __future__ import annotations

import functools
import importlib

import numpy as np
from numpy.typing import NDArray

from pixelgate.metrics._backend import backend

NEIGHBOURS = ((-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1))
"""Row and column steps to the neighbours, clockwise from the upper left; the position is the bit in a table index."""

_DEPARTURES = {
    0: (48, 129),
    1: (3, 6, 11, 12, 14, 131, 134, 161, 194, 198),
    2: (24, 26, 56, 96, 104, 108, 176, 192, 224),
    3: (10, 40, 130, 160),
}
"""Entries that differ from the published rule, by their value in the table."""


def skeletonize(labels: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Thin every region to a line of one pixel.

    Args:
        labels: height x width, 0 or more; pixels of one value are one region.

    Returns:
        bool, height x width: true on the skeletons.
    """
    grown = np.full((labels.shape[0] + 2, labels.shape[1] + 2), -1, dtype=np.int32)
    grown[1:-1, 1:-1] = labels
    alive = grown >= 0
    if backend().name == "numba":
        importlib.import_module("pixelgate.hints._numba_skeleton").thin(grown, _removal_table(), alive)
    else:
        _thin(grown, _removal_table(), alive)
    return np.ascontiguousarray(alive[1:-1, 1:-1])


@functools.cache
def _removal_table() -> NDArray[np.uint8]:
    """For each neighbourhood: 1 removable in the first pass of a round, 2 in the second, 3 in both, 0 in none."""
    bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
    _, north, _, east, _, south, _, west = bits.T
    # A neighbourhood is removable if it has 2 to 6 pixels in one run; each pass spares two of the four sides.
    runs = np.sum((bits == 0) & (np.roll(bits, -1, axis=1) == 1), axis=1)
    removable = (runs == 1) & (bits.sum(axis=1) >= 2) & (bits.sum(axis=1) <= 6)
    first = removable & (north * east * south == 0) & (east * south * west == 0)
    second = removable & (north * east * west == 0) & (north * south * west == 0)
    table: NDArray[np.uint8] = (first + 2 * second).astype(np.uint8)
    for value, entries in _DEPARTURES.items():
        table[list(entries)] = value
    table.flags.writeable = False
    return table


def _thin(labels: NDArray[np.int32], table: NDArray[np.uint8], alive: NDArray[np.bool_]) -> None:
    """Remove pixels of `alive` until none can be removed; `labels` has a border of -1."""
    width = labels.shape[1]
    flat, own = alive.reshape(-1), labels.reshape(-1)
    steps = [row * width + column for row, column in NEIGHBOURS]
    left = np.flatnonzero(flat)
    same = np.stack([own[left + step] == own[left] for step in steps])
    while True:
        removed = 0
        for bit in (1, 2):
            index = sum((same[k] & flat[left + step]).astype(np.int64) << k for k, step in enumerate(steps))
            keep = (table[index] & bit) == 0
            flat[left[~keep]] = False
            removed += int(keep.size - np.count_nonzero(keep))
            left, same = left[keep], same[:, keep]
        if not removed:
            return
