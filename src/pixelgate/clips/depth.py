"""Depth fidelity of a generated clip: the depth predicted from it against the depth that it was conditioned on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pixelgate.clips._depth_sources import Sources, open_sources
from pixelgate.clips.evaluator import ClipFiles, Evaluation
from pixelgate.errors import ProtocolError
from pixelgate.metrics.depth import LINEAR, LOG_FLOOR, NAMES, DepthScores, stream_scores
from pixelgate.metrics.person_mask import DILATION
from pixelgate.metrics.registry import Runtime

GROUP = "depth"
DEFAULTS: Mapping[str, Any] = {
    "alignment": "scale-shift",
    "invalid": 0,
    "log_floor": LOG_FLOOR,
    "person_mask": False,
    "person_mask_dilation": DILATION,
    "fill_holes": True,
}
"""The group's parameters. ``person_mask`` is true or false here: whoever calls has resolved ``auto``."""

RATE_SLACK = 0.01
"""Share by which the frame rates of clip and condition may differ."""

_FLAGS = {
    "no_valid_pixels": "no pixel is valid, so there is nothing to score",
    "rank_deficient": "the prediction is constant over the valid pixels, so scale and shift are not determined; the "
    "numbers are those of a constant at the condition's mean",
    "scale_not_positive": "the fitted scale is not above 0: the prediction runs against the condition, as depth does "
    "against disparity",
    "overflow": "the depth values are too large for sums in float64",
}


