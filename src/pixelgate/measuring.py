"""How an output is measured: a picture against its prepared references, or a clip by its group's evaluator.

The engine plans, caches and gathers; what is read and what is compared is decided here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from pixelgate.case import Case
from pixelgate.clips.evaluator import ClipFiles, Evaluation, evaluator
from pixelgate.clips.predictions import FOLDER, PredictionFolder
from pixelgate.columns import Column, Settings, finite, merged
from pixelgate.errors import InputError, Problem, ProtocolError
from pixelgate.metrics.registry import Measurement
from pixelgate.protocols import Protocol as Rules
from pixelgate.reading import Read, Reader, Role, make_reader
from pixelgate.records import Deviation
from pixelgate.rulings import too_small
from pixelgate.tracks import REFERENCE, Sample

Companions = Mapping[str, tuple[Path, ...]]
"""Files that belong to an output beside itself: kind of prediction -> files."""


@dataclass(frozen=True)
class Measured:
    """One output, measured.

    Attributes:
        reading: how it was read, in plain types: record, resized_from, reference_notes, deviations, details.
        values: metric id -> its measurement.
    """

    reading: dict[str, Any]
    values: dict[str, Measurement]


class Opened(Protocol):
    """A sample whose references are at hand, for any number of outputs."""

    def measure(self, case: Case, output: Path, companions: Companions, wanted: Collection[str]) -> Measured:
        """Measure one output.

        Raises:
            InputError: a file breaks a rule.
        """

    def itself(self) -> dict[str, Measurement] | None:
        """The reference measured against itself; None where that means nothing."""


class Measurer(Protocol):
    """Measures the samples of one track.

    Attributes:
        suffixes: what the names of outputs may end in.
        columns: the metrics.
    """

    suffixes: tuple[str, ...]
    columns: Sequence[Column]

    def key(self, case: Case) -> Any:
        """What decides the numbers of a case beside files and metrics, in plain values."""

    def fingerprint(self, column: Column) -> dict[str, str]:
        """All beside pixels and parameters that decides a metric's number."""

    def reference_files(self, sample: Sample) -> dict[str, Path]:
        """The track's files that are read for a sample, by column."""

    def companions(self, case: Case, sample: Sample, output: Path) -> Companions:
        """The files that belong to an output.

        Raises:
            InputError: one is missing.
        """

    def open(self, sample: Sample) -> Opened:
        """Read a sample's references.

        Raises:
            InputError: a file breaks a rule.
        """

    def deviations(self, case: Case) -> list[Deviation]:
        """What the run chose otherwise than the protocol for this track."""


class Pictures:
    """Pictures; each reference and its prepared side of every metric serve all outputs that wait for it."""

    def __init__(self, reader: Reader, columns: Sequence[Column]) -> None:
        self.columns = columns
        self.suffixes = reader.suffixes
        self.reader = reader
        # The reference gives the size in any case.
        self.references = sorted({REFERENCE, *(column.entry.against for column in columns)})

    def key(self, case: Case) -> Any:
        """See `Measurer.key`."""
        return self.reader.key

    def fingerprint(self, column: Column) -> dict[str, str]:
        """See `Measurer.fingerprint`."""
        return {**column.scorer.fingerprint, **(self.reader.fingerprint if column.metric.takes == "unit" else {})}

    def reference_files(self, sample: Sample) -> dict[str, Path]:
        """See `Measurer.reference_files`."""
        return {name: sample.files[name] for name in self.references}

    def companions(self, case: Case, sample: Sample, output: Path) -> Companions:
        """None: a picture stands for itself."""
        return {}

    def open(self, sample: Sample) -> _OpenedPictures:
        """See `Measurer.open`."""
        read: dict[str, Read] = {}
        problems: list[Problem] = []
        for name, path in self.reference_files(sample).items():
            try:
                read[name] = self.reader.reference(path)
            except InputError as error:
                problems.extend(error.problems)
        if REFERENCE in read:
            height, width = read[REFERENCE].rgb8.shape[:2]
            problems += [
                too_small(sample, column, width, height)
                for column in self.columns
                if column.metric.takes == "rgb8" and min(height, width) < column.metric.min_side
            ]
        if problems:
            raise InputError(problems)
        return _OpenedPictures(self, sample, read)

    def deviations(self, case: Case) -> list[Deviation]:
        """None of its own."""
        return []


