"""The one engine under plugin, Python API and command line: files of a case in, per-sample scores out.

References are worked on sample by sample: one decoded picture and its prepared side of each metric serve all
methods that wait for it, and only one sample's arrays are held at a time.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pixelgate.cache import ScoreCache
from pixelgate.errors import InputError, Problem, ProtocolError
from pixelgate.io.files import sha256_file
from pixelgate.io.png import read_png
from pixelgate.io.resize import resize_to
from pixelgate.layout import Case, check_files
from pixelgate.metrics.registry import Image, Measurement, Metric, Runtime, Scorer, get_metric
from pixelgate.protocols import Protocol, ProtocolMetric
from pixelgate.records import Deviation, ImageRecord, Note
from pixelgate.scores import CaseScores, SampleScore, record_from_json
from pixelgate.tracks import REFERENCE, Sample, TrackData

Progress = Callable[[str, int, int, str], None]
"""Called with (case id, samples done, samples in all, sample id)."""

# Raised whenever the meaning of a cache entry changes.
_CACHE_FORMAT = "1"


@dataclass(frozen=True)
class Settings:
    """What a run may choose; everything else is the protocol's.

    Attributes:
        metrics: ids to compute; empty computes all of the protocol's.
        runtime: device, weights and threads.
        allow_missing: score the outputs that are there; recorded as a deviation.
        allow_resize: resize outputs of another size; recorded as a deviation.
    """

    metrics: tuple[str, ...] = ()
    runtime: Runtime = Runtime()
    allow_missing: bool = False
    allow_resize: bool = False


@dataclass
class _Column:
    """One metric of the protocol, bound."""

    entry: ProtocolMetric
    metric: Metric
    scorer: Scorer
    key: str  # digest of all beside the pictures that decides its values

    def compare(self, output: Image, prepared: Any) -> Measurement:
        measurement = self.scorer.compare(output, prepared)
        if measurement.value is not None and not math.isfinite(measurement.value):
            return Measurement(None, f"the metric gave {measurement.value}", measurement.notes)
        return measurement


@dataclass
class _Plan:
    """A case on its way: what is known already and what is still to compute."""

    case: Case
    outputs: dict[str, Path]
    problems: list[Problem]
    keys: dict[str, dict[str, str]] = field(default_factory=dict)  # sample -> column id (or "output") -> key
    known: dict[str, Any] = field(default_factory=dict)  # key -> cached value

    def lacks(self, sample: str) -> bool:
        return any(key not in self.known for key in self.keys[sample].values())


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
        self._columns = _bind(protocol, self.settings)
        # The reference gives the size in any case.
        self._references = sorted({REFERENCE, *(column.entry.against for column in self._columns)})
        absent = [name for name in self._references if name not in data.columns]
        if absent:
            raise InputError([_no_column(data, name, self._columns) for name in absent])
        self.samples = data.samples()
        self._reading_key = _digest(
            [_CACHE_FORMAT, protocol.decoding, protocol.size, self.settings.allow_resize, _decoder_version()]
        )
        self._plans: dict[str, _Plan] = {}
        self._hashes: dict[Path, str] = {}

    @property
    def metrics(self) -> tuple[str, ...]:
        """Ids of the metrics that are computed, in the protocol's order."""
        return tuple(column.entry.id for column in self._columns)

    @property
    def fingerprints(self) -> dict[str, dict[str, str]]:
        """Metric id -> backend, library versions, weights digest and source."""
        return {column.entry.id: dict(column.scorer.fingerprint) for column in self._columns}

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
        scored: list[SampleScore] = []
        for done, sample in enumerate(self.samples):
            if sample.id not in plan.outputs:
                continue
            if plan.lacks(sample.id):
                self._progress(case.id, done, len(self.samples), sample.id)
                self._compute(sample, plan, [other for other in waiting if sample.id in other.outputs])
            if not plan.lacks(sample.id):
                scored.append(self._collect(sample.id, plan))
        del self._plans[case.id]
        return self._case_scores(plan, scored)

    def cached(self, case: Case) -> tuple[int, int]:
        """How many of a case's samples lie in the cache, and how many outputs it has."""
        plan = self._plan(case)
        return sum(not plan.lacks(sample) for sample in plan.outputs), len(plan.outputs)

    def score_pair(self, output: Path, sample: Sample, *, role: str = "output") -> dict[str, Measurement]:
        """Score one file against a sample's references, past the cache.

        Args:
            output: the picture.
            sample: the sample whose references it is held against.
            role: ``output``, or ``reference`` where the file is one of the track's own.

        Raises:
            InputError: a file breaks a rule.
        """
        references = self._read_references(sample)
        image, _, _ = self._read_output(output, references, role)
        return {
            column.entry.id: column.compare(image, column.scorer.prepare(references[column.entry.against][0]))
            for column in self._columns
        }

    def _plan(self, case: Case) -> _Plan:
        if case.id in self._plans:
            return self._plans[case.id]
        problems = check_files(case, [sample.id for sample in self.samples])
        if case.baseline:
            outputs = {sample.id: sample.files[case.baseline] for sample in self.samples}
        else:
            assert case.folder is not None
            candidates = {sample.id: case.folder / f"{sample.id}.png" for sample in self.samples}
            outputs = {sample: path for sample, path in candidates.items() if path.is_file()}
        if self.settings.allow_missing:
            problems = [problem for problem in problems if problem.rule != "missing-output"]
        plan = _Plan(case, outputs, problems)
        for sample in self.samples:
            if sample.id in outputs:
                plan.keys[sample.id] = self._keys(sample, outputs[sample.id])
        plan.known = self.cache.get_many(key for keys in plan.keys.values() for key in keys.values())
        self._plans[case.id] = plan
        return plan

    def _keys(self, sample: Sample, output: Path) -> dict[str, str]:
        own = self.digest(output)
        read = {name: self.digest(sample.files[name]) for name in self._references}
        keys = {"output": _digest([self._reading_key, own, read])}
        for column in self._columns:
            pictures = [own, read[REFERENCE], read[column.entry.against]]
            keys[column.entry.id] = _digest([self._reading_key, column.key, pictures])
        return keys

    def digest(self, path: Path) -> str:
        """SHA-256 of a file's bytes, computed once per engine."""
        if path not in self._hashes:
            self._hashes[path] = sha256_file(path)
        return self._hashes[path]

    def _compute(self, sample: Sample, plan: _Plan, waiting: Sequence[_Plan]) -> None:
        references = self._read_references(sample)
        prepared: dict[str, Any] = {}
        for current in (plan, *(other for other in waiting if other.lacks(sample.id))):
            try:
                values = self._compute_one(sample, current, references, prepared)
            except InputError as error:
                if current is plan:
                    plan.problems.extend(error.problems)
                continue
            current.known.update(values)
            self.cache.put_many(values)

    def _compute_one(
        self, sample: Sample, plan: _Plan, references: Mapping[str, tuple[Image, ImageRecord]], prepared: dict[str, Any]
    ) -> dict[str, Any]:
        role = "reference" if plan.case.baseline else "output"
        image, record, resized_from = self._read_output(plan.outputs[sample.id], references, role)
        keys = plan.keys[sample.id]
        reference_notes = [asdict(note) for _, read in references.values() for note in read.notes]
        reading = {"record": asdict(record), "resized_from": resized_from, "reference_notes": reference_notes}
        values: dict[str, Any] = {keys["output"]: reading}
        for column in self._columns:
            key = keys[column.entry.id]
            if key in plan.known:
                continue
            if column.entry.id not in prepared:
                prepared[column.entry.id] = column.scorer.prepare(references[column.entry.against][0])
            values[key] = asdict(column.compare(image, prepared[column.entry.id]))
        # The same form as after a round trip through the disk, so that a rerun cannot differ.
        plain: dict[str, Any] = json.loads(json.dumps(values, allow_nan=False))
        return plain

    def _read_references(self, sample: Sample) -> dict[str, tuple[Image, ImageRecord]]:
        read: dict[str, tuple[Image, ImageRecord]] = {}
        problems: list[Problem] = []
        for name in self._references:
            try:
                read[name] = read_png(sample.files[name], self.protocol.decoding, role="reference")
            except InputError as error:
                problems.extend(error.problems)
        height, width = read[REFERENCE][0].shape[:2] if REFERENCE in read else (1 << 30, 1 << 30)
        for column in self._columns:
            if min(height, width) < column.metric.min_side:
                problems.append(_too_small(sample, column, width, height))
        if problems:
            raise InputError(problems)
        return read

    def _read_output(
        self, path: Path, references: Mapping[str, tuple[Image, ImageRecord]], role: str
    ) -> tuple[Image, ImageRecord, tuple[int, int] | None]:
        image, record = read_png(path, self.protocol.decoding, role="reference" if role == "reference" else "output")
        reference = references[REFERENCE][1]
        wanted = (reference.width, reference.height)
        if (record.width, record.height) == wanted:
            return image, record, None
        if not self.settings.allow_resize:
            raise InputError(_wrong_size(record, wanted))
        return resize_to(image, wanted, self.protocol.size), record, (record.width, record.height)

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
        deviations = [_resized(sample) for sample in scored if sample.resized_from]
        if self.settings.allow_missing:
            deviations += [
                Deviation(sample.id, "missing-output", "the output is missing; means are over the samples left")
                for sample in self.samples
                if sample.id not in plan.outputs
            ]
        left_out = [metric.id for metric in self.protocol.metrics if metric.id not in self.metrics]
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


