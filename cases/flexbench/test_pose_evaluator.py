"""The pose evaluator on decoded clips: what it refuses, records and notes."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from pose_camera_tools import people, write_clip

from pixelgate.clips.evaluator import ClipFiles, evaluator
from pixelgate.errors import InputError, ProtocolError
from pixelgate.metrics.pose import METRICS
from pixelgate.metrics.registry import Runtime

pytest.importorskip("av")

CONDITION = people(6, boxes=((100, 150, 120, 300), (350, 180, 110, 280)))  # in a frame of 640 x 480
GENERATED = CONDITION * (608 / 640, 352 / 480, 1) + (6, 3, 0)  # in one of 608 x 352
EVERY = [f"pose_{name}" for name in METRICS]
PARAMS = {"keypoints": 18, "confidence": 0.3, "thresholds": [0.05, 0.10], "allow_pickle": False}


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    return {
        "generated": write_clip(folder / "generated.mp4", 6, 608, 352),
        "short": write_clip(folder / "short.mp4", 5, 608, 352),
        "size": write_clip(folder / "size.mp4", 6, 640, 480),
        "fast": write_clip(folder / "fast.mp4", 6, 640, 480, rate=12),
        "longer": write_clip(folder / "longer.mp4", 9, 640, 480),
    }


@pytest.fixture
def files(clips, tmp_path):
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "one_pose.npy", CONDITION)
    np.save(tmp_path / "one.npy", GENERATED)
    return ClipFiles(
        sample="one",
        generated=clips["generated"],
        references={"reference": tmp_path / "data" / "one_pose.npy", "size": clips["size"]},
        predictions={"pose": (tmp_path / "one.npy",)},
    )


def evaluate(files, metrics=EVERY, **params):
    found = evaluator("pose").evaluate(files, {**PARAMS, **params}, metrics, Runtime())
    json.dumps(found.details, allow_nan=False)
    assert list(found.values) == list(metrics)
    return found


def refused(rule, files, **params):
    with pytest.raises(InputError) as caught:
        evaluate(files, **params)
    (problem,) = caught.value.problems
    assert problem.rule == rule, problem
    return problem


def with_prediction(files, content, *scores):
    (path,) = files.predictions["pose"]
    np.save(path, content, allow_pickle=True)
    for given in scores:
        np.save(path.with_name("one_scores.npy"), given)
    beside = (path.with_name("one_scores.npy"),) if scores else ()
    return replace(files, predictions={"pose": (path, *beside)})


def test_sound(files):
    found = evaluate(files)
    assert found.values["pose_akd"].value == pytest.approx(np.hypot(6 / 608, 3 / 352))
    assert [found.values[f"pose_{name}"].value for name in METRICS][1:] == [1, 1, 1, 1]
    assert found.deviations == ()
    assert [rule for rule, _ in found.notes] == ["aspect-differs"]
    assert (found.record.width, found.record.height, found.record.frames) == (608, 352, 6)
    assert found.details["condition"]["size"] == [640, 480]
    assert found.details["generated"]["units"] == "pixels"
    assert found.details["akd_per_frame"] == pytest.approx([found.values["pose_akd"].value] * 6)
    assert evaluator("pose").needs(PARAMS) == ("pose",)


def test_fractions_and_pixels_are_one(files):
    pixels = evaluate(files)
    np.save(files.references["reference"], CONDITION / (640, 480, 1))
    fractions = evaluate(with_prediction(files, GENERATED / (608, 352, 1)))
    assert fractions.values["pose_akd"].value == pytest.approx(pixels.values["pose_akd"].value, rel=1e-12)
    assert fractions.details["generated"]["units"] == "normalised"


def test_normalised_twice_is_named(files):
    """The planted fault, on either side; without it the clip is sound."""
    twice = GENERATED / (608**2, 352**2, 1)
    problem = refused("keypoints-scale", with_prediction(files, twice))
    assert "normalised twice" in problem.found
    assert "one.npy" in problem.file
    assert evaluate(with_prediction(files, GENERATED)).values["pose_pck@0.05"].value == 1
    np.save(files.references["reference"], CONDITION / (640**2, 480**2, 1))
    assert "one_pose.npy" in refused("keypoints-scale", files).file


def test_length_of_the_prediction(files, clips):
    problem = refused("prediction-length", with_prediction(files, GENERATED[:5]))
    assert "5 frames" in problem.found
    assert "has 6" in problem.found
    dropped = replace(with_prediction(files, GENERATED), generated=clips["short"])
    assert "5" in refused("prediction-length", dropped).found


def test_truncated_to_the_shorter_clip(files, clips):
    found = evaluate(replace(with_prediction(files, GENERATED[:5]), generated=clips["short"]))
    ((rule, text),) = found.deviations
    assert rule == "truncated"
    assert "6 frames" in text
    assert "clip 5" in text
    assert found.details["frames_compared"] == 5


def test_other_rates_of_frames(files, clips):
    found = evaluate(replace(files, references={**files.references, "size": clips["fast"]}))
    ((rule, text),) = found.deviations
    assert rule == "frame-rate"
    assert "8 frames per second" in text
    assert "12" in text


def test_the_conditions_clip_has_another_length(files, clips):
    found = evaluate(replace(files, references={**files.references, "size": clips["longer"]}))
    assert "condition-length" in dict(found.notes)
    assert "9 frames" in dict(found.notes)["condition-length"]


def test_no_size_of_the_condition(files):
    bare = replace(files, references={"reference": files.references["reference"]})
    found = evaluate(bare)
    assert "608 x 352" in dict(found.notes)["size-assumed"]
    assert found.details["condition"]["size"] == [608, 352]
    assert "outside its frame of 608 x 352" in dict(found.notes)["keypoints-outside"]
    np.save(files.references["reference"], CONDITION / (640, 480, 1))
    found = evaluate(bare)
    assert found.notes == ()
    assert found.values["pose_akd"].value == pytest.approx(np.hypot(6 / 608, 3 / 352))


def test_low_coverage_and_nobody(files):
    few = GENERATED.copy()
    few[:, 1:, :, 2] = 0
    few[:4, 0, :, 2] = 0
    found = evaluate(with_prediction(files, few))
    assert found.values["pose_person_coverage"].value == pytest.approx(2 / 12)
    assert "17%" in dict(found.notes)["low-coverage"]
    found = evaluate(with_prediction(files, GENERATED * (1, 1, 0)))
    assert found.values["pose_akd"].value is None
    assert found.values["pose_akd"].reason == "no keypoint scored"
    assert found.values["pose_person_coverage"].value == 0
    assert "12 people" in dict(found.notes)["low-coverage"]
    assert "units-unclear" in dict(found.notes)
    np.save(files.references["reference"], CONDITION * (1, 1, 0))
    found = evaluate(with_prediction(files, GENERATED))
    assert found.values["pose_person_coverage"].value is None
    assert found.values["pose_person_coverage"].reason == "the condition has no person"


def test_half_covered_is_not_low(files):
    half = GENERATED.copy()
    half[:, 1:, :, 2] = 0
    assert "low-coverage" not in dict(evaluate(with_prediction(files, half)).notes)


def test_confidences_apart_on_both_sides(files):
    wanted = evaluate(files).values["pose_akd"].value
    reference = files.references["reference"]
    np.save(reference, CONDITION[..., :2])
    refused("keypoints-confidence", files)
    np.save(reference.with_name("one_scores.npy"), CONDITION[..., 2])
    apart = with_prediction(files, GENERATED[..., :2], GENERATED[..., 2])
    assert evaluate(apart).values["pose_akd"].value == wanted
    np.save(reference.with_name("one_pose_scores.npy"), CONDITION[..., 2] * 0)  # the exact stem goes first
    assert evaluate(apart).values["pose_akd"].value is None
    named = {**files.references, "scores": reference.with_name("one_scores.npy")}
    assert evaluate(replace(apart, references=named)).values["pose_akd"].value == wanted


def test_scores_of_another_sample_are_not_taken(files):
    """Beside ``one_pose.npy``, whose confidences are in it, ``one_scores.npy`` belongs to a sample ``one``."""
    np.save(files.references["reference"].with_name("one_scores.npy"), np.zeros((2, 3)))
    assert evaluate(files).values["pose_akd"].value is not None


def test_pickles(files):
    frames = np.empty(6, dtype=object)
    frames[:] = [{"keypoints": frame[..., :2], "scores": frame[..., 2]} for frame in GENERATED]
    pickled = with_prediction(files, frames)
    assert "--bench-allow-pickle" in refused("keypoints-pickle", pickled).mend
    assert evaluate(pickled, allow_pickle=True).values == evaluate(with_prediction(files, GENERATED)).values


def test_the_reference_is_no_prediction(files, tmp_path):
    reference = files.references["reference"]
    refused("prediction-is-reference", replace(files, predictions={"pose": (reference,)}))
    link = tmp_path / "link.npy"
    link.symlink_to(reference)
    refused("prediction-is-reference", replace(files, predictions={"pose": (link,)}))
    same = evaluate(with_prediction(files, CONDITION / (640, 480, 1)))
    assert "equals-reference" in dict(same.notes) or same.values["pose_akd"].value > 0
    np.save(reference, CONDITION / (640, 480, 1))
    assert "equals-reference" in dict(evaluate(with_prediction(files, CONDITION / (640, 480, 1))).notes)


@pytest.mark.parametrize("size", [True, False])
@pytest.mark.parametrize("scores", [True, False])
def test_itself(files, size, scores):
    """The reference against itself is perfect, whatever its size and length, and without a prediction."""
    reference = files.references["reference"]
    if scores:
        np.save(reference, CONDITION[..., :2])
        np.save(reference.with_name("one_scores.npy"), CONDITION[..., 2])
    references = files.references if size else {"reference": reference}
    own = evaluator("pose").itself(ClipFiles("one", reference, references))
    found = evaluate(own)
    for name, metric in METRICS.items():
        assert abs(found.values[f"pose_{name}"].value - metric.perfect) <= metric.equal_slack
    assert found.deviations == ()
    assert found.notes == ()
    assert evaluator("pose").itself(ClipFiles("one", reference, {})) is None


def test_missing_files(files, tmp_path):
    refused("missing-reference", replace(files, references={}))
    refused("missing-prediction", replace(files, predictions={}))
    refused("not-a-file", replace(files, predictions={"pose": (tmp_path / "none.npy",)}))
    refused("not-a-file", replace(files, references={"reference": tmp_path / "none.npy"}))


def test_parameters_and_metrics(files):
    for name, values in {
        "keypoints": [0, 1.5, 19, True, "18"],
        "confidence": [-0.1, float("nan"), True, "0.3"],
        "thresholds": [[0], [True], 0.05, ["0.05"]],
        "allow_pickle": [1, "yes"],
        "other": [1],
    }.items():
        for value in values:
            with pytest.raises(ProtocolError):
                evaluate(files, **{name: value})
    with pytest.raises(ProtocolError, match="not among the thresholds"):
        evaluate(files, thresholds=[0.2])
    assert evaluate(files, metrics=["pose_akd"], thresholds=[0.2]).values["pose_akd"].value is not None
    with pytest.raises(ProtocolError, match="pose_mpjpe"):
        evaluate(files, metrics=["pose_mpjpe"])
    fewer = evaluate(files, confidence=0.95)
    assert fewer.values["pose_akd"].value is None
