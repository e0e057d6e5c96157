"""Distances and similarities of deep features: OpenCLIP, DINOv2 and DreamSim, each with its own preprocessing."""

from __future__ import annotations

import functools
import importlib
import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pixelgate.metrics._validate import check_params, check_picture, fixed
from pixelgate.metrics.registry import Image, Measurement, Metric, Runtime, register

Features = NDArray[np.float64]
"""What a network sees in a picture: one vector."""

_networks: dict[tuple[str, str, str], Any] = {}
_lock = threading.Lock()


def cosine(first: Features, second: Features) -> float:
    """The cosine of the angle between two vectors, from -1 to 1; exactly 1 for equal ones, NaN for a zero vector."""
    product = float((first * second).sum())
    squares = float((first * first).sum()) * float((second * second).sum())
    return min(1.0, max(-1.0, product / math.sqrt(squares))) if squares > 0 else math.nan


def similarity(first: Features, second: Features) -> float:
    """(cosine + 1) / 2: from 0 to 1, higher is more alike."""
    return (cosine(first, second) + 1.0) / 2.0


def distance(first: Features, second: Features) -> float:
    """1 - cosine: from 0 to 2, lower is more alike."""
    return 1.0 - cosine(first, second)


@dataclass(frozen=True)
class FeatureScorer:
    """A feature metric bound to a runtime; see `pixelgate.metrics.registry.Scorer`.

    Making one is cheap. The weights are looked for at the first look at `fingerprint`, the network is loaded at the
    first `prepare`, once for each device in a process.

    Attributes:
        module: the module of `pixelgate.models` that finds the files.
        network: the name of its class.
        score: (output's features, reference's features) -> the value.
        runtime: device, weights, threads.
    """

    module: str
    network: str
    score: Callable[[Features, Features], float] = field(repr=False)
    runtime: Runtime

    @functools.cached_property
    def fingerprint(self) -> Mapping[str, str]:
        """Backend, device, versions, and digest and source of the weights.

        Raises:
            MissingExtra, WeightsError, InputError: the metric cannot run here.
        """
        from pixelgate.models.lpips_network import device_name, torch_version

        files = self._files
        return {
            "backend": f"torch {torch_version()}",
            "device": device_name(self.runtime.device),
            **self._models.package_versions(),
            "weights": files.digest,
            "weights_source": files.source,
        }

    def prepare(self, reference: Image) -> Features:
        """The reference's features."""
        return self._features(reference, "reference")

    def compare(self, output: Image, prepared: Features) -> Measurement:
        """The value of one output against a prepared reference; the two may differ in size."""
        value = self.score(self._features(output, "output"), prepared)
        if not math.isfinite(value):
            return Measurement(None, f"the network's features give {value}")
        return Measurement(value)

    def _features(self, picture: Image, name: str) -> Features:
        features: Features = self._network.features(check_picture(picture, name), self.runtime.threads)
        return features

    @functools.cached_property
    def _models(self) -> Any:
        return importlib.import_module(f"pixelgate.models.{self.module}")

    @functools.cached_property
    def _files(self) -> Any:
        return self._models.locate(self.runtime.weights)

    @functools.cached_property
    def _network(self) -> Any:
        # Looked at for its errors: a missing package, missing weights, no such device.
        key = (self.network, self.fingerprint["weights"], self.runtime.device)
        with _lock:
            if key not in _networks:
                _networks[key] = getattr(self._models, self.network)(self._files, self.runtime.device)
            return _networks[key]


def _binder(
    metric: str,
    module: str,
    network: str,
    score: Callable[[Features, Features], float],
    definition: Mapping[str, Any],
) -> Callable[[Mapping[str, Any], Runtime], FeatureScorer]:
    def bind(params: Mapping[str, Any], runtime: Runtime) -> FeatureScorer:
        known = check_params(metric, params, definition)
        for name, value in definition.items():
            fixed(metric, known, name, value)
        return FeatureScorer(module, network, score, runtime)

    return bind


def _metric(
    metric_id: str,
    title: str,
    direction: Literal["higher", "lower"],
    source: str,
    extra: str,
    bind: Callable[[Mapping[str, Any], Runtime], FeatureScorer],
) -> Metric:
    higher = direction == "higher"
    return Metric(
        id=metric_id,
        title=title,
        unit="",
        low=0.0,
        high=1.0 if higher else 2.0,
        direction=direction,
        perfect=1.0 if higher else 0.0,
        version="1",
        min_side=1,
        source=f"{source}; decoded picture, not resized; the Hint-AUC protocol (hintauc 0.3.3)",
        bind=bind,
        same_size=False,
        extra=extra,
        noise=1e-6,
    )


OPENCLIP = register(
    _metric(
        "openclip",
        "OpenCLIP",
        "higher",
        "OpenCLIP ViT-B/32 trained on LAION-2B, (cosine of the image embeddings + 1) / 2",
        "openclip",
        _binder(
            "openclip",
            "open_clip_network",
            "OpenClipNetwork",
            similarity,
            {"model": "ViT-B-32", "weights": "laion2b_s34b_b79k"},
        ),
    )
)

DINO = register(
    _metric(
        "dino",
        "DINO",
        "higher",
        "DINOv2-base, mean of all tokens of the last hidden state, (cosine + 1) / 2",
        "dino",
        _binder("dino", "dinov2_network", "Dinov2Network", similarity, {"model": "facebook/dinov2-base"}),
    )
)

DREAMSIM = register(
    _metric(
        "dreamsim",
        "DreamSim",
        "lower",
        "DreamSim ensemble (Fu et al., NeurIPS 2023), distance as the package returns it",
        "dreamsim",
        _binder("dreamsim", "dreamsim_network", "DreamSimNetwork", distance, {"model": "ensemble"}),
    )
)
