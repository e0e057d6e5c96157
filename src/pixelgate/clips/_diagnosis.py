"""Faults that show in a whole clip and that no score names: wrong colours, wrong range, wrong side up, wrong time.

All of it works on a sample of about 20 000 pixels a frame and on pictures of 24 x 24 cells made from it, one frame at a
time; nothing of a frame is kept but a few sums. Each finding is a rule and a sentence with its evidence in numbers.
Thresholds are wide: degraded but sound clips must pass, since a finding fails the clip.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.clips._shift import MIN_CELLS, ShiftFinder, describe

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Finding = tuple[str, str]
"""Rule and message."""

SAMPLES = 20_000
"""About so many pixels of a frame are looked at, on a regular grid."""

CELLS = 24
"""Cells along either side of the small pictures."""

MIN_ERROR = 4.0
"""Below this mean squared error a clip is as good as its reference, and nothing is looked for in it."""

MAX_RATIO = 0.5
"""Largest error after a fault is undone, of the error before, for the fault to be found."""

MIN_DISTANCE = 4.0
"""Levels by which a clip must differ from its reference for the right side up to be looked for."""

BLACK = 20.0
"""Luma up to this is black: 16, the black of limited range, and what compression adds."""

_CUT = (2.0, 253.0)  # outside, a value may have been cut off
_LUMA = np.array([0.299, 0.587, 0.114])
_COLOURS = ("red", "green", "blue")
_RANGES: Mapping[str, tuple[float, float]] = {
    "its values are squeezed into 16 to 235, as when limited range is read as full": (219 / 255, 16.0),
    "its values are spread by 255/219, as when full range is read as limited": (255 / 219, -16.0 * 255 / 219),
}
_Undo = Callable[[NDArray[Any]], NDArray[Any]]
_HALF_TURNS: Mapping[str, _Undo] = {
    "turned by 180 degrees": lambda cells: np.rot90(cells, 2),
    "mirrored left to right": np.fliplr,
    "mirrored upside down": np.flipud,
}
_QUARTER_TURNS: Mapping[str, _Undo] = {
    "turned by 90 degrees clockwise": np.rot90,
    "turned by 90 degrees counter-clockwise": lambda cells: np.rot90(cells, -1),
}


@dataclass(frozen=True)
class Turned:
    """A reference frame as it is, for a clip whose sides look exchanged.

    Attributes:
        reference: height x width x 3, 0 to 255.
        masked: bool, of any size with the same field of view.
    """

    reference: NDArray[Any]
    masked: Bools


class Diagnosis:
    """Takes a clip frame by frame, at last says what is wrong with it."""

    def __init__(self) -> None:
        self._colours = _Colours()
        self._levels = _Levels()
        self._blackness = _Blackness()
        self._orientation = _Orientation()
        self._shift = ShiftFinder()

    def add(self, generated: NDArray[Any], reference: NDArray[Any], keep: Bools, turned: Turned | None = None) -> None:
        """Take one frame.

        Args:
            generated: height x width x 3, 0 to 255.
            reference: the same, brought to the generated size.
            keep: bool, height x width; True where a pixel is scored.
            turned: the reference as it is, where `exchanged` says so.
        """
        x, y, kept = (_sampled(frame) for frame in (generated, reference, keep))
        self._blackness.add(x @ _LUMA, y @ _LUMA, kept)
        cells_x, cells_y, whole = _cells(x), _cells(y), _whole_cells(kept)
        self._colours.add(cells_x[whole], cells_y[whole])
        uncut = whole & _whole_cells(np.asarray(((x > _CUT[0]) & (x < _CUT[1])).all(axis=2)))
        self._levels.add(cells_x[uncut], cells_y[uncut])
        luma = cells_x @ _LUMA, cells_y @ _LUMA
        self._shift.add(*luma, whole)
        self._orientation.add(*luma, whole, turned, square=_square(generated))

    def add_later(self, reference: NDArray[Any], keep: Bools) -> None:
        """Take a frame of the reference past the clip's end; `REACH` of them are of use."""
        self._shift.add(None, _cells(_sampled(reference)) @ _LUMA, _whole_cells(_sampled(keep)))

    def findings(self, surplus: int = 0) -> list[Finding]:
        """What is wrong; empty for a sound clip.

        Args:
            surplus: frames that the reference has more than the clip.
        """
        turned = list(self._orientation.findings())
        if turned:
            # Of a clip that is not upright nothing else can be told.
            return turned
        shift = self._shift.find(surplus)
        found = [*self._colours.findings(), *self._levels.findings()]
        return found if shift is None else [*found, describe(shift)]

    def inverted_mask(self) -> str | None:
        """The evidence that the mask keeps what it should mask, as a sentence; None where there is none."""
        return self._blackness.finding()


