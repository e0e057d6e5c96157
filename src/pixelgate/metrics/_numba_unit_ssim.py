"""Window means and SSIM maps in float32, compiled; each rounds where the library that defines it rounds.

A row of an H x W x 3 picture is one line of 3 W values, in which neighbours of one channel stand three apart; all
channels are thus filtered at once.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import float32, float64
from numba.extending import intrinsic
from numpy.typing import NDArray

from pixelgate.metrics._jit import ROWS, TABLE, inlined, kernel

Floats = NDArray[np.float32]

TAPS = 11
HALO = 3 * (TAPS - 1)

_LINES = numba.types.Array(numba.float32, 2, "C", readonly=True)
_OUT = numba.types.Array(numba.float32, 2, "C")
_CHANNELS = numba.types.Array(numba.float64, 2, "C")


def _multiply_add(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """A x b + c, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return numba.float32(numba.float32, numba.float32, numba.float32), generate


_fma: Any = intrinsic(_multiply_add)


@inlined
def _fused_taps(line: Floats, w: Floats, out: Floats) -> None:
    w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10 = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10]
    for j in range(out.size):
        value = out[j]
        value = _fma(w0, line[j], value)
        value = _fma(w1, line[j + 3], value)
        value = _fma(w2, line[j + 6], value)
        value = _fma(w3, line[j + 9], value)
        value = _fma(w4, line[j + 12], value)
        value = _fma(w5, line[j + 15], value)
        value = _fma(w6, line[j + 18], value)
        value = _fma(w7, line[j + 21], value)
        value = _fma(w8, line[j + 24], value)
        value = _fma(w9, line[j + 27], value)
        out[j] = _fma(w10, line[j + 30], value)


@kernel(_LINES, _LINES, _OUT)
def fused_means(lines: Floats, weights: Floats, out: Floats) -> None:
    """Means under an 11 x 11 window, tap after tap in reading order, each added by a fused multiply-add.

    Args:
        lines: height x (3 width) values.
        weights: the 11 x 11 window.
        out: (height - 10) x (3 (width - 10)), overwritten.
    """
    for row in range(out.shape[0]):
        out[row] = float32(0.0)
        for tap in range(TAPS):
            _fused_taps(lines[row + tap], weights[tap], out[row])


@inlined
def _down(lines: Floats, row: int, w: NDArray[np.float64], out: Floats) -> None:
    l0, l1, l2, l3, l4, l5 = lines[row], lines[row + 1], lines[row + 2], lines[row + 3], lines[row + 4], lines[row + 5]
    l6, l7, l8, l9, l10 = lines[row + 6], lines[row + 7], lines[row + 8], lines[row + 9], lines[row + 10]
    w0, w1, w2, w3, w4, w5 = w[0], w[1], w[2], w[3], w[4], w[5]
    for j in range(out.size):
        value = float64(l5[j]) * w5
        value += (float64(l0[j]) + float64(l10[j])) * w0
        value += (float64(l1[j]) + float64(l9[j])) * w1
        value += (float64(l2[j]) + float64(l8[j])) * w2
        value += (float64(l3[j]) + float64(l7[j])) * w3
        value += (float64(l4[j]) + float64(l6[j])) * w4
        out[j] = value


@inlined
def _along(line: Floats, w: NDArray[np.float64], out: Floats) -> None:
    w0, w1, w2, w3, w4, w5 = w[0], w[1], w[2], w[3], w[4], w[5]
    for j in range(out.size):
        value = float64(line[j + 15]) * w5
        value += (float64(line[j]) + float64(line[j + 30])) * w0
        value += (float64(line[j + 3]) + float64(line[j + 27])) * w1
        value += (float64(line[j + 6]) + float64(line[j + 24])) * w2
        value += (float64(line[j + 9]) + float64(line[j + 21])) * w3
        value += (float64(line[j + 12]) + float64(line[j + 18])) * w4
        out[j] = value


@kernel(_LINES, TABLE, _OUT)
def separable_means(lines: Floats, weights: NDArray[np.float64], out: Floats) -> None:
    """Means under a Gaussian window, down the columns and then along the rows.

    Sums are in float64, from the centre and then the outermost pair inwards; each of the two passes is rounded to
    float32.

    Args:
        lines: height x (3 width) values.
        weights: the 11 weights along one axis.
        out: (height - 10) x (3 (width - 10)), overwritten.
    """
    column = np.empty(lines.shape[1], dtype=np.float32)
    for row in range(out.shape[0]):
        _down(lines, row, weights, column)
        _along(column, weights, out[row])


@inlined
def _sum(values: Floats) -> float:
    # Four running sums: one alone waits for each addition to end before it starts the next.
    s0 = s1 = s2 = s3 = 0.0
    whole = values.size // 4 * 4
    for j in range(0, whole, 4):
        s0 += values[j]
        s1 += values[j + 1]
        s2 += values[j + 2]
        s3 += values[j + 3]
    for j in range(whole, values.size):
        s0 += values[j]
    return (s0 + s1) + (s2 + s3)


@kernel(_LINES, _LINES, _LINES, _LINES, _LINES, float32, float32, ROWS, ROWS)
def clamped_similarity(
    mx: Floats, my: Floats, xx: Floats, yy: Floats, xy: Floats, c1: float, c2: float, sums: Floats, contrasts: Floats
) -> None:
    """Row sums of the SSIM map and of its contrast term, variances held at 0 or more and the covariance not.

    Args:
        mx, my, xx, yy, xy: means of both pictures, of their squares and of their product.
        c1, c2: the stabilising constants.
        sums, contrasts: one value a row, overwritten.
    """
    zero, two = float32(0.0), float32(2.0)
    width = mx.shape[1]
    values, ratios = np.empty(width, dtype=np.float32), np.empty(width, dtype=np.float32)
    for row in range(mx.shape[0]):
        for j in range(width):
            a, b = mx[row, j], my[row, j]
            squared_x, squared_y, product = a * a, b * b, a * b
            upper = two * (xy[row, j] - product) + c2
            lower = (max(xx[row, j] - squared_x, zero) + max(yy[row, j] - squared_y, zero)) + c2
            values[j] = ((two * product + c1) * upper) / (((squared_x + squared_y) + c1) * lower)
            ratios[j] = upper / lower
        sums[row] = _sum(values)
        contrasts[row] = _sum(ratios)


@kernel(_LINES, _LINES, _LINES, _LINES, _LINES, float32, float32, _CHANNELS)
def plain_similarity(
    mx: Floats, my: Floats, xx: Floats, yy: Floats, xy: Floats, c1: float, c2: float, sums: NDArray[np.float64]
) -> None:
    """Row sums of the SSIM map for each channel, with plain variances.

    Args:
        mx, my, xx, yy, xy: means of both pictures, of their squares and of their product.
        c1, c2: the stabilising constants.
        sums: rows x 3, overwritten.
    """
    two = float32(2.0)
    values = np.empty(mx.shape[1], dtype=np.float32)
    for row in range(mx.shape[0]):
        for j in range(values.size):
            a, b = mx[row, j], my[row, j]
            squared_x, squared_y, product = a * a, b * b, a * b
            above = (two * product + c1) * (two * (xy[row, j] - product) + c2)
            below = (squared_x + squared_y + c1) * ((xx[row, j] - squared_x) + (yy[row, j] - squared_y) + c2)
            values[j] = above / below
        red = green = blue = 0.0
        for j in range(0, values.size, 3):
            red += values[j]
            green += values[j + 1]
            blue += values[j + 2]
        sums[row, 0], sums[row, 1], sums[row, 2] = red, green, blue
