"""The folders of a track's slices: hint ratios, with hint type and line-art source where a run has several."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pixelgate.errors import InputError, Problem
from pixelgate.hints.ratios import alpha_dir_name, parse_ratio_name

# DetFill writes its pictures one level further down, in a folder named after the epoch.
_DETFILL_EPOCH = "200"


@dataclass(frozen=True, order=True)
class Slice:
    """One ratio's folder.

    Attributes:
        variant: hint type and line-art source, such as ``scribble-xdog``; empty where a run has one of each.
        ratio: the hint ratio, 0 to 1.
        folder: where the pictures lie.
    """

    variant: str
    ratio: float
    folder: Path

    @property
    def name(self) -> str:
        """``0.10`` or ``scribble-xdog-0.10``, however the folder writes it."""
        return slice_name(self.variant, self.ratio)


def slice_name(variant: str, ratio: float) -> str:
    """The name of a slice."""
    return f"{variant}-{alpha_dir_name(ratio)}" if variant else alpha_dir_name(ratio)


def split_name(name: str) -> tuple[str, float]:
    """Variant and ratio of a slice's name."""
    variant, _, ratio = name.rpartition("-")
    return variant, float(ratio)


def find_slices(root: Path) -> tuple[list[Slice], list[Problem]]:
    """The ratio folders below a folder, sorted, and what is wrong with them.

    Read are ``0.10/``, ``10%/`` and ``10/``; ``scribble-xdog-0.10/``; and ``scribble/xdog/0.10/``, with DetFill's
    further level ``200/`` or without it. Two folders for one ratio, and pictures in a folder whose name is no
    ratio, are problems.

    Raises:
        InputError: rule ``not-readable``, a folder cannot be read.
    """
    slices: list[Slice] = []
    problems: list[Problem] = []
    for folder in _leaves(root):
        try:
            found = _read(root, folder)
        except InputError as error:
            problems += [Problem(str(folder), p.rule, p.found, p.mend) for p in error.problems]
            continue
        if found is None:
            problems.append(_no_ratio(folder))
        else:
            slices.append(found)
    by_name: dict[str, list[Slice]] = {}
    for one in slices:
        by_name.setdefault(one.name, []).append(one)
    problems += [_doubled(name, same) for name, same in by_name.items() if len(same) > 1]
    return sorted(slices), problems


def has_slices(root: Path) -> bool:
    """Whether a folder holds ratio folders itself, as one method's own folder does."""
    try:
        return any(entry.is_dir() and _ratio(entry.name) is not None for entry in root.iterdir())
    except OSError as error:
        _refuse(error)
        raise


def _leaves(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
        if Path(folder) == root:
            continue
        pictures = any(Path(name).suffix.lower() in _SUFFIXES and not name.startswith(".") for name in names)
        if pictures or (not folders and _ratio(Path(folder).name) is not None):
            yield Path(folder)


def _refuse(error: OSError) -> None:
    found = f"the folder cannot be read ({error.strerror or error})."
    raise InputError(Problem(str(error.filename), "not-readable", found, "Check its rights.")) from None


_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp"})


def _read(root: Path, folder: Path) -> Slice | None:
    parts = list(folder.relative_to(root).parts)
    if len(parts) > 1 and parts[-1] == _DETFILL_EPOCH and _ratio(parts[-2]) is not None:
        parts.pop()
    head, _, tail = parts[-1].rpartition("-")
    ratio = parse_ratio_name(parts[-1])
    variant = parts[:-1]
    if ratio is None and head:
        ratio, variant = parse_ratio_name(tail), [*variant, head]
    return None if ratio is None else Slice("-".join(variant), ratio, folder)


def _ratio(name: str) -> float | None:
    try:
        return parse_ratio_name(name.rpartition("-")[2])
    except InputError:
        return None


def _no_ratio(folder: Path) -> Problem:
    return Problem(
        str(folder),
        "ratio-name",
        "pictures lie in a folder whose name ends in no hint ratio.",
        "Name it by its ratio (0.10 or 10%), or by hint type, line-art source and ratio (scribble-xdog-0.10).",
    )


def _doubled(name: str, same: list[Slice]) -> Problem:
    listed = " and ".join(str(one.folder) for one in same)
    mend = "Keep the one that is meant; a bare 1 is the whole, 1 per cent is 1% or 0.01."
    return Problem(str(same[0].folder.parent), "ratio-twice", f"{listed} are both the slice {name}.", mend)
