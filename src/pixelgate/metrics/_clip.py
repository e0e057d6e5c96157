"""Definitions of metrics that an evaluator computes from a clip, a whole group in one pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from pixelgate.errors import ProtocolError
from pixelgate.metrics.registry import Measurement, Metric, Picture, Runtime, register

Fingerprint = Callable[[Mapping[str, Any], Runtime], Mapping[str, str]]
"""(parameters, runtime) -> all that decides the number beside files and parameters: backend, versions, weights."""


@dataclass(frozen=True)
class ClipScorer:
    """What binds a metric that only its group's evaluator can compute."""

    fingerprint_function: Fingerprint
    params: Mapping[str, Any]
    runtime: Runtime

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """See `Scorer.fingerprint`."""
        return self.fingerprint_function(self.params, self.runtime)

    def prepare(self, reference: Picture) -> Any:
        """Never called: an evaluator computes the metric."""
        raise ProtocolError("this metric is computed from a clip by its group's evaluator, not from pictures")

    def compare(self, output: Picture, prepared: Any) -> Measurement:
        """Never called: an evaluator computes the metric."""
        raise ProtocolError("this metric is computed from a clip by its group's evaluator, not from pictures")


def clip_metric(
    metric_id: str,
    title: str,
    *,
    group: str,
    direction: Literal["higher", "lower", "none"],
    source: str,
    fingerprint: Fingerprint,
    low: float = 0.0,
    high: float = math.inf,
    perfect: float = 0.0,
    unit: str = "",
    version: str = "1",
    extra: str | None = None,
    noise: float = 1e-9,
    equal_slack: float = 1e-9,
) -> Metric:
    """Register a metric of a clip.

    Args:
        metric_id: ``<group>_<name>``, as in `pixelgate.protocols`' flexbench.yaml.
        title: the field's name of it, for tables.
        group: the evaluator that computes it.
        fingerprint: see `Fingerprint`.
        direction, source, low, high, perfect, unit, version, extra, noise, equal_slack: as in `Metric`.
    """
    return register(
        Metric(
            id=metric_id,
            title=title,
            unit=unit,
            low=low,
            high=high,
            direction=direction,
            perfect=perfect,
            version=version,
            min_side=1,
            source=source,
            bind=partial(ClipScorer, fingerprint),
            same_size=False,
            extra=extra,
            noise=noise,
            takes="clip",
            equal_slack=equal_slack,
            group=group,
        )
    )
