from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from given_tools import arrays, values
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pixelgate.metrics.consistency import FeatureError, checked_cosine, reference_consistency, text_video_cosine
from pixelgate.metrics.registry import get_metric

CASES = values("clipfeat")["cases"]
TOLERANCE = values("clipfeat")["tolerance"]["default"]
SEEDS = st.integers(0, 2**32 - 1)


def features(seed: int, *shape: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=shape)


def mean(frames: NDArray[Any], reference: NDArray[Any]) -> float:
    value = reference_consistency(frames, reference).measurement.value
    assert value is not None
    return value


@pytest.mark.parametrize("case", sorted(CASES))
def test_oracle(case: str) -> None:
    data, wanted = arrays(CASES[case]["file"]), CASES[case]
    found = reference_consistency(data["frames"], data["reference"])
    assert found.measurement.value == pytest.approx(wanted["reference_consistency"], abs=TOLERANCE)
    assert found.per_frame == pytest.approx(wanted["reference_cosine_per_frame"], abs=TOLERANCE)


@pytest.mark.parametrize("case", sorted(CASES))
def test_text_cosine_is_the_cosine_of_one_frame(case: str) -> None:
    data, wanted = arrays(CASES[case]["file"]), CASES[case]["reference_cosine_per_frame"]
    for frame, cosine in zip(data["frames"], wanted, strict=True):
        assert text_video_cosine(frame, data["reference"]).value == pytest.approx(cosine, abs=TOLERANCE)


@given(SEEDS, st.integers(1, 9), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_bounds_and_equal_features(seed: int, frames: int, dimensions: int) -> None:
    rows = features(seed, frames, dimensions)
    assert -1.0 <= mean(rows, features(seed + 1, dimensions)) <= 1.0
    assert mean(np.repeat(rows[:1], frames, axis=0), rows[0]) == pytest.approx(1.0, abs=1e-12)
    assert mean(-np.repeat(rows[:1], frames, axis=0), rows[0]) == pytest.approx(-1.0, abs=1e-12)


@given(SEEDS, st.floats(-250, 250), st.floats(-250, 250))
@settings(max_examples=60, deadline=None)
def test_scale_does_not_matter(seed: int, first: float, second: float) -> None:
    rows, vector = features(seed, 5, 16), features(seed + 1, 16)
    scales = 10.0 ** np.linspace(first, -first, 5)[:, np.newaxis]
    scaled = mean(rows * scales, vector * 10.0**second)
    assert scaled == pytest.approx(mean(rows, vector), abs=1e-12)
    flipped = mean(-rows, vector)
    assert flipped == pytest.approx(-mean(rows, vector), abs=1e-12)


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_rotation_of_all_features_and_order_of_frames_do_not_matter(seed: int) -> None:
    rows, vector = features(seed, 7, 12), features(seed + 1, 12)
    rotation = np.linalg.qr(features(seed + 2, 12, 12))[0]
    assert mean(rows @ rotation, vector @ rotation) == pytest.approx(mean(rows, vector), abs=1e-12)
    order = np.random.default_rng(seed).permutation(7)
    assert mean(rows[order], vector) == pytest.approx(mean(rows, vector), abs=1e-12)
    found = text_video_cosine(rows[0], vector).value
    assert found == text_video_cosine(vector, rows[0]).value


@given(SEEDS, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
@settings(max_examples=40, deadline=None)
def test_nearer_the_reference_is_never_worse(seed: int, first: float, second: float) -> None:
    rows, vector = features(seed, 4, 8), features(seed + 1, 8)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    goal = vector / np.linalg.norm(vector)
    near, far = max(first, second), min(first, second)
    assert mean(unit + near * (goal - unit), vector) >= mean(unit + far * (goal - unit), vector) - 1e-12


def test_opposite_frames_are_not_clamped() -> None:
    frames = np.array([[1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]])
    assert mean(frames, np.array([1.0, 0.0])) == pytest.approx(-1.0 / 3.0, abs=1e-15)


def test_narrow_floats_are_computed_in_float64() -> None:
    rows = np.full((3, 512), 200.0, dtype=np.float16)
    assert mean(rows, rows[0]) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_has_no_cosine(bad: float) -> None:
    rows, vector = features(1, 4, 6), features(2, 6)
    rows[2, 3] = bad
    found = reference_consistency(rows, vector)
    assert found.measurement.value is None
    assert found.measurement.reason == "the features of frame 2 hold NaN or infinity"
    vector[0] = bad
    assert (
        reference_consistency(rows[:2], vector).measurement.reason
        == "the features of the reference hold NaN or infinity"
    )
    assert text_video_cosine(vector, features(3, 6)).reason == "the features of the clip hold NaN or infinity"
    assert text_video_cosine(features(3, 6), vector).reason == "the features of the text hold NaN or infinity"


def test_zero_vectors_have_no_cosine() -> None:
    rows = features(1, 5, 6)
    rows[[1, 4]] = 0.0
    found = reference_consistency(rows, features(2, 6))
    assert found.measurement.value is None
    assert found.measurement.reason == "the features of frame 1, and of 1 more, are all zero"
    assert text_video_cosine(np.zeros(6), features(2, 6)).reason == "the features of the clip are all zero"


@pytest.mark.parametrize(
    ("frames", "reference"),
    [
        (np.ones(4), np.ones(4)),
        (np.ones((0, 4)), np.ones(4)),
        (np.ones((2, 4)), np.ones(5)),
        (np.ones((2, 4)), np.ones((1, 4))),
        (np.ones((2, 4), dtype=np.int64), np.ones(4)),
        (np.ones((2, 4), dtype=np.complex128), np.ones(4)),
    ],
)
def test_shapes_and_types(frames: NDArray[Any], reference: NDArray[Any]) -> None:
    with pytest.raises(FeatureError):
        reference_consistency(frames, reference)


@pytest.mark.parametrize("value", [323.0, -26.0, 1.001, math.nan, math.inf])
def test_no_cosine(value: float) -> None:
    assert checked_cosine(value).value is None


@pytest.mark.parametrize(("value", "kept"), [(-0.4, -0.4), (1.0 + 1e-6, 1.0), (-1.0 - 1e-6, -1.0), (0.0, 0.0)])
def test_cosine_of_another_program(value: float, kept: float) -> None:
    assert checked_cosine(value).value == kept


@pytest.mark.parametrize("metric", ["subject_clip", "subject_dino", "text_consistency"])
def test_definitions(metric: str) -> None:
    known = get_metric(metric)
    assert (known.direction, known.low, known.high, known.perfect, known.takes) == ("higher", -1.0, 1.0, 1.0, "clip")
    assert known.group == metric.partition("_")[0]
