"""What an evaluation found, and its plain form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pixelgate.aggregate import Aggregate
from pixelgate.case import Case
from pixelgate.errors import Problem
from pixelgate.flexbench.combined import Combined
from pixelgate.flexbench.results import GroupResults, results_data
from pixelgate.records import Deviation
from pixelgate.results import accounting
from pixelgate.scores import CaseScores


@dataclass(frozen=True)
class GroupOutcome:
    """One group of one run.

    Attributes:
        group: its name.
        case: what was scored; `Case.not_run` says why it was not.
        results: its scores; None where it was not run.
        scores: the same as the engine gave them.
        aggregates: metric id -> its mean; see `pixelgate.aggregate`.
        faults: deviations that fail the run.
        revision: of the group's references.
        computed: how many samples were computed; the others came from the cache.
    """

    group: str
    case: Case
    results: GroupResults | None = None
    scores: CaseScores | None = None
    aggregates: Mapping[str, Aggregate] | None = None
    faults: tuple[Deviation, ...] = ()
    revision: str = ""
    computed: int = 0

    @property
    def not_run(self) -> str:
        """Why it was not run; empty where it was."""
        return self.case.not_run

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the files, each once."""
        return () if self.scores is None else tuple(dict.fromkeys(self.scores.problems))

    @property
    def gaps(self) -> tuple[str, ...]:
        """Metrics without a mean that should have one, each with the reason; none where files have problems."""
        if self.scores is None or self.problems:
            return ()
        failed = [one for one in (self.aggregates or {}).values() if one.failed]
        return tuple(f"{one.metric} has no mean: {one.reason}{self._why(one.metric)}" for one in failed)

    @property
    def complete(self) -> bool:
        """Whether its means stand for every sample that the run wants them to."""
        return self.results is not None and not self.problems and not self.gaps

    @property
    def failed(self) -> bool:
        """Whether it keeps the evaluation from passing."""
        return bool(self.problems or self.gaps or self.faults)

    @property
    def accounting(self) -> dict[str, Any]:
        """Where every sample went; see `pixelgate.results.accounting`. Empty where it was not run."""
        return {} if self.scores is None else accounting(self.scores)

    def _why(self, metric: str) -> str:
        assert self.scores is not None
        found = [f"{s.sample}: {reason}" for s in self.scores.samples if (reason := s.reasons.get(metric))]
        return f" ({'; '.join(found)})" if found else ""

    def to_json(self) -> dict[str, Any]:
        """Plain types without NaN."""
        if self.results is None:
            return {"not_run": self.not_run}
        data = results_data(self.results)
        if not self.complete:
            # A mean over what happens to be there would be read as the run's.
            data = {key: value for key, value in data.items() if key not in ("mean", "n")}
        return {
            **data,
            "complete": self.complete,
            "failed_run": self.failed,
            "missing_prediction": self.accounting["missing_prediction"],
            "problems": [asdict(problem) for problem in self.problems],
            "gaps": list(self.gaps),
            "faults": [asdict(fault) for fault in self.faults],
            "dataset_revision": self.revision,
            "computed": self.computed,
        }


@dataclass(frozen=True)
class RunOutcome:
    """One run: a folder of clips, or one seed of it.

    Attributes:
        name: ``full`` or ``seed-<N>``.
        folder: of its clips.
        output: where its files were written.
        groups: in the order of the tables.
        table: the combined table of the complete groups; None where there is none, or only one group was evaluated.
        files: what was written.
        not_shown: side-by-side clips that could not be written, with the reason.
    """

    name: str
    folder: Path
    output: Path
    groups: tuple[GroupOutcome, ...]
    table: Combined | None = None
    files: tuple[Path, ...] = ()
    not_shown: tuple[str, ...] = ()

    @property
    def not_run(self) -> dict[str, str]:
        """Group -> why it was not run."""
        return {one.group: one.not_run for one in self.groups if one.not_run}

    @property
    def incomplete(self) -> tuple[GroupOutcome, ...]:
        """Groups that were run and have no valid means."""
        return tuple(one for one in self.groups if not one.not_run and not one.complete)

    def to_json(self) -> dict[str, Any]:
        """Plain types without NaN."""
        return {
            "slice": self.name,
            "folder": str(self.folder),
            "output": str(self.output),
            "groups": {one.group: one.to_json() for one in self.groups if not one.not_run},
            "not_run": self.not_run,
            "files": list(map(str, self.files)),
            "not_shown": list(self.not_shown),
        }


@dataclass(frozen=True)
class Evaluated:
    """What `pixelgate.flexbench.evaluate` found.

    Attributes:
        generated: the run's folder.
        dataset: the data set's folder; None for the demo's.
        runs: the run, or one for each seed.
    """

    generated: Path
    dataset: Path | None
    runs: tuple[RunOutcome, ...]

    @property
    def failed(self) -> bool:
        """Whether any group has problems, lacks a mean, or shows a fault. A group that was not run fails nothing."""
        return any(group.failed for run in self.runs for group in run.groups) or any(run.not_shown for run in self.runs)

    @property
    def not_run(self) -> dict[str, dict[str, str]]:
        """Slice -> group -> why it was not run; slices where all were run are left out."""
        return {run.name: run.not_run for run in self.runs if run.not_run}

    def run(self, name: str = "full") -> RunOutcome:
        """One run by its slice, ``full`` or ``seed-<N>``.

        Raises:
            KeyError: there is none.
        """
        return {run.name: run for run in self.runs}[name]

    def to_json(self) -> dict[str, Any]:
        """Plain types without NaN."""
        return {
            "generated": str(self.generated),
            "dataset": None if self.dataset is None else str(self.dataset),
            "failed": self.failed,
            "runs": [run.to_json() for run in self.runs],
        }


def not_run_text(reasons: Mapping[str, str]) -> Sequence[str]:
    """Groups and why they were not run, as sentences; those that share a reason in one."""
    groups: dict[str, list[str]] = {}
    for group, reason in reasons.items():
        groups.setdefault(reason, []).append(group)
    return [f"{', '.join(names)}: {reason}" for reason, names in groups.items()]
