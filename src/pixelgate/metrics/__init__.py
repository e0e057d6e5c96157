"""Metrics as plain functions on arrays, and the register that protocols draw on."""

from __future__ import annotations

# Imported for the metrics that they register.
from pixelgate.metrics import camera as _camera  # noqa: F401
from pixelgate.metrics import consistency as _consistency  # noqa: F401
from pixelgate.metrics import depth as _depth  # noqa: F401
from pixelgate.metrics import features as _features  # noqa: F401
from pixelgate.metrics import inpainting as _inpainting  # noqa: F401
from pixelgate.metrics import pose as _pose  # noqa: F401
from pixelgate.metrics import vbench as _vbench  # noqa: F401
from pixelgate.metrics.delta_e import delta_e_2000
from pixelgate.metrics.histogram import histogram_correlation
from pixelgate.metrics.lpips import lpips
from pixelgate.metrics.psnr import psnr
from pixelgate.metrics.registry import Image, Measurement, Metric, Runtime, Scorer, all_metrics, get_metric, register
from pixelgate.metrics.ssim import ssim
from pixelgate.metrics.unit_delta_e import unit_delta_e
from pixelgate.metrics.unit_error import unit_mae, unit_mse, unit_psnr
from pixelgate.metrics.unit_lpips import unit_lpips
from pixelgate.metrics.unit_ms_ssim import unit_ms_ssim
from pixelgate.metrics.unit_ssim import unit_ssim_skimage, unit_ssim_torchmetrics

__all__ = [
    "Image",
    "Measurement",
    "Metric",
    "Runtime",
    "Scorer",
    "all_metrics",
    "delta_e_2000",
    "get_metric",
    "histogram_correlation",
    "lpips",
    "psnr",
    "register",
    "ssim",
    "unit_delta_e",
    "unit_lpips",
    "unit_mae",
    "unit_ms_ssim",
    "unit_mse",
    "unit_psnr",
    "unit_ssim_skimage",
    "unit_ssim_torchmetrics",
]
