"""The masks of all persons: union, holes, dilation, step by step and on the reference cases."""

from __future__ import annotations

import numpy as np
import pytest
from depth_tools import ORACLE, VALUES, problems
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from pixelgate.metrics.person_mask import dilate, dilation_radius, fill_holes, person_mask, person_masks


@pytest.mark.parametrize("name", ["person_small", "person_large"])
def test_reference_masks(name):
    wanted = VALUES["person_mask"][name]
    instances = np.load(ORACLE / wanted["instances_file"])["masks"]
    expected = np.load(ORACLE / wanted["expected_file"])
    found = list(person_masks(instances.transpose(1, 0, 2, 3)))
    assert len(found) == instances.shape[1]
    for step in ("union", "filled", "dilated"):
        assert [getattr(frame, f"area_{step}") for frame in found] == wanted[f"area_{step}"]
    for index, frame in enumerate(found):
        assert np.array_equal(frame.mask, expected["dilated"][index])
        assert np.array_equal(fill_holes(expected["union"][index]), expected["filled"][index])
        assert frame.radius == wanted["radius"]
        assert frame.persons == len(instances)
        assert frame.empty == (wanted["area_union"][index] == 0)


@st.composite
def masks(draw):
    height, width = draw(st.integers(1, 30)), draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    smooth = ndimage.gaussian_filter(rng.normal(size=(height, width)), draw(st.sampled_from([0, 1, 2])))
    return smooth > draw(st.sampled_from([-0.1, 0, 0.1, 0.5, 1e9]))


@settings(max_examples=200, deadline=None)
@given(masks(), st.integers(0, 40))
def test_dilation_is_every_pixel_within_the_radius(mask, radius):
    distance = ndimage.distance_transform_edt(~mask) if mask.any() else np.full(mask.shape, np.inf)
    assert np.array_equal(dilate(mask, radius), distance <= radius)


@settings(max_examples=200, deadline=None)
@given(masks())
def test_holes_are_scipys(mask):
    assert np.array_equal(fill_holes(mask), ndimage.binary_fill_holes(mask))


@settings(max_examples=60, deadline=None)
@given(st.lists(masks(), min_size=1, max_size=4), st.randoms())
def test_order_and_number_of_persons(persons, random):
    shape = np.array([mask.shape for mask in persons]).min(axis=0)
    stack = np.stack([mask[: shape[0], : shape[1]] for mask in persons])
    found = person_mask(stack)
    shuffled = list(range(len(stack)))
    random.shuffle(shuffled)
    assert np.array_equal(person_mask(stack[shuffled]).mask, found.mask)
    assert np.array_equal(person_mask(np.concatenate([stack, stack])).mask, found.mask)
    assert found.area_union <= found.area_filled <= found.area_dilated
    # A person more can only take more away.
    assert not (person_mask(stack[:1]).mask & ~found.mask).any()


def test_what_a_step_leaves_out_does_nothing():
    ring = np.ones((9, 9), dtype=bool)
    ring[:2] = ring[-2:] = False
    ring[4, 4] = False
    assert person_mask(ring).area_filled == 45
    found = person_mask(ring, holes=False, dilation=0)
    assert np.array_equal(found.mask, ring)
    assert (found.area_union, found.area_filled, found.area_dilated, found.radius) == (44, 44, 44, 0)


def test_background_that_touches_only_at_corners_is_a_hole():
    """Mask pixels that meet at corners enclose, since background is joined by its sides alone."""
    diamond = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    assert fill_holes(diamond)[1, 1]
    gap = diamond.copy()
    gap[0, 1] = False
    assert not fill_holes(gap)[1, 1]


def test_the_mask_given_is_left_alone():
    mask = np.zeros((12, 12), dtype=bool)
    mask[3:9, 3:9] = True
    mask[5, 5] = False
    before = mask.copy()
    person_mask(mask)
    assert np.array_equal(mask, before)


@pytest.mark.parametrize(
    ("ratio", "height", "width", "radius"),
    [
        (0.02, 704, 1216, 14),
        (0.02, 60, 80, 1),
        (0.02, 10, 10, 1),
        (0.02, 125, 300, 2),
        (0.02, 176, 999, 4),
        (0, 99, 99, 0),
    ],
)
def test_radius(ratio, height, width, radius):
    assert dilation_radius(ratio, height, width) == dilation_radius(ratio, width, height) == radius


def test_no_person_at_all():
    for none in (np.zeros((0, 6, 7), dtype=bool), np.zeros((2, 6, 7), dtype=bool), np.zeros((6, 7), dtype=bool)):
        found = person_mask(none)
        assert found.empty
        assert found.mask.shape == (6, 7)
        assert not found.mask.any()


def test_masks_that_are_none():
    for wrong in (np.zeros((6, 7)), np.zeros((1, 2, 6, 7), dtype=bool), np.zeros((0, 7), dtype=bool), [[True]]):
        with problems("person-mask-array"):
            person_mask(wrong)
    for ratio in (-0.1, float("nan"), float("inf")):
        with problems("person-mask-dilation"):
            person_mask(np.zeros((6, 7), dtype=bool), dilation=ratio)
