"""What commands write: JSON or lines on stdout, errors and passing progress on stderr."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, TextIO

from pixelgate.errors import InputError, PixelgateError

_SECONDS = 0.05
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def print_json(data: Any) -> None:
    """Print JSON on stdout, in ASCII, so that every terminal and pipe takes it.

    Raises:
        ValueError: a number in it is NaN or infinite.
    """
    print(json.dumps(data, indent=2, allow_nan=False))


def print_lines(lines: Iterable[str]) -> None:
    """Print lines on stdout."""
    for line in lines:
        print(line)


def print_errors(lines: Iterable[str]) -> None:
    """Print lines on stderr."""
    for line in lines:
        print(line, file=sys.stderr)


def error_lines(error: PixelgateError, own_options: Mapping[str, str] | None = None) -> list[str]:
    """An error as lines that begin with ``error:``; details of one error follow it as they are.

    Args:
        error: the error.
        own_options: what ``--bench-<name>`` is called in the command at hand; other names stay as they are.
    """
    if isinstance(error, InputError):
        lines = [f"error: {problem}" for problem in error.problems]
    else:
        lines = f"error: {error}".splitlines()
    known = own_options or {}
    return [re.sub(r"--bench-([a-z-]+)", lambda match: known.get(match[1], match[0]), line) for line in lines]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines with aligned columns, without trailing blanks."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def size_text(size: int) -> str:
    """A number of bytes for people: ``510.3 MB``."""
    value, unit = float(size), 0
    while value >= 999.95 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{size} bytes" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def terminal() -> TextIO | None:
    """The terminal to show progress on; None where stderr goes elsewhere or a CI system reads it."""
    stream = sys.stderr
    if not stream.isatty() or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return None
    return stream


class Progress:
    """One passing line on a terminal, taken away at the end; silent elsewhere. Use it in a ``with``."""

    def __init__(self) -> None:
        self._stream = terminal()
        self._width = 0
        self._last = 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def show(self, text: str, *, last: bool = False) -> None:
        """Replace the line. Calls that come very fast are passed over, but for the last one."""
        now = time.monotonic()
        if self._stream is None or (now - self._last < _SECONDS and not last):
            return
        self._last = now
        room = shutil.get_terminal_size().columns - 1
        self._write(text[:room])

    def clear(self) -> None:
        """Take the line away."""
        if self._width:
            self._write("")

    def scoring(self, case_id: str, done: int, total: int, sample: str) -> None:
        """Show which sample of which case is being scored; see `pixelgate.engine.Progress`."""
        self.show(f"{case_id}: sample {done + 1} of {total}, {sample}")

    def making(self, done: int, total: int, name: str) -> None:
        """Show which file was made last; see `pixelgate.methods.outputs.Progress`."""
        self.show(f"{done} of {total} files written, {name}", last=done == total)

    def _write(self, text: str) -> None:
        assert self._stream is not None
        # Blanks in place of an escape code: old Windows consoles print that.
        self._stream.write(f"\r{text.ljust(self._width)}" + ("" if text else "\r"))
        self._stream.flush()
        self._width = len(text)