@dataclass
class _OpenedPictures:
    measurer: Pictures
    sample: Sample
    references: Mapping[str, Read]
    prepared: dict[str, Any] = field(default_factory=dict)

    def measure(self, case: Case, output: Path, companions: Companions, wanted: Collection[str]) -> Measured:
        role: Role = "reference" if case.baseline else "output"
        read = self.measurer.reader.output(output, self.references[REFERENCE], role)
        notes = [asdict(note) for reference in self.references.values() for note in reference.record.notes]
        reading = {"record": asdict(read.record), "resized_from": read.resized_from, "reference_notes": notes}
        return Measured(reading, self._compare(read, wanted))

    def itself(self) -> dict[str, Measurement]:
        read = self.measurer.reader.output(self.sample.files[REFERENCE], self.references[REFERENCE], "reference")
        return self._compare(read, [column.entry.id for column in self.measurer.columns])

    def _compare(self, read: Read, wanted: Collection[str]) -> dict[str, Measurement]:
        values = {}
        for column in self.measurer.columns:
            name = column.entry.id
            if name not in wanted:
                continue
            if name not in self.prepared:
                self.prepared[name] = column.prepare(self.references[column.entry.against])
            values[name] = column.compare(read, self.prepared[name])
        return values


class Clips:
    """Clips; all metrics of the track's group in one pass of its evaluator.

    Args:
        rules: the protocol.
        group: the track's group.
        columns: the metrics.
        settings: what the run chose.
        samples: the track's samples, for shuffled references.
    """

    def __init__(
        self, rules: Rules, group: str, columns: Sequence[Column], settings: Settings, samples: Sequence[Sample]
    ) -> None:
        self.columns = columns
        self.suffixes = rules.suffixes
        self.evaluator = evaluator(group)
        self.group = group
        self.runtime = settings.metric_runtime
        self._rules = rules
        self._chosen = settings.choices.get(group, {})
        self._shuffled = settings.shuffle_references
        self._places = settings.predictions
        # The references of the next sample: no sample keeps its own, and the pairing is the same everywhere.
        turned = [*samples[1:], *samples[:1]] if settings.shuffle_references else samples
        self._other = dict(zip((sample.id for sample in samples), turned, strict=True))

    def params(self, case: Case) -> dict[str, Any]:
        """The group's section of the protocol with the run's own choices and what depends on the case put in."""
        return _resolved(merged(self._rules.groups[self.group], self._chosen), case)

    def key(self, case: Case) -> Any:
        """See `Measurer.key`."""
        return [dict(self._rules.decoding), dict(self._rules.size), self.params(case), self._shuffled]

    def fingerprint(self, column: Column) -> dict[str, str]:
        """See `Measurer.fingerprint`."""
        return dict(column.scorer.fingerprint)

    def reference_files(self, sample: Sample) -> dict[str, Path]:
        """See `Measurer.reference_files`."""
        return dict(self._other[sample.id].files)

    def companions(self, case: Case, sample: Sample, output: Path) -> Companions:
        """See `Measurer.companions`."""
        source = predictions_of(case, self._places, self._other.keys())
        found: dict[str, tuple[Path, ...]] = {}
        problems: list[Problem] = []
        for kind in self.evaluator.needs(self.params(case)):
            try:
                found[kind] = source.find(kind, sample.id, output)
                if self._shuffled and kind in ("subject", "text"):
                    found[f"{kind}_reference"] = source.find(kind, self._other[sample.id].id, output)
            except InputError as error:
                problems.extend(error.problems)
        if problems:
            raise InputError(problems)
        return found

    def open(self, sample: Sample) -> _OpenedClip:
        """See `Measurer.open`; clips are read anew for every output, frame by frame."""
        return _OpenedClip(self, sample)

    def files(self, case: Case, sample: Sample, output: Path) -> ClipFiles:
        """The files that a clip is scored from.

        Raises:
            InputError: a prediction is missing.
        """
        return ClipFiles(sample.id, output, self.reference_files(sample), self.companions(case, sample, output))

    def deviations(self, case: Case) -> list[Deviation]:
        """See `Measurer.deviations`."""
        standard = _resolved(self._rules.groups[self.group], case)
        found = [
            Deviation(self.group, "choice", f"{key} {own} instead of the protocol's {was}")
            for key, own, was in _changed(standard, self.params(case))
            if key != "allow_pickle"
        ]
        if self._shuffled:
            found.append(Deviation(self.group, "shuffled-references", _SHUFFLED.get(self.group, _SHUFFLED[""])))
        return found


