"""The samples of a track: listed, numbered, or found in the reference folder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pixelgate.tracks.listing import Listing
from pixelgate.tracks.patterns import ID_RULE, expand, folder_of, id_in, is_id, suffix_of
from pixelgate.tracks.reading import Faults, known_keys

_RANGE_KEYS = ("id", "first", "last")
_RANGE_ID = re.compile(r"[^{}]*\{n(?::0[1-9]d?)?\}[^{}]*")
_MOST = 1_000_000


@dataclass(frozen=True)
class Samples:
    """Sample ids, sorted; the number of each where they are numbered; whether they were found on the disk."""

    ids: tuple[str, ...]
    numbers: Mapping[str, int] = field(default_factory=dict)
    discovered: bool = False


def read_samples(raw: Any, reference: str, folder: Path | None, faults: Faults) -> Samples:
    """Read the key ``samples``.

    Args:
        raw: the value: a file name pattern with ``{id}``, a list of ids, or a range
            ``{id: 'shot-{n:03d}', first: 1, last: 50}`` with both ends included.
        reference: the reference column's file pattern.
        folder: where the track's files lie; None where they are fetched or built, which rules discovery out.
        faults: where faults are noted.
    """
    if isinstance(raw, list):
        ids = _listed(raw, faults)
        numbers: dict[str, int] = {}
    elif isinstance(raw, dict):
        numbers = _numbered(raw, faults)
        ids = list(numbers)
    elif isinstance(raw, str) and "{id}" in raw and "/" not in raw:
        if folder is None:
            faults.add("samples", "can be found on the disk only for your own folder", "Give a list or a range.")
            return Samples((), discovered=True)
        return Samples(_discovered(reference, raw, folder, faults), discovered=True)
    else:
        mend = (
            "Give a file name pattern such as '{id}.png', a list of ids, or {id: 'shot-{n:03d}', first: 1, last: 50}."
        )
        faults.add("samples", "is missing" if raw is None else f"is {raw!r}", mend)
        return Samples(())
    _check_ids(ids, faults)
    return Samples(tuple(sorted(ids)), numbers)


def _listed(raw: Sequence[Any], faults: Faults) -> list[str]:
    for value in raw:
        if not isinstance(value, str):
            faults.add("samples", f"lists {value!r}, which YAML does not read as text", "Put every id in quotes.")
    if not raw:
        faults.add("samples", "is an empty list", "List at least one id.")
    return [value for value in raw if isinstance(value, str)]


def _numbered(raw: Mapping[Any, Any], faults: Faults) -> dict[str, int]:
    known_keys(raw, _RANGE_KEYS, "samples.", faults)
    pattern, first, last = raw.get("id"), raw.get("first"), raw.get("last")
    if not isinstance(pattern, str) or not _RANGE_ID.fullmatch(pattern):
        faults.add("samples.id", f"is {pattern!r}", "Write a pattern with one {n}, such as 'shot-{n:03d}'.")
        return {}
    whole = all(isinstance(end, int) and not isinstance(end, bool) for end in (first, last))
    if not (whole and isinstance(first, int) and isinstance(last, int) and 0 <= first <= last < first + _MOST):
        faults.add(
            "samples", f"runs from {first!r} to {last!r}", "Give first and last as whole numbers, first <= last."
        )
        return {}
    return {expand(pattern, "", number): number for number in range(first, last + 1)}


def _discovered(reference: str, name_pattern: str, folder: Path, faults: Faults) -> tuple[str, ...]:
    if reference.rsplit("/", 1)[-1] != name_pattern:
        mend = f"Write reference: the folder alone, or end it in {name_pattern!r}."
        faults.add("columns.reference", f"is {reference!r}, but samples is {name_pattern!r}", mend)
        return ()
    where = folder / folder_of(reference)
    if not where.is_dir():
        faults.add("columns.reference", f"names the folder {where}, which does not exist", "Correct it, or make it.")
        return ()
    names = Listing(folder).files(folder_of(reference), suffix_of(reference))
    found = {name: id_in(reference, name) for name in names}
    for name in sorted(name for name, sample in found.items() if sample is None):
        mend = f"Rename it (ids are {ID_RULE}), or move it out of the folder."
        faults.add("samples", f"is {name_pattern!r}, which {where / name} does not fit", mend, "sample-id")
    ids = sorted(sample for sample in found.values() if sample is not None)
    if not names:
        faults.add("samples", f"is {name_pattern!r}, and no file in {where} fits it", "Add references, or correct it.")
    _check_ids(ids, faults)
    return tuple(ids)


def _check_ids(ids: Sequence[str], faults: Faults) -> None:
    first: dict[str, str] = {}
    for sample in ids:
        if not is_id(sample):
            faults.add("samples", f"has the id {sample!r}", f"Use {ID_RULE}.", "sample-id")
        if sample.lower() in first:
            mend = "Rename one: on a disk that ignores case they would be one file."
            faults.add("samples", f"has the ids {first[sample.lower()]!r} and {sample!r}", mend, "sample-id")
        first.setdefault(sample.lower(), sample)
