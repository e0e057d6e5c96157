"""A PNG encoder whose bytes are the same on every machine.

Common encoders leave the compressed bytes to the zlib at hand, and zlib, zlib-ng and others compress
differently. Here the zlib stream holds stored (uncompressed) blocks only, so the file depends on the
picture alone. Definitions: PNG (ISO/IEC 15948), zlib (RFC 1950), deflate stored blocks (RFC 1951, 3.2.4).
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pixelgate.io.files import atomic_write

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_STORED_BLOCK = 65535
_LARGEST_SIDE = 2**31 - 1
_LARGEST_CHUNK = 2**31 - 1


def png_bytes(image: NDArray[np.uint8]) -> bytes:
    """Encode a picture as 8-bit RGB PNG: colour type 2, filter 0 in every row, one IDAT, no other chunks.

    Args:
        image: uint8, height x width x 3, sRGB.

    Returns:
        The file's bytes, a function of the picture alone. About 1 byte per sample: nothing is compressed.

    Raises:
        ValueError: if the array has another type or shape, no pixels, or more than 2 GiB of them.
    """
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
        raise ValueError(f"a picture is uint8, height x width x 3; got {image.dtype}, shape {image.shape}")
    height, width, _ = image.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    stream = zlib_stored(_scanlines(image))
    if max(width, height) > _LARGEST_SIDE or len(stream) > _LARGEST_CHUNK:
        raise ValueError(f"{width} x {height} pixels do not fit into one PNG chunk")
    return SIGNATURE + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", stream) + png_chunk(b"IEND", b"")


def write_png(path: Path, image: NDArray[np.uint8]) -> None:
    """Write `png_bytes` of a picture atomically.

    Args:
        path: the file; missing parent folders are made, an existing file is replaced.
        image: uint8, height x width x 3, sRGB.

    Raises:
        ValueError: as in `png_bytes`.
        InputError: rule ``not-writable``.
    """
    atomic_write(path, png_bytes(image))


def _scanlines(image: NDArray[np.uint8]) -> bytes:
    height, width, _ = image.shape
    rows = np.zeros((height, 1 + 3 * width), dtype=np.uint8)
    rows[:, 1:] = image.reshape(height, 3 * width)
    return rows.tobytes()


def zlib_stored(data: bytes) -> bytes:
    """Wrap bytes as a zlib stream of stored blocks, without compression."""
    # 0x78 0x01: deflate, 32 KiB window, fastest level; the check bits make it a multiple of 31.
    parts = [b"\x78\x01"]
    for start in range(0, len(data), _STORED_BLOCK):
        block = data[start : start + _STORED_BLOCK]
        last = start + _STORED_BLOCK >= len(data)
        parts.append(struct.pack("<BHH", int(last), len(block), len(block) ^ 0xFFFF))
        parts.append(block)
    parts.append(struct.pack(">I", zlib.adler32(data)))
    return b"".join(parts)


def png_chunk(name: bytes, body: bytes) -> bytes:
    """Return one PNG chunk: length, name, body, CRC."""
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
