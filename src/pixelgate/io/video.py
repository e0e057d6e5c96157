"""Video files as upright RGB frames, decoded by PyAV, one frame at a time.

Every frame is decoded, in presentation order; frames are counted by decoding, never by what the container says.
The display matrix is applied. YUV becomes RGB by the clip's own colour matrix and value range. A clip that is
damaged or ends early is an error, never a shorter clip.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem
from pixelgate.io import _video_cache as cache
from pixelgate.io._video_av import check_file, damaged, first_video, library, open_container, use_one_thread
from pixelgate.io._video_ends import cut_short, missing_end
from pixelgate.io._video_frame import Frame
from pixelgate.io._video_record import Container, Findings, make_record
from pixelgate.io.files import sha256_file
from pixelgate.records import Note, VideoRecord

if TYPE_CHECKING:
    from av.packet import Packet
    from av.video.stream import VideoStream

__all__ = ["Frame", "VideoReader", "open_video", "probe_video", "read_video"]


class VideoReader:
    """Frames of a clip, one at a time: a context manager and an iterator that can be run through once.

    Frames are uint8, height x width x 3, RGB, upright, contiguous; each is the caller's own. No frame is kept, so
    that memory does not grow with the clip's length. A reader belongs to one thread at a time; several readers
    may run side by side.
    """

    def __init__(self, path: Path, *, label: str | None = None) -> None:
        """Use `open_video`."""
        self._path = path
        self._label = str(path) if label is None else label
        check_file(path)
        self._state = cache.file_state(path)
        self._known = cache.known(self._state)
        self._container = open_container(path)
        try:
            self._stream, self._streams = first_video(self._container, path)
            use_one_thread(self._stream)
            cut = cut_short(path, self._container, self._stream)
            if cut:
                raise damaged(path, cut, self._announced())
        except BaseException:
            self._container.close()
            raise
        # What an earlier reader has hashed is not hashed again.
        self._found = Findings(str(path), hashing=self._known is None)
        self._packets = 0
        self._record: VideoRecord | None = None
        self._frames = self._decode()

    def __enter__(self) -> VideoReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Frame]:
        """The frames that have not been given yet.

        Raises:
            InputError: ``video-intact`` (damaged or cut short; says how many frames can be read), ``no-frame``,
                ``constant-size`` (the size changes within the clip), ``colour-matrix``, ``display-matrix``,
                ``changed-while-read``.
            RuntimeError: the reader was closed, or met an error, before its last frame.
        """
        if self._record is None and inspect.getgeneratorstate(self._frames) == inspect.GEN_CLOSED:
            raise RuntimeError(f"{self._path}: the reader was closed, or met an error, before the last frame")
        return self._frames

    def close(self) -> None:
        """Let go of the file; the record stays."""
        self._frames.close()
        self._container.close()

    def drain(self) -> None:
        """Decode what is left, so that `record` is complete.

        Raises:
            InputError: as in iteration.
        """
        for _ in self:
            pass

    @property
    def record(self) -> VideoRecord:
        """How the clip was decoded; complete only after the last frame.

        Raises:
            RuntimeError: before that.
        """
        if self._record is None:
            raise RuntimeError(f"{self._path}: the record is complete after the last frame; call drain() first")
        return self._record

    def _decode(self) -> Generator[Frame]:
        errors = library().error.FFmpegError
        try:
            for packet in self._container.demux(self._stream):
                yield from self._frames_of(packet)
        except errors as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise damaged(self._path, f"holds data that cannot be decoded ({reason})", self._announced()) from None
        self._finish()

    def _frames_of(self, packet: Packet[VideoStream]) -> Iterator[Frame]:
        if packet.is_corrupt:
            raise damaged(self._path, "ends within a frame's data", self._announced())
        self._packets += bool(packet.size) and not packet.is_discard
        for frame in packet.decode():
            if frame.is_corrupt:
                what = f"has damaged data in frame {self._found.count} (counted from 0)"
                raise damaged(self._path, what, self._announced())
            yield self._found.take(frame)

    def _finish(self) -> None:
        short = missing_end(self._container, self._stream, self._found)
        if short:
            raise damaged(self._path, short, self._announced())
        if self._found.count == 0:
            raise InputError(Problem(str(self._path), "no-frame", "has a video stream without any frame.", _ENCODE))
        record = self._known or make_record(self._found, self._describe(), sha256_file(self._path))
        if cache.file_state(self._path) != self._state:
            found = "changed while it was read."
            raise InputError(Problem(str(self._path), "changed-while-read", found, "Run again once it is written."))
        cache.keep(self._state, record)
        self._record = _labelled(record, self._path, self._label)

    def _announced(self) -> int | None:
        return self._stream.frames or None

    def _describe(self) -> Container:
        stream = self._stream
        aspect = stream.sample_aspect_ratio
        return Container(
            format=self._container.format.name,
            frames=self._announced(),
            rate=stream.average_rate,
            streams=self._streams,
            pixel_aspect=None if aspect is None else Fraction(aspect),
            packets=self._packets,
        )


_ENCODE = "Encode the clip again; check that its source has frames."


def open_video(path: Path, *, label: str | None = None) -> VideoReader:
    """Open a clip for reading frame by frame.

    Args:
        path: MP4, MOV, Matroska, WebM, AVI, GIF and other containers that FFmpeg reads.
        label: the subject of the record's notes, e.g. the sample's id; the path where it is None.

    Returns:
        The reader; use it in a ``with`` statement.

    Raises:
        MissingExtra: PyAV 17 or newer is not installed.
        InputError: ``not-a-file``, ``not-readable``, ``empty-file``, ``video-format`` (no video container),
            ``video-stream`` (none in it), ``video-codec`` (no decoder for it) or ``video-intact`` (its index is
            missing or points beyond the file's end, or another sign that the file is cut short).
            Decoding may raise more, see `VideoReader.__iter__`.
    """
    return VideoReader(Path(path), label=label)


def read_video(path: Path, *, label: str | None = None) -> tuple[NDArray[np.uint8], VideoRecord]:
    """All frames of a clip at once, T x H x W x 3, and its record; for short clips. Errors as in `open_video`."""
    with open_video(path, label=label) as reader:
        frames = list(reader)
        return np.stack(frames), reader.record


def probe_video(path: Path, *, label: str | None = None) -> VideoRecord:
    """The record of a clip, for which it is decoded to its end; a clip that was read before is not decoded again.

    A clip counts as read before if one of the same path, size, modification time and inode was, in this process.
    Errors as in `open_video`.
    """
    path = Path(path)
    check_file(path)
    record = cache.known(cache.file_state(path))
    if record is not None:
        return _labelled(record, path, str(path) if label is None else label)
    with open_video(path, label=label) as reader:
        reader.drain()
        return reader.record


def _labelled(record: VideoRecord, path: Path, label: str) -> VideoRecord:
    notes = tuple(Note(label, note.rule, note.message) for note in record.notes)
    return replace(record, file=str(path), notes=notes)
