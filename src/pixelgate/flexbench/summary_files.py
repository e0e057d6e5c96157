"""Reading ``seed_summary.json`` and ``seed_summary.csv``, for configs whose runs were not kept."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from pixelgate.errors import InputError, Problem
from pixelgate.flexbench.folder import seed_folders
from pixelgate.flexbench.json_files import read_json
from pixelgate.flexbench.layout_csv import parse_number, read_table
from pixelgate.flexbench.runs import EVAL
from pixelgate.flexbench.seeds import MEAN_ROW, N_ROW, SEED_CSV, SEED_JSON, SeedAverages, SeedSummary
from pixelgate.flexbench.table_columns import Column, in_order
from pixelgate.records import Note

_RULE = "seed-summary"
_MEND = "Merge the seeds again: pixelgate flexbench merge-seeds."

_CELL = re.compile(r"(?P<mean>[^()]*?)\s*(?:\((?P<std>[^()]*)\))?")


def has_runs(folder: Path) -> bool:
    """Whether any run's ``eval`` folder is there."""
    return any((seed / EVAL).is_dir() for seed in seed_folders(folder).values()) or (folder / EVAL).is_dir()


def read_summary(folder: Path) -> SeedSummary | None:
    """A stored summary: the JSON with its full numbers, else the rounded CSV, with a note; None where neither is.

    Raises:
        InputError: a file cannot be read, or is no such summary (rules ``seed-summary``, ``table-layout``).
    """
    if (folder / SEED_JSON).exists():
        return _from_json(folder / SEED_JSON)
    return _from_csv(folder / SEED_CSV) if (folder / SEED_CSV).exists() else None


def _from_json(file: Path) -> SeedSummary:
    data = read_json(file, _MEND)
    try:
        columns = {Column(str(one["group"]), str(one["metric"])): one for one in data["metrics"].values()}
        per_column = {column: tuple(map(str, one["averaged_over"] or ())) for column, one in columns.items()}
        return SeedSummary(
            seeds=tuple(map(str, data["seeds"])),
            sources=dict.fromkeys(map(str, data["seeds"]), SEED_JSON),
            columns={column: _averages(columns[column]) for column in in_order(columns)},
            samples=tuple(map(str, data["samples"])),
            per_column=per_column if data["common_subset"] else None,
            notes=tuple(Note(str(x["subject"]), str(x["rule"]), str(x["message"])) for x in data["notes"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        found = f"is no summary over seeds ({type(error).__name__}: {error})."
        raise InputError(Problem(str(file), _RULE, found, _MEND)) from None


def _averages(one: Any) -> SeedAverages:
    numbers = {key: _finite(one[key]) for key in ("mean", "std")}
    averages = {str(seed): _finite(value) for seed, value in one["averages"].items()}
    samples = {str(seed): int(count) for seed, count in one["samples"].items()}
    return SeedAverages(averages, samples, numbers["mean"], numbers["std"], int(one["n"]))


def _finite(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no finite number")
    return float(value)


def _from_csv(file: Path) -> SeedSummary:
    table = read_table(file, _MEND)
    rows = {row.label: row for row in table.rows}
    if MEAN_ROW not in rows:
        raise InputError(Problem(str(file), _RULE, f"has no row {MEAN_ROW!r}.", _MEND))
    counts = rows[N_ROW].cells if N_ROW in rows else ("",) * len(table.columns)
    found: dict[Column, SeedAverages] = {}
    problems = []
    for column, cell, count in zip(table.columns, rows[MEAN_ROW].cells, counts, strict=True):
        try:
            found[column] = _cell(cell, count)
        except ValueError as error:
            line = rows[MEAN_ROW].line
            problems.append(Problem(str(file), _RULE, f"line {line}, {column.id}: {error}.", _MEND))
    if problems:
        raise InputError(problems)
    text = f"only {SEED_CSV} was kept: its numbers are rounded, and which samples they are over is not known."
    seeds = tuple(f"seed {place + 1}" for place in range(max((one.n for one in found.values()), default=0)))
    columns = {column: found[column] for column in in_order(found)}
    return SeedSummary(seeds, dict.fromkeys(seeds, SEED_CSV), columns, (), None, (Note(SEED_CSV, "rounded", text),))


def _cell(cell: str, count: str) -> SeedAverages:
    match = _CELL.fullmatch(cell.strip())
    if match is None:
        raise ValueError(f"{cell!r} is no mean and standard deviation")
    mean, std = (parse_number(match[key] or "") for key in ("mean", "std"))
    if any(value is not None and math.isnan(value) for value in (mean, std)) or (mean is None and std is not None):
        raise ValueError(f"{cell!r} is no mean and standard deviation")
    if count and not count.isdecimal():
        raise ValueError(f"its n is {count!r}")
    # Without a row n, a spread tells of two seeds at least.
    n = int(count) if count else (0 if mean is None else 1 if std is None else 2)
    return SeedAverages({}, {}, mean, std, n)
