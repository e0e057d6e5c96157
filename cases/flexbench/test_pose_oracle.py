"""Poses: the stored cases, through the pure functions and through the evaluator on decoded clips."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pose_camera_tools import CONFORMANCE, write_clip

from pixelgate.clips.evaluator import ClipFiles, evaluator
from pixelgate.clips.predictions import PredictionFolder
from pixelgate.io.keypoints import read_keypoints, to_unit
from pixelgate.metrics.pose import METRICS, score_pose
from pixelgate.metrics.registry import Runtime

FOLDER = CONFORMANCE / "pose"
VALUES = json.loads((FOLDER / "values.json").read_text())
CROWD = json.loads((FOLDER / "crowd.json").read_text())
CASES = {**VALUES["cases"], **CROWD["cases"]}
TOLERANCE = VALUES["tolerance"]["default"]
LAYOUTS = {"03": "frames", "04": "frames-bodies", "08": "frames-dict", "09": "array-scores"}
every_case = pytest.mark.parametrize("name", CASES)


def side(case, name):
    scores = case.get(f"{name}_scores")
    found = read_keypoints(
        FOLDER / case[f"{name}_file"], scores and FOLDER / scores, allow_pickle=case["needs_pickle"][name]
    )
    height, width = case[f"{name}_size_hw"]
    return found, to_unit(found, width, height)


def check(case, values, counts, per_frame):
    wanted = {"akd": "AKD", "pck@0.05": "PCK@0.05", "pck@0.10": "PCK@0.10"}
    for name, title in wanted.items():
        assert values[name] == (
            None if case["metrics"][title] is None else pytest.approx(case["metrics"][title], rel=0, abs=TOLERANCE)
        ), name
    assert {key: counts[key] for key in case["coverage"]} == pytest.approx(case["coverage"], rel=0, abs=1e-12)
    assert [value is None for value in per_frame] == [value is None for value in case["akd_per_frame"]]
    pairs = zip(per_frame, case["akd_per_frame"], strict=True)
    assert all(a is None or abs(a - b) <= TOLERANCE for a, b in pairs)


@every_case
def test_pure_functions(name):
    case = CASES[name]
    (condition, wanted), (_, generated) = side(case, "condition"), side(case, "generated")
    score = score_pose(wanted, generated)
    values = {"akd": score.akd, "pck@0.05": score.pck[0.05], "pck@0.10": score.pck[0.10]}
    counts = {key: getattr(score.counts, key) for key in case["coverage"]}
    check(case, values, counts, score.akd_per_frame)
    assert score.reason == case.get("missing_reason")
    assert condition.layout == LAYOUTS.get(name[:2], "array")
    assert condition.units == ("normalised" if name[:2] == "04" else "pixels")


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    pytest.importorskip("av")
    folder, made = tmp_path_factory.mktemp("clips"), {}

    def clip(size_hw, frames):
        key = (*size_hw, frames)
        if key not in made:
            made[key] = write_clip(folder / f"{len(made)}.mp4", frames, size_hw[1], size_hw[0])
        return made[key]

    return clip


@every_case
def test_evaluator(name, clips, tmp_path):
    case = CASES[name]
    folder = tmp_path / "predictions"
    (folder / "pose").mkdir(parents=True)
    (folder / "pose" / "one_pose.npy").write_bytes((FOLDER / case["generated_file"]).read_bytes())
    reference = tmp_path / "one_pose.npy"
    reference.write_bytes((FOLDER / case["condition_file"]).read_bytes())
    if "generated_scores" in case:
        (folder / "pose" / "one_scores.npy").write_bytes((FOLDER / case["generated_scores"]).read_bytes())
        (tmp_path / "one_scores.npy").write_bytes((FOLDER / case["condition_scores"]).read_bytes())
    coverage = case["coverage"]
    generated = clips(case["generated_size_hw"], coverage["gen_frames"])
    files = ClipFiles(
        sample="one",
        generated=generated,
        references={"reference": reference, "size": clips(case["condition_size_hw"], coverage["ref_frames"])},
        predictions={"pose": PredictionFolder(folder).find("pose", "one", generated)},
    )
    params = {
        "keypoints": 18,
        "confidence": 0.3,
        "thresholds": [0.05, 0.10],
        "allow_pickle": any(case["needs_pickle"].values()),
    }
    found = evaluator("pose").evaluate(files, params, [f"pose_{metric}" for metric in METRICS], Runtime())
    values = {metric.removeprefix("pose_"): found.values[metric].value for metric in found.values}
    check(case, values, found.details, found.details["akd_per_frame"])
    assert values["person_coverage"] == pytest.approx(coverage["person_coverage"])
    assert values["keypoint_coverage"] == pytest.approx(coverage["keypoint_coverage"])
    json.dumps(found.details, allow_nan=False)
    assert (found.record.width, found.record.height) == tuple(reversed(case["generated_size_hw"]))
    rules = {rule for rule, _ in found.deviations}
    assert rules == ({"truncated"} if coverage["ref_frames"] != coverage["gen_frames"] else set())


def test_storage_type_changes_nothing_beyond_the_tolerance():
    """The float32 files against the same numbers stored as float64, and the float64 ones rounded to float32."""
    for name in ("01_array_TN134x3_two_people", "05_nan_and_minus_one"):
        case = CASES[name]
        scores = []
        for dtype in (np.float32, np.float64):
            sides = []
            for which in ("condition", "generated"):
                stored = np.load(FOLDER / case[f"{which}_file"]).astype(dtype)
                height, width = case[f"{which}_size_hw"]
                frames = [np.where(np.isfinite(frame), frame, 0.0) / (width, height, 1) for frame in stored]
                absent = [(frame == -1).any(axis=-1) for frame in stored]
                for frame, gone in zip(frames, absent, strict=True):
                    frame[gone] = 0
                sides.append(frames)
            scores.append(score_pose(*sides))
        assert scores[0].counts == scores[1].counts
        assert scores[0].akd == pytest.approx(scores[1].akd, rel=0, abs=1e-7)
        assert dict(scores[0].pck) == dict(scores[1].pck)
