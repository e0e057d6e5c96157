"""The combined table of one run: every group's scores of every sample in one CSV, and the accounting beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pixelgate.errors import InputError, Problem
from pixelgate.flexbench.layout_csv import is_dangerous, number_text, table_csv
from pixelgate.flexbench.results import AVERAGE, CSV_NAME, FIRST, JSON_NAME, GroupResults, notes_data, results_data
from pixelgate.flexbench.results_reading import read_results
from pixelgate.flexbench.table_columns import LABELS, Column, group_order, in_order, label_of
from pixelgate.io.files import atomic_write
from pixelgate.records import Note
from pixelgate.results import to_json

COMBINED_CSV = "combined_results.csv"
COMBINED_JSON = "combined_results.json"
N_ROW = "n"
COMMON_ROW = "average (common)"
COMMON_N_ROW = "n (common)"


@dataclass(frozen=True)
class Combined:
    """All groups of one run.

    Attributes:
        groups: in the order of the table, one per label.
        not_run: groups that were asked for and not run -> why.
        notes: what a reader of the table must know.
    """

    groups: tuple[GroupResults, ...]
    not_run: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The table's columns: groups in their order, metrics as the protocol lists them, unknown ones last."""
        return in_order(Column(group.label, metric) for group in self.groups for metric in group.metrics)

    @cached_property
    def samples(self) -> tuple[str, ...]:
        """The table's rows, sorted as text: every sample that was scored, and every one that was expected."""
        ids = {key for group in self.groups for key in (*group.per_sample, *(group.accounting.expected or ()))}
        return tuple(sorted(ids))

    @cached_property
    def scored(self) -> tuple[str, ...]:
        """The samples with a value in at least one column, sorted as text."""
        return tuple(sorted({key for group in self.groups for key in group.scored}))

    @cached_property
    def common(self) -> tuple[str, ...]:
        """The samples with a value in every column; columns without any value at all are left out of account."""
        columns = [column for column in self.columns if self.average(column)[1]]
        return tuple(
            sample
            for sample in self.samples
            if columns and all(self.value(column, sample) is not None for column in columns)
        )

    @cached_property
    def _by_label(self) -> dict[str, GroupResults]:
        return {group.label: group for group in self.groups}

    def value(self, column: Column, sample: str) -> float | None:
        """One number; None where there is none."""
        group = self._by_label.get(column.label)
        return None if group is None else group.value(sample, column.metric)

    def average(self, column: Column, samples: Iterable[str] | None = None) -> tuple[float | None, int]:
        """Mean over the samples that have a value, and their number; over ``samples`` only where they are given."""
        group = self._by_label.get(column.label)
        return (None, 0) if group is None else group.mean(column.metric, samples)


def combine(
    results_dir: Path,
    output_dir: Path | None = None,
    *,
    common_subset: bool = False,
    not_run: Mapping[str, str] | None = None,
) -> Combined:
    """Merge the groups' results of one run into ``combined_results.csv`` and ``combined_results.json``.

    Args:
        results_dir: holds one folder per group with ``results.json``. Other folders are passed over.
        output_dir: where the two files go; None takes ``results_dir``.
        common_subset: add rows to the CSV below the averages: ``n``, and the averages over the samples that have a
            value in every column with their n. The JSON has them always.
        not_run: groups that were asked for and not run -> why; told in the JSON.

    Returns:
        The table.

    Raises:
        InputError: a group's file is missing or wrong, a group has two folders, or there is no group at all; see
            `pixelgate.flexbench.results_reading.read_results`.
    """
    combined = combine_groups(read_groups(results_dir), not_run=not_run)
    write_combined(results_dir if output_dir is None else output_dir, combined, common_subset=common_subset)
    return combined


def read_groups(results_dir: Path) -> list[GroupResults]:
    """The results of every group in a folder; problems of all groups are listed at once.

    Raises:
        InputError: as `combine`.
    """
    mend = "Run the evaluators first; each writes a folder there. Look whether it is the right folder."
    if not results_dir.is_dir():
        raise InputError(Problem(str(results_dir), "no-results", "is no folder.", mend))
    groups: list[GroupResults] = []
    problems: list[Problem] = []
    for folder in sorted(entry for entry in results_dir.iterdir() if entry.is_dir()):
        if label_of(folder.name) in LABELS or any((folder / name).exists() for name in (JSON_NAME, CSV_NAME)):
            try:
                groups.append(read_results(folder))
            except InputError as error:
                problems += error.problems
    if problems:
        raise InputError(problems)
    if not groups:
        raise InputError(Problem(str(results_dir), "no-results", "holds no group's results.", mend))
    return groups


