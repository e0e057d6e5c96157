"""Masks under the resize to fill: exact coverage, and the filter's support, against slow plain definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pixelgate.io.fill import FillGeometry, fill_bilinear_support, fill_coverage, fill_geometry, fill_resize

SIDES = st.integers(1, 14)
MASKS = st.tuples(SIDES, SIDES).flatmap(lambda size: arrays(np.bool_, size))
TARGETS = st.tuples(SIDES, SIDES)


def slow_coverage(mask: np.ndarray, geometry: FillGeometry) -> np.ndarray:
    """Every pair of a target and a source pixel, with the overlap of their boxes in exact fractions."""

    def touch(size: int, new: int, start: int, count: int) -> np.ndarray:
        boxes = [
            (Fraction(place * size, new), Fraction((place + 1) * size, new)) for place in range(start, start + count)
        ]
        return np.array([[min(high, i + 1) > max(low, i) for i in range(size)] for low, high in boxes])

    down = touch(geometry.height, geometry.new_height, geometry.top, geometry.target_height)
    across = touch(geometry.width, geometry.new_width, geometry.left, geometry.target_width)
    return np.einsum("yi,xj,ij->yx", down.astype(int), across.astype(int), mask.astype(int)) > 0


@settings(max_examples=80, deadline=None)
@given(MASKS, TARGETS)
def test_coverage_is_the_exact_one(mask, target):
    geometry = fill_geometry(mask.shape, target)
    assert np.array_equal(fill_coverage(mask, geometry), slow_coverage(mask, geometry))


@settings(max_examples=80, deadline=None)
@given(MASKS, TARGETS)
def test_support_is_where_a_masked_pixel_changes_the_result(mask, target):
    geometry = fill_geometry(mask.shape, target)
    moved = fill_resize(mask.astype(np.float32) * 1e6, geometry) > 0
    assert np.array_equal(fill_bilinear_support(mask, geometry), moved)


def test_a_thin_line_is_kept_when_it_is_made_smaller():
    # 64 to 20: a column of one pixel touches one target column, or two where it lies across a border.
    for column in range(64):
        mask = np.zeros((64, 64), bool)
        mask[:, column] = True
        geometry = fill_geometry((64, 64), (20, 20))
        touched = np.nonzero(fill_coverage(mask, geometry)[0])[0]
        first, last = column * 20 // 64, -(-(column + 1) * 20 // 64) - 1
        assert touched.tolist() == list(range(first, last + 1))
    # The filter alone would lose some.
    lost = [
        column
        for column in range(64)
        if not fill_bilinear_support(np.arange(64)[np.newaxis].repeat(64, 0) == column, geometry).any()
    ]
    assert lost


def test_one_pixel_made_larger():
    # Measured for 64 to 96 with a single pixel: 4 pixels by area, 9 by the filter's support.
    mask = np.zeros((64, 64), bool)
    mask[31, 31] = True
    geometry = fill_geometry((64, 64), (96, 96))
    assert fill_coverage(mask, geometry).sum() == 4
    assert fill_bilinear_support(mask, geometry).sum() == 9


@pytest.mark.parametrize("mapping", [fill_coverage, fill_bilinear_support])
@given(mask=MASKS, target=TARGETS)
@settings(max_examples=40, deadline=None)
def test_nothing_and_everything_stay_what_they_are(mapping, mask, target):
    geometry = fill_geometry(mask.shape, target)
    assert not mapping(np.zeros_like(mask), geometry).any()
    assert mapping(np.ones_like(mask), geometry).all()
    # More masked pixels never unmask one.
    assert not (mapping(mask & (np.indices(mask.shape)[0] % 2 == 0), geometry) & ~mapping(mask, geometry)).any()


@pytest.mark.parametrize("mapping", [fill_coverage, fill_bilinear_support])
def test_equal_sizes_and_refusals(mapping):
    mask = np.eye(5, dtype=bool)
    geometry = fill_geometry((5, 5), (5, 5))
    result = mapping(mask, geometry)
    assert np.array_equal(result, mask)
    assert not np.shares_memory(result, mask)
    for wrong in (mask.astype(np.uint8), mask[:4], mask[np.newaxis]):
        with pytest.raises(ValueError, match="a mask is bool, 5 x 5 pixels"):
            mapping(wrong, geometry)
