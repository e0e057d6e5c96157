"""Means and spreads over the values that are there."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelgate.flexbench.averages import mean_of, same, spread_of

VALUES = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20)


def test_by_hand():
    assert mean_of([1.0, None, 4.0]) == (2.5, 2)
    assert mean_of([None]) == (None, 0) == mean_of([])
    assert spread_of([2.0, None, 4.0]) == pytest.approx(2**0.5)
    assert spread_of([1.0, 2.0, 3.0]) == 1.0
    assert spread_of([1.0]) is None
    assert spread_of([]) is None


@given(VALUES)
def test_against_the_standard_library(values):
    assert mean_of(values)[0] == pytest.approx(statistics.mean(values), rel=1e-12, abs=1e-12)
    if len(values) > 1:
        assert spread_of(values) == pytest.approx(statistics.stdev(values), rel=1e-9, abs=1e-6)


@given(VALUES, st.randoms(use_true_random=False))
def test_neither_order_nor_missing_values_matter(values, random):
    shuffled = [*values, None, None]
    random.shuffle(shuffled)
    assert mean_of(shuffled) == mean_of(values)


@given(st.floats(1e-6, 1e6), st.integers(2, 9))
def test_a_mean_of_equal_values_ties_with_the_value(value, n):
    assert same(mean_of([value] * n)[0], value)


@pytest.mark.parametrize(("one", "other", "tie"), [(0.3, 0.1 + 0.2, True), (1.0, 1.0 + 1e-9, False), (0.0, -0.0, True)])
def test_ties(one, other, tie):
    assert same(one, other) is tie
