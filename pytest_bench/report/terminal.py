"""The tables and remarks at the end of a run."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pixelgate.aggregate import Aggregate
from pixelgate.curves import source_rows
from pixelgate.flexbench.seed_groups import SeedMean
from pixelgate.protocols import Protocol
from pixelgate.records import Deviation
from pixelgate.results import accounting
from pixelgate.stats import Interval
from pixelgate.tables import Row, count_text, listed, table, track_line
from pytest_bench.golden_update import Update
from pytest_bench.report.document import CaseResult, CurveResult, seed_means
from pytest_bench.session import Bench

_LINES_SHOWN = 10
_DEVIATIONS = "deviations from the protocol (not ranked beside clean rows)"


def write_summary(
    reporter: pytest.TerminalReporter,
    bench: Bench,
    cases: Sequence[CaseResult],
    curves: Sequence[CurveResult],
    updates: Sequence[Update],
    pruned: Sequence[str],
    written: Sequence[str],
) -> None:
    """Print one table per track, then deviations, notes, golden updates and the files written."""
    reporter.write_sep("=", "pixelgate")
    for track in sorted({result.case.track for result in cases}):
        own_cases = [result for result in cases if result.case.track == track]
        own_curves = [result for result in curves if result.group.track == track]
        for line in track_lines(bench, own_cases, own_curves):
            reporter.write_line(line)
        reporter.write_line("")
    for update in updates:
        reporter.write_line(_update_line(update))
    for file in pruned:
        reporter.write_line(f"golden numbers pruned: {file}")
    if written:
        reporter.write_line(f"report: {', '.join(written)}")


def track_lines(bench: Bench, cases: Sequence[CaseResult], curves: Sequence[CurveResult]) -> list[str]:
    """The lines that are printed for one track."""
    track = cases[0].case.track
    protocol = bench.discovery.protocols[track]
    n = count_text(len(result.scores.samples) for result in cases if result.scores is not None)
    baseline = str(protocol.baseline["method"]) if protocol.baseline else ""
    ordered = sorted(cases, key=lambda r: (not r.clean, r.case.method != baseline, r.case))
    running = [result for result in ordered if not result.case.not_run]
    rows = [Row(_label(result), result.aggregates, _remarks(result, bench.options.update_golden)) for result in running]
    lines = [track_line(track, protocol, bench.data(track).revision_short, n)]
    # A protocol over several groups of metrics has a table for each track's own.
    lines += table(protocol, rows, bench.data(track).track.metrics if protocol.groups else ()) if rows else []
    lines += _not_run(ordered)
    lines += [line for result in running for line in _accounting(result)]
    lines += _areas(protocol, curves)
    lines += _seeds(bench, track, protocol, cases)
    if baseline and not any(result.case.method == baseline for result in cases):
        lines.append(f"{baseline}: missing; {_why_missing(bench, track)}")
    deviations = [(_who(result), item) for result in ordered for item in _deviations(result)]
    lines += listed(_DEVIATIONS, deviations, _LINES_SHOWN, "the JSON report")
    notes = [(_who(result), item) for result in ordered if result.scores for item in result.scores.notes]
    lines += listed("notes", notes, _LINES_SHOWN, "the JSON report")
    return lines


def _not_run(cases: Sequence[CaseResult]) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for result in cases:
        if result.case.not_run:
            reasons.setdefault(result.case.not_run, []).append(_label(result))
    return [f"not run: {', '.join(labels)}: {reason}" for reason, labels in reasons.items()]


def _accounting(result: CaseResult) -> list[str]:
    """Where the samples of a case of clips went; nothing where all were scored."""
    if result.scores is None or not result.case.groups:
        return []
    found = accounting(result.scores)
    parts = [f"{len(found[key])} {key.replace('_', ' ')}: {', '.join(found[key])}" for key in _LOST if found[key]]
    parts += [f"{sample} failed [{rule}]" for sample, rule in found["failed"].items()]
    lacking: dict[int, list[str]] = {}
    for one in result.aggregates.values():
        if one.without:
            lacking.setdefault(len(result.scores.samples) - len(one.without), []).append(one.metric)
    parts += [f"over {n} alone: {', '.join(metrics)}" for n, metrics in lacking.items()]
    head = f"{_label(result)}: {found['expected']} expected, {found['scored']} scored"
    return [f"{head}; {'; '.join(parts)}"] if parts else []


_LOST = ("missing_reference", "missing_output", "missing_prediction", "extra")


def _seeds(bench: Bench, track: str, protocol: Protocol, cases: Sequence[CaseResult]) -> list[str]:
    """Mean and standard deviation over seeds, one row per method."""
    groups = [group for group in bench.discovery.seeds if group.track == track and len(group.cases) > 1]
    if not groups:
        return []
    rows, remarks = [], []
    for group in groups:
        means = seed_means(group, cases)
        rows.append(Row(group.method, {metric: _spread(metric, mean) for metric, mean in means.items()}))
        common = [metric for metric, mean in means.items() if mean.common]
        remarks += [f"{group.method}: over the samples that every seed has: {', '.join(common)}"] if common else []
    counts = count_text(len(group.cases) for group in groups)
    head = f"mean ± standard deviation over n={counts} seeds (ddof 1); above, ± is half a 95 % bootstrap interval"
    return ["", head, *table(protocol, rows, bench.data(track).track.metrics), *remarks]


def _spread(metric: str, mean: SeedMean) -> Aggregate:
    if mean.mean is None:
        return Aggregate(metric, None, mean.reason)
    return Aggregate(metric, Interval(mean.mean, None, None, mean.std, mean.n, 0, 0, 0.0))


def _areas(protocol: Protocol, curves: Sequence[CurveResult]) -> list[str]:
    if not curves:
        return []
    rows = []
    for result in sorted(curves, key=lambda result: (not result.clean, result.group)):
        means = {
            metric: Aggregate(metric, one.curve.area if one.curve else None, one.reason)
            for metric, one in result.aggregates.items()
        }
        label = " ".join(part for part in (result.group.method, result.group.variant) if part)
        rows.append(Row(label if result.clean else f"{label} †", means))
    return [
        "",
        f"area under the curve over the hint ratio (backend: {protocol.backend})",
        *table(protocol, rows),
        *_over_sources(curves),
        *_checklists(curves),
    ]


def _over_sources(curves: Sequence[CurveResult]) -> list[str]:
    lines = []
    for row in source_rows([(result.group, result.aggregates) for result in curves]):
        areas = ", ".join(f"{metric} {one.mean:.4f} ± {one.sd or 0.0:.4f}" for metric, one in row.metrics.items())
        lines.append(f"{row.method} {row.hint_type}, mean ± SD over {len(row.sources)} line-art sources: {areas}")
    return lines


def _checklists(curves: Sequence[CurveResult]) -> list[str]:
    missing: dict[str, list[str]] = {}
    for result in curves:
        missing.setdefault(", ".join(result.unstated), []).append(result.group.id)
    return [
        f"reporting checklist of {', '.join(ids)}: missing {lacking} (--bench-meta KEY=VALUE or meta.yaml)"
        for lacking, ids in missing.items()
        if lacking
    ]


def _why_missing(bench: Bench, track: str) -> str:
    baseline = bench.discovery.protocols[track].baseline
    if baseline and baseline["column"] not in bench.data(track).columns:
        return f"nobody wrote its outputs, and the track's {baseline['column']} pictures are not here"
    return "this run's filters leave it out"


def _label(result: CaseResult) -> str:
    slice_name = "" if result.case.slice == "full" else f" {result.case.slice}"
    return f"{result.case.method}{slice_name}{'' if result.clean or result.scores is None else ' †'}"


def _who(result: CaseResult) -> str:
    """The method, with its seed where it has several."""
    return result.case.method if result.case.slice == "full" or not result.case.groups else _label(result).rstrip(" †")


def _remarks(result: CaseResult, updating: bool) -> tuple[str, ...]:
    if result.scores is None:
        return (result.item.outcome.upper(),)
    remarks = []
    if result.case.baseline:
        remarks.append(f"computed from the track's {result.case.baseline}")
    if result.item.outcome == "failed":
        remarks.append("FAILED")
    verdict = result.verdict or {}
    if updating:
        return tuple(remarks)
    if not result.scores.samples:
        return tuple(remarks)
    if verdict.get("status") == "not-gated":
        remarks.append(f"scored, {verdict.get('problem') or 'not gated'}")
    elif verdict.get("status") == "no-golden" and result.item.outcome == "passed":
        remarks.append("scored, not gated: no golden numbers")
    elif verdict.get("status") == "passed" and verdict["changed_outputs"]:
        remarks.append(f"outputs differ ({len(verdict['changed_outputs'])}), numbers within tolerance")
    return tuple(remarks)


def _deviations(result: CaseResult) -> Sequence[Deviation]:
    return result.scores.deviations if result.scores is not None else ()


def _update_line(update: Update) -> str:
    if update.refused:
        return f"golden numbers not updated: {update.case}: {update.refused}"
    if update.changed:
        return f"golden numbers written: {update.file}: {', '.join(update.changed)}"
    return f"golden numbers unchanged: {update.file}"
