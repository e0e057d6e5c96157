"""Region ids, their colours, and the split of a small map into connected regions.

An id is a number from 0 to 255^3 - 1 that a map's picture shows as a colour: three digits to the base 255, blue
first. The ids of the regions that a segmenter finds are scrambled: number i gets ``i * 1000003 mod 255^3``. That order
matters: of regions of equal area, the one with the smaller id comes first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem

Ids = NDArray[np.int64]

BASE = 255
CODES = BASE**3
_FACTOR = 1_000_003


@dataclass(frozen=True)
class Regions:
    """A map of connected regions.

    Attributes:
        labels: int32, height x width: each pixel's region, numbered from 0 by ascending id.
        ids: int64, n, ascending.
        areas: int64, n: pixels of each region.
        first_pixels: int64, n: row x width + column of each region's first pixel in raster order.
    """

    labels: NDArray[np.int32]
    ids: Ids
    areas: NDArray[np.int64]
    first_pixels: NDArray[np.int64]


def codes(numbers: NDArray[Any]) -> Ids:
    """The ids of region numbers 0, 1, 2, ...

    Raises:
        InputError: rule ``too-many-regions``, if a number is 255^3 or more.
    """
    if numbers.size and int(numbers.max()) >= CODES:
        found = f"there are more than {CODES} regions, and no more ids."
        raise InputError(Problem("", "too-many-regions", found, "Segment into fewer regions."))
    scrambled: Ids = numbers.astype(np.int64) * _FACTOR % CODES
    return scrambled


def id_colours(ids: Ids) -> NDArray[np.uint8]:
    """The RGB colours that show ids in a map's picture; a last axis of 3 is added.

    Ids of 255^3 and more, which only maps from elsewhere have, get a colour of the same id.
    """
    blue = np.minimum(ids // (BASE * BASE), 255)
    rest = ids - blue * BASE * BASE
    green = np.minimum(rest // BASE, 255)
    return np.stack([rest - green * BASE, green, blue], axis=-1).astype(np.uint8)


def colour_ids(colours: NDArray[np.uint8]) -> Ids:
    """The ids that RGB colours stand for; the last axis of 3 goes. Colours with a 255 may share an id."""
    red, green, blue = np.moveaxis(colours.astype(np.int64), -1, 0)
    ids: Ids = (blue * BASE + green) * BASE + red
    return ids


def map_ids(colours: NDArray[np.uint8]) -> Ids:
    """The ids of a region map from elsewhere, in any colours.

    Where two colours would share an id, all of them are numbered anew, in the order of blue, green, red.

    Args:
        colours: uint8, height x width x 3, RGB.

    Returns:
        int64, height x width.
    """
    red, green, blue = np.moveaxis(colours.astype(np.int64), -1, 0)
    plain = (blue << 16) | (green << 8) | red
    distinct, place = np.unique(plain, return_inverse=True)
    ids = colour_ids(colours)
    if np.unique(ids).size == distinct.size:
        return ids
    return codes(np.arange(distinct.size))[place].reshape(plain.shape)


def label_ids(labels: NDArray[Any]) -> Ids:
    """The ids of a segmenter's labels, which are numbered from 0 by ascending value first.

    Args:
        labels: whole numbers, height x width.
    """
    distinct, place = np.unique(labels, return_inverse=True)
    return codes(np.arange(distinct.size))[place].reshape(labels.shape)


def split(ids: Ids) -> Regions:
    """Part every id's pixels into pieces that hang together by their sides, each with an id of its own.

    Ids are taken in ascending order, pieces by their first pixel. The first piece keeps the id; the others take the
    ids of numbers 0, 1, 2, ..., without those that occur in the map.

    Args:
        ids: int64, height x width.

    Raises:
        InputError: rule ``too-many-regions``.
    """
    pieces, first_pixels = _pieces(ids)
    values = ids.reshape(-1)[first_pixels]
    order = np.lexsort((first_pixels, values))
    later = np.concatenate([[False], np.diff(values[order]) == 0])
    values[order[later]] = _unused(values, int(np.count_nonzero(later)))
    by_id = np.argsort(values)
    ranks = np.empty(by_id.size, dtype=np.int32)
    ranks[by_id] = np.arange(by_id.size)
    labels = ranks[pieces]
    areas = np.bincount(labels.reshape(-1), minlength=values.size)
    return Regions(labels, values[by_id], areas, first_pixels[by_id])


def whole(ids: Ids) -> Regions:
    """Take each id as one region, connected or not, as stored maps are read."""
    values, first_pixels, labels, areas = np.unique(ids, return_index=True, return_inverse=True, return_counts=True)
    return Regions(labels.reshape(ids.shape).astype(np.int32), values, areas, first_pixels)


def _unused(present: Ids, count: int) -> Ids:
    candidates = codes(np.arange(min(count + present.size, CODES)))
    free = candidates[~np.isin(candidates, present)][:count]
    if free.size < count:
        codes(np.array([CODES]))
    return free


def _pieces(ids: Ids) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number the connected pieces; return the numbers, height x width, and each piece's first pixel."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    pixels = np.arange(ids.size).reshape(ids.shape)
    across, down = ids[:, 1:] == ids[:, :-1], ids[1:] == ids[:-1]
    one = np.concatenate([pixels[:, 1:][across], pixels[1:][down]])
    two = np.concatenate([pixels[:, :-1][across], pixels[:-1][down]])
    links = csr_matrix((np.ones(one.size, dtype=np.int8), (one, two)), shape=(ids.size, ids.size))
    _, numbers = connected_components(links, directed=False)
    _, first_pixels = np.unique(numbers, return_index=True)
    return numbers.reshape(ids.shape), first_pixels
