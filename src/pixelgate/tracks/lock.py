"""The lock file beside a fetched data set: which commit it is, and every file's size and digest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pixelgate.errors import TrackError

LOCK_NAME = "pixelgate.lock.json"
_FORMAT = 1
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class LockedFile:
    """One file as it was fetched: size in bytes, SHA-256 in hex, and the shard it came out of, if any."""

    size: int
    sha256: str
    shard: str = ""


@dataclass(frozen=True)
class Lock:
    """What was fetched.

    Attributes:
        repository: ``organisation/name``.
        kind: the hub's repository type.
        revision: the full commit, 40 hex digits.
        files: relative name -> the file as fetched.
        shards: path -> each parquet shard that the files were unpacked from, and that was then removed.
    """

    repository: str
    kind: str
    revision: str
    files: Mapping[str, LockedFile] = field(default_factory=dict)
    shards: Mapping[str, LockedFile] = field(default_factory=dict)

    def holding(self, files: Mapping[str, LockedFile], shards: Mapping[str, LockedFile]) -> Lock:
        """The same commit with other files."""
        return replace(self, files=dict(files), shards=dict(shards))


def read_lock(folder: Path) -> Lock | None:
    """The lock of a fetched folder; None where there is none.

    Raises:
        TrackError: the file is damaged or of a format that this version does not know.
    """
    path = folder / LOCK_NAME
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise TrackError(f"{path}: not readable as JSON ({error}). {_mend()}") from None
    try:
        return _parse(raw)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TrackError(f"{path}: not a lock file of format {_FORMAT} ({error!r}). {_mend()}") from None


def write_lock(folder: Path, lock: Lock) -> None:
    """Write the lock so that a kill leaves the old one or the whole new one."""
    from pixelgate.io.files import atomic_write

    body: dict[str, Any] = {"format": _FORMAT, "repository": lock.repository, "kind": lock.kind}
    body |= {"revision": lock.revision, "files": _entries(lock.files)}
    if lock.shards:
        body["shards"] = _entries(lock.shards)
    atomic_write(folder / LOCK_NAME, json.dumps(body, indent=1, allow_nan=False) + "\n")


def _entries(files: Mapping[str, LockedFile]) -> dict[str, dict[str, int | str]]:
    return {
        name: {"size": entry.size, "sha256": entry.sha256, **({"shard": entry.shard} if entry.shard else {})}
        for name, entry in sorted(files.items())
    }


def _parse(raw: Any) -> Lock:
    if raw["format"] != _FORMAT:
        raise ValueError(f"format {raw['format']!r}")
    if not _COMMIT.fullmatch(raw["revision"]):
        raise ValueError("revision is no full commit")
    files, shards = _read(raw["files"]), _read(raw.get("shards", {}))
    return Lock(str(raw["repository"]), str(raw["kind"]), raw["revision"], files, shards)


def _read(raw: Any) -> dict[str, LockedFile]:
    files = {}
    for name, entry in raw.items():
        if not _SHA256.fullmatch(entry["sha256"]) or not isinstance(entry["size"], int):
            raise ValueError(f"entry {name!r}")
        files[name] = LockedFile(entry["size"], entry["sha256"], str(entry.get("shard", "")))
    return files


def _mend() -> str:
    return "Remove it and run `pixelgate data fetch TRACK`: files that are right are kept."
