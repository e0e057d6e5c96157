"""Progress on long work: which case and which of its samples is being scored. On a terminal only, never in CI."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import TextIO

import pytest

from pixelgate.io.files import atomic_write

FOLDER = "bench_progress"

_SAVE, _RESTORE, _CLEAR = "\x1b7", "\x1b8", "\x1b[K"
_SECONDS = 0.5
_LEAST_ROOM = 30


def terminal() -> TextIO | None:
    """The terminal to show progress on; None where the output goes elsewhere or a CI system reads it."""
    stream = sys.__stdout__
    if stream is None or not stream.isatty() or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return None
    return stream


def line(case_id: str, done: int, total: int, sample: str) -> str:
    """``identity/pst50-paired/full 3/50 pst50-003``."""
    return f"{case_id} {done + 1}/{total} {sample}"


class Painter:
    """Writes a passing text behind whatever pytest has written on the current line, and takes it away again.

    Args:
        config: pytest's configuration.
        stream: the terminal.
    """

    def __init__(self, config: pytest.Config, stream: TextIO) -> None:
        self._config = config
        self._stream = stream

    def show(self, text: str) -> None:
        """Replace the passing text; an empty one only takes the old one away."""
        # pytest's own writer comes later than this object, and never with -p no:terminal.
        if not self._config.pluginmanager.has_plugin("terminalreporter"):
            return
        writer = self._config.get_terminal_writer()
        room = writer.fullwidth - writer.width_of_current_line - 4
        shown = f"  {text[:room]}" if text and room >= _LEAST_ROOM else ""
        # One write: another thread may be printing dots.
        self._stream.write(f"{_CLEAR}{_SAVE}{shown}{_RESTORE}")
        self._stream.flush()


class LocalProgress:
    """Progress of a serial run."""

    def __init__(self, config: pytest.Config, stream: TextIO) -> None:
        self._capture = config.pluginmanager.get_plugin("capturemanager")
        self._painter = Painter(config, stream)

    def __call__(self, case_id: str, done: int, total: int, sample: str) -> None:
        """Show what is being scored."""
        self._show(line(case_id, done, total, sample))

    def pytest_runtest_logfinish(self) -> None:
        """Take the text away before the next item's."""
        self._show("")

    def _show(self, text: str) -> None:
        if self._capture is None:
            self._painter.show(text)
            return
        with self._capture.global_and_fixture_disabled():
            self._painter.show(text)


class WorkerProgress:
    """Progress of a worker: a small file that the controller reads."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @classmethod
    def of(cls, config: pytest.Config) -> WorkerProgress | None:
        """The progress of this worker; None where nobody watches."""
        workerinput = getattr(config, "workerinput", {})
        folder = workerinput.get(FOLDER)
        return cls(Path(folder) / f"{workerinput['workerid']}.json") if folder else None

    def __call__(self, case_id: str, done: int, total: int, sample: str) -> None:
        """Tell what is being scored."""
        atomic_write(self._file, json.dumps(line(case_id, done, total, sample)))


class Watcher:
    """Shows on the controller's terminal what its workers are at.

    Args:
        folder: where they tell it.
        painter: how it is shown.
    """

    def __init__(self, folder: Path, painter: Painter) -> None:
        self._folder = folder
        self._painter = painter
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Start watching."""
        self._thread.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Stop watching before anything else is printed."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._painter.show("")

    def _watch(self) -> None:
        while not self._stop.wait(_SECONDS):
            texts = [f"{file.stem}: {_read(file)}" for file in sorted(self._folder.glob("gw*.json"))]
            self._painter.show(" | ".join(texts))


def _read(file: Path) -> str:
    try:
        return str(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return "…"
