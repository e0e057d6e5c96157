"""An evaluation as lines: means with their n, the accounting of every group, what failed, and what was written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pixelgate.commands.console import aligned, error_lines
from pixelgate.commands.hints_files import deviation_lines
from pixelgate.errors import InputError
from pixelgate.records import Deviation

if TYPE_CHECKING:
    from pixelgate.flexbench.evaluated import Evaluated, GroupOutcome, RunOutcome
    from pixelgate.flexbench.table_columns import Column

_COUNTS = ("expected", "scored", "missing_reference", "missing_output", "missing_prediction", "failed", "extra")
_LISTED = ("missing_reference", "missing_output", "missing_prediction", "extra")


def result_lines(found: Evaluated) -> list[str]:
    """What goes to stdout."""
    lines = [f"generated: {found.generated}   data set: {found.dataset or 'the demo, built here'}"]
    for run in found.runs:
        lines += ["", *_run_lines(run)]
    return lines


def fault_lines(found: Evaluated, own_options: Mapping[str, str]) -> list[str]:
    """What goes to stderr: every problem of every group and seed, then what is only to be known.

    What several groups of a run share word for word is told once, with their names.

    Args:
        found: the evaluation.
        own_options: see `pixelgate.commands.console.error_lines`.
    """
    lines: list[str] = []
    for run in found.runs:
        faults = {one.group: list(_group_faults(one, own_options)) for one in run.groups}
        lines += _by_line("error", faults, run, found)
        lines += [f"error: {text}" for text in run.not_shown]
    for run in found.runs:
        remarks = {one.group: list(_remarks(one)) for one in run.groups}
        lines += _by_line("warning", remarks, run, found)
    return lines


def _by_line(kind: str, of_groups: Mapping[str, Iterable[str]], run: RunOutcome, found: Evaluated) -> list[str]:
    groups: dict[str, dict[str, None]] = {}
    for group, lines in of_groups.items():
        for line in lines:
            groups.setdefault(line, {})[group] = None
    head = "" if len(found.runs) == 1 and run.name == "full" else f"{run.name}, "
    return [f"{kind}: {head}{', '.join(named)}: {line}" for line, named in groups.items()]


def _run_lines(run: RunOutcome) -> Iterator[str]:
    yield f"{run.name}: {run.folder}"
    rows = list(_means(run))
    if rows:
        yield from aligned([("group", "metric", "mean", "n"), *rows])
    counts = [_counts(one) for one in run.groups if not one.not_run]
    if counts:
        yield from aligned([("group", *(name.replace("_", " ") for name in _COUNTS)), *counts])
        run_groups = [one for one in run.groups if one.scores is not None]
        computed = sum(one.computed for one in run_groups)
        cached = sum(one.accounting["scored"] for one in run_groups) - computed
        yield f"samples computed now: {computed}; taken from the score cache: {max(0, cached)}"
    for one in run.groups:
        yield from _names(one)
    for group, why in run.not_run.items():
        yield f"not run: {group}: {why}"
    for one in run.incomplete:
        yield f"{one.group}: not in the table, since its means would not stand for all samples"
    yield from (f"written: {file}" for file in run.files)


def _means(run: RunOutcome) -> Iterator[Sequence[str]]:
    from pixelgate.flexbench.layout_csv import number_text
    from pixelgate.flexbench.table_columns import Column, in_order

    for one in run.groups:
        if one.results is None or not one.complete:
            continue
        group = one.group
        for column in in_order(Column(one.results.label, metric) for metric in one.results.metrics):
            if _in_table(column):
                mean, n = one.results.mean(column.metric)
                yield group, column.head, number_text(mean, column.decimals) or "–", str(n)
                group = ""


def _in_table(column: Column) -> bool:
    from pixelgate.flexbench.table_columns import PROTOCOL
    from pixelgate.protocols import load_protocol

    return load_protocol(PROTOCOL).metric(column.id).table


def _counts(one: GroupOutcome) -> Sequence[str]:
    told = one.accounting
    return one.group, *(str(told[key] if key in ("expected", "scored") else len(told[key])) for key in _COUNTS)


def _names(one: GroupOutcome) -> Iterator[str]:
    told = one.accounting
    for key in _LISTED if told else ():
        if told[key]:
            yield f"{one.group}: {key.replace('_', ' ')}: {', '.join(told[key])}"
    if told and one.results is not None:
        failed = one.results.accounting.failed
        yield from (f"{one.group}: failed: {sample}: {failed[sample]}" for sample in told["failed"])


def _group_faults(one: GroupOutcome, own_options: Mapping[str, str]) -> Iterator[str]:
    if one.problems:
        yield from (line.removeprefix("error: ") for line in error_lines(InputError(one.problems), own_options))
    yield from one.gaps
    yield from deviation_lines(one.faults)
    if one.faults:
        rules = ",".join(dict.fromkeys(fault.rule for fault in one.faults))
        yield f"mend the outputs, or accept it with --allow-deviation {rules} (it stays recorded)"


def _remarks(one: GroupOutcome) -> Iterator[str]:
    if one.scores is not None:
        notes = [Deviation(note.subject, note.rule, note.message) for note in one.scores.notes]
        yield from deviation_lines([*(item for item in one.scores.deviations if item not in one.faults), *notes])