_SHUFFLED = {
    "": "each clip was held against the next sample's reference: a chance level, no result",
    "camera": "references were shuffled; the chance level of this group is analytic in any case",
    "vbench": "shuffling was asked for and changes nothing: the dimensions have no reference of the data set's",
}


@dataclass(frozen=True)
class _OpenedClip:
    measurer: Clips
    sample: Sample

    def measure(self, case: Case, output: Path, companions: Companions, wanted: Collection[str]) -> Measured:
        files = ClipFiles(self.sample.id, output, self.measurer.reference_files(self.sample), companions)
        found = self._evaluate(files, self.measurer.params(case), wanted)
        reading = {
            "record": asdict(found.record),
            "resized_from": None,
            "reference_notes": [],
            "deviations": [list(entry) for entry in found.deviations],
            "notes": [list(entry) for entry in found.notes],
            "details": found.details,
        }
        return Measured(reading, dict(found.values))

    def itself(self) -> dict[str, Measurement] | None:
        files = self.measurer.evaluator.itself(
            ClipFiles(self.sample.id, self.sample.files[REFERENCE], self.sample.files)
        )
        if files is None:
            return None
        everything = [column.entry.id for column in self.measurer.columns]
        params = self.measurer.params(Case("reference", self.measurer.group))
        if "person_mask" in params:
            params["person_mask"] = False  # a condition brings no masks of people
        return dict(self._evaluate(files, params, everything).values)

    def _evaluate(self, files: ClipFiles, params: Mapping[str, Any], wanted: Collection[str]) -> Evaluation:
        metrics = [column.entry.id for column in self.measurer.columns if column.entry.id in wanted]
        found = self.measurer.evaluator.evaluate(files, params, metrics, self.measurer.runtime)
        absent = [metric for metric in metrics if metric not in found.values]
        if absent:
            raise ProtocolError(f"the evaluator of {self.measurer.group} gave no {', '.join(absent)}")
        return replace(found, values={metric: finite(found.values[metric]) for metric in metrics})


def _resolved(params: Mapping[str, Any], case: Case) -> dict[str, Any]:
    """Parameters with what depends on the case put in: whether people are left out."""
    if "person_mask" not in params:
        return dict(params)
    auto = {"depth", "pose"} <= set(case.groups)
    return {**params, "person_mask": {"auto": auto, "always": True, "never": False}[str(params["person_mask"])]}


def predictions_of(
    case: Case, places: Mapping[str, tuple[Path, ...]] = MappingProxyType({}), samples: Collection[str] = ()
) -> PredictionFolder:
    """Where the predictions of a case's clips lie.

    Args:
        case: the case.
        places: kinds that a run has elsewhere, see `PredictionFolder`.
        samples: ids of all samples.
    """
    assert case.folder is not None
    root = Path(case.predictions) if case.predictions else case.folder / FOLDER
    return PredictionFolder(root, places, frozenset(samples))


def _changed(standard: Mapping[str, Any], used: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    found: list[tuple[str, Any, Any]] = []
    for key, value in used.items():
        was = standard.get(key)
        if isinstance(value, Mapping) and isinstance(was, Mapping):
            found += [(f"{key}.{inner}", own, before) for inner, own, before in _changed(was, value)]
        elif value != was:
            found.append((key, value, was))
    return found


def make_measurer(
    rules: Rules, columns: Sequence[Column], settings: Settings, group: str, samples: Sequence[Sample]
) -> Measurer:
    """The measurer of a track: clips where its protocol scores clips, pictures otherwise."""
    if group:
        return Clips(rules, group, columns, settings, samples)
    return Pictures(make_reader(rules, settings.allow_resize), columns)
