"""Inputs that trip depth scores: nothing is left out unseen, nothing that cannot be computed becomes 0 or NaN."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from depth_tools import BACKENDS, problems, use_backend

from pixelgate.errors import ProtocolError
from pixelgate.metrics.depth import LINEAR, METRICS, NAMES, RELATIVE, align, depth_scores, stream_scores
from pixelgate.metrics.registry import Runtime, get_metric
from pixelgate.protocols import load_protocol


@pytest.fixture(params=BACKENDS)
def backend(request, monkeypatch):
    use_backend(monkeypatch, request.param)
    return request.param


def clip(seed=0, shape=(3, 6, 8)):
    rng = np.random.default_rng(seed)
    condition = rng.integers(20, 256, shape).astype(float)
    return condition / 40 + rng.normal(0, 0.3, shape), condition


def reasons(scores):
    return {name: measurement.reason for name, measurement in scores.values.items() if measurement.value is None}


def test_not_finite_pixels_are_left_out_and_counted(backend):
    prediction, condition = clip()
    holes = prediction.copy()
    holes[0, 0, :3] = [math.nan, math.inf, -math.inf]
    gaps = condition.copy()
    gaps[1, 2, 2] = math.nan
    scores = depth_scores(holes, gaps)
    assert (scores.prediction_not_finite, scores.condition_not_finite) == (3, 1)
    assert scores.valid_per_frame == (45, 47, 48)
    usable = holes[np.isfinite(holes)]
    mask = ~np.isfinite(holes) | ~np.isfinite(gaps)
    assert scores.values == depth_scores(prediction, condition, mask).values
    assert (scores.alignment.low, scores.alignment.high) == (usable.min(), usable.max())


def test_nothing_valid(backend):
    prediction, condition = clip()
    for scores in (
        depth_scores(prediction, 0 * condition),
        depth_scores(np.full_like(prediction, math.nan), condition),
        depth_scores(prediction, condition, np.ones(condition.shape, dtype=bool)),
    ):
        assert reasons(scores) == dict.fromkeys(NAMES, "no valid pixels")
        assert scores.alignment.flags == ("no_valid_pixels",)
        assert (scores.alignment.scale, scores.alignment.n, scores.frames_scored) == (None, 0, 0)
        assert scores.clipped_pixels is None
        assert scores.per_frame == {}


def test_an_empty_frame_is_left_out_of_means_and_seen(backend):
    prediction, condition = clip()
    condition[1] = 0
    scores = depth_scores(prediction, condition)
    assert scores.values == depth_scores(prediction[[0, 2]], condition[[0, 2]]).values
    assert scores.per_frame["mae"][1] is None
    assert scores.valid_per_frame[1] == 0


def test_a_single_valid_pixel_is_fitted_exactly_and_flagged(backend):
    prediction, condition = clip()
    mask = np.ones(condition.shape, dtype=bool)
    mask[2, 3, 4] = False
    scores = depth_scores(prediction, condition, mask)
    assert scores.alignment.flags == ("rank_deficient",)
    assert scores.values["mae"].value == pytest.approx(0, abs=1e-12)


def test_the_fit_is_one_for_the_clip_not_one_per_frame(backend):
    prediction, condition = clip()
    prediction[1] = 3 * prediction[1] - 7
    scores = depth_scores(prediction, condition)
    alone = [depth_scores(prediction[t], condition[t]).values["mae"].value for t in range(3)]
    assert scores.values["mae"].value > 2 * np.mean(alone)


def test_rmse_is_the_mean_over_frames_and_log10_pools_pixels(backend):
    """Frames of unlike numbers of pixels tell the two apart."""
    prediction, condition = clip()
    mask = np.zeros(condition.shape, dtype=bool)
    mask[0, :, 1:] = True
    scores = depth_scores(prediction, condition, mask)
    fit = scores.alignment
    aligned = fit.scale * prediction + fit.shift
    frames = [np.sqrt(np.mean((aligned[t] - condition[t])[~mask[t]] ** 2)) for t in range(3)]
    assert scores.values["rmse_linear"].value == pytest.approx(np.mean(frames), rel=1e-12)
    logs = abs(np.log10(aligned) - np.log10(condition))
    assert scores.values["log10"].value == pytest.approx(logs[~mask].mean(), rel=1e-9)
    assert scores.values["log10"].value != pytest.approx(np.mean([logs[t][~mask[t]].mean() for t in range(3)]), 1e-4)


def test_accuracies_are_strict_and_the_floor_clips_for_ratios_alone(backend):
    """The alignment of these is exact: the errors sum to 0 at either level of the prediction."""
    prediction = np.array([[[100.0, 100.0, 200.0, 200.0]]])
    condition = np.array([[[80.0, 120.0, 180.0, 220.0]]])
    scores = depth_scores(prediction, condition)
    assert (scores.alignment.scale, scores.alignment.shift) == (1.0, 0.0)
    assert scores.values["delta1_acc"].value == 0.75  # 100 against 80 is 1.25 exactly, and not below it
    floored = depth_scores(prediction, condition, log_floor=130.0)
    assert floored.clipped_pixels == 2
    assert floored.values["abs_relative_difference"].value == pytest.approx(
        (50 / 80 + 10 / 120 + 20 / 180 + 20 / 220) / 4
    )
    assert floored.values["mae"].value == 20.0


def test_a_condition_at_or_below_zero_has_no_ratios(backend):
    prediction, condition = clip()
    condition[0, 0, :2] = [-1, 0]
    scores = depth_scores(prediction, condition, invalid=None)
    assert set(reasons(scores)) == set(RELATIVE)
    assert "2 valid pixels" in reasons(scores)["log10"]
    assert all(scores.values[name].value > 0 for name in LINEAR)
    other = depth_scores(prediction, condition, invalid=-1)
    assert "1 valid pixels" in reasons(other)["log10"]


@pytest.mark.parametrize("constant", [0.0, -3.0, 1e-3, 2.0**600])
def test_a_constant_of_any_size_becomes_the_mean(backend, constant):
    _, condition = clip()
    scores = depth_scores(np.full(condition.shape, constant), condition)
    assert scores.alignment.rank == 1
    wanted = np.mean([np.abs(frame - condition.mean()).mean() for frame in condition])
    assert scores.values["mae"].value == pytest.approx(wanted)


@pytest.mark.parametrize("size", [1e160, 1e307])
def test_values_beyond_float64_sums_are_missing_not_infinite(backend, size):
    prediction, condition = clip()
    scores = depth_scores(prediction * size, condition)
    assert set(reasons(scores)) == set(NAMES)
    assert scores.alignment.flags == ("overflow",)


def test_a_condition_too_near_zero_is_missing_not_infinite(backend):
    prediction, condition = clip()
    condition[0, 0, 0] = 1e-310
    lost = reasons(depth_scores(prediction, condition))
    assert {"i_rmse", "squared_relative_difference"} <= set(lost)
    assert all("near 0" in reason for reason in lost.values())


def test_integers_do_not_wrap_around(backend):
    condition = np.array([[[200, 100, 50, 25]]], dtype=np.uint8)
    prediction = 255 - condition
    scores = depth_scores(prediction, condition)
    assert scores.values["mae"].value == pytest.approx(0, abs=1e-9)
    assert scores.alignment.scale == pytest.approx(-1)
    assert scores.alignment.flags == ("scale_not_positive",)


@pytest.mark.parametrize("dtype", ["float16", ">f4", "int16", "uint16", "<f8"])
def test_any_real_type_and_any_strides(backend, dtype):
    prediction, condition = clip()
    prediction = np.round(prediction * 8).astype(dtype)
    wanted = depth_scores(prediction.astype(float), condition)
    assert depth_scores(prediction, condition) == wanted
    strided = np.asfortranarray(np.repeat(prediction, 2, axis=2))[:, :, ::2]
    assert depth_scores(strided, condition) == wanted


def test_arrays_that_are_no_clips():
    prediction, condition = clip()
    with problems("depth-shape"):
        depth_scores(prediction[:2], condition)
    with problems("depth-shape"):
        depth_scores(prediction, condition[:, :5])
    with problems("depth-shape"):
        depth_scores(prediction, condition, np.zeros((3, 6, 7), dtype=bool))
    with problems("depth-mask"):
        depth_scores(prediction, condition, np.zeros(prediction.shape))
    with problems("depth-mask"):
        align(prediction, condition, np.ones(prediction.shape))
    for wrong in (prediction.astype(complex), prediction.astype(object), prediction > 0, prediction[..., None]):
        with problems("depth-array"):
            depth_scores(wrong, condition)
    with problems("depth-empty"):
        depth_scores(prediction[:0], condition[:0])
    with pytest.raises(ValueError, match="depth-empty"):
        stream_scores(lambda: iter(()))


def test_unknown_metrics_and_floors():
    with pytest.raises(ProtocolError, match="'psnr'"):
        depth_scores(*clip(), metrics=["mae", "psnr"])
    for floor in (0, -1.0, math.nan, math.inf):
        with pytest.raises(ProtocolError, match="log_floor"):
            depth_scores(*clip(), log_floor=floor)


def test_only_what_is_asked_for():
    scores = depth_scores(*clip(), metrics=["mae"])
    assert set(scores.values) == {"mae"} == set(scores.per_frame)
    assert scores.clipped_pixels is None


def test_the_register_has_all_that_the_protocol_names():
    entries = {entry.metric: entry for entry in load_protocol("flexbench").metrics if entry.metric.startswith("depth_")}
    assert set(entries) == {metric.id for metric in METRICS.values()} == {f"depth_{name}" for name in NAMES}
    for name, metric in METRICS.items():
        assert get_metric(metric.id) is metric
        assert metric.direction == ("higher" if name.startswith("delta") else "lower")
        assert (metric.group, metric.takes, metric.low) == ("depth", "clip", 0)
        assert (metric.high, metric.perfect) == ((1, 1) if name.startswith("delta") else (math.inf, 0))
        assert "backend" in metric.bind({}, Runtime()).fingerprint


def test_importing_the_module_loads_nothing_heavy():
    code = (
        "import sys, pixelgate.metrics.depth, pixelgate.metrics.person_mask;"
        "print([m for m in ('numba', 'torch', 'skimage', 'scipy.ndimage', 'av') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
