"""The bootstrap interval against the oracle's, and its edges."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from pixelgate.stats import bootstrap_interval

PST = Path(__file__).parents[1] / "conformance" / "pst"
FLOATS = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40)


def test_the_published_vector():
    expected = json.loads((PST / "bootstrap_n50.json").read_text())
    got = bootstrap_interval(expected["v"])
    assert (got.mean, got.low, got.high, got.half) == pytest.approx(
        (expected["mean"], expected["lo"], expected["hi"], expected["half"]), rel=0, abs=1e-9
    )


def test_the_tile_statistics():
    stats = json.loads((PST / "results.json").read_text())["tile_stats"]
    assert len(stats["bootstrap"]) == 25
    for name, expected in stats["bootstrap"].items():
        method, metric = name.split("/")
        got = bootstrap_interval([tile["m"][method][metric] for tile in stats["tiles"].values()])
        assert [got.mean, got.low, got.high, got.half] == pytest.approx(expected, rel=0, abs=1e-9)


def test_scipy_gives_the_same_bounds():
    values = np.random.default_rng(5).normal(size=37)
    expected = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    got = bootstrap_interval(list(values))
    assert (got.low, got.high) == pytest.approx((expected.low, expected.high), rel=0, abs=1e-12)


@pytest.mark.parametrize("n", [2, 7, 1024])
def test_rows_drawn_in_blocks_are_the_rows_drawn_at_once(n):
    values = np.random.default_rng(n).normal(size=n)
    rows = np.random.default_rng(0).integers(0, n, size=(2500, n))
    low, high = np.percentile(values[rows].mean(axis=1), [2.5, 97.5])
    got = bootstrap_interval(list(values), resamples=2500)
    assert (got.low, got.high) == pytest.approx((low, high), rel=0, abs=1e-12)


def test_the_order_of_samples_moves_the_bounds_and_not_the_mean():
    values = json.loads((PST / "bootstrap_n50.json").read_text())["v"]
    ours, sorted_ = bootstrap_interval(values), bootstrap_interval(sorted(values))
    assert sorted_.mean == pytest.approx(ours.mean, rel=0, abs=1e-12)
    assert (sorted_.low, sorted_.high) == pytest.approx((20.1725, 22.2795), abs=1e-4)
    assert (ours.low, ours.high) == pytest.approx((20.2016, 22.2852), abs=1e-4)


def test_one_sample_has_no_interval():
    got = bootstrap_interval([3.5])
    assert (got.mean, got.low, got.high, got.half, got.n) == (3.5, None, None, None, 1)


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [1.0, math.inf]])
def test_nothing_and_not_a_number_have_no_mean(values):
    with pytest.raises(ValueError, match=r"at least one value|not finite"):
        bootstrap_interval(values)


@pytest.mark.parametrize(("resamples", "confidence"), [(0, 0.95), (10, 0.0), (10, 1.0)])
def test_parameters_out_of_range(resamples, confidence):
    with pytest.raises(ValueError, match="resamples"):
        bootstrap_interval([1.0, 2.0], resamples=resamples, confidence=confidence)


@given(FLOATS)
def test_the_interval_lies_within_the_values(values):
    got = bootstrap_interval(values, resamples=50)
    slack = 1e-9 * max(1.0, max(map(abs, values)))
    assert min(values) - slack <= got.low <= got.high <= max(values) + slack
    assert got.mean == pytest.approx(math.fsum(values) / len(values), rel=1e-9, abs=slack)


@given(FLOATS, st.floats(-100, 100))
def test_a_shift_moves_mean_and_bounds_by_itself(values, shift):
    plain = bootstrap_interval(values, resamples=50)
    moved = bootstrap_interval([value + shift for value in values], resamples=50)
    slack = 1e-8 * max(1.0, max(map(abs, values)))
    for name in ("mean", "low", "high"):
        assert getattr(moved, name) == pytest.approx(getattr(plain, name) + shift, rel=1e-9, abs=slack)


def test_another_seed_gives_other_bounds():
    values = [float(x) for x in np.random.default_rng(2).normal(size=20)]
    assert bootstrap_interval(values, seed=1).low != bootstrap_interval(values, seed=0).low
    assert bootstrap_interval(values).low == bootstrap_interval(values).low
