"""Progress is shown on a terminal only, and never in CI."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from bench_project import FAST, Project

pty = pytest.importorskip("pty")

SLOW = "import time\ntime.sleep(0.2)\nreturn Measurement(0.0)"


def on_a_terminal(project: Project, *args: str, metrics: str | None = FAST, **environment: str) -> str:
    """All that a run writes to a terminal of 200 columns."""
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    command = [sys.executable, "-m", "pytest", *project.arguments(*args, metrics=metrics)]
    surroundings = {**os.environ, "TERM": "xterm", **environment}
    with subprocess.Popen(
        command, cwd=project.root, stdin=theirs, stdout=theirs, stderr=theirs, env=surroundings
    ) as run:
        os.close(theirs)
        written = b""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            try:
                block = os.read(ours, 4096)
            except OSError:  # the other side is closed
                break
            if not block:
                break
            written += block
        os.close(ours)
        assert run.wait(timeout=60) == 0, written.decode()
    return written.decode()


def test_case_and_sample_are_shown(project: Project) -> None:
    text = on_a_terminal(project, "-k", "test_case")
    for number, sample in enumerate("abc"):
        assert f"cold/toy/full {number + 1}/3 {sample}\x1b8" in text
    assert "\x1b[K" in text


def test_the_text_is_taken_away_again(project: Project) -> None:
    text = on_a_terminal(project, "-k", "test_case")
    after = text[text.rindex("/3 c") :]
    assert "\x1b[K" in after


@pytest.mark.parametrize("environment", [{"CI": "1"}, {"TERM": "dumb"}], ids=["ci", "dumb"])
def test_quiet_where_nobody_watches(project: Project, environment: dict[str, str]) -> None:
    text = on_a_terminal(project, "-k", "test_case", **environment)
    assert "1/3 a" not in text
    assert "\x1b7" not in text


def test_quiet_where_the_output_goes_to_a_file(project: Project) -> None:
    result = project.run_apart("-k", "test_case")
    assert "1/3 a" not in result.stdout.str()
    assert "\x1b" not in result.stdout.str()


def test_workers_are_shown(project: Project) -> None:
    pytest.importorskip("xdist")
    project.probe(SLOW)
    text = on_a_terminal(project, "-n2", "-k", "test_case", metrics=None)
    assert "gw0: " in text
    assert "gw1: " in text
    assert "/toy/full " in text
    assert "\x1b7" in text


def test_workers_are_quiet_in_ci(project: Project) -> None:
    pytest.importorskip("xdist")
    text = on_a_terminal(project, "-n2", "-k", "test_case", CI="1")
    assert "gw0: cold" not in text
    assert "\x1b7" not in text


@pytest.mark.parametrize("plugin", ["terminal", "capture"])
def test_without_a_plugin_of_pytests_own(project: Project, plugin: str) -> None:
    on_a_terminal(project, "-k", "test_case", "-p", f"no:{plugin}")


def test_without_capturing(project: Project) -> None:
    text = on_a_terminal(project, "-k", "test_case", "-s")
    assert "cold/toy/full 2/3 b" in text
