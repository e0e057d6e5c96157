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
