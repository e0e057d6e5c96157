"""The report as one JSON document, built from what the items reported."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from pixelgate.aggregate import Aggregate, aggregate, bootstrap_settings
from pixelgate.case import Case
from pixelgate.curves import (
    CurveAggregate,
    CurveGroup,
    aggregate_curve,
    curve_to_json,
    grid_deviation,
    source_rows,
)
from pixelgate.flexbench.folder import seed_of
from pixelgate.flexbench.seed_groups import SeedGroup, SeedMean, over_seeds, seed_json
from pixelgate.metrics.registry import get_metric
from pixelgate.protocols import Protocol
from pixelgate.results import library_versions, run_record, summary
from pixelgate.scores import CaseScores
from pytest_bench.report.results import ItemResult
from pytest_bench.runs import checklist, run_folders
from pytest_bench.session import Bench

SCHEMA = "pixelgate-report-1"


@dataclass(frozen=True)
class CaseResult:
    """One case as the controller knows it.

    Attributes:
        case: the case.
        item: the outcome of its item.
        scores: its scores; None where the item was lost or never ran.
        aggregates: mean and interval per metric, of the scores.
        verdict: the comparison with the golden numbers, in builtin types.
        revision: the data set's revision.
    """

    case: Case
    item: ItemResult
    scores: CaseScores | None
    aggregates: dict[str, Aggregate]
    verdict: Mapping[str, Any] | None
    revision: str

    @property
    def clean(self) -> bool:
        """Whether it was scored whole and without a deviation, and so may be ranked."""
        return self.scores is not None and not self.scores.deviations and not self.scores.problems


def case_results(bench: Bench, items: Mapping[str, ItemResult]) -> list[CaseResult]:
    """The selected cases, sorted."""
    results = []
    for item in items.values():
        case = bench.discovery.case(item.subject) if item.kind == "case" else None
        if case is None:
            continue
        scores, aggregates, verdict = None, {}, None
        if item.payload is not None:
            scores = CaseScores.from_json(item.payload["scores"])
            protocol = bench.discovery.protocols[case.track]
            bootstrap, _ = bootstrap_settings(protocol, bench.options.resamples, bench.options.seed)
            aggregates = aggregate(scores, bootstrap)
            verdict = item.payload["verdict"]
        results.append(CaseResult(case, item, scores, aggregates, verdict, bench.data(case.track).revision))
    return sorted(results, key=lambda result: result.case)


@dataclass(frozen=True)
class CurveResult:
    """One curve as the controller knows it.

    Attributes:
        group: the cases.
        aggregates: metric id -> its curve.
        clean: whether all of its cases may be ranked.
        checklist: what is known of the run that wrote its outputs.
        unstated: what a published result should say and this run does not.
    """

    group: CurveGroup
    aggregates: dict[str, CurveAggregate]
    clean: bool
    checklist: Mapping[str, str]
    unstated: Sequence[str]


def curve_results(bench: Bench, cases: Sequence[CaseResult]) -> list[CurveResult]:
    """The curves of the selected cases, sorted."""
    known = {result.case.id: result for result in cases}
    results = []
    for group in bench.discovery.curves:
        own = [known[case.id] for case in group.cases if case.id in known]
        if not own:
            continue
        scores = {result.case.id: result.scores for result in own if result.scores is not None}
        protocol = bench.discovery.protocols[group.track]
        bootstrap, _ = bootstrap_settings(protocol, bench.options.resamples, bench.options.seed)
        aggregates = aggregate_curve(group, scores, bootstrap)
        known_of_run = checklist(run_folders(group.cases)[0], bench.options.meta, group.variant)
        results.append(CurveResult(group, aggregates, all(result.clean for result in own), *known_of_run))
    return results


def curve_document(bench: Bench, result: CurveResult) -> dict[str, Any]:
    """A curve's place in the report."""
    protocol = bench.discovery.protocols[result.group.track]
    return {
        "id": result.group.id,
        "method": result.group.method,
        "track": result.group.track,
        "variant": result.group.variant,
        "ratios": list(result.group.ratios),
        "protocol_grid": not grid_deviation(result.group, protocol),
        "backend": protocol.backend,
        "ranked": result.clean,
        "checklist": dict(result.checklist),
        "checklist_missing": list(result.unstated),
        "metrics": {metric: curve_to_json(aggregate) for metric, aggregate in result.aggregates.items()},
    }


def seeds_document(group: SeedGroup, cases: Sequence[CaseResult]) -> dict[str, Any]:
    """A run over several seeds in the report."""
    own = {result.case.id: result for result in cases if result.case in group.cases}
    return {
        "id": group.id,
        "method": group.method,
        "track": group.track,
        "seeds": [seed_of(case.slice) for case in group.cases],
        "ranked": len(own) == len(group.cases) and all(result.clean for result in own.values()),
        "metrics": {metric: seed_json(mean) for metric, mean in seed_means(group, cases).items()},
    }


