"""Structural similarity of 8-bit colour pictures."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import ProtocolError
from pixelgate.metrics._backend import Backend
from pixelgate.metrics._bands import row_sums, total
from pixelgate.metrics._scorer import PixelScorer
from pixelgate.metrics._validate import check_params, check_picture, check_same_size, fixed, positive
from pixelgate.metrics.registry import Image, Measurement, Metric, Runtime, register

RADIUS = 5
MIN_SIDE = 2 * RADIUS + 1
DATA_RANGE = 255
DEFAULTS: Mapping[str, Any] = {
    "sigma": 1.5,
    "truncate": 3.5,
    "k1": 0.01,
    "k2": 0.03,
    "data_range": DATA_RANGE,
    "covariance": "population",
    "region": "valid",
    "channels": "mean",
}


@dataclass(frozen=True)
class _Window:
    weights: NDArray[np.float64]
    c1: float
    c2: float


def ssim(output: Image, reference: Image, *, threads: int | None = None) -> float:
    """Mean SSIM over the valid region and the three channels; higher is better, 1 for equal pictures.

    Gaussian window, sigma 1.5, 11 x 11 taps; population covariance; K1 0.01, K2 0.03, data range 255;
    computed in float64 at full size, where the whole window lies within the picture; each channel by
    itself, then the mean.

    Args:
        output: uint8, height x width x 3, 8-bit sRGB, each side at least 11 pixels.
        reference: the same, of the same size.
        threads: most CPU threads to use; None for all that the process may run on. The value is the same.

    Returns:
        From -1 to 1.

    Raises:
        PictureError: not 8-bit RGB pictures of one size, or a side below 11 pixels (an `InputError` and a
            `ValueError`).

    Source: Wang, Bovik, Sheikh, Simoncelli: Image quality assessment, from error visibility to structural
    similarity (2004), in the form of scikit-image's ``structural_similarity`` with ``gaussian_weights=True,
    sigma=1.5, use_sample_covariance=False, data_range=255, channel_axis=-1``.
    """
    return bind({}, Runtime(threads=threads)).score(output, reference)


def bind(params: Mapping[str, Any], runtime: Runtime) -> PixelScorer:
    """A scorer for a protocol's parameters (see `DEFAULTS`); `ProtocolError` for values not offered.

    ``sigma`` and ``truncate`` must give a window of 11 taps: int(truncate x sigma + 0.5) = 5.
    """
    params = check_params("ssim", params, DEFAULTS)
    fixed("ssim", params, "data_range", DATA_RANGE)
    for name in ("covariance", "region", "channels"):
        fixed("ssim", params, name, DEFAULTS[name])
    sigma, truncate, k1, k2 = (positive("ssim", params, name) for name in ("sigma", "truncate", "k1", "k2"))
    radius = int(truncate * sigma + 0.5)
    if radius != RADIUS:
        raise ProtocolError(
            f"metric 'ssim': sigma {sigma} and truncate {truncate} give a window of {2 * radius + 1} taps; "
            f"only {MIN_SIDE} taps are offered"
        )
    window = _Window(gaussian(sigma), (k1 * DATA_RANGE) ** 2, (k2 * DATA_RANGE) ** 2)
    return PixelScorer(_prepare, functools.partial(_compare, window, runtime.threads))


def gaussian(sigma: float) -> NDArray[np.float64]:
    """The 11 weights of the window along one axis; they sum to 1."""
    taps = np.arange(-RADIUS, RADIUS + 1, dtype=np.float64)
    weights = np.exp(-taps * taps / (2.0 * sigma * sigma))
    normalised: NDArray[np.float64] = weights / weights.sum()
    return normalised


def _prepare(backend: Backend, reference: Image) -> Image:
    return check_picture(reference, "reference", min_side=MIN_SIDE)


def _compare(window: _Window, threads: int | None, backend: Backend, output: Image, reference: Image) -> Measurement:
    output = check_picture(output, "output", min_side=MIN_SIDE)
    check_same_size(output, reference.shape)
    kernels = backend.kernels("_numba_ssim", "_numpy_ssim")
    rows, columns = output.shape[0] - 2 * RADIUS, output.shape[1] - 2 * RADIUS
    sums = row_sums(
        rows,
        columns,
        threads,
        lambda first, end, sums: kernels.similarity_rows(
            output, reference, window.weights, window.c1, window.c2, first, end, sums
        ),
    )
    mean = total(sums) / (rows * columns * 3)
    # The bounds hold for each window; round-off may pass them by an ulp.
    return Measurement(min(1.0, max(-1.0, mean)))


METRIC = register(
    Metric(
        id="ssim",
        title="SSIM",
        unit="",
        low=-1.0,
        high=1.0,
        direction="higher",
        perfect=1.0,
        version="1",
        min_side=MIN_SIDE,
        source="Wang et al. 2004; Gaussian window, sigma 1.5, 11 taps, population covariance, valid region",
        bind=bind,
    )
)
