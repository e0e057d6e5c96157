"""The engine's verdicts on files, in words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pixelgate.columns import Column
from pixelgate.errors import Problem
from pixelgate.protocols import Protocol
from pixelgate.records import Deviation
from pixelgate.scores import SampleScore
from pixelgate.tracks import Sample, TrackData


def no_column(data: TrackData, name: str, columns: Sequence[Column]) -> Problem:
    """A column of the track that a metric compares with is not there."""
    needing = ", ".join(column.entry.id for column in columns if column.entry.against == name)
    return Problem(
        str(data.root),
        "missing-column",
        f"the track's {name} pictures are not there, and {needing} compare with them.",
        f"Add them (pixelgate data fetch {data.track.id}), or leave these metrics out with --bench-metrics.",
    )


def too_small(sample: Sample, column: Column, width: int, height: int) -> Problem:
    """A reference is below a metric's smallest size."""
    return Problem(
        str(sample.files["reference"]),
        "minimum-size",
        f"sample {sample.id} is {width}x{height} pixels; {column.metric.title} needs at least "
        f"{column.metric.min_side} on each side.",
        f"Use larger pictures, or leave the metric out with --bench-metrics (all but {column.entry.id}).",
    )


def resized(sample: SampleScore) -> Deviation:
    """An output was resized to its reference's size."""
    assert sample.resized_from is not None
    width, height = sample.resized_from
    return Deviation(sample.sample, "resized", f"resized from {width}x{height} pixels to the reference's size")


def no_value(sample: SampleScore, protocol: Protocol) -> list[Deviation]:
    """Metrics that a sample should have a value for and has none, by the reason."""
    metrics: dict[str, list[str]] = {}
    for metric, reason in sample.reasons.items():
        if protocol.metric(metric).undefined == "fails":
            metrics.setdefault(reason, []).append(metric)
    text = "no value of {}: {}; means are over the samples left"
    return [
        Deviation(sample.sample, "no-value", text.format(", ".join(names), reason)) for reason, names in metrics.items()
    ]


def changed_reference(data: TrackData, path: Path) -> Problem:
    """One of the track's own files is not the one that was fetched."""
    return Problem(
        str(path),
        "reference-changed",
        "the file is not the one that was fetched: its SHA-256 is not the lock's.",
        f"Fetch it again: pixelgate data fetch {data.track.id}",
    )


def unreadable_folder(folder: Path | str, error: OSError) -> Problem:
    """A folder of outputs cannot be read."""
    reason = error.strerror or str(error)
    return Problem(str(folder), "not-readable", f"cannot be read ({reason}).", "Check its rights.")
