"""The comparison of configs: the seed summaries side by side, the best of every metric marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pixelgate.errors import InputError, Problem
from pixelgate.flexbench.averages import DDOF, same
from pixelgate.flexbench.common_samples import Subset, check_protocols, choose_subset, subset_notes
from pixelgate.flexbench.layout_csv import is_dangerous, table_csv
from pixelgate.flexbench.results import notes_data
from pixelgate.flexbench.runs import Run, read_runs, seed_notes
from pixelgate.flexbench.seeds import SeedAverages, SeedSummary, check_columns, summarise
from pixelgate.flexbench.summary_files import has_runs, read_summary
from pixelgate.flexbench.table_columns import Column, in_order
from pixelgate.io.files import atomic_write
from pixelgate.records import Note
from pixelgate.results import to_json

FIRST = "config"
MARK = "*"


@dataclass(frozen=True)
class Comparison:
    """Several configs on the same samples.

    Attributes:
        subfolder: what was generated, such as ``subject_depth``.
        summaries: config -> its summary over seeds, in the order given.
        columns: all their columns, in the order of the table.
        best: column -> the configs whose mean is the best, all of a tie; empty where the metric ranks nothing, where it
            is not registered, and where fewer than two configs have a mean.
        notes: what a reader must know.
    """

    subfolder: str
    summaries: Mapping[str, SeedSummary]
    columns: tuple[Column, ...]
    best: Mapping[Column, tuple[str, ...]]
    notes: tuple[Note, ...]

    def averages(self, config: str, column: Column) -> SeedAverages | None:
        """One config's column; None where it has none."""
        return self.summaries[config].columns.get(column)

    def cell(self, config: str, column: Column) -> str:
        """The text of one cell, with its mark; empty where there is no mean."""
        averages = self.averages(config, column)
        if averages is None or averages.mean is None:
            return ""
        return averages.cell(column.decimals) + (MARK if config in self.best[column] else "")


def merge_configs(base_dir: Path, subfolder: str, configs: Sequence[str], *, allow_missing: bool = False) -> Comparison:
    """Compare configs in ``<base_dir>/<subfolder>_comparison.csv`` and ``.json``.

    The best mean of each metric is marked with ``*``, all of a tie, decided on unrounded means by the direction in
    the metric's definition. A metric without direction, such as a chance level, gets no mark.

    Args:
        base_dir: holds ``<config>/<subfolder>/``.
        subfolder: the name of the folder that every config has, such as ``subject_depth``.
        configs: names of at least two folders; rows keep their order. Each is read from its seeds' results, or from
            its ``seed_summary.json`` or ``seed_summary.csv`` where those alone were kept.
        allow_missing: where samples differ, average each column over the samples that have a value in every run of
            every config; that needs the values per sample.

    Returns:
        The comparison, all numbers in full.

    Raises:
        InputError: a config is given twice or alone (rule ``configs``), is not there (``no-folder``), their samples
            differ (``config-samples``), the protocols differ, or a file is missing or wrong.
    """
    _check_names(base_dir, subfolder, configs)
    absent = _seed_notes(base_dir, subfolder, configs, allow_missing=allow_missing)
    runs, stored = _read(base_dir, subfolder, configs)
    names = {str(run.folder): f"{config}/{run.name}" for config, own in runs.items() for run in own}
    every = [run for own in runs.values() for run in own]
    check_protocols(every, names)
    if not allow_missing:
        for own in runs.values():
            check_columns(own, names)
    subset = choose_subset(every, names, "config-samples", allow_missing=allow_missing) if every else None
    _check_stored(stored, every, subset)
    summaries = {
        config: stored[config] if config in stored else summarise(runs[config], _subset(subset)) for config in configs
    }
    notes = [*absent, *(subset_notes(every, subset, names) if subset else []), *_notes(summaries)]
    comparison = compare(subfolder, summaries, notes)
    write_comparison(base_dir, comparison)
    return comparison


def _subset(subset: Subset | None) -> Subset:
    assert subset is not None, "there are runs, so their samples were compared"
    return subset


def _check_names(base_dir: Path, subfolder: str, configs: Sequence[str]) -> None:
    problems = []
    if not subfolder or Path(subfolder).name != subfolder:
        found = f"the subfolder {subfolder!r} is no folder's name."
        problems.append(Problem("", "subfolder", found, "Give the name alone, such as subject_depth."))
    twice = sorted({config for config in configs if list(configs).count(config) > 1})
    if twice or len(configs) < 2:
        found = f"{', '.join(twice)} is given twice." if twice else f"{len(configs)} config is given."
        problems.append(Problem("", "configs", found, "Give two or more configs, each once."))
    for config in configs:
        folder = base_dir / config / subfolder
        if not folder.is_dir():
            mend = f"Configs are folders of {base_dir}; name another base folder or config."
            problems.append(Problem(str(folder), "no-folder", "is no folder.", mend))
    if problems:
        raise InputError(problems)


def _seed_notes(base_dir: Path, subfolder: str, configs: Sequence[str], *, allow_missing: bool) -> list[Note]:
    notes: list[Note] = []
    problems: list[Problem] = []
    for config in configs:
        try:
            own = seed_notes(base_dir / config / subfolder, None, allow_missing=allow_missing)
            notes += [Note(f"{config}/{note.subject}", note.rule, note.message) for note in own]
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return notes


