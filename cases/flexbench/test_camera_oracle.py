"""Cameras: the stored cases, through the pure functions and through the evaluator on decoded clips."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pose_camera_tools import CONFORMANCE, write_clip

from pixelgate.clips.evaluator import ClipFiles, evaluator
from pixelgate.io.trajectory import read_trajectory
from pixelgate.metrics.camera import NAMES, score_camera
from pixelgate.metrics.registry import Runtime

FOLDER = CONFORMANCE / "camera"
VALUES = json.loads((FOLDER / "values.json").read_text())
CASES = {**VALUES["cases"], **json.loads((FOLDER / "more.json").read_text())["cases"]}
TOLERANCE = VALUES["tolerance"]
PARAMS = {
    "scale_eps": 1e-9,
    "resample": "nearest",
    "chance_floor": 1e-5,
    "tiny_translation": 1e-6,
    "determinant_slack": 1e-3,
}
every_case = pytest.mark.parametrize("name", CASES)


def poses(case, side):
    return read_trajectory(FOLDER / case[f"{side}_file"]).poses


def slack(name, metric):
    if "static_reference" in name:
        return TOLERANCE["static_reference"]
    return TOLERANCE["float32_RotErr" if "float32" in name and "RotErr" in metric else "default"]


def check(name, values):
    case = CASES[name]
    for metric in NAMES:
        wanted = case["metrics"] and case["metrics"][metric]
        if wanted is None:
            assert values[metric].value is None, metric
            assert values[metric].reason
        else:
            assert values[metric].value == pytest.approx(wanted, rel=0, abs=slack(name, metric)), metric


@every_case
def test_pure_functions(name):
    case = CASES[name]
    score = score_camera(poses(case, "ref"), poses(case, "gen"))
    check(name, score.values)
    assert list(score.flags) == case["degenerate_reasons"]
    assert bool(score.flags) == case["degenerate"]
    if case["metrics"] is None:
        assert case["missing_reason"] in score.values["RotErr"].reason
    else:
        assert score.n_scored == case["metrics"]["n_scored"]


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    pytest.importorskip("av")
    folder = tmp_path_factory.mktemp("clips")
    return lambda frames: write_clip(folder / f"{frames}.mp4", frames, 64, 48)


@every_case
def test_evaluator(name, clips):
    case = CASES[name]
    files = ClipFiles(
        sample=name,
        generated=clips(case["gen_frames"]),
        references={"reference": FOLDER / case["ref_file"]},
        predictions={"camera": (FOLDER / case["gen_file"],)},
    )
    found = evaluator("camera").evaluate(files, PARAMS, [f"camera_{metric}" for metric in NAMES], Runtime())
    check(name, {metric: found.values[f"camera_{metric}"] for metric in NAMES})
    assert found.record.frames == case["gen_frames"]
    assert found.details["degenerate_reasons"] == case["degenerate_reasons"]
    rules = [rule for rule, _ in found.notes if rule == "degenerate"]
    assert rules == (["degenerate"] if case["degenerate"] else [])
    resampled = [text for rule, text in found.deviations if rule == "resampled"]
    if case["ref_frames"] == case["gen_frames"]:
        assert found.deviations == ()
    else:
        assert len(resampled) == len(found.deviations) == 1
        assert str(case["ref_frames"]) in resampled[0]
        assert str(case["gen_frames"]) in resampled[0]
    json.dumps(found.details, allow_nan=False)


@pytest.mark.parametrize("name", ["02_pure_rotation", "03_pure_translation", "05_lengths_differ"])
def test_storage_type_changes_nothing_beyond_the_tolerance(name):
    """Paths rounded to float32, as MegaSaM stores them."""
    case = CASES[name]
    exact = score_camera(poses(case, "ref"), poses(case, "gen"))
    stored = [poses(case, side).astype(np.float32) for side in ("ref", "gen")]
    rounded = score_camera(*stored)
    assert rounded.flags == exact.flags
    for metric in NAMES:
        first, second = exact.values[metric].value, rounded.values[metric].value
        assert (first is None) == (second is None), metric
        assert first is None or second == pytest.approx(first, rel=0, abs=TOLERANCE["float32_RotErr"]), metric


def test_equal_paths_in_float32_have_no_error():
    """The arc cosine of the trace would give 1e-4 to 1e-2 rad here, made of rounding alone."""
    case = CASES["04_general_float32"]
    score = score_camera(poses(case, "ref"), poses(case, "ref"))
    assert score.values["RotErr"].value == 0
    assert score.values["TransErr"].value == 0
    assert score.values["CamMC"].value == 0


def test_static_reference_has_no_ratio():
    case = CASES["06_static_reference"]
    score = score_camera(poses(case, "ref"), poses(case, "gen"))
    assert score.values["TransErr_chance"].value > 0
    assert "does not move" in score.values["TransErr_rel"].reason
