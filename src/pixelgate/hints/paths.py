"""The longest path of each region's skeleton, found exactly, with every tie settled.

The graph of a skeleton joins neighbouring pixels: sides by an edge of length 1, corners by the square root of 2, but
no corner edge where one of the two pixels between is on the skeleton. The longest path is the longest of all shortest
paths. Of equal ones the one with the smaller start, then the smaller end, in raster order; where a pixel is reached
equally far from two sides, the path comes from the smaller one. Lengths within 1e-12 are equal inside one search; the
winners of different searches are compared as they are.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pixelgate.hints.skeleton import NEIGHBOURS, skeletonize
from pixelgate.metrics._backend import backend

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Paths:
    """The pixels of all regions' paths, in the order of the regions, then of the pixels.

    Attributes:
        regions: int64, one a path pixel: the region that the path is of.
        pixels: int64, one a path pixel: row x width + column.
        failed: int64, ascending: the regions in which no path was found.
    """

    regions: Numbers
    pixels: Numbers
    failed: Numbers


@dataclass(frozen=True)
class Graph:
    """Skeleton pixels as nodes, those of one connected piece next to each other and in raster order.

    Attributes:
        pixels: int64, one a node: row x width + column.
        neighbours: int32, nodes x 8: a node, or -1; the places are those of `NEIGHBOURS`, odd ones are sides.
        starts: int64, pieces + 1: the first node of each piece, and the number of nodes.
        trees: bool, one a piece: whether it has no closed loop.
    """

    pixels: Numbers
    neighbours: NDArray[np.int32]
    starts: Numbers
    trees: NDArray[np.bool_]


def geodesic_paths(labels: NDArray[np.int32]) -> Paths:
    """Find the longest path in each region's skeleton.

    Args:
        labels: height x width, regions numbered from 0 to n - 1, each of them present.

    Returns:
        The paths; they lie inside their regions. A skeleton is never empty, so none fails.
    """
    graph = build_graph(labels, skeletonize(labels))
    name = "_numba_paths" if backend().name == "numba" else "_numpy_paths"
    kernels = importlib.import_module(f"pixelgate.hints.{name}")
    lengths, ends = kernels.longest(graph)
    regions = labels.reshape(-1)[graph.pixels[graph.starts[:-1]]].astype(np.int64)
    first, last = graph.pixels[ends].T
    # The best piece of each region comes first in this order.
    order = np.lexsort((last, first, -lengths, regions))
    leading = np.flatnonzero(np.diff(regions[order], prepend=-1))
    on_path = kernels.trace(graph, order[leading], ends)
    pixels = np.sort(graph.pixels[on_path])
    owners = labels.reshape(-1)[pixels].astype(np.int64)
    by_region = np.argsort(owners, kind="stable")
    failed = np.setdiff1d(np.arange(int(labels.max()) + 1), owners)
    return Paths(owners[by_region], pixels[by_region], failed)


def build_graph(labels: NDArray[np.int32], skeleton: NDArray[np.bool_]) -> Graph:
    """Join the skeleton pixels of each region to pieces.

    Args:
        labels: int32, height x width: the regions.
        skeleton: bool, height x width.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    pixels = np.flatnonzero(skeleton)
    neighbours = _neighbours(labels, skeleton, pixels)
    node, place = np.nonzero(neighbours >= 0)
    links = csr_matrix(
        (np.ones(node.size, dtype=np.int8), (node, neighbours[node, place])), shape=(pixels.size, pixels.size)
    )
    count, pieces = connected_components(links, directed=False)
    order = np.argsort(pieces, kind="stable")
    renumbered = np.empty(pixels.size + 1, dtype=np.int32)
    renumbered[order] = np.arange(pixels.size)
    renumbered[-1] = -1
    nodes = np.bincount(pieces, minlength=count)
    edges = np.bincount(pieces[node], minlength=count) // 2
    starts = np.concatenate([[0], np.cumsum(nodes)])
    return Graph(pixels[order], np.ascontiguousarray(renumbered[neighbours[order]]), starts, edges == nodes - 1)


def _neighbours(labels: NDArray[np.int32], skeleton: NDArray[np.bool_], pixels: Numbers) -> NDArray[np.int32]:
    """For each skeleton pixel the places of its neighbours in `pixels`, or -1; corners beside a side are left out."""
    width = labels.shape[1] + 2
    own = np.full((labels.shape[0] + 2, width), -1, dtype=np.int32)
    own[1:-1, 1:-1] = np.where(skeleton, labels, -1)
    own = own.reshape(-1)
    place = np.full(own.size, -1, dtype=np.int32)
    here = (pixels // labels.shape[1] + 1) * width + pixels % labels.shape[1] + 1
    place[here] = np.arange(pixels.size)
    joined = np.stack([own[here + row * width + column] == own[here] for row, column in NEIGHBOURS], axis=1)
    for corner in range(0, 8, 2):
        joined[:, corner] &= ~(joined[:, corner - 1] | joined[:, corner + 1])
    targets = np.stack([place[here + row * width + column] for row, column in NEIGHBOURS], axis=1)
    return np.where(joined, targets, np.int32(-1))
