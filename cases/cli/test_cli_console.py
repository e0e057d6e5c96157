"""What reaches stdout and stderr: errors without tracebacks, progress on terminals, pipes that close."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from pixelgate.cli import main
from pixelgate.commands import console, tracks
from pixelgate.errors import InputError, PixelgateError, Problem, WeightsError
from pixelgate.records import Deviation
from pixelgate.tables import count_text, listed


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch):
    """stderr is a terminal of 100 columns."""
    stream = Terminal()
    # pytest puts its own stderr back between a fixture and its test, so only this module's view is changed.
    monkeypatch.setattr(console, "sys", SimpleNamespace(stderr=stream, stdout=sys.stdout))
    monkeypatch.delenv("TERM", raising=False)
    monkeypatch.setattr(console, "_SECONDS", 0.0)
    return stream


def score(photos, *more):
    arguments = ["score", "--track", "my-photos", "--data", photos.data, "--outputs", photos.outputs, "--name", "mine"]
    return main([str(word) for word in [*arguments, "--metrics", "psnr", *more]])


def test_progress_names_case_and_sample(photos, terminal, capsys):
    assert score(photos) == 0
    shown = terminal.getvalue()
    for number, sample in enumerate(photos.ids, start=1):
        assert f"my-photos/full: sample {number} of 3, {sample}" in shown
    assert shown.endswith("\r"), "the line is taken away at the end"
    assert shown.rsplit("\r", 2)[1].strip() == ""
    assert "sample" not in capsys.readouterr().out


@pytest.mark.parametrize(("variable", "value"), [("CI", "true"), ("TERM", "dumb")])
def test_no_progress_in_ci_or_on_a_dumb_terminal(variable, value, photos, terminal, monkeypatch):
    monkeypatch.setenv(variable, value)
    assert score(photos) == 0
    assert terminal.getvalue() == ""


def test_no_progress_without_a_terminal(photos, capsys):
    assert score(photos) == 0
    assert capsys.readouterr().err == ""


def test_progress_fits_the_terminal(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    with console.Progress() as progress:
        progress.show("x" * 50)
        progress.show("short")
    parts = terminal.getvalue().split("\r")
    assert max(map(len, parts)) == 19
    assert parts[2] == "short".ljust(19), "the rest of the longer line is wiped out"


def test_fast_progress_is_thinned_out(terminal, monkeypatch):
    monkeypatch.setattr(console, "_SECONDS", 3600.0)
    with console.Progress() as progress:
        progress.show("one", last=True)
        progress.show("two")
        progress.show("end", last=True)
    assert "two" not in terminal.getvalue()
    assert "end" in terminal.getvalue()


def test_errors_as_lines():
    problems = [Problem("a.png", "size", "too small.", "Use --bench-allow-resize."), Problem("", "x", "y.", "z.")]
    assert console.error_lines(InputError(problems), {"allow-resize": "--allow-resize"}) == [
        "error: a.png: too small. [size] Use --allow-resize.",
        "error: y. [x] z.",
    ]
    error = WeightsError("not found:\n  here\nuse --bench-weights FILE or --bench-golden")
    assert console.error_lines(error, {"weights": "--weights"}) == [
        "error: not found:",
        "  here",
        "use --weights FILE or --bench-golden",
    ]


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (PixelgateError("something to mend"), 2, "error: something to mend\n"),
        (PermissionError(13, "Permission denied", "results"), 2, "error: results: Permission denied\n"),
        (KeyboardInterrupt(), 130, "error: interrupted\n"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_end_in_a_status_and_no_traceback(error, status, told, pixelgate, monkeypatch):
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(tracks, "statuses", fail)
    done = pixelgate("tracks", "--json")
    assert (done.status, done.out, done.err) == (status, "", told)


def test_faults_of_our_own_are_not_hidden(pixelgate, monkeypatch):
    monkeypatch.setattr(tracks, "statuses", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        pixelgate("tracks")


def test_sizes():
    texts = [console.size_text(size) for size in (0, 999, 1_000, 510_300_000, 999_960, 5 * 10**15)]
    assert texts == ["0 bytes", "999 bytes", "1.0 kB", "510.3 MB", "1.0 MB", "5000.0 TB"]


def test_a_reader_that_goes_away_is_no_traceback():
    command = [sys.executable, "-m", "pixelgate.cli", "protocols", "pstbench", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=60) == 2


def test_a_narrow_encoding_is_no_failure():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for more in ((), ("--json",)):
        command = [sys.executable, "-m", "pixelgate.cli", "metrics", *more]
        done = subprocess.run(command, capture_output=True, env=environment, timeout=60)
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"delta_e_2000" in done.stdout
    titles = {entry["id"]: entry["title"] for entry in json.loads(done.stdout)["metrics"]}
    assert titles["delta_e_2000"] == "ΔE00"


def test_lists_below_a_table_tell_each_thing_once():
    left_out = Deviation("lpips", "metric-left-out", "left out")
    entries = [(method, left_out) for method in ("one", "two", "one")]
    entries += [("two", Deviation(f"s-{number}", "resized", f"resized from {number % 4}")) for number in range(8)]
    entries += [("two", Deviation(f"t-{number}", "resized", "resized from 0")) for number in range(3)]
    assert listed("deviations", entries, 3, "run.json") == [
        "deviations:",
        "  one, two: lpips: left out [metric-left-out]",
        "  two: s-0, s-4, t-0 and 2 more: resized from 0 [resized]",
        "  two: s-1, s-5: resized from 1 [resized]",
        "  and 2 more, all in run.json",
    ]
    assert listed("notes", [(str(number), left_out) for number in range(4)], 3, "")[1].startswith("  4 methods: lpips")
    assert listed("notes", [], 3, "run.json") == []


def test_counts_above_a_table():
    assert [count_text(counts) for counts in ([50, 50], [50, 49, 48], [])] == ["50", "48 to 50", "0"]
