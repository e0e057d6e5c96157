"""What holds for each pixel metric, and what does not, on pictures made at random."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pixelgate.metrics.delta_e import delta_e_2000, delta_e_2000_lab
from pixelgate.metrics.histogram import histogram_correlation
from pixelgate.metrics.psnr import psnr
from pixelgate.metrics.registry import Runtime, get_metric
from pixelgate.metrics.ssim import ssim

pytestmark = pytest.mark.usefixtures("backend")

METRICS = [psnr, ssim, delta_e_2000, histogram_correlation]
IDS = {psnr: "psnr", ssim: "ssim", delta_e_2000: "delta_e_2000", histogram_correlation: "histogram_correlation"}
every_metric = pytest.mark.parametrize("metric", METRICS, ids=IDS.get)
quick = settings(max_examples=25, deadline=None)


@st.composite
def pictures(draw, count=2, low=11, high=24):
    """Noise, few levels, ramps and flat areas; all sides odd and even."""
    shape = (draw(st.integers(low, high)), draw(st.integers(low, high)), 3)
    made = []
    for _ in range(count):
        kind = draw(st.sampled_from(["noise", "levels", "ramp", "flat"]))
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        if kind == "noise":
            picture = rng.integers(0, 256, shape)
        elif kind == "levels":
            picture = rng.choice([0, 1, 128, 254, 255], shape)
        elif kind == "ramp":
            picture = np.add.outer(np.arange(shape[0]), np.arange(shape[1]))[..., None] * rng.integers(1, 6, 3) % 256
        else:
            picture = np.broadcast_to(rng.integers(0, 256, 3), shape)
        made.append(np.ascontiguousarray(picture, dtype=np.uint8))
    return made


def photograph(height=48, width=56):
    """Smooth enough to be like a photograph, and away from the ends of the range."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [128 + 50 * np.sin(x / 9 + c) * np.cos(y / 7 - c) for c in range(3)]
    return np.stack(planes, axis=-1).round().astype(np.uint8)


@every_metric
@quick
@given(pair=pictures())
def test_symmetric(metric, pair):
    assert metric(*pair) == pytest.approx(metric(*reversed(pair)), rel=0, abs=1e-12)


@every_metric
@quick
@given(pair=pictures(count=1))
def test_equal_pictures_score_exactly_perfect(metric, pair):
    assert metric(pair[0], pair[0].copy()) == get_metric(IDS[metric]).perfect


@every_metric
@quick
@given(pair=pictures())
def test_within_its_range(metric, pair):
    definition = get_metric(IDS[metric])
    value = metric(*pair)
    assert type(value) is float
    assert definition.low <= value <= definition.high


@every_metric
@quick
@given(pair=pictures())
def test_transposed_pictures_score_the_same(metric, pair):
    turned = [picture.transpose(1, 0, 2) for picture in pair]
    assert metric(*turned) == pytest.approx(metric(*pair), rel=0, abs=1e-12)


@pytest.mark.parametrize("metric", [psnr, ssim, histogram_correlation], ids=IDS.get)
@quick
@given(pair=pictures(), order=st.permutations([0, 1, 2]))
def test_channels_count_alike(metric, pair, order):
    mixed = [picture[..., order] for picture in pair]
    assert metric(*mixed) == pytest.approx(metric(*pair), rel=0, abs=1e-12)


def test_channels_do_not_count_alike_in_delta_e():
    first = photograph()
    second = (first * [0.9, 0.7, 0.4]).astype(np.uint8)
    assert abs(delta_e_2000(first, second) - delta_e_2000(first[..., ::-1], second[..., ::-1])) > 0.1


@pytest.mark.parametrize("metric", [psnr, ssim, delta_e_2000], ids=IDS.get)
@quick
@given(seed=st.integers(0, 2**32 - 1))
def test_worse_under_growing_noise(metric, seed):
    reference = photograph()
    noise = np.random.default_rng(seed).normal(0, 1, reference.shape)
    noisy = [np.clip(reference + level * noise, 0, 255).round().astype(np.uint8) for level in (2, 5, 12, 30, 70)]
    values = [metric(picture, reference) for picture in noisy]
    ordered = sorted(values, reverse=get_metric(IDS[metric]).direction == "higher")
    assert values == ordered
    assert len(set(values)) == len(values)