def _read(
    base_dir: Path, subfolder: str, configs: Sequence[str]
) -> tuple[dict[str, list[Run]], dict[str, SeedSummary]]:
    """Every config's runs, or its stored summary where it has no runs; all problems at once."""
    runs: dict[str, list[Run]] = {}
    stored: dict[str, SeedSummary] = {}
    problems: list[Problem] = []
    for config in configs:
        folder = base_dir / config / subfolder
        try:
            summary = None if has_runs(folder) else read_summary(folder)
            if summary is None:
                runs[config] = read_runs(folder)
            else:
                stored[config] = summary
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return runs, stored


def _check_stored(stored: Mapping[str, SeedSummary], runs: Sequence[Run], subset: Subset | None) -> None:
    """Stored summaries cannot be averaged again: what they are averaged over must be what the others are."""
    everything = {sample for run in runs for sample in run.table.scored}
    known = [set(summary.samples) for summary in stored.values() if summary.samples]
    reference = everything or (known[0] if known else set())
    mend = "Keep its seed_<N>/eval folders; then the common subset can be averaged with --allow-missing."
    problems = []
    for config, summary in stored.items():
        differing = sorted(set(summary.samples) ^ reference) if summary.samples else []
        if differing:
            found = f"its summary is over other samples than the others: they differ in {', '.join(differing)}."
        elif summary.per_column is not None or (subset is not None and subset.columns is not None):
            found = "its summary holds no values per sample, and the samples of the configs or seeds differ."
        else:
            continue
        problems.append(Problem(config, "config-samples", found, mend))
    if problems:
        raise InputError(problems)


def _notes(summaries: Mapping[str, SeedSummary]) -> list[Note]:
    notes = []
    columns = in_order(column for summary in summaries.values() for column in summary.columns)
    for config, summary in summaries.items():
        gone = [column.id for column in columns if column not in summary.columns]
        if gone:
            notes.append(Note(config, "missing-columns", f"it has no {', '.join(gone)}."))
        notes += [
            note if note.rule == "unknown-metric" else Note(f"{config}/{note.subject}", note.rule, note.message)
            for note in summary.notes
        ]
        if is_dangerous(config):
            text = "a spreadsheet would run this name as a formula: the CSV has an apostrophe in front of it."
            notes.append(Note(config, "spreadsheet-guard", text))
    counts = {config: len(summary.seeds) for config, summary in summaries.items()}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{config} {n}" for config, n in counts.items())
        notes.append(Note("seeds", "seed-counts", f"the configs have different numbers of seeds: {told}."))
    return notes


def compare(subfolder: str, summaries: Mapping[str, SeedSummary], notes: Sequence[Note] = ()) -> Comparison:
    """Find the best config of every metric among summaries that are at hand.

    Args:
        subfolder: what was generated.
        summaries: config -> its summary; that they are over the same samples is the caller's care.
        notes: to be kept with it.
    """
    columns = in_order(column for summary in summaries.values() for column in summary.columns)
    best = {column: _best(column, summaries) for column in columns}
    return Comparison(subfolder, dict(summaries), columns, best, tuple(dict.fromkeys(notes)))


def _best(column: Column, summaries: Mapping[str, SeedSummary]) -> tuple[str, ...]:
    means = {
        config: mean
        for config, summary in summaries.items()
        if column in summary.columns and (mean := summary.columns[column].mean) is not None
    }
    if len(means) < 2 or column.direction not in ("higher", "lower"):
        return ()
    top = max(means.values()) if column.direction == "higher" else min(means.values())
    return tuple(config for config, mean in means.items() if same(mean, top))


def comparison_csv(comparison: Comparison) -> str:
    """The text of ``<subfolder>_comparison.csv``: one row per config, the best of each column marked."""
    rows = [
        (config, [comparison.cell(config, column) for column in comparison.columns]) for config in comparison.summaries
    ]
    return table_csv(FIRST, comparison.columns, rows)


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """What ``<subfolder>_comparison.json`` holds: every number in full."""
    return {
        "subfolder": comparison.subfolder,
        "configs": {
            config: {
                "seeds": list(summary.seeds),
                "sources": dict(summary.sources),
                "samples": list(summary.samples),
            }
            for config, summary in comparison.summaries.items()
        },
        "ddof": DDOF,
        "metrics": {
            column.id: {
                "group": column.label,
                "metric": column.metric,
                "direction": column.direction,
                "best": list(comparison.best[column]),
                "configs": {config: _numbers(comparison, config, column) for config in comparison.summaries},
            }
            for column in comparison.columns
        },
        "notes": notes_data(comparison.notes),
    }


def _numbers(comparison: Comparison, config: str, column: Column) -> dict[str, Any]:
    averages = comparison.averages(config, column)
    if averages is None:
        return {"mean": None, "std": None, "n": 0, "samples": {}}
    return {"mean": averages.mean, "std": averages.std, "n": averages.n, "samples": dict(averages.samples)}


def comparison_file(base_dir: Path, subfolder: str) -> Path:
    """Where the comparison's CSV is written; the JSON stands beside it."""
    return base_dir / f"{subfolder}_comparison.csv"


def write_comparison(base_dir: Path, comparison: Comparison) -> None:
    """Write the CSV and the JSON, each whole or not at all.

    Raises:
        InputError: a file cannot be written.
    """
    data, table = to_json(comparison_data(comparison)), comparison_csv(comparison)
    file = comparison_file(base_dir, comparison.subfolder)
    atomic_write(file.with_suffix(".json"), data)
    atomic_write(file, table)
