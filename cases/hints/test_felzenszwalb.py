from __future__ import annotations

import numpy as np
import pytest
from hint_tools import BACKENDS, pictures
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from pixelgate.errors import InputError
from pixelgate.hints.felzenszwalb import felzenszwalb, gaussian_weights

PARAMETERS = st.fixed_dictionaries(
    {
        "scale": st.sampled_from([0.0, 1.0, 10.0, 100.0, 1000.0]),
        "sigma": st.sampled_from([0.0, 0.3, 0.5, 0.8, 2.0]),
        "min_size": st.sampled_from([0, 1, 5, 20, 100]),
    }
)


def both(picture: np.ndarray, **parameters: float) -> tuple[np.ndarray, np.ndarray]:
    results = []
    for name in ("numba", "numpy"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PIXELGATE_BACKEND", name)
            results.append(felzenszwalb(picture, **parameters))
    return results[0], results[1]


@settings(max_examples=60, deadline=None)
@given(pictures(), PARAMETERS)
def test_compiled_and_plain_are_one(picture: np.ndarray, parameters: dict) -> None:
    pytest.importorskip("numba")
    one, two = both(picture, **parameters)
    assert np.array_equal(one, two)


@settings(max_examples=60, deadline=None)
@given(pictures(), PARAMETERS)
def test_scikit_image_with_a_stable_sort_gives_the_same(picture: np.ndarray, parameters: dict) -> None:
    segmentation = pytest.importorskip("skimage.segmentation")
    real = np.argsort
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "argsort", lambda values, *_, **__: real(values, kind="stable"))
        wanted = segmentation.felzenszwalb(picture, **parameters)
    assert np.array_equal(felzenszwalb(picture, **parameters), wanted)


def photograph(side: int) -> np.ndarray:
    """Smooth noise: regions of many sizes, nearly all edges different."""
    noise = np.random.default_rng(5).standard_normal((side, side, 3))
    smooth = ndimage.gaussian_filter(noise, (side / 40, side / 40, 0))
    return np.rint(255 * (smooth - smooth.min()) / np.ptp(smooth)).astype(np.uint8)


def test_compiled_and_plain_are_one_on_a_large_picture() -> None:
    pytest.importorskip("numba")
    one, two = both(photograph(300))
    assert one.max() > 20
    assert np.array_equal(one, two)


@pytest.mark.parametrize("backend", BACKENDS)
def test_labels_are_numbered_by_first_pixel_and_regions_are_large_enough(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIXELGATE_BACKEND", backend)
    labels = felzenszwalb(photograph(120), min_size=40)
    values, first = np.unique(labels, return_index=True)
    assert np.array_equal(values, np.arange(values.size))
    assert np.array_equal(first, np.sort(first))
    assert np.bincount(labels.ravel()).min() >= 40
    for value in values:
        assert ndimage.label(labels == value, np.ones((3, 3)))[1] == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_equal_edges_keep_the_order_of_their_list(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # All four sides of this square cost the same. The two edges to the right come first and make two pairs, which are
    # then large enough; were the edges down first, the pairs would be columns.
    monkeypatch.setenv("PIXELGATE_BACKEND", backend)
    square = np.array([[[0, 0, 0], [100, 0, 0]], [[0, 100, 0], [100, 100, 0]]], dtype=np.uint8)
    assert felzenszwalb(square, scale=0, sigma=0, min_size=2).tolist() == [[0, 0], [1, 1]]


def test_weights_are_normalised_and_cut_as_scipy_does() -> None:
    for sigma in (0.3, 0.5, 0.8, 2.0):
        half = gaussian_weights(sigma)
        impulse = np.zeros(2 * half.size - 1)
        impulse[half.size - 1] = 1
        wanted = ndimage.gaussian_filter1d(impulse, sigma, mode="constant")
        assert np.allclose(half, wanted[half.size - 1 :], rtol=1e-15, atol=0)
    assert gaussian_weights(0.0).tolist() == [1.0]


@pytest.mark.parametrize(
    ("option", "value"),
    [("scale", -1.0), ("scale", float("nan")), ("sigma", float("inf")), ("min_size", -1), ("min_size", 2.5)],
)
def test_wrong_parameters_are_named(option: str, value: float) -> None:
    with pytest.raises(InputError, match=option):
        felzenszwalb(np.zeros((2, 2, 3), dtype=np.uint8), **{option: value})


def test_a_picture_without_pixels_is_refused() -> None:
    with pytest.raises(InputError, match="0 pixels"):
        felzenszwalb(np.zeros((0, 2, 3), dtype=np.uint8))
