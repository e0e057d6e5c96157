"""The score cache: what was computed once for the same bytes is not computed again.

Keys are digests of all that decides a value (see `pixelgate.engine`), so an entry is never stale; it only
becomes unused. The store is one SQLite file, which several processes may read and write at once and
which survives a killed one. A memory layer in front serves runs without a disk cache.

Each stored value carries a checksum over its key and its text. An entry that does not match it was damaged or
written by something else; it is treated as unknown, computed anew and replaced.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from pixelgate.errors import PixelgateError

_FILE = "scores.sqlite"
_CHUNK = 500  # SQLite's oldest limit is 999 variables a statement
_DAY = 86_400
_CHECKSUM = 16  # hex digits


def default_cache_folder() -> Path:
    """``$PIXELGATE_CACHE`` or the user's cache folder."""
    return Path(os.environ.get("PIXELGATE_CACHE") or platformdirs.user_cache_dir("pixelgate", appauthor=False))


@dataclass(frozen=True)
class CacheInfo:
    """Size of a cache on disk.

    Attributes:
        file: the SQLite file.
        entries: number of stored values.
        size: bytes on disk.
    """

    file: Path
    entries: int
    size: int


class ScoreCache:
    """Values by key, in memory and, with a folder, on disk.

    Args:
        folder: where the cache file lies; None keeps values for the life of the object only.

    Raises:
        PixelgateError: the folder cannot be used.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._memory: dict[str, Any] = {}
        self._connection = _connect(folder / _FILE) if folder is not None else None

    def get_many(self, keys: Iterable[str]) -> dict[str, Any]:
        """The stored values of those keys that are known; a damaged entry is not."""
        wanted = list(dict.fromkeys(keys))
        found = {key: self._memory[key] for key in wanted if key in self._memory}
        unknown = [key for key in wanted if key not in found]
        if self._connection is not None:
            try:
                for start in range(0, len(unknown), _CHUNK):
                    found.update(self._read(unknown[start : start + _CHUNK]))
            except sqlite3.Error as error:
                raise self._unusable(error) from None
        self._memory.update(found)
        return found

    def put_many(self, values: Mapping[str, Any]) -> None:
        """Store JSON values; they are on disk when this returns."""
        self._memory.update(values)
        if self._connection is None or not values:
            return
        now = int(time.time())
        rows = [(key, _pack(key, json.dumps(value, allow_nan=False)), now) for key, value in values.items()]
        try:
            with self._connection as connection:
                connection.executemany("INSERT OR REPLACE INTO scores (key, value, used) VALUES (?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def info(self) -> CacheInfo:
        """What lies on disk; zeros without a folder."""
        if self._connection is None or self.folder is None:
            return CacheInfo(Path(), 0, 0)
        (entries,) = self._connection.execute("SELECT count(*) FROM scores").fetchone()
        return CacheInfo(self.folder / _FILE, entries, (self.folder / _FILE).stat().st_size)

    def prune(self, older_than_days: float) -> int:
        """Delete entries that were last used longer ago than that; returns how many."""
        if self._connection is None:
            return 0
        limit = time.time() - older_than_days * _DAY
        with self._connection as connection:
            deleted = connection.execute("DELETE FROM scores WHERE used <= ?", (limit,)).rowcount
        self._connection.execute("VACUUM")
        self._memory.clear()
        return deleted

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _unusable(self, error: Exception) -> PixelgateError:
        assert self.folder is not None
        return _unusable(self.folder / _FILE, error)

    def _read(self, keys: list[str]) -> dict[str, Any]:
        assert self._connection is not None
        marks = ",".join("?" * len(keys))
        rows = self._connection.execute(f"SELECT key, value, used FROM scores WHERE key IN ({marks})", keys).fetchall()
        # Only entries not touched for a day are marked as used again: a rerun stays read-only.
        now = int(time.time())
        stale = [(now, key) for key, _, used in rows if not isinstance(used, int) or now - used > _DAY]
        if stale:
            with self._connection as connection:
                connection.executemany("UPDATE scores SET used = ? WHERE key = ?", stale)
        texts = {key: _unpack(key, value) for key, value, _ in rows}
        return {key: json.loads(text) for key, text in texts.items() if text is not None}


def _pack(key: str, text: str) -> str:
    return f"{_checksum(key, text)} {text}"


def _unpack(key: str, stored: object) -> str | None:
    """The text of an entry; None where it is not what was stored under this key."""
    if not isinstance(stored, str):
        return None
    checksum, _, text = stored.partition(" ")
    return text if checksum == _checksum(key, text) else None


def _checksum(key: str, text: str) -> str:
    return hashlib.sha256(f"{key} {text}".encode("utf-8", "surrogatepass")).hexdigest()[:_CHECKSUM]


def _connect(file: Path) -> sqlite3.Connection:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(file, timeout=60)
        # Readers do not block a writer in this mode, and a commit costs no full sync.
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        with connection:
            connection.execute("CREATE TABLE IF NOT EXISTS scores (key TEXT PRIMARY KEY, value TEXT, used INTEGER)")
        _check_whole(connection)
        return connection
    except (OSError, sqlite3.Error) as error:
        raise _unusable(file, error) from None


def _check_whole(connection: sqlite3.Connection) -> None:
    """Find damage and foreign tables when the file is opened, not at every item of a run."""
    connection.execute("SELECT key, value, used FROM scores LIMIT 1").fetchall()
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise sqlite3.DatabaseError(str(found))


def _unusable(file: Path, error: Exception) -> PixelgateError:
    mend = "Name another folder (--bench-cache DIR, $PIXELGATE_CACHE), delete the file, or run with --bench-no-cache."
    return PixelgateError(f"{file}: the score cache cannot be used: {error} [score-cache] {mend}")
