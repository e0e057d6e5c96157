"""Window means and SSIM maps in float32, in plain numpy; each rounds where the library that defines it rounds.

A row of an H x W x 3 picture is one line of 3 W values, in which neighbours of one channel stand three apart; all
channels are thus filtered at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

TAPS = 11
RADIUS = 5
CHUNK = 24
"""Rows at a time, so that the intermediate arrays stay in the processor's cache."""


def fused_means(lines: Floats, weights: Floats, out: Floats) -> None:
    """See `_numba_unit_ssim.fused_means`.

    A fused multiply-add is done in float64, where the product is exact, and rounded to float32. The sum is thus
    rounded twice, which gives another float32 about once in 10^8 times.
    """
    height, width = out.shape
    for start in range(0, height, CHUNK):
        end = min(start + CHUNK, height)
        wide = lines[start : end + TAPS - 1].astype(np.float64)
        value = np.zeros((end - start, width), dtype=np.float32)
        scratch = np.empty((end - start, width))
        for row in range(TAPS):
            for column in range(TAPS):
                taken = wide[row : row + end - start, 3 * column : 3 * column + width]
                np.multiply(taken, np.float64(weights[row, column]), out=scratch)
                scratch += value
                value[...] = scratch
        out[start:end] = value


def separable_means(lines: Floats, weights: Doubles, out: Floats) -> None:
    """See `_numba_unit_ssim.separable_means`."""
    wide = lines.astype(np.float64)
    down = _pairs([wide[tap : tap + out.shape[0]] for tap in range(TAPS)], weights)
    wide = down.astype(np.float32).astype(np.float64)
    out[...] = _pairs([wide[:, 3 * tap : 3 * tap + out.shape[1]] for tap in range(TAPS)], weights)


def clamped_similarity(
    mx: Floats,
    my: Floats,
    xx: Floats,
    yy: Floats,
    xy: Floats,
    c1: np.float32,
    c2: np.float32,
    sums: Doubles,
    contrasts: Doubles,
) -> None:
    """See `_numba_unit_ssim.clamped_similarity`."""
    two, zero = np.float32(2.0), np.float32(0.0)
    squared_x, squared_y, product = mx * mx, my * my, mx * my
    upper = two * (xy - product) + c2
    lower = (np.maximum(xx - squared_x, zero) + np.maximum(yy - squared_y, zero)) + c2
    values = ((two * product + c1) * upper) / (((squared_x + squared_y) + c1) * lower)
    sums[...] = values.sum(axis=1, dtype=np.float64)
    contrasts[...] = (upper / lower).sum(axis=1, dtype=np.float64)


def plain_similarity(
    mx: Floats, my: Floats, xx: Floats, yy: Floats, xy: Floats, c1: np.float32, c2: np.float32, sums: Doubles
) -> None:
    """See `_numba_unit_ssim.plain_similarity`."""
    two = np.float32(2.0)
    squared_x, squared_y, product = mx * mx, my * my, mx * my
    above = (two * product + c1) * (two * (xy - product) + c2)
    below = (squared_x + squared_y + c1) * ((xx - squared_x) + (yy - squared_y) + c2)
    values = (above / below).reshape(sums.shape[0], -1, 3)
    sums[...] = values.sum(axis=1, dtype=np.float64)


def _pairs(shifted: list[Doubles], weights: Doubles) -> Doubles:
    total: Doubles = shifted[RADIUS] * weights[RADIUS]
    for tap in range(RADIUS):
        total += (shifted[tap] + shifted[TAPS - 1 - tap]) * weights[tap]
    return total
