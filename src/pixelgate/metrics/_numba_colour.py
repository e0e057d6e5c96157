"""CIELAB and CIEDE2000 over rows of pixels, compiled.

The formulas are those of `_numpy_colour`, where the source is named; the functions of the same name take
the same arguments. They are laid out so that the compiler treats several pixels at once, which it does
only in loops that read no table: look-ups have loops of their own, cube roots are polynomials, and the
one function of an angle that is left is a table of polynomials.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numba import intp
from numpy.typing import NDArray

from pixelgate.metrics._jit import CUBE, PICTURE, ROWS, TABLE, TABLE_2D, WRITABLE_CUBE, inlined, kernel
from pixelgate.metrics.registry import Image

Floats = NDArray[np.float64]

EPSILON = 216.0 / 24389.0
KAPPA = 24389.0 / 27.0
NO_CHROMA = 1e-30
OPPOSITE = 1e-9
CHUNK = 1024
ARC_CELLS = 1024
ARC_DEGREE = 5
TWENTY_FIVE_7 = 25.0**7
# (1 + d)^(1/3) as a series in d.
R1, R2, R3, R4, R5 = 1.0 / 3.0, -1.0 / 9.0, 5.0 / 81.0, -10.0 / 243.0, 22.0 / 729.0
COS30, SIN30 = math.cos(math.radians(30)), math.sin(math.radians(30))
COS6, SIN6 = math.cos(math.radians(6)), math.sin(math.radians(6))
COS63, SIN63 = math.cos(math.radians(63)), math.sin(math.radians(63))


def lab_rows(picture: Image, linear: Floats, weights: Floats, lab: Floats, first: int, end: int) -> None:
    """See `_numpy_colour.lab_rows`."""
    _lab_rows(picture, linear, weights, lab, first, end)


def difference_rows(
    output: Image,
    reference: Floats,
    linear: Floats,
    weights: Floats,
    k: Floats,
    first: int,
    end: int,
    sums: Floats,
) -> None:
    """See `_numpy_colour.difference_rows`."""
    _difference_rows(output, reference, linear, weights, arcs(), k, first, end, sums)


def differences(lab1: Floats, lab2: Floats, k: Floats, out: Floats) -> None:
    """See `_numpy_colour.differences`."""
    _differences(lab1, lab2, arcs(), k, out)


@functools.cache
def arcs() -> Floats:
    """sin(60 degrees x exp(-((h - 275) / 25)^2)) over the circle, piece by piece.

    A quadrant of the circle is cut where v = |sin h| / (|cos h| + |sin h|) passes equal steps; each piece
    has a polynomial in the place within it, 0 to 1, through its Chebyshev nodes.

    Returns:
        (degree + 1) x pieces, the highest power first.
    """
    nodes = 0.5 - 0.5 * np.cos(np.pi * (np.arange(ARC_DEGREE + 1) + 0.5) / (ARC_DEGREE + 1))
    place = (np.arange(ARC_CELLS)[:, None] + nodes) * (4.0 / ARC_CELLS)
    quadrant = np.floor(place)
    within = place - quadrant
    hue = 90.0 * quadrant + np.degrees(np.arctan2(within, 1.0 - within))
    values = np.sin(math.radians(60.0) * np.exp(-(((hue - 275.0) / 25.0) ** 2)))
    return np.ascontiguousarray(np.linalg.solve(np.vander(nodes), values.T))


@inlined
def _curve(t: float) -> float:
    # Into 1/8 to 1, where the polynomial is right to 7e-4; below EPSILON its result is not used.
    scale = 1.0
    u = t
    if u < 0.125:
        u, scale = 8.0 * u, 0.5
    if u < 0.125:
        u, scale = 8.0 * u, 0.25
    y = ((((1.444024 * u - 4.727834) * u + 6.191565) * u - 4.305293) * u + 2.104688) * u + 0.293553
    # What is missing is (1 + d)^(1/3); d is below 0.0022, so the first term left out is below 1e-17.
    d = u / (y * y * y) - 1.0
    step = d * (R1 + d * (R2 + d * (R3 + d * (R4 + d * R5))))
    return scale * (y + y * step) if t > EPSILON else (KAPPA * t + 16.0) / 116.0


@inlined
def _lab_row(pixels: Image, linear: Floats, w: Floats, scratch: Floats, lab: Floats) -> None:
    red, green, blue, coloured = scratch[0], scratch[1], scratch[2], scratch[3]
    for j in range(pixels.shape[0]):
        r, g, b = pixels[j, 0], pixels[j, 1], pixels[j, 2]
        red[j], green[j], blue[j] = linear[r], linear[g], linear[b]
        coloured[j] = 0.0 if r == g and g == b else 1.0
    for j in range(pixels.shape[0]):
        fx = _curve(w[0, 0] * red[j] + w[0, 1] * green[j] + w[0, 2] * blue[j])
        fy = _curve(w[1, 0] * red[j] + w[1, 1] * green[j] + w[1, 2] * blue[j])
        fz = _curve(w[2, 0] * red[j] + w[2, 1] * green[j] + w[2, 2] * blue[j])
        lab[0, j] = 116.0 * fy - 16.0
        lab[1, j] = coloured[j] * (500.0 * (fx - fy))
        lab[2, j] = coloured[j] * (200.0 * (fy - fz))


@inlined
def _chroma_share(chroma: float) -> float:
    square = chroma * chroma
    seventh = square * square * square * chroma
    return math.sqrt(seventh / (seventh + TWENTY_FIVE_7))


@inlined
def _hue_weight(c: float, s: float) -> float:
    c2, s2 = c * c - s * s, 2.0 * c * s
    c3, s3 = c * c2 - s * s2, s * c2 + c * s2
    c4, s4 = c2 * c2 - s2 * s2, 2.0 * c2 * s2
    third, fourth = c3 * COS6 - s3 * SIN6, c4 * COS63 + s4 * SIN63
    return 1.0 - 0.17 * (c * COS30 + s * SIN30) + 0.24 * c2 + 0.32 * third - 0.20 * fourth


@inlined
def _place(c: float, s: float) -> float:
    # 0 to 4, a quadrant each, counted up from hue 0; a hue just below 360 ends in the last piece.
    v = s / (abs(c) + abs(s))
    return 2.0 - v if c < 0.0 else (v if s >= 0.0 else 4.0 + v)


@inlined
def _sine_of_turn(place: float, table: Floats) -> float:
    at = place * (ARC_CELLS / 4)
    cell = min(int(at), ARC_CELLS - 1)
    x = at - cell
    p: float = table[0, cell]
    for power in range(1, ARC_DEGREE + 1):
        p = p * x + table[power, cell]
    return p


@inlined
def _hues(a1: float, b1: float, c1: float, a2: float, b2: float, c2: float) -> tuple[float, float, float]:
    product = c1 * c2
    inverse = 1.0 / (product if product > NO_CHROMA else 1.0)
    scale1, scale2 = c2 * inverse, c1 * inverse
    x1, y1, x2, y2 = a1 * scale1, b1 * scale1, a2 * scale2, b2 * scale2
    dx, dy, sx, sy = x1 - x2, y1 - y2, x1 + x2, y1 + y2
    apart, together = dx * dx + dy * dy, sx * sx + sy * sy
    cross = a1 * b2 - a2 * b1
    wide = apart > together
    level = abs(b1) <= OPPOSITE * c1
    up = (a1 > 0.0) if level else (b1 > 0.0)
    opposite = wide & (abs(cross) <= OPPOSITE * product)
    turn = 1.0 if (up if opposite else cross > 0.0) else -1.0
    x = -turn * dy if wide else sx
    y = turn * dx if wide else sy
    square = x * x + y * y
    hue = square > 0.0
    inverse = 1.0 / math.sqrt(square if hue else 1.0)
    return turn * math.sqrt(product * apart), (x * inverse if hue else 1.0), y * inverse


@inlined
def _difference_row(first: Floats, second: Floats, table: Floats, k: Floats, scratch: Floats, out: Floats) -> None:
    squares, mixed, place = scratch[0], scratch[1], scratch[2]
    for j in range(out.size):
        a1, b1, a2, b2 = first[1, j], first[2, j], second[1, j], second[2, j]
        stretch = 1.5 - 0.5 * _chroma_share(0.5 * (math.sqrt(a1 * a1 + b1 * b1) + math.sqrt(a2 * a2 + b2 * b2)))
        a1, a2 = stretch * a1, stretch * a2
        c1, c2 = math.sqrt(a1 * a1 + b1 * b1), math.sqrt(a2 * a2 + b2 * b2)
        middle = 0.5 * (c1 + c2)
        hue_difference, c, s = _hues(a1, b1, c1, a2, b2, c2)
        light = 0.5 * (first[0, j] + second[0, j]) - 50.0
        light = light * light
        dl = (second[0, j] - first[0, j]) / (k[0] * (1.0 + 0.015 * light / math.sqrt(20.0 + light)))
        dc = (c2 - c1) / (k[1] * (1.0 + 0.045 * middle))
        dh = hue_difference / (k[2] * (1.0 + 0.015 * middle * _hue_weight(c, s)))
        squares[j] = dl * dl + dc * dc + dh * dh
        mixed[j] = -2.0 * _chroma_share(middle) * dc * dh
        place[j] = _place(c, s)
    for j in range(out.size):
        mixed[j] *= _sine_of_turn(place[j], table)
    for j in range(out.size):
        out[j] = math.sqrt(max(squares[j] + mixed[j], 0.0))


@kernel(PICTURE, TABLE, TABLE_2D, WRITABLE_CUBE, intp, intp)
def _lab_rows(picture: Image, linear: Floats, weights: Floats, lab: Floats, first: int, end: int) -> None:
    scratch = np.empty((4, picture.shape[1]))
    for row in range(first, end):
        _lab_row(picture[row], linear, weights, scratch, lab[row])


@kernel(PICTURE, CUBE, TABLE, TABLE_2D, TABLE_2D, TABLE, intp, intp, ROWS)
def _difference_rows(
    output: Image,
    reference: Floats,
    linear: Floats,
    weights: Floats,
    table: Floats,
    k: Floats,
    first: int,
    end: int,
    sums: Floats,
) -> None:
    width = output.shape[1]
    lab, scratch, row_values = np.empty((3, width)), np.empty((4, width)), np.empty(width)
    for row in range(first, end):
        _lab_row(output[row], linear, weights, scratch, lab)
        _difference_row(lab, reference[row], table, k, scratch, row_values)
        total = 0.0
        for j in range(width):
            total += row_values[j]
        sums[row] = total


@kernel(TABLE_2D, TABLE_2D, TABLE_2D, TABLE, ROWS)
def _differences(lab1: Floats, lab2: Floats, table: Floats, k: Floats, out: Floats) -> None:
    scratch = np.empty((4, CHUNK))
    for start in range(0, out.size, CHUNK):
        end = min(start + CHUNK, out.size)
        # Copies, because the compiler does better with rows that it knows to be contiguous.
        first, second = lab1[:, start:end].copy(), lab2[:, start:end].copy()
        _difference_row(first, second, table, k, scratch, out[start:end])
