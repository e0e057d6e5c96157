"""Resize to fill and crop the centre: sizes, a worked example, PyTorch, and both backends alike."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelgate.io import _numpy_fill
from pixelgate.io.fill import FillGeometry, fill_geometry, fill_resize, taps
from pixelgate.metrics import _backend

# (source, target) -> (new size, top, left); from the depth section of the FlexBench conformance data,
# `resize_geometry`. 316 -> 480 is the case in which floating point gives one row more than exact fractions do.
GEOMETRY = {
    ((316, 400), (480, 600)): ((481, 608), 0, 4),
    ((480, 640), (704, 1216)): ((912, 1216), 104, 0),
    ((720, 1280), (704, 1216)): ((704, 1252), 0, 18),
    ((1080, 1920), (512, 768)): ((512, 911), 0, 71),
    ((9, 16), (9, 16)): ((9, 16), 0, 0),
    ((100, 100), (33, 77)): ((77, 77), 22, 0),
}
SIDES = st.integers(1, 40)
SIZES = st.tuples(SIDES, SIDES)


def picture(height: int, width: int, kind: type = np.uint8) -> np.ndarray:
    values = np.random.default_rng(height * 97 + width).integers(0, 256, (height, width, 3))
    return values.astype(kind)


@pytest.mark.parametrize(("sizes", "wanted"), GEOMETRY.items())
def test_sizes(sizes, wanted):
    (new_height, new_width), top, left = wanted
    geometry = fill_geometry(*sizes)
    assert geometry == FillGeometry(*sizes[0], new_height, new_width, top, left, *sizes[1])


@given(SIZES, SIZES)
def test_the_resize_covers_the_target_and_the_crop_is_in_the_middle(source, target):
    geometry = fill_geometry(source, target)
    assert geometry.new_height >= geometry.target_height
    assert geometry.new_width >= geometry.target_width
    spare = geometry.new_height - geometry.target_height, geometry.new_width - geometry.target_width
    assert (geometry.top, geometry.left) == (spare[0] // 2, spare[1] // 2)
    # One axis fits: it is at most the row or column larger that floating point may add.
    assert min(spare) <= 1
    scale = max(target[0] / source[0], target[1] / source[1])
    assert geometry.new_height == math.ceil(source[0] * scale)


@pytest.mark.parametrize("sizes", [((0, 4), (4, 4)), ((4, 4), (4, 0)), ((4, -1), (4, 4))])
def test_sides_below_one_are_refused(sizes):
    with pytest.raises(ValueError, match="at least 1 pixel"):
        fill_geometry(*sizes)


def test_a_worked_example():
    # 2 x 4 to 4 x 4: twice as large is 4 x 8, of which columns 2 to 5 stay. Target centres lie a quarter beside the
    # source's, so that rows blend 1 : 0, 3 : 1, 1 : 3 and 0 : 1, and the columns that stay 3 : 1 and 1 : 3 in turn.
    source = np.array([[0, 40, 80, 120], [100, 140, 180, 220]], np.float32)
    geometry = fill_geometry((2, 4), (4, 4))
    assert (geometry.new_height, geometry.new_width, geometry.top, geometry.left) == (4, 8, 0, 2)
    row = np.array([30, 50, 70, 90])
    assert fill_resize(source, geometry).tolist() == [list(row + add) for add in (0, 25, 75, 100)]


def test_making_it_smaller_skips_pixels_without_antialias():
    # To a quarter: each target pixel lies between the second and the third of four.
    source = np.arange(16, dtype=np.float64).reshape(1, 16) ** 2
    assert fill_resize(np.repeat(source, 4, axis=0), fill_geometry((4, 16), (1, 4))).tolist() == [
        [(1 + 4) / 2, (25 + 36) / 2, (81 + 100) / 2, (169 + 196) / 2]
    ]


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.float32, np.float64, np.bool_])
def test_equal_sizes_change_nothing(kind):
    source = picture(7, 5, kind)
    result = fill_resize(source, fill_geometry((7, 5), (7, 5)))
    assert result.dtype == np.float32
    assert np.array_equal(result, source)
    assert not np.shares_memory(result, source)


@pytest.mark.parametrize(("sizes"), [*GEOMETRY, ((352, 608), (704, 1216)), ((5, 7), (3, 40)), ((1, 1), (3, 2))])
def test_values_are_pytorchs(sizes):
    torch = pytest.importorskip("torch")
    (source, target), frame = sizes, picture(*sizes[0])
    geometry = fill_geometry(source, target)
    whole = torch.nn.functional.interpolate(
        torch.from_numpy(frame).permute(2, 0, 1)[None].float(),
        size=(geometry.new_height, geometry.new_width),
        mode="bilinear",
        align_corners=False,
    )[0].permute(1, 2, 0)
    top, left = geometry.top, geometry.left
    wanted = whole[top : top + target[0], left : left + target[1]].numpy()
    # Their positions are float32 too; builds that do not fuse products and sums differ by a few 1e-3 levels.
    assert np.abs(fill_resize(frame, geometry) - wanted).max() < 5e-3


@settings(max_examples=60, deadline=None)
@given(SIZES, SIZES, st.sampled_from([1, 2, 3, 4]), st.booleans())
def test_backends_give_the_same_numbers(source, target, channels, bytes_in):
    pytest.importorskip("numba")
    from pixelgate.io import _numba_fill

    geometry = fill_geometry(source, target)
    frame = (
        np.random.default_rng(channels)
        .integers(0, 256, (*source, channels))
        .astype(np.uint8 if bytes_in else np.float32)
    )
    results = [np.empty((*target, channels), np.float32) for _ in range(2)]
    _numpy_fill.blend(frame, *taps(geometry), results[0])
    _numba_fill.blend(frame, *taps(geometry), results[1])
    assert np.array_equal(*results)


@settings(max_examples=60, deadline=None)
@given(SIZES, SIZES)
def test_a_resize_blends_and_invents_nothing(source, target):
    geometry = fill_geometry(source, target)
    flat = np.full((*source, 3), 77, np.uint8)
    assert np.allclose(fill_resize(flat, geometry), 77, rtol=0, atol=1e-4)
    frame = picture(*source)
    result = fill_resize(frame, geometry)
    assert result.min() >= frame.min() - 1e-4
    assert result.max() <= frame.max() + 1e-4
    if (geometry.new_height - target[0]) % 2 == (geometry.new_width - target[1]) % 2 == 0:
        turned = fill_resize(frame[::-1, ::-1], geometry)
        assert np.allclose(turned, result[::-1, ::-1], rtol=0, atol=0.02)


def test_one_channel_is_as_three():
    frame = picture(9, 11)
    geometry = fill_geometry((9, 11), (13, 12))
    result = fill_resize(frame, geometry)
    for channel in range(3):
        assert np.array_equal(fill_resize(frame[:, :, channel], geometry), result[:, :, channel])
        assert np.array_equal(fill_resize(frame[:, :, channel].astype(np.int64), geometry), result[:, :, channel])


@pytest.mark.parametrize("name", ["numpy", "numba"])
def test_a_value_without_weight_is_not_read(monkeypatch, name):
    if name == "numba":
        pytest.importorskip("numba")
    monkeypatch.setenv(_backend.ENVIRONMENT, name)
    # Only the columns change their number by cropping: every target pixel is a source pixel.
    frame = np.zeros((3, 9), np.float32)
    frame[1, 4] = np.nan
    result = fill_resize(frame, fill_geometry((3, 9), (3, 5)))
    wanted = np.zeros((3, 5), bool)
    wanted[1, 2] = True
    assert np.array_equal(np.isnan(result), wanted)


def test_what_is_no_such_frame_is_refused():
    geometry = fill_geometry((3, 4), (6, 8))
    for frame in (np.zeros((4, 3)), np.zeros((3, 4, 3, 1)), np.zeros(12)):
        with pytest.raises(ValueError, match="a frame of 3 x 4 pixels"):
            fill_resize(frame, geometry)
    with pytest.raises(ValueError, match="real numbers"):
        fill_resize(np.zeros((3, 4), complex), geometry)
