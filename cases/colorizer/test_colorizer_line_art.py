"""Grey values, resampling by area and Canny's edges, held to OpenCV's."""

from __future__ import annotations

import numpy as np
import pytest
from colorizer_tools import CONFORMANCE

from pixelgate.colorizer.canny import canny, canny_line_art
from pixelgate.colorizer.grey import area_resize, grey
from pixelgate.io.any_image import read_any

PICTURES = sorted(path.name for path in (CONFORMANCE / "inputs").glob("*.png"))


@pytest.mark.parametrize("name", PICTURES)
def test_edges_are_opencvs(name):
    # line_art/ holds 255 - cv2.Canny(grey, 50, 150) of inputs/.
    expected = grey(read_any(CONFORMANCE / "line_art" / name)[0])
    assert np.array_equal(canny_line_art(read_any(CONFORMANCE / "inputs" / name)[0]), expected)


def test_there_are_pictures():
    assert len(PICTURES) >= 7


def test_edges_of_random_pictures_are_opencvs():
    cv2 = pytest.importorskip("cv2")
    generator = np.random.default_rng(0)
    for round_ in range(60):
        values = generator.integers(0, 256, size=generator.integers(1, 50, size=2), dtype=np.uint8)
        values = values if round_ % 3 else values // 64 * 64
        assert np.array_equal(canny(values), cv2.Canny(values, 50, 150))


def test_grey_is_opencvs():
    cv2 = pytest.importorskip("cv2")
    colours = np.random.default_rng(0).integers(0, 256, size=(300, 300, 3), dtype=np.uint8)
    assert np.array_equal(grey(colours), cv2.cvtColor(colours, cv2.COLOR_RGB2GRAY))


def test_grey_keeps_grey():
    values = np.arange(256, dtype=np.uint8)[np.newaxis]
    assert np.array_equal(grey(np.repeat(values[..., np.newaxis], 3, axis=2)), values)


def test_resampling_by_area_is_opencvs():
    cv2 = pytest.importorskip("cv2")
    generator = np.random.default_rng(1)
    kinds = set()
    for _ in range(200):
        (height, width), (new_height, new_width) = generator.integers(1, 90, size=(2, 2))
        factors = generator.integers(0, 4, size=2)
        if factors.all():
            height, width = new_height * factors[0], new_width * factors[1]
        values = generator.integers(0, 256, size=(height, width), dtype=np.uint8)
        expected = cv2.resize(values, (int(new_width), int(new_height)), interpolation=cv2.INTER_AREA)
        assert np.array_equal(area_resize(values, int(new_height), int(new_width)), expected), (
            values.shape,
            expected.shape,
        )
        kinds.add((bool(height < new_height or width < new_width), bool(height % new_height or width % new_width)))
    assert len(kinds) == 4 or (False, True) in kinds


def test_a_mean_of_four_is_rounded_half_up():
    assert area_resize(np.array([[0, 1], [1, 0]], dtype=np.uint8), 1, 1).item() == 1
    assert area_resize(np.array([[0, 0], [1, 0]], dtype=np.uint8), 1, 1).item() == 0
