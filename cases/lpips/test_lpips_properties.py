"""Which properties LPIPS has, and which it has not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pixelgate.metrics.lpips import lpips
from pixelgate.metrics.registry import Image

FEW = settings(max_examples=12, deadline=None)
SIDE = st.integers(31, 48)
SEED = st.integers(0, 2**32 - 1)


@st.composite
def pictures(draw: st.DrawFn, count: int = 1) -> list[Image]:
    """Pictures of one size: noise, flat, few colours, or saturated."""
    shape = (draw(SIDE), draw(SIDE), 3)
    made = []
    for _ in range(count):
        kind = draw(st.sampled_from(["noise", "flat", "sparse", "saturated"]))
        rng = np.random.default_rng(draw(SEED))
        if kind == "noise":
            made.append(rng.integers(0, 256, shape, dtype=np.uint8))
        elif kind == "flat":
            made.append(np.full(shape, rng.integers(0, 256, 3), dtype=np.uint8))
        elif kind == "sparse":
            made.append(draw(arrays(np.uint8, shape, elements=st.integers(0, 255), fill=st.integers(0, 255))))
        else:
            made.append((rng.integers(0, 2, shape) * 255).astype(np.uint8))
    return made


@FEW
@given(pictures())
def test_identical_pictures_are_exactly_0_apart(one: list[Image]) -> None:
    assert lpips(one[0], one[0].copy()) == 0.0


@FEW
@given(pictures(2))
def test_never_negative_always_finite_symmetric_and_repeatable(two: list[Image]) -> None:
    value = lpips(*two)
    assert 0 <= value < np.inf
    assert value == lpips(two[1], two[0])
    assert value == lpips(*two)
    assert isinstance(value, float)


@FEW
@given(st.integers(0, 150), st.integers(0, 150), SEED)
def test_grows_with_growing_noise(top: int, left: int, seed: int) -> None:
    image = PHOTOGRAPH[top : top + 48, left : left + 48]
    noise = np.random.default_rng(seed).standard_normal(image.shape)
    values = [
        lpips(np.clip(np.rint(image + level * noise), 0, 255).astype(np.uint8), image) for level in (0, 3, 12, 48)
    ]
    assert values[0] == 0.0
    assert values == sorted(values)
    assert len(set(values)) == 4


def test_one_level_in_one_channel_of_one_pixel_is_seen() -> None:
    output = PHOTOGRAPH.copy()
    output[100, 100, 1] += 1
    assert 0 < lpips(output, PHOTOGRAPH) < 1e-4


@pytest.mark.parametrize("level", [0, 1, 128, 254, 255])
def test_flat_pictures(level: int) -> None:
    flat = np.full((31, 31, 3), level, np.uint8)
    assert lpips(flat, flat) == 0.0
    assert np.isfinite(lpips(flat, np.full_like(flat, 255 - level)))
    assert lpips(flat, PHOTOGRAPH[:31, :31]) > 0.1


def test_not_invariant_to_a_permutation_of_the_channels() -> None:
    output = np.roll(PHOTOGRAPH, 2, axis=0)
    values = {lpips(output[..., order], PHOTOGRAPH[..., order]) for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0])}
    assert max(values) - min(values) > 1e-3


def test_not_invariant_to_transposition_mirroring_or_turning() -> None:
    """The filters are not symmetric: a turned pair is near its original, and not equal to it."""
    output = np.roll(PHOTOGRAPH, 2, axis=0)
    original = lpips(output, PHOTOGRAPH)
    for change in (lambda x: x.swapaxes(0, 1), lambda x: x[:, ::-1], lambda x: np.rot90(x, 2)):
        changed = lpips(change(output), change(PHOTOGRAPH))
        assert 1e-5 < abs(changed - original) < 0.5 * original


def test_no_triangle_inequality_is_claimed() -> None:
    """The distance is a sum of squares: going halfway twice is shorter than going once."""
    half = ((PHOTOGRAPH.astype(int) + 128) // 2).astype(np.uint8)
    flat = np.full_like(PHOTOGRAPH, 128)
    assert lpips(PHOTOGRAPH, flat) > 0
    assert lpips(PHOTOGRAPH, half) < lpips(PHOTOGRAPH, flat)


def _photograph() -> Image:
    from pathlib import Path

    from PIL import Image as Pillow

    with Pillow.open(Path(__file__).parent.parent / "conformance" / "pst" / "content" / "p-002.png") as opened:
        return np.array(opened.convert("RGB"))


PHOTOGRAPH = _photograph()
