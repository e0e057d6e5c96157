"""Writing golden numbers: on the controller alone, on request alone, whole files or none, merged per key."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pixelgate import __version__
from pixelgate.aggregate import Aggregate
from pixelgate.case import Case
from pixelgate.errors import PixelgateError
from pixelgate.io.files import atomic_write
from pixelgate.protocols import Protocol
from pixelgate.results import to_json
from pixelgate.scores import CaseScores
from pytest_bench.golden import (
    FORMAT,
    PARTIAL,
    GoldenFolders,
    backend_of,
    golden_file,
    read_golden,
    read_tolerances,
    slice_key,
    tolerance_of,
)


@dataclass(frozen=True)
class Update:
    """What became of one case's golden numbers.

    Attributes:
        case: its id.
        file: the golden file.
        changed: the keys written with another value than before.
        refused: why nothing was written, else empty.
    """

    case: str
    file: str
    changed: tuple[str, ...] = ()
    refused: str = ""


def update_case(
    scores: CaseScores,
    aggregates: Mapping[str, Aggregate],
    protocol: Protocol,
    revision: str,
    folders: GoldenFolders,
    failed: str,
) -> Update:
    """Merge one case's numbers into its golden file.

    Args:
        scores, aggregates: the case.
        protocol, revision: what they hold for.
        folders: the user's own folder is written to.
        failed: the items of this case that failed, or empty; failed cases never become golden.
    """
    assert folders.own is not None
    file = golden_file(folders.own, protocol.id, scores.case)
    if failed:
        return Update(scores.case.id, str(file), refused=f"failed: {failed}")
    partial = sorted({deviation.rule for deviation in scores.deviations} & PARTIAL)
    if partial:
        return Update(scores.case.id, str(file), refused=f"not the whole case: {', '.join(partial)}")
    try:
        return _merge(file, scores, aggregates, protocol, revision, folders)
    except PixelgateError as error:
        return Update(scores.case.id, str(file), refused=str(error))


def _merge(
    file: Path,
    scores: CaseScores,
    aggregates: Mapping[str, Aggregate],
    protocol: Protocol,
    revision: str,
    folders: GoldenFolders,
) -> Update:
    golden = _start(file, protocol, revision, scores)
    key = slice_key(protocol, scores.case.slice)
    tolerances = read_tolerances(folders.own, folders.shipped)
    new = _slice(scores, aggregates, {metric: tolerance_of(tolerances, protocol, metric) for metric in aggregates})
    old = golden["slices"].get(key, {"metrics": {}, "outputs": new["outputs"]})
    left = sorted(old["metrics"].keys() - new["metrics"].keys())
    if left and old["outputs"] != new["outputs"]:
        why = f"the outputs changed, and {', '.join(left)} would stay behind; run without --bench-metrics"
        return Update(scores.case.id, str(file), refused=why)
    changed = tuple(
        f"{key}/{metric}"
        for metric, entry in new["metrics"].items()
        if not _same(old["metrics"].get(metric), entry) or old["outputs"] != new["outputs"]
    )
    if not changed and file.is_file():
        return Update(scores.case.id, str(file))
    merged = {"outputs": new["outputs"], "metrics": {**old["metrics"], **new["metrics"]}}
    golden["slices"] = dict(sorted({**golden["slices"], key: merged}.items()))
    atomic_write(file, to_json(golden))
    read_golden.cache_clear()
    return Update(scores.case.id, str(file), changed)


def _start(file: Path, protocol: Protocol, revision: str, scores: CaseScores) -> dict[str, Any]:
    head = {
        "format": FORMAT,
        "protocol": {"id": protocol.id, "version": protocol.version, "params_sha256": protocol.params_hash},
        "track": scores.case.track,
        "dataset_revision": revision,
        "method": scores.case.method,
    }
    slices: dict[str, Any] = {}
    if file.is_file():
        known = json.loads(json.dumps(read_golden(file)))
        # Numbers for other rules or other data are not merged with: the file starts anew.
        if known["protocol"] == head["protocol"] and known["dataset_revision"] == revision:
            slices = known["slices"]
    return {**head, "slices": slices}


def _slice(scores: CaseScores, aggregates: Mapping[str, Aggregate], tolerances: Mapping[str, Any]) -> dict[str, Any]:
    today = datetime.now(UTC).date().isoformat()
    metrics = {}
    for metric, aggregate in aggregates.items():
        if aggregate.interval is None:
            assert aggregate.counted  # a case without a mean that there should be has failed
            continue
        metrics[metric] = {
            "value": aggregate.interval.mean,
            "atol": float(tolerances[metric].get("atol", 0.0)),
            "n": aggregate.interval.n,
            "backend": backend_of(scores, metric),
            "source": f"scored and written by pixelgate {__version__} on {today}",
            "samples": {s.sample: value for s in scores.samples if (value := s.values[metric]) is not None},
        }
    return {"outputs": {s.sample: s.output.pixels_sha256 for s in scores.samples}, "metrics": metrics}


def _same(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
    # The date alone is no change: a second update of the same numbers leaves the file as it is.
    return old is not None and all(old.get(key) == value for key, value in new.items() if key != "source")


def prune(folders: GoldenFolders, protocols: Mapping[str, Protocol], cases: Sequence[Case]) -> list[Path]:
    """Delete the golden files of methods that have no outputs any more, for the tracks of a full run.

    Args:
        folders: the user's own folder is pruned.
        protocols: track id -> protocol, of the tracks that were run.
        cases: all cases of the run.

    Returns:
        The deleted files.
    """
    deleted = without_outputs(folders, protocols, cases)
    for file in deleted:
        file.unlink()
    return deleted


def without_outputs(folders: GoldenFolders, protocols: Mapping[str, Protocol], cases: Sequence[Case]) -> list[Path]:
    """The user's own golden files whose method has no outputs, for the tracks that were run."""
    if folders.own is None:
        return []
    return [
        file
        for track, protocol in sorted(protocols.items())
        for file in _files(folders.own / protocol.id / track)
        if file.stem not in {case.method for case in cases if case.track == track}
    ]


def _files(folder: Path) -> Iterable[Path]:
    return sorted(folder.glob("*.json")) if folder.is_dir() else ()
