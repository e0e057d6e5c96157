"""Opening clips with PyAV: which files are let in, and what is wrong with those that are not."""

from __future__ import annotations

import functools
import importlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pixelgate.errors import InputError, MissingExtra, Problem
from pixelgate.io._video_ends import cut_boxes

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

OLDEST = 17
"""PyAV before this ignored the colour matrix of a frame when it made RGB of it."""

CONTAINERS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,gif,mpegts,mpeg,mpegvideo,ogg,asf,ivf,yuv4mpegpipe,nut,apng,h264,hevc"
)
"""FFmpeg's names of the containers that are read. Playlists, which open other files, and still pictures are not."""

GIVE_A_VIDEO = "Give the path of a video file, such as MP4, Matroska, WebM, AVI or GIF."
WRITE_AGAIN = "Write the clip again, or copy it again from its source."


@functools.cache
def library() -> Any:
    """PyAV.

    Raises:
        MissingExtra: it is not installed, or is older than version 17.
    """
    try:
        av = importlib.import_module("av")
    except ImportError as error:
        raise MissingExtra(f"reading and writing video needs PyAV: pip install 'pixelgate[video]' ({error})") from error
    found = str(av.__version__)
    if int(found.split(".")[0]) < OLDEST:
        raise MissingExtra(
            f"reading and writing video needs PyAV {OLDEST} or newer, since older ones ignore a clip's colour matrix; "
            f"{found} is installed: pip install --upgrade 'pixelgate[video]'"
        )
    return av


def check_file(path: Path) -> None:
    """Refuse what is no regular, readable, non-empty file, before FFmpeg sees it.

    Raises:
        InputError: ``not-a-file``, ``not-readable`` or ``empty-file``.
    """
    file = str(path)
    try:
        status = path.stat()
        regular = stat.S_ISREG(status.st_mode)
        if regular:
            path.open("rb").close()
    except FileNotFoundError:
        found = "is a link to a file that is not there." if path.is_symlink() else "does not exist."
        raise InputError(Problem(file, "not-a-file", found, GIVE_A_VIDEO)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        mend = "Check its rights and its folder's."
        raise InputError(Problem(file, "not-readable", f"cannot be read ({reason}).", mend)) from None
    if not regular:
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
        raise InputError(Problem(file, "not-a-file", f"is {kind} and no video.", GIVE_A_VIDEO))
    if status.st_size == 0:
        raise InputError(Problem(file, "empty-file", "is empty (0 bytes).", WRITE_AGAIN))


def open_container(path: Path) -> InputContainer:
    """Open a file that `check_file` has passed.

    Raises:
        MissingExtra: PyAV is not installed.
        InputError: ``video-format`` (no video container) or ``video-intact`` (an MP4 file without its index).
    """
    av = library()
    try:
        # An absolute path is never taken for a protocol; the lists keep FFmpeg from opening anything else.
        container: InputContainer = av.open(
            os.path.abspath(path),
            options={"format_whitelist": CONTAINERS, "protocol_whitelist": "file"},
            metadata_errors="replace",
        )
    except (av.error.FFmpegError, OSError, ValueError, LookupError) as error:
        raise InputError(_not_opened(path, error)) from None
    return container


def first_video(container: InputContainer, path: Path) -> tuple[VideoStream, int]:
    """The first video stream that is no cover picture, and how many there are.

    Raises:
        InputError: rule ``video-stream``, ``video-codec`` where FFmpeg has no decoder for it, or ``video-intact``
            where the stream's description is cut off.
    """
    attached = library().stream.Disposition.attached_pic
    streams = [stream for stream in container.streams.video if not stream.disposition & attached]
    if streams:
        context: Any = streams[0].codec_context
        if context is None:
            found = "is encoded in a way that the installed FFmpeg has no decoder for."
            raise InputError(Problem(str(path), "video-codec", found, "Encode the clip again, for example as H.264."))
        return streams[0], len(streams)
    if cut_boxes(path):
        raise InputError(_cut_before_index(path))
    kinds = ", ".join(sorted({stream.type for stream in container.streams})) or "nothing"
    found = f"has no video stream; it holds {kinds}." if not container.streams.video else "has a cover picture only."
    raise InputError(Problem(str(path), "video-stream", found, "Give a clip that holds pictures."))


def use_one_thread(stream: VideoStream) -> None:
    """Decode in the calling thread alone.

    A run scores several samples at once, and each reads two or three clips, so that the processors are busy
    without it. One thread also keeps no frames in flight, and errors come with the packet that holds them.
    """
    stream.thread_type = "NONE"
    stream.codec_context.thread_count = 1


def readable_frames(path: Path) -> int:
    """How many frames of a damaged clip can be decoded without error, skipping packets that cannot."""
    av = library()
    count = 0
    try:
        with open_container(path) as container:
            stream, _ = first_video(container, path)
            use_one_thread(stream)
            for packet in container.demux(stream):
                if packet.is_corrupt:
                    continue
                try:
                    count += sum(not frame.is_corrupt for frame in packet.decode())
                except av.error.FFmpegError:
                    continue
    except (InputError, av.error.FFmpegError):
        pass
    return count


def damaged(path: Path, what: str, announced: int | None) -> InputError:
    """The error for a clip whose data are damaged or end early; says how many frames could be read."""
    of = f" of the {announced} that it announces" if announced else ""
    readable = readable_frames(path)
    found = f"{what}; {readable} frame{'' if readable == 1 else 's'}{of} can be read."
    return InputError(Problem(str(path), "video-intact", found, WRITE_AGAIN))


def _not_opened(path: Path, error: Exception) -> Problem:
    if cut_boxes(path):
        return _cut_before_index(path)
    reason = getattr(error, "strerror", None) or type(error).__name__
    return Problem(str(path), "video-format", f"cannot be opened as a video ({reason}).", GIVE_A_VIDEO)


def _cut_before_index(path: Path) -> Problem:
    found = "is an MP4 file without a whole index: it was cut short or never finished; 0 frames can be read."
    return Problem(str(path), "video-intact", found, WRITE_AGAIN)
