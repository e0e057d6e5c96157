"""What a PNG file says about itself: a scan of its chunks that trusts no decoder.

Pillow opens a 16-bit RGB file in mode RGB without a trace, keeps no note of some colour chunks and stops
quietly at a damaged chunk behind the pixels, so the rules are checked on the file's own bytes. The
format is ISO/IEC 15948 (PNG), 3rd edition.
"""

from __future__ import annotations

import struct
import sys
import zlib
from dataclasses import dataclass
from functools import cached_property

from pixelgate.errors import InputError, Problem
from pixelgate.io.write import SIGNATURE, png_chunk, zlib_stored

_RENDER_AGAIN = "Write the file again from the picture, or copy it again from its source."
_CRITICAL = frozenset({"IHDR", "PLTE", "IDAT", "IEND"})
_TYPES = {0: "grey", 2: "RGB", 3: "palette", 4: "grey with alpha", 6: "RGB with alpha"}
_SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
_OTHER_KINDS = (
    (b"\xff\xd8\xff", "a JPEG file"),
    (b"GIF8", "a GIF file"),
    (b"BM", "a BMP file"),
    (b"II*\x00", "a TIFF file"),
    (b"MM\x00*", "a TIFF file"),
    (b"\x00\x00\x00\x0cJXL ", "a JPEG XL file"),
    (b"<", "text such as HTML, XML or SVG (a failed download?)"),
)