def _bind(protocol: Protocol, settings: Settings) -> list[_Column]:
    for metric_id in settings.metrics:
        protocol.metric(metric_id)
    wanted = [entry for entry in protocol.metrics if not settings.metrics or entry.id in settings.metrics]
    columns = []
    for entry in wanted:
        metric = get_metric(entry.metric)
        scorer = metric.bind(entry.params, settings.runtime)
        # Where the weights came from is recorded, but the same weights from elsewhere give the same number.
        fingerprint = {key: value for key, value in scorer.fingerprint.items() if key != "weights_source"}
        columns.append(_Column(entry, metric, scorer, _digest([metric.id, metric.version, entry.params, fingerprint])))
    if not columns:
        raise ProtocolError("no metric is left to compute")
    return columns


def _digest(parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _decoder_version() -> str:
    import PIL

    return f"pillow {PIL.__version__}"


def _no_column(data: TrackData, name: str, columns: Sequence[_Column]) -> Problem:
    needing = ", ".join(column.entry.id for column in columns if column.entry.against == name)
    return Problem(
        str(data.root),
        "missing-column",
        f"the track's {name} pictures are not there, and {needing} compare with them.",
        f"Add them (pixelgate data fetch {data.track.id}), or leave these metrics out with --bench-metrics.",
    )


def _too_small(sample: Sample, column: _Column, width: int, height: int) -> Problem:
    return Problem(
        str(sample.files["reference"]),
        "minimum-size",
        f"sample {sample.id} is {width}x{height} pixels; {column.metric.title} needs at least "
        f"{column.metric.min_side} on each side.",
        f"Use larger pictures, or leave the metric out with --bench-metrics (all but {column.entry.id}).",
    )


def _wrong_size(record: ImageRecord, wanted: tuple[int, int]) -> Problem:
    return Problem(
        record.file,
        "size",
        f"the output is {record.width}x{record.height} pixels and its reference {wanted[0]}x{wanted[1]}.",
        "Write it at the reference's size, or resize it with --bench-allow-resize (a recorded deviation).",
    )


def _resized(sample: SampleScore) -> Deviation:
    assert sample.resized_from is not None
    width, height = sample.resized_from
    return Deviation(sample.sample, "resized", f"resized from {width}x{height} pixels to the reference's size")
