"""Invariants: what must hold for every scored case, whatever its numbers are."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pixelgate.aggregate import Bootstrap, aggregate
from pixelgate.engine import Engine
from pixelgate.errors import ProtocolError
from pixelgate.metrics.registry import Metric, get_metric
from pixelgate.results import metrics_csv
from pixelgate.scores import CaseScores, SampleScore
from pixelgate.tracks import Sample

if TYPE_CHECKING:
    from pixelgate.hints import Hints

# Means of the same numbers added in another order, and bounds of an interval over equal numbers, differ by
# rounding alone; this is far above it and far below anything that a metric can show.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Subject:
    """What an invariant is held against: a scored case and the engine that scored it."""

    scores: CaseScores
    engine: Engine
    bootstrap: Bootstrap

    @property
    def smallest(self) -> SampleScore:
        """The scored sample with the fewest pixels, for checks that compute something anew."""
        return min(self.scores.samples, key=lambda sample: (sample.output.width * sample.output.height, sample.sample))

    def sample(self, sample_id: str) -> Sample:
        """The track's sample of that id."""
        return next(sample for sample in self.engine.samples if sample.id == sample_id)

    def metric(self, metric_id: str) -> Metric:
        """The definition behind one of the protocol's metrics."""
        return get_metric(self.engine.protocol.metric(metric_id).metric)

    def perfect(self, metric_id: str) -> float:
        """The metric's value for an output that equals its reference."""
        return self.metric(metric_id).perfect

    def of_reference(self) -> list[str]:
        """Ids of the metrics that compare with the reference and have a best value."""
        protocol = self.engine.protocol
        compared = [key for key in self.scores.metrics if protocol.metric(key).against == "reference"]
        return [key for key in compared if self.metric(key).direction != "none"]


Invariant = Callable[[Subject], list[str]]
"""Gives the sentences that say what does not hold; none where all holds."""


def perfect_output(subject: Subject) -> list[str]:
    """A picture scored against itself gives each metric's exact best, and so do outputs equal to references."""
    scored_id = subject.smallest.sample
    reference = subject.sample(scored_id).files["reference"]
    itself = subject.engine.score_itself(scored_id)
    if itself is None:
        return [f"a reference of this track cannot stand in for an output, so {perfect_output.__name__} says nothing"]
    failures = _imperfect(subject, f"{reference.name} against itself", {k: m.value for k, m in itself.items()})
    if subject.engine.data.group:
        return failures
    for scored in subject.scores.samples:
        # Equal digests of file bytes are enough here: the identity method copies nothing.
        if scored.output.sha256 == subject.engine.file_digest(subject.sample(scored.sample).files["reference"]):
            failures += _imperfect(subject, f"{scored.sample} (output equals reference)", dict(scored.values))
    return failures


def _imperfect(subject: Subject, what: str, values: dict[str, float | None]) -> list[str]:
    return [
        f"{what}: {metric} is {values[metric]!r} and not {subject.perfect(metric)!r}"
        for metric in subject.of_reference()
        if not (values[metric] is None and metric in subject.scores.counted)
        and not _is_perfect(values[metric], subject.metric(metric))
    ]


def _is_perfect(value: float | None, metric: Metric) -> bool:
    return value is not None and abs(value - metric.perfect) <= metric.equal_slack


def value_range(subject: Subject) -> list[str]:
    """Every value is finite and inside the range of its metric's definition."""
    failures = []
    for metric_id in subject.scores.metrics:
        metric = subject.metric(metric_id)
        for sample in subject.scores.samples:
            value = sample.values[metric_id]
            if value is None:
                if metric_id not in subject.scores.counted:
                    failures.append(f"{sample.sample}: {metric_id} has no value: {sample.reasons[metric_id]}")
            elif not metric.low - _ROUNDING <= value <= metric.high + _ROUNDING:
                failures.append(f"{sample.sample}: {metric_id} is {value!r}, outside {metric.low} to {metric.high}")
    return failures


def mean_of_samples(subject: Subject) -> list[str]:
    """The reported mean is the mean of the samples as they are written to ``metrics.csv``."""
    rows = list(csv.DictReader(metrics_csv(subject.scores).splitlines()))
    failures = []
    for metric, reported in _means(subject, subject.scores).items():
        cells = [row[metric] for row in rows if row[metric]]
        own = math.fsum(float(cell) for cell in cells) / len(cells)
        if not math.isclose(own, reported, rel_tol=_ROUNDING, abs_tol=_ROUNDING):
            failures.append(f"{metric}: the mean is {reported!r} and the mean of the file's samples {own!r}")
    return failures


def interval_holds_mean(subject: Subject) -> list[str]:
    """The bootstrap interval holds the mean."""
    failures = []
    for metric, result in aggregate(_whole(subject.scores), subject.bootstrap).items():
        interval = result.interval
        if interval is None or interval.low is None or interval.high is None:
            continue
        if not interval.low - _ROUNDING <= interval.mean <= interval.high + _ROUNDING:
            failures.append(f"{metric}: mean {interval.mean!r} outside [{interval.low!r}, {interval.high!r}]")
    return failures


