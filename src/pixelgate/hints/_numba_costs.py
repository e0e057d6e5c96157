"""Edge costs of the segmentation, compiled: smoothing and the distances of neighbouring colours.

No operation here may be fused or reordered: the costs must come out the same on every processor.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from pixelgate.metrics._jit import PICTURE, TABLE, WRITABLE_CUBE, inlined, kernel

Floats = NDArray[np.float64]

NO_EDGE = -1.0
"""The cost of an edge that would leave the picture."""

_COSTS = numba.types.Array(numba.float64, 1, "C")


@inlined
def _mirror(index: int, size: int) -> int:
    period = 2 * size
    index %= period
    return index if index < size else period - 1 - index


@kernel(PICTURE, TABLE, WRITABLE_CUBE)
def smooth(picture: NDArray[np.uint8], weights: Floats, out: Floats) -> None:
    """Smooth down the columns, then along the rows; the border is mirrored with its own pixel doubled."""
    height, width, _ = picture.shape
    radius = weights.size - 1
    unit = 1.0 / 255.0
    values = 3 * width
    source = picture.reshape(height, values)
    line = np.empty(values)
    target = out.reshape(height, values)
    for row in range(height):
        for j in range(values):
            line[j] = (source[row, j] * unit) * weights[0]
        for distance in range(radius, 0, -1):
            above, below = source[_mirror(row - distance, height)], source[_mirror(row + distance, height)]
            for j in range(values):
                line[j] += (above[j] * unit + below[j] * unit) * weights[distance]
        for j in range(values):
            target[row, j] = line[j] * weights[0]
        for distance in range(radius, 0, -1):
            weight = weights[distance]
            inner = min(distance, width)
            for column in range(width):
                if inner <= column < width - inner:
                    continue
                left, right = 3 * _mirror(column - distance, width), 3 * _mirror(column + distance, width)
                for channel in range(3):
                    target[row, 3 * column + channel] += (line[left + channel] + line[right + channel]) * weight
            for j in range(3 * inner, values - 3 * inner):
                target[row, j] += (line[j - 3 * distance] + line[j + 3 * distance]) * weight


@inlined
def _distance(a: Floats, i: int, b: Floats, j: int) -> np.float64:
    first, second, third = a[i, 0] - b[j, 0], a[i, 1] - b[j, 1], a[i, 2] - b[j, 2]
    distance: np.float64 = np.sqrt((first * first + second * second) + third * third)
    return distance


@kernel(WRITABLE_CUBE, _COSTS)
def edge_costs(smooth: Floats, costs: Floats) -> None:
    """Costs of each pixel's edges to the right, below and along both diagonals below, one after another."""
    height, width, _ = smooth.shape
    pixels = height * width
    for row in range(height):
        here = smooth[row]
        below = smooth[min(row + 1, height - 1)]
        last_row = row == height - 1
        for column in range(width):
            pixel = row * width + column
            last_column = column == width - 1
            if last_row or last_column:
                costs[pixel] = NO_EDGE if last_column else _distance(here, column + 1, here, column)
                costs[pixels + pixel] = NO_EDGE if last_row else _distance(below, column, here, column)
                costs[2 * pixels + pixel] = NO_EDGE
                costs[3 * pixels + pixel] = NO_EDGE
                continue
            costs[pixel] = _distance(here, column + 1, here, column)
            costs[pixels + pixel] = _distance(below, column, here, column)
            costs[2 * pixels + pixel] = _distance(below, column + 1, here, column)
            costs[3 * pixels + pixel] = _distance(below, column, here, column + 1)
