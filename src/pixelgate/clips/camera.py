"""The group ``camera``: how far a clip's camera path is from its reference's.

The column ``reference`` is the reference's trajectory, the prediction of kind ``camera`` the generated clip's, both as
MegaSaM writes them; see `pixelgate.io.trajectory`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pixelgate.clips._given import group_metrics, prediction, reference
from pixelgate.clips._not_reference import refuse_reference
from pixelgate.clips.evaluator import ClipFiles, Evaluation
from pixelgate.errors import InputError, Problem
from pixelgate.io.files import sha256_file
from pixelgate.io.trajectory import Trajectory, read_trajectory
from pixelgate.io.video import probe_video
from pixelgate.metrics._validate import check_params, fixed, positive
from pixelgate.metrics.camera import NAMES, CameraScore, score_camera
from pixelgate.metrics.registry import Runtime
from pixelgate.records import VideoRecord

DEFAULTS: Mapping[str, Any] = {
    "scale_eps": 1e-9,
    "resample": "nearest",
    "chance_floor": 1e-5,
    "tiny_translation": 1e-6,
    "determinant_slack": 1e-3,
}

MEGASAM_FRAMES = 1000
"""MegaSaM's tracker reads no more frames of a clip than these."""


class CameraEvaluator:
    """Camera fidelity from given trajectories. See `pixelgate.clips.evaluator.Evaluator`."""

    group = "camera"

    def needs(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        """Always ``camera``."""
        return ("camera",)

    def evaluate(
        self, files: ClipFiles, params: Mapping[str, Any], metrics: Sequence[str], runtime: Runtime
    ) -> Evaluation:
        """Errors of rotation, translation and both, and what a still camera would get.

        Raises:
            InputError: as `read_trajectory`; ``missing-reference``, ``missing-prediction``; ``prediction-length``: the
                trajectory is not of as many frames as the clip, nor of the 1000 that MegaSaM reads of a longer one; the
                clip's own rules.
            ProtocolError: a parameter or metric that the group does not have.
        """
        chosen = check_params("camera", params, DEFAULTS)
        fixed("camera", chosen, "resample", "nearest")
        limits = {key: positive("camera", chosen, key) for key in DEFAULTS if key != "resample"}
        names = group_metrics("camera", metrics, NAMES)
        wanted = read_trajectory(reference(files, "camera trajectory"))
        found, record, notes = _generated(files, wanted)
        score = score_camera(wanted.poses, found.poses, **limits)
        values = {metric: score.values[name] for metric, name in zip(metrics, names, strict=True)}
        notes = [*notes, *_degenerate(score), *_equal(wanted, found)]
        deviations = tuple(_deviations(score, wanted, found))
        return Evaluation(values, record, _details(score, wanted, found), deviations, tuple(notes))

    def itself(self, files: ClipFiles) -> ClipFiles | None:
        """The reference's own trajectory in the place of the prediction."""
        own = files.references.get("reference")
        return None if own is None else replace(files, generated=own, predictions={"camera": (own,)})


def _generated(files: ClipFiles, wanted: Trajectory) -> tuple[Trajectory, VideoRecord, list[tuple[str, str]]]:
    path, own = prediction(files, "camera")[0], Path(wanted.file)
    if files.generated == own:
        # The reference against itself: there is no clip, and the trajectory stands for one.
        return wanted, VideoRecord(str(own), sha256_file(own), "", 0, 0, frames=len(wanted.poses)), []
    refuse_reference(path, own)
    found, record = read_trajectory(path), probe_video(files.generated)
    held = len(found.poses)
    if held == record.frames:
        return found, record, []
    if held == MEGASAM_FRAMES < record.frames:
        text = f"the trajectory covers the first {held} of the clip's {record.frames} frames, all that MegaSaM reads"
        return found, record, [("trajectory-capped", text)]
    problem = Problem(
        str(path),
        "prediction-length",
        f"has poses of {held} frames; the clip {files.generated} has {record.frames}.",
        "Run MegaSaM on this very clip, on all of its frames.",
    )
    raise InputError(problem)


def _deviations(score: CameraScore, wanted: Trajectory, found: Trajectory) -> list[tuple[str, str]]:
    lengths = len(wanted.poses), len(found.poses)
    if lengths[0] == lengths[1]:
        return []
    text = (
        f"the reference has {lengths[0]} frames and the generated clip {lengths[1]}; {min(lengths)} frames spread over "
        "each were scored"
    )
    return [("resampled", text)]


def _degenerate(score: CameraScore) -> list[tuple[str, str]]:
    if not score.flags:
        return []
    # Without paths: a cached note may be another folder's with the same files.
    return [("degenerate", f"{'; '.join(score.remarks)} ({', '.join(score.flags)})")]


def _equal(wanted: Trajectory, found: Trajectory) -> list[tuple[str, str]]:
    if wanted is found or not np.array_equal(wanted.poses, found.poses):
        return []
    return [("equals-reference", "the prediction holds exactly the poses of the reference")]


def _details(score: CameraScore, wanted: Trajectory, found: Trajectory) -> dict[str, Any]:
    return {
        "degenerate": bool(score.flags),
        "degenerate_reasons": list(score.flags),
        "n_scored": score.n_scored,
        "ref_frames": len(wanted.poses),
        "gen_frames": len(found.poses),
        "ref_dtype": wanted.dtype,
        "gen_dtype": found.dtype,
        "per_frame": {error: list(part) for error, part in score.per_frame.items()},
    }


EVALUATOR = CameraEvaluator()
