"""Sums over the frames of two depth clips: what the alignment and the errors are computed from.

Rows are summed by the kernels, rows into a frame and frames into a clip here. Sums over frames are exactly rounded,
so their order does not matter; a row has one sum however many threads share the frame.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import Problem
from pixelgate.metrics._backend import backend
from pixelgate.metrics._bands import share
from pixelgate.metrics._validate import PictureError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

RELATIVE = ("n", "abs", "squared", "inverse", "log", "mean", "centred", "delta1", "delta2", "delta3", "clipped")
"""Columns of ``relative_rows``, with d = ln p - ln g: count; sums of |p-g|/g, (p-g)^2/g, (1/p-1/g)^2 and |d|; mean of
d; sum of (d - mean)^2; pixels with max(p/g, g/p) below 1.25, 1.25^2 and 1.25^3; pixels that were clipped."""


BLOCK = 32_768
"""Pixels that are brought to float64 at a time, so that they stay in the processor's cache."""


ROUND_OFF = 1e-12
"""Share of the mean; a constant's mean in float64 is nearer to it than that."""


@dataclass(frozen=True)
class Frame:
    """One frame of prediction and condition, as given.

    Attributes:
        p, g: prediction and condition, height x width.
        excluded: pixels that the exclusion mask takes out; None for no mask.
        invalid: condition value of pixels that do not count; None where every value counts.
    """

    p: NDArray[Any]
    g: NDArray[Any]
    excluded: Bools | None
    invalid: float | None


@dataclass
class Counts:
    """What is counted over the pixels of frames.

    Attributes:
        pixels: all.
        excluded: those that an exclusion mask takes out.
        bad_prediction, bad_condition: those that are NaN or infinite.
        not_positive: valid ones whose condition is at or below 0.
        low, high: of the finite prediction, valid or not; infinite where there is none.
    """

    pixels: int = 0
    excluded: int = 0
    bad_prediction: int = 0
    bad_condition: int = 0
    not_positive: int = 0
    low: float = math.inf
    high: float = -math.inf

    def add(self, other: Counts) -> None:
        """Count the other's pixels too."""
        self.pixels += other.pixels
        self.excluded += other.excluded
        self.bad_prediction += other.bad_prediction
        self.bad_condition += other.bad_condition
        self.not_positive += other.not_positive
        self.widen(other.low, other.high)

    def widen(self, low: float, high: float) -> None:
        """Take a range of the prediction in."""
        self.low, self.high = min(self.low, low), max(self.high, high)


def check_frame(prediction: Any, condition: Any, excluded: Any, invalid: float | None) -> Frame:
    """One frame, found to be real numbers of one size.

    Args:
        prediction, condition: height x width, any real type.
        excluded: bool, height x width; None for no mask.
        invalid: see `Frame`.

    Raises:
        PictureError: not real numbers, or not of one size.
    """
    p, g = _plane(prediction, "prediction"), _plane(condition, "condition")
    _same_shape(p.shape, g.shape, "condition")
    return Frame(p, g, None if excluded is None else _mask(excluded, p.shape), invalid)


def moments(frame: Frame, threads: int | None) -> tuple[Floats, Counts]:
    """Count, means of p and g, sum of (p - mean)^2 and of (p - mean)(g - mean), over the frame's valid pixels.

    Beside them, what is counted over all pixels.
    """
    counts: list[Counts] = []
    rows = _rows(frame, 5, threads, "moments_rows", (), counts)
    total = Counts()
    for part in counts:
        total.add(part)
    return merge_moments(rows), total


def merge_moments(parts: Floats) -> Floats:
    """`moments` of all pixels together, from those of disjoint parts, k x 5.

    The deviations are taken from the common mean, never as a difference of large sums.
    """
    counts = parts[:, 0]
    n = float(counts.sum())
    if n == 0:
        return np.zeros(5)
    with np.errstate(all="ignore"):
        mean_p, mean_g = (fsum(counts * parts[:, k]) / n for k in (1, 2))
        off_p, off_g = parts[:, 1] - mean_p, parts[:, 2] - mean_g
        # A part without pixels has mean 0, which its count of 0 takes out.
        squared, mixed = fsum(parts[:, 3] + counts * off_p**2), fsum(parts[:, 4] + counts * off_p * off_g)
    return np.array([n, mean_p, mean_g, squared, mixed])


def solve(m: Floats) -> tuple[float, float, int]:
    """Scale, shift and rank of the least-squares problem min |scale p + shift - g|, from its `moments`.

    The solution of ``numpy.linalg.lstsq`` for the columns [p, 1]. The rank is 1 where p varies by no more than
    `ROUND_OFF` of its mean; then it is the minimum-norm solution, whose aligned prediction is the mean of g. (numpy's
    own limit grows with the number of pixels and would take some clips with a large offset for constant.)
    """
    n, mean_p, mean_g, squared, mixed = (float(value) for value in m)
    if math.sqrt(squared / n) > ROUND_OFF * abs(mean_p):
        scale = mixed / squared
        return scale, mean_g - scale * mean_p, 2
    if abs(mean_p) <= 1:
        shift = mean_g / (mean_p * mean_p + 1.0)
        return mean_p * shift, shift, 1
    scale = mean_g / (mean_p + 1.0 / mean_p)
    return scale, scale / mean_p, 1