def combine_groups(groups: Sequence[GroupResults], *, not_run: Mapping[str, str] | None = None) -> Combined:
    """The combined table of groups that are at hand.

    Raises:
        InputError: rule ``group-twice``, or no group is given (``no-results``).
    """
    labels = [group.label for group in groups]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice or not groups:
        found = f"the group {', '.join(twice)} is given twice." if twice else "no group is given."
        raise InputError(
            Problem("", "group-twice" if twice else "no-results", found, "Give each group's results once.")
        )
    table = Combined(tuple(_ordered(group) for group in sorted(groups, key=lambda group: group_order(group.label))))
    told = [note for group in table.groups for note in group.notes]
    notes = dict.fromkeys([*told, *_column_notes(table), *_sample_notes(table)])
    return Combined(table.groups, dict(not_run or {}), tuple(notes))


def _ordered(group: GroupResults) -> GroupResults:
    columns = in_order(Column(group.label, metric) for metric in group.metrics)
    return replace(group, metrics=tuple(column.metric for column in columns))


def _column_notes(table: Combined) -> list[Note]:
    text = "no such metric is registered: it has no arrow and ranks nothing."
    return [Note(column.id, "unknown-metric", text) for column in table.columns if column.direction is None]


def _sample_notes(table: Combined) -> list[Note]:
    notes = []
    for group in table.groups:
        scored = set(group.scored)
        holes = [sample for sample in table.samples if sample not in scored]
        if holes:
            n = len(table.samples)
            text = f"{n - len(holes)} of {n} samples have a value; without: {', '.join(holes)}."
            notes.append(Note(group.label, "missing-samples", text))
        if group.unaccounted:
            text = f"expected, and neither scored nor told as missing or failed: {', '.join(group.unaccounted)}."
            notes.append(Note(group.label, "unaccounted", text))
    for sample in table.samples:
        if is_dangerous(sample):
            text = "a spreadsheet would run this id as a formula: the CSV has an apostrophe in front of it."
            notes.append(Note(sample, "spreadsheet-guard", text))
    return notes


def write_combined(folder: Path, combined: Combined, *, common_subset: bool = False) -> None:
    """Write the CSV and the JSON, each whole or not at all.

    Raises:
        InputError: a value is not finite, or a file cannot be written.
    """
    data, table = to_json(combined_data(combined)), combined_csv(combined, common_subset=common_subset)
    atomic_write(folder / COMBINED_JSON, data)
    atomic_write(folder / COMBINED_CSV, table)


def combined_csv(combined: Combined, *, common_subset: bool = False) -> str:
    """The text of ``combined_results.csv``: the average over the samples that have a value first, then the samples."""
    columns = combined.columns
    decimals = [column.decimals for column in columns]

    def texts(values: Iterable[float | None]) -> list[str]:
        return [number_text(value, places) for value, places in zip(values, decimals, strict=True)]

    averages = [combined.average(column) for column in columns]
    rows = [(AVERAGE, texts(mean for mean, _ in averages))]
    if common_subset:
        common = [combined.average(column, combined.common) for column in columns]
        rows.append((N_ROW, [str(n) for _, n in averages]))
        rows.append((COMMON_ROW, texts(mean for mean, _ in common)))
        rows.append((COMMON_N_ROW, [str(n) for _, n in common]))
    rows += [(sample, texts(combined.value(column, sample) for column in columns)) for sample in combined.samples]
    return table_csv(FIRST, columns, rows)


def combined_data(combined: Combined) -> dict[str, Any]:
    """What ``combined_results.json`` holds: every number in full, and what became of every sample."""
    common: dict[str, dict[str, Any]] = {group.label: {} for group in combined.groups}
    for column in combined.columns:
        common[column.label][column.metric] = combined.average(column, combined.common)[0]
    return {
        "samples": list(combined.samples),
        "scored": list(combined.scored),
        "groups": {group.label: results_data(group) for group in combined.groups},
        "not_run": dict(combined.not_run),
        "directions": {column.id: column.direction for column in combined.columns},
        "common_subset": {"samples": list(combined.common), "n": len(combined.common), "mean": common},
        "notes": notes_data(combined.notes),
    }
