"""Peak signal-to-noise ratio of 8-bit pictures."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from pixelgate.metrics._backend import Backend
from pixelgate.metrics._scorer import PixelScorer
from pixelgate.metrics._validate import check_params, check_picture, check_same_size, fixed, positive
from pixelgate.metrics.registry import Image, Measurement, Metric, Runtime, register

PEAK = 255


def psnr(output: Image, reference: Image, *, cap_db: float = 100.0) -> float:
    """PSNR over all RGB values of a pair, in dB; higher is better.

    10 log10(255^2 / MSE) with the mean squared error over height, width and the three channels together,
    summed in integers. Values above `cap_db` are cut to it, so that equal pictures, whose MSE is 0, get a
    finite number; with the usual 100 dB a mean MSE below 6.5e-6 counts as equal.

    Args:
        output: uint8, height x width x 3, 8-bit sRGB.
        reference: the same, of the same size.
        cap_db: upper limit in dB, and the value for equal pictures.

    Returns:
        dB, from 0 to `cap_db`.

    Raises:
        PictureError: not 8-bit RGB pictures of one size (an `InputError` and a `ValueError`).
        ProtocolError: `cap_db` is no finite number above 0.

    Source: the ratio as scikit-image's ``peak_signal_noise_ratio(data_range=255)`` computes it; the cap is
    the benchmark's.
    """
    return bind({"cap_db": cap_db}, Runtime()).score(output, reference)


def bind(params: Mapping[str, Any], runtime: Runtime) -> PixelScorer:
    """A scorer for a protocol's parameters ``peak`` (255) and ``cap_db``; `ProtocolError` for others."""
    params = check_params("psnr", params, {"peak": PEAK, "cap_db": 100.0})
    fixed("psnr", params, "peak", PEAK)
    return PixelScorer(_prepare, functools.partial(_compare, positive("psnr", params, "cap_db")))


def _prepare(backend: Backend, reference: Image) -> Image:
    return check_picture(reference, "reference")


def _compare(cap_db: float, backend: Backend, output: Image, reference: Image) -> Measurement:
    output = check_picture(output, "output")
    check_same_size(output, reference.shape)
    sums = np.empty(output.shape[0], dtype=np.int64)
    backend.kernels("_numba_counts", "_numpy_counts").squared_error_rows(output, reference, sums)
    error = int(sums.sum()) / output.size
    value = cap_db if error == 0.0 else min(cap_db, 10.0 * math.log10(PEAK * PEAK / error))
    return Measurement(value)


METRIC = register(
    Metric(
        id="psnr",
        title="PSNR",
        unit="dB",
        low=0.0,
        high=math.inf,
        direction="higher",
        perfect=100.0,
        version="1",
        min_side=1,
        source="10 log10(255^2 / MSE) over all RGB values of a pair, cut at a cap",
        bind=bind,
    )
)
