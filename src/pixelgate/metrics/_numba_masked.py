"""Errors and SSIM over the kept pixels of a frame, compiled.

A row of an H x W x 3 frame is one line of 3 W values, in which neighbours of one channel stand three apart; all
channels are thus filtered at once. Each input row is filtered along the row once and kept in a ring of twelve, and only
where a kept window needs it: strips of columns keep the ring in the processor's cache, and a strip's rows without a
kept window are left out.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import float64, intp
from numpy.typing import NDArray

from pixelgate.metrics._jit import ROWS, TABLE, inlined, inlined_in_any_order, inlined_with_fma, kernel

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Reference = NDArray[np.uint8] | NDArray[np.float32]

TAPS = 11
RING = TAPS + 1
HALO = 3 * (TAPS - 1)
STRIP = 384  # a multiple of 3

_LEVELS = numba.types.Array(numba.uint8, 2, "C", readonly=True)
_REFERENCES = {
    "uint8": _LEVELS,
    "float32": numba.types.Array(numba.float32, 2, "C", readonly=True),
}


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


@inlined_in_any_order
def _errors(x: Bytes, y: Reference, keep: Bytes) -> tuple[float, float]:
    squared = absolute = 0.0
    for j in range(x.size):
        difference = float64(x[j]) - float64(y[j])
        difference = difference if keep[j] else 0.0
        squared += difference * difference
        absolute += abs(difference)
    return squared, absolute


@inlined
def _spread(flags: Bytes, out: Bytes) -> None:
    # Each flag three times: a pixel's for its three values.
    for j in range(flags.size):
        out[3 * j] = out[3 * j + 1] = out[3 * j + 2] = flags[j]


def _error_rows(x: Bytes, y: Reference, keep: Bytes, first: int, end: int, squared: Floats, absolute: Floats) -> None:
    flags = np.empty(x.shape[1], dtype=np.uint8)
    for row in range(first, end):
        _spread(keep[row], flags)
        squared[row], absolute[row] = _errors(x[row], y[row], flags)


error_rows_of = {
    kind: kernel(_LEVELS, lines, _LEVELS, intp, intp, ROWS, ROWS)(_error_rows) for kind, lines in _REFERENCES.items()
}


def error_rows(x: Bytes, y: Reference, keep: Bytes, first: int, end: int, squared: Floats, absolute: Floats) -> None:
    """Sums of squared and of absolute differences over the kept values of the rows `first` to `end`.

    Args:
        x, y: lines of 3 W values.
        keep: 1 where a pixel counts, else 0; lines of W.
        first, end: the rows to do.
        squared, absolute: one sum for each row, overwritten.
    """
    error_rows_of[y.dtype.name](x, y, keep, first, end, squared, absolute)


@inlined
def _read(x: Bytes, y: Reference, lines: Floats) -> None:
    for j in range(x.size):
        # Not Python's float(), which leaves a float32 as it is.
        a = float64(x[j])
        b = float64(y[j])
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
def _down_columns(ring: Floats, top: int, w: Floats, out: Floats, below: Floats) -> None:
    # Two rows of the map at once, since ten of their eleven input rows are the same.
    w0, w1, w2, w3, w4, w5 = w[5], w[4], w[3], w[2], w[1], w[0]
    r0, r1, r2, r3 = ring[top % RING], ring[(top + 1) % RING], ring[(top + 2) % RING], ring[(top + 3) % RING]
    r4, r5, r6, r7 = ring[(top + 4) % RING], ring[(top + 5) % RING], ring[(top + 6) % RING], ring[(top + 7) % RING]
    r8, r9, r10, r11 = ring[(top + 8) % RING], ring[(top + 9) % RING], ring[(top + 10) % RING], ring[(top + 11) % RING]
    for j in range(out.size):
        a1, a2, a3, a4, a5 = r1[j], r2[j], r3[j], r4[j], r5[j]
        a6, a7, a8, a9, a10 = r6[j], r7[j], r8[j], r9[j], r10[j]
        out[j] = w0 * a5 + w1 * (a4 + a6) + w2 * (a3 + a7) + w3 * (a2 + a8) + w4 * (a1 + a9) + w5 * (r0[j] + a10)
        below[j] = w0 * a6 + w1 * (a5 + a7) + w2 * (a4 + a8) + w3 * (a3 + a9) + w4 * (a2 + a10) + w5 * (a1 + r11[j])


@inlined
def _similarity(maps: Floats, windows: Bytes, c1: float, c2: float, out: Floats) -> None:
    # Not fused: with equal pictures both sides of the fraction must be rounded alike, so that it is exactly 1.
    for j in range(out.size):
        mx, my = maps[0, j], maps[1, j]
        product = mx * my
        squares = mx * mx + my * my
        above = (2.0 * product + c1) * (2.0 * (maps[3, j] - product) + c2)
        below = (squares + c1) * ((maps[2, j] - squares) + c2)
        out[j] = above / below if windows[j] else 0.0


@inlined
def _any(flags: Bytes) -> bool:
    found = 0
    for j in range(flags.size):
        found |= flags[j]
    return found != 0


def _similarity_rows(
    x: Bytes, y: Reference, windows: Bytes, w: Floats, c1: float, c2: float, first: int, end: int, sums: Floats
) -> None:
    valid = 3 * windows.shape[1]
    width = min(STRIP, valid)
    lines, ring = np.empty((4, width + HALO)), np.zeros((4, RING, width))
    maps, result, spread = np.empty((2, 4, width)), np.empty(width), np.empty(width, dtype=np.uint8)
    for left in range(0, valid, STRIP):
        size = min(STRIP, valid - left)
        right = left + size + HALO
        done = first
        for top in range(first, end, 2):
            pair = min(2, end - top)
            flags = windows[top : top + pair, left // 3 : (left + size) // 3]
            if not (_any(flags[0]) or _any(flags[pair - 1])):
                continue
            for row in range(max(done, top), top + pair + TAPS - 1):
                _read(x[row, left:right], y[row, left:right], lines)
                for m in range(4):
                    _along_row(lines[m, : size + HALO], w, ring[m, row % RING])
            done = top + pair + TAPS - 1
            for m in range(4):
                _down_columns(ring[m], top, w, maps[0, m, :size], maps[1, m, :size])
            for row in range(pair):
                _spread(flags[row], spread)
                _similarity(maps[row], spread, c1, c2, result[:size])
                sums[top + row] += _sum(result[:size])


similarity_rows_of = {
    kind: kernel(_LEVELS, lines, _LEVELS, TABLE, float64, float64, intp, intp, ROWS)(_similarity_rows)
    for kind, lines in _REFERENCES.items()
}


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
    similarity_rows_of[y.dtype.name](x, y, windows, w, c1, c2, first, end, sums)
