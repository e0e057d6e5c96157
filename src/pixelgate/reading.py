"""How a protocol reads pictures: strict PNG files at the reference's size, or any picture brought to a square."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol

import PIL

from pixelgate.errors import InputError, Problem, ProtocolError
from pixelgate.io.png import read_png
from pixelgate.io.resize import resize_to
from pixelgate.metrics.registry import Picture
from pixelgate.protocols import Protocol as Rules
from pixelgate.records import ImageRecord, Note

Role = Literal["output", "reference"]


@dataclass(frozen=True)
class Read:
    """A picture as metrics take it.

    Attributes:
        rgb8: the decoded picture, uint8, height x width x 3; at the reference's size where the protocol asks for it.
        record: how it was decoded.
        resized_from: (width, height) before an allowed resize, else None.
        backend: which library resizes to a square, for protocols that do.
        side: height and width of that square.
    """

    rgb8: Picture
    record: ImageRecord
    resized_from: tuple[int, int] | None = None
    backend: str = ""
    side: int = 0

    @cached_property
    def unit(self) -> Picture:
        """The picture as a square of float32 values from 0 to 1; made once, at the first metric that takes it."""
        from pixelgate.io.square import to_square

        if not self.backend:
            raise ProtocolError("this protocol resizes no picture to a square; its metrics take decoded pictures")
        return to_square(self.rgb8, self.backend, side=self.side)  # type: ignore[arg-type]

    def view(self, takes: str) -> Picture:
        """What a metric takes: ``rgb8`` or ``unit``."""
        return self.unit if takes == "unit" else self.rgb8


class Reader(Protocol):
    """Reads pictures under one protocol.

    Attributes:
        suffixes: what the names of outputs may end in.
        key: what decides the pixels beside the file's bytes, in plain values.
        fingerprint: what made the square that ``unit`` metrics take: the protocol's backend and its versions.
    """

    suffixes: tuple[str, ...]
    key: Any
    fingerprint: Mapping[str, str]

    def reference(self, path: Path) -> Read:
        """Read one of the track's own files."""

    def output(self, path: Path, reference: Read, role: Role = "output") -> Read:
        """Read an output beside its reference; `role` is ``reference`` where it is one of the track's own files."""


class StrictPng:
    """8-bit RGB PNG files at the reference's size.

    Args:
        rules: the protocol.
        allow_resize: resize outputs of another size.
    """

    suffixes: tuple[str, ...] = (".png",)
    fingerprint: Mapping[str, str] = MappingProxyType({})

    def __init__(self, rules: Rules, allow_resize: bool) -> None:
        self._rules = rules
        self._allow_resize = allow_resize
        self.key = [dict(rules.decoding), dict(rules.size), allow_resize, f"pillow {PIL.__version__}"]

    def reference(self, path: Path) -> Read:
        """See `Reader.reference`."""
        return Read(*read_png(path, self._rules.decoding, role="reference"))

    def output(self, path: Path, reference: Read, role: Role = "output") -> Read:
        """See `Reader.output`; another size is an `InputError` unless resizing is allowed."""
        image, record = read_png(path, self._rules.decoding, role=role)
        wanted = (reference.record.width, reference.record.height)
        if (record.width, record.height) == wanted:
            return Read(image, record)
        if not self._allow_resize:
            raise InputError(_wrong_size(record, wanted))
        return Read(resize_to(image, wanted, self._rules.size), record, (record.width, record.height))


def _wrong_size(record: ImageRecord, wanted: tuple[int, int]) -> Problem:
    return Problem(
        record.file,
        "size",
        f"the output is {record.width}x{record.height} pixels and its reference {wanted[0]}x{wanted[1]}.",
        "Write it at the reference's size, or resize it with --bench-allow-resize (a recorded deviation).",
    )


class AnySquare:
    """Pictures of any mode, brought to a square by the protocol's backend.

    Args:
        rules: the protocol; its ``size`` section names side and backend.
    """

    def __init__(self, rules: Rules) -> None:
        from pixelgate.io.square import fingerprint

        size: Mapping[str, Any] = rules.size
        self.suffixes = rules.suffixes
        self._backend, self._side = str(size["backend"]), int(size["side"])
        self.fingerprint: Mapping[str, str] = {"protocol_backend": self._backend, **fingerprint(self._backend)}  # type: ignore[arg-type]
        self.key = [dict(rules.decoding), dict(size), f"pillow {PIL.__version__}", dict(self.fingerprint)]

    def reference(self, path: Path) -> Read:
        """See `Reader.reference`."""
        from pixelgate.io.any_image import read_any

        return Read(*read_any(path), backend=self._backend, side=self._side)

    def output(self, path: Path, reference: Read, role: Role = "output") -> Read:
        """See `Reader.output`; predictions of any size are taken, as ground truths are, and another size is noted."""
        read = self.reference(path)
        own, wanted = (read.record.width, read.record.height), (reference.record.width, reference.record.height)
        if own == wanted:
            return read
        message = f"is {own[0]}x{own[1]} pixels and its ground truth {wanted[0]}x{wanted[1]}; each was made a square"
        note = Note(read.record.file, "other-size", message)
        return replace(read, record=replace(read.record, notes=(*read.record.notes, note)))


def make_reader(rules: Rules, allow_resize: bool) -> Reader:
    """The reader that a protocol's ``decoding.format`` names.

    Raises:
        ProtocolError: there is no such format.
    """
    kind = rules.decoding.get("format")
    if kind == "png":
        return StrictPng(rules, allow_resize)
    if kind == "any":
        return AnySquare(rules)
    raise ProtocolError(f"protocol {rules.id!r}: decoding.format {kind!r} is not known; known: png, any")
