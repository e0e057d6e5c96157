"""Golden numbers: reading them and holding a scored case against them.

One JSON per method, ``golden/<protocol>/<track>/<method>.json``. Workers only read; writing is
`pytest_bench.golden_update`'s, on the controller alone.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeGuard

from pixelgate.aggregate import Aggregate
from pixelgate.case import Case
from pixelgate.errors import PixelgateError
from pixelgate.protocols import Protocol
from pixelgate.scores import CaseScores

FORMAT = 1
TOLERANCES = "tolerances.toml"
UPDATE = "Where this run's numbers are the right ones, write them with: pytest --bench-update-golden (and your options)"

_WORST = 3

PARTIAL = frozenset(
    {
        "choice",
        "extra-output",
        "missing-output",
        "missing-prediction",
        "missing-reference",
        "no-value",
        "resized",
        "shuffled-references",
    }
)
"""Rules of deviations with which a case is not the whole case, or not the protocol's. The rest change no mean."""

Status = Literal["passed", "failed", "no-golden", "not-gated"]


@dataclass(frozen=True)
class GoldenFolders:
    """Where golden numbers are looked for.

    Attributes:
        own: the user's folder, named or found; None where there is none.
        shipped: the folder that comes with the package, which holds the demo's numbers.
    """

    own: Path | None
    shipped: Path | None

    def find(self, protocol: str, case: Case) -> Path | None:
        """The golden file of a case, the user's own before the shipped one."""
        for folder in (self.own, self.shipped):
            if folder is not None and (file := golden_file(folder, protocol, case)).is_file():
                return file
        return None


def golden_file(folder: Path, protocol: str, case: Case) -> Path:
    """Where a case's golden numbers lie in a golden folder."""
    return folder / protocol / case.track / f"{case.method}.json"


def find_folders(named: Path | None, root: Path, updating: bool) -> GoldenFolders:
    """The golden folders of a run: the named one, or ``golden/`` in the root folder, and the shipped one."""
    own = named
    if own is None and ((root / "golden").is_dir() or updating):
        own = root / "golden"
    return GoldenFolders(own, shipped_folder())


def shipped_folder() -> Path | None:
    """The golden folder inside the installed package; in a checkout, the one at its top."""
    inside = Path(str(resources.files("pytest_bench"))) / "_golden"
    for folder in (inside, Path(__file__).parents[1] / "golden"):
        if (folder / TOLERANCES).is_file():
            return folder
    return None


@cache
def read_golden(file: Path) -> Mapping[str, Any]:
    """One golden file.

    Raises:
        PixelgateError: it is not readable as one.
    """
    try:
        text = file.read_text(encoding="utf-8")
        golden: Mapping[str, Any] = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once)
        _check_form(golden)
        _check_place(golden, file)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        what = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
        raise PixelgateError(
            f"{file}: not a golden file: {what} [golden-format] Restore it, or write it anew: delete it and run "
            "with --bench-update-golden."
        ) from None
    return golden


def _check_form(golden: Mapping[str, Any]) -> None:
    if not isinstance(golden, dict) or golden["format"] != FORMAT:
        raise ValueError(f"it is no mapping with the format {FORMAT}")
    needed = {key: golden[key] for key in ("protocol", "dataset_revision", "slices")}
    needed["protocol"]["id"], needed["protocol"]["params_sha256"]
    for entry in needed["slices"].values():
        if not isinstance(entry["outputs"], dict):
            raise TypeError("outputs is no mapping of samples to digests")
        for metric, number in entry["metrics"].items():
            values = [number["value"], number["atol"], number["n"], *number.get("samples", {}).values()]
            if not all(map(_is_number, values)):
                raise ValueError(f"{metric} holds something else than finite numbers")
            if number["atol"] < 0:
                raise ValueError(f"{metric} has the tolerance {number['atol']!r}, and none is below 0")
            if not isinstance(number["backend"], str):
                raise TypeError(f"{metric} names no backend")


def _check_place(golden: Mapping[str, Any], file: Path) -> None:
    # A file copied to another's name would gate that one by the wrong numbers.
    for key, place in (("method", file.stem), ("track", file.parent.name)):
        if golden.get(key, place) != place:
            raise ValueError(f"its {key} is {golden[key]!r}, and its place is that of {place!r}")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} is given twice")
        found[key] = value
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no golden number")


