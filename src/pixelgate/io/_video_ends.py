"""Whether a clip is whole: decoders are silent about containers whose end is missing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

    from pixelgate.io._video_record import Findings

_MICROSECOND = 1e-6
_FRAMES_SHORT = 0.75
_TRANSPORT_PACKETS = (188, 192, 204)
_GIF_EXTENSION, _GIF_IMAGE, _GIF_TRAILER = 0x21, 0x2C, 0x3B


def cut_short(path: Path, container: InputContainer, stream: VideoStream) -> str:
    """What is wrong if the file ends before its container does; empty if nothing is, or it cannot be told.

    MP4 and AVI files have an index that names each frame's place; a GIF ends with a trailer; a transport stream
    consists of packets of one length.
    """
    size = path.stat().st_size
    beyond = sum(entry.pos + entry.size > size for entry in stream.index_entries)
    if beyond:
        return f"ends early: its index names data beyond the end of the file, of {beyond} frame{'s' * (beyond > 1)}"
    if container.format.name == "gif" and not _gif_ends(path):
        return "ends early: an animated GIF without its trailer"
    if container.format.name == "mpegts" and all(size % length for length in _TRANSPORT_PACKETS):
        return "ends early: the last packet of the transport stream is not whole"
    return ""


def missing_end(container: InputContainer, stream: VideoStream, found: Findings) -> str:
    """What is wrong if the frames end well before the announced duration; empty if nothing is.

    MP4 files are not held to it: their index tells exactly, and edit lists may announce other durations.
    """
    known = [tick for tick in found.ticks if tick is not None]
    announced = None if "mp4" in container.format.name else _duration(container, stream)
    if announced is None or not (known or found.count == 0):
        return ""
    if not known or found.time_base is None:
        return f"ends early: {announced:.3f} seconds are announced, and there is no frame" if announced > 0 else ""
    step = (known[-1] - known[0]) / max(found.count - 1, 1)
    end = float((known[-1] + (found.last_duration or step)) * found.time_base)
    spare = _FRAMES_SHORT * max(step, found.last_duration, 1) * float(found.time_base)
    if announced - end <= spare:
        return ""
    return f"ends early: {announced:.3f} seconds are announced, and the frames end at {end:.3f}"


def cut_boxes(path: Path) -> bool:
    """Whether the file is an MP4 one, and one of its outermost boxes reaches beyond its end, or has no index."""
    size, place = path.stat().st_size, 0
    names: set[bytes] = set()
    with path.open("rb") as stream:
        while place + 8 <= size:
            stream.seek(place)
            head = stream.read(16)
            length, name = int.from_bytes(head[:4], "big"), head[4:8]
            if not names and name != b"ftyp":
                return False
            names.add(name)
            length = int.from_bytes(head[8:16], "big") if length == 1 else length or size - place
            if length < 8:
                return True
            place += length
    return bool(names) and (place != size or b"moov" not in names)


def _gif_ends(path: Path) -> bool:
    with path.open("rb") as stream:
        head = stream.read(13)
        if len(head) == 13 and head[10] & 0x80:
            _skip(stream, 3 << ((head[10] & 7) + 1))
        while block := stream.read(1):
            if block[0] == _GIF_TRAILER:
                return True
            if block[0] == _GIF_EXTENSION:
                _skip(stream, 1)
            elif block[0] == _GIF_IMAGE:
                place = stream.read(9)
                if len(place) == 9 and place[8] & 0x80:
                    _skip(stream, 3 << ((place[8] & 7) + 1))
                _skip(stream, 1)
            else:
                return False
            while length := stream.read(1):
                if not length[0]:
                    break
                _skip(stream, length[0])
    return False


def _skip(stream: BinaryIO, count: int) -> None:
    stream.seek(count, os.SEEK_CUR)


def _duration(container: InputContainer, stream: VideoStream) -> float | None:
    if stream.duration is not None and stream.time_base is not None:
        return float(stream.duration * stream.time_base)
    try:
        hours, minutes, seconds = stream.metadata.get("DURATION", "").split(":")
        return int(hours) * 3600 + int(minutes) * 60 + float(seconds)
    except ValueError:
        pass
    # The container's duration is that of its longest stream: it tells of the video only where that is alone.
    if container.duration is not None and len(container.streams) == 1:
        return float(container.duration * _MICROSECOND)
    return None