@dataclass(frozen=True)
class DepthEvaluator:
    """Scores depth predictions (kind ``depth``) against the condition (column ``reference``).

    The condition is brought to the prediction's size, resized to fill and cropped; pixels of the invalid value are
    looked for after that. Masks of persons (kind ``person_masks``) are brought to the prediction's size by coverage,
    merged, filled and dilated there, and excluded from fit and score. Frames past the shortest clip are not scored.
    """

    group: str = field(default=GROUP, init=False)

    def needs(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        """See `Evaluator.needs`."""
        return ("depth", "person_masks") if _checked(params)["person_mask"] else ("depth",)

    def evaluate(
        self, files: ClipFiles, params: Mapping[str, Any], metrics: Sequence[str], runtime: Runtime
    ) -> Evaluation:
        """See `Evaluator.evaluate`.

        Raises:
            InputError: what `open_depth`, `open_masks` and `probe_video` raise; ``missing-reference`` and
                ``missing-prediction`` where a file is not named; ``prediction-length`` where the prediction has another
                number of frames than the clip that it should be of.
            ProtocolError: a parameter or a metric that the group does not have.
        """
        params = _checked(params)
        names = [_name(metric) for metric in metrics]
        sources = open_sources(files, params)
        scores = stream_scores(
            sources.pairs,
            names,
            invalid=params["invalid"],
            log_floor=params["log_floor"],
            threads=runtime.threads,
            unscored=sources.unscored,
        )
        return Evaluation(
            values={f"{GROUP}_{name}": scores.values[name] for name in names},
            record=sources.record,
            details=_details(sources, scores),
            deviations=tuple(_deviations(sources, scores)),
            notes=tuple(_notes(sources, scores)),
        )

    def itself(self, files: ClipFiles) -> ClipFiles | None:
        """The condition in the place of the prediction, and of the clip that the prediction is of."""
        reference = files.references.get("reference")
        if reference is None:
            return None
        return replace(files, generated=reference, predictions={**files.predictions, "depth": (reference,)})


EVALUATOR = DepthEvaluator()


def _checked(params: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := sorted(set(params) - set(DEFAULTS)):
        known = ", ".join(DEFAULTS)
        raise ProtocolError(f"group {GROUP!r} has no parameter {', '.join(map(repr, unknown))}; it has: {known}")
    found = {**DEFAULTS, **params}
    if found["alignment"] != "scale-shift":
        raise ProtocolError(f"group {GROUP!r}: alignment must be 'scale-shift', not {found['alignment']!r}")
    for name in ("person_mask", "fill_holes"):
        if not isinstance(found[name], bool):
            raise ProtocolError(f"group {GROUP!r}: {name} must be true or false, not {found[name]!r}")
    for name in ("invalid", "log_floor", "person_mask_dilation"):
        if isinstance(found[name], bool) or not isinstance(found[name], int | float):
            raise ProtocolError(f"group {GROUP!r}: {name} must be a number, not {found[name]!r}")
    return found


def _name(metric: str) -> str:
    name = metric.removeprefix(f"{GROUP}_")
    if name == metric or name not in NAMES:
        raise ProtocolError(f"group {GROUP!r} has no metric {metric!r}")
    return name


def _details(sources: Sources, scores: DepthScores) -> dict[str, Any]:
    alignment = scores.alignment
    sizes = {"clip": (sources.record.height, sources.record.width), "prediction": sources.prediction.size}
    return {
        "frames": sources.frames,
        "frames_scored": scores.frames_scored,
        "valid_pixels": alignment.n,
        "valid_per_frame": list(scores.valid_per_frame),
        "excluded_fraction": scores.excluded_pixels / scores.pixels,
        "prediction_not_finite": scores.prediction_not_finite,
        "condition_not_finite": scores.condition_not_finite,
        "clipped_pixels": scores.clipped_pixels,
        "scale": alignment.scale,
        "shift": alignment.shift,
        "scale_for_minmax_0_255": alignment.scale_for_minmax_0_255,
        "shift_for_minmax_0_255": alignment.shift_for_minmax_0_255,
        "rank": alignment.rank,
        "flags": list(alignment.flags),
        "lengths": {"clip": sources.record.frames, **sources.lengths},
        "sizes": {name: list(size) for name, size in {**sizes, "condition": sources.condition.size}.items()},
        "per_frame": {name: list(scores.per_frame[name]) for name in LINEAR if name in scores.per_frame},
        "person_mask": _persons(sources),
    }


def _persons(sources: Sources) -> dict[str, Any] | None:
    if sources.masks is None:
        return None
    frames = [sources.persons[index] for index in range(sources.frames)]
    return {
        "radius": frames[0].radius,
        "persons": sources.masks.persons,
        "frames_without_person": sum(1 for frame in frames if frame.area_union == 0),
        "area_union": [frame.area_union for frame in frames],
        "area_filled": [frame.area_filled for frame in frames],
        "area_dilated": [frame.area_dilated for frame in frames],
    }


def _deviations(sources: Sources, scores: DepthScores) -> Iterator[tuple[str, str]]:
    lengths = sources.lengths
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        yield "truncated", f"only the first {sources.frames} frames were scored; the clips' lengths are: {told}"
    if count := scores.prediction_not_finite:
        yield "prediction-not-finite", f"{count} pixels of the prediction are NaN or infinite and were not scored"
    condition = sources.condition.record
    rates = sources.record.fps, None if condition is None else condition.fps
    if rates[0] and rates[1] and abs(rates[0] / rates[1] - 1) > RATE_SLACK:
        yield (
            "frame-rate",
            f"the clip has {rates[0]:g} frames per second, its condition {rates[1]:g}: frames of one index show "
            "different times",
        )


def _notes(sources: Sources, scores: DepthScores) -> Iterator[tuple[str, str]]:
    for flag in scores.alignment.flags:
        yield flag.replace("_", "-"), _FLAGS[flag]
    clip, prediction = (sources.record.height, sources.record.width), sources.prediction.size
    if clip != prediction:
        yield (
            "prediction-size",
            f"the depth is {prediction[1]} x {prediction[0]} pixels, the clip that it was predicted from "
            f"{clip[1]} x {clip[0]} (width x height)",
        )
    if count := scores.condition_not_finite:
        yield "condition-not-finite", f"{count} pixels of the condition are NaN or infinite and were not scored"
    empty = sources.frames - scores.frames_scored
    if 0 < empty < sources.frames:
        yield "frames-without-valid-pixels", f"{empty} of {sources.frames} frames have no valid pixel and do not count"
    if sources.persons and all(frame.area_union == 0 for frame in sources.persons.values()):
        yield "no-person", "the person masks are empty on every frame, so that nothing was excluded"
