"""From the scores of a track's slices to one curve per metric: means over the ratio, and the area under them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pixelgate.aggregate import Bootstrap
from pixelgate.case import Case
from pixelgate.errors import InputError, Problem
from pixelgate.hints.ratios import check_alphas
from pixelgate.protocols import Protocol
from pixelgate.records import Deviation
from pixelgate.scores import CaseScores
from pixelgate.slices import split_name
from pixelgate.stats import Curve, Interval, SourceSummary, curve, over_sources


@dataclass(frozen=True, order=True)
class CurveGroup:
    """The cases of one curve: all ratios of a method on a track, with one hint type and line-art source.

    Attributes:
        method, track: as in `Case`.
        variant: hint type and line-art source; empty where a run has one of each.
        cases: one per ratio, by increasing ratio.
    """

    method: str
    track: str
    variant: str
    cases: tuple[Case, ...]

    @property
    def id(self) -> str:
        """``method/track`` or ``method/track/variant``."""
        return "/".join(part for part in (self.method, self.track, self.variant) if part)

    @property
    def ratios(self) -> tuple[float, ...]:
        """The grid, increasing."""
        return tuple(split_name(case.slice)[1] for case in self.cases)


def curve_groups(cases: Sequence[Case], protocols: Mapping[str, Protocol]) -> tuple[CurveGroup, ...]:
    """The curves that cases make up, sorted; cases of tracks without slices make none."""
    groups: dict[tuple[str, str, str], list[Case]] = {}
    for case in cases:
        if (protocols[case.track].slices or {}).get("kind") == "hint-ratio":
            groups.setdefault((case.method, case.track, split_name(case.slice)[0]), []).append(case)
    return tuple(
        CurveGroup(*key, tuple(sorted(group, key=lambda case: split_name(case.slice)[1])))
        for key, group in sorted(groups.items())
    )


def grid_deviation(group: CurveGroup, protocol: Protocol) -> list[Deviation]:
    """A deviation where a curve's grid is not the protocol's."""
    assert protocol.slices is not None
    grid = tuple(float(ratio) for ratio in protocol.slices["grid"])
    if group.ratios == grid:
        return []
    shown = ", ".join(f"{ratio:g}" for ratio in group.ratios)
    return [Deviation(group.id, "grid", f"the ratios {shown} are not the protocol's grid")]


def grid_problems(group: CurveGroup) -> list[Problem]:
    """What is wrong with a curve's grid: too few ratios, or one that does not span 0 to 1."""
    try:
        check_alphas(group.ratios)
    except InputError as error:
        where = str(group.cases[0].folder.parent) if group.cases[0].folder else group.id
        return [Problem(where, problem.rule, problem.found, problem.mend) for problem in error.problems]
    return []


@dataclass(frozen=True)
class CurveAggregate:
    """One metric's curve.

    Attributes:
        curve: points and area; None where there is no valid one.
        reason: why there is none.
    """

    curve: Curve | None
    reason: str | None = None


def aggregate_curve(
    group: CurveGroup, scores: Mapping[str, CaseScores], bootstrap: Bootstrap
) -> dict[str, CurveAggregate]:
    """The curve of every metric that all ratios have.

    Args:
        group: the cases.
        scores: case id -> its scores; a case that is absent leaves no curve, with the reason.
        bootstrap: what intervals are computed with.
    """
    absent = [case.id for case in group.cases if case.id not in scores]
    own = [scores[case.id] for case in group.cases if case.id in scores]
    metrics = own[0].metrics if own else ()
    reason = _no_curve(group, own, absent)
    if reason:
        return {metric: CurveAggregate(None, reason) for metric in metrics}
    return {metric: _curve(group, own, metric, bootstrap) for metric in metrics}


def _no_curve(group: CurveGroup, scores: Sequence[CaseScores], absent: Sequence[str]) -> str:
    if absent:
        return f"not scored: {', '.join(absent)}"
    broken = [one.case.slice for one in scores if one.problems]
    if broken:
        return f"problems with the files at {', '.join(broken)}"
    sets = {tuple(sample.sample for sample in one.samples) for one in scores}
    if len(sets) > 1:
        return "the ratios were scored over different images"
    if len(group.cases) < 2:
        return "a curve needs two or more ratios"
    return "" if sets != {()} else "no image was scored"


