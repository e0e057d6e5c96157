"""Writing clips: to look at (H.264), and without loss for masks, demos and tests.

The pixels' colour matrix and range are written into the file, so that a reader that honours them gets the colours
back. The file appears under its name only once it is whole.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, MissingExtra, Problem
from pixelgate.io._video_av import library

if TYPE_CHECKING:
    from av.container import OutputContainer
    from av.video.frame import VideoFrame

Matrix = Literal["bt709", "bt601"]
Range = Literal["limited", "full"]

_CONTAINERS = {".mp4": "mp4", ".mov": "mov", ".mkv": "matroska"}
# FFmpeg's numbers of a matrix and of the primaries and the transfer curve that go with it.
_TAGS = {"bt709": (1, 1, 1), "bt601": (6, 6, 6)}
_SCALER = {"bt709": "ITU709", "bt601": "SMPTE170M"}
_RANGES = {"limited": 1, "full": 2}
_UNSPECIFIED = 2
# SWS_BILINEAR, SWS_FULL_CHR_H_INT and SWS_ACCURATE_RND; older PyAV versions have no names for all of them.
_SCALING = 0x2 | 0x2000 | 0x40000


@dataclass(frozen=True)
class Encoding:
    """How a clip is encoded.

    Attributes:
        lossless: keep every RGB value: H.264 with RGB planes in .mp4 and .mov, FFV1 in .mkv; the other choices but
            `rotation` then have no effect. Otherwise H.264 from YUV: 4:2:0 where both sides are even, as every
            player takes it, and 4:4:4 where one is odd, so that the size stays as it is.
        crf: x264's rate factor for lossy clips; 0 keeps the YUV values as they are, 18 looks the same, 51 is worst.
        matrix: of the conversion to YUV.
        value_range: of the conversion to YUV.
        tagged: whether the file names matrix and range.
        tagged_range: the range that the file names; that of the conversion where it is None. Another one makes a
            clip whose colours are read wrongly, for tests.
        rotation: degrees by which a player is to turn the frames counter-clockwise (.mp4 and .mov only); the frames
            are written as they are given.
        preset: x264's speed.
    """

    lossless: bool = False
    crf: int = 18
    matrix: Matrix = "bt709"
    value_range: Range = "limited"
    tagged: bool = True
    tagged_range: Range | None = None
    rotation: int = 0
    preset: str = "fast"


class VideoWriter:
    """Writes one clip, frame by frame (context manager).

    The first frame decides the size. If the ``with`` block ends with an error, nothing is left behind, and a file
    that was there before stays. One thread encodes, so that the same frames give the same file.
    """

    def __init__(
        self,
        path: Path,
        fps: Fraction | float,
        *,
        encoding: Encoding | None = None,
        times: Sequence[int] | None = None,
    ) -> None:
        """Prepare to write.

        Args:
            path: ends in .mp4, .mov or .mkv; an existing file is replaced, missing folders are made.
            fps: frames per second, above 0.
            encoding: lossy H.264 tagged as BT.709, limited range, where it is None.
            times: presentation time of each frame in units of 1/fps, increasing, for a variable rate; 0, 1, 2, ...
                where it is None.

        Raises:
            MissingExtra: PyAV is not installed.
            ValueError: another suffix, a rate that is not above 0, times that do not increase.
        """
        self._path = Path(path)
        self._rate = Fraction(fps).limit_denominator(1 << 16)
        self._encoding = encoding or Encoding()
        self._times = None if times is None else tuple(times)
        self._check()
        library()
        self._temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
        self._container: OutputContainer | None = None
        self._stream: Any = None
        self._size = (0, 0)
        self._state: Literal["open", "written", "failed"] = "open"
        self.count = 0
        """Frames written so far."""

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._abandon()

    def write(self, frame: NDArray[np.uint8]) -> None:
        """Add a frame.

        Args:
            frame: uint8, H x W x 3, RGB.

        Raises:
            ValueError: another type or shape than that, than the first frame's, or more frames than `times`.
            InputError: rule ``not-writable``.
        """
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3 or not frame.size:
            raise ValueError(f"a frame is uint8, height x width x 3; got {frame.dtype}, shape {frame.shape}")
        if self._state != "open":
            raise ValueError(f"{self._path}: the clip is {self._state}; no frame can be added")
        if self._times is not None and self.count >= len(self._times):
            raise ValueError(f"there are more frames than the {len(self._times)} times")
        with self._as_input_error():
            if self._container is None:
                self._open(frame)
            elif frame.shape[:2] != self._size:
                raise ValueError(f"the clip's frames are {self._size}; got {frame.shape[:2]}")
            picture = self._convert(frame)
            picture.pts = self.count if self._times is None else self._times[self.count]
            picture.time_base = 1 / self._rate
            self._mux(picture)
        self.count += 1

    def close(self) -> None:
        """Finish the file and give it its name; nothing happens the second time.

        Raises:
            ValueError: no frame was written, or fewer than `times`, or an error came before.
            InputError: rule ``not-writable``.
        """
        if self._state == "written":
            return
        if self._state == "failed":
            raise ValueError(f"{self._path}: an error came before; nothing was written")
        wanted = max(1, len(self._times or ()))
        if self.count < wanted:
            self._abandon()
            raise ValueError(f"{self._path}: {self.count} frames were written; {wanted} are needed")
        with self._as_input_error():
            self._mux(None)
            self._close_container()
            os.replace(self._temporary, self._path)
        self._state = "written"

    def _check(self) -> None:
        if self._path.suffix.lower() not in _CONTAINERS:
            raise ValueError(f"{self._path}: a clip's name ends in {', '.join(_CONTAINERS)}")
        if self._rate <= 0:
            raise ValueError(f"the frame rate must be above 0; got {self._rate}")
        if self._times is not None and any(b <= a for a, b in zip(self._times, self._times[1:], strict=False)):
            raise ValueError("the frames' times must increase")
        if self._encoding.rotation and self._path.suffix.lower() == ".mkv":
            raise ValueError("Matroska files hold no display matrix; write .mp4 for a rotation")

    def _open(self, frame: NDArray[np.uint8]) -> None:
        height, width, _ = frame.shape
        kind = _CONTAINERS[self._path.suffix.lower()]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        options = {"movflags": "faststart"} if kind != "matroska" else {}
        self._container = library().open(os.path.abspath(self._temporary), "w", format=kind, options=options)
        codec, pixel_format, settings = self._codec(kind, height, width)
        stream: Any = self._container.add_stream(codec, rate=self._rate, options=settings)
        stream.width, stream.height, stream.pix_fmt = width, height, pixel_format
        context = stream.codec_context
        context.thread_count = 1
        context.time_base = 1 / self._rate
        if not self._encoding.lossless and self._encoding.tagged:
            context.colorspace, context.color_primaries, context.color_trc = _TAGS[self._encoding.matrix]
            context.color_range = self._named_range()
        if self._encoding.rotation:
            _set_rotation(stream, self._encoding.rotation)
        self._stream, self._size = stream, (height, width)

    def _codec(self, kind: str, height: int, width: int) -> tuple[str, str, dict[str, str]]:
        chosen = self._encoding
        if chosen.lossless:
            if kind == "matroska":
                return "ffv1", "bgr0", {"level": "3", "slicecrc": "1"}
            return "libx264rgb", "rgb24", {"crf": "0", "preset": chosen.preset}
        pixel_format = "yuv420p" if height % 2 == 0 and width % 2 == 0 else "yuv444p"
        # Without this x264's routines for AVX-512 give other bytes from one call to the next.
        settings = {"crf": str(chosen.crf), "preset": chosen.preset, "x264-params": "cpu-independent=1"}
        return "libx264", pixel_format, settings

    def _named_range(self) -> int:
        return _RANGES[self._encoding.tagged_range or self._encoding.value_range]

    def _convert(self, frame: NDArray[np.uint8]) -> VideoFrame:
        chosen, av = self._encoding, library()
        made: VideoFrame = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
        if chosen.lossless:
            return made.reformat(format=self._stream.pix_fmt, threads=1)
        made = made.reformat(
            format=self._stream.pix_fmt,
            dst_colorspace=_SCALER[chosen.matrix],
            src_color_range=_RANGES["full"],
            dst_color_range=_RANGES[chosen.value_range],
            interpolation=_SCALING,
            threads=1,
        )
        # The encoder takes tags from the frames too; what is written is what the user asked for.
        made.colorspace = _TAGS[chosen.matrix][0] if chosen.tagged else _UNSPECIFIED
        made.color_range = self._named_range() if chosen.tagged else 0
        return made

    def _mux(self, picture: VideoFrame | None) -> None:
        assert self._container is not None
        for packet in self._stream.encode(picture):
            self._container.mux(packet)

    def _close_container(self) -> None:
        container, self._container, self._stream = self._container, None, None
        if container is not None:
            container.close()

    def _abandon(self) -> None:
        self._state = "failed"
        with contextlib.suppress(Exception):
            self._close_container()
        with contextlib.suppress(OSError):
            self._temporary.unlink()

    @contextlib.contextmanager
    def _as_input_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self._abandon()
            if not isinstance(error, OSError):
                raise
            found = f"cannot be written ({error.strerror or error})."
            mend = "Check the folder's rights and space."
            raise InputError(Problem(str(self._path), "not-writable", found, mend)) from None


def write_video(
    path: Path,
    frames: Iterable[NDArray[np.uint8]],
    fps: Fraction | float,
    *,
    encoding: Encoding | None = None,
    times: Sequence[int] | None = None,
) -> None:
    """Write a clip from its frames, such as an array T x H x W x 3. Arguments and errors as in `VideoWriter`."""
    with VideoWriter(path, fps, encoding=encoding, times=times) as writer:
        for frame in frames:
            writer.write(frame)


def _set_rotation(stream: Any, degrees: int) -> None:
    if not hasattr(stream, "set_display_rotation"):
        raise MissingExtra("writing a rotation needs PyAV 18 or newer: pip install --upgrade av")
    stream.set_display_rotation(degrees)
