"""Metrics as plain functions on arrays, and the register that protocols draw on."""

from __future__ import annotations

from pixelgate.metrics.delta_e import delta_e_2000
from pixelgate.metrics.histogram import histogram_correlation
from pixelgate.metrics.lpips import lpips
from pixelgate.metrics.psnr import psnr
from pixelgate.metrics.registry import Image, Measurement, Metric, Runtime, Scorer, all_metrics, get_metric, register
from pixelgate.metrics.ssim import ssim

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
]
