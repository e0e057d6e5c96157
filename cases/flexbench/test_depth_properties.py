"""What must hold for every depth clip: invariances, bounds, and agreement with the definitions in plain numpy."""

from __future__ import annotations

import numpy as np
import pytest
from depth_tools import BACKENDS, slow_scores, use_backend
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pixelgate.metrics.depth import NAMES, POOLED, align, depth_scores, stream_scores
from pixelgate.metrics.registry import get_metric

SHAPE = (3, 5, 7)
FEW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def clips(draw, shape=SHAPE):
    """Prediction, condition with some zeros, mask."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    condition = rng.integers(0, 256, shape).astype(draw(st.sampled_from(["uint8", "float32", "float64"])))
    prediction = draw(st.floats(-1, 1)) * condition.astype(float) / 50 + rng.normal(0, draw(st.floats(0.1, 3)), shape)
    condition[rng.random(shape) < draw(st.sampled_from([0, 0.2]))] = 0
    mask = rng.random(shape) < draw(st.sampled_from([0, 0.3]))
    mask[0] |= draw(st.booleans())
    return prediction.astype(draw(st.sampled_from(["float32", "float64"]))), condition, mask


def values(scores):
    return {name: measurement.value for name, measurement in scores.values.items()}


def not_near_a_border(prediction, condition, mask):
    """No pixel lies so near a threshold of an accuracy, or the floor, that round-off decides."""
    fit = depth_scores(prediction, condition, mask).alignment
    valid = (condition != 0) & ~mask
    aligned = fit.scale * prediction[valid].astype(float) + fit.shift
    ratio = np.maximum(aligned, 1e-6) / condition[valid]
    larger = np.maximum(ratio, 1 / ratio)
    return min(abs(larger - 1.25**k).min() for k in (1, 2, 3)) > 1e-9 and abs(aligned).min() > 1e-4


@pytest.mark.parametrize("backend", BACKENDS)
@FEW
@given(clips())
def test_equals_the_definitions(backend, monkeypatch, clip):
    use_backend(monkeypatch, backend)
    wanted = slow_scores(*clip)
    found = depth_scores(*clip)
    assume(not_near_a_border(*clip))
    assert values(found) == pytest.approx(wanted["metrics"], rel=1e-8)
    assert (found.alignment.scale, found.alignment.shift) == pytest.approx((wanted["scale"], wanted["shift"]), rel=1e-9)
    assert found.alignment.rank == wanted["rank"]


@FEW
@given(clips(), st.floats(0.05, 50), st.sampled_from([-1, 1]), st.floats(-300, 300))
def test_scale_and_shift_of_the_prediction_change_nothing(clip, factor, sign, offset):
    prediction, condition, mask = clip
    assume(not_near_a_border(*clip))
    before = depth_scores(*clip)
    moved = sign * factor * prediction.astype(float) + offset
    after = depth_scores(moved, condition, mask)
    assert values(after) == pytest.approx(values(before), rel=1e-6)
    assert after.alignment.scale * sign * factor == pytest.approx(before.alignment.scale, rel=1e-6, abs=1e-9)
    assert after.clipped_pixels == before.clipped_pixels


@FEW
@given(clips(), st.permutations(range(SHAPE[0])))
def test_order_of_frames_changes_nothing(clip, order):
    prediction, condition, mask = (array[list(order)] for array in clip)
    turned, straight = depth_scores(prediction, condition, mask), depth_scores(*clip)
    assert values(turned) == values(straight)
    assert turned.alignment == straight.alignment


@FEW
@given(clips())
def test_a_clip_twice_scores_as_once(clip):
    assume(not_near_a_border(*clip))
    doubled = depth_scores(*(np.concatenate([array, array]) for array in clip))
    assert values(doubled) == pytest.approx(values(depth_scores(*clip)), rel=1e-7)


@FEW
@given(clips(), st.integers(0, 2**32 - 1))
def test_a_larger_mask_leaves_fewer_pixels_and_no_larger_sum_of_squares(clip, seed):
    """The fit minimises the sum of squared differences, so leaving pixels out cannot raise it."""
    prediction, condition, mask = clip
    larger = mask | (np.random.default_rng(seed).random(mask.shape) < 0.3)

    def squares(excluded):
        scores = depth_scores(prediction, condition, excluded, ["rmse_linear"])
        pairs = zip(scores.per_frame["rmse_linear"], scores.valid_per_frame, strict=True)
        return scores, sum(n * value**2 for value, n in pairs if n)

    (few, below), (many, above) = squares(larger), squares(mask)
    assert few.alignment.n <= many.alignment.n
    assert few.excluded_pixels == larger.sum() >= many.excluded_pixels == mask.sum()
    assert below <= above * (1 + 1e-9) + 1e-9


@FEW
@given(clips(), st.integers(0, 2**32 - 1))
def test_what_is_under_the_mask_changes_nothing(clip, seed):
    """Neither the prediction nor the condition there, be they NaN; and a zero condition is as good as a mask."""
    prediction, condition, mask = clip
    rng = np.random.default_rng(seed)
    wild, zeroed = prediction.copy(), condition.copy()
    wild[mask] = rng.choice([np.nan, np.inf, -np.inf, 1e30, 7], mask.sum())
    zeroed[mask] = 0
    assert values(depth_scores(wild, condition, mask)) == values(depth_scores(*clip))
    assert values(depth_scores(wild, zeroed)) == values(depth_scores(*clip))


@FEW
@given(clips())
def test_bounds(clip):
    found = values(depth_scores(*clip))
    assert 0 <= found["mae"] <= found["rmse_linear"] * (1 + 1e-12)
    assert 0 <= found["delta1_acc"] <= found["delta2_acc"] <= found["delta3_acc"] <= 1
    assert found["silog_rmse"] / 100 <= 1e-9 + max(found["rmse_log"] * SHAPE[0], 1e-9)
    for name in NAMES:
        assert get_metric(f"depth_{name}").low <= found[name] <= get_metric(f"depth_{name}").high


@FEW
@given(clips(), st.floats(0.1, 20), st.floats(-50, 50))
def test_a_prediction_that_is_the_condition_is_perfect(clip, factor, offset):
    _, condition, mask = clip
    found = values(depth_scores(factor * condition.astype(float) + offset, condition, mask))
    for name in NAMES:
        metric = get_metric(f"depth_{name}")
        assert found[name] == pytest.approx(metric.perfect, abs=metric.equal_slack)


@FEW
@given(clips())
def test_one_frame_at_a_time_gives_the_same(clip):
    calls = []

    def frames():
        calls.append(1)
        yield from zip(*clip, strict=True)

    streamed = stream_scores(frames)
    assert streamed == depth_scores(*clip)
    assert len(calls) == 2


@FEW
@given(clips())
def test_per_frame_values_have_the_mean_that_is_told(clip):
    scores = depth_scores(*clip)
    for name in set(NAMES) - set(POOLED):
        frames = [value for value in scores.per_frame[name] if value is not None]
        assert len(frames) == scores.frames_scored
        assert np.mean(frames) == pytest.approx(scores.values[name].value, rel=1e-12)
    assert not set(POOLED) & set(scores.per_frame)


@pytest.mark.parametrize("backend", BACKENDS)
def test_any_number_of_threads_gives_the_same_bits(backend, monkeypatch):
    use_backend(monkeypatch, backend)
    rng = np.random.default_rng(1)
    shape = (2, 301, 517)
    condition = rng.integers(0, 256, shape).astype(np.uint8)
    prediction = (condition / 30 + rng.normal(0, 1, shape)).astype(np.float32)
    results = [depth_scores(prediction, condition, rng.random(shape) < 0, threads=n) for n in (1, 2, 3, 5)]
    assert all(result == results[0] for result in results)


@FEW
@given(clips())
def test_the_two_backends_agree(monkeypatch, clip):
    assume(not_near_a_border(*clip))
    found = []
    for backend in BACKENDS:
        use_backend(monkeypatch, backend)
        found.append(depth_scores(*clip))
    assert values(found[0]) == pytest.approx(values(found[1]), rel=1e-9)
    assert found[0].clipped_pixels == found[1].clipped_pixels


def test_a_small_signal_on_a_large_offset_is_still_found():
    """Sums of raw squares would lose it: the spread is a billionth of the mean."""
    rng = np.random.default_rng(3)
    condition = rng.integers(1, 256, (4, 20, 30)).astype(float)
    fit = align(1e6 + condition * 1e-3, condition)
    assert fit.rank == 2
    assert fit.scale == pytest.approx(1000, rel=1e-6)
    assert depth_scores(1e6 + condition * 1e-3, condition).values["mae"].value < 1e-4


@FEW
@given(st.floats(-1e3, 1e3), st.integers(0, 2**32 - 1))
def test_a_constant_prediction_gets_numpys_minimum_norm_fit(constant, seed):
    condition = np.random.default_rng(seed).integers(1, 256, SHAPE).astype(float)
    prediction = np.full(SHAPE, constant)
    wanted, found = slow_scores(prediction, condition), align(prediction, condition)
    assert found.rank == wanted["rank"] == 1
    assert "rank_deficient" in found.flags
    assert (found.scale, found.shift) == pytest.approx((wanted["scale"], wanted["shift"]), rel=1e-9, abs=1e-9)
    assert found.scale * constant + found.shift == pytest.approx(condition.mean())
