"""What a metric is, and the register of those known.

A metric's definition carries its unit, range and direction; whatever ranks, stars, gates or plots
reads them here. `Metric.bind` turns a definition and a protocol's parameters into a `Scorer`, in
which the reference's side is computed once (`prepare`) and compared with many outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import ProtocolError

Image = NDArray[np.uint8]
"""8-bit sRGB picture, height x width x 3, values 0 to 255."""

Picture = NDArray[Any]
"""What a metric takes, as its `Metric.takes` says."""


@dataclass(frozen=True)
class Runtime:
    """Where a metric is computed; never what is computed.

    Attributes:
        device: ``cpu``, ``cuda`` or ``cuda:N``; used by learned metrics only.
        weights: a file or folder with network weights that goes before every other source.
        threads: CPU threads a metric may use; None leaves the library's own choice.
    """

    device: str = "cpu"
    weights: str | None = None
    threads: int | None = None


@dataclass(frozen=True)
class Measurement:
    """One metric on one sample.

    Attributes:
        value: the number, or None where it could not be computed; never NaN, never infinite.
        reason: why value is None.
        notes: (rule, message) pairs, e.g. a flat histogram.
    """

    value: float | None
    reason: str | None = None
    notes: tuple[tuple[str, str], ...] = ()


class Scorer(Protocol):
    """A metric bound to parameters and a runtime."""

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """All beside pixels and parameters that decides the number: backend, versions, weights digest.

        Raises `MissingExtra` or `WeightsError` where the metric cannot run here.
        """

    def prepare(self, reference: Picture) -> Any:
        """The reference's side of the computation, to be used with many outputs."""

    def compare(self, output: Picture, prepared: Any) -> Measurement:
        """Score one output against a prepared reference."""


@dataclass(frozen=True)
class Metric:
    """The definition of a metric.

    Attributes:
        id: name in the protocol files, e.g. ``psnr``.
        title: the field's standard name, for tables.
        unit: ``dB``, or empty for a pure number.
        low, high: the range of its values, bounds included; infinite where unbounded.
        direction: ``higher`` or ``lower`` is better; ``none`` for a number that ranks nothing, such as a chance level.
        perfect: the value for an output that equals its reference.
        version: raised whenever the same input would give another number.
        min_side: smallest height and width in pixels for which it is defined.
        same_size: whether output and reference must have one size.
        source: where the definition comes from.
        bind: (parameters, runtime) -> `Scorer`; cheap, loads no network and imports nothing heavy.
        extra: the optional dependency group that it needs, if any.
        noise: largest difference between two computations of the same input in one setup.
        takes: ``rgb8`` for decoded pictures (uint8, 0 to 255), ``unit`` for resized ones (float32, 0 to 1; see
            `pixelgate.io.square`), ``clip`` for what an evaluator of `pixelgate.clips` reads.
        group: the evaluator that computes it together with its siblings, for metrics that take a clip.
        equal_slack: how far below or above `perfect` an output that equals its reference may score.
    """

    id: str
    title: str
    unit: str
    low: float
    high: float
    direction: Literal["higher", "lower", "none"]
    perfect: float
    version: str
    min_side: int
    source: str
    bind: Callable[[Mapping[str, Any], Runtime], Scorer] = field(repr=False)
    same_size: bool = True
    extra: str | None = None
    noise: float = 1e-9
    takes: Literal["rgb8", "unit", "clip"] = "rgb8"
    equal_slack: float = 0.0
    group: str = ""

    @property
    def arrow(self) -> str:
        """↑ where higher is better, ↓ where lower is, nothing where neither is."""
        return {"higher": "↑", "lower": "↓", "none": ""}[self.direction]


@dataclass(frozen=True)
class FunctionScorer:
    """A `Scorer` made of two plain functions, for metrics that need no state."""

    prepare_function: Callable[[Image], Any]
    compare_function: Callable[[Image, Any], Measurement]
    fingerprint: Mapping[str, str]

    def prepare(self, reference: Image) -> Any:
        """See `Scorer.prepare`."""
        return self.prepare_function(reference)

    def compare(self, output: Image, prepared: Any) -> Measurement:
        """See `Scorer.compare`."""
        return self.compare_function(output, prepared)


_METRICS: dict[str, Metric] = {}


def register(metric: Metric) -> Metric:
    """Add a metric; a second one with the same id must be the same definition."""
    known = _METRICS.setdefault(metric.id, metric)
    if known != metric:
        raise ProtocolError(f"metric {metric.id!r} exists already with another definition; give yours another id")
    return metric


def get_metric(metric_id: str) -> Metric:
    """The metric of that id; `ProtocolError` names the known ones otherwise."""
    try:
        return _METRICS[metric_id]
    except KeyError:
        known = ", ".join(sorted(_METRICS))
        raise ProtocolError(f"unknown metric {metric_id!r}; known: {known}") from None


def all_metrics() -> list[Metric]:
    """Every registered metric, by id."""
    return [_METRICS[key] for key in sorted(_METRICS)]
