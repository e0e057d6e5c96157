from __future__ import annotations

import numpy as np
import pytest
from hint_tools import arrays, dense, label_maps
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from pixelgate.errors import InputError
from pixelgate.hints import regions as rg
from pixelgate.hints.dots import dot_pixels
from pixelgate.hints.paths import Paths, geodesic_paths

COLOURS = arrays(np.uint8, st.sampled_from([0, 1, 2, 254, 255]), most=10, channels=3)


def test_codes_are_scrambled_and_all_different() -> None:
    assert rg.codes(np.arange(3)).tolist() == [0, 1000003, 2000006]
    numbers = rg.codes(np.arange(200_000))
    assert np.unique(numbers).size == numbers.size
    assert rg.codes(np.array([17])).tolist() == [17 * 1000003 % 255**3]
    with pytest.raises(InputError, match="too-many-regions"):
        rg.codes(np.array([255**3]))


@given(st.lists(st.integers(0, 255**3 - 1), min_size=1, max_size=20))
def test_ids_and_colours_are_each_others_inverse(ids: list[int]) -> None:
    values = np.array(ids, dtype=np.int64)
    colours = rg.id_colours(values)
    assert colours.max() < 255
    assert np.array_equal(rg.colour_ids(colours), values)


def test_blue_is_the_first_digit() -> None:
    assert rg.id_colours(np.array([255 * 255 * 7 + 255 * 5 + 3])).tolist() == [[3, 5, 7]]


@settings(max_examples=60)
@given(COLOURS)
def test_maps_from_elsewhere_keep_different_colours_apart(colours: np.ndarray) -> None:
    ids = rg.map_ids(colours)
    flat = colours.reshape(-1, 3).astype(np.int64) @ [1, 256, 65536]
    assert np.unique(ids).size == np.unique(flat).size
    assert np.array_equal(dense(flat[:, None] == flat), dense(ids.reshape(-1, 1) == ids.reshape(-1)))


def test_colours_that_share_an_id_are_numbered_by_blue_green_red() -> None:
    # In BGR (0, 255, 0) and (1, 0, 0) share 65025. Seen in hintauc 0.3.3: they become numbers 1 and 2 here.
    colours = np.array([[[0, 0, 1], [0, 255, 0], [0, 0, 0]]], dtype=np.uint8)
    assert rg.map_ids(colours).tolist() == [[2000006, 1000003, 0]]
    assert rg.map_ids(colours[:, :2] // 255).tolist() == [[0, 255]]


@settings(max_examples=60, deadline=None)
@given(label_maps())
def test_split(labels: np.ndarray) -> None:
    ids = rg.label_ids(labels)
    regions = rg.split(ids)
    taken = set(np.unique(ids).tolist())
    expected = np.full(ids.shape, -1, dtype=np.int64)
    fresh = (code for code in (number * 1000003 % 255**3 for number in range(10_000)) if code not in taken)
    for value in sorted(taken):
        # scipy numbers the pieces in raster order of their first pixel.
        pieces, count = ndimage.label(ids == value)
        for piece in range(1, count + 1):
            expected[pieces == piece] = value if piece == 1 else next(fresh)
    assert np.array_equal(regions.ids[regions.labels], expected)
    assert np.array_equal(regions.ids, np.unique(expected))
    assert np.array_equal(regions.areas, np.bincount(regions.labels.reshape(-1)))
    assert np.array_equal(np.unique(regions.labels, return_index=True)[1], regions.first_pixels)


def test_stored_maps_are_not_split() -> None:
    regions = rg.whole(np.array([[5, 0, 5]]))
    assert (regions.ids.tolist(), regions.areas.tolist(), regions.labels.tolist()) == ([0, 5], [1, 2], [[1, 0, 1]])


def medoid(pixels: list[int], width: int) -> int:
    places = [divmod(pixel, width) for pixel in pixels]
    return min(pixels, key=lambda p: (sum(abs(p // width - r) + abs(p % width - c) for r, c in places), p))


@settings(max_examples=60, deadline=None)
@given(label_maps())
def test_the_medoid_is_nearest_to_all(labels: np.ndarray) -> None:
    labels = dense(labels)
    paths = geodesic_paths(labels)
    wanted = [medoid(paths.pixels[paths.regions == k].tolist(), labels.shape[1]) for k in range(labels.max() + 1)]
    assert dot_pixels(paths, labels, "medoid").tolist() == wanted


def two_regions() -> tuple[Paths, np.ndarray]:
    """Region 0 above region 1; the path of 0 leaves it by one pixel, region 1 has none."""
    labels = np.array([[0, 0, 0, 0], [1, 1, 1, 1]], dtype=np.int32)
    pixels = np.array([0, 1, 2, 6])
    return Paths(np.zeros(4, dtype=np.int64), pixels, np.array([1])), labels


def test_dot_methods_on_a_path_that_leaves_its_region() -> None:
    paths, labels = two_regions()
    assert dot_pixels(paths, labels, "medoid").tolist() == [1]
    # The mean is row 0.25, column 1.25.
    assert dot_pixels(paths, labels, "mean").tolist() == [1]
    assert dot_pixels(paths, labels, "nearest_mean").tolist() == [1]
    far = Paths(np.zeros(3, dtype=np.int64), np.array([0, 5, 6]), np.array([1]))
    assert dot_pixels(far, labels, "mean").tolist() == [1]
    assert dot_pixels(far, labels, "medoid").tolist() == [0]


def test_no_path_no_dot() -> None:
    nothing = Paths(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.array([0]))
    assert dot_pixels(nothing, np.zeros((1, 1), dtype=np.int32), "medoid").size == 0
    with pytest.raises(ValueError, match="middle"):
        dot_pixels(nothing, np.zeros((1, 1), dtype=np.int32), "middle")
