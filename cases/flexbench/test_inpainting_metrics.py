"""Properties of the masked scores: against another library, under complements, hidden values and growing noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from inpainting_tools import boxes, pan

from pixelgate.errors import ProtocolError
from pixelgate.metrics import get_metric
from pixelgate.metrics._validate import PictureError
from pixelgate.metrics.inpainting import (
    FrameScores,
    aggregate,
    definition,
    kept_fraction,
    masked_mae,
    masked_mse,
    masked_psnr,
    masked_ssim,
    region,
    score_frame,
)
from pixelgate.metrics.registry import Runtime

FRAMES = arrays(np.uint8, st.tuples(st.integers(1, 24), st.integers(1, 24), st.just(3)))


@pytest.fixture(params=["numpy", "numba"], autouse=True)
def backend(request, monkeypatch):
    if request.param == "numba":
        pytest.importorskip("numba")
    monkeypatch.setenv("PIXELGATE_BACKEND", request.param)
    return request.param


def draw(seed, height=40, width=52, kept=0.7):
    """A pair of frames, the second of floats, and a mask of rectangles."""
    rng = np.random.default_rng(seed)
    generated = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
    reference = np.clip(generated + rng.normal(0, 20, generated.shape), 0, 255).astype(np.float32)
    keep = np.ones((height, width), dtype=bool)
    while keep.mean() > kept:
        top, left = rng.integers(0, height), rng.integers(0, width)
        keep[top : top + 8, left : left + 9] = False
    return generated, reference, keep


def slow_ssim_map(x, y):
    """The formula window by window; Wang et al. 2004 with the 11 x 11 Gaussian window of sigma 1.5."""
    taps = np.exp(-(np.arange(-5, 6) ** 2) / (2 * 1.5**2))
    window = np.outer(taps, taps) / taps.sum() ** 2
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    rows, columns = x.shape[0] - 10, x.shape[1] - 10
    found = np.empty((rows, columns, 3))
    for row in range(rows):
        for column in range(columns):
            a, b = (z[row : row + 11, column : column + 11].astype(np.float64) for z in (x, y))
            mean = [np.einsum("ij,ijc->c", window, values) for values in (a, b, a * a, b * b, a * b)]
            mx, my, xx, yy, xy = mean
            above = (2 * mx * my + c1) * (2 * (xy - mx * my) + c2)
            found[row, column] = above / ((mx**2 + my**2 + c1) * (xx - mx**2 + yy - my**2 + c2))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_every_kept_window_counts_and_no_other(seed):
    generated, reference, keep = draw(seed, kept=0.85)
    whole = np.array([[keep[r : r + 11, c : c + 11].all() for c in range(42)] for r in range(30)])
    assert 0 < whole.sum() < whole.size
    scores = score_frame(generated, reference, region(keep))
    assert scores.ssim_windows == whole.sum()
    assert scores.ssim == pytest.approx(slow_ssim_map(generated, reference)[whole].mean(), abs=1e-12)


@pytest.mark.parametrize("shape", [(11, 11), (11, 300), (200, 12), (64, 139)])
def test_without_a_mask_ssim_is_that_of_scikit_image(shape):
    metrics = pytest.importorskip("skimage.metrics")
    generated, reference, _ = draw(1, *shape)
    options = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "data_range": 255}
    for other in (reference, reference.astype(np.uint8)):
        wanted = metrics.structural_similarity(
            other.astype(np.float64), generated.astype(np.float64), channel_axis=-1, **options
        )
        assert masked_ssim(generated, other, np.ones(shape, dtype=bool)) == pytest.approx(wanted, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(frame=FRAMES, seed=st.integers(0, 2**32 - 1))
def test_a_mask_and_its_complement_make_up_the_frame(frame, seed):
    rng = np.random.default_rng(seed)
    reference = rng.integers(0, 256, frame.shape, dtype=np.uint8)
    keep = rng.random(frame.shape[:2]) < rng.random()
    whole = np.ones_like(keep)
    share = kept_fraction(keep)
    assert share + kept_fraction(~keep) == pytest.approx(1.0, abs=1e-15)
    for score in (masked_mse, masked_mae):
        parts = [(score(frame, reference, part), kept_fraction(part)) for part in (keep, ~keep)]
        joined = sum(value * weight for value, weight in parts if value is not None)
        assert joined == pytest.approx(score(frame, reference, whole), rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), value=st.sampled_from([0.0, 255.0, 1e30, -1e30, math.nan]))
def test_masked_pixels_never_matter(seed, value):
    generated, reference, keep = draw(seed)
    changed, other = generated.copy(), reference.copy()
    changed[~keep] = 255 - changed[~keep]
    other[~keep] = value
    with np.errstate(all="ignore"):
        assert score_frame(generated, reference, region(keep)) == score_frame(changed, other, region(keep))


def test_equal_frames_are_perfect_and_capped():
    generated, _, keep = draw(0)
    scores = score_frame(generated, generated, region(keep))
    assert (scores.mse, scores.mae, scores.psnr, scores.psnr_capped, scores.ssim) == (0.0, 0.0, 100.0, True, 1.0)
    assert score_frame(generated, generated.astype(np.float32), region(keep)) == scores


def test_psnr_never_passes_the_cap():
    generated, reference, keep = draw(0)
    assert masked_psnr(generated, reference, keep, cap_db=10.0) == 10.0
    almost = generated.astype(np.float32)
    almost[0, 0, 0] += 1e-4
    keep[0, 0] = True
    scores = score_frame(generated, almost, region(keep))
    assert scores.mse > 0
    assert (scores.psnr, scores.psnr_capped) == (100.0, True)


def test_psnr_is_the_error_in_decibels():
    generated, reference, keep = draw(0)
    wanted = 10 * math.log10(255**2 / np.mean((generated[keep] - reference[keep].astype(np.float64)) ** 2))
    assert masked_psnr(generated, reference, keep) == pytest.approx(wanted, abs=1e-10)


def test_more_noise_scores_worse():
    clip, mask = pan(1)[0], boxes(1)[0]
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 1, clip.shape)
    scores = [
        score_frame(clip, np.clip(clip + sigma * noise, 0, 255).astype(np.float32), region(~mask))
        for sigma in (0, 1, 2, 4, 8, 16)
    ]
    for name, sign in (("mse", 1), ("mae", 1), ("psnr", -1), ("ssim", -1)):
        values = [sign * getattr(score, name) for score in scores]
        assert values == sorted(values), name
        assert len(set(values)) == len(values), name


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads_do_not_reach_the_numbers(threads):
    rng = np.random.default_rng(0)
    generated = rng.integers(0, 256, (300, 500, 3), dtype=np.uint8)
    reference = (rng.random((300, 500, 3)) * 255).astype(np.float32)
    keep = np.ones((300, 500), dtype=bool)
    keep[100:180, 90:400] = False
    wanted = score_frame(generated, reference, region(keep), threads=1)
    assert score_frame(generated, reference, region(keep), threads=threads) == wanted


def test_both_backends_give_the_same_numbers(monkeypatch):
    pytest.importorskip("numba")
    for seed in range(3):
        generated, reference, keep = draw(seed, 90, 700, kept=0.9)
        for other in (reference, reference.astype(np.uint8)):
            scores = []
            for name in ("numpy", "numba"):
                monkeypatch.setenv("PIXELGATE_BACKEND", name)
                scores.append(score_frame(generated, other, region(keep)))
            for name in ("mse", "mae", "psnr", "ssim", "kept_fraction"):
                assert getattr(scores[0], name) == pytest.approx(getattr(scores[1], name), rel=1e-12)


def test_where_nothing_is_kept_there_is_no_score():
    generated, reference, keep = draw(0)
    assert score_frame(generated, reference, region(np.zeros_like(keep))) == FrameScores(0.0)


@pytest.mark.parametrize("shape", [(10, 40), (40, 10), (1, 1)])
def test_small_frames_have_errors_and_no_ssim(shape):
    generated, reference, _ = draw(0, *shape)
    scores = score_frame(generated, reference, region(np.ones(shape, dtype=bool)))
    assert scores.mse is not None
    assert (scores.ssim, scores.ssim_windows) == (None, 0)


def test_one_masked_pixel_in_eleven_leaves_no_window():
    generated, reference, _ = draw(0)
    keep = np.ones((40, 52), dtype=bool)
    keep[::11, ::11] = False
    scores = score_frame(generated, reference, region(keep))
    assert (scores.ssim, scores.ssim_windows) == (None, 0)


def test_ssim_is_left_out_where_it_is_not_wanted():
    generated, reference, keep = draw(0)
    assert score_frame(generated, reference, region(keep), with_ssim=False).ssim is None


def test_means_are_over_the_frames_that_have_a_value():
    frames = [
        FrameScores(1.0, 4.0, 2.0, 40.0, False, 0.5, 9, 0.1),
        FrameScores(0.5, 0.0, 0.0, 100.0, True),
        FrameScores(0.0),
    ]
    found = aggregate(frames)
    assert found.mean == {
        "psnr": 70.0,
        "ssim": 0.5,
        "lpips": 0.1,
        "mse": 2.0,
        "mae": 1.0,
        "kept_fraction": 0.5,
    }
    assert found.frames_with_value == {"psnr": 2, "ssim": 1, "lpips": 1, "mse": 2, "mae": 2, "kept_fraction": 3}
    assert (found.frames, found.psnr_capped_frames) == (3, 1)


@pytest.mark.parametrize("bad", [np.float64, np.int16, np.uint16])
def test_other_types_of_reference_are_refused(bad):
    generated, reference, keep = draw(0)
    with pytest.raises(PictureError, match="picture-dtype"):
        score_frame(generated, reference.astype(bad), region(keep))


def test_other_shapes_are_refused():
    generated, reference, keep = draw(0)
    with pytest.raises(PictureError, match="picture-size"):
        score_frame(generated, reference[:-1], region(keep))
    with pytest.raises(PictureError, match="picture-size"):
        score_frame(generated, reference, region(keep[:, :-1]))
    with pytest.raises(PictureError, match="keep-mask"):
        region(keep.astype(np.uint8))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_kept_value_that_is_not_finite_is_an_error(value):
    generated, reference, keep = draw(0)
    row, column = np.argwhere(keep)[0]
    reference[row, column, 1] = value
    with pytest.raises(PictureError, match="not-finite"):
        score_frame(generated, reference, region(keep))


@pytest.mark.parametrize(
    "params",
    [
        {"cap": 1},
        {"psnr_cap": 0},
        {"psnr_cap": math.inf},
        {"mask_threshold": 255},
        {"mask_threshold": True},
        {"mask_mapping": "nearest"},
        {"ssim": {"window": 7}},
        {"ssim": {"sigma": -1}},
        {"ssim": {"covariance": "sample"}},
        {"ssim": 11},
        {"lpips": {"net": "resnet"}},
        {"lpips": {"fill": 0}},
        {"lpips": {"version": "0.0"}},
    ],
)
def test_parameters_without_a_definition_are_refused(params):
    with pytest.raises(ProtocolError):
        definition(params)


def test_the_metrics_are_registered():
    directions = {
        "psnr": ("higher", 100.0, "dB"),
        "ssim": ("higher", 1.0, ""),
        "lpips": ("lower", 0.0, ""),
        "mse": ("lower", 0.0, ""),
        "mae": ("lower", 0.0, ""),
        "kept_fraction": ("none", 1.0, ""),
    }
    for name, wanted in directions.items():
        metric = get_metric(f"inpaint_{name}")
        assert (metric.direction, metric.perfect, metric.unit) == wanted
        assert (metric.group, metric.takes) == ("inpainting", "clip")


def test_the_fingerprint_names_what_decides_the_numbers(backend):
    fingerprint = get_metric("inpaint_ssim").bind({}, Runtime()).fingerprint
    assert fingerprint["backend"] == backend
    assert {"av", backend} <= set(fingerprint)
