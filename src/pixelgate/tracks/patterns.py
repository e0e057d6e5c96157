"""File patterns of a track: ``content_709/in{n}.png`` and the ids that they name."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

ID_RULE = "ASCII letters, digits, '.', '_' and '-', beginning with a letter or digit and not ending with '.'"
_ID = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?"
_ID_PATTERN = re.compile(_ID)
_FIELD = re.compile(r"\{(id|n)(?::0([1-9]))?\}")


def is_id(text: str) -> bool:
    """Whether ``text`` can name a track or a sample: it becomes a file name and part of a test id."""
    return _ID_PATTERN.fullmatch(text) is not None


def pattern_fault(pattern: str, *, field: str = "") -> str:
    """What is wrong with a file pattern, in a few words; empty where it is usable.

    A pattern is a relative path with ``/`` between its parts. Its last part holds ``{id}``, the sample's
    id, or ``{n}``, its number, where ``{n:03d}`` pads with zeros to three digits.

    Args:
        pattern: the pattern.
        field: ``id`` or ``n`` where only that field is allowed.
    """
    if not pattern or pattern != pattern.strip() or any(ord(char) < 32 for char in pattern):
        return "is empty, has blanks at an end, or holds control characters"
    if "\\" in pattern or pattern.startswith("/") or re.match(r"[A-Za-z]:", pattern):
        return "must be a relative path with '/' between folders"
    if any(part in ("", ".", "..") for part in pattern.split("/")):
        return "must not hold '.', '..' or empty parts"
    fields = _FIELD.findall(normalise(pattern))
    rest = _FIELD.sub("", normalise(pattern))
    if "{" in rest or "}" in rest:
        return "may hold {id}, {n} or a padded number such as {n:03d}, and no other braces"
    if any(name == "id" and width for name, width in fields):
        return "cannot pad {id}; only numbers are padded"
    if len(fields) != 1:
        return "needs {id} or {n} exactly once"
    if field and fields[0][0] != field:
        return f"needs {{{field}}} here"
    if "{" not in pattern.rsplit("/", 1)[-1]:
        return "needs its {id} or {n} in the file name, not in a folder"
    return ""


def normalise(pattern: str) -> str:
    """The pattern with its number field in one spelling: ``{n:03d}`` and ``{n:03}`` are the same."""
    return re.sub(r"\{n:(0[1-9])d?\}", r"{n:\1}", pattern)


def expand(pattern: str, sample: str, number: int | None) -> str:
    """The relative file name of one sample, with ``/`` between its parts.

    Args:
        pattern: a usable pattern.
        sample: the id.
        number: the sample's number; may be None for a pattern without ``{n}``.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] == "id":
            return sample
        if number is None:
            raise ValueError(f"pattern {pattern!r} asks for a number, and sample {sample!r} has none")
        return str(number).zfill(int(match[2] or 0))

    return _FIELD.sub(value, normalise(pattern))


def folder_of(pattern: str) -> str:
    """The folder part of a pattern; empty where its files lie at the top."""
    parent = PurePosixPath(pattern).parent.as_posix()
    return "" if parent == "." else parent


def suffix_of(pattern: str) -> str:
    """The suffix of a pattern's files, such as ``.png``."""
    return PurePosixPath(pattern).suffix


def id_in(pattern: str, name: str) -> str | None:
    """The id that a file name holds under a pattern with ``{id}``; None where the name does not fit.

    Args:
        pattern: a usable pattern with ``{id}``.
        name: the file's name without its folder.
    """
    before, after = pattern.rsplit("/", 1)[-1].split("{id}")
    match = re.fullmatch(f"{re.escape(before)}({_ID}){re.escape(after)}", name)
    return match[1] if match else None
