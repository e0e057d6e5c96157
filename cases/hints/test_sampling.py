from __future__ import annotations

import numpy as np
import pytest
from hint_tools import pictures
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelgate.hints.sampling import bilinear, nearest

SIDES = st.integers(1, 150)


@settings(max_examples=150, deadline=None)
@given(SIDES, SIDES, SIDES, SIDES, st.integers(0, 2**32 - 1), st.booleans())
def test_both_equal_opencv(height: int, width: int, rows: int, columns: int, seed: int, extreme: bool) -> None:
    cv2 = pytest.importorskip("cv2")
    picture = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    if extreme:
        picture = np.where(picture > 127, np.uint8(255), np.uint8(0))
    linear = cv2.resize(picture, (columns, rows), interpolation=cv2.INTER_LINEAR)
    assert np.array_equal(bilinear(picture, rows, columns), linear)
    near = cv2.resize(picture, (columns, rows), interpolation=cv2.INTER_NEAREST)
    assert np.array_equal(nearest(picture, rows, columns), near)


@pytest.mark.parametrize("target", [64, 100, 256, 333])
def test_nearest_equals_opencv_for_every_source_size(target: int) -> None:
    cv2 = pytest.importorskip("cv2")
    for source in range(1, 700):
        line = np.arange(source, dtype=np.float32)[None]
        wanted = cv2.resize(line, (target, 1), interpolation=cv2.INTER_NEAREST)
        assert np.array_equal(nearest(line, 1, target), wanted), source


def test_nearest_rounds_as_opencv_does_where_plain_division_would_not() -> None:
    # 14 / 100 is held as a number whose inverse scale rounds down: place 50 is 6, not 7.
    assert nearest(np.arange(14)[None], 1, 100)[0, 50] == 6


def test_bilinear_halves_by_averaging() -> None:
    picture = np.array([[0, 10], [20, 31]], dtype=np.uint8)[..., None].repeat(3, axis=2)
    assert bilinear(picture, 1, 1)[0, 0].tolist() == [15, 15, 15]


@settings(max_examples=30, deadline=None)
@given(pictures(12), SIDES, SIDES)
def test_values_stay_between_the_least_and_the_most(picture: np.ndarray, rows: int, columns: int) -> None:
    result = bilinear(picture, rows, columns)
    assert result.shape == (rows, columns, 3)
    assert picture.min() <= result.min()
    assert result.max() <= picture.max()


def test_the_same_size_is_a_copy() -> None:
    picture = np.zeros((3, 4, 3), dtype=np.uint8)
    result = bilinear(picture, 3, 4)
    result[:] = 9
    assert not picture.any()
