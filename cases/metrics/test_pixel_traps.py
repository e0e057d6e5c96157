"""Mistakes that others made with these metrics, each held off by a test."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import convolve2d
from skimage.color import rgb2lab
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from pixelgate.errors import InputError, ProtocolError
from pixelgate.metrics.delta_e import delta_e_2000
from pixelgate.metrics.histogram import histogram_correlation
from pixelgate.metrics.psnr import psnr
from pixelgate.metrics.registry import Runtime, get_metric
from pixelgate.metrics.ssim import ssim

pytestmark = pytest.mark.usefixtures("backend")

PROTOCOL_SSIM = {"channel_axis": -1, "gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}


def noise(seed, *shape):
    return np.random.default_rng(seed).integers(0, 256, (*shape, 3), dtype=np.uint8)


def explicit_ssim(x, y):
    """From the definition: an 11 x 11 window, moments about the mean, a map over the valid region."""
    taps = np.exp(-(np.arange(-5, 6) ** 2) / (2 * 1.5**2))
    window = np.outer(taps, taps) / taps.sum() ** 2
    means = []
    for channel in range(3):
        a, b = x[..., channel].astype(float), y[..., channel].astype(float)

        def local(values):
            return convolve2d(values, window, mode="valid")

        ma, mb = local(a), local(b)
        va, vb, cov = local(a * a) - ma**2, local(b * b) - mb**2, local(a * b) - ma * mb
        c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
        similarity = (2 * ma * mb + c1) * (2 * cov + c2) / ((ma**2 + mb**2 + c1) * (va + vb + c2))
        assert similarity.shape == (x.shape[0] - 10, x.shape[1] - 10)
        means.append(similarity.mean())
    return np.mean(means)


class TestSsim:
    @settings(max_examples=20, deadline=None)
    @given(height=st.integers(11, 40), width=st.integers(11, 40), seed=st.integers(0, 9999))
    def test_window_of_11_taps_and_valid_region(self, height, width, seed):
        x, y = noise(seed, height, width), noise(seed + 1, height, width)
        assert ssim(x, y) == pytest.approx(explicit_ssim(x, y), rel=0, abs=1e-12)

    def test_same_as_scikit_image_without_win_size_and_not_with_it(self, pst):
        x, y = pst.output("mkl", "p-001"), pst.picture("gt/p-001")
        plain = structural_similarity(y, x, data_range=255, **PROTOCOL_SSIM)
        cropped_otherwise = structural_similarity(y, x, data_range=255, win_size=7, **PROTOCOL_SSIM)
        assert ssim(x, y) == pytest.approx(plain, rel=0, abs=1e-12)
        assert abs(cropped_otherwise - plain) > 1e-9

    @pytest.mark.parametrize("shape", [(10, 10), (10, 64), (64, 10)])
    def test_below_11_pixels_is_a_clear_error(self, shape):
        with pytest.raises(InputError, match=rf"{shape[1]} x {shape[0]} pixels.*at least 11"):
            ssim(noise(0, *shape), noise(1, *shape))

    def test_11_pixels_are_one_window(self, pst):
        x, y = pst.output("reinhard", "p-001")[:11, :11], pst.picture("gt/p-001")[:11, :11]
        assert ssim(x, y) == pytest.approx(explicit_ssim(x, y), rel=0, abs=1e-12)

    def test_data_range_cannot_be_mistaken(self):
        x, y = noise(0, 20, 20) / 255.0, noise(1, 20, 20) / 255.0
        with pytest.raises(InputError, match="dtype float64"):
            ssim(x, y)
        for data_range in (1, 2, None, True):
            with pytest.raises(ProtocolError, match="data_range"):
                get_metric("ssim").bind({"data_range": data_range}, Runtime())

    @pytest.mark.parametrize("level", [0, 1, 100, 153, 254])
    def test_nearly_flat_pictures_stay_within_the_bounds(self, level):
        flat = np.full((32, 32, 3), level, np.uint8)
        other = flat + (np.indices((32, 32)).sum(axis=0) % 2).astype(np.uint8)[..., None]
        assert ssim(flat, flat) == 1.0
        assert 0.99 * explicit_ssim(flat, other) < ssim(flat, other) <= 1.0


class TestPsnr:
    def test_differences_do_not_wrap_around(self):
        x, y = np.zeros((4, 4, 3), np.uint8), np.full((4, 4, 3), 170, np.uint8)
        assert psnr(x, y) == pytest.approx(20 * np.log10(255 / 170), abs=1e-12)
        assert psnr(x, y) == pytest.approx(peak_signal_noise_ratio(y, x), abs=1e-12)

    def test_equal_pictures_are_capped(self):
        black = np.zeros((8, 8, 3), np.uint8)
        assert psnr(black, black) == 100.0
        assert psnr(black, black, cap_db=60.0) == 60.0

    def test_the_cap_holds_for_nearly_equal_pictures_too(self):
        x = noise(0, 256, 256)
        y = x.copy()
        y[7, 9, 1] ^= 1
        assert peak_signal_noise_ratio(x, y) == pytest.approx(101.07, abs=0.01)
        assert psnr(y, x) == 100.0

    def test_one_changed_level_shows_below_the_cap(self):
        x = noise(0, 64, 64)
        y = x.copy()
        y[7, 9, 1] ^= 1
        assert psnr(y, x) == pytest.approx(10 * np.log10(65025 * 64 * 64 * 3), abs=1e-12)

    def test_all_values_are_pooled(self):
        x = np.full((8, 8, 3), 100, np.uint8)
        y = x.copy()
        y[..., 0] = 110
        assert psnr(y, x) == pytest.approx(10 * np.log10(65025 / (100 / 3)), abs=1e-12)

    @pytest.mark.parametrize("cap", [0, -1.0, float("inf"), float("nan"), None, "100", True])
    def test_the_cap_must_be_a_finite_number(self, cap):
        with pytest.raises(ProtocolError, match="cap_db"):
            psnr(noise(0, 4, 4), noise(1, 4, 4), cap_db=cap)


class TestColour:
    @pytest.mark.parametrize("dtype", [np.int64, np.uint16, np.float32, bool])
    def test_only_8_bit_pictures(self, dtype):
        white = np.full((4, 4, 3), 255).astype(dtype)
        with pytest.raises(InputError, match=f"output has dtype {np.dtype(dtype)}"):
            delta_e_2000(white, np.full((4, 4, 3), 255, np.uint8))

    @pytest.mark.parametrize("matrix", ["iec61966-2-1-4digit", "srgb-6digit", "srgb-7digit"])
    def test_all_greys_are_neutral(self, matrix):
        greys = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, axis=2)
        lab = get_metric("delta_e_2000").bind({"matrix": matrix}, Runtime()).prepare(greys).lab[0]
        # 1e-9 would do; exact, because CIEDE2000 reads a hue off whatever is left.
        assert not lab[1:].any()
        assert lab[0, 0] == pytest.approx(0, abs=1e-12)
        assert lab[0, 255] == pytest.approx(100, abs=1e-12)
        assert (np.diff(lab[0]) > 0).all()
        # The white point that is usual elsewhere does not fit its matrix.
        assert np.abs(rgb2lab(greys)[..., 1:]).max() > 1e-3

    def test_nearly_grey_colours_are_nearly_neutral(self):
        """The exact zero of greys must be no cliff: one level in one channel is a small step."""
        greys = np.repeat(np.arange(255, dtype=np.uint8)[None, :, None], 3, axis=2)
        tinted = greys + np.array([0, 0, 1], np.uint8)
        lab = get_metric("delta_e_2000").bind({}, Runtime()).prepare(tinted).lab[0]
        assert (np.abs(lab[1:]).max(axis=0) > 0.01).all()
        assert np.abs(lab[1:]).max() < 1.5

    def test_the_matrix_is_named(self):
        x, y = noise(0, 16, 16), noise(1, 16, 16)
        values = {matrix: delta_e_2000(x, y, matrix=matrix) for matrix in ("iec61966-2-1-4digit", "srgb-6digit")}
        assert len(set(values.values())) == 2
        with pytest.raises(ProtocolError, match="matrix must be 'iec61966-2-1-4digit' or 'srgb-6digit'"):
            delta_e_2000(x, y, matrix="srgb")

    def test_lab_agrees_with_scikit_image_but_for_its_white(self):
        picture = noise(3, 32, 32)
        lab = get_metric("delta_e_2000").bind({"matrix": "srgb-6digit"}, Runtime()).prepare(picture).lab
        np.testing.assert_allclose(np.moveaxis(lab, 1, -1), rgb2lab(picture), rtol=0, atol=0.01)


RAMP = np.repeat(np.arange(256, dtype=np.uint8).reshape(16, 16, 1), 3, axis=2)


class TestHistogram:
    def measure(self, output, reference):
        scorer = get_metric("histogram_correlation").bind({}, Runtime())
        return scorer.compare(output, scorer.prepare(reference))

    def test_of_a_picture_with_itself(self):
        for seed in range(8):
            assert histogram_correlation(noise(seed, 9, 7), noise(seed, 9, 7)) == 1.0

    def test_same_as_numpy(self):
        x, y = noise(0, 30, 20) // 3, noise(1, 40, 25) // 2
        by_channel = [
            np.corrcoef(*(np.histogram(p[..., c], bins=256, range=(0, 256))[0] for p in (x, y)))[0, 1] for c in range(3)
        ]
        assert histogram_correlation(x, y) == pytest.approx(np.mean(by_channel), rel=0, abs=1e-12)

    def test_both_flat(self):
        measured = self.measure(RAMP, RAMP[::-1])
        assert measured.value == 1.0
        assert [rule for rule, _ in measured.notes] == ["flat-histogram"] * 3
        assert "red histogram of the output and the reference is flat" in measured.notes[0][1]

    def test_one_flat_channel_counts_as_zero(self):
        other = noise(2, 16, 16)
        mixed = other.copy()
        mixed[..., 1] = RAMP[..., 1]
        measured = self.measure(mixed, other)
        assert measured.value == pytest.approx(2 / 3, abs=1e-12)
        assert len(measured.notes) == 1
        assert measured.notes[0][1] == "the green histogram of the output is flat; the channel counts as 0.0"
        swapped = self.measure(other, mixed)
        assert swapped.value == measured.value
        assert "of the reference is flat" in swapped.notes[0][1]

    def test_larger_flat_pictures_are_flat_too(self):
        assert self.measure(RAMP, np.tile(RAMP, (2, 2, 1))).value == 1.0

    def test_constant_pictures_are_not_flat_histograms(self):
        one, two = np.full((8, 8, 3), 10, np.uint8), np.full((8, 8, 3), 11, np.uint8)
        assert self.measure(one, one).notes == ()
        assert histogram_correlation(one, two) == pytest.approx(-1 / 255, abs=1e-12)


def test_exactly_opposite_hues_take_sharmas_mean_hue():
    """8-bit colours up to level 10 are linear in Lab, so some pairs are opposite to the last digit.

    Sharma's rule for |h1 - h2| <= 180 degrees gives (h1 + h2) / 2; libraries that compare rounded angles fall on either
    side. Expected: the formula written out with h2 = h1 + 180 degrees.
    """
    for one, other in (((8, 4, 2), (1, 3, 4)), ((9, 8, 6), (2, 3, 5)), ((10, 8, 4), (2, 3, 5)), ((1, 3, 4), (8, 4, 2))):
        pictures = [np.full((4, 5, 3), colour, dtype=np.uint8) for colour in (one, other)]
        assert delta_e_2000(*pictures) == pytest.approx(written_out(one, other), rel=0, abs=1e-9), (one, other)


def written_out(one, other):
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    (l1, a1, b1), (l2, a2, b2) = (straight_lab(np.array(colour) / 255 / 12.92, matrix) for colour in (one, other))
    mean_c = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    stretch = 1 + 0.5 * (1 - math.sqrt(mean_c**7 / (mean_c**7 + 25**7)))
    c1, c2 = math.hypot(stretch * a1, b1), math.hypot(stretch * a2, b2)
    h1 = math.degrees(math.atan2(b1, stretch * a1)) % 360
    h2 = (h1 + 180) % 360
    hue, chroma, light = (h1 + h2) / 2, (c1 + c2) / 2, (l1 + l2) / 2
    dl, dc, dh = l2 - l1, c2 - c1, 2 * math.sqrt(c1 * c2) * math.sin(math.radians(h2 - h1) / 2)

    def cosine(degrees):
        return math.cos(math.radians(degrees))

    weight = (
        1 - 0.17 * cosine(hue - 30) + 0.24 * cosine(2 * hue) + 0.32 * cosine(3 * hue + 6) - 0.2 * cosine(4 * hue - 63)
    )
    sl = 1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2)
    sc, sh = 1 + 0.045 * chroma, 1 + 0.015 * chroma * weight
    turn = 30 * math.exp(-(((hue - 275) / 25) ** 2))
    rotation = -2 * math.sqrt(chroma**7 / (chroma**7 + 25**7)) * math.sin(math.radians(2 * turn))
    return math.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + rotation * dc / sc * dh / sh)


def straight_lab(linear, matrix):
    """Lab on its straight part, below 216/24389 of the white."""
    fx, fy, fz = (24389 / 27 * (matrix @ linear) / matrix.sum(axis=1) + 16) / 116
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)
