"""The resize to a square: two libraries, each as the reference calls it, never mixed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from pixelgate.errors import InputError, MissingExtra, ProtocolError
from pixelgate.io.square import fingerprint, to_square

BACKENDS = ["paper", "pillow"]


def noise(height: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def test_paper_is_torchvisions_resize():
    torch = pytest.importorskip("torch")
    functional = pytest.importorskip("torchvision.transforms.functional")
    for size in [(512, 512), (300, 401), (24, 40), (256, 256), (1, 1)]:
        picture = noise(*size)
        tensor = torch.from_numpy(picture).permute(2, 0, 1).float() / 255.0
        wanted = functional.resize(tensor, [256, 256], antialias=True).permute(1, 2, 0).numpy()
        assert np.array_equal(to_square(picture, "paper"), wanted)


def test_pillow_is_one_float_resize_a_channel():
    for size in [(512, 512), (300, 401), (24, 40), (256, 256), (1, 1)]:
        picture = noise(*size)
        for channel in range(3):
            plane = Image.fromarray(picture[..., channel].astype(np.float32) / 255.0)
            assert plane.mode == "F"
            wanted = np.asarray(plane.resize((256, 256), Image.Resampling.BILINEAR))
            assert np.array_equal(to_square(picture, "pillow")[..., channel], wanted)


@pytest.mark.parametrize("backend", BACKENDS)
def test_form(backend):
    square = to_square(noise(90, 120), backend)
    assert square.shape == (256, 256, 3)
    assert square.dtype == np.float32
    assert square.flags.c_contiguous
    assert not square.flags.writeable
    assert to_square(noise(90, 120), backend, side=64).shape == (64, 64, 3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_its_own_size_changes_nothing(backend):
    picture = noise(256, 256)
    assert np.array_equal(to_square(picture, backend), picture.astype(np.float32) / np.float32(255))


@pytest.mark.parametrize("backend", BACKENDS)
def test_it_is_antialiased(backend):
    """One-pixel stripes at twice the size become flat grey; without antialiasing one of the two colours would win."""
    stripes = np.zeros((512, 512, 3), dtype=np.uint8)
    stripes[:, ::2] = 255
    inner = to_square(stripes, backend)[:, 2:-2]
    assert np.abs(inner - 0.5).max() < 1e-6


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=20, deadline=None)
@given(size=st.tuples(st.integers(1, 70), st.integers(1, 70)), seed=st.integers(0, 2**32 - 1), side=st.integers(1, 40))
def test_properties(backend, size, seed, side):
    picture = noise(*size, seed)
    square = to_square(picture, backend, side=side)
    assert square.min() >= picture.min() / 255 - 1e-6
    assert square.max() <= picture.max() / 255 + 1e-6
    turned = to_square(np.ascontiguousarray(picture.transpose(1, 0, 2)), backend, side=side).transpose(1, 0, 2)
    assert np.abs(square - turned).max() < 1e-6
    other = to_square(picture, "pillow" if backend == "paper" else "paper", side=side)
    # torch reckons the places of pixels in float32, Pillow in float64.
    assert np.abs(square - other).max() < 5e-6


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_write_protected_picture_gives_the_same(backend):
    picture = noise(50, 60)
    wanted = to_square(picture, backend)
    picture.flags.writeable = False
    assert np.array_equal(to_square(picture, backend), wanted)


@pytest.mark.parametrize("threads", [1, 2, None])
def test_threads_change_no_bit(threads):
    picture = noise(700, 500)
    assert np.array_equal(to_square(picture, "paper", threads=threads), to_square(picture, "paper"))


@pytest.mark.parametrize(
    "picture",
    [
        np.zeros((4, 4, 3), dtype=np.float32),
        np.zeros((4, 4), dtype=np.uint8),
        np.zeros((4, 4, 4), dtype=np.uint8),
        np.zeros((0, 4, 3), dtype=np.uint8),
    ],
)
def test_other_arrays_are_refused(picture):
    with pytest.raises(InputError, match="array-rgb8"):
        to_square(picture, "pillow")


def test_unknown_backend():
    with pytest.raises(ProtocolError, match="known: paper, pillow"):
        to_square(noise(4, 4), "torch")  # type: ignore[arg-type]


def test_without_torch_the_paper_backend_names_the_command(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else find(name))
    with pytest.raises(MissingExtra, match=r"pixelgate\[perceptual\]"):
        to_square(noise(4, 4), "paper")


def test_fingerprint_names_one_library():
    assert fingerprint("paper")["resize"] == "torchvision"
    assert "resize_pillow" not in fingerprint("paper")
    assert fingerprint("pillow")["resize"] == "pillow"
    assert "resize_torch" not in fingerprint("pillow")


def test_pillow_needs_no_torch():
    code = (
        "import sys, numpy; from pixelgate.io.square import to_square;"
        "to_square(numpy.zeros((5, 6, 3), numpy.uint8), 'pillow'); print('torch' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
