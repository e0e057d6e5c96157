"""The numbers of a group's results, checked one by one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pixelgate.errors import InputError, Problem
from pixelgate.flexbench.averages import LARGEST
from pixelgate.flexbench.table_columns import direction_of
from pixelgate.records import Note

RULE = "results-layout"
MEND = 'Give {"mean": {...}, "per_sample": {id: {metric: number or null}}}, as an evaluator writes it; run it again.'

_NAMED = 3

Rows = dict[str, dict[str, float | None]]


@dataclass(frozen=True)
class Values:
    """What was read.

    Attributes:
        rows: id -> metric -> number, or None for null, NaN and infinity.
        not_finite: (id, metric) of every NaN and infinity.
        notes: what was passed over, and what was read as missing.
    """

    rows: Rows
    not_finite: tuple[tuple[str, str], ...]
    notes: tuple[Note, ...]


def read_values(rows: Mapping[str, Any], label: str, file: Path) -> Values:
    """Check and read ``per_sample``.

    Null, NaN and infinity are missing values. What is no number at all is an error under the name of a metric, and
    under a name that has numbers elsewhere; under any other name, such as a flag's, it is passed over with a note.

    Args:
        rows: id -> metric -> value, as parsed.
        label: the group's label.
        file: for messages.

    Raises:
        InputError: rules ``results-layout`` and ``results-value``, with every problem found.
    """
    problems = [problem for sample, row in rows.items() if (problem := _row_problem(file, sample, row))]
    if problems:
        raise InputError(problems)
    cells = [(sample, metric, value) for sample, row in rows.items() for metric, value in row.items()]
    numeric = {metric for _, metric, value in cells if _is_number(value)}
    large = [cell for cell in cells if _is_number(cell[2]) and LARGEST < abs(cell[2]) < math.inf]
    odd = [cell for cell in cells if cell[2] is not None and not _is_number(cell[2])]
    passed_over = {metric for _, metric, _ in odd if metric not in numeric and direction_of(label, metric) is None}
    for sample, metric, value in odd:
        if metric not in passed_over:
            found = f"{metric} of sample {sample!r} is {value!r}, no number."
            problems.append(Problem(str(file), "results-value", found, MEND))
    for sample, metric, value in large:
        found = f"{metric} of sample {sample!r} is {value:g}, too large for any metric."
        problems.append(Problem(str(file), "results-value", found, MEND))
    if problems:
        raise InputError(problems)
    kept = {sample: {key: _number(row[key]) for key in row if key not in passed_over} for sample, row in rows.items()}
    bad = tuple((sample, metric) for sample, metric, v in cells if _is_number(v) and _number(v) is None)
    flags = [
        Note(f"{label}_{metric}", "no-number", f"{file}: it holds no numbers; it is left out of the tables.")
        for metric in sorted(passed_over)
    ]
    return Values(kept, bad, (*flags, *_missing_note(file, bad)))


def _row_problem(file: Path, sample: str, row: Any) -> Problem | None:
    if not sample or not sample.isprintable():
        return Problem(str(file), RULE, f"{sample!r} is no sample's id.", "Name the sample's file otherwise.")
    if not isinstance(row, dict):
        return Problem(str(file), RULE, f"sample {sample!r} is no object of metrics and numbers.", MEND)
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: int | float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _missing_note(file: Path, bad: tuple[tuple[str, str], ...]) -> list[Note]:
    if not bad:
        return []
    named = ", ".join(f"{metric} of {sample}" for sample, metric in bad[:_NAMED])
    more = f" and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
    return [Note(str(file), "nan-read-as-missing", f"NaN or infinity is read as a missing value: {named}{more}.")]
