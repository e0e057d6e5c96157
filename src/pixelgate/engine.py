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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pixelgate.cache import ScoreCache
from pixelgate.columns import Settings, bind_columns, digest
from pixelgate.errors import InputError, Problem
from pixelgate.io.files import sha256_file
from pixelgate.layout import Case, check_files, find_outputs
from pixelgate.metrics.registry import Measurement
from pixelgate.protocols import Protocol
from pixelgate.reading import Read, Role, make_reader
from pixelgate.records import Deviation, Note
from pixelgate.rulings import changed_reference, no_column, resized, too_small, unreadable_folder
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
        self._columns = bind_columns(protocol, replace(self.settings, metrics=chosen))
        # The reference gives the size in any case.
        self._references = sorted({REFERENCE, *(column.entry.against for column in self._columns)})
        absent = [name for name in self._references if name not in data.columns]
        if absent:
            raise InputError([no_column(data, name, self._columns) for name in absent])
        self.samples = data.samples()
        self._reader = make_reader(protocol, self.settings.allow_resize)
        self._reading_key = digest([_CACHE_FORMAT, self._reader.key])
        self._plans: dict[str, _Plan] = {}
        self._hashes: dict[Path, str] = {}

    @property
    def metrics(self) -> tuple[str, ...]:
        """Ids of the metrics that are computed, in the protocol's order."""
        return tuple(column.entry.id for column in self._columns)

    @property
    def fingerprints(self) -> dict[str, dict[str, str]]:
        """Metric id -> backend, library versions, weights digest and source."""
        square = self._reader.fingerprint
        return {
            column.entry.id: {**column.scorer.fingerprint, **(square if column.metric.takes == "unit" else {})}
            for column in self._columns
        }

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
            for computed in self._compute_all(plan, waiting):
                for current, values in computed:
                    self._keep(current, values, own=current is plan)
        finally:
            del self._plans[case.id]
        there = [sample.id for sample in self.samples if sample.id in plan.keys]
        return self._case_scores(plan, [self._collect(name, plan) for name in there if not plan.lacks(name)])

    def cached(self, case: Case) -> tuple[int, int]:
        """How many of a case's samples lie in the cache, and how many outputs it has."""
        plan = self._plan(case)
        return sum(not plan.lacks(sample) for sample in plan.keys), len(plan.outputs)

    def score_pair(self, output: Path, sample: Sample, *, role: Role = "output") -> dict[str, Measurement]:
        """Score one file against a sample's references, past the cache.

        Args:
            output: the picture.
            sample: the sample whose references it is held against.
            role: ``output``, or ``reference`` where the file is one of the track's own.

        Raises:
            InputError: a file breaks a rule.
        """
        references = self._read_references(sample)
        read = self._reader.output(output, references[REFERENCE], role)
        return {
            column.entry.id: column.compare(read, column.prepare(references[column.entry.against]))
            for column in self._columns
        }

    def _plan(self, case: Case) -> _Plan:
        if case.id in self._plans:
            return self._plans[case.id]
        plan = self._find_files(case)
        for sample in self.samples:
            if sample.id in plan.outputs:
                try:
                    own = self.file_digest(plan.outputs[sample.id])
                except InputError as error:
                    # It fails its own case alone: other cases are looked at ahead of their turn.
                    plan.problems.extend(error.problems)
                else:
                    plan.keys[sample.id] = self._keys(sample, own)
        plan.known = self.cache.get_many(key for keys in plan.keys.values() for key in keys.values())
        self._plans[case.id] = plan
        return plan

    def _find_files(self, case: Case) -> _Plan:
        names = [sample.id for sample in self.samples]
        if case.baseline:
            return _Plan(case, {sample.id: sample.files[case.baseline] for sample in self.samples}, [])
        assert case.folder is not None
        try:
            problems = check_files(case, names, self._reader.suffixes)
            outputs = self._outputs(case.folder, names)
            if self.settings.allow_missing:
                problems = [problem for problem in problems if problem.rule != "missing-output"]
                # A sample that one ratio lacks would change that ratio's mean alone, and bend the curve.
                for sibling in case.siblings:
                    there = self._outputs(Path(sibling), names)
                    outputs = {sample: path for sample, path in outputs.items() if sample in there}
        except InputError as error:
            return _Plan(case, {}, list(error.problems))
        except OSError as error:
            return _Plan(case, {}, [unreadable_folder(error.filename or case.folder, error)])
        return _Plan(case, outputs, problems)

    def _outputs(self, folder: Path, names: Sequence[str]) -> dict[str, Path]:
        found = find_outputs(folder, names, self._reader.suffixes)
        paths = {sample: folder / files[0] for sample, files in found.items() if len(files) == 1}
        return {sample: path for sample, path in paths.items() if path.is_file()}

    def _keys(self, sample: Sample, own: str) -> dict[str, str]:
        read = {name: self._reference_digest(sample.files[name]) for name in self._references}
        keys = {"output": digest([self._reading_key, own, read])}
        for column in self._columns:
            pictures = [own, read[REFERENCE], read[column.entry.against]]
            keys[column.entry.id] = digest([self._reading_key, column.key, pictures])
        return keys

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

    def _compute_all(self, plan: _Plan, waiting: Sequence[_Plan]) -> Iterator[_Computed]:
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

    def _finish(self, plan: _Plan, sample: Sample, future: Future[_Computed]) -> _Computed:
        self._progress(plan.case.id, self.samples.index(sample), len(self.samples), sample.id)
        return future.result()

    def _compute(self, sample: Sample, plans: Sequence[_Plan]) -> _Computed:
        try:
            references = self._read_references(sample)
        except InputError as error:
            return [(plan, error) for plan in plans]
        prepared: dict[str, Any] = {}
        computed: _Computed = []
        for plan in plans:
            try:
                computed.append((plan, self._compute_one(sample, plan, references, prepared)))
            except InputError as error:
                computed.append((plan, error))
        return computed

    def _keep(self, plan: _Plan, values: dict[str, Any] | InputError, own: bool) -> None:
        if not isinstance(values, InputError):
            plan.known.update(values)
            self.cache.put_many(values)
        elif own:
            plan.problems.extend(values.problems)

    def _compute_one(
        self, sample: Sample, plan: _Plan, references: Mapping[str, Read], prepared: dict[str, Any]
    ) -> dict[str, Any]:
        role: Role = "reference" if plan.case.baseline else "output"
        read = self._reader.output(plan.outputs[sample.id], references[REFERENCE], role)
        keys = plan.keys[sample.id]
        notes = [asdict(note) for reference in references.values() for note in reference.record.notes]
        reading = {"record": asdict(read.record), "resized_from": read.resized_from, "reference_notes": notes}
        values: dict[str, Any] = {keys["output"]: reading}
        for column in self._columns:
            key = keys[column.entry.id]
            if key in plan.known:
                continue
            if column.entry.id not in prepared:
                prepared[column.entry.id] = column.prepare(references[column.entry.against])
            values[key] = asdict(column.compare(read, prepared[column.entry.id]))
        # The same form as after a round trip through the disk, so that a rerun cannot differ.
        plain: dict[str, Any] = json.loads(json.dumps(values, allow_nan=False))
        return plain

    def _read_references(self, sample: Sample) -> dict[str, Read]:
        read: dict[str, Read] = {}
        problems: list[Problem] = []
        for name in self._references:
            try:
                read[name] = self._reader.reference(sample.files[name])
            except InputError as error:
                problems.extend(error.problems)
        if REFERENCE in read:
            height, width = read[REFERENCE].rgb8.shape[:2]
            problems += [
                too_small(sample, column, width, height)
                for column in self._columns
                if column.metric.takes == "rgb8" and min(height, width) < column.metric.min_side
            ]
        if problems:
            raise InputError(problems)
        return read

    def _collect(self, sample: str, plan: _Plan) -> SampleScore:
        keys = plan.keys[sample]
        reading = plan.known[keys["output"]]
        measured = {column.entry.id: plan.known[keys[column.entry.id]] for column in self._columns}
        # An entry may have been written for a copy of this file elsewhere: its name is this run's own.
        record = record_from_json({**reading["record"], "file": str(plan.outputs[sample])})
        notes = [Note(sample, note.rule, note.message) for note in record.notes]
        notes += [Note(f"{sample}, reference", n["rule"], n["message"]) for n in reading["reference_notes"]]
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
        )

    def _case_scores(self, plan: _Plan, scored: Sequence[SampleScore]) -> CaseScores:
        deviations = [resized(sample) for sample in scored if sample.resized_from]
        if self.settings.allow_missing:
            deviations += [
                Deviation(sample.id, "missing-output", "the output is missing; means are over the samples left")
                for sample in self.samples
                if sample.id not in plan.outputs
            ]
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
            expected=tuple(sample.id for sample in self.samples),
            samples=tuple(scored),
            problems=tuple(sorted(plan.problems)),
            deviations=tuple(deviations),
            fingerprints=self.fingerprints,
        )


def usable_cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
