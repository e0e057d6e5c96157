"""The camera evaluator on decoded clips: what it refuses, records and notes."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from pose_camera_tools import path, rigid, scaled, write_clip

from pixelgate.clips import camera
from pixelgate.clips.evaluator import ClipFiles, evaluator
from pixelgate.errors import InputError, ProtocolError
from pixelgate.metrics.camera import ERRORS, METRICS, NAMES
from pixelgate.metrics.registry import Runtime
from pixelgate.records import VideoRecord

pytest.importorskip("av")

EVERY = [f"camera_{name}" for name in NAMES]
REFERENCE = path(9)
GENERATED = rigid((1, 0, 0), 0.4, (3, 2, 1)) @ scaled(path(9, turn=0.5, seed=1), 7)


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return write_clip(tmp_path_factory.mktemp("clips") / "one.mp4", 9, 64, 48)


@pytest.fixture
def files(clip, tmp_path):
    (tmp_path / "data").mkdir()
    np.savez(tmp_path / "data" / "one.npz", cam_c2w=REFERENCE)
    np.savez(tmp_path / "one.npz", cam_c2w=GENERATED)
    return ClipFiles(
        sample="one",
        generated=clip,
        references={"reference": tmp_path / "data" / "one.npz"},
        predictions={"camera": (tmp_path / "one.npz",)},
    )


def evaluate(files, metrics=EVERY, **params):
    found = evaluator("camera").evaluate(files, params, metrics, Runtime())
    json.dumps(found.details, allow_nan=False)
    assert list(found.values) == list(metrics)
    return found


def refused(rule, files):
    with pytest.raises(InputError) as caught:
        evaluate(files)
    (problem,) = caught.value.problems
    assert problem.rule == rule, problem
    return problem


def with_poses(files, poses):
    np.savez(files.predictions["camera"][0], cam_c2w=poses)
    return files


def test_sound(files):
    found = evaluate(files)
    assert all(found.values[name].value is not None for name in EVERY)
    assert (found.deviations, found.notes) == ((), ())
    assert found.record.frames == 9
    details = found.details
    assert (details["degenerate"], details["degenerate_reasons"], details["n_scored"]) == (False, [], 9)
    for error in ERRORS:
        assert sum(details["per_frame"][error]) == pytest.approx(found.values[f"camera_{error}"].value)
        assert details["per_frame"][error][0] == pytest.approx(0, abs=1e-12)
    assert evaluator("camera").needs({}) == ("camera",)


def test_nan_is_named(files):
    """The planted fault: no number, and the side, file and frame are told. Without it the clip is sound."""
    broken = GENERATED.copy()
    broken[4, 1, 3] = np.nan
    found = evaluate(with_poses(files, broken))
    for name in EVERY:
        assert found.values[name].value is None
        assert "non-finite pose (generated, frame 4" in found.values[name].reason
    text = dict(found.notes)["degenerate"]
    assert "gen:non_finite" in text
    assert found.details["degenerate"]
    assert found.details["n_scored"] == 0
    assert evaluate(with_poses(files, GENERATED)).values["camera_RotErr"].value > 0


def test_a_broken_reference_is_told_from_a_broken_prediction(files):
    np.savez(files.references["reference"], cam_c2w=REFERENCE * (np.arange(9) != 6)[:, None, None])
    found = evaluate(files)
    assert "(reference, frame 6" in found.values["camera_CamMC"].reason
    assert "(ref:non_rigid)" in dict(found.notes)["degenerate"]


def test_a_still_camera_is_flagged_and_scored(files):
    found = evaluate(with_poses(files, np.tile(np.eye(4), (9, 1, 1))))
    assert "moves 0 at most" in dict(found.notes)["degenerate"]
    for error in ERRORS:
        assert found.values[f"camera_{error}_rel"].value == pytest.approx(1)


def test_length_of_the_prediction(files):
    problem = refused("prediction-length", with_poses(files, GENERATED[:8]))
    assert "8 frames" in problem.found
    assert "has 9" in problem.found
    refused("prediction-length", with_poses(files, path(10)))


def test_resampled_to_the_shorter(files):
    np.savez(files.references["reference"], cam_c2w=path(25))
    ((rule, text),) = evaluate(files).deviations
    assert rule == "resampled"
    assert "25 frames" in text
    assert "9" in text
    assert evaluate(files).details["ref_frames"] == 25


@pytest.mark.parametrize(("held", "sound"), [(1000, True), (999, False), (1001, False), (1200, True)])
def test_long_clips_are_read_in_part_by_megasam(held, sound, files, monkeypatch):
    record = VideoRecord("long.mp4", "", "", 64, 48, frames=1200)
    monkeypatch.setattr(camera, "probe_video", lambda _: record)
    with_poses(files, path(held))
    if not sound:
        refused("prediction-length", files)
        return
    found = evaluate(files)
    assert ("trajectory-capped" in dict(found.notes)) == (held == 1000)
    if held == 1000:
        assert "1000 of the clip's 1200" in dict(found.notes)["trajectory-capped"]


def test_a_thousand_poses_of_a_shorter_clip_are_no_cap(files):
    refused("prediction-length", with_poses(files, path(1000)))


def test_the_reference_is_no_prediction(files, tmp_path):
    reference = files.references["reference"]
    refused("prediction-is-reference", replace(files, predictions={"camera": (reference,)}))
    link = tmp_path / "link.npz"
    link.symlink_to(reference)
    refused("prediction-is-reference", replace(files, predictions={"camera": (link,)}))
    assert "equals-reference" in dict(evaluate(with_poses(files, REFERENCE)).notes)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_itself(files, dtype):
    reference = files.references["reference"]
    np.savez(reference, cam_c2w=path(21, turn=2.5).astype(dtype))
    own = evaluator("camera").itself(ClipFiles("one", reference, files.references))
    found = evaluate(own)
    for name, metric in METRICS.items():
        if metric.direction == "lower":
            assert abs(found.values[f"camera_{name}"].value - metric.perfect) <= metric.equal_slack
    assert (found.deviations, found.notes) == ((), ())
    assert evaluator("camera").itself(ClipFiles("one", reference, {})) is None


def test_missing_files(files, tmp_path, clip):
    refused("missing-reference", replace(files, references={}))
    refused("missing-prediction", replace(files, predictions={}))
    refused("not-a-file", replace(files, predictions={"camera": (tmp_path / "none.npz",)}))
    problem = refused("trajectory-format", replace(files, references={"reference": clip}))
    assert "MegaSaM" in problem.mend


def test_parameters_and_metrics(files):
    for name, values in {
        "scale_eps": [0, -1, float("nan"), True],
        "resample": ["linear", True],
        "chance_floor": [0],
        "tiny_translation": ["1"],
        "determinant_slack": [None],
        "other": [1],
    }.items():
        for value in values:
            with pytest.raises(ProtocolError):
                evaluate(files, **{name: value})
    with pytest.raises(ProtocolError, match="camera_ATE"):
        evaluate(files, metrics=["camera_ATE"])
    assert evaluate(files, tiny_translation=100.0).details["degenerate_reasons"] == [
        "ref:tiny_translation",
        "gen:tiny_translation",
    ]
    assert evaluate(files, chance_floor=100.0).values["camera_RotErr_rel"].value is None
    eps = evaluate(files, scale_eps=1.0).values["camera_TransErr"].value
    assert eps != evaluate(files).values["camera_TransErr"].value
    assert evaluate(files, determinant_slack=1e-17).details["degenerate_reasons"]
