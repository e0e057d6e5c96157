"""One dot for each region, from the pixels of its path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pixelgate.hints.paths import Paths

Numbers = NDArray[np.int64]

METHODS = ("medoid", "mean", "nearest_mean")


def dot_pixels(paths: Paths, labels: NDArray[np.int32], method: str) -> Numbers:
    """Choose the dots.

    Args:
        paths: the regions' paths.
        labels: int32, height x width: the regions, 0 to n - 1.
        method: ``medoid``: the path pixel inside the region with the least sum of row and column distances to the
            others, the first in raster order of equal ones. ``nearest_mean``: the path pixel inside the region that is
            nearest to the mean of the whole path. ``mean``: that mean, cut to whole numbers; it may lie outside.

    Returns:
        int64: row x width + column of each dot, in the order of the regions; a region without a path has none.

    Raises:
        ValueError: another method.
    """
    if method not in METHODS:
        raise ValueError(f"method is one of {', '.join(METHODS)}, not {method!r}")
    if not paths.pixels.size:
        return np.empty(0, dtype=np.int64)
    if method == "mean":
        _, rows, columns = _means(paths, labels.shape[1])
        means: Numbers = rows.astype(np.int64) * labels.shape[1] + columns.astype(np.int64)
        return means
    inside = labels.reshape(-1)[paths.pixels] == paths.regions
    regions, pixels = paths.regions[inside], paths.pixels[inside]
    rows, columns = np.divmod(pixels, labels.shape[1])
    if method == "medoid":
        costs: NDArray[np.float64] = (_distance_sums(regions, rows) + _distance_sums(regions, columns)).astype(
            np.float64
        )
    else:
        present, mean_rows, mean_columns = _means(paths, labels.shape[1])
        place = np.searchsorted(present, regions)
        costs = (rows - mean_rows[place]) ** 2 + (columns - mean_columns[place]) ** 2
    order = np.lexsort((pixels, costs, regions))
    chosen: Numbers = pixels[order][np.flatnonzero(np.diff(regions[order], prepend=-1))]
    return chosen


def _means(paths: Paths, width: int) -> tuple[Numbers, NDArray[np.float64], NDArray[np.float64]]:
    """The regions that have a path, and the mean row and column of each path."""
    present, place, counts = np.unique(paths.regions, return_inverse=True, return_counts=True)
    rows, columns = np.divmod(paths.pixels, width)
    return present, np.bincount(place, rows) / counts, np.bincount(place, columns) / counts


def _distance_sums(regions: Numbers, values: Numbers) -> Numbers:
    """For each value the sum of its distances to all values of its region, without comparing them in pairs."""
    order = np.lexsort((values, regions))
    ordered = values[order]
    starts = np.flatnonzero(np.diff(regions[order], prepend=-1))
    counts = np.diff(starts, append=regions.size)
    start, count = np.repeat(starts, counts), np.repeat(counts, counts)
    sums = np.concatenate([[0], np.cumsum(ordered)])
    rank = np.arange(regions.size) - start
    below, total = sums[start + rank] - sums[start], sums[start + count] - sums[start]
    result = np.empty_like(values)
    result[order] = ordered * rank - below + (total - below) - ordered * (count - rank)
    return result