def _curve(group: CurveGroup, scores: Sequence[CaseScores], metric: str, bootstrap: Bootstrap) -> CurveAggregate:
    values: dict[str, list[float]] = {}
    for one in scores:
        for sample in one.samples:
            value = sample.values[metric]
            if value is None:
                return CurveAggregate(None, f"no value for {sample.sample} at {one.case.slice}")
            values.setdefault(sample.sample, []).append(value)
    return CurveAggregate(
        curve(
            group.ratios,
            values,
            resamples=bootstrap.resamples,
            seed=bootstrap.seed,
            confidence=bootstrap.confidence,
        )
    )


@dataclass(frozen=True)
class SourceRow:
    """A method's areas over its line-art sources, for one hint type.

    Attributes:
        method, track, hint_type: what the row is about.
        sources: the line-art sources.
        metrics: metric id -> mean and sample standard deviation; only metrics that every source has an area for.
    """

    method: str
    track: str
    hint_type: str
    sources: tuple[str, ...]
    metrics: Mapping[str, SourceSummary]


def source_rows(curves: Sequence[tuple[CurveGroup, Mapping[str, CurveAggregate]]]) -> list[SourceRow]:
    """Mean ± standard deviation over line-art sources, where a method has two or more for one hint type.

    A variant is read as hint type and source, ``scribble-xdog``. Sources with other ratios or other images than the
    rest cannot be averaged, and give no row.
    """
    rows: dict[tuple[str, str, str], list[tuple[str, Mapping[str, CurveAggregate]]]] = {}
    for group, aggregates in curves:
        hint_type, mark, source = group.variant.partition("-")
        if mark:
            rows.setdefault((group.method, group.track, hint_type), []).append((source, aggregates))
    return [_source_row(key, own) for key, own in sorted(rows.items()) if len(own) > 1 and _alike(own)]


def _alike(own: Sequence[tuple[str, Mapping[str, CurveAggregate]]]) -> bool:
    grounds = {
        (one.curve.ratios, tuple(one.curve.areas))
        for _, aggregates in own
        for one in aggregates.values()
        if one.curve is not None
    }
    return len(grounds) == 1


def _source_row(key: tuple[str, str, str], own: Sequence[tuple[str, Mapping[str, CurveAggregate]]]) -> SourceRow:
    areas: dict[str, list[float]] = {}
    for _, aggregates in own:
        for metric, one in aggregates.items():
            if one.curve is not None:
                areas.setdefault(metric, []).append(one.curve.area.mean)
    whole = {metric: over_sources(values) for metric, values in areas.items() if len(values) == len(own)}
    return SourceRow(*key, tuple(source for source, _ in own), whole)


def curve_to_json(aggregate: CurveAggregate) -> dict[str, Any]:
    """A metric's curve in builtin types."""
    if aggregate.curve is None:
        return {"points": [], "area": None, "areas": {}, "reason": aggregate.reason}
    one = aggregate.curve
    points = [{"ratio": ratio, **_plain(point)} for ratio, point in zip(one.ratios, one.points, strict=True)]
    return {"points": points, "area": _plain(one.area), "areas": dict(one.areas), "reason": None}


def _plain(interval: Interval) -> dict[str, Any]:
    data = asdict(interval)
    return {key: data[key] for key in ("mean", "low", "high", "half", "n")}


def per_ratio_csv(aggregates: Mapping[str, CurveAggregate], ratios: Sequence[float]) -> str:
    """``per_ratio_summary.csv``: one row per ratio with n and every metric's mean; empty where there is none."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["ratio", "n", *aggregates])
    curves = [aggregate.curve for aggregate in aggregates.values()]
    n = next((one.points[0].n for one in curves if one is not None), 0)
    for index, ratio in enumerate(ratios):
        writer.writerow([repr(ratio), n, *("" if one is None else repr(one.points[index].mean) for one in curves)])
    return text.getvalue()


def per_image_csv(aggregates: Mapping[str, CurveAggregate]) -> str:
    """``areas.csv``: one row per image with its own area for every metric."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    known = {metric: one.curve.areas for metric, one in aggregates.items() if one.curve is not None}
    writer.writerow(["image", *known])
    for image in next(iter(known.values()), {}):
        writer.writerow([image, *(repr(areas[image]) for areas in known.values())])
    return text.getvalue()
