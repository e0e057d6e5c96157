"""Records of clips that this process has decoded to the end, so that no clip is decoded twice for its record alone."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from pixelgate.records import VideoRecord

_LIMIT = 1024
_SETTLED_NS = 100_000_000
_records: OrderedDict[FileState, VideoRecord] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True)
class FileState:
    """What a file's content is recognised by without reading it."""

    path: str
    device: int
    inode: int
    size: int
    modified_ns: int


def file_state(path: Path) -> FileState:
    """The file's state now."""
    status = path.stat()
    return FileState(os.path.abspath(path), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def known(state: FileState) -> VideoRecord | None:
    """The record of a file in this state, if there is one. Its notes have no subject."""
    with _lock:
        record = _records.get(state)
        if record is not None:
            _records.move_to_end(state)
        return record


def keep(state: FileState, record: VideoRecord) -> None:
    """Keep a record for `known`; the oldest makes room.

    A file that was written a moment ago is not kept: one more write may leave its time stamp unchanged, since
    file systems count in steps of several milliseconds.
    """
    if time.time_ns() - state.modified_ns < _SETTLED_NS:
        return
    with _lock:
        _records[state] = record
        _records.move_to_end(state)
        while len(_records) > _LIMIT:
            _records.popitem(last=False)


def forget() -> None:
    """Drop all records."""
    with _lock:
        _records.clear()
