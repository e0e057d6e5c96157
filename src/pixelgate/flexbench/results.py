"""One group's scores as files: ``results.json`` and ``results.csv``, written and read.

``results.json`` holds ``mean`` and ``per_sample`` as FlexBench's document has them; a missing value is null. Beside
them we write ``n``, the samples that each mean is over, and what became of every sample that was expected; readers of
the document's form may pass over all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pixelgate.errors import InputError, Problem
from pixelgate.flexbench.averages import LARGEST, mean_of
from pixelgate.flexbench.layout_csv import guarded, rows_csv
from pixelgate.io.files import atomic_write
from pixelgate.records import Note
from pixelgate.results import to_json

JSON_NAME = "results.json"
CSV_NAME = "results.csv"
FIRST = "sample_id"
AVERAGE = "average"


@dataclass(frozen=True)
class Accounting:
    """What became of a group's samples.

    Attributes:
        expected: ids of the data set's samples that a condition asks for; None where nobody said.
        missing_reference: expected ones without a reference.
        missing_output: expected ones without a generated clip.
        failed: id -> why it could not be scored.
        extra: generated clips that no sample asks for.
    """

    expected: tuple[str, ...] | None = None
    missing_reference: tuple[str, ...] = ()
    missing_output: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    extra: tuple[str, ...] = ()


@dataclass(frozen=True)
class GroupResults:
    """One group's scores of one run.

    Attributes:
        label: the group's label, see `pixelgate.flexbench.table_columns.label_of`.
        metrics: names within the group, such as ``mae``, in their order.
        per_sample: id -> name -> value; None, or no entry, where there is no value.
        accounting: what became of every sample.
        reasons: id -> name -> why there is no value.
        protocol: what decided the numbers: id, version, ``params_sha256``; empty where nobody said.
        notes: what a reader of the numbers must know.
    """

    label: str
    metrics: tuple[str, ...]
    per_sample: Mapping[str, Mapping[str, float | None]]
    accounting: Accounting = field(default_factory=Accounting)
    reasons: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    @property
    def scored(self) -> tuple[str, ...]:
        """Ids with at least one value, sorted as text."""
        return tuple(sorted(key for key, row in self.per_sample.items() if any(v is not None for v in row.values())))

    @property
    def unaccounted(self) -> tuple[str, ...]:
        """Expected ids that were neither scored nor named as missing or failed, sorted as text."""
        told = self.accounting
        known = {*self.per_sample, *told.missing_reference, *told.missing_output, *told.failed}
        return tuple(sorted(set(told.expected or ()) - known))

    def value(self, sample: str, metric: str) -> float | None:
        """One number; None where there is none."""
        return self.per_sample.get(sample, {}).get(metric)

    def mean(self, metric: str, samples: Iterable[str] | None = None) -> tuple[float | None, int]:
        """Mean over the samples that have a value, and their number.

        Args:
            metric: its name within the group.
            samples: those to take; None takes all.
        """
        return mean_of(self.value(sample, metric) for sample in (self.per_sample if samples is None else samples))


def results_data(results: GroupResults) -> dict[str, Any]:
    """What ``results.json`` holds, in plain types.

    Raises:
        InputError: rule ``not-finite``: a value is NaN, infinite, or larger than any metric.
    """
    _check_finite(results)
    means = {metric: results.mean(metric) for metric in results.metrics}
    told = results.accounting
    return {
        "mean": {metric: mean for metric, (mean, _) in means.items()},
        "per_sample": {
            sample: {metric: _plain(results.value(sample, metric)) for metric in results.metrics}
            for sample in sorted(results.per_sample)
        },
        "n": {metric: n for metric, (_, n) in means.items()},
        "expected": None if told.expected is None else sorted(told.expected),
        "scored": list(results.scored),
        "missing_reference": sorted(told.missing_reference),
        "missing_output": sorted(told.missing_output),
        "failed": {key: told.failed[key] for key in sorted(told.failed)},
        "unaccounted": list(results.unaccounted),
        "extra": sorted(told.extra),
        "reasons": {key: dict(results.reasons[key]) for key in sorted(results.reasons)},
        "protocol": dict(results.protocol),
        "notes": notes_data(results.notes),
    }


def notes_data(notes: Iterable[Note]) -> list[dict[str, str]]:
    """Notes in plain types."""
    return [{"subject": note.subject, "rule": note.rule, "message": note.message} for note in notes]


def results_csv(results: GroupResults) -> str:
    """What ``results.csv`` holds: a head, the average, then the samples sorted as text, all digits of every number."""
    _check_finite(results)
    average = [_digits(results.mean(metric)[0]) for metric in results.metrics]
    samples = [
        [guarded(sample), *(_digits(results.value(sample, metric)) for metric in results.metrics)]
        for sample in sorted(results.per_sample)
    ]
    return rows_csv([[FIRST, *map(guarded, results.metrics)], [AVERAGE, *average], *samples])


def write_results(folder: Path, results: GroupResults) -> None:
    """Write ``results.json`` and ``results.csv`` into a group's folder, each whole or not at all.

    Raises:
        InputError: a value is not finite, or a file cannot be written.
    """
    data, table = to_json(results_data(results)), results_csv(results)
    atomic_write(folder / JSON_NAME, data)
    atomic_write(folder / CSV_NAME, table)


def _check_finite(results: GroupResults) -> None:
    wrong = [
        Problem(results.label, "not-finite", f"{metric} of sample {sample!r} is {value}.", "Give None and a reason.")
        for sample, row in results.per_sample.items()
        for metric, value in row.items()
        if value is not None and not abs(float(value)) <= LARGEST
    ]
    if wrong:
        raise InputError(wrong)


def _plain(value: float | None) -> float | None:
    return None if value is None else float(value)


def _digits(value: float | None) -> str:
    return "" if value is None else repr(float(value))
