"""The group ``pose``: how far the people of a clip stand from those of its condition.

References by column: ``reference``, the condition's keypoints; ``size``, a clip of the size in which they were found;
``scores``, their confidences where they lie apart, or else ``<id>_scores.npy`` beside them. The prediction of kind
``pose`` is the generated clip's keypoints, with a second file where its confidences lie apart. See
`pixelgate.io.keypoints` for the layouts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pixelgate.clips._given import group_metrics, prediction, reference
from pixelgate.clips._not_reference import refuse_reference
from pixelgate.clips.evaluator import ClipFiles, Evaluation
from pixelgate.errors import InputError, Problem, ProtocolError
from pixelgate.io._keypoint_layouts import BODY
from pixelgate.io.files import sha256_file
from pixelgate.io.keypoints import CONFIDENT, Frame, Keypoints, read_keypoints, to_unit
from pixelgate.io.video import probe_video
from pixelgate.metrics._validate import check_params, positive
from pixelgate.metrics.pose import METRICS, NOTHING_SCORED, PoseScore, score_pose, threshold_of
from pixelgate.metrics.registry import Measurement, Runtime
from pixelgate.records import VideoRecord

DEFAULTS: Mapping[str, Any] = {"keypoints": 18, "confidence": 0.3, "thresholds": (0.05, 0.10), "allow_pickle": False}

LOW_COVERAGE = 0.5
_MUCH_OUTSIDE = 0.1
_SAME_ASPECT = 0.01
_SAME_RATE = 0.01


@dataclass(frozen=True)
class _Side:
    keypoints: Keypoints
    size: tuple[int, int]  # width, height
    frames: tuple[Frame, ...]

    @property
    def details(self) -> dict[str, Any]:
        found = self.keypoints
        return {"size": list(self.size), "units": found.units, "evidence": found.evidence, "layout": found.layout}


@dataclass(frozen=True)
class _Sides:
    condition: _Side
    generated: _Side
    record: VideoRecord
    shown: VideoRecord | None  # the condition's clip, where the data set has it


class PoseEvaluator:
    """Pose fidelity from given keypoints. See `pixelgate.clips.evaluator.Evaluator`."""

    group = "pose"

    def needs(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        """Always ``pose``."""
        return ("pose",)

    def evaluate(
        self, files: ClipFiles, params: Mapping[str, Any], metrics: Sequence[str], runtime: Runtime
    ) -> Evaluation:
        """Distances and shares of keypoints, and how much was covered.

        Raises:
            InputError: as `read_keypoints` and `to_unit`; ``missing-reference``, ``missing-prediction``;
                ``prediction-length``: the keypoints are not of as many frames as the clip; the clips' own rules.
            ProtocolError: a parameter or metric that the group does not have.
        """
        chosen = _params(params)
        names = group_metrics("pose", metrics, tuple(METRICS))
        _check_thresholds(names, chosen)
        sides = _sides(files, chosen["allow_pickle"])
        score = score_pose(
            sides.condition.frames,
            sides.generated.frames,
            keypoints=chosen["keypoints"],
            confidence=chosen["confidence"],
            thresholds=chosen["thresholds"],
        )
        values = {metric: _value(name, score) for metric, name in zip(metrics, names, strict=True)}
        return Evaluation(
            values, sides.record, _details(score, sides), tuple(_deviations(score, sides)), tuple(_notes(score, sides))
        )

    def itself(self, files: ClipFiles) -> ClipFiles | None:
        """The condition's own keypoints in the place of the prediction."""
        own = files.references.get("reference")
        if own is None:
            return None
        return replace(files, generated=own, predictions={"pose": (own,)})


