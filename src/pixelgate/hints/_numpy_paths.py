"""The search for longest paths without a compiler."""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import NDArray

from pixelgate.hints.paths import Graph

Numbers = NDArray[np.int64]
Links = list[list[tuple[int, float]]]

_EQUAL = 1e-12
_SLACK = 1e-6
"""A start whose bound is below the best length by more cannot win, nor tie."""
_LENGTHS = (math.sqrt(2.0), 1.0)


def longest(graph: Graph) -> tuple[NDArray[np.float64], Numbers]:
    """For each piece of a graph the length of its longest path, and its first and last node (pieces x 2)."""
    lengths = np.empty(graph.trees.size)
    ends = np.empty((graph.trees.size, 2), dtype=np.int64)
    for piece in range(graph.trees.size):
        lengths[piece], start, end = _longest_in(_links(graph, piece), bool(graph.trees[piece]))
        ends[piece] = graph.starts[piece] + start, graph.starts[piece] + end
    return lengths, ends


def trace(graph: Graph, pieces: Numbers, ends: Numbers) -> NDArray[np.bool_]:
    """Mark the nodes of the longest paths of some pieces."""
    marks = np.zeros(graph.pixels.size, dtype=np.bool_)
    for piece in pieces.tolist():
        first = int(graph.starts[piece])
        start, node = (int(end) - first for end in ends[piece])
        _, origins = _distances(_links(graph, piece), start, bool(graph.trees[piece]))
        while node >= 0:
            marks[first + node] = True
            node = origins[node]
    return marks


def _links(graph: Graph, piece: int) -> Links:
    """Each node's neighbours in one piece, numbered from its first node, and the way to them."""
    first, stop = graph.starts[piece : piece + 2].tolist()
    rows = graph.neighbours[first:stop].tolist()
    return [[(other - first, _LENGTHS[place & 1]) for place, other in enumerate(row) if other >= 0] for row in rows]


def _longest_in(links: Links, tree: bool) -> tuple[float, int, int]:
    # In a tree the longest path ends at leaves.
    bounds = [math.inf if not tree or len(nearby) <= 1 else -1.0 for nearby in links]
    best = (-1.0, 0, 0)
    while True:
        start = max(range(len(bounds)), key=bounds.__getitem__)
        if bounds[start] < 0.0 or bounds[start] < best[0] - _SLACK:
            return best
        distances, _ = _distances(links, start, tree)
        end = 0
        for node, distance in enumerate(distances):
            if distance > distances[end] + _EQUAL:
                end = node
        length = distances[end]
        if length > best[0] or (length == best[0] and start < best[1]):
            best = (length, start, end)
        # No path from another node is longer than the way to this start and its longest path.
        bounds = [min(bound, distance + length) for bound, distance in zip(bounds, distances, strict=True)]
        bounds[start] = -1.0


def _distances(links: Links, start: int, tree: bool) -> tuple[list[float], list[int]]:
    """The distance of every node from `start`, and the node before it on the way; -1 at the start."""
    return _walk(links, start) if tree else _search(links, start)


def _walk(links: Links, start: int) -> tuple[list[float], list[int]]:
    distances, origins = [0.0] * len(links), [-1] * len(links)
    stack = [start]
    while stack:
        node = stack.pop()
        for other, length in links[node]:
            if other != origins[node]:
                distances[other] = distances[node] + length
                origins[other] = node
                stack.append(other)
    return distances, origins


def _search(links: Links, start: int) -> tuple[list[float], list[int]]:
    """Dijkstra's search; of two equal ways the one over the smaller node counts, with its length as it was summed."""
    distances, origins = [math.inf] * len(links), [-1] * len(links)
    settled = [False] * len(links)
    distances[start] = 0.0
    heap = [(0.0, start)]
    while heap:
        reached, node = heapq.heappop(heap)
        if settled[node]:
            continue
        settled[node] = True
        for other, length in links[node]:
            distance = reached + length
            shorter = distance < distances[other] - _EQUAL
            equal = abs(distance - distances[other]) <= _EQUAL and node < origins[other]
            if not settled[other] and (shorter or equal):
                distances[other], origins[other] = distance, node
                heapq.heappush(heap, (distance, other))
    return distances, origins
