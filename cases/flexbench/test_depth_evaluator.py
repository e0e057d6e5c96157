"""The depth evaluator: what it reads, what it refuses, and what it says about what it did."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from depth_tools import clip_files, grey_clip, problems, slow_scores, some_clip
from scipy import ndimage

from pixelgate.clips.depth import EVALUATOR
from pixelgate.clips.evaluator import ClipFiles, evaluator
from pixelgate.errors import InputError, ProtocolError
from pixelgate.io.fill import fill_coverage, fill_geometry, fill_resize
from pixelgate.metrics.depth import NAMES
from pixelgate.metrics.registry import Runtime
from pixelgate.protocols import load_protocol

METRICS = [f"depth_{name}" for name in NAMES]
SHAPE = (5, 32, 48)


def scene(seed=0, shape=SHAPE):
    """Prediction and condition."""
    rng = np.random.default_rng(seed)
    condition = ndimage.gaussian_filter(rng.normal(size=shape), (0, 3, 3))
    condition = np.interp(condition, (condition.min(), condition.max()), (1, 255)).round().astype(np.uint8)
    return (condition / 60 + rng.normal(0, 0.2, shape) + 2).astype(np.float32), condition


def files(folder, prediction, condition, masks=None, shape=None, **others):
    np.savez(folder / "prediction.npz", depth=prediction)
    np.savez(folder / "condition.npz", depth=condition)
    if masks is not None:
        np.savez(folder / "masks.npz", **{"masks" if np.ndim(masks) == 4 else "mask": masks})
    return clip_files(
        folder,
        folder / "prediction.npz",
        folder / "condition.npz",
        None if masks is None else folder / "masks.npz",
        shape=shape or np.shape(prediction),
        **others,
    )


def evaluate(given, metrics=METRICS, **params):
    found = EVALUATOR.evaluate(given, params, metrics, Runtime())
    json.dumps(found.details, allow_nan=False)
    assert set(found.values) == set(metrics)
    return found


def numbers(found):
    return {metric.removeprefix("depth_"): measurement.value for metric, measurement in found.values.items()}


def test_is_the_group_and_takes_the_protocols_parameters():
    assert evaluator("depth") is EVALUATOR
    assert EVALUATOR.group == "depth"
    params = {**load_protocol("flexbench").groups["depth"], "person_mask": True}
    assert EVALUATOR.needs(params) == ("depth", "person_masks")
    assert EVALUATOR.needs({**params, "person_mask": False}) == ("depth",)


def test_a_plain_clip(tmp_path):
    prediction, condition = scene()
    found = evaluate(files(tmp_path, prediction, condition))
    assert numbers(found) == pytest.approx(slow_scores(prediction, condition)["metrics"], rel=1e-9)
    assert found.deviations == found.notes == ()
    assert (found.record.frames, found.record.height, found.record.width) == SHAPE
    assert found.details["lengths"] == {"clip": 5, "prediction": 5, "condition": 5}
    assert len(found.details["per_frame"]["mae"]) == 5
    assert found.details["person_mask"] is None
    assert (
        evaluate(files(tmp_path, prediction, condition), ["depth_mae"]).values["depth_mae"] == found.values["depth_mae"]
    )


def test_a_condition_of_another_size_is_filled_and_cropped(tmp_path):
    prediction, _ = scene()
    _, condition = scene(shape=(5, 40, 50))
    geometry = fill_geometry((40, 50), SHAPE[1:])
    brought = np.stack([fill_resize(frame, geometry) for frame in condition])
    found = evaluate(files(tmp_path, prediction, condition))
    assert numbers(found) == pytest.approx(slow_scores(prediction, brought)["metrics"], rel=1e-9)
    assert found.details["sizes"] == {"clip": [32, 48], "prediction": [32, 48], "condition": [40, 50]}


def test_videos_as_condition_and_as_prediction(tmp_path):
    prediction, condition = scene()
    levels = np.interp(prediction, (prediction.min(), prediction.max()), (0, 255)).astype(np.uint8)
    given = ClipFiles(
        "s",
        some_clip(tmp_path / "g.mp4", *SHAPE),
        {"reference": grey_clip(tmp_path / "c.mp4", condition)},
        {"depth": (grey_clip(tmp_path / "p.mp4", levels),)},
    )
    found = evaluate(given)
    assert numbers(found) == pytest.approx(slow_scores(levels, condition)["metrics"], rel=1e-9)
    assert found.deviations == found.notes == ()


def test_truncation_to_a_shorter_condition(tmp_path):
    prediction, condition = scene()
    prediction[4] = 1e6  # past the condition's end: not scored, but part of the whole clip's range
    found = evaluate(files(tmp_path, prediction, condition[:3]))
    assert numbers(found) == pytest.approx(slow_scores(prediction[:3], condition[:3])["metrics"], rel=1e-9)
    [(rule, message)] = found.deviations
    assert rule == "truncated"
    assert "prediction 5" in message
    assert "condition 3" in message
    assert found.details["frames"] == 3
    scale = found.details["scale"] * (1e6 - prediction.min()) / 255
    assert found.details["scale_for_minmax_0_255"] == pytest.approx(scale)


def test_truncation_of_a_longer_condition(tmp_path):
    prediction, condition = scene()
    longer = np.concatenate([condition, condition[::-1]])
    found = evaluate(files(tmp_path, prediction, longer))
    assert numbers(found) == pytest.approx(slow_scores(prediction, condition)["metrics"], rel=1e-9)
    assert [rule for rule, _ in found.deviations] == ["truncated"]


def test_a_prediction_of_another_clip_is_refused(tmp_path):
    prediction, condition = scene()
    with problems("prediction-length") as found:
        evaluate(files(tmp_path, prediction[:4], condition, shape=SHAPE))
    assert "4 frames" in found[0].found
    assert "5" in found[0].found
    assert found[0].file == str(tmp_path / "prediction.npz")


def test_a_prediction_of_another_size_is_noted(tmp_path):
    prediction, condition = scene()
    found = evaluate(files(tmp_path, prediction, condition, shape=(5, 64, 96)))
    [(rule, message)] = found.notes
    assert rule == "prediction-size"
    assert "48 x 32" in message
    assert "96 x 64" in message


def test_a_frame_rate_that_differs(tmp_path):
    prediction, condition = scene()
    given = files(tmp_path, prediction, condition, fps=12)
    video = replace(given, references={"reference": grey_clip(tmp_path / "c.mp4", condition, fps=8)})
    assert evaluate(given).deviations == ()
    [(rule, message)] = evaluate(video).deviations
    assert rule == "frame-rate"
    assert "12 frames per second" in message
    same = replace(given, references={"reference": grey_clip(tmp_path / "d.mp4", condition, fps=12)})
    assert evaluate(same).deviations == ()


def persons(seed=3):
    """Two persons, one with a hole, none on the last frame."""
    masks = np.zeros((2, *SHAPE), dtype=bool)
    masks[0, :4, 4:20, 5:20] = True
    masks[0, :4, 9:12, 9:12] = False
    masks[1, :4, 18:30, 30:36] = True
    return masks


def test_persons_are_merged_filled_widened_and_left_out_of_fit_and_score(tmp_path):
    prediction, condition = scene()
    masks = persons()
    prediction[np.any(masks, axis=0)] = 50
    excluded = np.stack([ndimage.binary_fill_holes(frame) for frame in masks.any(axis=0)])
    excluded = np.stack([ndimage.distance_transform_edt(~frame) <= 1 if frame.any() else frame for frame in excluded])
    given = files(tmp_path, prediction, condition, masks)
    found = evaluate(given, person_mask=True)
    assert numbers(found) == pytest.approx(slow_scores(prediction, condition, excluded)["metrics"], rel=1e-9)
    assert found.details["excluded_fraction"] == excluded.mean()
    person = found.details["person_mask"]
    assert person["area_dilated"] == excluded.sum(axis=(1, 2)).tolist()
    assert person["area_filled"][0] - person["area_union"][0] == 9
    assert (person["radius"], person["persons"], person["frames_without_person"]) == (1, 2, 1)
    as_they_are = evaluate(given, person_mask=True, fill_holes=False, person_mask_dilation=0)
    assert numbers(as_they_are) == pytest.approx(
        slow_scores(prediction, condition, masks.any(axis=0))["metrics"], rel=1e-9
    )
    assert numbers(evaluate(given))["mae"] > 2 * numbers(found)["mae"]


def test_masks_of_another_size_are_brought_over_by_coverage(tmp_path):
    prediction, condition = scene()
    masks = np.zeros((1, 5, 16, 24), dtype=bool)
    masks[0, :, 3:7, 5] = True
    geometry = fill_geometry((16, 24), SHAPE[1:])
    excluded = np.stack([fill_coverage(frame, geometry) for frame in masks[0]])
    given = files(tmp_path, prediction, condition, masks)
    found = evaluate(given, person_mask=True, person_mask_dilation=0)
    assert found.details["person_mask"]["area_union"] == excluded.sum(axis=(1, 2)).tolist()
    assert numbers(found) == pytest.approx(slow_scores(prediction, condition, excluded)["metrics"], rel=1e-9)


def test_no_person_on_any_frame_is_noted(tmp_path):
    prediction, condition = scene()
    for masks in (np.zeros((0, *SHAPE), dtype=bool), np.zeros(SHAPE, dtype=bool), np.zeros((0, 5, 16, 24), dtype=bool)):
        found = evaluate(files(tmp_path, prediction, condition, masks), person_mask=True)
        assert [rule for rule, _ in found.notes] == ["no-person"]
        assert numbers(found) == pytest.approx(slow_scores(prediction, condition)["metrics"], rel=1e-9)


@pytest.mark.parametrize("length", [3, 8])
def test_masks_of_another_length(tmp_path, length):
    prediction, condition = scene()
    masks = np.resize(persons().any(axis=0), (length, *SHAPE[1:]))
    with pytest.raises(InputError, match=f"holds masks of {length} frames") as error:
        evaluate(files(tmp_path, prediction, condition, masks), person_mask=True)
    assert [problem.rule for problem in error.value.problems] == ["prediction-length"]


def test_everything_excluded(tmp_path):
    prediction, condition = scene()
    found = evaluate(files(tmp_path, prediction, condition, np.ones(SHAPE, dtype=bool)), person_mask=True)
    assert {(m.value, m.reason) for m in found.values.values()} == {(None, "no valid pixels")}
    assert "no-valid-pixels" in dict(found.notes)
    assert found.details["frames_scored"] == 0


def test_frames_without_a_valid_pixel_and_pixels_that_are_not_finite_are_noted(tmp_path):
    prediction, condition = scene()
    condition[2] = 0
    prediction[0, 0, 0] = np.nan
    found = evaluate(files(tmp_path, prediction, condition))
    assert "1 of 5" in dict(found.notes)["frames-without-valid-pixels"]
    assert dict(found.deviations)["prediction-not-finite"].startswith("1 pixels")
    assert found.details["frames_scored"] == 4
    assert found.details["per_frame"]["mae"][2] is None


def test_a_constant_and_a_reversed_prediction_are_noted(tmp_path):
    prediction, condition = scene()
    constant = evaluate(files(tmp_path, np.full_like(prediction, 3), condition))
    assert [rule for rule, _ in constant.notes] == ["rank-deficient"]
    assert numbers(constant)["rmse_linear"] == pytest.approx(
        np.mean([np.sqrt(np.mean((frame - condition.mean()) ** 2)) for frame in condition.astype(float)])
    )
    reversed_ = evaluate(files(tmp_path, 10 - prediction, condition))
    assert [rule for rule, _ in reversed_.notes] == ["scale-not-positive"]
    assert reversed_.details["flags"] == ["scale_not_positive"]


def test_another_invalid_value(tmp_path):
    prediction, condition = scene()
    condition[:, :4] = 255
    found = evaluate(files(tmp_path, prediction, condition), invalid=255)
    assert numbers(found) == pytest.approx(slow_scores(prediction, condition, condition == 255)["metrics"], rel=1e-9)


def test_all_problems_at_once(tmp_path):
    nothing = ClipFiles("s", tmp_path / "none.mp4", {}, {})
    with problems("missing-reference", "missing-prediction", "missing-prediction", "not-a-file"):
        evaluate(nothing, person_mask=True)
    prediction, condition = scene()
    given = files(tmp_path, prediction, condition)
    np.savez(tmp_path / "prediction.npz", depth=prediction[0])
    np.savez(tmp_path / "condition.npz", depth=condition.astype(str))
    with problems("depth-shape", "array-type"):
        evaluate(given)


def test_wrong_parameters_and_metrics(tmp_path):
    given = files(tmp_path, *scene())
    for params in (
        {"person_mask": "auto"},
        {"alignment": "scale"},
        {"fill_holes": 1},
        {"invalid": True},
        {"log_floor": "small"},
        {"log_floor": 0},
        {"dilation": 0.02},
    ):
        with pytest.raises(ProtocolError):
            evaluate(given, **params)
    for metric in ("mae", "depth_psnr", "pose_akd"):
        with pytest.raises(ProtocolError, match=metric):
            evaluate(given, [metric])


@pytest.mark.parametrize("kind", ["video", "array"])
def test_the_condition_against_itself_is_perfect(tmp_path, kind):
    _, condition = scene()
    condition[:, :3] = 0
    np.savez(tmp_path / "c.npz", depth=condition)
    reference = grey_clip(tmp_path / "c.mp4", condition) if kind == "video" else tmp_path / "c.npz"
    # As the engine asks: the reference in the place of the clip, and no predictions.
    itself = EVALUATOR.itself(ClipFiles("s", reference, {"reference": reference}))
    found = evaluate(itself)
    assert numbers(found) == pytest.approx({name: float(name.endswith("_acc")) for name in NAMES}, abs=1e-6)
    assert found.deviations == found.notes == ()
    assert found.record.frames == 5
    assert EVALUATOR.itself(ClipFiles("s", reference, {})) is None


def test_itself_keeps_the_masks(tmp_path):
    given = files(tmp_path, *scene(), persons())
    itself = EVALUATOR.itself(given)
    assert itself.predictions["person_masks"] == given.predictions["person_masks"]
    found = evaluate(itself, person_mask=True)
    assert numbers(found)["mae"] == pytest.approx(0, abs=1e-6)
    assert found.details["excluded_fraction"] > 0.2
