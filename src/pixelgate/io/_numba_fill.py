"""Bilinear blending along both axes, compiled.

A row of an H x W x C picture is treated as one line of W C values, so that the loops have no inner ones. Each
source row that is needed is blended along its columns once; the two rows that a target row lies between are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numpy.typing import NDArray

from pixelgate.metrics._jit import inlined, kernel

if TYPE_CHECKING:
    from pixelgate.io.fill import Taps

Floats = NDArray[np.float32]
Indices = NDArray[np.intp]

_BYTES_IN = numba.types.Array(numba.uint8, 2, "C", readonly=True)
_FLOATS_IN = numba.types.Array(numba.float32, 2, "C", readonly=True)
_PLACES = numba.types.Array(numba.intp, 1, "C", readonly=True)
_SHARES = numba.types.Array(numba.float32, 2, "C", readonly=True)
_OUT = numba.types.Array(numba.float32, 2, "C")
_TAPS = (_PLACES, _PLACES, _SHARES)


def blend(source: NDArray[Any], rows: Taps, columns: Taps, out: Floats) -> None:
    """Fill `out` (H x W x C) with the source (h x w x C, uint8 or float32) at the taps of its rows and columns."""
    height, _, channels = source.shape
    left, right = (_spread(places, channels) for places in (columns.first, columns.second))
    shares = np.repeat(columns.weights, channels, axis=1)
    run = _blend_bytes if source.dtype == np.uint8 else _blend_floats
    lines = (source.reshape(height, -1), out.reshape(out.shape[0], -1))
    run(lines[0], rows.first, rows.second, rows.weights, left, right, shares, lines[1])


def _spread(places: Indices, channels: int) -> Indices:
    """The places of all channels' values in a line, from the places of pixels."""
    return np.asarray((places[:, np.newaxis] * channels + np.arange(channels)).ravel(), dtype=np.intp)


@inlined
def _line(row: NDArray[Any], left: Indices, right: Indices, shares: Floats, line: Floats) -> None:
    before, after = shares[0], shares[1]
    for x in range(line.size):
        line[x] = np.float32(row[left[x]]) * before[x] + np.float32(row[right[x]]) * after[x]


@inlined
def _mix(above: Floats, below: Floats, before: np.float32, after: np.float32, out: Floats) -> None:
    for x in range(out.size):
        out[x] = above[x] * before + below[x] * after


@inlined
def _both(
    source: NDArray[Any],
    first: Indices,
    second: Indices,
    weights: Floats,
    left: Indices,
    right: Indices,
    shares: Floats,
    out: Floats,
) -> None:
    lines = np.empty((2, out.shape[1]), np.float32)
    held = np.full(2, -1)
    for y in range(out.shape[0]):
        # A row's place goes by whether its number is even; neighbours thus never displace each other.
        for row in (first[y], second[y]):
            if held[row % 2] != row:
                _line(source[row], left, right, shares, lines[row % 2])
                held[row % 2] = row
        _mix(lines[first[y] % 2], lines[second[y] % 2], weights[0, y], weights[1, y], out[y])


@kernel(_BYTES_IN, *_TAPS, *_TAPS, _OUT)
def _blend_bytes(
    source: NDArray[np.uint8],
    first: Indices,
    second: Indices,
    weights: Floats,
    left: Indices,
    right: Indices,
    shares: Floats,
    out: Floats,
) -> None:
    _both(source, first, second, weights, left, right, shares, out)


@kernel(_FLOATS_IN, *_TAPS, *_TAPS, _OUT)
def _blend_floats(
    source: Floats,
    first: Indices,
    second: Indices,
    weights: Floats,
    left: Indices,
    right: Indices,
    shares: Floats,
    out: Floats,
) -> None:
    _both(source, first, second, weights, left, right, shares, out)
