"""Mean CIEDE2000 of resized float pictures, with scikit-image's conversion to CIELAB."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.metrics._backend import Backend
from pixelgate.metrics._bands import total
from pixelgate.metrics._lab import MATRICES
from pixelgate.metrics._scorer import PixelScorer
from pixelgate.metrics._unit import SOURCE, Unit, check_unit, pair
from pixelgate.metrics._validate import check_params, check_same_size
from pixelgate.metrics.delta_e import delta_e_2000_lab
from pixelgate.metrics.registry import Measurement, Metric, Runtime, register

Lab = NDArray[np.float64]

WHITE = (0.95047, 1.0, 1.08883)
"""XYZ of D65, 2 degree observer, as scikit-image has it. Its matrix's own white differs in the fourth digit."""
_THRESHOLD = 0.008856
_SLOPE, _OFFSET = 7.787, 16.0 / 116.0


def unit_delta_e(output: Unit, reference: Unit) -> float:
    """Mean CIEDE2000 colour difference over the pixels; lower is better, 0 for equal pictures.

    Args:
        output: float32, height x width x 3, sRGB, values from 0 to 1.
        reference: the same, of the same size.

    Returns:
        0 or more; about 1 is a difference just noticed. Computed in float64: scikit-image keeps float32 and differs
        by up to 2e-5, in digits that depend on the processor.

    Raises:
        PictureError: another type, size or range, or NaN (an `InputError` and a `ValueError`).

    Source: Sharma, Wu, Dalal (2005); CIELAB as scikit-image's ``rgb2lab``; hintauc 0.3.3, not in the paper.
    """
    first, second = pair(output, reference)
    return _difference(_lab(first), _lab(second))


def _difference(first: Lab, second: Lab) -> float:
    differences = delta_e_2000_lab(first, second)
    return total([float(row) for row in differences.sum(axis=1)]) / differences.size


def _lab(picture: Unit) -> Lab:
    values = np.clip(picture.astype(np.float64), 0.0, 1.0)
    linear = np.where(values > 0.04045, ((values + 0.055) / 1.055) ** 2.4, values / 12.92)
    # Written out, because a matrix product may use another order of sums on another machine.
    red, green, blue = (linear[..., channel] for channel in range(3))
    f = []
    for row, white in zip(MATRICES["srgb-6digit"], WHITE, strict=True):
        share = (red * row[0] + green * row[1] + blue * row[2]) / white
        f.append(np.where(share > _THRESHOLD, np.cbrt(share), _SLOPE * share + _OFFSET))
    fx, fy, fz = f
    return np.stack([116.0 * fy - 16.0, 500.0 * (fx - fy), 200.0 * (fy - fz)], axis=-1)


def _bind(params: Mapping[str, Any], runtime: Runtime) -> PixelScorer:
    check_params("unit_delta_e", params, {})

    def prepare(backend: Backend, reference: Unit) -> Lab:
        return _lab(check_unit(reference, "reference"))

    def compare(backend: Backend, output: Unit, reference: Lab) -> Measurement:
        output = check_unit(output, "output")
        check_same_size(output, reference.shape)
        return Measurement(_difference(_lab(output), reference))

    return PixelScorer(prepare, compare)


METRIC = register(
    Metric(
        id="unit_delta_e",
        title="ΔE00",
        unit="",
        low=0.0,
        high=math.inf,
        direction="lower",
        perfect=0.0,
        version="1",
        min_side=1,
        source=f"CIEDE2000 (Sharma, Wu, Dalal 2005) on scikit-image's CIELAB, mean over pixels; {SOURCE}",
        bind=_bind,
        takes="unit",
    )
)
