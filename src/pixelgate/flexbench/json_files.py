"""Reading JSON that others wrote, without losing anything unseen."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from pixelgate.errors import InputError, Problem
from pixelgate.io.files import read_regular_file

_FLOAT_DIGITS = 300


def read_text(path: Path, rule: str, mend: str) -> str:
    """A file's text: UTF-8, with or without a byte order mark, line ends as they are.

    Raises:
        InputError: rule ``not-a-file`` or ``not-readable``; the given rule where it is not UTF-8.
    """
    if path.is_dir():
        raise InputError(Problem(str(path), "not-a-file", "is a folder.", mend))
    try:
        return read_regular_file(path, mend).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(Problem(str(path), rule, f"is not UTF-8 text (byte {error.start}).", mend)) from None


def read_json(path: Path, mend: str) -> Any:
    """A JSON file's content.

    ``NaN`` and ``Infinity``, which other tools write though JSON has no such words, come back as floats that are not
    finite: the caller decides. A key that stands twice in one object is an error, since one of the two would be lost.

    Args:
        path: the file.
        mend: what to do where it cannot be read.

    Raises:
        InputError: rule ``not-a-file``, ``not-readable`` or ``broken-json``.
    """
    text = read_text(path, "broken-json", mend)
    try:
        return json.loads(text, parse_constant=_constant, parse_int=_whole, object_pairs_hook=_once)
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError as error:
        reason = str(error)
    raise InputError(Problem(str(path), "broken-json", f"cannot be read as JSON: {reason}.", mend))


def _constant(word: str) -> float:
    return math.nan if word == "NaN" else float(word.replace("Infinity", "inf"))


def _whole(digits: str) -> int | float:
    # A number that no float can hold is infinite, as one with an exponent is.
    return int(digits) if len(digits) < _FLOAT_DIGITS else float(digits)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        raise ValueError(f"{', '.join(map(repr, twice))} stands twice in one object")
    return found
