"""The one engine under plugin, Python API and command line: files of a case in, per-sample scores out.

References are worked on sample by sample: one decoded picture and its prepared side of each metric serve all
methods that wait for it. Several samples are worked on at once, each by one thread: sums inside a convolution
depend on the number of threads, so a metric that used all cores would give other digits in a serial run than
under xdist. Only the arrays of the samples in work are held.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pixelgate.cache import ScoreCache
from pixelgate.case import Case
from pixelgate.clips.evaluator import ClipFiles
from pixelgate.columns import Column, Settings, bind_columns, digest
from pixelgate.errors import InputError, Problem, ProtocolError
from pixelgate.io.files import sha256_file
from pixelgate.measuring import Clips, Companions, Opened, make_measurer
from pixelgate.metrics.registry import Measurement
from pixelgate.outputs import check_files, find_outputs
from pixelgate.protocols import Protocol
from pixelgate.records import Deviation, Note
from pixelgate.rulings import changed_reference, no_column, no_value, resized, unreadable_folder
from pixelgate.scores import CaseScores, SampleScore, record_from_json
from pixelgate.tracks import REFERENCE, Sample, TrackData

Progress = Callable[[str, int, int, str], None]
"""Called with (case id, samples done, samples in all, sample id)."""

# Raised whenever the meaning of a cache entry changes.
_CACHE_FORMAT = "1"

# Samples in work at once. A sample of one megapixel holds about 0.2 GB with LPIPS.
_MOST_SAMPLES = 4


@dataclass
class _Plan:
    """A case on its way: what is known already and what is still to compute."""

    case: Case
    outputs: dict[str, Path]
    problems: list[Problem]
    deviations: list[Deviation] = field(default_factory=list)
    unscored: dict[str, str] = field(default_factory=dict)  # sample -> rule
    extra: tuple[str, ...] = ()
    companions: dict[str, Companions] = field(default_factory=dict)
    keys: dict[str, dict[str, str]] = field(default_factory=dict)  # sample -> column id (or "output") -> key
    known: dict[str, Any] = field(default_factory=dict)  # key -> cached value

    def lacks(self, sample: str) -> bool:
        return any(key not in self.known for key in self.keys.get(sample, {}).values())


_Computed = list[tuple[_Plan, "dict[str, Any] | InputError"]]


class Engine:
    """Scores cases of one track under its protocol.

    Args:
        data: the track's files.
        protocol: the track's protocol.
        settings: what the run chose.
        cache: where values are kept.
        progress: told about each sample as it is scored.

    Raises:
        ProtocolError: an unknown metric was asked for.
        MissingExtra, WeightsError: a metric cannot run here; raised before anything is scored.
        InputError: the track's own files are incomplete.
    """

    def __init__(
        self,
        data: TrackData,
        protocol: Protocol,
        settings: Settings | None = None,
        cache: ScoreCache | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.data = data
        self.protocol = protocol
        self.settings = settings or Settings()
        self.cache = cache or ScoreCache(None)
        self._progress = progress or (lambda case, done, total, sample: None)
        problems = data.problems()
        if problems:
            raise InputError(problems)
        self._parallel = min(self.settings.runtime.threads or usable_cores(), _MOST_SAMPLES)
        chosen = self.settings.metrics or data.track.metrics
        self._columns = bind_columns(protocol, replace(self.settings, metrics=chosen), data.group)
        compared = sorted({REFERENCE, *(column.entry.against for column in self._columns)})
        absent = [name for name in compared if name not in data.columns]
        if absent:
            raise InputError([no_column(data, name, self._columns) for name in absent])
        self.samples = data.samples()
        self._measurer = make_measurer(protocol, self._columns, self.settings, data.group, self.samples)
        self._plans: dict[str, _Plan] = {}
        self._hashes: dict[Path, str] = {}

    @property
    def metrics(self) -> tuple[str, ...]:
        """Ids of the metrics that are computed, in the protocol's order."""
        return tuple(column.entry.id for column in self._columns)

    @property
    def fingerprints(self) -> dict[str, dict[str, str]]:
        """Metric id -> backend, library versions, weights digest and source."""
        return {column.entry.id: self._measurer.fingerprint(column) for column in self._columns}

    def score(self, case: Case, ahead: Sequence[Case] = ()) -> CaseScores:
        """Score one case.

        Args:
            case: what to score.
            ahead: cases of the same track that will be asked for next; each sample's reference serves them in
                the same pass, and their values wait in the cache. Their input errors are theirs to report.

        Returns:
            Scores of every sample that could be read, with all problems of the files; nothing is dropped
            without a problem or a deviation that names it.
        """
        plan = self._plan(case)
        waiting = [self._plan(other) for other in ahead if other != case]
        try:
            for sample, computed in self._compute_all(plan, waiting):
                for current, values in computed:
                    self._keep(current, sample.id, values, own=current is plan)
        finally:
            del self._plans[case.id]
        there = [sample.id for sample in self.samples if sample.id in plan.keys]
        return self._case_scores(plan, [self._collect(name, plan) for name in there if not plan.lacks(name)])

    def cached(self, case: Case) -> tuple[int, int]:
        """How many of a case's samples lie in the cache, and how many outputs it has."""
        plan = self._plan(case)
        return sum(not plan.lacks(sample) for sample in plan.keys), len(plan.outputs)

    def outlook(self, case: Case) -> list[Problem]:
        """What is wrong with a case's files before anything is decoded."""
        return sorted(self._plan(case).problems)

    def score_again(self, scored: SampleScore, case: Case) -> dict[str, Measurement]:
        """Score one of a case's outputs anew, past the cache.

        Raises:
            InputError: a file breaks a rule.
        """
        sample, path = self._sample(scored.sample), Path(scored.output.file)
        companions = self._measurer.companions(case, sample, path)
        return self._measurer.open(sample).measure(case, path, companions, self.metrics).values

    def score_itself(self, sample_id: str) -> dict[str, Measurement] | None:
        """Score a sample's reference against itself; None where the track's group has no such thing.

        Raises:
            InputError: a file breaks a rule.
        """
        return self._measurer.open(self._sample(sample_id)).itself()

    def clip_files(self, scored: SampleScore, case: Case) -> tuple[ClipFiles, dict[str, Any]]:
        """The files that one of a case's clips was scored from, and its group's parameters.

        Raises:
            ProtocolError: the track's outputs are no clips.
            InputError: a prediction is missing.
        """
        if not isinstance(self._measurer, Clips):
            raise ProtocolError(f"track {self.data.track.id!r} has pictures, not clips")
        files = self._measurer.files(case, self._sample(scored.sample), Path(scored.output.file))
        return files, self._measurer.params(case)

    def _sample(self, sample_id: str) -> Sample:
        return next(sample for sample in self.samples if sample.id == sample_id)

    def _plan(self, case: Case) -> _Plan:
        if case.id in self._plans:
            return self._plans[case.id]
        plan = self._find_files(case)
        setting = digest([_CACHE_FORMAT, self._measurer.key(case)])
        for sample in self.samples:
            if sample.id in plan.outputs:
                try:
                    plan.companions[sample.id] = self._measurer.companions(case, sample, plan.outputs[sample.id])
                    plan.keys[sample.id] = self._keys(sample, plan, setting)
                except InputError as error:
                    # It fails its own case alone: other cases are looked at ahead of their turn.
                    self._drop(plan, sample.id, error.problems)
        plan.known = self.cache.get_many(key for keys in plan.keys.values() for key in keys.values())
        self._plans[case.id] = plan
        return plan

    def _drop(self, plan: _Plan, sample: str, problems: Sequence[Problem]) -> None:
        plan.unscored[sample] = problems[0].rule
        if self._excused(*problems):
            text = "; means are over the samples left"
            plan.deviations += [Deviation(sample, p.rule, p.found.rstrip(".") + text) for p in problems]
        else:
            plan.problems.extend(problems)

    def _excused(self, *problems: Problem) -> bool:
        return self.settings.allow_missing and all(problem.rule in self.protocol.excusable for problem in problems)

    def _find_files(self, case: Case) -> _Plan:
        names = list(self.data.track.samples)
        if case.baseline:
            return _Plan(case, {sample.id: sample.files[case.baseline] for sample in self.samples}, [])
        assert case.folder is not None
        suffixes = self._measurer.suffixes
        try:
            found = check_files(case, names, suffixes)
            outputs = self._outputs(case.folder, names)
            # A sample that one ratio lacks would change that ratio's mean alone, and bend the curve.
            for sibling in case.siblings if self.settings.allow_missing else ():
                there = self._outputs(Path(sibling), names)
                outputs = {sample: path for sample, path in outputs.items() if sample in there}
        except InputError as error:
            return _Plan(case, {}, list(error.problems))
        except OSError as error:
            return _Plan(case, {}, [unreadable_folder(error.filename or case.folder, error)])
        plan = _Plan(case, outputs, [problem for problem in found if not self._excused(problem)])
        plan.extra = tuple(Path(problem.file).name for problem in found if problem.rule == "extra-output")
        rules = {Path(problem.file).stem: problem.rule for problem in found}
        plan.unscored = {name: rules.get(name, "missing-output") for name in names if name not in outputs}
        if self.settings.allow_missing:
            text = "the output is missing; means are over the samples left"
            absent = [name for name, rule in plan.unscored.items() if rule == "missing-output"]
            plan.deviations += [Deviation(name, "missing-output", text) for name in absent]
            plan.deviations += [Deviation(p.file, p.rule, p.found) for p in found if p.rule == "extra-output"]
        for sample, problem in self.data.missing.items():
            self._drop(plan, sample, [problem])
        return plan

    def _outputs(self, folder: Path, names: Sequence[str]) -> dict[str, Path]:
        # A folder that is not there is one of the problems; every sample's output is then missing.
        found = find_outputs(folder, names, self._measurer.suffixes) if folder.exists() else {}
        paths = {sample: folder / files[0] for sample, files in found.items() if len(files) == 1}
        return {sample: path for sample, path in paths.items() if path.is_file()}

    def _keys(self, sample: Sample, plan: _Plan, setting: str) -> dict[str, str]:
        own = self.file_digest(plan.outputs[sample.id])
        files = self._measurer.reference_files(sample)
        read = {name: self._reference_digest(path) for name, path in files.items()}
        beside = self._digests(plan.companions[sample.id])
        if self.data.group:
            keys = {"output": digest([setting, own, read, beside])}
            return keys | {c.entry.id: digest([setting, c.key, own, read, beside]) for c in self._columns}
        keys = {"output": digest([setting, own, read])}
        for column in self._columns:
            pictures = [own, read[REFERENCE], read[column.entry.against]]
            keys[column.entry.id] = digest([setting, column.key, pictures])
        return keys

    def _digests(self, companions: Companions) -> dict[str, list[str]]:
        return {kind: [self.file_digest(path) for path in paths] for kind, paths in companions.items()}

    def file_digest(self, path: Path) -> str:
        """SHA-256 of a file's bytes, computed once per engine."""
        if path not in self._hashes:
            self._hashes[path] = sha256_file(path)
        return self._hashes[path]

    def _reference_digest(self, path: Path) -> str:
        digest_now = self.file_digest(path)
        if digest_now != (self.data.expected_sha256(path) or digest_now):
            raise InputError(changed_reference(self.data, path))
        return digest_now

    def _compute_all(self, plan: _Plan, waiting: Sequence[_Plan]) -> Iterator[tuple[Sample, _Computed]]:
        todo = [sample for sample in self.samples if sample.id in plan.outputs and plan.lacks(sample.id)]
        if not todo:
            return
        with ThreadPoolExecutor(self._parallel) as pool:
            running: deque[tuple[Sample, Future[_Computed]]] = deque()
            try:
                for sample in todo:
                    plans = [plan, *(other for other in waiting if other.lacks(sample.id))]
                    running.append((sample, pool.submit(self._compute, sample, plans)))
                    if len(running) > self._parallel:
                        yield self._finish(plan, *running.popleft())
                while running:
                    yield self._finish(plan, *running.popleft())
            finally:
                # Reached with samples left when one failed or the run was interrupted.
                for _, future in running:
                    future.cancel()

    def _finish(self, plan: _Plan, sample: Sample, future: Future[_Computed]) -> tuple[Sample, _Computed]:
        self._progress(plan.case.id, self.samples.index(sample), len(self.samples), sample.id)
        return sample, future.result()

    def _compute(self, sample: Sample, plans: Sequence[_Plan]) -> _Computed:
        try:
            opened = self._measurer.open(sample)
        except InputError as error:
            return [(plan, error) for plan in plans]
        computed: _Computed = []
        for plan in plans:
            try:
                computed.append((plan, self._compute_one(sample, plan, opened)))
            except InputError as error:
                computed.append((plan, error))
        return computed

    def _keep(self, plan: _Plan, sample: str, values: dict[str, Any] | InputError, own: bool) -> None:
        if not isinstance(values, InputError):
            plan.known.update(values)
            self.cache.put_many(values)
        elif own:
            self._drop(plan, sample, values.problems)

    def _compute_one(self, sample: Sample, plan: _Plan, opened: Opened) -> dict[str, Any]:
        keys = plan.keys[sample.id]
        wanted = [metric for metric in self.metrics if keys[metric] not in plan.known]
        measured = opened.measure(plan.case, plan.outputs[sample.id], plan.companions[sample.id], wanted)
        values: dict[str, Any] = {keys["output"]: measured.reading}
        values |= {keys[metric]: asdict(measured.values[metric]) for metric in wanted}
        # The same form as after a round trip through the disk, so that a rerun cannot differ.
        plain: dict[str, Any] = json.loads(json.dumps(values, allow_nan=False))
        return plain

    def _collect(self, sample: str, plan: _Plan) -> SampleScore:
        keys = plan.keys[sample]
        reading = plan.known[keys["output"]]
        measured = {column.entry.id: plan.known[keys[column.entry.id]] for column in self._columns}
        # An entry may have been written for a copy of this file elsewhere: its name is this run's own.
        record = record_from_json({**reading["record"], "file": str(plan.outputs[sample])})
        if beside := plan.companions.get(sample):
            # What was scored is the clip with its predictions.
            record = replace(record, pixels_sha256=digest([record.pixels_sha256, self._digests(beside)]))
        notes = [Note(sample, note.rule, note.message) for note in record.notes]
        notes += [Note(f"{sample}, reference", n["rule"], n["message"]) for n in reading["reference_notes"]]
        notes += [Note(sample, rule, message) for rule, message in reading.get("notes", ())]
        for metric_id, measurement in measured.items():
            notes += [Note(f"{sample}, {metric_id}", rule, message) for rule, message in measurement["notes"]]
        resized = reading["resized_from"]
        return SampleScore(
            sample=sample,
            values={metric_id: measurement["value"] for metric_id, measurement in measured.items()},
            reasons={key: m["reason"] or "not computed" for key, m in measured.items() if m["value"] is None},
            output=record,
            resized_from=(resized[0], resized[1]) if resized else None,
            notes=tuple(notes),
            deviations=tuple(Deviation(sample, rule, message) for rule, message in reading.get("deviations", ())),
            details=reading.get("details", {}),
        )

    def _case_scores(self, plan: _Plan, scored: Sequence[SampleScore]) -> CaseScores:
        deviations = [resized(sample) for sample in scored if sample.resized_from]
        deviations += [deviation for sample in scored for deviation in sample.deviations]
        deviations += [*sorted(plan.deviations), *self._measurer.deviations(plan.case)]
        if self.settings.allow_missing and self.data.group:
            deviations += [deviation for sample in scored for deviation in no_value(sample, self.protocol)]
        # What the track itself leaves out is no choice of the run's.
        wanted = self.data.track.metrics or [metric.id for metric in self.protocol.metrics]
        left_out = [metric for metric in wanted if metric not in self.metrics]
        deviations += [
            Deviation(metric_id, "metric-left-out", "the run was asked to leave this metric out")
            for metric_id in left_out
        ]
        return CaseScores(
            case=plan.case,
            metrics=self.metrics,
            expected=self.data.track.samples,
            samples=tuple(scored),
            problems=tuple(sorted(plan.problems)),
            deviations=tuple(deviations),
            fingerprints=self.fingerprints,
            unscored=dict(sorted(plan.unscored.items())),
            extra=plan.extra,
            counted=tuple(column.entry.id for column in self._columns if self._counts(column)),
        )

    def _counts(self, column: Column) -> bool:
        return column.entry.undefined == "counted" or (self.settings.allow_missing and bool(self.data.group))


def usable_cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
