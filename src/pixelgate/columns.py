"""A protocol's metrics, bound to what a run chose: the columns that the engine fills."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from pixelgate.errors import ProtocolError
from pixelgate.metrics.registry import Measurement, Metric, Runtime, Scorer, get_metric
from pixelgate.protocols import Protocol, ProtocolMetric
from pixelgate.reading import Read

_CODE = ("clips", "io", "metrics", "models")


@dataclass(frozen=True)
class Settings:
    """What a run may choose; everything else is the protocol's.

    Attributes:
        metrics: ids to compute; empty computes all of the protocol's.
        runtime: device, weights and threads.
        allow_missing: score the outputs that are there; recorded as a deviation.
        allow_resize: resize outputs of another size; recorded as a deviation.
        choices: group -> parameters of its evaluator that the run sets otherwise; recorded as deviations.
        shuffle_references: hold each clip against another sample's reference; recorded as a deviation.
        predictions: kind of prediction -> where it lies, in place of the run's folder of predictions; see
            `pixelgate.clips.predictions.PredictionFolder`.
    """

    metrics: tuple[str, ...] = ()
    runtime: Runtime = field(default_factory=Runtime)
    allow_missing: bool = False
    allow_resize: bool = False
    choices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    shuffle_references: bool = False
    predictions: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)

    @property
    def metric_runtime(self) -> Runtime:
        """Where metrics are computed: one thread each, since sums depend on the number of threads."""
        return replace(self.runtime, threads=1)


@dataclass
class Column:
    """One metric of the protocol, bound.

    Attributes:
        entry: its place in the protocol.
        metric: its definition.
        scorer: what computes it.
        key: digest of all beside the pictures that decides its values.
    """

    entry: ProtocolMetric
    metric: Metric
    scorer: Scorer
    key: str

    def prepare(self, reference: Read) -> Any:
        """The reference's side."""
        return self.scorer.prepare(reference.view(self.metric.takes))

    def compare(self, output: Read, prepared: Any) -> Measurement:
        """Score one output; a value that is not finite becomes a missing one with its reason."""
        return finite(self.scorer.compare(output.view(self.metric.takes), prepared))


def finite(measurement: Measurement) -> Measurement:
    """The measurement, or a missing value with its reason where it is NaN or infinite."""
    if measurement.value is not None and not math.isfinite(measurement.value):
        return Measurement(None, f"the metric gave {measurement.value}", measurement.notes)
    return measurement


def bind_columns(protocol: Protocol, settings: Settings, group: str = "") -> list[Column]:
    """The columns that a run computes, in the protocol's order.

    Args:
        protocol: the protocol.
        settings: what the run chose.
        group: the group of metrics that is computed, for protocols that score clips; others are left out.

    Raises:
        ProtocolError: a metric was asked for that the protocol does not have.
        MissingExtra, WeightsError: a metric cannot run here.
    """
    for metric_id in settings.metrics:
        protocol.metric(metric_id)
    wanted = [entry for entry in protocol.metrics if not settings.metrics or entry.id in settings.metrics]
    columns = []
    for entry in wanted:
        metric = get_metric(entry.metric)
        if metric.group != group:
            continue
        params = {**merged(protocol.groups.get(group, {}), settings.choices.get(group, {})), **entry.params}
        scorer = metric.bind(params, settings.metric_runtime)
        # Where the weights came from is recorded, but the same weights from elsewhere give the same number.
        fingerprint = {key: value for key, value in scorer.fingerprint.items() if key != "weights_source"}
        key = digest([metric.id, metric.version, params, fingerprint, _code_digest()])
        columns.append(Column(entry, metric, scorer, key))
    if not columns:
        raise ProtocolError("no metric is left to compute")
    return columns


def merged(standard: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with a run's own choices put over them, section by section."""
    result = dict(standard)
    for key, value in chosen.items():
        inner = result.get(key)
        result[key] = merged(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return result


@cache
def _code_digest() -> str:
    """SHA-256 over the code that reads and scores pictures.

    A version number that somebody forgot to raise would let the cache give out the numbers of older code.
    """
    here = Path(__file__).parent
    files = [
        here / "measuring.py",
        here / "reading.py",
        *sorted(file for folder in _CODE for file in (here / folder).glob("*.py")),
    ]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def digest(parts: Any) -> str:
    """SHA-256 over plain values, as sorted JSON."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, allow_nan=False).encode()).hexdigest()
