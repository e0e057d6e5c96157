"""Multi-scale SSIM of resized float pictures, as torchmetrics 1.4.0 computes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pixelgate.metrics._backend import Backend, backend
from pixelgate.metrics._scorer import PixelScorer
from pixelgate.metrics._unit import SOURCE, Unit, check_unit, pair
from pixelgate.metrics._validate import check_params, check_same_size
from pixelgate.metrics.registry import Measurement, Metric, Runtime, register
from pixelgate.metrics.unit_ssim import Prepared, clamped, prepare_clamped

BETAS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
MIN_SIDE = 176
"""Smallest height and width in pixels: four halvings leave the 11 taps of the window."""


def unit_ms_ssim(output: Unit, reference: Unit) -> float:
    """Multi-scale SSIM over five scales; higher is better.

    The contrast terms of the first four scales and the SSIM of the fifth, each held at 0 or more and raised to its
    exponent, are multiplied; each scale halves the one before by 2 x 2 means. Equal pictures score slightly below 1
    where they are flat, as in `unit_ssim_torchmetrics`.

    Args:
        output: float32, height x width x 3, RGB, values from 0 to 1, each side at least 176 pixels.
        reference: the same, of the same size.

    Returns:
        From 0 to 1.

    Raises:
        PictureError: another type, size or range, or NaN (an `InputError` and a `ValueError`).

    Source: Wang, Simoncelli, Bovik: Multiscale structural similarity for image quality assessment (2003), in the form
    of torchmetrics 1.4.0's ``multiscale_structural_similarity_index_measure(data_range=1.0)``; not in the paper.
    """
    first, second = pair(output, reference, min_side=MIN_SIDE)
    return _compare(backend(), first, _prepare(backend(), second))


def _prepare(backend: Backend, reference: Unit) -> list[Prepared]:
    return [prepare_clamped(backend, scale) for scale in _scales(reference)]


def _compare(backend: Backend, output: Unit, reference: list[Prepared]) -> float:
    value = 1.0
    last = len(BETAS) - 1
    for level, (scale, prepared, beta) in enumerate(zip(_scales(output), reference, BETAS, strict=True)):
        similarity, contrast = clamped(backend, scale, prepared)
        value *= max(0.0, similarity if level == last else contrast) ** beta
    return min(1.0, value)


def _scales(picture: Unit) -> list[Unit]:
    scales = [picture]
    for _ in BETAS[1:]:
        scales.append(_halved(scales[-1]))
    return scales


def _halved(picture: Unit) -> Unit:
    height, width = picture.shape[0] // 2 * 2, picture.shape[1] // 2 * 2
    even, odd = picture[:height:2, :width], picture[1:height:2, :width]
    # In the order in which torch adds them.
    total = ((even[:, ::2] + even[:, 1::2]) + odd[:, ::2]) + odd[:, 1::2]
    return np.ascontiguousarray(total / np.float32(4.0))


def _bind(params: Mapping[str, Any], runtime: Runtime) -> PixelScorer:
    check_params("unit_ms_ssim", params, {})

    def prepare(backend: Backend, reference: Unit) -> list[Prepared]:
        return _prepare(backend, check_unit(reference, "reference", min_side=MIN_SIDE))

    def compare(backend: Backend, output: Unit, reference: list[Prepared]) -> Measurement:
        output = check_unit(output, "output", min_side=MIN_SIDE)
        check_same_size(output, reference[0].picture.shape)
        return Measurement(_compare(backend, output, reference))

    return PixelScorer(prepare, compare)


METRIC = register(
    Metric(
        id="unit_ms_ssim",
        title="MS-SSIM",
        unit="",
        low=0.0,
        high=1.0,
        direction="higher",
        perfect=1.0,
        version="1",
        min_side=MIN_SIDE,
        source=f"Wang, Simoncelli, Bovik 2003 as torchmetrics 1.4.0 computes it in float32; {SOURCE}",
        bind=_bind,
        takes="unit",
        equal_slack=5e-3,
    )
)
