"""Fidelity outside the inpainted region: errors, PSNR, SSIM and LPIPS over the kept pixels of a clip's frames.

Definition: the FlexBench evaluation document. Scores are per frame over the pixels that were not to be changed,
then the mean over the frames that have a value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import Problem
from pixelgate.metrics._backend import backend
from pixelgate.metrics._bands import share, total
from pixelgate.metrics._clip import clip_metric
from pixelgate.metrics._inpainting_lpips import FrameBatches, lpips_fingerprint, masked_lpips
from pixelgate.metrics._inpainting_params import PARAMS, PEAK, Definition, checked, definition
from pixelgate.metrics._validate import PictureError, check_picture, check_same_size
from pixelgate.metrics.registry import Image, Runtime

__all__ = [
    "NAMES",
    "PARAMS",
    "Aggregate",
    "Definition",
    "FrameBatches",
    "FrameScores",
    "Region",
    "aggregate",
    "checked",
    "definition",
    "kept_fraction",
    "masked_lpips",
    "masked_mae",
    "masked_mse",
    "masked_psnr",
    "masked_ssim",
    "region",
    "score_frame",
]

Keep = NDArray[np.bool_]
Reference = NDArray[np.uint8] | NDArray[np.float32]
"""A reference frame, height x width x 3, 0 to 255; float32 where it was resized, since it is not rounded then."""

NAMES = ("psnr", "ssim", "lpips", "mse", "mae", "kept_fraction")


@dataclass(frozen=True)
class Region:
    """The kept pixels of a frame and the kept windows; made by `region`.

    Attributes:
        keep: height x width, True where a pixel counts.
        whole: True where the 11 x 11 window that begins at a pixel lies wholly within the kept ones; 10 rows and 10
            columns smaller.
        pixels, windows: how many there are of either.
    """

    keep: Keep
    whole: Keep
    pixels: int
    windows: int

    @property
    def fraction(self) -> float:
        """Share of the pixels that count, 0 to 1."""
        return self.pixels / self.keep.size


@dataclass(frozen=True)
class FrameScores:
    """The scores of one frame; None where there is nothing to score.

    Attributes:
        kept_fraction: share of kept pixels, 0 to 1.
        mse, mae: mean squared and mean absolute error over kept pixels and channels, on the 0 to 255 scale.
        psnr: dB, at most the cap.
        psnr_capped: whether `psnr` is the cap.
        ssim: mean over the kept windows and RGB, -1 to 1.
        ssim_windows: kept windows.
        lpips: see `masked_lpips`; computed apart from the rest.
    """

    kept_fraction: float
    mse: float | None = None
    mae: float | None = None
    psnr: float | None = None
    psnr_capped: bool = False
    ssim: float | None = None
    ssim_windows: int = 0
    lpips: float | None = None


@dataclass(frozen=True)
class Aggregate:
    """The scores of a clip.

    Attributes:
        mean: name -> mean over the frames that have a value; None where none has.
        frames: frames scored.
        frames_with_value: name -> frames that have a value.
        psnr_capped_frames: frames whose PSNR is the cap.
    """

    mean: Mapping[str, float | None]
    frames: int
    frames_with_value: Mapping[str, int]
    psnr_capped_frames: int


def region(keep: Keep) -> Region:
    """Prepare the kept pixels of a frame; frames of one mask can share the result.

    Args:
        keep: bool, height x width.

    Raises:
        PictureError: another shape or type.
    """
    if not isinstance(keep, np.ndarray) or keep.dtype != np.bool_ or keep.ndim != 2 or 0 in keep.shape:
        given = f"{keep.dtype}, shape {keep.shape}" if isinstance(keep, np.ndarray) else type(keep).__name__
        mend = "Give a bool array, height x width, True where a pixel counts."
        raise PictureError(Problem("", "keep-mask", f"the mask of kept pixels is {given}", mend))
    keep = np.ascontiguousarray(keep)
    whole = np.ascontiguousarray(_whole_windows(keep))
    return Region(keep, whole, int(np.count_nonzero(keep)), int(np.count_nonzero(whole)))


def score_frame(
    generated: Image,
    reference: Reference,
    kept: Region,
    rules: Definition | None = None,
    *,
    with_ssim: bool = True,
    threads: int | None = None,
) -> FrameScores:
    """All pixel scores of one frame; masked pixels do not reach any of them.

    Args:
        generated: uint8, height x width x 3.
        reference: uint8 or float32, the same shape, 0 to 255.
        kept: of `region`, for frames of this size.
        rules: of `definition`; None takes FlexBench's.
        with_ssim: whether to compute SSIM, which takes most of the time.
        threads: most CPU threads; None for all that the process may run on. The scores are the same.

    Returns:
        The scores; None for all but the fraction where every pixel is masked, None for SSIM where no window survives.

    Raises:
        PictureError: another type or shape, or a kept value of the reference that is not finite.
    """
    rules = rules or definition({})
    x, y = _lines(generated, reference, kept)
    if kept.pixels == 0:
        return FrameScores(0.0)
    squared, absolute, similar = _sums(x, y, kept, rules, with_ssim and kept.windows > 0, threads)
    values = 3 * kept.pixels
    mse, mae = squared / values, absolute / values
    decibels = math.inf if mse == 0.0 else 10.0 * math.log10(PEAK * PEAK / mse)
    # The bounds hold for each window; round-off may pass them by an ulp.
    ssim = None if similar is None else min(1.0, max(-1.0, similar / (3 * kept.windows)))
    capped = decibels >= rules.psnr_cap
    psnr = rules.psnr_cap if capped else decibels
    return FrameScores(kept.fraction, mse, mae, psnr, capped, ssim, kept.windows)


def aggregate(frames: Sequence[FrameScores]) -> Aggregate:
    """Means over the frames that have a value; exactly rounded, so that the frames' order does not matter."""
    mean: dict[str, float | None] = {}
    counts = {}
    for name in NAMES:
        values = [value for frame in frames if (value := getattr(frame, name)) is not None]
        counts[name] = len(values)
        mean[name] = math.fsum(values) / len(values) if values else None
    return Aggregate(mean, len(frames), counts, sum(frame.psnr_capped for frame in frames))


