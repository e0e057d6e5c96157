"""A scored case as files: ``metrics.csv``, ``summary.json`` and ``run.json``."""

from __future__ import annotations

import csv
import io
import json
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from pixelgate import __version__
from pixelgate.aggregate import Aggregate, Bootstrap
from pixelgate.io.files import atomic_write
from pixelgate.metrics.registry import get_metric
from pixelgate.protocols import Protocol
from pixelgate.records import Deviation
from pixelgate.scores import CaseScores

_LIBRARIES = (
    "av",
    "numpy",
    "scipy",
    "pillow",
    "numba",
    "scikit-image",
    "lpips",
    "torch",
    "torchvision",
    "pytest",
    "pytest-xdist",
)

_MISSING = ("missing-reference", "missing-output", "missing-prediction")


def to_json(data: Any) -> str:
    """JSON text without NaN or infinity, with a newline at the end.

    Raises:
        ValueError: a number is NaN or infinite.
    """
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def library_versions() -> dict[str, str]:
    """Installed versions of all that may touch a number; what is not installed is left out."""
    versions = {"python": platform.python_version(), "pixelgate": __version__}
    for name in _LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def metrics_csv(scores: CaseScores) -> str:
    """One row per sample in the order of the ids; an empty cell is a value that could not be computed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["pair_id", *scores.metrics])
    for sample in scores.samples:
        cells = ["" if (value := sample.values[metric]) is None else repr(value) for metric in scores.metrics]
        writer.writerow([sample.sample, *cells])
    return text.getvalue()


def summary(scores: CaseScores, protocol: Protocol, aggregates: Mapping[str, Aggregate]) -> dict[str, Any]:
    """Mean, interval, n, unit and direction of every metric."""
    return {
        "method": scores.case.method,
        "track": scores.case.track,
        "slice": scores.case.slice,
        "n": len(scores.samples),
        "expected_n": len(scores.expected),
        "accounting": accounting(scores),
        "metrics": {key: _metric_summary(protocol, key, value) for key, value in aggregates.items()},
    }


def accounting(scores: CaseScores) -> dict[str, Any]:
    """Where every sample went: expected = scored + missing reference, output or prediction + failed; and extras."""
    by_rule: dict[str, list[str]] = {}
    for sample, rule in scores.unscored.items():
        by_rule.setdefault(rule, []).append(sample)
    missing = {rule.replace("-", "_"): by_rule.pop(rule, []) for rule in _MISSING}
    return {
        "expected": len(scores.expected),
        "scored": len(scores.samples),
        **missing,
        "failed": {sample: rule for sample, rule in scores.unscored.items() if rule not in _MISSING},
        "extra": list(scores.extra),
    }


def _metric_summary(protocol: Protocol, metric_id: str, aggregate: Aggregate) -> dict[str, Any]:
    entry = protocol.metric(metric_id)
    metric = get_metric(entry.metric)
    interval = aggregate.interval
    return {
        "mean": interval.mean if interval else None,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "half_width": interval.half if interval else None,
        "n": interval.n if interval else 0,
        "without": list(aggregate.without),
        "reason": aggregate.reason,
        "unit": metric.unit,
        "direction": metric.direction,
        "against": entry.against,
        "ranked": entry.ranked,
    }


def run_record(
    scores: CaseScores,
    protocol: Protocol,
    revision: str,
    repository: str | None,
    bootstrap: Bootstrap,
    device: str,
    deviations: tuple[Deviation, ...],
) -> dict[str, Any]:
    """Where the numbers come from: protocol, data set, backend, versions, weights, and every deviation."""
    return {
        "method": scores.case.method,
        "track": scores.case.track,
        "slice": scores.case.slice,
        "baseline": scores.case.baseline or None,
        "protocol": {"id": protocol.id, "version": protocol.version, "params_sha256": protocol.params_hash},
        "dataset": {"repository": repository, "revision": revision},
        "interval": asdict(bootstrap),
        "metrics": list(scores.metrics),
        "metrics_left_out": [metric.id for metric in protocol.metrics if metric.id not in scores.metrics],
        "deviations": [asdict(deviation) for deviation in deviations],
        "problems": [asdict(problem) for problem in scores.problems],
        "notes": [asdict(note) for note in scores.notes],
        "missing": list(scores.missing),
        "outputs": {sample.sample: sample.output.pixels_sha256 for sample in scores.samples},
        "device": device,
        "backends": {key: dict(value) for key, value in (scores.fingerprints or {}).items()},
        "versions": library_versions(),
        "platform": {"system": platform.system(), "machine": platform.machine(), "byteorder": sys.byteorder},
    }


def write_results(folder: Path, csv_text: str, summary_data: Mapping[str, Any], run_data: Mapping[str, Any]) -> None:
    """Write the three files into a folder, each whole or not at all."""
    atomic_write(folder / "metrics.csv", csv_text)
    atomic_write(folder / "summary.json", to_json(summary_data))
    atomic_write(folder / "run.json", to_json(run_data))
