"""Errors of a depth clip after its least-squares alignment to a condition.

The prediction is known up to scale and shift, so one pair of them is fitted for the whole clip, prediction to
condition, over all valid pixels; then errors are measured. Pixels whose condition has the invalid value, that an
exclusion mask covers, or where prediction or condition is NaN or infinite are not valid. Errors are means over the
frames that have a valid pixel, but for ``log10``, which pools pixels.

Source: FlexBench evaluation document; formulas as in Marigold's ``metric.py`` and ``alignment.py``, without a mask's
empty frames as in Video-Depth-Anything's evaluation; ``mae`` is the mean over frames of the mean absolute error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import Problem, ProtocolError
from pixelgate.metrics import _depth_sums as sums
from pixelgate.metrics._backend import backend
from pixelgate.metrics._clip import clip_metric
from pixelgate.metrics._validate import PictureError
from pixelgate.metrics.registry import Measurement, Runtime

LINEAR = ("mae", "rmse_linear")
RELATIVE = (
    "abs_relative_difference",
    "squared_relative_difference",
    "rmse_log",
    "log10",
    "delta1_acc",
    "delta2_acc",
    "delta3_acc",
    "i_rmse",
    "silog_rmse",
)
"""What divides by depth or takes its logarithm: the aligned prediction is clipped from below for these alone."""
NAMES = (*LINEAR, *RELATIVE)
POOLED = ("log10", "silog_rmse")
"""Without a value per frame."""

LOG_FLOOR = 1e-6

NO_VALID_PIXELS = "no_valid_pixels"
RANK_DEFICIENT = "rank_deficient"
SCALE_NOT_POSITIVE = "scale_not_positive"
OVERFLOW = "overflow"

Pair = tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_] | None]
"""Prediction, condition and exclusion mask of one frame, height x width each; None for no mask."""


@dataclass(frozen=True)
class Alignment:
    """The affine map from prediction to condition.

    Attributes:
        scale, shift: condition ~ scale x prediction + shift; None where there is no fit.
        rank: of the least-squares problem: 2, or 1 for a constant prediction; None where there is no fit.
        flags: ``no_valid_pixels``; ``rank_deficient`` (the minimum-norm solution was taken); ``scale_not_positive``
            (the prediction runs against the condition, as depth does against disparity); ``overflow`` (values too
            large for float64 sums).
        n: valid pixels.
        low, high: of the finite prediction, valid or not; None where there is none.
    """

    scale: float | None
    shift: float | None
    rank: int | None
    flags: tuple[str, ...]
    n: int
    low: float | None = None
    high: float | None = None

    @property
    def scale_for_minmax_0_255(self) -> float | None:
        """The scale for the prediction mapped from `low`..`high` to 0..255; None where that map does not exist."""
        if self.scale is None or self.low is None or self.high is None or self.high == self.low:
            return None
        return self.scale * (self.high - self.low) / 255.0

    @property
    def shift_for_minmax_0_255(self) -> float | None:
        """The shift that goes with `scale_for_minmax_0_255`."""
        if self.shift is None or self.scale_for_minmax_0_255 is None:
            return None
        assert self.scale is not None
        assert self.low is not None
        return self.shift + self.scale * self.low


@dataclass(frozen=True)
class DepthScores:
    """All errors of one clip.

    Attributes:
        values: name of `NAMES` -> its number, or None with the reason.
        alignment: the fit.
        valid_per_frame: valid pixels of each frame; frames without any do not count.
        per_frame: name -> its value for each frame, None for frames without a valid pixel; not for `POOLED`.
        clipped_pixels: valid pixels whose aligned prediction lay below the floor; None if nothing of `RELATIVE` was
            asked for or there is no fit.
        pixels: of all frames.
        excluded_pixels: that an exclusion mask covers.
        prediction_not_finite, condition_not_finite: pixels that are NaN or infinite.
    """

    values: Mapping[str, Measurement]
    alignment: Alignment
    valid_per_frame: tuple[int, ...]
    per_frame: Mapping[str, tuple[float | None, ...]]
    clipped_pixels: int | None
    pixels: int
    excluded_pixels: int
    prediction_not_finite: int
    condition_not_finite: int

    @property
    def frames_scored(self) -> int:
        """Frames with at least one valid pixel."""
        return sum(1 for count in self.valid_per_frame if count)


def align(prediction: NDArray[Any], condition: NDArray[Any], valid: NDArray[np.bool_] | None = None) -> Alignment:
    """Least-squares scale and shift, prediction to condition, over the valid pixels of all frames; float64.

    Args:
        prediction: frames x height x width, or height x width; any real type, any scale and shift.
        condition: the same shape, grey levels 0 to 255 in FlexBench.
        valid: bool, the same shape; None for all. Pixels that are NaN or infinite on either side never count.

    Raises:
        PictureError: not real numbers, or of unlike shapes (an `InputError` and a `ValueError`).
    """
    excluded = None if valid is None else ~_booleans(valid)
    return _fit(_pairs(prediction, condition, excluded)(), None, None).alignment()


def depth_scores(
    prediction: NDArray[Any],
    condition: NDArray[Any],
    excluded: NDArray[np.bool_] | None = None,
    metrics: Sequence[str] = NAMES,
    *,
    invalid: float | None = 0.0,
    log_floor: float = LOG_FLOOR,
    threads: int | None = None,
) -> DepthScores:
    """`stream_scores` of arrays: frames x height x width, or height x width for a single frame."""
    return stream_scores(
        _pairs(prediction, condition, excluded), metrics, invalid=invalid, log_floor=log_floor, threads=threads
    )


def stream_scores(
    frames: Callable[[], Iterable[Pair]],
    metrics: Sequence[str] = NAMES,
    *,
    invalid: float | None = 0.0,
    log_floor: float = LOG_FLOOR,
    threads: int | None = None,
    unscored: Callable[[], Iterable[NDArray[Any]]] = tuple,
) -> DepthScores:
    """Align a clip and measure its errors, in two passes over its frames; one frame is held at a time.

    Args:
        frames: gives the frames from the start each time it is called.
        metrics: names of `NAMES`.
        invalid: condition value of pixels that do not count; None where every value counts.
        log_floor: where ratios, inverses and logarithms clip the aligned prediction; above 0.
        threads: most CPU threads to use; None for all that the process may run on. The values are the same.
        unscored: prediction frames past the last pair; they count for `Alignment.low` and `high` alone.

    Returns:
        ``mae`` and ``rmse_linear`` in the condition's unit; ``delta*_acc`` from 0 to 1, higher is better; all others
        from 0, lower is better.

    Raises:
        ProtocolError: an unknown name, or a floor that is not above 0.
        PictureError: frames that are not real numbers or of unlike shapes (an `InputError` and a `ValueError`).
    """
    if unknown := sorted(set(metrics) - set(NAMES)):
        raise ProtocolError(f"unknown depth metric {', '.join(map(repr, unknown))}; known: {', '.join(NAMES)}")
    if not (math.isfinite(log_floor) and log_floor > 0):
        raise ProtocolError(f"log_floor must be a finite number above 0, not {log_floor!r}")
    fit = _fit(frames(), invalid, threads)
    for rest in unscored():
        finite = rest[np.isfinite(rest)]
        if finite.size:
            fit.counts.widen(float(finite.min()), float(finite.max()))
    alignment = fit.alignment()
    errors = _Errors()
    if alignment.scale is not None and alignment.shift is not None:
        errors = _measure(frames(), fit.valid, metrics, alignment, invalid, log_floor, threads)
    return fit.scores(metrics, alignment, errors)


@dataclass
class _Errors:
    """Per-frame values and the sums of what is pooled; frames without a valid pixel are None."""

    per_frame: dict[str, list[float | None]] = field(default_factory=dict)
    log_sums: list[float] = field(default_factory=list)
    variances: list[float] = field(default_factory=list)
    clipped: int | None = None

    def value(self, name: str, n: int) -> float:
        if name == "log10":
            return sums.fsum(self.log_sums) / n / math.log(10.0)
        values = self.variances if name == "silog_rmse" else [v for v in self.per_frame[name] if v is not None]
        mean = sums.fsum(values) / len(values)
        return 100.0 * math.sqrt(mean) if name == "silog_rmse" else mean


@dataclass
class _Fit:
    """What the first pass over the frames gathers."""

    parts: list[NDArray[np.float64]] = field(default_factory=list)
    counts: sums.Counts = field(default_factory=sums.Counts)

    def add(self, frame: sums.Frame, threads: int | None) -> None:
        part, counted = sums.moments(frame, threads)
        self.parts.append(part)
        self.counts.add(counted)

    @property
    def valid(self) -> tuple[int, ...]:
        return tuple(int(part[0]) for part in self.parts)

    def alignment(self) -> Alignment:
        counts = self.counts
        low, high = (counts.low, counts.high) if counts.low <= counts.high else (None, None)
        moments = sums.merge_moments(np.array(self.parts).reshape(-1, 5))
        n = int(moments[0])
        if n == 0:
            return Alignment(None, None, None, (NO_VALID_PIXELS,), 0, low, high)
        scale, shift, rank = sums.solve(moments) if np.isfinite(moments).all() else (math.nan, math.nan, 0)
        if not (math.isfinite(scale) and math.isfinite(shift)):
            return Alignment(None, None, None, (OVERFLOW,), n, low, high)
        flags = [RANK_DEFICIENT] if rank < 2 else []
        flags += [SCALE_NOT_POSITIVE] if scale <= 0 else []
        return Alignment(scale, shift, rank, tuple(flags), n, low, high)

    def scores(self, metrics: Sequence[str], alignment: Alignment, errors: _Errors) -> DepthScores:
        values = {name: self._measurement(name, alignment, errors) for name in metrics}
        return DepthScores(
            values=values,
            alignment=alignment,
            valid_per_frame=self.valid,
            per_frame={
                name: tuple(errors.per_frame[name])
                for name in metrics
                if name in errors.per_frame and values[name].value is not None
            },
            clipped_pixels=errors.clipped,
            pixels=self.counts.pixels,
            excluded_pixels=self.counts.excluded,
            prediction_not_finite=self.counts.bad_prediction,
            condition_not_finite=self.counts.bad_condition,
        )

    def _measurement(self, name: str, alignment: Alignment, errors: _Errors) -> Measurement:
        if NO_VALID_PIXELS in alignment.flags:
            return Measurement(None, "no valid pixels")
        if OVERFLOW in alignment.flags:
            return Measurement(None, "the depth values are too large for sums in float64")
        if name in RELATIVE and self.counts.not_positive:
            found = f"{self.counts.not_positive} valid pixels of the condition are not above 0"
            return Measurement(None, f"{found}, where ratios and logarithms are not defined")
        value = errors.value(name, alignment.n)
        if not math.isfinite(value):
            return Measurement(None, "the depth values are too large, or the condition too near 0, for float64")
        return Measurement(value)


def _fit(frames: Iterable[Pair], invalid: float | None, threads: int | None) -> _Fit:
    fit = _Fit()
    for prediction, condition, excluded in frames:
        fit.add(sums.check_frame(prediction, condition, excluded, invalid), threads)
    if not fit.parts:
        raise PictureError(Problem("", "depth-empty", "there is no frame to align", "Give at least one frame."))
    return fit


def _measure(
    frames: Iterable[Pair],
    valid: Sequence[int],
    metrics: Sequence[str],
    alignment: Alignment,
    invalid: float | None,
    floor: float,
    threads: int | None,
) -> _Errors:
    assert alignment.scale is not None
    assert alignment.shift is not None
    errors = _Errors({name: [] for name in metrics if name not in POOLED})
    relative = any(name in RELATIVE for name in metrics)
    errors.clipped = 0 if relative else None
    for pair, n in zip(frames, valid, strict=True):
        if n == 0:
            for values in errors.per_frame.values():
                values.append(None)
            continue
        frame = sums.check_frame(*pair, invalid)
        absolute, squared = sums.linear(frame, alignment.scale, alignment.shift, threads)
        found = {"mae": absolute / n, "rmse_linear": math.sqrt(squared / n)}
        if relative:
            row = sums.relative(frame, alignment.scale, alignment.shift, floor, threads)
            found |= _ratios(row, n)
            errors.log_sums.append(row["log"])
            errors.variances.append(row["centred"] / n)
            errors.clipped = (errors.clipped or 0) + int(row["clipped"])
        for name, values in errors.per_frame.items():
            values.append(found[name])
    return errors


def _ratios(row: Mapping[str, float], n: int) -> dict[str, float]:
    """The per-frame values of one frame from its sums."""
    return {
        "abs_relative_difference": row["abs"] / n,
        "squared_relative_difference": row["squared"] / n,
        "rmse_log": math.sqrt(row["centred"] / n + row["mean"] * row["mean"]),
        "i_rmse": math.sqrt(row["inverse"] / n),
        **{f"delta{k}_acc": row[f"delta{k}"] / n for k in (1, 2, 3)},
    }


def _pairs(
    prediction: NDArray[Any], condition: NDArray[Any], excluded: NDArray[np.bool_] | None
) -> Callable[[], Iterator[Pair]]:
    clips = [_clip(prediction), _clip(condition)]
    masks = None if excluded is None else _clip(_booleans(excluded))
    lengths = {len(clip) for clip in (*clips, *([] if masks is None else [masks]))}
    if len(lengths) > 1:
        found = f"the clips have {' and '.join(str(length) for length in sorted(lengths))} frames"
        raise PictureError(Problem("", "depth-shape", found, "Truncate them to one length."))
    return lambda: (
        (p, g, None if masks is None else masks[index]) for index, (p, g) in enumerate(zip(*clips, strict=True))
    )


def _clip(values: NDArray[Any]) -> NDArray[Any]:
    array = np.asarray(values)
    return array[np.newaxis] if array.ndim == 2 else array


def _booleans(mask: NDArray[Any]) -> NDArray[np.bool_]:
    if isinstance(mask, np.ndarray) and mask.dtype == np.bool_:
        return mask
    raise PictureError(Problem("", "depth-mask", "the mask of pixels is not boolean", "Give an array of booleans."))


def _fingerprint(params: Mapping[str, Any], runtime: Runtime) -> Mapping[str, str]:
    return backend().fingerprint


_SOURCE = "FlexBench evaluation document; Marigold src/util/metric.py"
_TITLES = {
    "mae": "mean absolute error of depth, grey levels",
    "rmse_linear": "root mean squared error of depth, grey levels",
    "abs_relative_difference": "absolute relative difference of depth",
    "squared_relative_difference": "squared relative difference of depth",
    "rmse_log": "root mean squared error of log depth",
    "log10": "mean absolute difference of log10 depth",
    "i_rmse": "root mean squared error of inverse depth",
    "silog_rmse": "scale-invariant log error of depth, times 100",
    **{f"delta{k}_acc": f"share of depth within 1.25^{k}" for k in (1, 2, 3)},
}
METRICS = {
    name: clip_metric(
        f"depth_{name}",
        _TITLES[name],
        group="depth",
        direction="higher" if name.endswith("_acc") else "lower",
        source=_SOURCE,
        fingerprint=_fingerprint,
        high=1.0 if name.endswith("_acc") else math.inf,
        perfect=1.0 if name.endswith("_acc") else 0.0,
        # Of an equal clip the fit is exact to round-off; square roots and inverses of that are still far below this.
        equal_slack=1e-6,
    )
    for name in NAMES
}
