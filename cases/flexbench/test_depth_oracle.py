"""Every value of the depth reference cases, through the functions on arrays and through the evaluator."""

from __future__ import annotations

import json

import numpy as np
import pytest
from depth_tools import BACKENDS, CASES, ORACLE, VALUES, clip_files, tolerance, use_backend

from pixelgate.clips.depth import EVALUATOR
from pixelgate.io.depth import open_depth
from pixelgate.io.fill import fill_geometry, fill_resize
from pixelgate.metrics.depth import NAMES, align, depth_scores
from pixelgate.metrics.registry import Runtime


def arrays(case):
    """Prediction, condition at its size and exclusion mask of a case."""
    prediction = np.load(ORACLE / case["prediction_file"])["depth"]
    clip = open_depth(ORACLE / case["condition_file"])
    geometry = fill_geometry(clip.size, prediction.shape[1:])
    frames = list(clip.frames())[: len(prediction)]
    condition = np.stack([frame if geometry.unchanged else fill_resize(frame, geometry) for frame in frames])
    mask = np.load(ORACLE / case["exclusion_file"])["mask"] if "exclusion_file" in case else None
    return prediction, condition, mask


def assert_metrics(name, case, values):
    """Values: name -> Measurement."""
    assert set(values) == set(NAMES)
    if case["metrics"] is None:
        assert {(m.value, m.reason) for m in values.values()} == {(None, case["missing_reason"])}
        return
    assert set(case["metrics"]) == set(NAMES)
    wrong = {
        metric: (values[metric].value, wanted)
        for metric, wanted in case["metrics"].items()
        if not abs(values[metric].value - wanted) <= tolerance(name, metric, wanted)
    }
    assert not wrong


def assert_alignment(name, case, found):
    for key in ("scale", "shift", "scale_for_minmax_0_255", "shift_for_minmax_0_255"):
        wanted = case.get(key)
        if wanted is None:
            assert found[key] is None
        else:
            assert found[key] == pytest.approx(wanted, abs=1e-3 if "other_resolution" in name else 1e-9)
    assert found["rank"] == case["rank"]
    assert list(found["flags"]) == case["flags"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_arrays(name, backend, monkeypatch):
    use_backend(monkeypatch, backend)
    case = VALUES["cases"][name]
    prediction, condition, mask = arrays(case)
    scores = depth_scores(prediction, condition, mask)
    assert_metrics(name, case, scores.values)
    fit = scores.alignment
    assert_alignment(
        name, case, {key: getattr(fit, key) for key in (*vars(fit), "scale_for_minmax_0_255", "shift_for_minmax_0_255")}
    )
    assert fit.n == case["valid_pixels"]
    assert list(scores.valid_per_frame) == case["valid_per_frame"]
    assert scores.frames_scored == case["frames_scored"]
    assert scores.clipped_pixels == case.get("clipped_pixels")
    valid = (condition != 0) if mask is None else (condition != 0) & ~mask
    alone = align(prediction, condition, valid)
    assert (alone.scale, alone.shift, alone.rank, alone.flags, alone.n) == (
        fit.scale,
        fit.shift,
        fit.rank,
        fit.flags,
        fit.n,
    )


@pytest.mark.parametrize("name", CASES)
def test_evaluator(name, tmp_path):
    case = VALUES["cases"][name]
    masks = ORACLE / case["exclusion_file"] if "exclusion_file" in case else None
    # The reference's masks are used as they are.
    params = {} if masks is None else {"person_mask": True, "person_mask_dilation": 0, "fill_holes": False}
    files = clip_files(
        tmp_path,
        ORACLE / case["prediction_file"],
        ORACLE / case["condition_file"],
        masks,
        shape=case["prediction_shape"],
    )
    found = EVALUATOR.evaluate(files, params, [f"depth_{metric}" for metric in NAMES], Runtime())
    assert_metrics(name, case, {metric.removeprefix("depth_"): value for metric, value in found.values.items()})
    details = json.loads(json.dumps(found.details, allow_nan=False))
    assert_alignment(name, case, details)
    for key in ("frames", "frames_scored", "valid_pixels", "valid_per_frame"):
        assert details[key] == case[key]
    assert details["clipped_pixels"] == case.get("clipped_pixels")
    assert [flag.replace("_", "-") for flag in case["flags"]] == [
        rule for rule, _ in found.notes if rule.replace("-", "_") in case["flags"]
    ]
    wanted = {"lengths_differ": "truncated", "nan_pixel": "prediction-not-finite"}
    assert [rule for rule, _ in found.deviations] == [rule for part, rule in wanted.items() if part in name]


def test_zeros_that_encoding_moved_are_told_by_the_values():
    """A condition of zeros is not zero any more after H.264: exactly 0 is what counts, as the cases' counts say."""
    case = VALUES["cases"]["02_mp4_normal"]
    zeros = sum(int((frame == 0).sum()) for frame in open_depth(ORACLE / case["condition_file"]).frames())
    assert zeros == case["condition_exact_zero_pixels"] < case["condition_source_zero_pixels"]