def exchanged(generated: tuple[int, int], reference: tuple[int, int]) -> bool:
    """Whether the clip has the reference's shape only after a quarter turn; both sizes are (height, width)."""
    across = math.log(generated[0] * reference[0] / (generated[1] * reference[1]))
    along = math.log(generated[0] * reference[1] / (generated[1] * reference[0]))
    return abs(across) < 0.05 and abs(along) > 0.1


def _square(frame: NDArray[Any]) -> bool:
    return abs(math.log(frame.shape[0] / frame.shape[1])) < 0.05


class _Colours:
    """Errors between every two channels, so that an exchange of channels can be undone in thought."""

    def __init__(self) -> None:
        self._errors = np.zeros((3, 3))
        self._count = 0

    def add(self, x: Floats, y: Floats) -> None:
        self._errors += (x * x).sum(axis=0)[:, np.newaxis] - 2.0 * (x.T @ y) + (y * y).sum(axis=0)
        self._count += len(x)

    def findings(self) -> Iterator[Finding]:
        if self._count == 0:
            return
        errors = {
            order: float(self._errors[range(3), order].sum()) / (3 * self._count) for order in permutations(range(3))
        }
        best = min(errors, key=lambda order: errors[order])
        given = errors[0, 1, 2]
        if given >= MIN_ERROR and errors[best] <= MAX_RATIO * given:
            order = ", ".join(_COLOURS[channel] for channel in best)
            yield (
                "channels-swapped",
                f"the clip's red, green and blue look like the reference's {order}: mean squared error "
                f"{errors[best]:.2f} in that order, {given:.2f} as given",
            )


class _Levels:
    """Sums for a straight line from the reference's values to the clip's."""

    def __init__(self) -> None:
        self._sums = np.zeros(6)

    def add(self, x: Floats, y: Floats) -> None:
        a, b = y.ravel(), x.ravel()
        self._sums += np.array([a.size, a.sum(), b.sum(), a @ a, a @ b, b @ b])

    def findings(self) -> Iterator[Finding]:
        count, *sums = self._sums
        if count == 0:
            return
        a, b, aa, ab = (value / count for value in sums[:4])
        spread = aa - a * a
        given = self._error(1.0, 0.0)
        if spread < 100.0 or given < MIN_ERROR:
            return
        slope = (ab - a * b) / spread
        offset = b - slope * a
        for what, (scale, shift) in _RANGES.items():
            left = self._error(scale, shift)
            alike = abs(slope / scale - 1.0) <= 0.04 and abs(offset - shift) <= 4.5 * scale
            if alike and left <= MAX_RATIO * given:
                yield (
                    "range-mixup",
                    f"{what}: generated = {slope:.3f} reference {offset:+.1f} over the kept cells, mean squared error "
                    f"{left:.2f} with {scale:.3f} and {shift:+.1f}, {given:.2f} as given",
                )

    def _error(self, scale: float, shift: float) -> float:
        count, a, b, aa, ab, bb = self._sums
        total = bb - 2.0 * (scale * ab + shift * b) + scale * scale * aa + 2.0 * scale * shift * a
        return max(0.0, float(total / count) + shift * shift)


