"""Digests of files and pictures, and writing that leaves either the old file or the whole new one."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem

_BLOCK = 1 << 20


def sha256_bytes(data: bytes) -> str:
    """SHA-256 of ``data`` as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """SHA-256 of a file's bytes as 64 lower-case hex digits, read in blocks of 1 MiB.

    Raises:
        InputError: rule ``not-readable``, if the file cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise InputError(_unreadable(path, error)) from None
    return digest.hexdigest()


def read_regular_file(path: Path, mend: str) -> bytes:
    """The whole content of a file; a pipe or a device, which would block or never end, is not opened.

    Args:
        path: the file.
        mend: what to do where there is no such file, e.g. ``Give the path of a PNG file.``

    Raises:
        InputError: rule ``not-a-file`` or ``not-readable``.
    """
    file = str(path)
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            return path.read_bytes()
    except FileNotFoundError:
        found = "is a link to a file that is not there." if path.is_symlink() else "does not exist."
        raise InputError(Problem(file, "not-a-file", found, mend)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        problem = Problem(file, "not-readable", f"cannot be read ({reason}).", "Check its rights and its folder's.")
        raise InputError(problem) from None
    kind = "a folder" if stat.S_ISDIR(mode) else "no regular file"
    raise InputError(Problem(file, "not-a-file", f"is {kind}, where a file is wanted.", mend))


def pixel_digest(image: NDArray[np.uint8]) -> str:
    """SHA-256 of a decoded picture, the same however its file was compressed.

    The hashed bytes are the ASCII text ``<height>x<width>x3`` and a line feed, then the RGB bytes row by
    row from the top left corner, three bytes a pixel.

    Args:
        image: uint8, height x width x 3.

    Returns:
        64 lower-case hex digits.

    Raises:
        ValueError: if the array has another type or shape.
    """
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise ValueError(f"a picture is uint8, height x width x 3; got {image.dtype}, shape {image.shape}")
    height, width, _ = image.shape
    digest = hashlib.sha256(f"{height}x{width}x3\n".encode("ascii"))
    digest.update(_buffer(image))
    return digest.hexdigest()


def atomic_write(path: Path, data: bytes | str) -> None:
    """Write a file so that a reader, or a kill, finds the old content or the whole new one.

    The data go to a temporary file in the same folder, which then takes the file's name. Missing parent
    folders are made. Text is written as UTF-8 with its line ends unchanged.

    Args:
        path: the file to write; an existing one is replaced.
        data: its whole content.

    Raises:
        InputError: rule ``not-writable``, if the folder or the file cannot be written.
    """
    payload = data.encode("utf-8") if isinstance(data, str) else data
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as stream:
                stream.write(payload)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            Problem(str(path), "not-writable", f"cannot be written ({reason}).", "Check the folder's rights and space.")
        ) from None


def _buffer(image: NDArray[np.uint8]) -> Any:
    # hashlib takes the array's own memory where it is contiguous, so that no copy is made.
    return np.ascontiguousarray(image).data


def _unreadable(path: Path, error: OSError) -> Problem:
    reason = error.strerror or str(error)
    return Problem(str(path), "not-readable", f"cannot be read ({reason}).", "Check that it exists and may be read.")
