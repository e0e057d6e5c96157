"""The group's section of a protocol: what it may set, FlexBench's values, and what PSNR and SSIM take from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import ProtocolError
from pixelgate.metrics._validate import check_params, fixed, positive
from pixelgate.metrics.ssim import RADIUS, gaussian

PEAK = 255.0
TAPS = 2 * RADIUS + 1
NETS = ("alex", "vgg", "squeeze")
FILL = 127.5

PARAMS: Mapping[str, Any] = {
    "mask_threshold": 127,
    "mask_mapping": "area",
    "psnr_cap": 100,
    "ssim": {
        "window": TAPS,
        "sigma": 1.5,
        "k1": 0.01,
        "k2": 0.03,
        "data_range": 255,
        "covariance": "biased",
        "channels": "per-channel-mean",
    },
    "lpips": {"net": "alex", "version": "0.1", "fill": FILL},
}
"""What the group's section of a protocol may set, with the values of FlexBench."""


@dataclass(frozen=True)
class Definition:
    """The parameters of PSNR and SSIM.

    Attributes:
        psnr_cap: upper limit in dB, and the value of a frame without error.
        weights: of the SSIM window along one axis, 11 of them.
        c1, c2: SSIM's stabilising constants.
    """

    psnr_cap: float
    weights: NDArray[np.float64]
    c1: float
    c2: float


def definition(params: Mapping[str, Any]) -> Definition:
    """PSNR's and SSIM's parameters from a protocol's section; those that are not named are FlexBench's.

    Raises:
        ProtocolError: an unknown name, or a value for which there is no definition here.
    """
    known = checked(params)
    ssim = known["ssim"]
    cap = positive("inpainting", known, "psnr_cap")
    sigma, k1, k2 = (positive("inpainting", ssim, name) for name in ("sigma", "k1", "k2"))
    return Definition(cap, gaussian(sigma), (k1 * PEAK) ** 2, (k2 * PEAK) ** 2)


def checked(params: Mapping[str, Any]) -> dict[str, Any]:
    """A protocol's section over `PARAMS`, every name and fixed value checked; `ProtocolError` otherwise."""
    known = check_params("inpainting", params, PARAMS)
    for section in ("ssim", "lpips"):
        if not isinstance(known[section], Mapping):
            raise ProtocolError(f"inpainting: {section} must be a section of names and values")
        known[section] = check_params(f"inpainting {section}", known[section], PARAMS[section])
    for name in ("window", "data_range", "covariance", "channels"):
        fixed("inpainting ssim", known["ssim"], name, PARAMS["ssim"][name])
    for name in ("version", "fill"):
        fixed("inpainting lpips", known["lpips"], name, PARAMS["lpips"][name])
    fixed("inpainting lpips", known["lpips"], "net", *NETS)
    fixed("inpainting", known, "mask_mapping", "area", "union")
    threshold = known["mask_threshold"]
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold < PEAK:
        raise ProtocolError(f"inpainting: mask_threshold must be from 0 to below 255, not {threshold!r}")
    return known
