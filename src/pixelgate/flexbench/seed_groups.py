"""The cases of one method and track over several seeds, and their summary: mean and deviation of per-seed means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pixelgate.aggregate import Aggregate
from pixelgate.case import Case
from pixelgate.flexbench.folder import seed_of
from pixelgate.scores import CaseScores


@dataclass(frozen=True, order=True)
class SeedGroup:
    """All seeds of a method on a track.

    Attributes:
        method, track: as in `Case`.
        cases: one per seed, by rising seed.
    """

    method: str
    track: str
    cases: tuple[Case, ...]

    @property
    def id(self) -> str:
        """``method/track``."""
        return f"{self.method}/{self.track}"


def seed_groups(cases: Sequence[Case]) -> tuple[SeedGroup, ...]:
    """The groups that cases make up, sorted; cases without seeds make none."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        if seed_of(case.slice) is not None:
            groups.setdefault((case.method, case.track), []).append(case)
    return tuple(
        SeedGroup(*key, tuple(sorted(group, key=lambda case: seed_of(case.slice) or 0)))
        for key, group in sorted(groups.items())
    )


@dataclass(frozen=True)
class SeedMean:
    """One metric over seeds.

    Attributes:
        mean: mean of the per-seed means; None where there is no valid one.
        std: their sample standard deviation (ddof 1); None for a single seed.
        n: number of seeds.
        samples: number of samples behind the mean of each seed.
        reason: why there is no mean.
        common: whether the means are over the samples that all seeds have, because one lacks some.
    """

    mean: float | None
    std: float | None
    n: int
    samples: tuple[int, ...] = ()
    reason: str | None = None
    common: bool = False


def over_seeds(
    group: SeedGroup, aggregates: Mapping[str, Mapping[str, Aggregate]], scores: Mapping[str, CaseScores]
) -> dict[str, SeedMean]:
    """Mean and standard deviation over seeds of every metric.

    Where seeds have a value for different samples, all means are over the samples that every seed has one for.

    Args:
        group: the seeds.
        aggregates: case id -> metric -> its mean; a case that is absent was not scored.
        scores: case id -> its scores.
    """
    known = [aggregates.get(case.id, {}) for case in group.cases]
    metrics = list(dict.fromkeys(metric for one in known for metric in one))
    return {metric: _over(group, metric, [one.get(metric) for one in known], scores) for metric in metrics}


def _over(
    group: SeedGroup, metric: str, results: Sequence[Aggregate | None], scores: Mapping[str, CaseScores]
) -> SeedMean:
    lacking = [
        f"{case.slice} ({result.reason if result else 'not scored'})"
        for case, result in zip(group.cases, results, strict=True)
        if result is None or result.interval is None
    ]
    if lacking:
        return SeedMean(None, None, len(results) - len(lacking), reason=f"no mean for {', '.join(lacking)}")
    values = [_present(scores[case.id], metric) for case in group.cases]
    shared = set.intersection(*map(set, values))
    if not shared:
        return SeedMean(None, None, len(results), reason="no sample has a value in every seed")
    means = [math.fsum(own[sample] for sample in sorted(shared)) / len(shared) for own in values]
    mean = math.fsum(means) / len(means)
    squares = math.fsum((value - mean) ** 2 for value in means)
    std = math.sqrt(squares / (len(means) - 1)) if len(means) > 1 else None
    counts = tuple(map(len, values))
    return SeedMean(mean, std, len(means), counts, common=any(count != len(shared) for count in counts))


def _present(scores: CaseScores, metric: str) -> dict[str, float]:
    return {s.sample: value for s in scores.samples if (value := s.values[metric]) is not None}


def sample_set_differences(group: SeedGroup, scores: Mapping[str, CaseScores]) -> list[str]:
    """Sentences that name the seeds whose scored samples are not those of the others."""
    sets = {case.slice: {s.sample for s in scores[case.id].samples} for case in group.cases if case.id in scores}
    everything = set().union(*sets.values())
    return [
        f"{name} lacks {', '.join(sorted(everything - own))}, which other seeds have"
        for name, own in sets.items()
        if everything - own
    ]


def seed_json(mean: SeedMean) -> dict[str, Any]:
    """Plain types."""
    return {
        "mean": mean.mean,
        "std": mean.std,
        "ddof": 1,
        "n": mean.n,
        "samples": list(mean.samples),
        "reason": mean.reason,
        "common": mean.common,
    }
