"""Per-sample scores of a case, and their JSON form, which travels from worker to controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pixelgate.case import Case
from pixelgate.errors import Problem
from pixelgate.records import Deviation, ImageRecord, Note, VideoRecord


@dataclass(frozen=True)
class SampleScore:
    """The scores of one sample.

    Attributes:
        sample: its id.
        values: metric id -> number, None where it could not be computed.
        reasons: metric id -> why its value is None.
        output: how the output was decoded.
        resized_from: (width, height) before an allowed resize, else None.
        notes: what a reader must know of this sample.
        deviations: what this sample's scoring did that the protocol does not.
        details: diagnostics in plain JSON types, such as per-frame values and counts.
    """

    sample: str
    values: Mapping[str, float | None]
    reasons: Mapping[str, str]
    output: ImageRecord
    resized_from: tuple[int, int] | None = None
    notes: tuple[Note, ...] = ()
    deviations: tuple[Deviation, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CaseScores:
    """All that was computed and noticed for one case.

    Attributes:
        case: the case.
        metrics: ids of the metrics computed, in the protocol's order.
        expected: sample ids of the track, sorted.
        samples: scored samples, in that order.
        problems: what is wrong with the files; a case with problems has no valid mean.
        deviations: what this run did that the protocol does not.
        fingerprints: metric id -> backend, library versions, weights digest and source.
        unscored: sample id -> the rule that kept it from being scored, such as ``missing-reference``.
        extra: names of outputs that belong to no sample.
        counted: metrics whose samples without a value are left out of the mean and counted; of the others, one
            sample without a value leaves no mean.
    """

    case: Case
    metrics: tuple[str, ...]
    expected: tuple[str, ...]
    samples: tuple[SampleScore, ...]
    problems: tuple[Problem, ...] = ()
    deviations: tuple[Deviation, ...] = ()
    fingerprints: Mapping[str, Mapping[str, str]] | None = None
    unscored: Mapping[str, str] = field(default_factory=dict)
    extra: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Samples of the track that have no score."""
        scored = {sample.sample for sample in self.samples}
        return tuple(sample for sample in self.expected if sample not in scored)

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes of all samples."""
        return tuple(note for sample in self.samples for note in sample.notes)

    def values(self, metric_id: str) -> list[float | None]:
        """One metric's values in the order of the samples."""
        return [sample.values[metric_id] for sample in self.samples]

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers; `from_json` reads them back."""
        data = asdict(self)
        data["case"]["folder"] = str(self.case.folder) if self.case.folder else None
        plain: dict[str, Any] = _plain(data)
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CaseScores:
        """Rebuild what `to_json` gave."""
        from pathlib import Path

        case = dict(data["case"])
        case["folder"] = Path(case["folder"]) if case["folder"] else None
        case["groups"] = tuple(case["groups"])
        return cls(
            case=Case(**case),
            metrics=tuple(data["metrics"]),
            expected=tuple(data["expected"]),
            samples=tuple(sample_from_json(sample) for sample in data["samples"]),
            problems=tuple(Problem(**problem) for problem in data["problems"]),
            deviations=tuple(Deviation(**deviation) for deviation in data["deviations"]),
            fingerprints=data["fingerprints"],
            unscored=dict(data["unscored"]),
            extra=tuple(data["extra"]),
            counted=tuple(data["counted"]),
        )


def sample_from_json(data: Mapping[str, Any]) -> SampleScore:
    """Rebuild one sample from its JSON form."""
    resized = data["resized_from"]
    return SampleScore(
        sample=data["sample"],
        values=dict(data["values"]),
        reasons=dict(data["reasons"]),
        output=record_from_json(data["output"]),
        resized_from=(resized[0], resized[1]) if resized else None,
        notes=tuple(Note(**note) for note in data["notes"]),
        deviations=tuple(Deviation(**deviation) for deviation in data["deviations"]),
        details=dict(data["details"]),
    )


def record_from_json(data: Mapping[str, Any]) -> ImageRecord:
    """Rebuild the record of a picture or clip from its JSON form."""
    plain = {**data, "notes": tuple(Note(**note) for note in data["notes"])}
    return VideoRecord(**{**plain, "pts": tuple(data["pts"])}) if "pts" in data else ImageRecord(**plain)


def _plain(value: Any) -> Any:
    # One place turns everything into exact builtins: a numpy number or a tuple breaks the way from worker
    # to controller.
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool):
        return value
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
