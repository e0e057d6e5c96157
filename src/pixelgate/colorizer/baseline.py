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
    line_art, filled = sample["line_art"], sample["hint_mask"] > 0
    if not filled.any():
        return plain_colorizer(sample)
    colour = np.where(filled[..., np.newaxis], sample["hint_color"], CANVAS)
    for open_to_all in (False, True):
        colour, filled = _spread(colour, filled, (line_art >= _DARK) | open_to_all)
    return _inked(colour, line_art)


def _spread(
    colour: NDArray[Any], filled: NDArray[np.bool_], allowed: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    while True:
        wide, known = np.pad(colour, ((1, 1), (1, 1), (0, 0))), np.pad(filled, 1)
        rest = allowed & ~filled
        before = np.count_nonzero(rest)
        for rows, columns in ((slice(-2), slice(1, -1)), (slice(1, -1), slice(-2))):
            colour, rest = _take(colour, rest, wide[rows, columns], known[rows, columns])
        for rows, columns in ((slice(1, -1), slice(2, None)), (slice(2, None), slice(1, -1))):
            colour, rest = _take(colour, rest, wide[rows, columns], known[rows, columns])
        filled = filled | (allowed & ~rest)
        if np.count_nonzero(rest) == before:
            return colour, filled


def _take(
    colour: NDArray[Any], rest: NDArray[np.bool_], neighbour: NDArray[Any], known: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    takes = rest & known
    return np.where(takes[..., np.newaxis], neighbour, colour), rest & ~takes


def _inked(colour: NDArray[Any], line_art: Picture) -> Picture:
    # Equal to the reference's product in float32, cut to whole numbers, for all 65,536 pairs of values.
    inked: Picture = (colour.astype(np.int32) * line_art[..., np.newaxis] // 255).astype(np.uint8)
    return inked