class _Blackness:
    """Shares of black pixels: the reference's region to inpaint is filled with black, the rest is a picture."""

    def __init__(self) -> None:
        self._kept = self._kept_black = self._kept_flat = self._generated_black = 0
        self._masked = self._masked_black = 0
        self._least = 1.0

    def add(self, luma_x: Floats, luma_y: Floats, kept: Bools) -> None:
        black = luma_y <= BLACK
        count, dark = int(np.count_nonzero(kept)), int(np.count_nonzero(black & kept))
        self._kept += count
        self._kept_black += dark
        self._kept_flat += int(np.count_nonzero((luma_y <= 4.0) & kept))
        self._generated_black += int(np.count_nonzero((luma_x <= BLACK) & kept))
        self._masked += kept.size - count
        self._masked_black += int(np.count_nonzero(black & ~kept))
        if count:
            self._least = min(self._least, dark / count)

    def finding(self) -> str | None:
        if min(self._kept, self._masked) < MIN_CELLS:
            return None
        masked = self._masked_black / self._masked
        if self._least < 0.9 or masked > 0.5:
            return None
        # A dark scene is dark in both clips and has texture; a filled box is flat, or the clip has a picture there.
        if self._kept_flat < 0.9 * self._kept and self._generated_black > 0.5 * self._kept:
            return None
        return (
            f"keeps only black of the reference: {self._kept_black / self._kept:.1%} of its kept pixels, and in every "
            f"frame at least {self._least:.1%}, are at level {BLACK:.0f} or below, but {masked:.1%} of the masked ones"
        )


class _Orientation:
    """Distances of small pictures to the reference's, as given and with the clip turned or mirrored back."""

    def __init__(self) -> None:
        self._given = 0.0
        self._undone: dict[str, float] = {}
        self._frames = 0

    def add(self, x: Floats, y: Floats, kept: Bools, turned: Turned | None, square: bool) -> None:
        if np.count_nonzero(kept) < MIN_CELLS:
            return
        self._frames += 1
        self._given += _distance(x, y, kept)
        undone = {**_HALF_TURNS, **_QUARTER_TURNS} if square else _HALF_TURNS
        if turned is not None:
            undone = _QUARTER_TURNS
            y = _cells(_sampled(turned.reference)) @ _LUMA
            kept = _whole_cells(~_sampled(turned.masked))
        for what, undo in undone.items():
            turned_back = undo(x)
            if turned_back.shape == y.shape == kept.shape:
                self._undone[what] = self._undone.get(what, 0.0) + _distance(turned_back, y, kept)

    def findings(self) -> Iterator[Finding]:
        if not self._undone:
            return
        what = min(self._undone, key=lambda name: self._undone[name])
        given, left = self._given / self._frames, self._undone[what] / self._frames
        if given >= MIN_DISTANCE and left <= MAX_RATIO * given:
            yield (
                "mirrored" if what.startswith("mirrored") else "rotated",
                f"the clip is {what}: turned back, its small pictures are {left:.2f} levels from the reference's, "
                f"{given:.2f} as given",
            )


def _sampled(frame: NDArray[Any]) -> NDArray[Any]:
    step = max(1, round(math.sqrt(frame.shape[0] * frame.shape[1] / SAMPLES)))
    sample = frame[step // 2 :: step, step // 2 :: step]
    return sample if sample.dtype == np.bool_ else sample.astype(np.float64)


def _borders(size: int) -> NDArray[np.intp]:
    count = min(CELLS, size)
    return np.arange(count, dtype=np.intp) * size // count


def _cell_sums(values: NDArray[Any]) -> NDArray[Any]:
    rows = np.add.reduceat(values, _borders(values.shape[0]), axis=0)
    return np.asarray(np.add.reduceat(rows, _borders(values.shape[1]), axis=1))


def _cells(sample: Floats) -> Floats:
    """Means over the cells, for each channel."""
    return np.asarray(_cell_sums(sample) / _cell_sums(np.ones((*sample.shape[:2], 1))))


def _whole_cells(kept: Bools) -> Bools:
    return np.asarray(_cell_sums((~kept).astype(np.intp)) == 0)


def _distance(x: Floats, y: Floats, kept: Bools) -> float:
    if not kept.any():
        return 0.0
    difference = x[kept] - y[kept]
    return float(np.abs(difference - difference.mean()).mean())
