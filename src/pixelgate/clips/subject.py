"""The group ``subject``: how like the subject's picture every frame of a clip is, for CLIP and for DINO.

The prediction of kind ``subject`` is an npz file:

| key | shape | content |
| --- | --- | --- |
| ``clip_frames``, ``clip_reference`` | (T, D), (D,) | CLIP ViT-B/32 of every frame, of the subject's picture |
| ``dino_frames``, ``dino_reference`` | (T, D), (D,) | the same of DINO ViT-B/16 |
| ``preprocess`` | text, optional | how frames were prepared, such as ``clip-official`` or ``vbench`` |
| ``preprocess_reference`` | text, optional | the same of the picture, where it is another text than ``preprocess`` |
| ``model`` | text, optional | which networks and weights made it |

Features are floating point and need not be normalised. T is the number of frames of the clip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pixelgate.clips._given import group_metrics, length_problems, naming, reference, single_npz, texts
from pixelgate.clips.evaluator import ClipFiles, Evaluation
from pixelgate.errors import InputError, Problem
from pixelgate.io.any_image import read_any
from pixelgate.io.features import FeatureFile, Field
from pixelgate.io.video import probe_video
from pixelgate.metrics._validate import check_params
from pixelgate.metrics.consistency import reference_consistency
from pixelgate.metrics.registry import Measurement, Runtime

NETWORKS = ("clip", "dino")

FIELDS: Mapping[str, Field] = {
    "clip_frames": Field("real", ("T", "D")),
    "clip_reference": Field("real", ("D",)),
    "dino_frames": Field("real", ("T", "D")),
    "dino_reference": Field("real", ("D",)),
    "preprocess": Field("text"),
    "preprocess_reference": Field("text"),
    "model": Field("text"),
}


class SubjectEvaluator:
    """Subject consistency from given features. See `pixelgate.clips.evaluator.Evaluator`."""

    group = "subject"

    def needs(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        """Always ``subject``."""
        return ("subject",)

    def evaluate(
        self, files: ClipFiles, params: Mapping[str, Any], metrics: Sequence[str], runtime: Runtime
    ) -> Evaluation:
        """Mean cosine of the frames to the subject's picture, for every network asked for.

        The picture (column ``reference``) is only checked to be readable; its features come from the prediction. Where
        ``files.predictions`` has ``subject_reference``, the reference's features are taken from that file.

        Raises:
            InputError: as `pixelgate.io.features.FeatureFile`; ``prediction-length`` (not the clip's frames),
                ``feature-shape`` (dimensions differ), ``preprocess-differs``; the picture's and the clip's own rules.
            ProtocolError: a parameter or metric that the group does not have.
        """
        check_params("subject", params, {})
        networks = group_metrics("subject", metrics, NETWORKS)
        path = single_npz(files, "subject")
        picture = read_any(reference(files, "subject picture"))[1]
        with ExitStack() as stack:
            frames = stack.enter_context(FeatureFile(path, FIELDS))
            other = _reference_file(files, frames, stack)
            preprocess, notes = _preprocess(frames, other)
            record = probe_video(files.generated, label=files.sample)
            if problems := length_problems(frames, [f"{network}_frames" for network in networks], record):
                raise InputError(problems)
            values, per_frame = _similarities(frames, other, networks)
            details = {
                "frames": record.frames,
                "reference": {
                    "file": Path(picture.file).name,
                    "sha256": picture.sha256,
                    "width": picture.width,
                    "height": picture.height,
                },
                "reference_features": other.path.name,
                **texts(frames, ["model"]),
                **preprocess,
                **per_frame,
            }
        notes += [(note.rule, f"subject picture: {note.message}") for note in picture.notes]
        return Evaluation(values, record, details, notes=tuple(notes))

    def itself(self, files: ClipFiles) -> ClipFiles | None:
        """None: a picture is no clip."""
        return None


def _reference_file(files: ClipFiles, frames: FeatureFile, stack: ExitStack) -> FeatureFile:
    shuffled = files.predictions.get("subject_reference")
    return stack.enter_context(FeatureFile(shuffled[0], FIELDS)) if shuffled else frames


def _preprocess(frames: FeatureFile, other: FeatureFile) -> tuple[dict[str, str], list[tuple[str, str]]]:
    ours = frames.text("preprocess")
    theirs = other.text("preprocess_reference") or other.text("preprocess")
    if ours and theirs and ours != theirs:
        found = f"the frames were prepared by {ours!r}, the reference by {theirs!r}."
        mend = "Compute both features with the same preprocessing."
        raise InputError(Problem(str(other.path), "preprocess-differs", found, mend))
    if not ours or not theirs:
        side = (
            "frames or reference were"
            if not ours and not theirs
            else f"the {'reference was' if ours else 'frames were'}"
        )
        message = f"the prediction does not say how {side} prepared; numbers of two preparations do not compare."
        return ({"preprocess": ours} if ours else {}), [("preprocess-unknown", message)]
    return {"preprocess": ours}, []


def _similarities(
    frames: FeatureFile, other: FeatureFile, networks: Sequence[str]
) -> tuple[dict[str, Measurement], dict[str, Any]]:
    values, per_frame = {}, {}
    for network in networks:
        with naming(frames.path):
            found = reference_consistency(frames.array(f"{network}_frames"), other.array(f"{network}_reference"))
        values[f"subject_{network}"] = found.measurement
        per_frame[f"{network}_per_frame"] = list(found.per_frame)
    return values, per_frame


EVALUATOR = SubjectEvaluator()
