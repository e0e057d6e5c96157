"""What a process that runs items holds: options, cases, one engine per track, and the outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pixelgate.aggregate import Aggregate, Bootstrap, aggregate, bootstrap_settings
from pixelgate.cache import ScoreCache, default_cache_folder
from pixelgate.case import FULL, Case
from pixelgate.columns import Settings
from pixelgate.curves import CurveGroup, aggregate_curve, grid_deviation
from pixelgate.engine import Engine, Progress, usable_cores
from pixelgate.errors import InputError, PixelgateError, Problem
from pixelgate.flexbench.seed_groups import SeedGroup, over_seeds, sample_set_differences
from pixelgate.invariants import Subject, check_invariant
from pixelgate.metrics.registry import Runtime
from pixelgate.outputs import check_files
from pixelgate.records import Deviation
from pixelgate.scores import CaseScores
from pixelgate.tracks import TrackData, locate
from pytest_bench.discovery import Discovery, choices_of, metrics_of, with_baselines
from pytest_bench.golden import GoldenFolders, Verdict, compare
from pytest_bench.options import Options
from pytest_bench.report.failure import describe
from pytest_bench.runs import case_problems, manifest_problems, oracle_deviation, run_folders

BENCH = pytest.StashKey["Bench"]()
PAYLOAD = pytest.StashKey[dict[str, Any]]()


@dataclass(frozen=True)
class Outcome:
    """A case scored and held against its golden numbers.

    Attributes:
        scores: per-sample scores with this run's deviations.
        aggregates: mean and interval per metric.
        verdict: the comparison with the golden numbers.
        failure: what to tell the user, or empty.
    """

    scores: CaseScores
    aggregates: dict[str, Aggregate]
    verdict: Verdict
    failure: str


class Bench:
    """The state of one process: a serial run or one worker.

    Args:
        options: the run's options.
        discovery: its cases.
        folders: where golden numbers lie.
        threads: CPU threads a metric may use; None leaves the library's choice.
    """

    def __init__(
        self, options: Options, discovery: Discovery, folders: GoldenFolders, threads: int | None = None
    ) -> None:
        self.options = options
        self.discovery = discovery
        self.folders = folders
        self.progress: Progress | None = None
        self._runtime = Runtime(options.device, str(options.weights) if options.weights else None, threads)
        self._cache: ScoreCache | None = None
        self._data: dict[str, TrackData] = {}
        self._engines: dict[str, Engine] = {}
        self._scores: dict[str, CaseScores] = {}
        self._means: dict[str, dict[str, Aggregate]] = {}
        # Cases that this process will be asked for; known in a serial run only.
        self._expected: tuple[str, ...] = ()

    def expect(self, case_ids: Iterable[str]) -> None:
        """Tell which cases this process will be asked for, so that a reference is worked on once for all."""
        self._expected = tuple(case_ids)

    def data(self, track_id: str) -> TrackData:
        """The files of a track.

        Raises:
            TrackError: they are not at hand.
        """
        if track_id not in self._data:
            self._data[track_id] = locate(self.discovery.tracks[track_id], self.discovery.data)
        return self._data[track_id]

    def engine(self, track_id: str) -> Engine:
        """The engine of a track.

        Raises:
            PixelgateError: the track's files or a metric's needs are not at hand.
        """
        if track_id not in self._engines:
            track, protocol = self.discovery.tracks[track_id], self.discovery.protocols[track_id]
            settings = Settings(
                metrics_of(self.options, protocol),
                self._runtime,
                self.options.allow_missing,
                self.options.allow_resize,
            )
            if track.group:
                settings = replace(choices_of(self.options, protocol).settings(track, protocol), runtime=self._runtime)
            self._engines[track_id] = Engine(self.data(track_id), protocol, settings, self.cache, self._tell)
        return self._engines[track_id]

    @property
    def cache(self) -> ScoreCache:
        """The score cache of this process."""
        if self._cache is None:
            folder: Path | None = None
            if not self.options.no_cache:
                folder = self.options.cache or default_cache_folder()
            self._cache = ScoreCache(folder)
        return self._cache

    def close(self) -> None:
        """Give the cache file back."""
        if self._cache is not None:
            self._cache.close()

    def prepare(self) -> None:
        """Find the tracks' files, and add the baseline rows that they allow. Needed before items are collected.

        Raises:
            TrackError: a track's files are not at hand.
        """
        columns = {track_id: self.data(track_id).columns for track_id in self.discovery.tracks}
        self.discovery = with_baselines(self.discovery, columns, self.options)

    def check_ready(self) -> None:
        """Find out before anything is scored whether everything that is needed is at hand.

        Raises:
            PixelgateError: all that is missing, in one message.
        """
        messages: dict[str, None] = {}
        for track_id in sorted({case.track for case in self.discovery.running}):
            try:
                assert self.engine(track_id).fingerprints
            except PixelgateError as error:
                messages.setdefault(str(error))
        if messages:
            raise PixelgateError("\n".join(messages))

    def scores(self, case: Case) -> CaseScores:
        """The case's scores, computed once per process and otherwise taken from the cache."""
        if case.id not in self._scores:
            ahead = [
                other
                for other in self.discovery.cases
                if other.track == case.track and other.id in self._expected and other.id not in self._scores
                if not other.not_run
            ]
            scores = self.engine(case.track).score(case, ahead)
            extra = [*self._bootstrap(case)[1], *self._grid_deviations(case), *oracle_deviation(case)]
            problems = sorted({*scores.problems, *case_problems(case)})
            deviations = (*scores.deviations, *extra)
            self._scores[case.id] = replace(scores, problems=tuple(problems), deviations=deviations)
        return self._scores[case.id]

    def judge(self, case: Case) -> Outcome:
        """Score a case and hold it against its golden numbers."""
        scores = self.scores(case)
        aggregates = self._aggregates(case)
        protocol = self.discovery.protocols[case.track]
        verdict = compare(scores, aggregates, protocol, self.data(case.track).revision, self.folders)
        return Outcome(scores, aggregates, verdict, describe(scores, aggregates, verdict, protocol, self.options))

    def show(self, case: Case) -> list[str]:
        """Write the side-by-side clips and contact sheets of a case into the report's folder.

        Returns:
            The sheets' files, relative to the report's folder; none where the run does not ask or the group has none.
        """
        folder, group = self.options.report, self.discovery.tracks[case.track].group
        if not self.options.show_video or folder is None:
            return []
        from pixelgate.clips.show import SHOWN_GROUPS, write_show

        if group not in SHOWN_GROUPS:
            return []
        engine, sheets = self.engine(case.track), []
        for scored in self.scores(case).samples:
            files, params = engine.clip_files(scored, case)
            place = case_folder(folder, case) / "video" / f"{scored.sample}.mp4"
            sheets.append(write_show(group, files, params, place).sheet.relative_to(folder).as_posix())
        return sheets

    def publish(self, item: pytest.Item, outcome: Outcome) -> None:
        """Hang an outcome onto its item, in builtin types, for the report that goes to the controller."""
        item.stash[PAYLOAD] = {
            "scores": outcome.scores.to_json(),
            "verdict": verdict_to_json(outcome.verdict),
            "revision": self.data(outcome.scores.case.track).revision,
            "sheets": self.show(outcome.scores.case),
        }
        if self.options.junit_properties == "scalar":
            means = {
                key: result.interval.mean if result.interval else None for key, result in outcome.aggregates.items()
            }
            item.user_properties.extend((key, "" if mean is None else repr(mean)) for key, mean in means.items())
            item.user_properties.append(("n", len(outcome.scores.samples)))
            item.user_properties.append(("golden", outcome.verdict.status))

    def group_problems(self, group: Case) -> list[Problem]:
        """What is wrong with the files of all cases of a (method, track)."""
        members = self._members(group)
        problems = [problem for case in members for problem in self.file_problems(case)]
        of_runs = [p for folder in run_folders(members) for p in manifest_problems(folder)]
        if self.options.allow_missing:
            of_runs = [problem for problem in of_runs if problem.rule != "missing-output"]
        return sorted({*problems, *of_runs})

    def _members(self, group: Case) -> list[Case]:
        return [case for case in self.discovery.running if (case.method, case.track) == (group.method, group.track)]

    def file_problems(self, case: Case) -> list[Problem]:
        """What is wrong with the files of a case, without reading a picture."""
        protocol, data = self.discovery.protocols[case.track], self.data(case.track)
        problems = [*check_files(case, data.track.samples, protocol.suffixes), *data.missing.values()]
        if self.options.allow_missing:
            problems = [problem for problem in problems if problem.rule not in protocol.excusable]
        return problems

    def check_invariant(self, case: Case, name: str) -> str:
        """What does not hold of one invariant; empty where all holds."""
        bootstrap, _ = self._bootstrap(case)
        try:
            failures = check_invariant(name, Subject(self.scores(case), self.engine(case.track), bootstrap))
        except InputError as error:
            failures = [str(problem) for problem in error.problems]
        return "\n".join([f"{case.id}: the invariant {name!r} does not hold:", *failures]) if failures else ""

    def check_summary(self, group: Case) -> str:
        """What is missing from the rows of a (method, track); empty where they are complete."""
        lines = []
        for case in self._members(group):
            missing = {key: result.reason or "" for key, result in self._aggregates(case).items() if result.failed}
            lines += [f"{case.id}: no mean of {names}: {reason}" for names, reason in by_reason(missing)]
        return "\n".join(["not complete:", *lines]) if lines else ""

    def check_curve(self, group: CurveGroup) -> str:
        """What is wrong with a curve; empty where nothing is."""
        scores = {case.id: self.scores(case) for case in group.cases}
        lines = []
        for metric, result in aggregate_curve(group, scores, self._bootstrap(group.cases[0])[0]).items():
            if result.curve is None:
                lines.append(f"{metric}: no area: {result.reason}")
                continue
            means = [point.mean for point in result.curve.points]
            if not min(means) - 1e-9 <= result.curve.area.mean <= max(means) + 1e-9:
                lines.append(f"{metric}: the area {result.curve.area.mean!r} lies outside the curve's values")
        return "\n".join([f"{group.id}: the curve is not complete:", *lines]) if lines else ""

    def check_seeds(self, group: SeedGroup) -> str:
        """What is wrong with a method's seeds; empty where nothing is."""
        scores = {case.id: self.scores(case) for case in group.cases}
        lines = [] if self.options.allow_missing else sample_set_differences(group, scores)
        means = over_seeds(group, {case.id: self._aggregates(case) for case in group.cases}, scores)
        counted = {metric for one in scores.values() for metric in one.counted}
        lacking = {key: one.reason or "" for key, one in means.items() if one.mean is None and key not in counted}
        lines += [f"{names}: {reason}" for names, reason in by_reason(lacking)]
        return "\n".join([f"{group.id}: the seeds cannot be summed up:", *lines]) if lines else ""

    def _aggregates(self, case: Case) -> dict[str, Aggregate]:
        if case.id not in self._means:
            self._means[case.id] = aggregate(self.scores(case), self._bootstrap(case)[0])
        return self._means[case.id]

    def _bootstrap(self, case: Case) -> tuple[Bootstrap, list[Deviation]]:
        protocol = self.discovery.protocols[case.track]
        return bootstrap_settings(protocol, self.options.resamples, self.options.seed)

    def _grid_deviations(self, case: Case) -> list[Deviation]:
        groups = [group for group in self.discovery.curves if case in group.cases]
        return [item for group in groups for item in grid_deviation(group, self.discovery.protocols[group.track])]

    def _tell(self, case_id: str, done: int, total: int, sample: str) -> None:
        if self.progress is not None:
            self.progress(case_id, done, total, sample)


def case_folder(report: Path, case: Case) -> Path:
    """Where a case's files lie in the report's folder."""
    place = report / case.track / case.method
    return place if case.slice == FULL else place / case.slice


def by_reason(reasons: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names that share a reason, in one text, with it."""
    found: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        found.setdefault(reason, []).append(name)
    return [(", ".join(names), reason) for reason, names in found.items()]


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict in builtin types."""
    return {
        "status": verdict.status,
        "file": verdict.file,
        "problem": verdict.problem,
        "changed_outputs": list(verdict.changed_outputs),
        "differences": [
            {
                "metric": difference.metric,
                "got": difference.got,
                "expected": difference.expected,
                "tolerance": difference.tolerance,
                "passed": difference.passed,
                "why": difference.why,
                "worst": [list(item) for item in difference.worst],
            }
            for difference in verdict.differences
        ],
    }


def threads_per_worker(workers: int) -> int:
    """CPU threads for each of so many workers."""
    return max(1, usable_cores() // max(1, workers))