def sample_count(subject: Subject) -> list[str]:
    """The number of scored samples is the track's; fewer only where missing outputs were allowed."""
    rules = subject.engine.protocol.excusable
    allowed = {deviation.subject for deviation in subject.scores.deviations if deviation.rule in rules}
    absent = [sample for sample in subject.scores.missing if sample not in allowed]
    if not absent:
        return []
    n, wanted = len(subject.scores.samples), len(subject.scores.expected)
    return [f"{n} of the track's {wanted} samples were scored; without a score: {', '.join(absent)}"]


def order_free(subject: Subject) -> list[str]:
    """Taking the samples in another order changes no mean."""
    turned = replace(subject.scores, samples=subject.scores.samples[::-1])
    before, after = _means(subject, subject.scores), _means(subject, turned)
    return [
        f"{metric}: the mean is {before[metric]!r}, and {after[metric]!r} in reverse order"
        for metric in before
        if not math.isclose(before[metric], after[metric], rel_tol=_ROUNDING, abs_tol=_ROUNDING)
    ]


def repeatable(subject: Subject) -> list[str]:
    """The same file scored twice more, past the cache, gives the same numbers."""
    scored = subject.smallest
    first = subject.engine.score_again(scored, subject.scores.case)
    second = subject.engine.score_again(scored, subject.scores.case)
    return [
        f"{scored.sample}: {metric} is {scored.values[metric]!r}, then {one!r} and {two!r}"
        for metric in subject.scores.metrics
        if not _same(
            subject.metric(metric).noise, scored.values[metric], one := first[metric].value, two := second[metric].value
        )
    ]


def _same(noise: float, *values: float | None) -> bool:
    numbers = [value for value in values if value is not None]
    if len(numbers) != len(values):
        return not numbers
    return max(numbers) - min(numbers) <= noise


def hints_nested(subject: Subject) -> list[str]:
    """The ground truth's hints: none at ratio 0, all at 1, and each ratio keeps what a smaller one keeps."""
    rules = subject.engine.protocol.raw["hints"]
    grid = [float(ratio) for ratio in subject.engine.protocol.raw["slices"]["grid"]]
    reference = subject.sample(subject.smallest.sample).files["reference"]
    hints = _hints(str(reference), rules["map_size"], rules["selection"], rules["tie_break"], rules["path_method"])
    failures = []
    for kind, all_of_them in (("scribble", hints.scribble_mask), ("dot", hints.dot_mask)):
        masks = [hints.at_ratio(ratio, kind)[1] > 0 for ratio in grid]
        if masks[0].any() or not (masks[-1] == (all_of_them > 0)).all():
            failures.append(f"{reference.name}: {kind} hints are there at ratio 0, or not all are at ratio 1")
        failures += [
            f"{reference.name}: {kind} hints of ratio {low:g} are missing at {high:g}"
            for low, high, fewer, more in zip(grid, grid[1:], masks, masks[1:], strict=False)
            if (fewer & ~more).any()
        ]
    return failures


@cache
def _hints(file: str, size: int, order: str, tie_break: str, path_method: str) -> Hints:
    # All ratios of all methods ask for the same picture's.
    from pixelgate.hints import generate_hints

    return generate_hints(Path(file), size, order=order, tie_break=tie_break, path_method=path_method)


def _means(subject: Subject, scores: CaseScores) -> dict[str, float]:
    results = aggregate(_whole(scores), subject.bootstrap)
    return {metric: result.interval.mean for metric, result in results.items() if result.interval is not None}


def _whole(scores: CaseScores) -> CaseScores:
    # Invariants hold for the samples that were scored; what is missing is the business of other items.
    return replace(scores, problems=())


_INVARIANTS: dict[str, Invariant] = {
    "perfect-output": perfect_output,
    "range": value_range,
    "mean-of-samples": mean_of_samples,
    "interval-holds-mean": interval_holds_mean,
    "sample-count": sample_count,
    "order-free": order_free,
    "repeatable": repeatable,
    "hints-nested": hints_nested,
}


def check_invariant(name: str, subject: Subject) -> list[str]:
    """Hold one invariant against a scored case.

    Args:
        name: its name in the protocol file.
        subject: the case.

    Returns:
        Sentences that say what does not hold; empty where all holds.

    Raises:
        ProtocolError: no invariant has that name.
    """
    if name not in _INVARIANTS:
        raise ProtocolError(f"unknown invariant {name!r}; known: {', '.join(sorted(_INVARIANTS))}")
    if not subject.scores.samples:
        return ["no sample was scored; see the problems of the case"]
    return _INVARIANTS[name](subject)
