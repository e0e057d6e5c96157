"""From an image to its hints, as the Hint-AUC protocol defines them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem
from pixelgate.hints import dots, filfinder, paths
from pixelgate.hints.regions import Ids, Regions, id_colours, split
from pixelgate.hints.result import ORDERS, TIE_BREAKS, Hints, check_choice
from pixelgate.hints.sampling import bilinear, nearest
from pixelgate.hints.segmenters import given_ids, segment_ids
from pixelgate.io.any_image import as_rgb8, read_any
from pixelgate.records import Note

PAPER_SIZE = 64
"""The side of the paper's hint maps in pixels."""

LARGEST_SIZE = 4096
"""The largest side: hints are meant to be coarse, and memory grows with its square."""

PATH_METHODS = ("geodesic", "filfinder")

Picture = NDArray[np.uint8]


def generate_hints(
    path_or_array: Path | str | NDArray[Any],
    size: int = PAPER_SIZE,
    *,
    segmenter: str = "felzenszwalb",
    region_map: Path | str | NDArray[Any] | None = None,
    path_method: str = "geodesic",
    dot_method: str = "medoid",
    order: str = "size",
    tie_break: str = "stable",
    **segmenter_options: Any,
) -> Hints:
    """Make the hints of an image: one scribble and one dot for each region, in the region's mean colour.

    The image is segmented at its own resolution, so the number of regions depends on it. With the defaults the result
    is the same on every machine, bit for bit.

    Args:
        path_or_array: a picture file, turned upright as its EXIF data say; or an RGB array as `as_rgb8` takes it.
        size: the side of the maps in pixels.
        segmenter: ``felzenszwalb`` (the paper's), ``slic`` or ``quickshift``.
        region_map: regions from elsewhere instead of a segmenter: a picture or an array of colours (RGB) or of whole
            numbers, at any resolution.
        path_method: ``geodesic``, or ``filfinder`` (the paper's; slow and not the same on every run).
        dot_method: ``medoid`` (the paper's), ``mean`` or ``nearest_mean``; see `pixelgate.hints.dots.dot_pixels`.
        order: ``size`` or ``label``; see `Hints`.
        tie_break: ``stable`` or ``default``; see `Hints`.
        segmenter_options: for ``felzenszwalb`` scale, sigma and min_size; for the others what scikit-image takes.

    Raises:
        InputError: the file, the array or an option is wrong.
        MissingExtra: an option needs a package that is not installed.

    Source: Hint-AUC (hintauc 0.3.3), with a stable edge order in the segmentation.
    """
    _check_choices(path_method, dot_method, order, tie_break)
    _check_size(size)
    picture, notes = _picture(path_or_array)
    if region_map is None:
        ids = segment_ids(picture, segmenter, segmenter_options)
    elif segmenter_options:
        found = f"a region map is given, and the segmenter's {', '.join(sorted(segmenter_options))} too."
        raise InputError(Problem("", "segmenter-option", found, "Give one or the other."))
    else:
        ids, segmenter = given_ids(region_map), "region map"
    hints = _hints(bilinear(picture, size, size), nearest(ids, size, size), path_method, dot_method)
    options = tuple((name, repr(value)) for name, value in sorted(segmenter_options.items()))
    methods = (("path_method", path_method), ("dot_method", dot_method), ("maps", "generated"))
    settings = (("segmenter", segmenter), *options, *methods)
    return dataclasses.replace(hints, settings=settings, order=order, tie_break=tie_break, notes=notes + hints.notes)


def _check_choices(path_method: str, dot_method: str, order: str, tie_break: str) -> None:
    check_choice("path method", path_method, PATH_METHODS)
    check_choice("dot method", dot_method, dots.METHODS)
    check_choice("order", order, ORDERS)
    check_choice("tie-break", tie_break, TIE_BREAKS)


def _check_size(size: int) -> None:
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or not 1 <= size <= LARGEST_SIZE:
        found = f"hint maps of size {size!r} cannot be made."
        mend = f"Give the side in pixels, from 1 to {LARGEST_SIZE}; the paper's is 64."
        raise InputError(Problem("", "hint-size", found, mend))


def _picture(path_or_array: Path | str | NDArray[Any]) -> tuple[Picture, tuple[Note, ...]]:
    if isinstance(path_or_array, (str, Path)):
        picture, record = read_any(path_or_array)
        return picture, record.notes
    return as_rgb8(path_or_array, "image"), ()


def _hints(picture: Picture, ids: Ids, path_method: str, dot_method: str) -> Hints:
    regions = split(ids)
    find = filfinder.filfinder_paths if path_method == "filfinder" else paths.geodesic_paths
    found = find(regions.labels)
    flatten = mean_colours(picture, regions)[regions.labels]
    inside = regions.labels.reshape(-1)[found.pixels] == found.regions
    scribble_mask = _mask(ids.shape, found.pixels[inside])
    dot_mask = _mask(ids.shape, dots.dot_pixels(found, regions.labels, dot_method))
    return Hints(
        labels=regions.labels,
        region_ids=regions.ids,
        areas=regions.areas,
        region_map=id_colours(regions.ids)[regions.labels],
        flatten=flatten,
        scribble_mask=scribble_mask,
        dot_mask=dot_mask,
        scribble_color=flatten * (scribble_mask > 0)[..., np.newaxis],
        dot_color=flatten * (dot_mask > 0)[..., np.newaxis],
        failed=regions.ids[found.failed],
        notes=_failures(found.failed.size, regions.ids.size),
    )


def mean_colours(picture: Picture, regions: Regions) -> Picture:
    """The mean colour of each region, cut to whole numbers.

    Args:
        picture: uint8, S x S x 3.
        regions: a map of the same size.

    Returns:
        uint8, n x 3.
    """
    labels = regions.labels.reshape(-1)
    sums = [np.bincount(labels, picture[..., channel].reshape(-1)) for channel in range(3)]
    # The sums are whole numbers, held exactly; so is their quotient's whole part.
    means: Picture = (np.stack(sums, axis=1).astype(np.int64) // regions.areas[:, np.newaxis]).astype(np.uint8)
    return means


def _mask(shape: tuple[int, ...], pixels: NDArray[np.int64]) -> Picture:
    mask = np.zeros(shape, dtype=np.uint8)
    mask.reshape(-1)[pixels] = 255
    return mask


def _failures(failed: int, count: int) -> tuple[Note, ...]:
    if not failed:
        return ()
    every = ", so there are no hints at all" if failed == count else ""
    return (Note("hints", "regions-failed", f"no path was found in {failed} of {count} regions{every}."),)