@dataclass(frozen=True)
class PngHeader:
    """The IHDR chunk: size in pixels, bits a sample, colour type as the format numbers it, Adam7 or not."""

    width: int
    height: int
    bit_depth: int
    colour_type: int
    interlaced: bool

    @property
    def kind(self) -> str:
        """In words, e.g. ``16-bit RGB PNG (bit depth 16, colour type 2)``."""
        name = _TYPES.get(self.colour_type, "unknown-colour")
        return f"{self.bit_depth}-bit {name} PNG (bit depth {self.bit_depth}, colour type {self.colour_type})"

    @property
    def stream_length(self) -> int:
        """Bytes of filtered rows that the decompressed IDAT stream must hold."""
        bits = self.bit_depth * _SAMPLES.get(self.colour_type, 0)
        passes = _ADAM7 if self.interlaced else ((0, 0, 1, 1),)
        total = 0
        for left, top, step_x, step_y in passes:
            columns = -(-(self.width - left) // step_x) if self.width > left else 0
            rows = -(-(self.height - top) // step_y) if self.height > top else 0
            total += rows * (1 + (columns * bits + 7) // 8) if columns else 0
        return total


@dataclass(frozen=True)
class PngLayout:
    """The header and all chunks in file order, as (name, body)."""

    header: PngHeader
    sequence: tuple[tuple[str, memoryview], ...]

    @cached_property
    def chunks(self) -> dict[str, list[memoryview]]:
        """The chunks' bodies by name."""
        named: dict[str, list[memoryview]] = {}
        for name, body in self.sequence:
            named.setdefault(name, []).append(body)
        return named

    def first(self, name: str) -> bytes | None:
        """Return the body of the first chunk of that name, or None."""
        bodies = self.chunks.get(name)
        return bytes(bodies[0]) if bodies else None


def scan(data: bytes, file: str) -> PngLayout:
    """Walk through a PNG file's chunks and check each one's CRC.

    Args:
        data: the whole file.
        file: its name, for messages.

    Raises:
        InputError: rule ``empty-file``, ``png-signature`` (another format) or ``png-intact`` (damaged).
    """
    if not data:
        raise InputError(Problem(file, "empty-file", "holds no bytes.", _RENDER_AGAIN))
    if not data.startswith(SIGNATURE):
        raise InputError(_wrong_signature(data, file))
    sequence: list[tuple[str, memoryview]] = []
    view = memoryview(data)
    position = len(SIGNATURE)
    name = ""
    while name != "IEND":
        name, body = _chunk_at(view, position, file)
        position += 12 + len(body)
        sequence.append((name, body))
    names = [name for name, _ in sequence]
    if names[0] != "IHDR":
        raise _damaged(file, f"starts with a {names[0]} chunk where IHDR must stand")
    if names.count("IHDR") > 1:
        raise _damaged(file, "holds two IHDR chunks")
    if "IDAT" not in names:
        raise _damaged(file, "holds no pixels (no IDAT chunk)")
    return PngLayout(_header(bytes(sequence[0][1]), file), tuple(sequence))


def plain_stream(layout: PngLayout, file: str) -> bytes:
    """Return the same PNG with its pixels decompressed, after checking that they are complete.

    Pillow takes a stream that ends early for a whole picture and leaves the missing rows black. Since the
    check decompresses the stream, what Pillow gets is the result: it need not do that work again.

    Args:
        layout: the scanned file.
        file: its name, for messages.

    Raises:
        InputError: rule ``png-intact``.
    """
    wanted = layout.header.stream_length
    try:
        # The limit keeps a small file from filling the memory.
        rows = zlib.decompressobj().decompress(b"".join(layout.chunks["IDAT"]), min(wanted, sys.maxsize))
    except zlib.error as error:
        raise _damaged(file, f"holds pixels that do not decompress ({error})") from None
    if len(rows) < wanted:
        raise _damaged(file, f"holds {len(rows)} of the {wanted} bytes of pixels that its size asks for")
    parts = [SIGNATURE]
    pixels_written = False
    for name, body in layout.sequence:
        if name != "IDAT":
            parts.append(png_chunk(name.encode("ascii"), bytes(body)))
        elif not pixels_written:
            parts.append(png_chunk(b"IDAT", zlib_stored(rows)))
            pixels_written = True
    return b"".join(parts)


def _chunk_at(view: memoryview, position: int, file: str) -> tuple[str, memoryview]:
    if position + 12 > len(view):
        raise _damaged(file, f"ends after {len(view)} bytes, before its IEND chunk")
    (length,) = struct.unpack_from(">I", view, position)
    raw = bytes(view[position + 4 : position + 8])
    if not raw.isalpha():
        raise _damaged(file, f"holds no chunk at byte {position} where one must start")
    name = raw.decode("ascii")
    end = position + 12 + length
    if end > len(view):
        raise _damaged(file, f"ends after {len(view)} bytes, inside its {name} chunk")
    (stored,) = struct.unpack_from(">I", view, end - 4)
    if zlib.crc32(view[position + 4 : end - 4]) != stored:
        raise _damaged(file, f"has a wrong check sum in its {name} chunk at byte {position}")
    if name[0].isupper() and name not in _CRITICAL:
        raise _damaged(file, f"holds a {name} chunk, which is critical and no part of the PNG format")
    return name, view[position + 8 : end - 4]


def _header(body: bytes, file: str) -> PngHeader:
    if len(body) != 13:
        raise _damaged(file, f"has an IHDR chunk of {len(body)} bytes instead of 13")
    width, height, depth, colour_type, _, _, interlace = struct.unpack(">IIBBBBB", body)
    if width == 0 or height == 0:
        raise _damaged(file, f"says that it is {width} x {height} pixels large")
    return PngHeader(width, height, depth, colour_type, interlace == 1)


def _damaged(file: str, found: str) -> InputError:
    return InputError(Problem(file, "png-intact", f"is damaged: it {found}.", _RENDER_AGAIN))


def _wrong_signature(data: bytes, file: str) -> Problem:
    if data.startswith(b"version https://git-lfs"):
        found, mend = "is a Git LFS pointer, not the picture.", "Run git lfs pull."
        return Problem(file, "png-signature", found, mend)
    kind = "no PNG file"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        kind = "a WebP file, whatever its name says"
    elif data[4:8] == b"ftyp":
        kind = "an AVIF, HEIC or video file, whatever its name says"
    for magic, name in _OTHER_KINDS:
        if data.startswith(magic):
            kind = f"{name}, whatever its name says"
    mend = "Save the model's own output as 8-bit RGB PNG; a lossy file that is converted keeps its losses."
    return Problem(file, "png-signature", f"is {kind}.", mend)
