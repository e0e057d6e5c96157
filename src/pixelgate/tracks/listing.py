"""Exact file names in a folder, the same on disks that ignore case."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath


class Listing:
    """What lies under a folder, by exact name; every folder is read once.

    ``Path.exists`` says yes to ``A.png`` where a disk that ignores case holds ``a.png``. Reading the
    folder tells the two apart everywhere.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._folders: dict[str, dict[str, bool]] = {}

    def has(self, name: str) -> bool:
        """Whether a file of exactly that relative name is there."""
        parent, last = _split(name)
        return self._folder_is_exact(parent) and self._read(parent).get(last) is False

    def is_folder(self, name: str) -> bool:
        """Whether a folder has that name."""
        parent, last = _split(name)
        return self._read(parent).get(last) is True

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
        return self._folder_is_exact(parent) and self._read(parent).get(last) is True

    def _read(self, folder: str) -> dict[str, bool]:
        if folder not in self._folders:
            try:
                with os.scandir(self.root / folder) as entries:
                    self._folders[folder] = {entry.name: entry.is_dir() for entry in entries}
            except (FileNotFoundError, NotADirectoryError):
                self._folders[folder] = {}
        return self._folders[folder]


def _split(name: str) -> tuple[str, str]:
    path = PurePosixPath(name)
    parent = path.parent.as_posix()
    return ("" if parent == "." else parent), path.name
