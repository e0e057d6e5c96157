"""The segmentation, compiled. Edge number = direction x pixels + pixel; directions right, down, down right, down left.

Sorting all edges would cost more than anything else. Instead they are counted into buckets of rising cost; a bucket
is put in exact order only when its turn comes, without the edges whose ends have met by then: those can change
nothing any more.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from pixelgate.hints._numba_costs import edge_costs, smooth
from pixelgate.metrics._jit import inlined, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Number = int | np.int64

_COSTS = numba.types.Array(numba.float64, 1, "C")
_BITS = numba.types.Array(numba.uint64, 1, "C")
_INTS = numba.types.Array(numba.int32, 1, "C")

_LEAST_BITS = np.uint64(0x3E70000000000000)
"""The bits of 2^-24; smaller costs share the first bucket."""
_MOST_BITS = np.uint64(0x4000000000000000)
"""The bits of 2, above the largest distance of two colours, the square root of 3."""


@inlined
def _bucket_of(bits: np.uint64, shift: np.uint64) -> Number:
    if bits <= _LEAST_BITS:
        # Equal pixels have a bucket of their own: it needs no sorting.
        return np.int64(0 if bits == np.uint64(0) else 1)
    return np.int64(2 + np.int64((bits - _LEAST_BITS) >> shift))


@inlined
def _shift_for(buckets: int) -> np.uint64:
    shift = np.uint64(0)
    while ((_MOST_BITS - _LEAST_BITS) >> shift) > np.uint64(buckets - 3):
        shift += np.uint64(1)
    return shift


@kernel(_BITS, _INTS, _INTS)
def _bucket(bits: NDArray[np.uint64], order: Ints, starts: Ints) -> None:
    """Sort edge numbers by bucket, keeping their order within one; positive floats order as their bits do."""
    buckets = starts.size - 1
    shift = _shift_for(buckets)
    sign = np.uint64(1) << np.uint64(63)
    for edge in range(bits.size):
        if bits[edge] < sign:
            starts[_bucket_of(bits[edge], shift) + 1] += 1
    for bucket in range(buckets):
        starts[bucket + 1] += starts[bucket]
    places = starts.copy()
    for edge in range(bits.size):
        if bits[edge] < sign:
            place = _bucket_of(bits[edge], shift)
            order[places[place]] = edge
            places[place] += 1


@inlined
def _find(parents: Ints, pixel: Number) -> Number:
    while parents[pixel] != pixel:
        parents[pixel] = parents[parents[pixel]]
        pixel = parents[pixel]
    return pixel


@inlined
def _direction(edge: Number, pixels: int) -> Number:
    # Comparing is several times faster than dividing.
    return int(edge >= pixels) + int(edge >= 2 * pixels) + int(edge >= 3 * pixels)


@inlined
def _first_end(edge: Number, pixels: int) -> Number:
    direction = _direction(edge, pixels)
    return edge - direction * pixels + int(direction == 3)


@inlined
def _second_end(edge: Number, pixels: int, width: int) -> Number:
    direction = _direction(edge, pixels)
    down = width if direction > 0 else 0
    return edge - direction * pixels + down + int(direction == 0 or direction == 2)


@inlined
def _merge(costs: Floats, edges: Ints, spare: Ints, start: int, middle: int, stop: int) -> None:
    for i in range(start, middle):
        spare[i] = edges[i]
    left, right, to = start, middle, start
    while left < middle:
        if right < stop and costs[edges[right]] < costs[spare[left]]:
            edges[to] = edges[right]
            right += 1
        else:
            edges[to] = spare[left]
            left += 1
        to += 1


@inlined
def _sort(costs: Floats, edges: Ints, spare: Ints, count: int) -> None:
    """Sort edge numbers by cost, stably: insertion for runs of 16, then merging."""
    run = 16
    for start in range(0, count, run):
        for i in range(start + 1, min(start + run, count)):
            edge = edges[i]
            cost = costs[edge]
            j = i
            while j > start and costs[edges[j - 1]] > cost:
                edges[j] = edges[j - 1]
                j -= 1
            edges[j] = edge
    while run < count:
        for start in range(0, count, 2 * run):
            middle, stop = min(start + run, count), min(start + 2 * run, count)
            if middle >= stop or costs[edges[middle - 1]] <= costs[edges[middle]]:
                continue
            _merge(costs, edges, spare, start, middle, stop)
        run *= 2


@inlined
def _join(parents: Ints, sizes: Ints, one: Number, two: Number) -> None:
    root, other = min(one, two), max(one, two)
    parents[other] = root
    sizes[root] += sizes[other]


@kernel(_COSTS, _INTS, _INTS, numba.int64, numba.float64, numba.int64, _INTS)
def _grow(costs: Floats, order: Ints, starts: Ints, width: int, scale: float, min_size: int, parents: Ints) -> None:
    """Join regions along edges of rising cost, then small ones with a neighbour; every parent ends as a root."""
    pixels = parents.size
    sizes = np.ones(pixels, dtype=np.int32)
    limits = np.full(pixels, np.float32(scale), dtype=np.float32)
    most = 0
    for bucket in range(starts.size - 1):
        most = max(most, starts[bucket + 1] - starts[bucket])
    live = np.empty(most, dtype=np.int32)
    spare = np.empty(most, dtype=np.int32)
    refused = 0
    for bucket in range(starts.size - 1):
        count = 0
        for i in range(starts[bucket], starts[bucket + 1]):
            edge = np.int64(order[i])
            one = _find(parents, _first_end(edge, pixels))
            if one != _find(parents, _second_end(edge, pixels, width)):
                live[count] = edge
                count += 1
        if bucket:
            _sort(costs, live, spare, count)
        for i in range(count):
            edge = np.int64(live[i])
            one = _find(parents, _first_end(edge, pixels))
            two = _find(parents, _second_end(edge, pixels, width))
            if one == two:
                continue
            cost = costs[edge]
            if cost < min(limits[one], limits[two]):
                _join(parents, sizes, one, two)
                root = min(one, two)
                limits[root] = np.float32(cost + scale / sizes[root])
            else:
                # The places of the buckets done with are free: they keep, in order, what may yet join small regions.
                order[refused] = edge
                refused += 1
    for i in range(refused):
        edge = np.int64(order[i])
        one = _find(parents, _first_end(edge, pixels))
        two = _find(parents, _second_end(edge, pixels, width))
        if one != two and (sizes[one] < min_size or sizes[two] < min_size):
            _join(parents, sizes, one, two)
    for pixel in range(pixels):
        parents[pixel] = parents[parents[pixel]]


def segment(picture: NDArray[np.uint8], weights: Floats, scale: float, min_size: int) -> Ints:
    """Return for each pixel in raster order the first pixel of its region.

    Args:
        picture: uint8, height x width x 3, contiguous.
        weights: half a smoothing kernel.
        scale: in units of the colour distance, 0 to the square root of 3.
        min_size: in pixels.
    """
    height, width, _ = picture.shape
    blurred = np.empty((height, width, 3))
    smooth(picture, weights, blurred)
    costs = np.empty(4 * height * width)
    edge_costs(blurred, costs)
    parents = np.arange(height * width, dtype=np.int32)
    # About 32 edges a bucket, so that a simple sort will do within one.
    buckets = max(1 << 10, min(1 << 20, 1 << int(costs.size // 32).bit_length()))
    order = np.empty(costs.size, dtype=np.int32)
    starts = np.zeros(buckets + 3, dtype=np.int32)
    _bucket(costs.view(np.uint64), order, starts)
    _grow(costs, order, starts, width, scale, min_size, parents)
    return parents