def seed_means(group: SeedGroup, cases: Sequence[CaseResult]) -> dict[str, SeedMean]:
    """Every metric over the seeds of a group."""
    own = {result.case.id: result for result in cases if result.case in group.cases}
    scores = {case_id: result.scores for case_id, result in own.items() if result.scores is not None}
    return over_seeds(group, {case_id: result.aggregates for case_id, result in own.items()}, scores)


def over_sources_document(curves: Sequence[CurveResult]) -> list[dict[str, Any]]:
    """Mean and sample standard deviation of areas over line-art sources."""
    rows = source_rows([(result.group, result.aggregates) for result in curves])
    return [{**asdict(row), "sources": list(row.sources)} for row in rows]


def build_document(
    bench: Bench,
    cases: Sequence[CaseResult],
    curves: Sequence[CurveResult],
    items: Mapping[str, ItemResult],
    exit_status: int,
    start: float,
) -> dict[str, Any]:
    """The whole report. Lists are sorted, so that two runs differ in times alone."""
    selected = {result.case.id for result in cases}
    return {
        "schema": SCHEMA,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "duration_s": round(time.time() - start, 3),
        "versions": library_versions(),
        "exit_status": exit_status,
        "outputs": str(bench.options.outputs),
        "ignored_folders": list(bench.discovery.ignored),
        "tracks": [_track(bench, track_id) for track_id in sorted(bench.discovery.tracks)],
        "cases": [_case(bench, result) for result in cases],
        "curves": [curve_document(bench, result) for result in curves],
        "over_sources": over_sources_document(curves),
        "seeds": [seeds_document(group, cases) for group in bench.discovery.seeds],
        "checks": [_check(item) for item in items.values() if item.kind != "case"],
        "not_selected": [case.id for case in bench.discovery.cases if case.id not in selected],
        "lost": [item.node_id for item in items.values() if item.outcome == "lost"],
        "not_run": [item.node_id for item in items.values() if item.outcome == "not-run"],
    }


def _track(bench: Bench, track_id: str) -> dict[str, Any]:
    protocol = bench.discovery.protocols[track_id]
    data = bench.data(track_id)
    return {
        "track": track_id,
        "dataset": {"repository": getattr(data.track.source, "repository", None), "revision": data.revision},
        "samples": len(data.track.samples),
        "protocol": {"id": protocol.id, "version": protocol.version, "params_sha256": protocol.params_hash},
        "backend": protocol.backend,
        "metrics": [_metric(protocol, entry.id) for entry in protocol.metrics],
    }


def _metric(protocol: Protocol, metric_id: str) -> dict[str, Any]:
    entry = protocol.metric(metric_id)
    metric = get_metric(entry.metric)
    return {
        "id": entry.id,
        "metric": metric.id,
        "version": metric.version,
        "title": entry.title,
        "unit": metric.unit,
        "direction": metric.direction,
        "against": entry.against,
        "ranked": entry.ranked,
    }


def _case(bench: Bench, result: CaseResult) -> dict[str, Any]:
    head = {
        "id": result.case.id,
        "method": result.case.method,
        "track": result.case.track,
        "slice": result.case.slice,
        "not_run": result.case.not_run,
        "outcome": result.item.outcome,
        "message": result.item.message,
        "duration_s": round(result.item.duration, 3),
        "attempts": result.item.attempts,
        "ranked": result.clean,
        "golden": result.verdict,
        "sheets": list((result.item.payload or {}).get("sheets", [])),
    }
    if result.scores is None:
        return {**head, "summary": None, "run": None, "samples": []}
    protocol = bench.discovery.protocols[result.case.track]
    samples = [asdict(sample) for sample in result.scores.samples]
    return {
        **head,
        "summary": summary(result.scores, protocol, result.aggregates),
        "run": run_json(bench, result),
        "samples": samples,
    }


def run_json(bench: Bench, result: CaseResult) -> dict[str, Any]:
    """The content of a case's ``run.json``."""
    assert result.scores is not None
    protocol = bench.discovery.protocols[result.case.track]
    bootstrap, _ = bootstrap_settings(protocol, bench.options.resamples, bench.options.seed)
    repository = getattr(bench.discovery.tracks[result.case.track].source, "repository", None)
    return run_record(
        result.scores,
        protocol,
        result.revision,
        repository,
        bootstrap,
        bench.options.device,
        result.scores.deviations,
    )


def _check(item: ItemResult) -> dict[str, Any]:
    return {
        "id": item.node_id,
        "kind": item.kind,
        "subject": item.subject,
        "outcome": item.outcome,
        "message": item.message,
        "duration_s": round(item.duration, 3),
    }