def _params(params: Mapping[str, Any]) -> dict[str, Any]:
    chosen = check_params("pose", params, DEFAULTS)
    count = positive("pose", chosen, "keypoints")
    if count != int(count) or count > BODY:
        raise ProtocolError(f"metric 'pose': keypoints must be a whole number of up to {BODY}, not {count!r}")
    confidence = chosen["confidence"]
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence < np.inf:
        raise ProtocolError(f"metric 'pose': confidence must be a finite number of at least 0, not {confidence!r}")
    thresholds = chosen["thresholds"]
    if not isinstance(thresholds, list | tuple) or not all(
        isinstance(limit, int | float) and not isinstance(limit, bool) and limit > 0 for limit in thresholds
    ):
        raise ProtocolError(f"metric 'pose': thresholds must be numbers above 0, not {thresholds!r}")
    if not isinstance(chosen["allow_pickle"], bool):
        raise ProtocolError(f"metric 'pose': allow_pickle must be true or false, not {chosen['allow_pickle']!r}")
    return {**chosen, "keypoints": int(count), "thresholds": tuple(map(float, thresholds))}


def _check_thresholds(names: Sequence[str], params: Mapping[str, Any]) -> None:
    for name in names:
        limit = threshold_of(name)
        if limit is not None and limit not in params["thresholds"]:
            raise ProtocolError(f"metric 'pose_{name}' is asked for, and {limit} is not among the thresholds")


def _sides(files: ClipFiles, allow_pickle: bool) -> _Sides:
    condition_file = reference(files, "keypoints")
    predicted = prediction(files, "pose")
    condition = _read_condition(files, condition_file, allow_pickle)
    if files.generated == condition_file:
        return _itself(files, condition)
    refuse_reference(predicted[0], condition_file)
    generated = read_keypoints(predicted[0], predicted[1] if len(predicted) > 1 else None, allow_pickle)
    record = probe_video(files.generated)
    if len(generated.frames) != record.frames:
        found = f"has keypoints of {len(generated.frames)} frames; the clip {files.generated} has {record.frames}."
        mend = "Run DWPose on this very clip, on all of its frames."
        raise InputError(Problem(str(predicted[0]), "prediction-length", found, mend))
    shown = probe_video(files.references["size"]) if "size" in files.references else None
    own = (record.width, record.height)
    size = own if shown is None else (shown.width, shown.height)
    first = _Side(condition, size, to_unit(condition, *size))
    return _Sides(first, _Side(generated, own, to_unit(generated, *own)), record, shown)


def _read_condition(files: ClipFiles, path: Path, allow_pickle: bool) -> Keypoints:
    """The condition's keypoints, with the confidences that lie beside them where they have none of their own."""
    given = files.references.get("scores")
    if given is not None:
        return read_keypoints(path, given, allow_pickle)
    try:
        return read_keypoints(path, None, allow_pickle)
    except InputError as error:
        beside = [name for stem in (path.stem, path.stem.removesuffix("_pose")) if (name := _scores(path, stem))]
        if error.problems[0].rule != "keypoints-confidence" or not beside:
            raise
    return read_keypoints(path, beside[0], allow_pickle)


def _scores(path: Path, stem: str) -> Path | None:
    candidate = path.with_name(f"{stem}_scores.npy")
    return candidate if candidate.is_file() else None


def _itself(files: ClipFiles, condition: Keypoints) -> _Sides:
    """Both sides are the condition, whose size decides nothing here and may be unknown."""
    if "size" in files.references:
        record = probe_video(files.references["size"])
    else:
        points = np.concatenate([frame[..., :2].reshape(-1, 2) for frame in condition.frames])
        width, height = np.ceil(points.max(axis=0, initial=1.0)).astype(int).tolist()
        path = Path(condition.file)
        record = VideoRecord(str(path), sha256_file(path), "", width, height, frames=len(condition.frames))
    size = (record.width, record.height)
    side = _Side(condition, size, to_unit(condition, *size))
    return _Sides(side, side, record, None)


def _value(name: str, score: PoseScore) -> Measurement:
    if name in ("person_coverage", "keypoint_coverage"):
        share = getattr(score.counts, name)
        return Measurement(share, None if share is not None else "the condition has no person")
    limit = threshold_of(name)
    return Measurement(score.akd if limit is None else score.pck[limit], score.reason)


