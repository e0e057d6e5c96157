"""Masks of all persons of a clip: union, enclosed holes filled, silhouettes widened.

Source: FlexBench evaluation document, depth fidelity of combined pose and depth runs: the masks of all persons are
merged per frame, enclosed holes are filled, the result is dilated by 2 % of the shorter side. Choices that the document
leaves open: the radius is ``max(1, round(ratio x shorter side))``, halves to even, and the structuring element is the
disc dx^2 + dy^2 <= radius^2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import Problem
from pixelgate.metrics._validate import PictureError

Mask = NDArray[np.bool_]

DILATION = 0.02
"""Of the shorter side."""


@dataclass(frozen=True)
class PersonMask:
    """One frame's mask and what each step did to it.

    Attributes:
        mask: bool, height x width; True where a person, or what is close to one, is.
        persons: the masks that were merged, empty ones included.
        area_union, area_filled, area_dilated: pixels of the mask after each step; a step left out changes nothing.
        radius: of the dilation, in pixels; 0 for none.
    """

    mask: Mask
    persons: int
    area_union: int
    area_filled: int
    area_dilated: int
    radius: int

    @property
    def empty(self) -> bool:
        """Whether the frame holds no person, so that all of it is scored."""
        return self.area_union == 0


def dilation_radius(ratio: float, height: int, width: int) -> int:
    """``max(1, round(ratio x min(height, width)))`` in pixels, halves to even; 0 for a ratio of 0.

    Raises:
        PictureError: the ratio is negative or not finite (an `InputError` and a `ValueError`).
    """
    if not math.isfinite(ratio) or ratio < 0:
        mend = "Give a share of the shorter side, such as 0.02, or 0 for none."
        raise PictureError(Problem("", "person-mask-dilation", f"the dilation is {ratio!r}", mend))
    return max(1, round(ratio * min(height, width))) if ratio else 0


def fill_holes(mask: Mask) -> Mask:
    """The mask and all background that no 4-connected path joins to the border.

    Args:
        mask: bool, height x width.

    Returns:
        What ``scipy.ndimage.binary_fill_holes`` gives with its default structure.
    """
    mask = _checked(mask, 2)
    box = _bounding_box(mask, 0)
    if box is None:
        return mask.copy()
    from scipy import ndimage

    # A ring of background joins everything that touches the border, so that one label is the outside.
    labels, _ = ndimage.label(~np.pad(mask[box], 1))
    filled = mask.copy()
    filled[box] = labels[1:-1, 1:-1] != labels[0, 0]
    return filled


def dilate(mask: Mask, radius: int) -> Mask:
    """Every pixel with a mask pixel at most `radius` away, centre to centre.

    The disc is the union of vertical bars, one per horizontal offset. The bars' lengths only grow towards the
    middle, so each is the one before made longer by a pixel at either end.

    Args:
        mask: bool, height x width.
        radius: in pixels, 0 or more.
    """
    mask = _checked(mask, 2)
    widened = mask.copy()
    box = _bounding_box(mask, radius)
    if box is None or radius == 0:
        return widened
    bar, out = mask[box].copy(), widened[box]
    by_length: dict[int, list[int]] = {}
    for offset in range(min(radius + 1, bar.shape[1])):
        by_length.setdefault(math.isqrt(radius * radius - offset * offset), []).append(offset)
    for length in range(radius + 1):
        if length:
            longer = bar.copy()
            longer[1:] |= bar[:-1]
            longer[:-1] |= bar[1:]
            bar = longer
        for offset in by_length.get(length, ()):
            out[:, offset:] |= bar[:, : bar.shape[1] - offset]
            out[:, : bar.shape[1] - offset] |= bar[:, offset:]
    return widened


def person_mask(masks: Mask, *, holes: bool = True, dilation: float = DILATION) -> PersonMask:
    """All persons of one frame, with the areas after each step.

    Args:
        masks: bool, persons x height x width, or height x width for a mask of all; no person is an empty mask.
        holes: whether enclosed holes are filled.
        dilation: share of the shorter side, see `dilation_radius`.

    Raises:
        PictureError: not boolean, of another shape, or a dilation that is no share (an `InputError` and a
            `ValueError`).
    """
    masks = _checked(masks, 2, 3)
    masks = masks[np.newaxis] if masks.ndim == 2 else masks
    union: Mask = np.any(masks, axis=0)
    radius = dilation_radius(dilation, *union.shape)
    filled = fill_holes(union) if holes else union
    dilated = dilate(filled, radius)
    union_area, filled_area, dilated_area = (int(np.count_nonzero(step)) for step in (union, filled, dilated))
    return PersonMask(dilated, len(masks), union_area, filled_area, dilated_area, radius)


def person_masks(frames: Iterable[Mask], *, holes: bool = True, dilation: float = DILATION) -> Iterator[PersonMask]:
    """`person_mask` of each frame in turn; one frame is held at a time."""
    for masks in frames:
        yield person_mask(masks, holes=holes, dilation=dilation)


def _bounding_box(mask: Mask, margin: int) -> tuple[slice, slice] | None:
    """Rows and columns that hold the mask, and `margin` more on each side; None for an empty one."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        return None
    return (
        slice(max(0, int(rows[0]) - margin), int(rows[-1]) + margin + 1),
        slice(max(0, int(columns[0]) - margin), int(columns[-1]) + margin + 1),
    )


def _checked(mask: object, *dimensions: int) -> Mask:
    if isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.ndim in dimensions and min(mask.shape[-2:]) > 0:
        return mask
    found = f"the mask is {mask.dtype} of shape {mask.shape}" if isinstance(mask, np.ndarray) else repr(type(mask))
    mend = "Give booleans, height x width, or persons x height x width where several are merged."
    raise PictureError(Problem("", "person-mask-array", found, mend))
