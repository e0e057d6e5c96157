"""Simple colourisers: an oracle that shows what a curve looks like, and two that a real method must beat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.colorizer.sample import ColorizerError
from pixelgate.errors import Problem
from pixelgate.hints import Hints
from pixelgate.hints.sampling import nearest

Picture = NDArray[np.uint8]

CANVAS = 235
"""The grey of what nobody coloured."""

_DARK = 128


def hint_fill_colorizer(sample: Mapping[str, Any]) -> Picture:
    """Every region that has a hint pixel, filled with its mean colour, under the line art: an oracle.

    It sees the regions of the ground truth, so its scores must not be compared with a real method's.

    Args:
        sample: what `evaluate_colorizer` gives with ``oracle=True``.

    Returns:
        uint8, height x width x 3: a canvas of 235, the filled regions, times line art / 255, cut to whole numbers.

    Raises:
        ColorizerError: rule ``oracle-only``: the sample holds no hints of an oracle run.

    Source: Hint-AUC (hintauc 0.3.3), its oracle baseline.
    """
    if "hints" not in sample:
        found = "hint_fill_colorizer needs the ground truth's regions."
        raise ColorizerError(Problem(str(sample["name"]), "oracle-only", found, "Evaluate it with oracle=True."))
    hints: Hints = sample["hints"]
    mask = sample["hint_mask"]
    labels = nearest(hints.labels, *mask.shape)
    hinted = np.isin(labels, np.unique(labels[mask > 0]))
    return _inked(np.where(hinted[..., np.newaxis], nearest(hints.flatten, *mask.shape), CANVAS), sample["line_art"])


def plain_colorizer(sample: Mapping[str, Any]) -> Picture:
    """The line art on a canvas of 235; hints are not looked at, so its curve is flat.

    Args:
        sample: what `evaluate_colorizer` gives.

    Returns:
        uint8, height x width x 3.
    """
    return _inked(np.full((*sample["line_art"].shape, 3), CANVAS), sample["line_art"])


def spread_colorizer(sample: Mapping[str, Any]) -> Picture:
    """Hints spread step by step over the picture, first between the dark lines, then over them.

    A pixel takes the colour of a neighbour that has one, looked for above, to the left, to the right and below, in
    this order. Whole-number arithmetic only: every machine gets the same picture. Without hints it is
    `plain_colorizer`.

    Args:
        sample: what `evaluate_colorizer` gives.

    Returns:
        uint8, height x width x 3, times line art / 255.
    """
    line_art, hinted = sample["line_art"], sample["hint_mask"] > 0
    if not hinted.any():
        return plain_colorizer(sample)
    height, width = line_art.shape
    # A frame of pixels that are never open, so that no step leaves the picture.
    places = np.arange((height + 2) * (width + 2)).reshape(height + 2, width + 2)
    origin = np.where(np.pad(hinted, 1), places, -1).reshape(-1)
    for open_to_all in (False, True):
        _spread(origin, np.pad((line_art >= _DARK) | open_to_all, 1).reshape(-1), width + 2)
    colour = np.pad(sample["hint_color"], ((1, 1), (1, 1), (0, 0))).reshape(-1, 3)
    return _inked(colour[origin.reshape(height + 2, width + 2)[1:-1, 1:-1]], line_art)


def _spread(origin: NDArray[np.int64], allowed: NDArray[np.bool_], row: int) -> None:
    """Give every allowed pixel that can be reached the origin of a neighbour's colour, in place.

    Args:
        origin: for each pixel the place its colour comes from, -1 where it has none.
        allowed: pixels that may take a colour.
        row: pixels in a row.
    """
    directions = (-row, -1, 1, row)
    front = np.flatnonzero(origin >= 0)
    while front.size:
        near = np.unique(np.concatenate([front - direction for direction in directions]))
        near = near[allowed[near] & (origin[near] < 0)]
        # All neighbours are looked at before any pixel of this step takes a colour; the first that has one wins.
        sources = np.stack([origin[near + direction] for direction in directions])
        origin[near] = sources[(sources >= 0).argmax(axis=0), np.arange(near.size)]
        front = near


def _inked(colour: NDArray[Any], line_art: Picture) -> Picture:
    # Equal to the reference's product in float32, cut to whole numbers, for all 65,536 pairs of values.
    inked: Picture = (colour.astype(np.int32) * line_art[..., np.newaxis] // 255).astype(np.uint8)
    return inked
