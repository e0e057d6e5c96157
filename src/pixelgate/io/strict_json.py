"""JSON files read without the leniency of the standard library: no key counts twice, no key is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pixelgate.errors import InputError, Problem


class DuplicateKey(ValueError):
    """An object of a JSON text names a key twice."""


def load_json(path: Path, rule: str, mend: str, *, constant: Callable[[str], Any] | None = None) -> Any:
    """The content of a JSON file in UTF-8, with or without a byte order mark.

    Args:
        path: the file.
        rule: the short name of the rule that a broken file breaks.
        mend: what to do about it.
        constant: what to make of the bare tokens NaN, Infinity and -Infinity, which are no JSON; refused if None.

    Raises:
        InputError: ``not-a-file``, ``not-readable``, or `rule`: no UTF-8, no JSON, or a key twice in one object.
    """
    file = str(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=_unique, parse_constant=constant or _refuse)
    except (FileNotFoundError, IsADirectoryError):
        found = "is a folder." if path.is_dir() else "does not exist."
        raise InputError(Problem(file, "not-a-file", found, "Give the path of a JSON file.")) from None
    except OSError as error:
        found = f"cannot be read ({error.strerror or error})."
        raise InputError(Problem(file, "not-readable", found, "Check its rights.")) from None
    except UnicodeDecodeError as error:
        found = f"is not in UTF-8 (byte {error.start})."
        raise InputError(Problem(file, rule, found, "Save it in UTF-8.")) from None
    except DuplicateKey as error:
        raise InputError(Problem(file, rule, f"{error}.", mend)) from None
    except (ValueError, RecursionError) as error:
        raise InputError(Problem(file, rule, f"is no JSON ({error}).", mend)) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise DuplicateKey(f"names {key!r} twice")
        result[key] = value
    return result


def _refuse(token: str) -> Any:
    raise ValueError(f"the token {token} is no JSON")
