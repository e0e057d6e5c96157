from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from given_tools import CLIPFEAT, arrays, moving, values
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pixelgate.metrics.consistency import FeatureError
from pixelgate.metrics.registry import get_metric
from pixelgate.metrics.vbench import (
    DIMENSIONS,
    aesthetic_per_frame,
    aesthetic_quality,
    dynamic_degree,
    flow_magnitude,
    frame_consistency,
    frame_error,
    imaging_quality,
    interpolated_frames,
    middle_frames,
    motion_smoothness,
    overall_consistency,
    pair_weighted,
    published,
    sampled_frames,
    sampling_step,
)

WANTED = values("clipfeat")
CASES = WANTED["cases"]
TOLERANCE = WANTED["tolerance"]["default"]
MORE = json.loads((CLIPFEAT / "more.json").read_text(encoding="utf-8"))
FLOW_TOLERANCE = WANTED["tolerance"]["flow"]
SEEDS = st.integers(0, 2**32 - 1)


def features(seed: int, *shape: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=shape)


def value(frames: NDArray[Any]) -> float:
    found = frame_consistency(frames).measurement.value
    assert found is not None
    return found


# Frame-to-frame consistency


@pytest.mark.parametrize("case", sorted(CASES))
def test_consistency_oracle(case: str) -> None:
    wanted = CASES[case]
    found = frame_consistency(arrays(wanted["file"])["frames"])
    assert found.pairs == wanted["pairs"]
    if wanted["vbench_consistency"] is None:
        assert found.measurement.value is None
        assert found.measurement.reason == wanted["missing_reason"]
    else:
        assert found.measurement.value == pytest.approx(wanted["vbench_consistency"], abs=TOLERANCE)
        assert found.pair_terms == pytest.approx(wanted["pair_terms"], abs=TOLERANCE)


def test_aggregate_oracle() -> None:
    clips = [frame_consistency(arrays(CASES[case]["file"])["frames"]) for case in sorted(CASES)]
    assert pair_weighted(clips).value == pytest.approx(WANTED["aggregate"]["pair_weighted"], abs=TOLERANCE)
    scores = [clip.measurement.value for clip in clips if clip.measurement.value is not None]
    assert np.mean(scores) == pytest.approx(WANTED["aggregate"]["mean_of_videos"], abs=TOLERANCE)
    assert pair_weighted([frame_consistency(np.ones((1, 3)))]).value is None


@given(SEEDS, st.integers(2, 9), st.floats(-200, 200))
@settings(max_examples=60, deadline=None)
def test_consistency_bounds_scale_rotation(seed: int, frames: int, power: float) -> None:
    rows = features(seed, frames, 10)
    score = value(rows)
    assert 0.0 <= score <= 1.0
    rotation = np.linalg.qr(features(seed + 1, 10, 10))[0]
    assert value(rows @ rotation) == pytest.approx(score, abs=1e-12)
    assert value(rows * 10.0 ** np.linspace(power, -power, frames)[:, np.newaxis]) == pytest.approx(score, abs=1e-12)
    assert value(-rows) == pytest.approx(score, abs=1e-12)
    assert value(np.repeat(rows[:1], frames, axis=0)) == pytest.approx(1.0, abs=1e-12)


def test_order_of_frames_matters() -> None:
    still, other = [1.0, 0.0], [0.0, 1.0]
    assert value(np.array([still, still, other, other])) == pytest.approx((1.0 + 0.0 + 0.5) / 3)
    assert value(np.array([still, other, still, other])) == pytest.approx((0.0 + 0.5 + 0.0) / 3)


def test_consistency_of_unusable_features() -> None:
    rows = features(0, 4, 5)
    rows[3] = 0.0
    assert frame_consistency(rows).measurement.reason == "the features of frame 3 are all zero"
    rows[3, 2] = math.nan
    assert frame_consistency(rows).measurement.reason == "the features of frame 3 hold NaN or infinity"


