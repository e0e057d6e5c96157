"""Exact file names in a folder, the same on disks that ignore case."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Literal

from pixelgate.errors import TrackError

Kind = Literal["file", "folder", "other"]
"""What an entry is, links followed; ``other`` is a link to nothing, a pipe or a device."""


class Listing:
    """What lies under a folder, by exact name; every folder is read once.

    ``Path.exists`` says yes to ``A.png`` where a disk that ignores case holds ``a.png``. Reading the
    folder tells the two apart everywhere.

    Raises:
        TrackError: from every method, where a folder is there and may not be read.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._folders: dict[str, dict[str, Kind]] = {}

    def has(self, name: str) -> bool:
        """Whether a file of exactly that relative name is there; a link to nothing is none."""
        parent, last = _split(name)
        return self._folder_is_exact(parent) and self._read(parent).get(last) == "file"

    def kind(self, name: str) -> Kind | None:
        """What has that name; None where nothing has."""
        parent, last = _split(name)
        return self._read(parent).get(last)

    def other_case(self, name: str) -> str | None:
        """The file or folder on the way that differs from ``name`` only in case; None where none does."""
        parent = ""
        for part in name.split("/"):
            entries = self._read(parent)
            if part not in entries:
                return next((entry for entry in sorted(entries) if entry.lower() == part.lower()), None)
            parent = f"{parent}/{part}".removeprefix("/")
        return None

    def files(self, folder: str, suffix: str) -> list[str]:
        """Sorted names of the entries with that suffix in any case; hidden ones are left out."""
        wanted = suffix.lower()
        return sorted(name for name in self._read(folder) if name.lower().endswith(wanted) and not name.startswith("."))

    def _folder_is_exact(self, folder: str) -> bool:
        if not folder:
            return True
        parent, last = _split(folder)
        return self._folder_is_exact(parent) and self._read(parent).get(last) == "folder"

    def _read(self, folder: str) -> dict[str, Kind]:
        if folder not in self._folders:
            try:
                with os.scandir(self.root / folder) as entries:
                    self._folders[folder] = {entry.name: _kind(entry) for entry in entries}
            except (FileNotFoundError, NotADirectoryError):
                self._folders[folder] = {}
            except OSError as error:
                raise unreadable(self.root / folder, error) from None
        return self._folders[folder]


def unreadable(folder: Path, error: OSError) -> TrackError:
    """The error for a folder that is there and cannot be read."""
    reason = error.strerror or str(error)
    return TrackError(f"{folder}: the folder cannot be read ({reason}) [not-readable] Check its rights.")


def _kind(entry: os.DirEntry[str]) -> Kind:
    try:
        return "folder" if entry.is_dir() else "file" if entry.is_file() else "other"
    except OSError:  # a link that leads round in a circle, or to where nobody may look
        return "other"


def _split(name: str) -> tuple[str, str]:
    path = PurePosixPath(name)
    parent = path.parent.as_posix()
    return ("" if parent == "." else parent), path.name
