"""Whether runs were scored on the same samples, and the samples that all of them have."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pixelgate.errors import InputError, Problem
from pixelgate.flexbench.runs import Run
from pixelgate.flexbench.table_columns import Column, in_order
from pixelgate.records import Note

# Choices of a run's own, such as another network, make other numbers of the same protocol.
_PROTOCOL_KEYS = ("id", "version", "params_sha256", "choices")


@dataclass(frozen=True)
class Subset:
    """The samples that several runs are averaged over.

    Attributes:
        samples: those that every run has, sorted as text.
        columns: per column the samples that have a value in every run with such a column; None where each run is
            averaged over all that it has.
    """

    samples: tuple[str, ...]
    columns: Mapping[Column, tuple[str, ...]] | None = None

    def of(self, column: Column) -> tuple[str, ...] | None:
        """What to average a column over; None for all that a run has."""
        return None if self.columns is None else self.columns[column]


def all_columns(runs: Iterable[Run]) -> tuple[Column, ...]:
    """The columns of all runs in the order of the table."""
    return in_order(column for run in runs for column in run.table.columns)


def choose_subset(runs: Sequence[Run], names: Mapping[str, str], rule: str, *, allow_missing: bool) -> Subset:
    """Compare the runs' samples and choose what to average over.

    A sample belongs to a run if it has a value in at least one column. A run also lacks a sample that one of its groups
    tells as missing or failed, and that the same group scored in another run. Other missing values are no difference
    between runs; they are left out of their column's average, and a note tells.

    Args:
        runs: the runs.
        names: a run's ``eval`` folder as text -> what the run is called in messages.
        rule: the error's rule.
        allow_missing: take the common samples where the runs differ; per column, those with a value in every run.

    Raises:
        InputError: the runs' samples differ and ``allow_missing`` is not set: every run that lacks
            samples is named with them; or there is no common sample.
    """
    scored = [set(run.table.scored) for run in runs]
    common = tuple(sorted(set.intersection(*scored)))
    if not allow_missing:
        _check_lacking(runs, names, rule)
    if not common:
        mend = "Compare runs that were scored on the same samples."
        raise InputError(Problem("", rule, "there is no sample that all runs have.", mend))
    columns = {column: _common(runs, column, common) for column in all_columns(runs)}
    complete = all(run.table.average(column)[1] in (0, len(kept)) for run in runs for column, kept in columns.items())
    return Subset(common, None if complete or not allow_missing else columns)


def _check_lacking(runs: Sequence[Run], names: Mapping[str, str], rule: str) -> None:
    everything = sorted({sample for run in runs for sample in run.table.scored})
    of_groups: dict[str, set[str]] = {}
    for group in (group for run in runs for group in run.table.groups):
        of_groups.setdefault(group.label, set()).update(group.scored)
    mend = "Generate and score what is missing, or use --allow-missing for the samples that all have."
    problems = []
    for run in runs:
        scored = set(run.table.scored)
        gone = [sample for sample in everything if sample not in scored]
        for group in run.table.groups:
            told = {*group.accounting.missing_reference, *group.accounting.missing_output, *group.accounting.failed}
            lost = (told | set(group.unaccounted)) - set(group.scored)
            gone += [f"{sample} in {group.label}" for sample in sorted(lost & scored & of_groups[group.label])]
        if gone:
            found = f"{names[str(run.folder)]} lacks the sample{'s' if len(gone) > 1 else ''} {', '.join(gone)}, "
            problems.append(Problem(str(run.folder), rule, f"{found}which others have.", mend))
    if problems:
        raise InputError(problems)


def _common(runs: Sequence[Run], column: Column, samples: Sequence[str]) -> tuple[str, ...]:
    having = [run for run in runs if run.table.average(column)[1]]
    return tuple(s for s in samples if having and all(run.table.value(column, s) is not None for run in having))


def check_protocols(runs: Sequence[Run], names: Mapping[str, str]) -> None:
    """Refuse runs whose numbers come from different protocols; runs that name none are not looked at.

    Raises:
        InputError: rule ``protocols-differ``, naming group and runs.
    """
    problems = []
    for label in dict.fromkeys(group.label for run in runs for group in run.table.groups):
        kinds: dict[str, list[str]] = {}
        for run in runs:
            for group in run.table.groups:
                if group.label == label and group.protocol:
                    told = {key: value for key in _PROTOCOL_KEYS if (value := group.protocol.get(key))}
                    kinds.setdefault(json.dumps(told, sort_keys=True), []).append(names[str(run.folder)])
        if len(kinds) > 1:
            found = "; ".join(f"{', '.join(who)}: {told}" for told, who in kinds.items())
            mend = "Score all of them with one version of the protocol."
            problems.append(Problem(label, "protocols-differ", f"scored by different protocols: {found}.", mend))
    if problems:
        raise InputError(problems)


def subset_notes(runs: Sequence[Run], subset: Subset, names: Mapping[str, str]) -> list[Note]:
    """What the averages are over, where that is not every sample of every run."""
    if subset.columns is None:
        return [note for run in runs for note in _hole_notes(run, names[str(run.folder)])]
    everything = sorted({sample for run in runs for sample in run.table.scored})
    without: dict[tuple[str, ...], list[str]] = {}
    for column, kept in subset.columns.items():
        gone = tuple(sample for sample in everything if sample not in kept)
        if gone:
            without.setdefault(gone, []).append(column.id)
    notes = []
    for gone, ids in without.items():
        of = f"{len(everything) - len(gone)} of {len(everything)}"
        text = f"averaged over the samples with a value in every run, {of}; left out: {', '.join(gone)}."
        notes.append(Note(", ".join(ids), "common-subset", text))
    return notes


def _hole_notes(run: Run, name: str) -> list[Note]:
    holes: dict[tuple[str, ...], list[str]] = {}
    for column in run.table.columns:
        gone = tuple(sample for sample in run.table.scored if run.table.value(column, sample) is None)
        if gone:
            holes.setdefault(gone, []).append(column.id)
    return [
        Note(f"{name}: {', '.join(ids)}", "missing-values", f"no value for {', '.join(gone)}; averaged over the rest.")
        for gone, ids in holes.items()
    ]
