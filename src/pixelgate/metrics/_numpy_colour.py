"""CIELAB and CIEDE2000 over rows of pixels, in plain numpy.

CIEDE2000 follows Sharma, Wu, Dalal: The CIEDE2000 color-difference formula (2005), with hues as unit
vectors: the mean hue is the bisector of the shorter arc, and cosines of its multiples follow from the
angle formulas. One arc tangent is left.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pixelgate.metrics._lab import EPSILON, KAPPA
from pixelgate.metrics.registry import Image

Floats = NDArray[np.float64]

NO_CHROMA = 1e-30
OPPOSITE = 1e-9
"""Product of two chromas below which a hue is a matter of round-off."""
CHUNK = 8192
"""Pixels at a time, so that the intermediate arrays stay in the processor's cache."""


def lab_rows(picture: Image, linear: Floats, weights: Floats, lab: Floats, first: int, end: int) -> None:
    """CIELAB of the rows `first` to `end`, into `lab` (height x 3 x width).

    L runs from 0 to 100; a and b are exactly 0 for greys.
    """
    step = max(1, CHUNK // picture.shape[1])
    for start in range(first, end, step):
        rows = slice(start, min(start + step, end))
        lab[rows] = _lab(picture[rows], linear, weights)


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
    """Sum of CIEDE2000 along each of the rows `first` to `end`, into `sums`.

    Args:
        output: uint8 picture, height x width x 3.
        reference: CIELAB as `lab_rows` leaves it.
        linear, weights: see `LabTables`.
        k: kL, kC, kH.
        first, end: rows to do.
        sums: one value for each row.
    """
    step = max(1, CHUNK // output.shape[1])
    for start in range(first, end, step):
        rows = slice(start, min(start + step, end))
        lab = _lab(output[rows], linear, weights).transpose(1, 0, 2)
        sums[rows] = ciede2000(lab, reference[rows].transpose(1, 0, 2), k).sum(axis=1)


def differences(lab1: Floats, lab2: Floats, k: Floats, out: Floats) -> None:
    """CIEDE2000 of each column of `lab1` and `lab2` (3 x n), into `out`."""
    for start in range(0, out.size, CHUNK):
        part = slice(start, start + CHUNK)
        out[part] = ciede2000(lab1[:, part], lab2[:, part], k)


def _lab(picture: Image, linear: Floats, weights: Floats) -> Floats:
    red, green, blue = (linear[picture[..., channel]] for channel in range(3))
    curves = []
    for w in weights:
        t = w[0] * red + w[1] * green + w[2] * blue
        curves.append(np.where(t > EPSILON, np.cbrt(t), (KAPPA * t + 16.0) / 116.0))
    fx, fy, fz = curves
    # Round-off would leave greys a hue, which counts in CIEDE2000's weights.
    coloured = (picture[..., 0] != picture[..., 1]) | (picture[..., 1] != picture[..., 2])
    return np.stack((116.0 * fy - 16.0, coloured * (500.0 * (fx - fy)), coloured * (200.0 * (fy - fz))), axis=1)


def ciede2000(lab1: Floats, lab2: Floats, k: Floats) -> Floats:
    """CIEDE2000 of two arrays of L, a, b along the first axis; `k` holds kL, kC, kH."""
    (l1, a1, b1), (l2, a2, b2) = lab1, lab2
    stretch = 1.5 - 0.5 * _chroma_share(0.5 * (np.sqrt(a1 * a1 + b1 * b1) + np.sqrt(a2 * a2 + b2 * b2)))
    a1, a2 = stretch * a1, stretch * a2
    c1, c2 = np.sqrt(a1 * a1 + b1 * b1), np.sqrt(a2 * a2 + b2 * b2)
    middle = 0.5 * (c1 + c2)
    hue_difference, cosine, sine = _hues(a1, b1, c1, a2, b2, c2)
    light = (0.5 * (l1 + l2) - 50.0) ** 2
    dl = (l2 - l1) / (k[0] * (1.0 + 0.015 * light / np.sqrt(20.0 + light)))
    dc = (c2 - c1) / (k[1] * (1.0 + 0.045 * middle))
    dh = hue_difference / (k[2] * (1.0 + 0.015 * middle * _hue_weight(cosine, sine)))
    rotation = -2.0 * _chroma_share(middle) * _sine_of_turn(cosine, sine)
    square = dl * dl + dc * dc + dh * dh + rotation * dc * dh
    difference: Floats = np.sqrt(np.maximum(square, 0.0))
    return difference


def _hues(a1: Floats, b1: Floats, c1: Floats, a2: Floats, b2: Floats, c2: Floats) -> tuple[Floats, Floats, Floats]:
    """The difference dH', and cosine and sine of the mean hue."""
    product = c1 * c2
    # No chroma on one side: dH' is 0, and the mean hue then counts nowhere.
    inverse = 1.0 / np.where(product > NO_CHROMA, product, 1.0)
    scale1, scale2 = c2 * inverse, c1 * inverse
    x1, y1, x2, y2 = a1 * scale1, b1 * scale1, a2 * scale2, b2 * scale2
    dx, dy, sx, sy = x1 - x2, y1 - y2, x1 + x2, y1 + y2
    apart, together = dx * dx + dy * dy, sx * sx + sy * sy
    cross = a1 * b2 - a2 * b1
    wide = apart > together
    # Hues exactly opposite: the turn goes up from the smaller hue, the one from 0 to below 180 degrees. Dark
    # colours are on Lab's straight part, where 8-bit pictures do have exact opposites; round-off must not choose.
    up = np.where(np.abs(b1) <= OPPOSITE * c1, a1 > 0.0, b1 > 0.0)
    opposite = wide & (np.abs(cross) <= OPPOSITE * product)
    turn = np.where(np.where(opposite, up, cross > 0.0), 1.0, -1.0)
    # The bisector is the sum of the unit vectors or, beyond a right angle, stands upright on their
    # difference: of the two the one that is the longer, so that it has no round-off to speak of.
    x, y = np.where(wide, -turn * dy, sx), np.where(wide, turn * dx, sy)
    length = np.sqrt(x * x + y * y)
    hue = length > 0.0
    length = np.where(hue, length, 1.0)
    return turn * np.sqrt(product * apart), np.where(hue, x / length, 1.0), y / length


def _chroma_share(chroma: Floats) -> Floats:
    square = chroma * chroma
    seventh = square * square * square * chroma
    share: Floats = np.sqrt(seventh / (seventh + 25.0**7))
    return share


def _hue_weight(c: Floats, s: Floats) -> Floats:
    """T: 1 - 0.17 cos(h - 30) + 0.24 cos 2h + 0.32 cos(3h + 6) - 0.20 cos(4h - 63)."""
    c2, s2 = c * c - s * s, 2.0 * c * s
    c3, s3 = c * c2 - s * s2, s * c2 + c * s2
    c4, s4 = c2 * c2 - s2 * s2, 2.0 * c2 * s2
    weight = 1.0 + 0.24 * c2
    for factor, cosine, sine, shift in ((-0.17, c, s, -30.0), (0.32, c3, s3, 6.0), (-0.20, c4, s4, -63.0)):
        angle = math.radians(shift)
        weight += (factor * math.cos(angle)) * cosine - (factor * math.sin(angle)) * sine
    return weight


def _sine_of_turn(c: Floats, s: Floats) -> Floats:
    """sin(2 x 30 degrees x exp(-((h - 275) / 25)^2)) for the hue h."""
    hue = np.degrees(np.arctan2(s, c)) % 360.0
    sine: Floats = np.sin(math.radians(60.0) * np.exp(-(((hue - 275.0) / 25.0) ** 2)))
    return sine
