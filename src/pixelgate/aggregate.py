"""From per-sample scores to one row of a table: mean and interval per metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pixelgate.errors import ProtocolError
from pixelgate.protocols import Protocol
from pixelgate.records import Deviation
from pixelgate.scores import CaseScores
from pixelgate.stats import Interval, bootstrap_interval

MOST_RESAMPLES = 1_000_000
"""More change no digit of an interval that is shown; they only cost time and memory."""


@dataclass(frozen=True)
class Bootstrap:
    """What the intervals are computed with.

    Attributes:
        resamples, seed, confidence: see `pixelgate.stats.bootstrap_interval`.
    """

    resamples: int
    seed: int
    confidence: float


def bootstrap_settings(
    protocol: Protocol, resamples: int | None = None, seed: int | None = None
) -> tuple[Bootstrap, list[Deviation]]:
    """The protocol's bootstrap, or the run's own as recorded deviations.

    Raises:
        ProtocolError: the resamples are not 1 to `MOST_RESAMPLES`.
    """
    interval: Mapping[str, Any] = protocol.aggregation["interval"]
    used = Bootstrap(
        interval["resamples"] if resamples is None else resamples,
        interval["seed"] if seed is None else seed,
        interval["confidence"],
    )
    _check_resamples(used.resamples)
    deviations = [
        Deviation("interval", name, f"{name} {own} instead of the protocol's {interval[name]}")
        for name, own in (("resamples", used.resamples), ("seed", used.seed))
        if own != interval[name]
    ]
    return used, deviations


@dataclass(frozen=True)
class Aggregate:
    """One metric of one case.

    Attributes:
        metric: its id.
        interval: mean and bounds; None where there is no valid mean.
        reason: why there is none.
        without: samples without a value that were left out of the mean, which the metric's protocol allows.
        counted: whether it does; a mean that is missing is then no failure.
    """

    metric: str
    interval: Interval | None
    reason: str | None = None
    without: tuple[str, ...] = ()
    counted: bool = False

    @property
    def failed(self) -> bool:
        """Whether a mean is missing that there should be."""
        return self.interval is None and not self.counted


def aggregate(scores: CaseScores, bootstrap: Bootstrap) -> dict[str, Aggregate]:
    """Mean and interval of every metric of a case.

    A mean stands for all samples that the case is made of. Where files have problems, or a sample has no
    value, there is no mean but a reason: samples never leave an average unseen. Metrics that the protocol says may
    have no value (`CaseScores.counted`) have their mean over the others, and name those left out.

    Raises:
        ProtocolError: the resamples are not 1 to `MOST_RESAMPLES`.
    """
    _check_resamples(bootstrap.resamples)
    return {metric: _aggregate(scores, metric, bootstrap) for metric in scores.metrics}


def _check_resamples(resamples: int) -> None:
    if not 1 <= resamples <= MOST_RESAMPLES:
        raise ProtocolError(
            f"{resamples:,} bootstrap resamples cannot be drawn [resamples] "
            f"Choose a number from 1 to {MOST_RESAMPLES:,}."
        )


def _aggregate(scores: CaseScores, metric: str, bootstrap: Bootstrap) -> Aggregate:
    if scores.problems:
        return Aggregate(metric, None, f"{len(scores.problems)} problem(s) with the case's files")
    values = scores.values(metric)
    without = tuple(sample.sample for sample in scores.samples if sample.values[metric] is None)
    counted = metric in scores.counted
    if without and not counted:
        return Aggregate(metric, None, f"no value for {len(without)} of {len(values)} samples: {', '.join(without)}")
    present = [value for value in values if value is not None]
    if not present:
        reason = f"no value for any of {len(values)} samples" if values else "no sample was scored"
        return Aggregate(metric, None, reason, without, counted and bool(values))
    interval = bootstrap_interval(
        present, resamples=bootstrap.resamples, seed=bootstrap.seed, confidence=bootstrap.confidence
    )
    return Aggregate(metric, interval, None, without, counted)
