"""LPIPS of resized float pictures: the network of `pixelgate.metrics.lpips` on values from 0 to 1."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pixelgate.errors import InputError, Problem
from pixelgate.metrics._unit import SOURCE, Unit, check_unit, pair
from pixelgate.metrics._validate import check_params, fixed
from pixelgate.metrics.lpips import MIN_SIDE, LpipsScorer
from pixelgate.metrics.registry import Measurement, Metric, Runtime, register

if TYPE_CHECKING:
    from pixelgate.models.lpips_network import Prepared

_PARAMS: Mapping[str, Any] = {"net": "alex", "version": "0.1"}


def unit_lpips(output: Unit, reference: Unit, *, device: str = "cpu", weights: str | None = None) -> float:
    """Learned perceptual distance between two resized pictures; lower is better, 0 for equal pictures.

    Args:
        output: float32, height x width x 3, RGB, values from 0 to 1, both sides at least 31 pixels. They are brought
            to -1 to 1 as 2 x - 1.
        reference: the same, of the same size.
        device: ``cpu``, ``cuda`` or ``cuda:N``.
        weights: as for `pixelgate.metrics.lpips`.

    Returns:
        The distance, from 0 upwards.

    Raises:
        PictureError: another type, size or range, or NaN (an `InputError` and a `ValueError`).
        InputError, MissingExtra, WeightsError: as for `pixelgate.metrics.lpips`.

    Source: Zhang et al., CVPR 2018; package lpips 0.1.4, net alex; the Hint-AUC protocol (hintauc 0.3.3).
    """
    first, second = pair(output, reference, min_side=MIN_SIDE)
    scorer = _shared_scorer(device, weights)
    measurement = scorer.compare(first, scorer.prepare(second))
    if measurement.value is None:
        raise InputError(Problem("", "unit_lpips", f"{measurement.reason}.", "Check the weights and the device."))
    return measurement.value


class UnitLpipsScorer(LpipsScorer):
    """LPIPS of float pictures bound to a runtime; the weights are found and verified as in `LpipsScorer`."""

    def prepare(self, reference: Unit) -> Prepared:  # type: ignore[override]
        """The reference's normalised features: about 3 MB for 256 x 256 pixels, on the device."""
        reference = check_unit(reference, "reference", min_side=MIN_SIDE)
        return self._network.prepare(reference, self._runtime.threads)

    def compare(self, output: Unit, prepared: Prepared) -> Measurement:  # type: ignore[override]
        """The distance of one output to a prepared reference, one pair a call."""
        return self._measure(check_unit(output, "output", min_side=MIN_SIDE), prepared)


def bind(params: Mapping[str, Any], runtime: Runtime) -> UnitLpipsScorer:
    """Bind to a protocol's parameters ``net: alex`` and ``version: "0.1"``; `ProtocolError` for others."""
    known = check_params("unit_lpips", params, _PARAMS)
    for name, value in _PARAMS.items():
        fixed("unit_lpips", known, name, value)
    return UnitLpipsScorer(runtime)


@functools.cache
def _shared_scorer(device: str, weights: str | None) -> UnitLpipsScorer:
    return UnitLpipsScorer(Runtime(device=device, weights=weights))


METRIC = register(
    Metric(
        id="unit_lpips",
        title="LPIPS",
        unit="",
        low=0.0,
        high=math.inf,
        direction="lower",
        perfect=0.0,
        version="1",
        min_side=MIN_SIDE,
        source=f"Zhang et al., CVPR 2018; package lpips 0.1.4, net alex; {SOURCE}",
        bind=bind,
        extra="perceptual",
        noise=1e-6,
        takes="unit",
    )
)
