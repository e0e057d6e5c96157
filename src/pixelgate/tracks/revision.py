"""Digests of files, and the revision of a data set that no repository gives one to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pixelgate.errors import InputError, Problem

_BLOCK = 1 << 20


@dataclass(frozen=True)
class FileDigest:
    """One file as it lies on the disk.

    Attributes:
        size: bytes.
        sha256: of its bytes, 64 hex digits.
        git_sha1: git's blob id, 40 hex digits: SHA-1 over ``blob <size>``, a NUL byte and the bytes.
    """

    size: int
    sha256: str
    git_sha1: str


def digest_file(path: Path) -> FileDigest:
    """Read a file once, in blocks of 1 MiB, and give its size and digests."""
    size = path.stat().st_size
    sha256 = hashlib.sha256()
    # Git's name for a file's content; it guards against damage here, not against an attacker.
    git = hashlib.sha1(f"blob {size}\0".encode("ascii"), usedforsecurity=False)
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            sha256.update(block)
            git.update(block)
    return FileDigest(size, sha256.hexdigest(), git.hexdigest())


def content_revision(root: Path, names: Iterable[str], known: Mapping[str, str] | None = None) -> str:
    """The revision of a folder's files: ``sha256:`` and 64 hex digits.

    It is the SHA-256 of one line per file, in the order of the names' UTF-8 bytes:
    the SHA-256 of the file's bytes in hex, two blanks, the name relative to the folder with ``/`` between
    its parts, a line feed. The same lines come from ``sha256sum``, so that anyone can check it::

        find content style gt -name '*.png' -type f | LC_ALL=C sort | xargs sha256sum | sha256sum

    Args:
        root: the folder.
        names: relative names with ``/``.
        known: name -> digest that stands for the file's, such as that of its decoded pixels.

    Raises:
        InputError: rule ``not-readable``, a file cannot be read.
    """
    lines = []
    for name in names:
        try:
            lines.append((name, (known or {}).get(name) or digest_file(root / name).sha256))
        except OSError as error:
            raise InputError(_unreadable(root / name, error)) from None
    return _revision(lines)


def pixel_revision(root: Path, names: Iterable[str]) -> str:
    """As `content_revision`, over decoded pictures in place of file bytes.

    The digest of a picture is the SHA-256 of ``<mode> <width>x<height>``, a line feed, and its raw samples.

    Raises:
        InputError: rule ``not-readable``, a file cannot be read or decoded.
    """
    from PIL import Image

    lines = []
    for name in names:
        try:
            with Image.open(root / name) as image:
                head = f"{image.mode} {image.width}x{image.height}\n".encode("ascii")
                lines.append((name, hashlib.sha256(head + image.tobytes()).hexdigest()))
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:  # as Pillow finds damage
            raise InputError(_unreadable(root / name, error)) from None
    return _revision(lines)


def _unreadable(path: Path, error: Exception) -> Problem:
    reason = getattr(error, "strerror", None) or str(error)
    return Problem(str(path), "not-readable", f"cannot be read ({reason}).", "Check its rights, or put it there anew.")


def _revision(lines: list[tuple[str, str]]) -> str:
    # Python sorts text by code point, which is the order of its UTF-8 bytes.
    text = "".join(f"{digest}  {name}\n" for name, digest in sorted(lines))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
