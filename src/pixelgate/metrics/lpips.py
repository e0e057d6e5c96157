"""LPIPS: the learned perceptual distance of Zhang et al. (CVPR 2018), AlexNet, version 0.1."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pixelgate.errors import InputError, Problem
from pixelgate.metrics._validate import check_pair, check_params, check_picture, check_same_size, fixed
from pixelgate.metrics.registry import Image, Measurement, Metric, Picture, Runtime, register

if TYPE_CHECKING:
    from pixelgate.models.alexnet_weights import AlexNetWeights
    from pixelgate.models.lpips_network import LpipsNetwork, Prepared

MIN_SIDE = 31
"""Smallest height and width in pixels: below, AlexNet's second pooling layer has nothing left to pool."""

_PARAMS: Mapping[str, Any] = {"net": "alex", "version": "0.1", "pairs_per_call": 1}


def lpips(output: Image, reference: Image, *, device: str = "cpu", weights: str | None = None) -> float:
    """Learned perceptual distance between two pictures; lower is better.

    Pixels are mapped to [-1, 1]; at each of AlexNet's five rectifiers the vectors of channels are brought to
    unit length, squared differences are weighted by the linear heads of lpips 0.1.4 and averaged over the
    picture, and the five averages are summed. The network is loaded at the first call in a process.

    Args:
        output: height x width x 3, uint8, sRGB, both sides at least 31 pixels.
        reference: the same shape and type.
        device: ``cpu``, ``cuda`` or ``cuda:N``. A GPU's values differ from a CPU's by up to 1e-4.
        weights: a file or folder with AlexNet's weights; None looks in the places that
            `pixelgate.models.alexnet_weights` names.

    Returns:
        The distance, a pure number from 0 (equal pictures, exactly) upwards.

    Raises:
        InputError: wrong type, shape or size, or no such device.
        MissingExtra: torch, torchvision or lpips 0.1.4 is not installed.
        WeightsError: the weights are missing or are not the expected ones.

    Source: R. Zhang, P. Isola, A. A. Efros, E. Shechtman, O. Wang, "The Unreasonable Effectiveness of Deep
    Features as a Perceptual Metric", CVPR 2018; package lpips 0.1.4.
    """
    output, reference = check_pair(output, reference, min_side=MIN_SIDE)
    scorer = _shared_scorer(device, weights)
    measurement = scorer.compare(output, scorer.prepare(reference))
    if measurement.value is None:
        raise InputError(Problem("", "lpips", f"{measurement.reason}.", "Check the weights and the device."))
    return measurement.value


class LpipsScorer:
    """LPIPS bound to a runtime; see `pixelgate.metrics.registry.Scorer`.

    Making one is cheap. The weights are looked for and verified at the first look at `fingerprint`, the network
    is loaded at the first `prepare`.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @functools.cached_property
    def fingerprint(self) -> Mapping[str, str]:
        """Backend, device, versions and digests, and where AlexNet's weights came from.

        The same weights from another source give the same number, so cache keys leave ``weights_source`` out.
        On a CPU torch is not imported for this unless the weights are in torch's own file format.

        Raises:
            MissingExtra, WeightsError, InputError: LPIPS cannot run here; see `lpips`.
        """
        from pixelgate.models import alexnet_weights, lpips_network

        lpips_network.check_package()
        lpips_network.heads_file()
        return {
            "backend": f"torch {lpips_network.torch_version()}",
            "device": lpips_network.device_name(self._runtime.device),
            "lpips": lpips_network.lpips_version(),
            "weights": alexnet_weights.DIGEST,
            "heads": lpips_network.HEADS_DIGEST,
            "weights_source": self._weights.source,
        }

    def prepare(self, reference: Image) -> Prepared:
        """The reference's normalised features: about 42 MB of float32 a megapixel, on the device."""
        reference = check_picture(reference, "reference", min_side=MIN_SIDE)
        return self._network.prepare(reference, self._runtime.threads)

    def compare(self, output: Image, prepared: Prepared) -> Measurement:
        """The distance of one output to a prepared reference, one pair a call."""
        return self._measure(check_picture(output, "output", min_side=MIN_SIDE), prepared)

    def _measure(self, output: Picture, prepared: Prepared) -> Measurement:
        check_same_size(output, (prepared.height, prepared.width, 3))
        value = self._network.compare(output, prepared, self._runtime.threads)
        if not math.isfinite(value):
            return Measurement(None, f"the network gave {value}")
        return Measurement(value)

    @functools.cached_property
    def _weights(self) -> AlexNetWeights:
        from pixelgate.models.alexnet_weights import resolve

        return resolve(self._runtime.weights)

    @functools.cached_property
    def _network(self) -> LpipsNetwork:
        from pixelgate.models.lpips_network import load_network

        # Looked at for its errors: a missing package, wrong weights, no such device.
        assert self.fingerprint
        return load_network(self._weights, self._runtime.device)


def bind(params: Mapping[str, Any], runtime: Runtime) -> LpipsScorer:
    """Bind to a protocol's parameters: ``net: alex``, ``version: "0.1"``, ``pairs_per_call: 1``.

    Raises:
        ProtocolError: a parameter is unknown or has a value for which there is no definition here.
    """
    known = check_params("lpips", params, _PARAMS)
    for name, value in _PARAMS.items():
        fixed("lpips", known, name, value)
    return LpipsScorer(runtime)


@functools.cache
def _shared_scorer(device: str, weights: str | None) -> LpipsScorer:
    return LpipsScorer(Runtime(device=device, weights=weights))


METRIC = register(
    Metric(
        id="lpips",
        title="LPIPS",
        unit="",
        low=0.0,
        high=math.inf,
        direction="lower",
        perfect=0.0,
        version="1",
        min_side=MIN_SIDE,
        source="Zhang et al., CVPR 2018; package lpips 0.1.4, net alex, version 0.1",
        bind=bind,
        extra="perceptual",
        noise=1e-6,
    )
)
