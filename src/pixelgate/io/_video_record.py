"""What is learned of a clip frame by frame, and the record and the notes that come of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from pixelgate.errors import InputError, Problem
from pixelgate.io._video_frame import HDR_TRANSFERS, Frame, assumed, rotation, transparent, upright
from pixelgate.io._video_frame import rgb as rgb_of
from pixelgate.records import Note, VideoRecord

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

UNEVEN_TICKS = 1.5
"""Presentation times are uneven where their spacings differ by more than this many units of the time base."""


@dataclass
class Findings:
    """Filled by `take`, one frame after the other; no frame is kept.

    Attributes:
        file: the clip, for errors.
        hashing: whether the pixels' digest is wanted; it costs as much as the decoding.
        count: frames taken.
        ticks: their presentation times in units of the time base.
        last_duration: how long the last frame is shown, in the same unit; 0 where unknown.
    """

    file: str
    hashing: bool = True
    count: int = 0
    ticks: list[int | None] = field(default_factory=list)
    last_duration: int = 0
    time_base: Fraction | None = None
    size: tuple[int, int] = (0, 0)
    rotation: int = 0
    looks: list[tuple[str, int, int]] = field(default_factory=list)
    assumed: str = ""
    transparent: bool = False
    interlaced: bool = False
    transfer: int = 0

    def __post_init__(self) -> None:
        self._digest = hashlib.sha256()
        self._turn: int | None = None

    def take(self, frame: VideoFrame) -> Frame:
        """Note what the frame says of itself and give its upright RGB picture.

        Raises:
            InputError: ``colour-matrix``, ``display-matrix`` or ``constant-size``.
        """
        degrees = self._turn = rotation(frame, self.file, self._turn)
        picture = upright(rgb_of(frame, self.file), degrees)
        height, width, _ = picture.shape
        if self.count == 0:
            self.size, self.rotation = (height, width), degrees
            self.transfer = int(frame.color_trc)
        elif self.size != (height, width):
            raise InputError(self._other_size(width, height))
        look = (frame.format.name, int(frame.colorspace), int(frame.color_range))
        if look not in self.looks:
            self.looks.append(look)
            self.assumed = self.assumed or assumed(frame)
        self.transparent = self.transparent or transparent(frame)
        self.interlaced = self.interlaced or frame.interlaced_frame
        self.time_base = self.time_base or frame.time_base
        self.ticks.append(frame.pts)
        self.last_duration = frame.duration or 0
        self.count += 1
        if self.hashing:
            self._digest.update(picture.data)
        return picture

    def pixels_sha256(self) -> str:
        """SHA-256 of the RGB bytes of all frames in order, then the ASCII text ``<T>x<H>x<W>x3`` and a line feed.

        The shape comes last, since the number of frames is known at the end only.
        """
        digest = self._digest.copy()
        height, width = self.size
        digest.update(f"{self.count}x{height}x{width}x3\n".encode("ascii"))
        return digest.hexdigest()

    @property
    def variable_rate(self) -> bool:
        """Whether the spacing of the presentation times varies by more than `UNEVEN_TICKS`."""
        steps = [after - before for before, after in pairwise(tick for tick in self.ticks if tick is not None)]
        return bool(steps) and max(steps) - min(steps) > UNEVEN_TICKS

    def seconds(self) -> tuple[float | None, ...]:
        """Presentation time of every frame in seconds."""
        base = self.time_base
        return tuple(None if tick is None or base is None else float(tick * base) for tick in self.ticks)

    def _other_size(self, width: int, height: int) -> Problem:
        found = (
            f"changes its size: frame {self.count} (counted from 0) is {width} x {height} pixels, "
            f"the ones before are {self.size[1]} x {self.size[0]}."
        )
        return Problem(self.file, "constant-size", found, "Encode the clip again with one size.")


@dataclass(frozen=True)
class Container:
    """What the container says.

    Attributes:
        format: FFmpeg's name of it.
        frames: its count of frames; None where it has none.
        rate: average frames per second.
        streams: video streams that are no cover pictures.
        pixel_aspect: width of a pixel over its height; None where unspecified.
        packets: packets read that hold a frame to be shown.
    """

    format: str
    frames: int | None
    rate: Fraction | None
    streams: int
    pixel_aspect: Fraction | None
    packets: int


def make_record(found: Findings, container: Container, sha256: str) -> VideoRecord:
    """The record of a clip that was decoded to its end; its notes have no subject yet."""
    pixel_format, matrix, value_range = found.looks[0]
    return VideoRecord(
        file=found.file,
        sha256=sha256,
        pixels_sha256=found.pixels_sha256(),
        width=found.size[1],
        height=found.size[0],
        notes=tuple(Note("", rule, message) for rule, message in _notes(found, container)),
        frames=found.count,
        container_frames=container.frames,
        fps=None if not container.rate else float(container.rate),
        time_base=str(found.time_base or ""),
        pts=found.seconds(),
        pixel_format=pixel_format,
        matrix=matrix,
        range=value_range,
        rotation=found.rotation,
        variable_rate=found.variable_rate,
    )


def _notes(found: Findings, container: Container) -> Iterator[tuple[str, str]]:
    yield from _colour_notes(found)
    yield from _time_notes(found)
    if container.frames is not None and container.frames != found.count:
        yield (
            "container-count",
            f"The container announces {container.frames} frames; {found.count} are decoded, and they count.",
        )
    elif container.packets != found.count:
        yield "packet-count", f"{container.packets} packets of data gave {found.count} frames."
    if found.rotation:
        yield "rotation-applied", f"Frames were turned by {found.rotation} degrees counter-clockwise to be upright."
    if container.streams > 1:
        yield "several-video-streams", f"The file holds {container.streams} video streams; the first is read."
    if container.pixel_aspect not in {None, 0, 1}:
        yield "pixel-aspect", f"Pixels are to be shown {container.pixel_aspect} times as wide as high; they are not."
    if found.interlaced:
        yield "interlaced", "Frames are interlaced; they are scored as stored."
    if container.format == "gif":
        yield "gif", "An animated GIF: VBench's motion dimensions refuse this format."


def _colour_notes(found: Findings) -> Iterator[tuple[str, str]]:
    if found.assumed:
        yield "untagged-colour", f"Colour matrix or value range is unspecified; {found.assumed} is assumed."
    if len(found.looks) > 1:
        listed = "; ".join(f"{name}, matrix {matrix}, range {value_range}" for name, matrix, value_range in found.looks)
        yield "colour-tags-change", f"Pixel format or colour tags change within the clip ({listed}); each is honoured."
    if found.transparent:
        yield "alpha-dropped", "Some pixels are transparent; alpha is dropped and the colours below it count."
    if found.transfer in HDR_TRANSFERS:
        name = HDR_TRANSFERS[found.transfer]
        yield "hdr-transfer", f"Values are encoded for {name} high dynamic range; they are scored without tone mapping."


def _time_notes(found: Findings) -> Iterator[tuple[str, str]]:
    missing = sum(tick is None for tick in found.ticks)
    if missing:
        yield "presentation-times", f"{missing} of {found.count} frames have no presentation time."
    known = [tick for tick in found.ticks if tick is not None]
    if any(after <= before for before, after in pairwise(known)):
        yield "presentation-times", "Presentation times do not increase from frame to frame."
    if found.variable_rate:
        yield "variable-frame-rate", "Frames are unevenly spaced in time; metrics go by the frame's index."
