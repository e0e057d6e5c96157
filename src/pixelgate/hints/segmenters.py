"""From a picture to region ids: by the paper's segmenter, two others of the reference, or a map from elsewhere."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, MissingExtra, Problem
from pixelgate.hints.felzenszwalb import felzenszwalb
from pixelgate.hints.regions import Ids, label_ids, map_ids
from pixelgate.io.any_image import read_any

Picture = NDArray[np.uint8]

_OPTIONS: dict[str, dict[str, Any]] = {
    "felzenszwalb": {"scale": 100, "sigma": 0.5, "min_size": 100},
    "slic": {"n_segments": 290, "compactness": 10, "sigma": 1, "start_label": 1},
    "quickshift": {"kernel_size": 3, "max_dist": 6, "ratio": 0.5},
}
"""The settings of the reference. The last two pass further options on to scikit-image."""

SEGMENTERS = tuple(_OPTIONS)


def segment_ids(picture: Picture, segmenter: str, options: Mapping[str, Any]) -> Ids:
    """Segment a picture.

    Args:
        picture: uint8, height x width x 3, RGB.
        segmenter: ``felzenszwalb`` (our own, the same on every machine), ``slic`` or ``quickshift`` (scikit-image's).
        options: what differs from the reference's settings.

    Returns:
        int64, height x width: region ids.

    Raises:
        InputError: the segmenter or an option is unknown, or an option has a value that it does not take.
        MissingExtra: scikit-image is needed and not installed.
    """
    if segmenter not in _OPTIONS:
        found = f"the segmenter {segmenter!r} is not known."
        raise InputError(Problem("", "segmenter", found, f"Take one of {', '.join(SEGMENTERS)}."))
    settings = {**_OPTIONS[segmenter], **options}
    # The reference segments the picture with blue first. That decides ties, and for slic and quickshift the colours.
    blue_first = np.ascontiguousarray(picture[..., ::-1])
    if segmenter == "felzenszwalb":
        unknown = sorted(set(settings) - set(_OPTIONS[segmenter]))
        if unknown:
            found = f"felzenszwalb has no option {', '.join(unknown)}."
            raise InputError(Problem("", "segmenter-option", found, "It has scale, sigma and min_size."))
        return label_ids(felzenszwalb(blue_first, **settings))
    function: Callable[..., NDArray[Any]] = getattr(_scikit_image(segmenter), segmenter)
    values = blue_first if segmenter == "slic" else blue_first * (1.0 / 255.0)
    try:
        return label_ids(function(values, **settings))
    except (TypeError, ValueError) as error:
        raise InputError(_refused(segmenter, error)) from error


def given_ids(region_map: Path | str | NDArray[Any]) -> Ids:
    """The region ids of a map from elsewhere.

    Args:
        region_map: a picture file or an array height x width x 3 (uint8, RGB): every colour is a region. Or an array
            height x width of whole numbers: every number is a region.

    Returns:
        int64, height x width.

    Raises:
        InputError: the file cannot be read, or the array is neither.
    """
    if not isinstance(region_map, np.ndarray):
        return map_ids(read_any(region_map)[0])
    if region_map.size and region_map.ndim == 2 and np.issubdtype(region_map.dtype, np.integer):
        return label_ids(region_map)
    if region_map.size and region_map.ndim == 3 and region_map.shape[2] == 3 and region_map.dtype == np.uint8:
        return map_ids(region_map)
    found = f"the region map has dtype {region_map.dtype} and shape {region_map.shape}."
    mend = "Give whole numbers, height x width, or RGB colours, uint8, height x width x 3."
    raise InputError(Problem("", "region-map", found, mend))


def _scikit_image(segmenter: str) -> ModuleType:
    try:
        return importlib.import_module("skimage.segmentation")
    except ImportError as error:
        raise MissingExtra(f"{segmenter} needs scikit-image: pip install 'pixelgate[hints]' ({error})") from error


def _refused(segmenter: str, error: Exception) -> Problem:
    found = f"scikit-image's {segmenter} refused its options ({error})."
    return Problem("", "segmenter-option", found, "Look at its documentation, or leave the options out.")
