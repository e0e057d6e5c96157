"""The hints of one image, and those that a ratio keeps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem
from pixelgate.hints.ratios import PAPER_GRID, check_alpha
from pixelgate.hints.regions import Ids
from pixelgate.hints.sampling import nearest
from pixelgate.records import Note

KINDS = ("scribble", "dot")
ORDERS = ("size", "label")
TIE_BREAKS = ("stable", "default")

Picture = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Hints:
    """Deterministic hints of one image. Maps are S x S; colours are RGB; masks hold 0 and 255.

    Attributes:
        labels: int32, S x S: each pixel's region, 0 to n - 1 by ascending id.
        region_ids: int64, n, ascending: the regions' ids.
        areas: int64, n: the regions' pixels.
        region_map: uint8, S x S x 3: the ids as colours, as stored maps show them.
        flatten: uint8, S x S x 3: every region in its mean colour.
        scribble_mask, dot_mask: uint8, S x S.
        scribble_color, dot_color: uint8, S x S x 3: the hints' colours, 0 elsewhere.
        failed: int64, ascending: the ids of regions in which no path was found; they have no hint and still count.
        settings: segmenter, path method, dot method, and where the maps came from.
        order: ``size`` (the paper's) or ``label`` (ascending id, the paper's Table III).
        tie_break: how regions of equal area are ordered: ``stable`` (ascending id), or ``default`` (as numpy's default
            sort leaves them, which depends on its build and on the processor).
        notes: what a reader of a result must know.
    """

    labels: NDArray[np.int32]
    region_ids: Ids
    areas: NDArray[np.int64]
    region_map: Picture
    flatten: Picture
    scribble_mask: Picture
    dot_mask: Picture
    scribble_color: Picture
    dot_color: Picture
    failed: Ids
    settings: tuple[tuple[str, str], ...] = ()
    order: str = "size"
    tie_break: str = "stable"
    notes: tuple[Note, ...] = ()

    @property
    def size(self) -> int:
        """The side of the maps in pixels."""
        return int(self.labels.shape[0])

    @property
    def n_regions(self) -> int:
        """How many regions there are, failed ones and the background included."""
        return int(self.region_ids.size)

    @property
    def failed_regions(self) -> int:
        """In how many regions no path was found."""
        return int(self.failed.size)

    @property
    def ids(self) -> Ids:
        """int64, S x S: each pixel's region id."""
        ids: Ids = self.region_ids[self.labels]
        return ids

    @cached_property
    def ranking(self) -> NDArray[np.int64]:
        """int64, n: region numbers, the ones first that keep their hints at the smallest ratio."""
        if self.order == "label":
            return np.arange(self.n_regions)
        return np.argsort(-self.areas, kind="stable" if self.tie_break == "stable" else None)

    def kept(self, alpha: float) -> int:
        """How many regions keep their hints at a ratio: the whole part of n x alpha.

        Raises:
            RatioError: `alpha` is not in 0 to 1.
        """
        return int(self.n_regions * check_alpha(alpha))

    def at_ratio(
        self, alpha: float, kind: str, resize_to: int | tuple[int, int] | None = None
    ) -> tuple[Picture, Picture]:
        """The hints that a ratio keeps: those of the first `kept` regions of `ranking`.

        Args:
            alpha: 0 to 1. What a smaller ratio keeps, a larger one keeps too.
            kind: ``scribble`` or ``dot``.
            resize_to: height and width, or one side for both: the maps are resampled to it by the nearest pixel.

        Returns:
            The colours, uint8, height x width x 3, RGB, and the mask, uint8, height x width, 0 and 255.

        Raises:
            InputError: the ratio, the kind or the size is wrong.
        """
        colour, mask = self._maps(kind)
        keeps = np.zeros(self.n_regions, dtype=np.bool_)
        keeps[self.ranking[: self.kept(alpha)]] = True
        chosen = keeps[self.labels]
        colour, mask = colour * chosen[..., np.newaxis], mask * chosen
        if resize_to is None:
            return colour, mask
        height, width = _target(resize_to)
        return nearest(colour, height, width), nearest(mask, height, width)

    def empty_ratios(self, alphas: Iterable[float] = PAPER_GRID, kind: str = "scribble") -> tuple[float, ...]:
        """The ratios above 0 at which no hint is left, so that they score as ratio 0 does.

        Args:
            alphas: the grid.
            kind: ``scribble`` or ``dot``.

        Raises:
            InputError: a ratio or the kind is wrong.
        """
        return tuple(alpha for alpha in alphas if alpha > 0 and not self.at_ratio(alpha, kind)[1].any())

    def counts(self) -> dict[str, int]:
        """What a report should tell: regions, failed regions, regions without a hint of each kind, hint pixels."""
        hinted = {kind: np.unique(self.labels[self._maps(kind)[1] > 0]).size for kind in KINDS}
        return {
            "regions": self.n_regions,
            "failed_regions": self.failed_regions,
            "regions_without_scribble": self.n_regions - hinted["scribble"],
            "regions_without_dot": self.n_regions - hinted["dot"],
            "scribble_pixels": int(np.count_nonzero(self.scribble_mask)),
            "dots": int(np.count_nonzero(self.dot_mask)),
        }

    def _maps(self, kind: str) -> tuple[Picture, Picture]:
        check_choice("hint type", kind, KINDS)
        if kind == "scribble":
            return self.scribble_color, self.scribble_mask
        return self.dot_color, self.dot_mask


def check_choice(what: str, given: str, known: tuple[str, ...]) -> None:
    """Raise `InputError`, rule ``hint-option``, unless a word is one of those known."""
    if given not in known:
        found = f"the {what} {given!r} is not known."
        raise InputError(Problem("", "hint-option", found, f"Take one of {', '.join(known)}."))


def _target(size: int | tuple[int, int]) -> tuple[int, int]:
    sides = (size, size) if isinstance(size, (int, np.integer)) else tuple(size)
    if len(sides) != 2 or not all(isinstance(side, (int, np.integer)) and side >= 1 for side in sides):
        found = f"hints cannot be resized to {size!r}."
        raise InputError(Problem("", "hint-size", found, "Give height and width in pixels, 1 or more."))
    return int(sides[0]), int(sides[1])
