"""Folders of outputs as they lie on the disk; what cannot be read is named."""

from __future__ import annotations

import os
from pathlib import Path

from pixelgate.errors import InputError, Problem

# What tells a folder of outputs from others: pictures of the strict kind, and clips.
_MEDIA = (".png", ".mp4", ".mkv", ".mov", ".webm", ".avi")


def folders(folder: Path) -> list[Path]:
    """The visible folders in a folder, sorted."""
    return sorted(entry for entry in entries(folder) if entry.is_dir() and not hidden(entry.name))


def hidden(name: str) -> bool:
    """Whether a folder's name is one that is passed over."""
    return name.startswith(".") or name == "__pycache__"


def entries(folder: Path) -> list[Path]:
    """What lies in a folder, sorted.

    Raises:
        InputError: rule ``not-readable``.
    """
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        _unreadable(error)
        raise


def _unreadable(error: OSError) -> None:
    reason = error.strerror or str(error)
    problem = Problem(str(error.filename), "not-readable", f"cannot be read ({reason}).", "Check its rights.")
    raise InputError(problem) from None


def is_file(path: Path) -> bool:
    """Whether a path is a plain file, links followed.

    Raises:
        InputError: rule ``not-readable``.
    """
    try:
        return path.is_file()
    except OSError as error:
        _unreadable(error)
        raise


def holds_media(folder: Path) -> bool:
    """Whether pictures or clips lie anywhere below a folder."""
    return any(
        name.lower().endswith(_MEDIA) and not name.startswith(".")
        for _, _, names in os.walk(folder, onerror=_unreadable)
        for name in names
    )


def has_media(folder: Path) -> bool:
    """Whether pictures or clips lie in a folder itself."""
    return any(entry.suffix.lower() in _MEDIA and not entry.name.startswith(".") for entry in entries(folder))
