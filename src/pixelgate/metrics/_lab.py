"""The tables that take 8-bit sRGB to CIELAB.

Source: IEC 61966-2-1 for the sRGB curve and matrix, CIE 15 for CIELAB. The white point is the matrix's
own white, the sum of each of its rows, so that every grey is neutral.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import ProtocolError

EPSILON = 216.0 / 24389.0
"""Where the cube root of CIELAB gives way to a line."""
KAPPA = 24389.0 / 27.0
"""Slope of that line; both are CIE 15's exact fractions."""

MATRICES: dict[str, tuple[tuple[float, float, float], ...]] = {
    # As printed in IEC 61966-2-1.
    "iec61966-2-1-4digit": (
        (0.4124, 0.3576, 0.1805),
        (0.2126, 0.7152, 0.0722),
        (0.0193, 0.1192, 0.9505),
    ),
    # As in scikit-image.
    "srgb-6digit": (
        (0.412453, 0.357580, 0.180423),
        (0.212671, 0.715160, 0.072169),
        (0.019334, 0.119193, 0.950227),
    ),
    # As published by Bruce Lindbloom.
    "srgb-7digit": (
        (0.4124564, 0.3575761, 0.1804375),
        (0.2126729, 0.7151522, 0.0721750),
        (0.0193339, 0.1191920, 0.9503041),
    ),
}
"""Linear sRGB to XYZ at D65, by the name that a protocol gives."""

DEFAULT_MATRIX = "iec61966-2-1-4digit"


@dataclass(frozen=True)
class LabTables:
    """What a conversion needs.

    Attributes:
        linear: 256 values, 8-bit level to linear light from 0 to 1.
        weights: 3 x 3, linear RGB to XYZ divided by the white's XYZ; each row sums to 1.
    """

    linear: NDArray[np.float64]
    weights: NDArray[np.float64]


@functools.cache
def lab_tables(matrix: str) -> LabTables:
    """The tables of one of `MATRICES`; `ProtocolError` where there is no such name."""
    if matrix not in MATRICES:
        raise ProtocolError(f"unknown sRGB matrix {matrix!r}; known: {', '.join(MATRICES)}")
    rows = np.array(MATRICES[matrix], dtype=np.float64)
    level = np.arange(256) / 255.0
    linear = np.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055) ** 2.4)
    tables = LabTables(linear, rows / rows.sum(axis=1, keepdims=True))
    for array in (tables.linear, tables.weights):
        array.flags.writeable = False
    return tables
