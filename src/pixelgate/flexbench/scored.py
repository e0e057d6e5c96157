"""From a scored case to a group's results: what FlexBench's tables and files hold of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pixelgate.clips.predictions import NAMES
from pixelgate.errors import Problem
from pixelgate.flexbench.results import Accounting, GroupResults
from pixelgate.flexbench.table_columns import label_of
from pixelgate.metrics.registry import get_metric
from pixelgate.protocols import Protocol
from pixelgate.records import Note
from pixelgate.results import accounting
from pixelgate.scores import CaseScores

# What may stand in a file's name after the sample's id; an id that ends so itself fits its own files first.
_AFTER_ID = (
    "",
    "_scores",
    *sorted({Path(n).stem.removeprefix("{id}") for names in NAMES.values() for n in names} - {""}),
)
_CHOICES = ("choice", "shuffled-references")


def group_of(scores: CaseScores, protocol: Protocol) -> str:
    """The group of metrics that a case was scored with; empty for pictures."""
    return get_metric(protocol.metric(scores.metrics[0]).metric).group


def group_results(scores: CaseScores, protocol: Protocol) -> GroupResults:
    """A case of clips as its group's results, with what became of every sample.

    Samples without a prediction, and those that broke a rule, are told as failed, with the words of what was found.

    Args:
        scores: the case, scored by the engine.
        protocol: what it was scored under.

    Returns:
        The results; names of metrics without the group, such as ``mae``. Deviations and notes of the run are its notes.
        Where the run chose parameters otherwise than the protocol, ``protocol`` has them under ``choices``.
    """
    label = label_of(group_of(scores, protocol))
    names = {metric: metric.removeprefix(f"{label}_") for metric in scores.metrics}
    told = accounting(scores)
    lost = {**dict.fromkeys(told["missing_prediction"], "missing-prediction"), **told["failed"]}
    deviations = [Note(item.subject, item.rule, item.message) for item in scores.deviations]
    return GroupResults(
        label=label,
        metrics=tuple(names.values()),
        per_sample={s.sample: {names[key]: value for key, value in s.values.items()} for s in scores.samples},
        accounting=Accounting(
            expected=tuple(scores.expected),
            missing_reference=tuple(told["missing_reference"]),
            missing_output=tuple(told["missing_output"]),
            failed={sample: why_unscored(scores, sample, rule) for sample, rule in sorted(lost.items())},
            extra=tuple(told["extra"]),
        ),
        reasons={s.sample: {names[key]: why for key, why in s.reasons.items()} for s in scores.samples if s.reasons},
        protocol=_protocol(scores, protocol),
        notes=tuple(dict.fromkeys([*deviations, *scores.notes])),
    )


def why_unscored(scores: CaseScores, sample: str, rule: str) -> str:
    """Why a sample was not scored: the rule, with what was found where that is known.

    Args:
        scores: the case.
        sample: the sample's id.
        rule: the rule that kept it from being scored.
    """
    excused = [
        f"{item.message} [{item.rule}]" for item in scores.deviations if (item.subject, item.rule) == (sample, rule)
    ]
    found = [f"{Path(p.file).name}: {p.found} [{p.rule}]" for p in _problems_of(scores, sample, rule)]
    return "; ".join(dict.fromkeys([*excused, *found])) or f"[{rule}]"


def _problems_of(scores: CaseScores, sample: str, rule: str) -> Iterator[Problem]:
    same_rule = [name for name, own in scores.unscored.items() if own == rule]
    for problem in scores.problems:
        of = _sample_of(problem, scores.expected)
        # A file that serves all samples, such as captions.json, bears no sample's name.
        if of == sample or (
            of is None and problem.rule == rule and (same_rule == [sample] or _for_all(scores, problem))
        ):
            yield problem


def _sample_of(problem: Problem, samples: Sequence[str]) -> str | None:
    """The sample that a problem is about, by its file's name or by the id in its words."""
    stem = Path(problem.file).name.rpartition(".")[0]
    known = set(samples)
    for ending in _AFTER_ID:
        if stem.endswith(ending) and (sample := stem.removesuffix(ending)) in known:
            return sample
    return next((sample for sample in samples if f" {sample!r}" in problem.found), None)


def _for_all(scores: CaseScores, problem: Problem) -> bool:
    """Whether the same words were found for every sample of that rule, and so stand in the problems as often."""
    return scores.problems.count(problem) == sum(rule == problem.rule for rule in scores.unscored.values())


def _protocol(scores: CaseScores, protocol: Protocol) -> dict[str, Any]:
    found: dict[str, Any] = {"id": protocol.id, "version": protocol.version, "params_sha256": protocol.params_hash}
    choices = [item.message for item in scores.deviations if item.rule in _CHOICES]
    return {**found, "choices": choices} if choices else found