# Aesthetic and imaging quality


def test_aesthetic_oracle() -> None:
    data, wanted = arrays("aesthetic.npz"), WANTED["aesthetic"]
    per_frame = aesthetic_per_frame(data["features"], data["weight"], float(data["bias"]))
    assert per_frame == pytest.approx(wanted["per_frame"], abs=TOLERANCE)
    assert aesthetic_quality(per_frame).value == pytest.approx(wanted["score"], abs=TOLERANCE)


@given(SEEDS, st.floats(-200, 200), st.floats(-5, 5))
@settings(max_examples=40, deadline=None)
def test_aesthetic_properties(seed: int, power: float, bias: float) -> None:
    rows, head = features(seed, 6, 12), features(seed + 1, 12)
    outputs = aesthetic_per_frame(rows, head, bias)
    assert aesthetic_per_frame(rows * 10.0**power, head, bias) == pytest.approx(outputs, abs=1e-10)
    assert np.abs(outputs - bias).max() <= np.linalg.norm(head) * (1 + 1e-12)
    rotation = np.linalg.qr(features(seed + 2, 12, 12))[0]
    assert aesthetic_per_frame(rows @ rotation, head @ rotation, bias) == pytest.approx(outputs, abs=1e-10)
    order = np.random.default_rng(seed).permutation(6)
    assert aesthetic_quality(outputs[order]).value == pytest.approx(aesthetic_quality(outputs).value, abs=1e-12)


def test_aesthetic_of_a_zero_vector() -> None:
    outputs = aesthetic_per_frame(np.array([[1.0, 2.0], [0.0, 0.0]]), np.ones(2), 1.0)
    assert math.isfinite(outputs[0])
    assert aesthetic_quality(outputs).reason == "the aesthetic score of frame 1 is not a finite number"


def test_imaging_quality() -> None:
    assert imaging_quality(np.array([40.0, 60.0, 80.0], dtype=np.float32)).value == 60.0
    assert imaging_quality(np.array([40.0, math.inf])).reason == "the MUSIQ score of frame 1 is not a finite number"
    with pytest.raises(FeatureError):
        imaging_quality(np.array([]))


# Motion smoothness


@pytest.mark.parametrize("case", sorted(WANTED["motion_smoothness"]))
def test_smoothness_oracle(case: str) -> None:
    wanted = WANTED["motion_smoothness"][case]
    data = arrays(wanted["file"])
    found = motion_smoothness(data["frames"], data["interpolated"])
    assert len(found.per_frame_mae) == wanted["compared"] == interpolated_frames(len(data["frames"]))
    if wanted["score"] is None:
        assert (found.measurement.value, found.measurement.reason) == (None, wanted["missing_reason"])
    else:
        assert found.measurement.value == pytest.approx(wanted["score"], abs=TOLERANCE)
        assert found.per_frame_mae == pytest.approx(wanted["per_frame_mae"], abs=TOLERANCE)


@given(SEEDS, st.integers(3, 8), st.integers(0, 255))
@settings(max_examples=30, deadline=None)
def test_smoothness_properties(seed: int, count: int, offset: int) -> None:
    frames = moving(count, 5, 6, seed)
    perfect = frames[1::2][: interpolated_frames(count)]
    assert motion_smoothness(frames, perfect).measurement.value == 1.0
    assert motion_smoothness(255 - frames, 255 - perfect).measurement.value == 1.0
    grey = np.zeros_like(frames)
    grey[1::2] = offset
    score = motion_smoothness(grey, np.zeros_like(perfect)).measurement.value
    assert score == pytest.approx((255 - offset) / 255, abs=1e-12)  # falls with the error, 1 to 0


def test_smoothness_does_not_wrap_around() -> None:
    black, white = np.zeros((2, 2, 3), dtype=np.uint8), np.full((2, 2, 3), 255, dtype=np.uint8)
    assert frame_error(black, white) == frame_error(white, black) == 255.0


