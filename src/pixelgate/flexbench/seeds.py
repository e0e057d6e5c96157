"""The summary over seeds: every metric's mean and standard deviation over the seeds' averages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pixelgate.errors import InputError, Problem
from pixelgate.flexbench.averages import DDOF, mean_of, spread_of
from pixelgate.flexbench.combined import COMBINED_CSV
from pixelgate.flexbench.common_samples import Subset, all_columns, check_protocols, choose_subset, subset_notes
from pixelgate.flexbench.layout_csv import number_text, table_csv
from pixelgate.flexbench.results import notes_data
from pixelgate.flexbench.runs import Run, read_runs, seed_notes
from pixelgate.flexbench.table_columns import Column
from pixelgate.io.files import atomic_write
from pixelgate.records import Note
from pixelgate.results import to_json

SEED_CSV = "seed_summary.csv"
SEED_JSON = "seed_summary.json"
FIRST = "metric"
MEAN_ROW = "mean (std)"
N_ROW = "n"


@dataclass(frozen=True)
class SeedAverages:
    """One column over the seeds.

    Attributes:
        averages: run -> its unrounded average over samples; None where it has none.
        samples: run -> how many samples that average is over.
        mean: over the seeds that have an average; None where none has.
        std: sample standard deviation over them; None for fewer than two.
        n: how many seeds have an average.
    """

    averages: Mapping[str, float | None]
    samples: Mapping[str, int]
    mean: float | None
    std: float | None
    n: int

    def cell(self, decimals: int) -> str:
        """``0.2313 (0.0186)``; the mean alone for one seed; empty where there is no mean."""
        mean = number_text(self.mean, decimals)
        return mean if self.std is None else f"{mean} ({number_text(self.std, decimals)})"


@dataclass(frozen=True)
class SeedSummary:
    """All columns over the seeds of one folder.

    Attributes:
        seeds: the runs' names in the order of their numbers.
        sources: run -> where its numbers were read, see `pixelgate.flexbench.runs.Run`.
        columns: the table's columns with their averages.
        samples: the samples that every seed has, sorted as text.
        per_column: per column the samples that it is averaged over, where it is the common subset; else None.
        notes: what a reader must know.
    """

    seeds: tuple[str, ...]
    sources: Mapping[str, str]
    columns: Mapping[Column, SeedAverages]
    samples: tuple[str, ...]
    per_column: Mapping[Column, tuple[str, ...]] | None
    notes: tuple[Note, ...]


def merge_seeds(generated_dir: Path, *, allow_missing: bool = False, seeds: Sequence[int] | None = None) -> SeedSummary:
    """Merge the seeds of a generation run into ``seed_summary.csv`` and ``seed_summary.json``.

    The averages over samples are not rounded before they are merged: they come from the groups' ``results.json`` or
    from ``combined_results.json``; where only the rounded CSV was kept, a note says so.

    Args:
        generated_dir: holds ``seed_<N>/eval/``; without seeds its own ``eval/`` is the only run. The two files are
            written here.
        allow_missing: where the seeds have different samples, average each column over the samples that have a value
            in every seed; seeds that lack a column, or that are asked for and not there, are named in a note.
        seeds: the seeds that must be there; None takes the manifest's, and without a manifest those that are there.

    Returns:
        The summary, all numbers in full.

    Raises:
        InputError: a seed's samples (rule ``seed-samples``) or columns (``seed-columns``) differ from the others', a
            seed is not there (``missing-seed``) or should not be (``unlisted-seed``), the protocols differ, or a file
            is missing or wrong.
    """
    notes = seed_notes(generated_dir, seeds, allow_missing=allow_missing)
    runs = read_runs(generated_dir)
    names = {str(run.folder): run.name for run in runs}
    check_protocols(runs, names)
    if not allow_missing:
        check_columns(runs, names)
    subset = choose_subset(runs, names, "seed-samples", allow_missing=allow_missing)
    summary = summarise(runs, subset, [*notes, *subset_notes(runs, subset, names)])
    write_summary(generated_dir, summary)
    return summary


def check_columns(runs: Sequence[Run], names: Mapping[str, str]) -> None:
    """Refuse runs that do not all have the same columns.

    Raises:
        InputError: rule ``seed-columns``, naming every run and what it lacks.
    """
    columns = all_columns(runs)
    mend = "Evaluate the same groups for every seed, or use --allow-missing."
    problems = [
        Problem(str(run.folder), "seed-columns", f"{names[str(run.folder)]} has no {', '.join(gone)}.", mend)
        for run in runs
        if (gone := [column.id for column in columns if column not in run.table.columns])
    ]
    if problems:
        raise InputError(problems)


def summarise(runs: Sequence[Run], subset: Subset, notes: Sequence[Note] = ()) -> SeedSummary:
    """The summary of runs that are at hand.

    Args:
        runs: the seeds of one folder.
        subset: what to average over.
        notes: to be kept with it.
    """
    columns = {column: _averages(runs, column, subset) for column in all_columns(runs)}
    rounded = [run for run in runs if run.source == "combined-csv"]
    more = [Note(run.name, "rounded", f"its {COMBINED_CSV} was merged, which is rounded.") for run in rounded]
    for run in runs:
        gone = [column.id for column in columns if column not in run.table.columns]
        if gone:
            more.append(Note(run.name, "missing-columns", f"it has no {', '.join(gone)}."))
    kept = None if subset.columns is None else {column: subset.columns[column] for column in columns}
    own = [note for run in runs for note in run.table.notes if note.rule not in ("missing-samples", "unknown-metric")]
    unknown = [note for run in runs for note in run.table.notes if note.rule == "unknown-metric"]
    return SeedSummary(
        seeds=tuple(run.name for run in runs),
        sources={run.name: run.source for run in runs},
        columns=columns,
        samples=subset.samples,
        per_column=kept,
        notes=tuple(dict.fromkeys([*notes, *more, *own, *unknown])),
    )


def _averages(runs: Sequence[Run], column: Column, subset: Subset) -> SeedAverages:
    found = {run.name: run.table.average(column, subset.of(column)) for run in runs}
    averages = {name: mean for name, (mean, _) in found.items()}
    mean, n = mean_of(averages.values())
    return SeedAverages(averages, {name: k for name, (_, k) in found.items()}, mean, spread_of(averages.values()), n)


def seed_csv(summary: SeedSummary) -> str:
    """The text of ``seed_summary.csv``: a row of ``mean (std)`` and a row of n, the number of seeds."""
    cells = [averages.cell(column.decimals) for column, averages in summary.columns.items()]
    counts = [str(averages.n) for averages in summary.columns.values()]
    return table_csv(FIRST, list(summary.columns), [(MEAN_ROW, cells), (N_ROW, counts)])


def seed_data(summary: SeedSummary) -> dict[str, Any]:
    """What ``seed_summary.json`` holds: every number in full."""
    return {
        "seeds": list(summary.seeds),
        "sources": dict(summary.sources),
        "ddof": DDOF,
        "samples": list(summary.samples),
        "common_subset": summary.per_column is not None,
        "metrics": {
            column.id: {
                "group": column.label,
                "metric": column.metric,
                "direction": column.direction,
                "mean": averages.mean,
                "std": averages.std,
                "n": averages.n,
                "averages": dict(averages.averages),
                "samples": dict(averages.samples),
                "averaged_over": None if summary.per_column is None else list(summary.per_column[column]),
            }
            for column, averages in summary.columns.items()
        },
        "notes": notes_data(summary.notes),
    }


def write_summary(folder: Path, summary: SeedSummary) -> None:
    """Write the CSV and the JSON, each whole or not at all.

    Raises:
        InputError: a file cannot be written.
    """
    data, table = to_json(seed_data(summary)), seed_csv(summary)
    atomic_write(folder / SEED_JSON, data)
    atomic_write(folder / SEED_CSV, table)
