"""SSIM in one pass over the rows, compiled.

A row of an H x W x 3 picture is one line of 3 W values, in which neighbours of one channel stand three
apart; all channels are thus filtered at once. Four maps are enough: the means of both pictures, of the
sum of their squares and of their product. Each input row is filtered along the row once and kept in a
ring of eleven; each output row is the weighted sum of the ring. Columns are taken in strips so that the
ring stays in the processor's cache.
"""

from __future__ import annotations

import numpy as np
from numba import float64, intp
from numpy.typing import NDArray

from pixelgate.metrics._jit import PICTURE, ROWS, TABLE, inlined, inlined_with_fma, kernel
from pixelgate.metrics.registry import Image

Floats = NDArray[np.float64]

TAPS = 11
HALO = 3 * (TAPS - 1)
STRIP = 768


@inlined
def _read(x: NDArray[np.uint8], y: NDArray[np.uint8], lines: Floats) -> None:
    for j in range(x.size):
        a = float(x[j])
        b = float(y[j])
        lines[0, j] = a
        lines[1, j] = b
        lines[2, j] = a * a + b * b
        lines[3, j] = a * b


@inlined_with_fma
def _along_row(line: Floats, w: Floats, out: Floats) -> None:
    w0, w1, w2, w3, w4, w5 = w[5], w[4], w[3], w[2], w[1], w[0]
    for j in range(line.size - HALO):
        out[j] = (
            w0 * line[j + 15]
            + w1 * (line[j + 12] + line[j + 18])
            + w2 * (line[j + 9] + line[j + 21])
            + w3 * (line[j + 6] + line[j + 24])
            + w4 * (line[j + 3] + line[j + 27])
            + w5 * (line[j] + line[j + 30])
        )


@inlined_with_fma
def _down_columns(ring: Floats, top: int, w: Floats, out: Floats) -> None:
    w0, w1, w2, w3, w4, w5 = w[5], w[4], w[3], w[2], w[1], w[0]
    r0, r1, r2 = ring[top % TAPS], ring[(top + 1) % TAPS], ring[(top + 2) % TAPS]
    r3, r4, r5 = ring[(top + 3) % TAPS], ring[(top + 4) % TAPS], ring[(top + 5) % TAPS]
    r6, r7, r8 = ring[(top + 6) % TAPS], ring[(top + 7) % TAPS], ring[(top + 8) % TAPS]
    r9, r10 = ring[(top + 9) % TAPS], ring[(top + 10) % TAPS]
    for j in range(out.size):
        out[j] = (
            w0 * r5[j]
            + w1 * (r4[j] + r6[j])
            + w2 * (r3[j] + r7[j])
            + w3 * (r2[j] + r8[j])
            + w4 * (r1[j] + r9[j])
            + w5 * (r0[j] + r10[j])
        )


@inlined
def _similarity(maps: Floats, c1: float, c2: float, out: Floats) -> None:
    # Not fused: with equal pictures both sides of the fraction must be rounded alike, so that it is exactly 1.
    for j in range(out.size):
        mx, my = maps[0, j], maps[1, j]
        product = mx * my
        squares = mx * mx + my * my
        above = (2.0 * product + c1) * (2.0 * (maps[3, j] - product) + c2)
        below = (squares + c1) * ((maps[2, j] - squares) + c2)
        out[j] = above / below


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


@kernel(PICTURE, PICTURE, TABLE, float64, float64, intp, intp, ROWS)
def similarity_rows(x: Image, y: Image, w: Floats, c1: float, c2: float, first: int, end: int, sums: Floats) -> None:
    """Sum of the SSIM map over columns and channels for each valid row `first` to `end`, into `sums`.

    Args:
        x, y: pictures of one size, at least 11 x 11.
        w: the 11 weights of the window along one axis.
        c1, c2: the stabilising constants.
        first, end: rows of the valid map, which is 10 rows and columns smaller than the pictures.
        sums: one sum per valid row; zero on entry.
    """
    x_lines, y_lines = x.reshape(x.shape[0], -1), y.reshape(y.shape[0], -1)
    valid = x_lines.shape[1] - HALO
    width = min(STRIP, valid)
    lines = np.empty((4, width + HALO))
    ring = np.empty((4, TAPS, width))
    maps = np.empty((4, width))
    result = np.empty(width)
    for left in range(0, valid, STRIP):
        size = min(STRIP, valid - left)
        right = left + size + HALO
        for row in range(first, end + TAPS - 1):
            _read(x_lines[row, left:right], y_lines[row, left:right], lines)
            for m in range(4):
                _along_row(lines[m, : size + HALO], w, ring[m, row % TAPS])
            top = row - (TAPS - 1)
            if top >= first:
                for m in range(4):
                    _down_columns(ring[m], top, w, maps[m, :size])
                _similarity(maps, c1, c2, result[:size])
                sums[top] += _sum(result[:size])