def masked_mse(generated: Image, reference: Reference, keep: Keep) -> float | None:
    """Mean squared error over kept pixels and RGB, on the 0 to 255 scale; lower is better, None without a kept pixel.

    Args, errors: as `score_frame` and `region`.
    """
    return score_frame(generated, reference, region(keep), with_ssim=False).mse


def masked_mae(generated: Image, reference: Reference, keep: Keep) -> float | None:
    """Mean absolute error over kept pixels and RGB, 0 to 255; lower is better, None without a kept pixel.

    Args, errors: as `score_frame` and `region`.
    """
    return score_frame(generated, reference, region(keep), with_ssim=False).mae


def masked_psnr(generated: Image, reference: Reference, keep: Keep, *, cap_db: float = 100.0) -> float | None:
    """PSNR over kept pixels and RGB in dB, at most `cap_db`; higher is better, None without a kept pixel.

    Args, errors: as `score_frame` and `region`.
    """
    rules = definition({"psnr_cap": cap_db})
    return score_frame(generated, reference, region(keep), rules, with_ssim=False).psnr


def masked_ssim(generated: Image, reference: Reference, keep: Keep, *, threads: int | None = None) -> float | None:
    """Mean SSIM over the windows that are wholly kept and RGB, -1 to 1; higher is better, None without a window.

    11 x 11 Gaussian window of sigma 1.5, biased covariance, K1 0.01, K2 0.03, data range 255.

    Args, errors: as `score_frame` and `region`.

    Source: Wang et al. 2004; the window is kept where an erosion of the kept pixels by 11 x 11 leaves its centre.
    """
    return score_frame(generated, reference, region(keep), threads=threads).ssim


def kept_fraction(keep: Keep) -> float:
    """Share of the pixels that are kept, 0 to 1; errors as `region`."""
    return region(keep).fraction


def _whole_windows(keep: Keep) -> Keep:
    # Runs of 2, 4, 8 and then 8 + 3 pixels, along either axis; empty where a side is below 11.
    windows = keep
    for length in (1, 2, 4, 3):
        windows = windows[:-length] & windows[length:]
    for length in (1, 2, 4, 3):
        windows = windows[:, :-length] & windows[:, length:]
    return windows


