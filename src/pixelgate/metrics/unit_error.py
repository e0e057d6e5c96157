"""Mean squared and mean absolute error, and PSNR, of resized pictures with values from 0 to 1."""

from __future__ import annotations

import math

import numpy as np

from pixelgate.metrics._unit import SOURCE, Unit, bound, pair
from pixelgate.metrics.registry import Metric, register

FLOOR = 1e-10
"""Added to the mean squared error, so that equal pictures get a finite PSNR: 100 dB."""


def unit_mse(output: Unit, reference: Unit) -> float:
    """Mean squared error over all RGB values of a pair; lower is better, 0 for equal pictures.

    Args:
        output: float32, height x width x 3, RGB, values from 0 to 1, e.g. from `pixelgate.io.square.to_square`.
        reference: the same, of the same size.

    Returns:
        From 0 to 1. Differences are taken in float32, as the paper's evaluator does, and summed in float64.

    Raises:
        PictureError: another type, size or range, or NaN (an `InputError` and a `ValueError`).

    Source: the Hint-AUC protocol (hintauc 0.3.3).
    """
    return _mse(*pair(output, reference))


def unit_mae(output: Unit, reference: Unit) -> float:
    """Mean absolute error over all RGB values of a pair; lower is better, 0 for equal pictures.

    Args and errors as for `unit_mse`. Returns a number from 0 to 1. Source: hintauc 0.3.3; not in the paper.
    """
    return _mae(*pair(output, reference))


def unit_psnr(output: Unit, reference: Unit) -> float:
    """10 log10(1 / (MSE + 1e-10)) in dB; higher is better, 100 for equal pictures.

    Args and errors as for `unit_mse`. Returns dB, from -4.4e-10 (black against white) to 100. Source: the Hint-AUC
    protocol (hintauc 0.3.3).
    """
    return _psnr(*pair(output, reference))


def _mse(output: Unit, reference: Unit) -> float:
    difference = output - reference
    np.multiply(difference, difference, out=difference)
    return min(1.0, float(difference.sum(dtype=np.float64)) / difference.size)


def _mae(output: Unit, reference: Unit) -> float:
    difference = output - reference
    np.abs(difference, out=difference)
    return min(1.0, float(difference.sum(dtype=np.float64)) / difference.size)


def _psnr(output: Unit, reference: Unit) -> float:
    return _decibels(_mse(output, reference))


def _decibels(mse: float) -> float:
    return 10.0 * math.log10(1.0 / (mse + FLOOR))


MSE = register(
    Metric(
        id="unit_mse",
        title="MSE",
        unit="",
        low=0.0,
        high=1.0,
        direction="lower",
        perfect=0.0,
        version="1",
        min_side=1,
        source=f"mean squared error over all RGB values; {SOURCE}",
        bind=bound("unit_mse", _mse),
        takes="unit",
    )
)

MAE = register(
    Metric(
        id="unit_mae",
        title="MAE",
        unit="",
        low=0.0,
        high=1.0,
        direction="lower",
        perfect=0.0,
        version="1",
        min_side=1,
        source=f"mean absolute error over all RGB values; {SOURCE}",
        bind=bound("unit_mae", _mae),
        takes="unit",
    )
)

PSNR = register(
    Metric(
        id="unit_psnr",
        title="PSNR",
        unit="dB",
        low=_decibels(1.0),
        high=_decibels(0.0),
        direction="higher",
        perfect=_decibels(0.0),
        version="1",
        min_side=1,
        source=f"10 log10(1 / (MSE + 1e-10)); {SOURCE}",
        bind=bound("unit_psnr", _psnr),
        takes="unit",
    )
)