def test_histogram_correlation_is_not_monotone_in_the_error():
    """A shift by one level can cost more than a shift by many; and moved pixels cost nothing."""
    reference = np.zeros((16, 16, 3), dtype=np.uint8)
    reference[::2] = 20
    near, far = reference + np.uint8(1), reference + np.uint8(20)
    assert psnr(near, reference) > psnr(far, reference)
    assert histogram_correlation(near, reference) < histogram_correlation(far, reference)


def test_histogram_correlation_does_not_see_places():
    reference = photograph()
    moved = np.roll(reference, 7, axis=1)
    assert histogram_correlation(moved, reference) == 1.0
    assert psnr(moved, reference) < 30


@quick
@given(pair=pictures())
def test_histogram_correlation_is_free_of_size(pair):
    larger = np.tile(pair[1], (2, 3, 1))
    assert histogram_correlation(pair[0], larger) == pytest.approx(histogram_correlation(*pair), rel=0, abs=1e-12)


def test_delta_e_breaks_the_triangle_inequality():
    """CIEDE2000 is no distance in the mathematical sense; nothing may rely on it."""
    rng = np.random.default_rng(5)
    a, b, c = (rng.uniform((0, -90, -90), (100, 90, 90), (4000, 3)) for _ in range(3))
    detour = delta_e_2000_lab(a, b) + delta_e_2000_lab(b, c)
    assert (delta_e_2000_lab(a, c) > detour + 1).any()


@pytest.mark.parametrize(("metric", "side"), [(psnr, 1), (delta_e_2000, 1), (histogram_correlation, 1), (ssim, 11)])
def test_smallest_size(metric, side):
    assert get_metric(IDS[metric]).min_side == side
    dark, light = np.full((side, side, 3), 40, np.uint8), np.full((side, side, 3), 90, np.uint8)
    assert metric(dark, dark) == get_metric(IDS[metric]).perfect
    assert np.isfinite(metric(dark, light))
    assert metric(dark, light) != metric(dark, dark)


@every_metric
@pytest.mark.parametrize("level", [0, 1, 127, 128, 254, 255])
def test_constant_pictures(metric, level):
    flat = np.full((13, 17, 3), level, np.uint8)
    assert metric(flat, flat) == get_metric(IDS[metric]).perfect
    assert np.isfinite(metric(flat, 255 - flat))


def test_black_against_white():
    black, white = np.zeros((12, 15, 3), np.uint8), np.full((12, 15, 3), 255, np.uint8)
    assert psnr(black, white) == 0.0
    assert delta_e_2000(black, white) == pytest.approx(100.0, abs=1e-9)
    # Both means and no structure: (0 + C1) / (255^2 + C1).
    assert ssim(black, white) == pytest.approx(6.5025 / (65025 + 6.5025), abs=1e-12)
    # One full bin each, not the same one of 256.
    assert histogram_correlation(black, white) == pytest.approx(-1 / 255, abs=1e-12)


@pytest.mark.parametrize("corner", [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0), (255, 0, 255), (0, 255, 255)])
def test_saturated_colours(corner):
    full = np.broadcast_to(np.array(corner, np.uint8), (11, 11, 3))
    grey = np.full((11, 11, 3), 128, np.uint8)
    assert delta_e_2000(full, full) == 0.0
    assert 20 < delta_e_2000(full, grey) < 100
    assert -1 <= ssim(full, grey) <= 1


@quick
@given(levels=hnp.arrays(np.uint8, (1, 40, 3)), seed=st.integers(0, 2**32 - 1))
def test_delta_e_of_a_picture_is_that_of_its_lab(levels, seed):
    """The picture's number is the mean of the pixels' numbers from the function that Sharma's table tests."""
    other = np.random.default_rng(seed).integers(0, 256, levels.shape, dtype=np.uint8)
    scorer = get_metric("delta_e_2000").bind({}, Runtime())
    first, second = (np.moveaxis(scorer.prepare(picture).lab, 1, -1) for picture in (levels, other))
    expected = delta_e_2000_lab(first, second).mean()
    assert delta_e_2000(levels, other) == pytest.approx(expected, rel=0, abs=1e-12)