def _lines(generated: Image, reference: Reference, kept: Region) -> tuple[NDArray[np.uint8], Reference]:
    generated = check_picture(generated, "output")
    if not isinstance(reference, np.ndarray) or reference.dtype not in (np.uint8, np.float32):
        given = reference.dtype if isinstance(reference, np.ndarray) else type(reference).__name__
        found = f"the reference is of type {given}"
        raise PictureError(Problem("", "picture-dtype", found, "Give uint8, or float32 from 0 to 255."))
    check_same_size(generated, reference.shape)
    if kept.keep.shape != generated.shape[:2]:
        found = f"the mask is {kept.keep.shape[1]} x {kept.keep.shape[0]} pixels, unlike the frames"
        raise PictureError(Problem("", "picture-size", found, "Give a mask of the frames' size."))
    height = generated.shape[0]
    return generated.reshape(height, -1), cast(Reference, np.ascontiguousarray(reference).reshape(height, -1))


def _sums(
    x: NDArray[np.uint8],
    y: Reference,
    kept: Region,
    rules: Definition,
    with_ssim: bool,
    threads: int | None,
) -> tuple[float, float, float | None]:
    """Sums of squared errors, of absolute errors and of the SSIM map; each row by itself, then exactly rounded."""
    kernels = backend().kernels("_numba_masked", "_numpy_masked")
    height = len(x)
    squared, absolute, similar = np.zeros((3, height))
    keep, whole = kept.keep.view(np.uint8), kept.whole.view(np.uint8)

    def band(first: int, end: int) -> None:
        kernels.error_rows(x, y, keep, first, end, squared, absolute)
        if with_ssim and first < len(whole):
            last = min(end, len(whole))
            kernels.similarity_rows(x, y, whole, rules.weights, rules.c1, rules.c2, first, last, similar)

    share(height, kept.keep.shape[1], threads, band)
    error = total(squared.tolist())
    if not math.isfinite(error):
        raise PictureError(Problem("", "not-finite", "the reference holds NaN or infinity", "Give finite values."))
    return error, total(absolute.tolist()), total(similar.tolist()) if with_ssim else None


def pixel_fingerprint(params: Mapping[str, Any], runtime: Runtime) -> Mapping[str, str]:
    """What decides the pixel scores beside frames and parameters: the backend and what decodes the clips.

    Raises:
        MissingExtra: PyAV is not installed.
    """
    from pixelgate.io._video_av import library

    return {**backend().fingerprint, "av": str(library().__version__)}


def _lpips_fingerprint(params: Mapping[str, Any], runtime: Runtime) -> Mapping[str, str]:
    own = {key: value for key, value in pixel_fingerprint(params, runtime).items() if key != "backend"}
    return {**own, "pixels": backend().name, **lpips_fingerprint(params, runtime)}


_SOURCE = "FlexBench evaluation document: over the pixels outside the inpainted region, mean over frames"

clip_metric(
    "inpaint_psnr",
    "PSNR",
    group="inpainting",
    direction="higher",
    source=f"{_SOURCE}; 10 log10(255^2 / MSE) of each frame, cut at a cap",
    fingerprint=pixel_fingerprint,
    high=100.0,
    perfect=100.0,
    unit="dB",
    extra="video",
)
clip_metric(
    "inpaint_ssim",
    "SSIM",
    group="inpainting",
    direction="higher",
    source=f"{_SOURCE}; Wang et al. 2004, 11 x 11 windows that are wholly kept",
    fingerprint=pixel_fingerprint,
    low=-1.0,
    high=1.0,
    perfect=1.0,
    extra="video",
)
clip_metric(
    "inpaint_lpips",
    "LPIPS",
    group="inpainting",
    direction="lower",
    source=f"{_SOURCE}, the rest filled with grey; Zhang et al., CVPR 2018; package lpips 0.1.4, version 0.1",
    fingerprint=_lpips_fingerprint,
    extra="perceptual",
    noise=1e-6,
)
clip_metric(
    "inpaint_mse",
    "MSE",
    group="inpainting",
    direction="lower",
    source=f"{_SOURCE}, on the 0 to 255 scale",
    fingerprint=pixel_fingerprint,
    high=PEAK * PEAK,
    extra="video",
)
clip_metric(
    "inpaint_mae",
    "MAE",
    group="inpainting",
    direction="lower",
    source=f"{_SOURCE}, on the 0 to 255 scale",
    fingerprint=pixel_fingerprint,
    high=PEAK,
    extra="video",
)
clip_metric(
    "inpaint_kept_fraction",
    "kept fraction",
    group="inpainting",
    direction="none",
    source="share of the pixels that are scored, mean over frames; no measure of quality",
    fingerprint=pixel_fingerprint,
    high=1.0,
    perfect=1.0,
    extra="video",
)
