"""The runs in a folder of generated clips, one per seed, and reading what was scored of each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pixelgate.errors import InputError, Problem
from pixelgate.flexbench.combined import (
    COMBINED_CSV,
    COMBINED_JSON,
    COMMON_N_ROW,
    COMMON_ROW,
    N_ROW,
    Combined,
    combine_groups,
    read_groups,
)
from pixelgate.flexbench.folder import seed_folders
from pixelgate.flexbench.json_files import read_json
from pixelgate.flexbench.layout_csv import MEND, RULE, CsvRow, parse_number, read_table
from pixelgate.flexbench.manifest import is_run, read_run_manifest
from pixelgate.flexbench.results import AVERAGE, GroupResults
from pixelgate.flexbench.results_reading import parse_results
from pixelgate.flexbench.table_columns import Column, group_order
from pixelgate.records import Note

EVAL = "eval"

Source = Literal["results", "combined-json", "combined-csv"]

_AGAIN = "Evaluate the run again, or delete what is left of an older one."


@dataclass(frozen=True)
class Run:
    """One evaluated run.

    Attributes:
        name: ``seed_<N>``; ``eval`` for a run without seeds.
        folder: its ``eval`` folder.
        table: its scores.
        source: where they were read: the groups' ``results.json``, ``combined_results.json``, or the rounded
            ``combined_results.csv``.
    """

    name: str
    folder: Path
    table: Combined
    source: Source


def seed_notes(generated_dir: Path, seeds: Sequence[int] | None, *, allow_missing: bool) -> list[Note]:
    """Hold the seeds that are there against those that should be.

    Args:
        generated_dir: holds the ``seed_<N>`` folders.
        seeds: those that should be there; None takes the manifest's, if there is one and it lists any.
        allow_missing: whether one may be absent; a note tells.

    Raises:
        InputError: rule ``missing-seed``; or ``unlisted-seed`` for one that should not be there, from an older run.
    """
    there = seed_folders(generated_dir)
    if seeds is None:
        seeds = read_run_manifest(generated_dir).seeds if is_run(generated_dir) else ()
    if not seeds:
        return []
    absent, strange = sorted(set(seeds) - set(there)), sorted(set(there) - set(seeds))
    problems = []
    if absent and not allow_missing:
        found = f"there is no {_seed_names(absent)}, which should be there."
        mend = "Generate and evaluate it, or use --allow-missing for the seeds that are there."
        problems.append(Problem(str(generated_dir), "missing-seed", found, mend))
    if strange:
        found = f"{_seed_names(strange)} is there and none of the run's seeds."
        problems.append(Problem(str(generated_dir), "unlisted-seed", found, "List it, or move its folder away."))
    if problems:
        raise InputError(problems)
    return [Note(f"seed_{seed}", "missing-seed", "it should be there and is not.") for seed in absent]


def _seed_names(seeds: Sequence[int]) -> str:
    return ", ".join(f"seed_{seed}" for seed in seeds)


def read_runs(generated_dir: Path) -> list[Run]:
    """Every seed's run; the folder's own ``eval`` as the only run where it has no seeds.

    Raises:
        InputError: there is no run (rule ``no-runs``), a seed was not evaluated (``no-results``), or a file is wrong;
            the problems of all seeds are listed at once.
    """
    folders = {folder.name: folder / EVAL for folder in seed_folders(generated_dir).values()}
    if not folders and (generated_dir / EVAL).is_dir():
        folders = {EVAL: generated_dir / EVAL}
    if not folders:
        mend = f"Evaluate it first; that writes seed_<N>/{EVAL}/ or {EVAL}/."
        raise InputError(Problem(str(generated_dir), "no-runs", f"holds no seed_<N> folder and no {EVAL}.", mend))
    runs: list[Run] = []
    problems: list[Problem] = []
    for name, folder in folders.items():
        try:
            runs.append(read_run(name, folder))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return runs


def read_run(name: str, folder: Path) -> Run:
    """The scores in an ``eval`` folder, unrounded where they were kept.

    Args:
        name: the run's name.
        folder: the ``eval`` folder. The groups' own results are read where there are any, else
            ``combined_results.json``, else ``combined_results.csv``, which is rounded.

    Raises:
        InputError: there is nothing (rule ``no-results``), a file is wrong, or ``combined_results.csv`` holds other
            numbers than the full ones beside it (``stale-table``).
    """
    if _has_groups(folder):
        run = Run(name, folder, combine_groups(read_groups(folder)), "results")
    elif (folder / COMBINED_JSON).exists():
        run = Run(name, folder, read_combined_json(folder / COMBINED_JSON), "combined-json")
    elif (folder / COMBINED_CSV).exists():
        return Run(name, folder, read_combined_csv(folder / COMBINED_CSV), "combined-csv")
    else:
        found = f"holds no group's results and no {COMBINED_CSV}." if folder.is_dir() else "is no folder."
        raise InputError(Problem(str(folder), "no-results", found, "Evaluate this run first."))
    if (folder / COMBINED_CSV).exists():
        _check_same(run.table, folder / COMBINED_CSV)
    return run


def _has_groups(folder: Path) -> bool:
    return any((entry / name).exists() for entry in _folders(folder) for name in ("results.json", "results.csv"))


def _folders(folder: Path) -> list[Path]:
    return [entry for entry in folder.iterdir() if entry.is_dir()] if folder.is_dir() else []


def read_combined_json(file: Path) -> Combined:
    """Read ``combined_results.json``.

    Raises:
        InputError: it cannot be read, is no such file (rule ``results-layout``), or a value in it is wrong.
    """
    data = read_json(file, _AGAIN)
    groups = data.get("groups") if isinstance(data, dict) else None
    if not isinstance(groups, dict) or not groups:
        raise InputError(Problem(str(file), *_no_groups(data)))
    not_run = data.get("not_run")
    parsed = [parse_results(entry, label, file) for label, entry in groups.items()]
    return combine_groups(parsed, not_run=not_run if isinstance(not_run, dict) else None)


def _no_groups(data: Any) -> tuple[str, str, str]:
    """Rule, finding and mend where a file has no group's results."""
    incomplete = data.get("incomplete") if isinstance(data, dict) else None
    if not incomplete:
        return "results-layout", 'has no "groups".', _AGAIN
    found = f"no group of that run is complete: {', '.join(incomplete)}."
    return "incomplete", found, "Mend what `pixelgate flexbench evaluate` told of it, and run it again."