def linear(frame: Frame, scale: float, shift: float, threads: int | None) -> tuple[float, float]:
    """Sum of |scale p + shift - g| and of its square, over the frame's valid pixels."""
    rows = _rows(frame, 2, threads, "linear_rows", (scale, shift))
    return fsum(rows[:, 0]), fsum(rows[:, 1])


def relative(frame: Frame, scale: float, shift: float, floor: float, threads: int | None) -> dict[str, float]:
    """The sums of `RELATIVE` over the frame's valid pixels, by name."""
    rows = _rows(frame, len(RELATIVE), threads, "relative_rows", (scale, shift, floor))
    columns = dict(zip(RELATIVE, rows.T, strict=True))
    sums = {name: fsum(column) for name, column in columns.items()}
    with np.errstate(all="ignore"):
        sums["mean"] = fsum(columns["n"] * columns["mean"]) / max(1.0, sums["n"])
        sums["centred"] = fsum(columns["centred"] + columns["n"] * (columns["mean"] - sums["mean"]) ** 2)
    return sums


def fsum(values: Floats | Iterable[float]) -> float:
    """The exactly rounded sum; infinite or NaN where the values overflow."""
    try:
        return math.fsum(values.tolist() if isinstance(values, np.ndarray) else values)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan


def _rows(
    frame: Frame,
    columns: int,
    threads: int | None,
    name: str,
    parameters: tuple[float, ...],
    counts: list[Counts] | None = None,
) -> Floats:
    """What a kernel finds for each row; where `counts` is a list, the counts of parts of the frame are added to it."""
    kernel = getattr(backend().kernels("_numba_depth", "_numpy_depth"), name)
    height, width = frame.p.shape
    sums = np.zeros((height, columns))
    step = max(1, BLOCK // width)

    def band(first: int, end: int) -> None:
        # Pixels that do not count may be NaN or overflow on their way out of the sums; numpy's setting is per thread.
        with np.errstate(all="ignore"):
            for start in range(first, end, step):
                rows = slice(start, min(start + step, end))
                p, g, valid, counted = _block(frame, rows, counts is not None)
                kernel(p, g, valid, *parameters, sums[rows])
                if counts is not None:
                    counts.append(counted)

    share(height, width, threads, band)
    return sums


def _block(frame: Frame, rows: slice, counted: bool) -> tuple[Floats, Floats, Bools, Counts]:
    """Some rows in float64, their valid pixels and, where asked for, their counts."""
    p, g = (np.ascontiguousarray(plane[rows], dtype=np.float64) for plane in (frame.p, frame.g))
    finite, good = np.isfinite(p), np.isfinite(g)
    valid = finite & good
    if frame.invalid is not None:
        valid &= g != frame.invalid
    excluded = None if frame.excluded is None else frame.excluded[rows]
    if excluded is not None:
        valid &= ~excluded
    if not counted:
        return p, g, valid, Counts()
    bad = p.size - int(np.count_nonzero(finite))
    usable = p[finite] if bad else p
    found = Counts(
        pixels=p.size,
        excluded=0 if excluded is None else int(np.count_nonzero(excluded)),
        bad_prediction=bad,
        bad_condition=g.size - int(np.count_nonzero(good)),
        not_positive=int(np.count_nonzero(valid & (g <= 0))),
    )
    if usable.size:
        found.widen(float(usable.min()), float(usable.max()))
    return p, g, valid, found


def _plane(values: object, name: str) -> NDArray[Any]:
    if isinstance(values, np.ndarray) and values.ndim == 2 and values.size and values.dtype.kind in "iuf":
        return values
    found = f"is {values.dtype} of shape {values.shape}" if isinstance(values, np.ndarray) else f"is {type(values)}"
    mend = "Give real numbers, height x width for a frame, frames x height x width for a clip."
    raise PictureError(Problem("", "depth-array", f"the {name} {found}", mend))


def _mask(mask: object, shape: tuple[int, ...]) -> Bools:
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        raise PictureError(Problem("", "depth-mask", "the exclusion mask is not boolean", "Give an array of booleans."))
    _same_shape(shape, mask.shape, "exclusion mask")
    return mask


def _same_shape(wanted: tuple[int, ...], shape: tuple[int, ...], name: str) -> None:
    if shape != wanted:
        found = f"the {name} has shape {shape}, the prediction {wanted}"
        raise PictureError(Problem("", "depth-shape", found, "Bring both to one size and one number of frames."))
