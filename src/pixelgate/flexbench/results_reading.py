"""Reading one group's ``results.json`` or ``results.csv``, ours or another tool's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pixelgate.errors import InputError, Problem
from pixelgate.flexbench.averages import mean_of
from pixelgate.flexbench.json_files import read_json
from pixelgate.flexbench.layout_csv import metric_name, parse_number, plain, read_rows
from pixelgate.flexbench.results import AVERAGE, CSV_NAME, FIRST, JSON_NAME, Accounting, GroupResults
from pixelgate.flexbench.results_values import MEND, RULE, Values, read_values
from pixelgate.flexbench.table_columns import label_of
from pixelgate.records import Note

NOT_FINITE = "the file says NaN or infinity"

_MEAN_SLACK = 1e-6


def read_results(folder: Path, group: str | None = None) -> GroupResults:
    """A group's scores from its folder: from ``results.json``, or from ``results.csv`` where that alone is there.

    NaN and infinity in a file become missing values, with a note. Means are computed again from the samples; a note
    tells where the file says otherwise.

    Args:
        folder: the group's folder.
        group: the group's name or label; None takes the folder's name.

    Raises:
        InputError: there is no such file (rule ``no-results``), it cannot be read (``not-readable``,
            ``broken-json``), is no table of results (``results-layout``), a value is no number (``results-value``),
            or it holds no sample at all (``no-samples``). All problems of a file are listed at once.
    """
    label = label_of(folder.name if group is None else group)
    if (folder / JSON_NAME).exists():
        return parse_results(read_json(folder / JSON_NAME, MEND), label, folder / JSON_NAME)
    if (folder / CSV_NAME).exists():
        return _read_csv(folder / CSV_NAME, label)
    found = f"holds no {JSON_NAME}." if folder.is_dir() else "is no folder."
    raise InputError(
        Problem(str(folder), "no-results", found, "Run the group's evaluator again, or delete the folder.")
    )


def parse_results(data: Any, label: str, file: Path) -> GroupResults:
    """Scores from a parsed ``results.json``.

    Args:
        data: what the JSON file holds.
        label: the group's label.
        file: for messages.

    Raises:
        InputError: as `read_results`.
    """
    rows = data.get("per_sample") if isinstance(data, dict) else None
    means = data.get("mean", {}) if isinstance(data, dict) else None
    if not isinstance(rows, dict) or not isinstance(means, dict):
        raise InputError(Problem(str(file), RULE, 'has no "per_sample" and "mean" that are objects.', MEND))
    values = read_values(rows, label, file)
    accounting = _accounting(data, file)
    in_samples = dict.fromkeys(metric for row in values.rows.values() for metric in row)
    # A mean of nothing is a column without values; a number that no sample has is something else, such as a count.
    metrics = tuple(dict.fromkeys([*(key for key in means if key in in_samples or means[key] is None), *in_samples]))
    if not in_samples and accounting.expected is None:
        mend = "Score at least one sample; look whether ids and file names match."
        raise InputError(Problem(str(file), "no-samples", "holds no sample with a metric.", mend))
    notes = (*_stored_notes(data), *values.notes, *_mean_notes(label, means, values.rows))
    reasons, protocol = _reasons(data, file, values), data.get("protocol") or {}
    if not isinstance(protocol, dict):
        raise InputError(Problem(str(file), RULE, '"protocol" is no object.', MEND))
    return GroupResults(label, metrics, values.rows, accounting, reasons, protocol, tuple(dict.fromkeys(notes)))


def _mean_notes(label: str, means: Mapping[str, Any], rows: Mapping[str, Mapping[str, float | None]]) -> list[Note]:
    """Where a file's own mean is not the mean of its samples; a mean that is null or NaN says nothing."""
    notes = []
    for metric, told in means.items():
        if isinstance(told, bool) or not isinstance(told, int | float) or not math.isfinite(told):
            continue
        mean, n = mean_of(row.get(metric) for row in rows.values())
        if mean is None:
            text = f"the file's own mean is {told!r}, and no sample has a value: it is left out."
            notes.append(Note(f"{label}_{metric}", "mean-without-samples", text))
        elif not math.isclose(told, mean, rel_tol=_MEAN_SLACK, abs_tol=_MEAN_SLACK):
            text = f"the file's own mean is {told!r}; that of its {n} values is {mean!r}, and is used."
            notes.append(Note(f"{label}_{metric}", "mean-differs", text))
    return notes


def _accounting(data: Mapping[str, Any], file: Path) -> Accounting:
    failed = data.get("failed") or {}
    if not isinstance(failed, dict):
        raise InputError(Problem(str(file), RULE, '"failed" is no object of ids and reasons.', MEND))
    expected = data.get("expected")
    return Accounting(
        expected=None if expected is None else _ids(data, "expected", file),
        missing_reference=_ids(data, "missing_reference", file),
        missing_output=_ids(data, "missing_output", file),
        failed={sample: str(reason) for sample, reason in failed.items()},
        extra=_ids(data, "extra", file),
    )


def _ids(data: Mapping[str, Any], key: str, file: Path) -> tuple[str, ...]:
    given = data.get(key) or []
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise InputError(Problem(str(file), RULE, f'"{key}" is no list of ids.', MEND))
    if len(set(given)) < len(given):
        raise InputError(Problem(str(file), RULE, f'"{key}" names an id twice.', MEND))
    return tuple(given)


def _reasons(data: Mapping[str, Any], file: Path, values: Values) -> dict[str, dict[str, str]]:
    given = data.get("reasons") or {}
    if not isinstance(given, dict) or not all(isinstance(row, dict) for row in given.values()):
        raise InputError(Problem(str(file), RULE, '"reasons" is no object of ids, metrics and reasons.', MEND))
    reasons = {sample: {metric: str(text) for metric, text in row.items()} for sample, row in given.items()}
    for sample, metric in values.not_finite:
        reasons.setdefault(sample, {}).setdefault(metric, NOT_FINITE)
    return reasons


def _stored_notes(data: Mapping[str, Any]) -> list[Note]:
    given = data.get("notes")
    keys = ("subject", "rule", "message")
    wanted = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
    return [Note(*(str(item.get(key, "")) for key in keys)) for item in wanted]


def _read_csv(file: Path, label: str) -> GroupResults:
    rows = read_rows(file)
    if not rows or rows[0][1][0] != FIRST or len(rows[0][1]) < 2:
        raise InputError(Problem(str(file), RULE, f"does not begin with {FIRST} and the metrics' names.", MEND))
    metrics = [metric_name(head) for head in rows[0][1][1:]]
    body = rows[1:]
    # The average stands first; a sample of that name can only stand further down.
    means = body.pop(0)[1] if body and body[0][1][0] == AVERAGE else None
    scores: dict[str, dict[str, float | None]] = {}
    problems = []
    for line, row in body:
        try:
            if len(row) != len(metrics) + 1 or plain(row[0]) in scores:
                raise ValueError("another number of cells than the head" if row[0] not in scores else "an id twice")
            scores[plain(row[0])] = dict(zip(metrics, map(parse_number, row[1:]), strict=True))
        except ValueError as error:
            problems.append(Problem(str(file), RULE, f"line {line}: {error}.", MEND))
    if problems or len(set(metrics)) < len(metrics):
        raise InputError(problems or Problem(str(file), RULE, "names a metric twice.", MEND))
    own = {} if means is None else dict(zip(metrics, map(parse_number, means[1:]), strict=False))
    return parse_results({"mean": own, "per_sample": scores}, label, file)