def test_smoothness_needs_fitting_frames() -> None:
    frames = moving(5)
    for bad in (moving(1), moving(3), moving(2, 24, 31), moving(2).astype(np.float32)):
        with pytest.raises(FeatureError):
            motion_smoothness(frames, bad)


# Dynamic degree


@pytest.mark.parametrize("case", sorted(WANTED["dynamic_degree"]))
def test_dynamic_oracle(case: str) -> None:
    wanted = WANTED["dynamic_degree"][case]
    flow = arrays(wanted["file"])["flow"]
    magnitudes = np.array([flow_magnitude(pair) for pair in flow], dtype=np.float64)
    assert magnitudes == pytest.approx(wanted["pair_magnitudes"], abs=FLOW_TOLERANCE)
    found = dynamic_degree(magnitudes, wanted["sampled_frames"], flow.shape[1:3])
    assert found.threshold == wanted["threshold"]
    assert found.needed == wanted["needed_pairs"]
    assert found.above == wanted["pairs_above"]
    assert found.dynamic is wanted["dynamic"]


def test_steps_oracle() -> None:
    assert {fps: sampling_step(float(fps)) for fps in WANTED["sampling_step"]} == WANTED["sampling_step"]


@pytest.mark.parametrize(
    ("frames", "fps", "sampled"), [(49, 24.0, 17), (49, 25.0, 17), (49, 8.0, 49), (48, 24.0, 16), (1, 24.0, 1)]
)
def test_sampled_frames_are_those_of_a_slice(frames: int, fps: float, sampled: int) -> None:
    assert sampled_frames(frames, fps) == len(range(frames)[:: sampling_step(fps)]) == sampled


@given(SEEDS, st.floats(0.0, 50.0))
@settings(max_examples=40, deadline=None)
def test_magnitude_properties(seed: int, scale: float) -> None:
    flow = features(seed, 12, 15, 2)
    length = flow_magnitude(flow)
    assert flow_magnitude(flow * scale) == pytest.approx(length * scale, rel=1e-12)
    angle = float(seed % 360)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    assert flow_magnitude(flow @ turn) == pytest.approx(length, rel=1e-12)
    assert flow_magnitude(flow[::-1].transpose(1, 0, 2)) == pytest.approx(length, rel=1e-12)
    lengths = np.hypot(flow[..., 0], flow[..., 1])
    assert lengths.mean() <= length <= lengths.max()


def test_magnitude_takes_the_longest_twentieth() -> None:
    flow = np.zeros((10, 10, 2))
    flow[0, :5, 0] = [5.0, 4.0, 3.0, 2.0, 1.0]
    flow[1, 0, 1] = 0.5
    assert flow_magnitude(flow) == 3.0
    assert math.isnan(flow_magnitude(np.zeros((3, 6, 2))))  # 18 vectors: 5 % are none


@given(st.lists(st.floats(0.0, 3.0), min_size=1, max_size=30), st.floats(1.0, 3.0))
@settings(max_examples=60, deadline=None)
def test_more_motion_never_makes_a_clip_still(lengths: list[float], factor: float) -> None:
    magnitudes, sampled = np.array(lengths), len(lengths) + 1
    before = dynamic_degree(magnitudes, sampled, (64, 64))
    after = dynamic_degree(magnitudes * factor, sampled, (64, 64))
    assert after.above >= before.above
    assert after.dynamic or not before.dynamic
    shuffled = dynamic_degree(magnitudes[::-1], sampled, (64, 64))
    assert shuffled == before


def test_a_length_at_the_threshold_is_still() -> None:
    assert dynamic_degree(np.full(15, 0.75), 16, (32, 40)).above == 0
    assert dynamic_degree(np.full(15, np.nextafter(0.75, 1)), 16, (40, 32)).dynamic