def _details(score: PoseScore, sides: _Sides) -> dict[str, Any]:
    counts = score.counts
    return {
        **asdict(counts),
        "person_coverage": counts.person_coverage,
        "keypoint_coverage": counts.keypoint_coverage,
        "akd_per_frame": list(score.akd_per_frame),
        "condition": sides.condition.details,
        "generated": sides.generated.details,
    }


def _deviations(score: PoseScore, sides: _Sides) -> Iterator[tuple[str, str]]:
    counts = score.counts
    if counts.ref_frames != counts.gen_frames:
        yield (
            "truncated",
            f"the condition has {counts.ref_frames} frames and the generated clip {counts.gen_frames}; the first "
            f"{counts.frames_compared} were scored",
        )
    rates = sides.record.fps, None if sides.shown is None else sides.shown.fps
    if rates[0] and rates[1] and abs(rates[0] / rates[1] - 1) > _SAME_RATE:
        yield (
            "frame-rate",
            f"the clip has {rates[0]:g} frames per second, its condition {rates[1]:g}: frames of one index show "
            "different times",
        )


def _notes(score: PoseScore, sides: _Sides) -> Iterator[tuple[str, str]]:
    first, second = sides.condition, sides.generated
    if sides.shown is not None and sides.shown.frames != score.counts.ref_frames:
        text = f"the condition has keypoints of {score.counts.ref_frames} frames and its clip {sides.shown.frames}"
        yield "condition-length", f"{text} frames"
    if sides.shown is None and first.keypoints.units == "pixels" and first is not second:
        size = f"{second.size[0]} x {second.size[1]}"
        yield "size-assumed", f"the data set names no size for the condition; the generated clip's, {size}, was taken"
    yield from _side_notes(first)
    if second is not first:
        yield from _side_notes(second)
    yield from _aspect(first, second)
    yield from _coverage(score)
    if second is not first and score.akd == 0:
        yield "equals-reference", "every keypoint scored lies exactly where the condition has it"


def _side_notes(side: _Side) -> Iterator[tuple[str, str]]:
    found = side.keypoints
    if found.unclear:
        yield "units-unclear", f"{Path(found.file).name} was read as {found.units}: {found.evidence}"
    bodies = [frame[:, :BODY] for frame in side.frames]
    points = np.concatenate([body[body[..., 2] > CONFIDENT][:, :2] for body in bodies])
    outside = float(((points < 0) | (points > 1)).any(axis=1).mean()) if len(points) else 0.0
    if outside > _MUCH_OUTSIDE:
        width, height = side.size
        text = (
            f"{outside:.0%} of the confident body keypoints of {Path(found.file).name} lie outside its frame of "
            f"{width} x {height}"
        )
        yield "keypoints-outside", text


def _aspect(first: _Side, second: _Side) -> Iterator[tuple[str, str]]:
    wanted, own = (width / height for width, height in (first.size, second.size))
    if abs(wanted / own - 1) > _SAME_ASPECT:
        shown, made = (f"{width} x {height}" for width, height in (first.size, second.size))
        text = f"the condition is {shown} and the generated clip {made}; each is scored as fractions of its own frame"
        yield "aspect-differs", text


def _coverage(score: PoseScore) -> Iterator[tuple[str, str]]:
    counts = score.counts
    shares = {"people": counts.person_coverage, "keypoints": counts.keypoint_coverage}
    low = [f"{share:.0%} of the {what}" for what, share in shares.items() if share is not None and share < LOW_COVERAGE]
    if score.reason == NOTHING_SCORED:
        people = f"{counts.ref_persons} people in the condition's frames, {counts.gen_persons} in the generated clip's"
        yield "low-coverage", f"{NOTHING_SCORED}: {people}"
    elif low:
        text = f"only {' and '.join(low)} of the condition were scored; what is missing counts for nothing"
        yield "low-coverage", text


EVALUATOR = PoseEvaluator()