def forget() -> None:
    """Read every file anew; for each run, as one process may start several."""
    read_golden.cache_clear()
    read_tolerances.cache_clear()


@cache
def read_tolerances(own: Path | None, shipped: Path | None) -> Mapping[str, Any]:
    """Tolerances per metric; the user's own file goes before the shipped one, metric by metric."""
    merged: dict[str, Any] = {}
    for folder in (shipped, own):
        if folder is not None and (file := folder / TOLERANCES).is_file():
            merged.update(_tolerances_in(file))
    return merged


def tolerance_of(tolerances: Mapping[str, Any], protocol: Protocol, metric: str) -> Mapping[str, Any]:
    """A metric's entry: the one under ``protocol/metric`` before the one under the metric's own name."""
    entry: Mapping[str, Any] = tolerances.get(f"{protocol.id}/{metric}", tolerances.get(metric, {}))
    return entry


def _tolerances_in(file: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PixelgateError(f"{file}: not valid TOML: {error} [tolerances] Mend the line named.") from None
    for metric, entry in found.items():
        backends = entry.get("backends", {}) if isinstance(entry, dict) else None
        values = [entry.get("atol"), *backends.values()] if isinstance(backends, dict) else [None]
        if not all(_is_number(value) and value >= 0 for value in values):
            raise PixelgateError(
                f"{file}: {metric} needs tolerances from 0 upwards [tolerances] Write a table [{metric}] with "
                f"atol = NUMBER, and numbers in [{metric}.backends]."
            )
    return found


@dataclass(frozen=True)
class Difference:
    """One metric held against its golden number.

    Attributes:
        metric: its id.
        got, expected: the two means; None where there is none.
        tolerance: the largest difference that passes; None where none is defined.
        passed: whether it does.
        why: what is wrong beside the numbers, else empty.
        worst: (sample, got, expected) of the samples that moved most; none that moved by less than a tenth of the
            tolerance.
        recorded: whether the golden file holds a number for every sample.
    """

    metric: str
    got: float | None
    expected: float | None
    tolerance: float | None
    passed: bool
    why: str = ""
    worst: tuple[tuple[str, float, float], ...] = ()
    recorded: bool = False


@dataclass(frozen=True)
class Verdict:
    """A case held against its golden numbers.

    Attributes:
        status: ``passed``, ``failed``, ``no-golden`` (a golden folder exists, but nothing for this case) or
            ``not-gated`` (there is no golden folder, or the run's choices leave nothing to hold against).
        file: the golden file, as shown.
        differences: one per metric.
        changed_outputs: samples whose picture is not the one that the golden numbers were written from.
        problem: why the golden file does not hold for this run at all, else empty.
    """

    status: Status
    file: str = ""
    differences: tuple[Difference, ...] = ()
    changed_outputs: tuple[str, ...] = ()
    problem: str = ""


def compare(
    scores: CaseScores,
    aggregates: Mapping[str, Aggregate],
    protocol: Protocol,
    revision: str,
    folders: GoldenFolders,
) -> Verdict:
    """Hold a case against its golden numbers; see `Verdict` for the outcomes."""
    file = folders.find(protocol.id, scores.case)
    # Numbers of other samples or of another choice are no fault of a clip run that was asked for them.
    asked = sorted({deviation.rule for deviation in scores.deviations} & PARTIAL) if scores.case.groups else []
    if asked:
        return Verdict("not-gated", problem=f"not held against golden numbers: {', '.join(asked)}")
    if file is None:
        return Verdict("no-golden" if folders.own is not None else "not-gated")
    try:
        golden = read_golden(file)
    except PixelgateError as error:
        return Verdict("failed", str(file), problem=str(error))
    slices = golden["slices"]
    entry = slices.get(slice_key(protocol, scores.case.slice)) or slices.get(scores.case.slice)
    if entry is None:
        return Verdict("no-golden", str(file))
    if problem := _other_rules(golden, protocol, revision):
        problem = f"the golden numbers in {file} are not for this run: {problem}. {UPDATE}"
        return Verdict("failed", str(file), problem=problem)
    tolerances = read_tolerances(folders.own, folders.shipped)
    differences = tuple(
        _difference(scores, metric, aggregate, entry["metrics"].get(metric), tolerance_of(tolerances, protocol, metric))
        for metric, aggregate in aggregates.items()
    )
    outputs: Mapping[str, str] = entry["outputs"]
    changed = tuple(s.sample for s in scores.samples if outputs.get(s.sample) != s.output.pixels_sha256)
    passed = all(difference.passed for difference in differences)
    return Verdict("passed" if passed else "failed", str(file), differences, changed)


def slice_key(protocol: Protocol, name: str) -> str:
    """Where a slice's numbers lie in a golden file: those of a backend that is not the published one apart."""
    if not protocol.backend or protocol.backend == protocol.backends[0]:
        return name
    return f"{name}@{protocol.backend}"


def _other_rules(golden: Mapping[str, Any], protocol: Protocol, revision: str) -> str:
    pairs = (
        ("protocol", golden["protocol"]["id"], protocol.id),
        ("protocol parameters", golden["protocol"]["params_sha256"], protocol.params_hash),
        ("data set revision", golden["dataset_revision"], revision),
    )
    return "; ".join(
        f"{what}: the golden numbers are for {theirs}, this run has {ours}"
        for what, theirs, ours in pairs
        if theirs != ours
    )


def _difference(
    scores: CaseScores,
    metric: str,
    aggregate: Aggregate,
    entry: Mapping[str, Any] | None,
    tolerances: Mapping[str, Any],
) -> Difference:
    got = aggregate.interval.mean if aggregate.interval else None
    if entry is None and got is None and aggregate.counted:
        return Difference(metric, None, None, None, True)
    if entry is None:
        return Difference(metric, got, None, None, False, "no golden number")
    expected = float(entry["value"])
    if got is None:
        return Difference(metric, None, expected, None, False, aggregate.reason or "no mean")
    tolerance = float(entry["atol"])
    backend = backend_of(scores, metric)
    if backend != entry["backend"]:
        # What holds between two backends is what the less exact one allows, whichever wrote the number.
        named = {name: tolerances.get("backends", {}).get(name) for name in (backend, entry["backend"])}
        without = [name for name, value in named.items() if value is None]
        if without:
            why = f"the golden number is from backend {entry['backend']}, this one from {backend}, "
            why += f"and no tolerance is named for {' and '.join(without)}"
            return Difference(metric, got, expected, None, False, why)
        tolerance = max(tolerance, *map(float, named.values()))
    assert aggregate.interval is not None
    if entry["n"] != aggregate.interval.n:
        why = f"the golden number is over {entry['n']} samples, this mean over {aggregate.interval.n}"
        return Difference(metric, got, expected, tolerance, False, why)
    if abs(got - expected) <= tolerance:
        return Difference(metric, got, expected, tolerance, True)
    recorded = all(s.sample in entry.get("samples", {}) for s in scores.samples if s.values[metric] is not None)
    worst = _worst(scores, metric, entry, tolerance / 10)
    return Difference(metric, got, expected, tolerance, False, worst=worst, recorded=recorded)


def backend_of(scores: CaseScores, metric: str) -> str:
    """The backend that computed a metric, without its version: ``numba``, ``numpy``, ``torch-cpu``, ``torch-cuda``.

    Where the protocol has backends of its own, theirs stands before it: ``paper/numba``.
    """
    fingerprint = (scores.fingerprints or {}).get(metric, {})
    name = fingerprint.get("backend", "unknown").split()[0]
    if "device" in fingerprint:
        name += "-cpu" if fingerprint["device"].startswith("cpu") else "-cuda"
    own = fingerprint.get("protocol_backend")
    return f"{own}/{name}" if own else name


def _worst(
    scores: CaseScores, metric: str, entry: Mapping[str, Any], least: float
) -> tuple[tuple[str, float, float], ...]:
    known: Mapping[str, float] = entry.get("samples", {})
    moved = [
        (sample.sample, value, float(known[sample.sample]))
        for sample in scores.samples
        if (value := sample.values[metric]) is not None
        and sample.sample in known
        and abs(value - known[sample.sample]) > least
    ]
    return tuple(sorted(moved, key=lambda item: (-abs(item[1] - item[2]), item[0]))[:_WORST])
