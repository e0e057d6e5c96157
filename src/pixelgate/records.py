"""Small records that travel beside the numbers: what was read, what was noted, what deviated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Note:
    """Something a reader of the result must know and that changes no rule.

    Attributes:
        subject: the sample, file or channel concerned.
        rule: short name, e.g. ``icc-converted``, ``gama-ignored``, ``flat-histogram``.
        message: one sentence.
    """

    subject: str
    rule: str
    message: str


@dataclass(frozen=True, order=True)
class Deviation:
    """Something a run did that the protocol does not; keeps a result from being ranked beside clean ones.

    Attributes:
        subject: the sample, metric or option concerned.
        rule: short name, e.g. ``resized``, ``missing-output``, ``resamples``.
        message: one sentence with the values involved.
    """

    subject: str
    rule: str
    message: str


@dataclass(frozen=True)
class ImageRecord:
    """How one picture was decoded.

    Attributes:
        file: path as given.
        sha256: hex digest of the file's bytes.
        pixels_sha256: hex digest of the decoded picture (its shape and its RGB bytes), which stays the same
            when a file is merely compressed again.
        width, height: size in pixels after the EXIF orientation was applied.
        notes: conversions made and colour chunks ignored.
    """

    file: str
    sha256: str
    pixels_sha256: str
    width: int
    height: int
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class VideoRecord(ImageRecord):
    """How one clip was decoded. The digest of its pixels is over the shape and the RGB bytes of all frames.

    Attributes:
        frames: frames decoded; the container's own count is never trusted.
        container_frames: what the container says, None where it says nothing.
        fps: average frames per second; None where the container names none.
        time_base: the unit of the presentation times, such as ``1/16384``.
        pts: presentation time of every frame in seconds; None for a frame without one.
        pixel_format: FFmpeg's name, such as ``yuv420p``.
        matrix: FFmpeg's number of the colour matrix: 1 is BT.709, 2 unspecified, 5 and 6 BT.601.
        range: FFmpeg's number of the value range: 0 unspecified, 1 limited, 2 full.
        rotation: degrees by which frames were turned counter-clockwise to be upright, as the display matrix asks.
        variable_rate: whether the presentation times are unevenly spaced.
    """

    frames: int = 0
    container_frames: int | None = None
    fps: float | None = None
    time_base: str = ""
    pts: tuple[float | None, ...] = ()
    pixel_format: str = ""
    matrix: int = 2
    range: int = 0
    rotation: int = 0
    variable_rate: bool = False
