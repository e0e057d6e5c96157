"""The search for longest paths, compiled."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from pixelgate.hints.paths import Graph
from pixelgate.metrics._jit import inlined, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Numbers = NDArray[np.int64]

_EQUAL = 1e-12
_SLACK = 1e-6
"""A start whose bound is below the best length by more cannot win, nor tie."""
_DIAGONAL = np.sqrt(2.0)
_UNSEEN, _SETTLED = -1, -2

_NEIGHBOURS = numba.types.Array(numba.int32, 2, "C")
_FLAGS = numba.types.Array(numba.boolean, 1, "C")
_NUMBERS = numba.types.Array(numba.int64, 1, "C")
_PAIRS = numba.types.Array(numba.int64, 2, "C")
_LENGTHS = numba.types.Array(numba.float64, 1, "C")


def longest(graph: Graph) -> tuple[Floats, Numbers]:
    """For each piece of a graph the length of its longest path, and its first and last node (pieces x 2)."""
    lengths = np.empty(graph.trees.size)
    ends = np.empty((graph.trees.size, 2), dtype=np.int64)
    _longest(graph.neighbours, graph.starts, graph.trees, lengths, ends)
    return lengths, ends


def trace(graph: Graph, pieces: Numbers, ends: Numbers) -> NDArray[np.bool_]:
    """Mark the nodes of the longest paths of some pieces."""
    marks = np.zeros(graph.pixels.size, dtype=np.bool_)
    _trace(graph.neighbours, graph.starts, graph.trees, np.ascontiguousarray(pieces), ends, marks)
    return marks


@inlined
def _walk(neighbours: Ints, start: int, distances: Floats, origins: Ints, stack: Ints) -> None:
    """Distances from `start` in a tree."""
    distances[start], origins[start] = 0.0, -1
    stack[0], filled = start, 1
    while filled:
        filled -= 1
        node = stack[filled]
        for place in range(8):
            other = neighbours[node, place]
            if other >= 0 and other != origins[node]:
                distances[other] = distances[node] + (1.0 if place & 1 else _DIAGONAL)
                origins[other] = node
                stack[filled] = other
                filled += 1


@inlined
def _before(distances: Floats, one: int, two: int) -> bool:
    return distances[one] < distances[two] or (distances[one] == distances[two] and one < two)


@inlined
def _rise(heap: Ints, places: Ints, distances: Floats, at: int) -> None:
    node = heap[at]
    while at > 0 and _before(distances, node, heap[(at - 1) // 2]):
        heap[at] = heap[(at - 1) // 2]
        places[heap[at]] = at
        at = (at - 1) // 2
    heap[at] = node
    places[node] = at


@inlined
def _sink(heap: Ints, places: Ints, distances: Floats, size: int) -> None:
    node, at = heap[0], 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _before(distances, heap[child + 1], heap[child]):
            child += 1
        if not _before(distances, heap[child], node):
            break
        heap[at] = heap[child]
        places[heap[at]] = at
        at = child
    heap[at] = node
    places[node] = at


@inlined
def _search(neighbours: Ints, first: int, stop: int, start: int, distances: Floats, origins: Ints, heap: Ints) -> None:
    """Dijkstra's search; of two equal ways the one over the smaller node counts, with its length as it was summed.

    Two sums of one length may differ in the last digit, so the least one, a node's turn, is kept beside its distance.
    """
    turns = np.full(stop - first, np.inf)
    places = np.full(stop - first, _UNSEEN, dtype=np.int32)
    for node in range(first, stop):
        distances[node], origins[node] = np.inf, -1
    distances[start] = turns[start - first] = 0.0
    heap[0], size = start - first, 1
    while size:
        node = heap[0]
        size -= 1
        if size:
            heap[0] = heap[size]
            _sink(heap, places, turns, size)
        places[node] = _SETTLED
        for place in range(8):
            other = neighbours[first + node, place] - first
            if other < 0 or places[other] == _SETTLED:
                continue
            distance = turns[node] + (1.0 if place & 1 else _DIAGONAL)
            known = distances[first + other]
            equal = abs(distance - known) <= _EQUAL and first + node < origins[first + other]
            if not (equal or distance < known - _EQUAL):
                continue
            distances[first + other], origins[first + other] = distance, first + node
            if places[other] == _UNSEEN:
                places[other] = size
                heap[size] = other
                size += 1
            if distance < turns[other]:
                turns[other] = distance
                _rise(heap, places, turns, places[other])


@inlined
def _farthest(distances: Floats, first: int, stop: int) -> int:
    best = first
    for node in range(first + 1, stop):
        if distances[node] > distances[best] + _EQUAL:
            best = node
    return best


@kernel(_NEIGHBOURS, _NUMBERS, _FLAGS, _LENGTHS, _PAIRS)
def _longest(neighbours: Ints, starts: Numbers, trees: NDArray[np.bool_], lengths: Floats, ends: Numbers) -> None:
    count = neighbours.shape[0]
    distances, bounds = np.empty(count), np.empty(count)
    origins, spare = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int32)
    for piece in range(trees.size):
        first, stop = starts[piece], starts[piece + 1]
        for node in range(first, stop):
            degree = 0
            for place in range(8):
                degree += neighbours[node, place] >= 0
            # In a tree the longest path ends at leaves.
            bounds[node] = np.inf if degree <= 1 or not trees[piece] else -1.0
        best, best_start, best_end = -1.0, first, first
        while True:
            start = first
            for node in range(first + 1, stop):
                if bounds[node] > bounds[start]:
                    start = node
            if bounds[start] < 0.0 or bounds[start] < best - _SLACK:
                break
            if trees[piece]:
                _walk(neighbours, start, distances, origins, spare)
            else:
                _search(neighbours, first, stop, start, distances, origins, spare)
            end = _farthest(distances, first, stop)
            length = distances[end]
            if length > best or (length == best and start < best_start):
                best, best_start, best_end = length, start, end
            # No path from another node is longer than the way to this start and its longest path.
            for node in range(first, stop):
                bounds[node] = min(bounds[node], distances[node] + length)
            bounds[start] = -1.0
        lengths[piece] = best
        ends[piece, 0], ends[piece, 1] = best_start, best_end


@kernel(_NEIGHBOURS, _NUMBERS, _FLAGS, _NUMBERS, _PAIRS, _FLAGS)
def _trace(
    neighbours: Ints,
    starts: Numbers,
    trees: NDArray[np.bool_],
    pieces: Numbers,
    ends: Numbers,
    marks: NDArray[np.bool_],
) -> None:
    count = neighbours.shape[0]
    distances = np.empty(count)
    origins, spare = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int32)
    for piece in pieces:
        first, stop = starts[piece], starts[piece + 1]
        if trees[piece]:
            _walk(neighbours, ends[piece, 0], distances, origins, spare)
        else:
            _search(neighbours, first, stop, ends[piece, 0], distances, origins, spare)
        node = ends[piece, 1]
        while node >= 0:
            marks[node] = True
            node = origins[node]
