"""What the actions of ``pixelgate hints`` share: looking at output files before the work, and short lists of notes."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path

from pixelgate.errors import InputError, MissingExtra, Problem
from pixelgate.records import Deviation, Note

_SHOWN = 3


def check_target(file: Path, option: str) -> None:
    """Raise `InputError`, rule ``not-writable``, where a file could not be written; nothing is made.

    Args:
        file: the file to be written later.
        option: the option that names it.
    """
    if file.is_dir():
        raise InputError(Problem(str(file), "not-writable", "is a folder.", f"Name a file with {option}."))
    there = next(place for place in file.absolute().parents if place.exists() or place.is_symlink())
    if not there.is_dir() or not os.access(there, os.W_OK):
        fault = "write-protected" if there.is_dir() else "no folder"
        found = f"cannot be written: {there} is {fault}."
        raise InputError(Problem(str(file), "not-writable", found, f"Name another place with {option}."))


def check_picture(file: Path, option: str) -> None:
    """As `check_target`, for a picture of curves: its suffix and what draws it are looked at too.

    Raises:
        MissingExtra: matplotlib is not installed.
        InputError: rule ``plot-format`` or ``not-writable``.
    """
    from pixelgate.colorizer.plot import FORMATS

    if file.suffix.lower() not in FORMATS:
        found = f"curves cannot be drawn as {file.suffix or 'a file without suffix'}."
        raise InputError(Problem(str(file), "plot-format", found, f"Name it {' or '.join(FORMATS)}."))
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("curves are drawn with matplotlib: pip install 'pixelgate[plot]'")
    check_target(file, option)


def deviation_lines(deviations: Iterable[Deviation]) -> list[str]:
    """Deviations as lines, with all names; what several share word for word is told once."""
    subjects: dict[tuple[str, str], dict[str, None]] = {}
    for item in deviations:
        subjects.setdefault((item.rule, item.message), {})[item.subject] = None
    return [f"{', '.join(named)}: {message} [{rule}]" for (rule, message), named in subjects.items()]


def note_lines(notes: Iterable[Note], rest: str) -> list[str]:
    """Notes as lines, a few of each rule and the number of the others.

    Args:
        notes: the notes.
        rest: where the others can be read.
    """
    rules: dict[str, dict[Note, None]] = {}
    for note in notes:
        rules.setdefault(note.rule, {})[note] = None
    lines = []
    for rule, same in rules.items():
        lines += [f"{note.subject}: {note.message} [{rule}]" for note in list(same)[:_SHOWN]]
        lines += [f"and {len(same) - _SHOWN} more [{rule}], all in {rest}"] if len(same) > _SHOWN else []
    return lines
