"""What is shown of the people in a clip: the clip, its condition's keypoints and those found in it, as limbs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from pixelgate.clips._show_layout import FALLBACK_FPS, TEXT, Colour, Frame, Label, Show
from pixelgate.clips.evaluator import ClipFiles
from pixelgate.clips.pose import _params, _sides
from pixelgate.io.video import open_video
from pixelgate.metrics.pose import _match, _Side, _side

LIMBS = (
    *((1, 2), (2, 3), (3, 4), (1, 5), (5, 6), (6, 7), (1, 8), (8, 9), (9, 10), (1, 11), (11, 12), (12, 13)),
    *((1, 0), (0, 14), (14, 16), (0, 15), (15, 17)),
)
"""Pairs of body keypoints, in OpenPose order, that are joined by a line."""
COLOURS: tuple[Colour, ...] = (
    *((255, 176, 59), (86, 180, 233), (70, 210, 120), (240, 228, 66)),
    *((255, 110, 110), (214, 130, 220), (140, 150, 255), (150, 235, 215)),
)
"""Of people by their place among the condition's people in a frame; used again from the start when they run out."""
UNMATCHED: Colour = (130, 130, 130)

_FARTHEST = 3.0


@dataclass(frozen=True)
class Person:
    """One person in one frame.

    Attributes:
        points: K x 2, as fractions of the frame.
        kept: K, which keypoints this side is confident of.
        scored: K, which keypoints are confident on both sides of a matched pair.
        rank: place of the condition's person among those of the frame, shared by both of a pair; None without a match.
    """

    points: NDArray[np.float64]
    kept: NDArray[np.bool_]
    scored: NDArray[np.bool_]
    rank: int | None

    @property
    def colour(self) -> Colour:
        """Shared by both of a pair."""
        return UNMATCHED if self.rank is None else COLOURS[self.rank % len(COLOURS)]

    @property
    def depth(self) -> int:
        """People of higher depth are drawn first; those without a match lie behind all others."""
        return 1 << 30 if self.rank is None else self.rank


People = list[list[Person]]
"""For each frame, its people."""


def plan(files: ClipFiles, params: Mapping[str, Any]) -> Show:
    """Generated RGB, condition pose and extracted pose, at the generated size.

    The people are those that the evaluator compares: confident keypoints as fractions of their own frame, drawn in one
    of the generated size, on black. A matched pair has one colour on both panes; people without a match are grey. A
    keypoint that is scored is a disc, one that the other side lacks a ring.

    Args:
        files: of the clip.
        params: as `pixelgate.clips.pose.PoseEvaluator.evaluate` takes them.

    Raises:
        InputError, ProtocolError: as that does.
    """
    chosen = _params(params)
    sides = _sides(files, chosen["allow_pickle"])
    frames = min(len(sides.condition.frames), len(sides.generated.frames))
    first, second = (
        _side(side.frames[:frames], chosen["keypoints"], chosen["confidence"])
        for side in (sides.condition, sides.generated)
    )
    condition, extracted = people(first, second, frames)
    size = sides.record.height, sides.record.width

    def panes() -> Iterator[tuple[Frame, Frame, Frame]]:
        with open_video(files.generated) as reader:
            for first, second, generated in zip(condition, extracted, reader, strict=False):
                yield generated, drawn(first, size), drawn(second, size)

    return Show(
        labels=_labels(condition, extracted),
        size=size,
        frames=frames,
        fps=sides.record.fps or FALLBACK_FPS,
        panes=panes,
    )


def people(condition: _Side, extracted: _Side, frames: int) -> tuple[People, People]:
    """The people of both sides, frame by frame, matched as they are scored."""
    pairs = _match(condition, extracted, frames)
    both = condition.kept[pairs[0]] & extracted.kept[pairs[1]]
    places = np.arange(len(condition.frame)) - np.searchsorted(condition.frame, condition.frame)
    ranks = places[pairs[0]].tolist()
    first, second = (
        _by_frame(side, dict(zip(matched.tolist(), zip(ranks, both, strict=True), strict=True)), frames)
        for side, matched in zip((condition, extracted), pairs, strict=True)
    )
    return first, second


def _by_frame(side: _Side, matched: Mapping[int, tuple[int, NDArray[np.bool_]]], frames: int) -> People:
    """One side's people; `matched` gives the rank and the scored keypoints of those that have a match."""
    shown: People = [[] for _ in range(frames)]
    nothing = None, np.zeros(side.kept.shape[1], dtype=np.bool_)
    for place, frame in enumerate(side.frame):
        rank, scored = matched.get(place, nothing)
        shown[frame].append(Person(side.points[place], side.kept[place], scored, rank))
    return shown


def drawn(persons: Sequence[Person], size: tuple[int, int]) -> Frame:
    """People on black, height x width x 3; both of a pair are as far in front on their panes."""
    picture = Image.new("RGB", (size[1], size[0]))
    draw = ImageDraw.Draw(picture)
    thick = max(1, round(min(size) / 160))
    for person in sorted(persons, key=lambda person: person.depth, reverse=True):
        # Far outside the frame only the direction could be seen.
        places = np.clip(person.points, -_FARTHEST, _FARTHEST) * (size[1], size[0]) - 0.5
        dim = tuple(round(0.7 * level) for level in person.colour)
        for first, second in LIMBS:
            if max(first, second) < len(places) and person.kept[first] and person.kept[second]:
                draw.line([*places[first], *places[second]], fill=dim, width=2 * thick)
        for place, kept, scored in zip(places, person.kept, person.scored, strict=True):
            if kept:
                _joint(draw, place, scored, person.colour, thick)
    return np.asarray(picture)


def _joint(draw: ImageDraw.ImageDraw, place: NDArray[np.float64], scored: bool, colour: Colour, thick: int) -> None:
    radius = 1.5 * thick + 0.5
    box = [*(place - radius), *(place + radius)]
    draw.ellipse(box, fill=colour if scored else (0, 0, 0), outline=colour, width=max(1, thick // 2))


def _labels(condition: People, extracted: People) -> tuple[Label, ...]:
    shown = [person for side in (condition, extracted) for frame in side for person in frame]
    legend: list[tuple[str, Colour]] = []
    if any(person.rank is None for person in shown):
        legend.append(("grey: no match", UNMATCHED))
    if any((person.kept & ~person.scored).any() for person in shown):
        legend.append(("rings: not scored", UNMATCHED))
    return (("generated RGB", TEXT),), (("condition pose", TEXT),), (("extracted pose", TEXT), *legend)
