"""The segmentation without a compiler: whole-array steps, and a loop over only the edges that may still join regions.

Edges are numbered as in the compiled version: direction x pixels + pixel.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

_FIRST_CHUNK = 4096
_GROWTH = 1.3


def segment(picture: NDArray[np.uint8], weights: Floats, scale: float, min_size: int) -> Ints:
    """Return for each pixel in raster order the first pixel of its region.

    Args:
        picture: uint8, height x width x 3.
        weights: half a smoothing kernel.
        scale: in units of the colour distance, 0 to the square root of 3.
        min_size: in pixels.
    """
    # One multiplication, as scikit-image converts: dividing by 255 would round differently.
    values = picture.astype(np.float64) * (1.0 / 255.0)
    costs, edges = edge_costs(_smooth(_smooth(values, weights, 0), weights, 1))
    order = np.argsort(costs, kind="stable")
    costs, edges = costs[order], edges[order]
    forest = _Forest(picture.shape[0] * picture.shape[1], picture.shape[1], scale)
    left = [forest.grow(costs[part], edges[part]) for part in _chunks(edges.size)]
    if left:
        forest.join_small(np.concatenate(left), min_size)
    return forest.roots()


def _smooth(values: Floats, weights: Floats, axis: int) -> Floats:
    """Smooth along one axis; the border is mirrored with its own pixel doubled. The sum runs from outside inwards."""
    size = values.shape[axis]
    out: Floats = values * weights[0]
    places = np.arange(size)
    for distance in range(weights.size - 1, 0, -1):
        before = np.take(values, _mirror(places - distance, size), axis)
        after = np.take(values, _mirror(places + distance, size), axis)
        out += (before + after) * weights[distance]
    return out


def _mirror(index: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    index = index % (2 * size)
    return np.where(index < size, index, 2 * size - 1 - index)


def edge_costs(smooth: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """The distance of the colours at both ends of each edge, and the edges' numbers, ascending."""
    height, width, _ = smooth.shape
    pixels = np.arange(height * width, dtype=np.int64).reshape(height, width)
    pairs = (
        (smooth[:, 1:], smooth[:, :-1], pixels[:, :-1]),
        (smooth[1:], smooth[:-1], pixels[:-1]),
        (smooth[1:, 1:], smooth[:-1, :-1], pixels[:-1, :-1]),
        (smooth[1:, :-1], smooth[:-1, 1:], pixels[:-1, :-1]),
    )
    costs, edges = [], []
    for direction, (one, other, pixel) in enumerate(pairs):
        squares = np.square(one - other)
        costs.append(np.sqrt(squares[..., 0] + squares[..., 1] + squares[..., 2]).ravel())
        edges.append(pixel.ravel() + direction * pixels.size)
    return np.concatenate(costs), np.concatenate(edges)


def _chunks(count: int) -> Iterator[slice]:
    start, size = 0, float(_FIRST_CHUNK)
    while start < count:
        yield slice(start, start + int(size))
        start += int(size)
        size *= _GROWTH


class _Forest:
    """Which pixel belongs to which region: each pixel's parent; the root of a region is its first pixel."""

    def __init__(self, pixels: int, width: int, scale: float) -> None:
        self._parents = np.arange(pixels, dtype=np.int32)
        self._sizes = np.ones(pixels, dtype=np.int64)
        self._limits = np.full(pixels, np.float32(scale), dtype=np.float32)
        self._scale = scale
        offsets = ((0, 1), (0, width), (0, width + 1), (1, width))
        self._offsets = np.array(offsets, dtype=np.int64)

    def roots(self) -> Ints:
        """The root of each pixel."""
        while True:
            up = self._parents[self._parents]
            if np.array_equal(up, self._parents):
                return up
            self._parents = up

    def grow(self, costs: Floats, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """Join along edges of rising cost; return, in order, the edges that were refused."""
        ends = self._ends(edges)
        apart = ends[0] != ends[1]
        # A region whose limit is not above the least cost here can never grow again: its edges need no look.
        open_ends = np.minimum(self._limits[ends[0]], self._limits[ends[1]]) > costs[:1]
        chosen = np.flatnonzero(apart & open_ends)
        places, one, two = self._local(ends[:, chosen])
        self._join(places, one, two, costs[chosen].tolist())
        ends = self._ends(edges)
        left: NDArray[np.int64] = edges[ends[0] != ends[1]]
        return left

    def join_small(self, edges: NDArray[np.int64], min_size: int) -> None:
        """Join each region of fewer pixels than `min_size` with the neighbour behind its cheapest edge."""
        for part in _chunks(edges.size):
            ends = self._ends(edges[part])
            small = np.minimum(self._sizes[ends[0]], self._sizes[ends[1]]) < min_size
            places, one, two = self._local(ends[:, small & (ends[0] != ends[1])])
            parents = list(range(places.size))
            sizes: list[int] = self._sizes[places].tolist()
            for a, b in zip(one, two, strict=True):
                a, b = _find(parents, a), _find(parents, b)
                if a != b and (sizes[a] < min_size or sizes[b] < min_size):
                    root, other = (a, b) if a < b else (b, a)
                    parents[other] = root
                    sizes[root] += sizes[other]
            self._parents[places] = places[parents]
            self._sizes[places] = sizes

    def _ends(self, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """The roots of both ends of each edge, 2 x edges."""
        roots = self.roots()
        directions, pixels = np.divmod(edges, roots.size)
        return np.stack([roots[pixels + self._offsets[directions, end]] for end in (0, 1)]).astype(np.int64)

    @staticmethod
    def _local(ends: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[int], list[int]]:
        """The roots that occur, ascending, and each end's place among them."""
        places, numbers = np.unique(ends, return_inverse=True)
        one, two = numbers.reshape(ends.shape)
        return places, one.tolist(), two.tolist()

    def _join(self, places: NDArray[np.int64], one: list[int], two: list[int], costs: list[float]) -> None:
        """Join along edges between places, as `grow` does; the one loop that takes long, so nothing is called in it."""
        parents = list(range(places.size))
        sizes: list[int] = self._sizes[places].tolist()
        limits = self._limits[places].astype(np.float64).tolist()
        scale, single = self._scale, np.float32
        for a, b, cost in zip(one, two, costs, strict=True):
            while a != parents[a]:
                parents[a] = a = parents[parents[a]]
            while b != parents[b]:
                parents[b] = b = parents[parents[b]]
            if a == b or cost >= limits[a] or cost >= limits[b]:
                continue
            root, other = (a, b) if a < b else (b, a)
            parents[other] = root
            size = sizes[root] + sizes[other]
            sizes[root] = size
            limits[root] = float(single(cost + scale / size))
        self._parents[places] = places[parents]
        self._sizes[places] = sizes
        self._limits[places] = limits


def _find(parents: list[int], place: int) -> int:
    while parents[place] != place:
        parents[place] = parents[parents[place]]
        place = parents[place]
    return place
