"""Video files as upright RGB frames, decoded by PyAV. STUB: signatures only, being written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.records import VideoRecord

Frame = NDArray[np.uint8]


class VideoReader:
    """Frames of a clip, one at a time (context manager and iterator)."""

    def __enter__(self) -> VideoReader: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
    def __iter__(self) -> Iterator[Frame]: ...
    def drain(self) -> None:
        """Decode what is left, so that `record` is complete."""
    @property
    def record(self) -> VideoRecord:
        """How it was decoded; complete only after the last frame (RuntimeError before)."""
        raise NotImplementedError


def open_video(path: Path) -> VideoReader:
    raise NotImplementedError


def read_video(path: Path) -> tuple[NDArray[np.uint8], VideoRecord]:
    """All frames, T x H x W x 3."""
    raise NotImplementedError


def probe_video(path: Path) -> VideoRecord:
    """Decode a clip and keep its record alone."""
    raise NotImplementedError