def hues_nearly_opposite(first, second):
    """Where round-off alone decides on which side the mean hue lies."""
    turn = np.arctan2(first[..., 2], first[..., 1]) - np.arctan2(second[..., 2], second[..., 1])
    return np.abs(np.abs(np.mod(turn, 2 * np.pi)) - np.pi) < 1e-6


lab_values = st.one_of(
    st.floats(-128, 128, allow_subnormal=False).filter(lambda value: value == 0 or abs(value) > 1e-6),
    st.sampled_from([0.0, 1e-3, -1e-3, 0.5, -0.5]),
)


@settings(max_examples=150, deadline=None)
@given(
    lightness=hnp.arrays(np.float64, (2, 12), elements=st.floats(0, 100, allow_subnormal=False)),
    colour=hnp.arrays(np.float64, (2, 12, 2), elements=lab_values),
)
def test_delta_e_against_scikit_image(lightness, colour):
    from skimage.color import deltaE_ciede2000

    first, second = np.concatenate([lightness[..., None], colour], axis=-1)
    expected, got = deltaE_ciede2000(first, second), delta_e_2000_lab(first, second)
    clear = ~hues_nearly_opposite(first, second)
    np.testing.assert_allclose(got[clear], expected[clear], rtol=0, atol=1e-9)


def test_delta_e_against_scikit_image_on_many_colours():
    from skimage.color import deltaE_ciede2000

    rng = np.random.default_rng(11)
    first, second = (rng.uniform((0, -110, -110), (100, 110, 110), (200_000, 3)) for _ in range(2))
    clear = ~hues_nearly_opposite(first, second)
    assert clear.mean() > 0.99
    got = delta_e_2000_lab(first, second)
    np.testing.assert_allclose(got[clear], deltaE_ciede2000(first, second)[clear], rtol=0, atol=1e-10)


@pytest.mark.parametrize("b", [-33.0, -2.0, 0.0, 7.0, 25.0])
@pytest.mark.parametrize("a", [-30.0, -5.0, 1.0, 12.0, 40.0])
def test_exactly_opposite_hues_take_the_mean_of_the_angles(a, b):
    """Sharma's rule at 180 degrees is (h1 + h2) / 2: the limit from just below, above the smaller hue."""
    exact = delta_e_2000_lab([50, a, b], [60, -a, -b])
    first_smaller = b > 0 or (b == 0 and a > 0)
    small, large = ((a, b, 50), (-a, -b, 60)) if first_smaller else ((-a, -b, 60), (a, b, 50))
    chroma, hue = np.hypot(a, b), np.arctan2(small[1], small[0]) + np.pi

    def turned(by):
        other = [large[2], chroma * np.cos(hue + by), chroma * np.sin(hue + by)]
        return delta_e_2000_lab([small[2], small[0], small[1]], other)

    assert exact == pytest.approx(turned(-1e-8), rel=0, abs=1e-5)
    # From above it is another number, so that the test can fail.
    assert abs(exact - turned(1e-8)) > 1e-3


@pytest.mark.parametrize("first", [(50, 0, 0), (50, 20, -30), (0, 0, 0)])
def test_no_chroma_on_one_side(first):
    """The mean hue is then that of the other side, and there is no hue difference."""
    from skimage.color import deltaE_ciede2000

    grey = (62, 0, 0)
    assert delta_e_2000_lab(first, grey) == pytest.approx(float(deltaE_ciede2000(first, grey)), abs=1e-12)
    assert delta_e_2000_lab(grey, first) == delta_e_2000_lab(first, grey)


@pytest.mark.parametrize("chroma", [1e-8, 1e-14, 1e-16, 1e-80, 1e-160, 1e-310])
def test_vanishing_chroma_tends_to_none(chroma):
    """No NaN on the way, and no step larger than the chroma itself can explain."""
    for other in ([62, 0, 0], [62, chroma, -chroma], [62, 20, -30]):
        got = delta_e_2000_lab([50, chroma, chroma], other)
        assert got == pytest.approx(delta_e_2000_lab([50, 0, 0], other), rel=0, abs=20 * chroma**0.5 + 1e-12)
