"""Sums over the valid pixels of depth maps, one row at a time, compiled.

A row's valid values are moved together first; then each sum runs over a short line that lies in the cache.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import float64
from numpy.typing import NDArray

from pixelgate.metrics._jit import TABLE_2D, inlined, kernel

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

VALID = numba.types.Array(numba.boolean, 2, "C", readonly=True)
SUMS = numba.types.Array(numba.float64, 2, "C")


@inlined
def _sum(values: Floats) -> float:
    # Eight running sums: one alone waits for each addition to end before it starts the next.
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = values.size // 8 * 8
    for j in range(0, whole, 8):
        s0 += values[j]
        s1 += values[j + 1]
        s2 += values[j + 2]
        s3 += values[j + 3]
        s4 += values[j + 4]
        s5 += values[j + 5]
        s6 += values[j + 6]
        s7 += values[j + 7]
    for j in range(whole, values.size):
        s0 += values[j]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@inlined
def _product_sum(x: Floats, y: Floats, products: Floats) -> float:
    for j in range(x.size):
        products[j] = x[j] * y[j]
    return _sum(products[: x.size])


@kernel(TABLE_2D, TABLE_2D, VALID, SUMS)
def moments_rows(p: Floats, g: Floats, valid: Bools, sums: Floats) -> None:
    """Per row: count, means of both, sum of the squared and of the mixed deviations from the row's means.

    Args:
        p, g: prediction and condition, height x width.
        valid: the pixels that count.
        sums: height x 5; zero on entry.
    """
    width = p.shape[1]
    a, b, products = np.empty(width), np.empty(width), np.empty(width)
    for row in range(p.shape[0]):
        n = 0
        for j in range(width):
            a[n] = p[row, j]
            b[n] = g[row, j]
            n += valid[row, j]
        if n == 0:
            continue
        mean_p, mean_g = _sum(a[:n]) / n, _sum(b[:n]) / n
        for j in range(n):
            a[j] -= mean_p
            b[j] -= mean_g
        sums[row, 0] = n
        sums[row, 1] = mean_p
        sums[row, 2] = mean_g
        sums[row, 3] = _product_sum(a[:n], a[:n], products)
        sums[row, 4] = _product_sum(a[:n], b[:n], products)


@kernel(TABLE_2D, TABLE_2D, VALID, float64, float64, SUMS)
def linear_rows(p: Floats, g: Floats, valid: Bools, scale: float, shift: float, sums: Floats) -> None:
    """Per row: sum of the absolute and of the squared differences of the aligned prediction.

    Args:
        p, g, valid: as in `moments_rows`.
        scale, shift: of the alignment.
        sums: height x 2.
    """
    width = p.shape[1]
    a, products = np.empty(width), np.empty(width)
    for row in range(p.shape[0]):
        n = 0
        for j in range(width):
            a[n] = scale * p[row, j] + shift - g[row, j]
            n += valid[row, j]
        sums[row, 1] = _product_sum(a[:n], a[:n], products)
        for j in range(n):
            a[j] = abs(a[j])
        sums[row, 0] = _sum(a[:n])


@inlined
def _relative_row(a: Floats, b: Floats, floor: float, work: Floats, sums: Floats) -> None:
    n = a.size
    sums[:] = 0.0
    if n == 0:
        return
    clipped = one = two = three = 0
    for j in range(n):
        clipped += a[j] < floor
        a[j] = max(a[j], floor)
        ratio = a[j] / b[j]
        larger = max(ratio, b[j] / a[j])
        one += larger < 1.25
        two += larger < 1.5625
        three += larger < 1.953125
        difference = a[j] - b[j]
        work[0, j] = abs(difference) / b[j]
        work[1, j] = difference * difference / b[j]
        inverse = 1.0 / a[j] - 1.0 / b[j]
        work[2, j] = inverse * inverse
        work[3, j] = np.log(ratio)
        work[4, j] = abs(work[3, j])
    mean = _sum(work[3, :n]) / n
    for j in range(n):
        a[j] = work[3, j] - mean
    sums[0] = n
    sums[1] = _sum(work[0, :n])
    sums[2] = _sum(work[1, :n])
    sums[3] = _sum(work[2, :n])
    sums[4] = _sum(work[4, :n])
    sums[5] = mean
    sums[6] = _product_sum(a, a, work[0])
    sums[7] = one
    sums[8] = two
    sums[9] = three
    sums[10] = clipped


@kernel(TABLE_2D, TABLE_2D, VALID, float64, float64, float64, SUMS)
def relative_rows(p: Floats, g: Floats, valid: Bools, scale: float, shift: float, floor: float, sums: Floats) -> None:
    """Per row, what ratios, logs and inverses need: see `RELATIVE` in `_depth_sums` for the order.

    Args:
        p, g, valid, scale, shift: as in `linear_rows`.
        floor: the aligned prediction is clipped here; above 0.
        sums: height x 11.
    """
    width = p.shape[1]
    a, b, work = np.empty(width), np.empty(width), np.empty((5, width))
    for row in range(p.shape[0]):
        n = 0
        for j in range(width):
            a[n] = scale * p[row, j] + shift
            b[n] = g[row, j]
            n += valid[row, j]
        _relative_row(a[:n], b[:n], floor, work, sums[row])
