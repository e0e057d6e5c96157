"""The group ``vbench``: seven VBench dimensions, from given features or from the results of a VBench run.

The prediction of kind ``vbench`` is one or several ``*_eval_results.json`` (see `pixelgate.io.vbench_results`), or
an npz file. T is the number of frames of the clip. A dimension whose keys are absent has no value.

| dimension | keys | shapes | content |
| --- | --- | --- | --- |
| SuC | ``dino`` | (T, D) | DINO ViT-B/16 features of every frame |
| BC | ``clip`` | (T, D) | CLIP ViT-B/32 features of every frame |
| AQ | ``aesthetic`` | (T,) | outputs of LAION's linear head, about 1 to 10 |
| AQ | or ``aesthetic_features``, ``aesthetic_weight``, ``aesthetic_bias`` | (T, D), (D,), () | features and the head |
| IQ | ``musiq`` | (T,) | MUSIQ of every frame, 0 to 100 |
| OvC | ``viclip_video``, ``viclip_text`` | (D,), (D,) | ViCLIP features of clip and prompt |
| MS | ``interpolated`` | (n, H, W, 3) uint8 | number i: AMT-S's prediction of frame 2i + 1; n = ceil(T / 2) - 1 |
| DD | ``flow``, ``sampled_frames`` | (P, H, W, 2), () | RAFT's flow between consecutive sampled frames, in pixels |
| DD | or ``flow_magnitude``, ``sampled_frames``, ``size`` | (P,), (), (2,) | means of each flow's longest 5 % |

``sampled_frames`` and ``size`` (height, width) are whole numbers. AQ's features are CLIP ViT-L/14's of every frame.
Texts ``model``, ``preprocess`` and ``prompt`` may stand there too and go into the details. Frames are sampled as VBench
does: every max(1, round(fps / 8))-th from the first on, so P = ``sampled_frames`` - 1. A flow may be as large as the
clip, or padded to multiples of 8 as RAFT needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pixelgate.clips._given import caption_at, group_metrics, length_problems, naming, prediction, single_npz, texts
from pixelgate.clips._vbench_imported import imported
from pixelgate.clips._vbench_motion import decode, dynamic
from pixelgate.clips.evaluator import ClipFiles, Evaluation
from pixelgate.clips.text import check_prompt
from pixelgate.errors import InputError, Problem, ProtocolError
from pixelgate.io.features import FeatureFile, Field
from pixelgate.metrics._validate import check_params
from pixelgate.metrics.consistency import bad_rows, feature_rows
from pixelgate.metrics.registry import Measurement, Runtime
from pixelgate.metrics.vbench import (
    DIMENSIONS,
    Smoothness,
    aesthetic_per_frame,
    aesthetic_quality,
    frame_consistency,
    imaging_quality,
    overall_consistency,
    published,
)
from pixelgate.records import VideoRecord

FIELDS: Mapping[str, Field] = {
    "dino": Field("real", ("T", "D")),
    "clip": Field("real", ("T", "D")),
    "aesthetic": Field("real", ("T",)),
    "aesthetic_features": Field("real", ("T", "D")),
    "aesthetic_weight": Field("real", ("D",)),
    "aesthetic_bias": Field("real"),
    "musiq": Field("real", ("T",)),
    "viclip_video": Field("real", ("D",)),
    "viclip_text": Field("real", ("D",)),
    "interpolated": Field("rgb8", ("n", "H", "W", 3), may_be_empty=True),
    "flow": Field("real", ("P", "H", "W", 2), may_be_empty=True),
    "flow_magnitude": Field("real", ("P",), may_be_empty=True),
    "sampled_frames": Field("count"),
    "size": Field("count", (2,)),
    "model": Field("text"),
    "preprocess": Field("text"),
    "prompt": Field("text"),
}

_KEYS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "SuC": (("dino",),),
    "BC": (("clip",),),
    "AQ": (("aesthetic",), ("aesthetic_features", "aesthetic_weight", "aesthetic_bias")),
    "IQ": (("musiq",),),
    "OvC": (("viclip_video", "viclip_text"),),
    "MS": (("interpolated",),),
    "DD": (("flow", "sampled_frames"), ("flow_magnitude", "sampled_frames", "size")),
}
_PER_FRAME = ("dino", "clip", "aesthetic", "aesthetic_features", "musiq")
_MOTION = ("MS", "DD")
_LONG_SECONDS = 5.0


class VBenchEvaluator:
    """VBench's dimensions, given. See `pixelgate.clips.evaluator.Evaluator`."""

    group = "vbench"

    def needs(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        """Always ``vbench``."""
        return ("vbench",)

    def evaluate(
        self, files: ClipFiles, params: Mapping[str, Any], metrics: Sequence[str], runtime: Runtime
    ) -> Evaluation:
        """The dimensions asked for, on 0 to 100; overall consistency from -100.

        A metric whose dimension is not among the parameter ``dimensions`` is None, and so are motion smoothness and
        dynamic degree of a gif, which VBench does not read.

        Raises:
            InputError: as `pixelgate.io.features.FeatureFile` or `pixelgate.io.vbench_results.read_results`;
                ``missing-prediction`` (no row of this clip), ``prediction-kind``, ``prediction-keys`` (a dimension
                given in two ways), ``prediction-length``, ``prediction-shape``, ``feature-shape``, ``fps`` (the flow
                was sampled as of another frame rate); the clip's own rules.
            ProtocolError: a parameter, a dimension or a metric that the group does not have.
        """
        asked = _asked(check_params("vbench", params, {"dimensions": list(DIMENSIONS.values())})["dimensions"])
        columns = group_metrics("vbench", metrics, tuple(DIMENSIONS))
        reasons = {column: f"{DIMENSIONS[column]} was left out" for column in columns if column not in asked}
        if files.generated.suffix.lower() == ".gif":
            text = "VBench's motion dimensions read no gif; convert the clip to mp4"
            reasons |= {column: text for column in columns if column in _MOTION}
        wanted = [column for column in columns if column not in reasons]
        paths = prediction(files, "vbench")
        if all(path.suffix.lower() == ".json" for path in paths):
            values, record, details, notes = imported(files, paths, wanted)
        else:
            values, record, details, notes = _computed(files, single_npz(files, "vbench"), wanted)
        values |= {column: Measurement(None, reason) for column, reason in reasons.items()}
        notes += _clip_notes(record, wanted)
        return Evaluation({f"vbench_{c}": values[c] for c in columns}, record, details, notes=tuple(notes))

    def itself(self, files: ClipFiles) -> ClipFiles | None:
        """None: nothing is compared with a reference."""
        return None


@dataclass
class _Given:
    """What one clip's dimensions are computed from."""

    file: FeatureFile
    record: VideoRecord
    smoothness: Smoothness | None
    details: dict[str, Any] = field(default_factory=dict)


def _asked(dimensions: Sequence[str]) -> set[str]:
    columns = {name: column for column, name in DIMENSIONS.items()}
    unknown = [name for name in dimensions if name not in columns]
    if unknown:
        raise ProtocolError(
            f"the group 'vbench' has no dimension {', '.join(map(repr, unknown))}; it has: {', '.join(columns)}"
        )
    return {columns[name] for name in dimensions}


def _computed(
    files: ClipFiles, path: Path, wanted: Sequence[str]
) -> tuple[dict[str, Measurement], VideoRecord, dict[str, Any], list[tuple[str, str]]]:
    with FeatureFile(path, FIELDS) as file, naming(path):
        ways = {column: _way(file, column) for column in wanted}
        record, smoothness = decode(files, file, bool(ways.get("MS")))
        used = [key for way in ways.values() for key in way if key in _PER_FRAME]
        if problems := length_problems(file, used, record):
            raise InputError(problems)
        given = _Given(file, record, smoothness, {"source": "features", "frames": record.frames})
        values = {column: _measure(given, column, ways[column]) for column in wanted}
        given.details.update(texts(file, ["model", "preprocess", "prompt"]))
        if "OvC" in wanted and "reference" in files.references:
            captions = files.references["reference"]
            check_prompt(file, caption_at(captions, files.sample), captions)
    return values, record, given.details, []


def _way(file: FeatureFile, column: str) -> tuple[str, ...]:
    """The keys that give a dimension; empty where the file has not all of any way."""
    ways = [keys for keys in _KEYS[column] if file.keys.issuperset(keys)]
    if len(ways) > 1:
        found = f"gives {DIMENSIONS[column]} in two ways: {' and '.join(', '.join(keys) for keys in ways)}."
        raise InputError(Problem(str(file.path), "prediction-keys", found, "Leave one of them out."))
    return ways[0] if ways else ()


def _measure(given: _Given, column: str, keys: tuple[str, ...]) -> Measurement:
    """One dimension on 0 to 100."""
    if not keys:
        needed = " or ".join(" and ".join(way) for way in _KEYS[column])
        return Measurement(None, f"the prediction has no {needed}")
    arrays = [given.file.array(key) for key in keys] if column not in _MOTION else []
    if column in ("SuC", "BC"):
        consistency = frame_consistency(arrays[0])
        given.details[f"{column}_pair_terms"] = list(consistency.pair_terms)
        found = consistency.measurement
    elif column == "AQ":
        found = _aesthetic(arrays)
    elif column == "IQ":
        found = imaging_quality(arrays[0])
    elif column == "OvC":
        found = overall_consistency(arrays[0], arrays[1])
    elif column == "MS":
        smoothness = given.smoothness or Smoothness(Measurement(None, "the clip was not compared"))
        given.details["MS_per_frame_mae"] = list(smoothness.per_frame_mae)
        found = smoothness.measurement
    else:
        return dynamic(given.file, keys, given.record, given.details)
    return found if found.value is None else published(column, found.value)


def _aesthetic(arrays: Sequence[Any]) -> Measurement:
    if len(arrays) == 1:
        return aesthetic_quality(arrays[0])
    reason = bad_rows(feature_rows(arrays[0], "aesthetic_features"), "frame")
    if reason is not None:
        return Measurement(None, reason)
    return aesthetic_quality(aesthetic_per_frame(arrays[0], arrays[1], float(arrays[2])))


def _clip_notes(record: VideoRecord, wanted: Sequence[str]) -> list[tuple[str, str]]:
    notes = []
    if record.frames == 1:
        notes.append(("single-frame", "the clip has one frame: nothing moves in it and nothing can be compared."))
    if record.fps and (record.frames - 1) / record.fps > _LONG_SECONDS:
        seconds = (record.frames - 1) / record.fps
        message = f"the clip lasts {seconds:.1f} s; VBench is made for clips of up to {_LONG_SECONDS:g} s."
        notes.append(("long-clip", message))
    if record.variable_rate and "DD" in wanted:
        message = "its frames are unevenly spaced; dynamic degree samples them by the average frame rate."
        notes.append(("variable-rate", message))
    return notes


EVALUATOR = VBenchEvaluator()