def read_combined_csv(file: Path) -> Combined:
    """Read ``combined_results.csv``, ours or the document's own tool's; its averages are computed again.

    Raises:
        InputError: rule ``table-layout``: the header, a row or a cell is wrong, or an id stands twice.
    """
    table = read_table(file)
    rows: dict[str, dict[Column, float | None]] = {}
    problems, not_finite = [], []
    for row in _sample_rows(table.rows):
        if row.label in rows:
            problems.append(Problem(str(file), RULE, f"line {row.line}: the id {row.label!r} stands twice.", MEND))
        rows[row.label] = {}
        for column, cell in zip(table.columns, row.cells, strict=True):
            try:
                value = parse_number(cell)
            except ValueError as error:
                problems.append(Problem(str(file), RULE, f"line {row.line}, {column.id}: {error}.", MEND))
                continue
            if value is not None and math.isnan(value):
                not_finite.append(f"{column.id} of {row.label}")
            rows[row.label][column] = None if value is None or math.isnan(value) else value
    if problems:
        raise InputError(problems)
    if not rows:
        raise InputError(Problem(str(file), "no-samples", "holds no sample.", "Evaluate at least one sample."))
    groups = [_group(label, table.columns, rows) for label in dict.fromkeys(column.label for column in table.columns)]
    combined = combine_groups(groups)
    text = f"NaN or infinity is read as a missing value: {', '.join(not_finite)}."
    nan = (Note(str(file), "nan-read-as-missing", text),) if not_finite else ()
    return Combined(combined.groups, combined.not_run, (*combined.notes, *nan))


def _sample_rows(rows: Sequence[CsvRow]) -> Sequence[CsvRow]:
    # The average comes first, and its companions directly after it. Samples are sorted, so no samples of those names
    # could stand in that order.
    start = 1 if rows and rows[0].label == AVERAGE else 0
    companions = [row.label for row in rows[start : start + 3]]
    return rows[start + 3 if start and companions == [N_ROW, COMMON_ROW, COMMON_N_ROW] else start :]


def _group(label: str, columns: Sequence[Column], rows: Mapping[str, Mapping[Column, float | None]]) -> GroupResults:
    own = [column for column in columns if column.label == label]
    # A sample without any number in a group was not part of that group, as far as a table can tell.
    filled = {sample: {column.metric: row[column] for column in own} for sample, row in rows.items()}
    kept = {sample: row for sample, row in filled.items() if any(value is not None for value in row.values())}
    return GroupResults(label, tuple(column.metric for column in own), kept)


def _check_same(table: Combined, file: Path) -> None:
    """Hold the rounded table against the full numbers: two that disagree are of different runs."""
    rounded = read_combined_csv(file)
    differing = []
    for column in sorted({*table.columns, *rounded.columns}, key=lambda one: (group_order(one.label), one.metric)):
        slack = 0.5001 * 10.0**-column.decimals
        for sample in sorted({*table.samples, *rounded.samples}):
            full, shown = table.value(column, sample), rounded.value(column, sample)
            if (full is None) != (shown is None) or (
                full is not None and shown is not None and abs(full - shown) > slack + 1e-9 * abs(full)
            ):
                differing.append(f"{column.id} of {sample} is {shown} there and {full} in the files beside it")
    if differing:
        more = f" (and {len(differing) - 1} more)" if len(differing) > 1 else ""
        raise InputError(Problem(str(file), "stale-table", f"{differing[0]}{more}.", _AGAIN))
