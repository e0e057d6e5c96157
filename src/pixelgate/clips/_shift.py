"""Whether a clip's frames show other times than their reference's: a dropped or a repeated frame.

Small pictures of each frame are held against those of the reference at the same index and at its neighbours. With
the reference's own change from a to b known, the generated picture g lies at t = <g - a, b - a> / |b - a|^2 between
them: near 0 where it shows a, near 1 where it shows b, whatever its noise.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

REACH = 3
"""How many frames before and after are looked at."""

MIN_CELLS = 12
MIN_CHANGE = 0.5
"""Levels by which the reference must change between the two frames, root mean square over the cells."""

NEAR = (0.7, 1.3)
"""Where t must lie from the shift on."""

DEVIATIONS = 4.0
"""By how many of its standard deviations t must lie above one half."""

MAX_RATIO = 0.5
"""Largest squared distance to the shifted frames, of that to the frames of the same index."""

FROZEN = 0.1
"""A clip that moves less than this part of its reference's squared change shows no other time: it stands still."""

ALIKE = 5.0
"""About so many neighbouring cells err together, so that fewer than all of them count."""


@dataclass(frozen=True)
class Shift:
    """A shift that was found.

    Attributes:
        first: the index in the generated clip from which on frames are shifted, counted from 0.
        offset: the reference's index less the generated one; 1 where a frame is missing, -1 where one is repeated.
        frames: shifted frames that were compared.
        same, shifted: root mean square distance to the reference at the same and at the shifted index, in levels.
        position: t over these frames.
    """

    first: int
    offset: int
    frames: int
    same: float
    shifted: float
    position: float


@dataclass(frozen=True)
class _Frame:
    index: int
    generated: Floats | None
    reference: Floats
    kept: Bools


class ShiftFinder:
    """Takes the small pictures of a clip one after the other and keeps a few numbers for each."""

    def __init__(self) -> None:
        self._recent: deque[_Frame] = deque(maxlen=REACH)
        self._count = 0
        # offset -> rows of (index, |b - a|^2, <g - a, b - a>, |g - a|^2, cells)
        self._rows: dict[int, list[tuple[float, ...]]] = {
            offset: [] for step in range(1, REACH + 1) for offset in (step, -step)
        }
        # Squared change since the frame before: of the generated clip, and of its reference.
        self._motion: list[tuple[float, float]] = [(0.0, 0.0)]

    def add(self, generated: Floats | None, reference: Floats, kept: Bools) -> None:
        """Take the next frame.

        Args:
            generated: small picture of luma, any shape; None for frames of the reference past the clip's end.
            reference: the same of the reference.
            kept: which of the cells are wholly kept.
        """
        frame = _Frame(self._count, generated, reference, kept)
        if self._recent and generated is not None:
            self._motion.append(_motion(self._recent[-1], frame))
        for earlier in self._recent:
            step = frame.index - earlier.index
            self._compare(earlier, frame, step)
            self._compare(frame, earlier, -step)
        self._recent.append(frame)
        self._count += 1

    def find(self, surplus: int = 0) -> Shift | None:
        """The shift that explains most; None where frames match those of their own index.

        Args:
            surplus: frames that the reference has more than the clip. A shift by just as many is what one expects: it
                may rest on the last frame alone, and on little beside the clip's other errors.
        """
        found = [shift for offset in self._rows if (shift := self._shift(offset, offset == surplus))]
        return max(found, key=lambda shift: shift.frames * (shift.same**2 - shift.shifted**2), default=None)

    def _compare(self, frame: _Frame, other: _Frame, offset: int) -> None:
        if frame.generated is None:
            return
        cells = frame.kept & other.kept
        count = int(np.count_nonzero(cells))
        if count < MIN_CELLS:
            return
        # Without their means: a change of brightness alone tells nothing about time.
        pictures = frame.generated, frame.reference, other.reference
        g, a, b = (picture[cells] - picture[cells].mean() for picture in pictures)
        change, error = b - a, g - a
        self._rows[offset].append((frame.index, change @ change, error @ change, error @ error, count))

    def _shift(self, offset: int, expected: bool) -> Shift | None:
        if not self._rows[offset]:
            return None
        index, change, along, error, cells = np.array(self._rows[offset], dtype=np.float64).T
        # What is gained by taking all frames from one on as shifted.
        gains = np.cumsum((2.0 * along - change)[::-1])[::-1]
        first = int(np.argmax(gains))
        after = slice(first, None)
        frames, total_cells = len(index) - first, cells[after].sum()
        moved, same = change[after].sum(), error[after].sum()
        if frames < (1 if expected else 3) or moved < MIN_CHANGE**2 * total_cells:
            return None
        # One frame that stands out, such as a flash, must not speak for the others.
        if np.count_nonzero(2.0 * along[after] > change[after]) <= frames / 2 or self._stands_still(int(index[first])):
            return None
        position = along[after].sum() / moved
        shifted = max(0.0, same - 2.0 * along[after].sum() + moved)
        uncertainty = np.sqrt(ALIKE * shifted / total_cells / moved)
        if position - 0.5 < DEVIATIONS * uncertainty or shifted > (1.0 if expected else MAX_RATIO) * same:
            return None
        if not NEAR[0] <= position <= NEAR[1]:
            return None
        same_level, shifted_level = (float(np.sqrt(value / total_cells)) for value in (same, shifted))
        return Shift(int(index[first]), offset, frames, same_level, shifted_level, float(position))

    def _stands_still(self, first: int) -> bool:
        own, reference = np.array(self._motion[max(1, first) :], dtype=np.float64).reshape(-1, 2).sum(axis=0)
        return bool(own < FROZEN * reference)


def _motion(before: _Frame, now: _Frame) -> tuple[float, float]:
    cells = before.kept & now.kept
    if before.generated is None or now.generated is None or not cells.any():
        return 0.0, 0.0
    own, reference = now.generated - before.generated, now.reference - before.reference
    return float(np.square(own[cells]).sum()), float(np.square(reference[cells]).sum())


def describe(shift: Shift) -> tuple[str, str]:
    """(rule, message) of a shift, with its numbers."""
    count, which = abs(shift.offset), "frame is" if abs(shift.offset) == 1 else "frames are"
    rule, what = ("dropped-frame", "missing") if shift.offset > 0 else ("repeated-frame", "too many")
    return rule, (
        f"{count} {which} {what}: from frame {shift.first} on (counted from 0), frame i shows the reference's frame "
        f"i{shift.offset:+d}, at a distance of {shift.shifted:.2f} levels against {shift.same:.2f} to frame i "
        f"({shift.frames} frames compared)"
    )