@pytest.mark.parametrize("bad", [[1.0], [1.0, math.nan], [1.0, -1.0]])
def test_unusable_lengths(bad: list[float]) -> None:
    with pytest.raises(FeatureError):
        dynamic_degree(np.array(bad), 3, (32, 32))


# The frames that ViCLIP sees


@pytest.mark.parametrize(
    ("frames", "indices"),
    [
        # measured on VBench's own function, commit 45e79ec
        (49, (2, 8, 14, 20, 26, 32, 38, 45)),
        (97, (5, 17, 29, 41, 53, 65, 77, 90)),
        (5, (0, 1, 2, 3, 4, 4, 4, 4)),
        (8, (0, 1, 2, 3, 4, 5, 6, 7)),
        (1, (0,) * 8),
    ],
)
def test_middle_frames(frames: int, indices: tuple[int, ...]) -> None:
    assert middle_frames(frames, 8) == indices


@given(st.integers(1, 2000), st.integers(1, 16))
def test_middle_frames_stay_in_the_clip(frames: int, wanted: int) -> None:
    indices = middle_frames(frames, wanted)
    assert len(indices) == wanted
    assert sorted(indices) == list(indices)
    assert indices[0] >= 0
    assert indices[-1] < frames
    assert len(set(indices)) == min(frames, wanted)


# Cases that the oracle lacks: values of reference_more.py, which shares no code with the package


def vector(seed: int) -> NDArray[np.float64]:
    return np.array([float((seed * (index + 3) * (index + 7)) % 41 - 20) for index in range(17)])


def test_more_sampling() -> None:
    assert {frames: list(middle_frames(int(frames))) for frames in MORE["middle_frames"]} == MORE["middle_frames"]
    for frames, fps, wanted in MORE["sampled_frames"]:
        assert sampled_frames(frames, fps) == wanted, (frames, fps)
    for sampled, wanted in MORE["needed_pairs"].items():
        assert dynamic_degree(np.zeros(int(sampled) - 1), int(sampled), (64, 64)).needed == wanted


@pytest.mark.parametrize("size", sorted(MORE["flow_magnitude"]))
def test_more_flow(size: str) -> None:
    height, width = map(int, size.split("x"))
    y, x = np.mgrid[:height, :width]
    flow = np.stack([(7 * y + 3 * x) % 29 / 8, (5 * y + 11 * x) % 23 / 8 - 1], axis=-1)
    for kind in (np.float64, np.float32):  # eighths are exact in both
        assert flow_magnitude(flow.astype(kind)) == pytest.approx(MORE["flow_magnitude"][size], rel=1e-12)


def test_more_cosines() -> None:
    assert any(wanted < 0 for _, _, wanted in MORE["text_cosine"])
    for first, second, wanted in MORE["text_cosine"]:
        assert overall_consistency(vector(first), vector(second)).value == pytest.approx(wanted, abs=1e-12)
    rows = np.stack([vector(seed) for seed in MORE["consistency_seeds"]])
    assert value(rows) == pytest.approx(MORE["consistency"], abs=1e-12)


# The table's scale


@pytest.mark.parametrize("column", [column for column in DIMENSIONS if column not in ("IQ", "OvC")])
def test_published_scale(column: str) -> None:
    assert published(column, 0.5).value == 50.0
    assert published(column, 1.0 + 1e-6).value == 100.0
    for bad in (13.79, -0.1, math.nan, math.inf):
        assert published(column, bad).value is None


def test_published_scales_of_the_others() -> None:
    assert published("IQ", 61.5).value == 61.5
    assert published("IQ", 101.0).value is None
    assert published("OvC", -0.25).value == -25.0
    assert published("OvC", -26.0).value is None


@pytest.mark.parametrize("column", sorted(DIMENSIONS))
def test_vbench_definitions(column: str) -> None:
    known = get_metric(f"vbench_{column}")
    low = -100.0 if column == "OvC" else 0.0
    assert (known.direction, known.low, known.high, known.group) == ("higher", low, 100.0, "vbench")
