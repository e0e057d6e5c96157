"""The demo clips' golden numbers: closed forms known before anything was scored, and a gated run of two workers."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[2] / "golden" / "flexbench"
RUNS = ("demo-blocky", "demo-noisy", "demo-still")
SEEDS = (0, 1)

# Sample -> frames, height and width of the clip.
CLIPS = {"bikes": (20, 136, 320), "bunny": (16, 180, 320), "carphone": (24, 144, 176)}


def numbers(track: str, run: str, seed: int, metric: str) -> dict:
    """A golden entry."""
    data = json.loads((GOLDEN / f"demo-video-{track}" / f"{run}.json").read_text(encoding="utf-8"))
    return data["slices"][f"seed-{seed}"]["metrics"][metric]


@pytest.mark.parametrize(("seed", "level"), [(0, 4), (1, 6)])
def test_noise_of_a_known_amplitude(seed: int, level: int) -> None:
    wanted = {"inpaint_mse": level**2, "inpaint_mae": level, "inpaint_psnr": 20 * math.log10(255 / level)}
    for metric, value in wanted.items():
        entry = numbers("inpainting", "demo-noisy", seed, metric)
        assert entry["value"] == pytest.approx(value, abs=1e-9)
        assert entry["samples"] == {sample: pytest.approx(value, abs=1e-9) for sample in CLIPS}
        assert "written by pixelgate" in entry["source"]


@pytest.mark.parametrize(("seed", "offset"), [(0, (8, 6)), (1, (-12, 9))])
def test_people_moved_by_a_known_offset(seed: int, offset: tuple[int, int]) -> None:
    entry = numbers("pose", "demo-noisy", seed, "pose_akd")
    wanted = {name: math.hypot(offset[0] / width, offset[1] / height) for name, (_, height, width) in CLIPS.items()}
    assert entry["samples"] == {name: pytest.approx(value, abs=1e-9) for name, value in wanted.items()}
    assert entry["value"] == pytest.approx(sum(wanted.values()) / 3, abs=1e-9)


@pytest.mark.parametrize(("seed", "turn"), [(0, 0.01), (1, 0.02)])
def test_a_camera_that_drifts_by_a_known_angle(seed: int, turn: float) -> None:
    entry = numbers("camera", "demo-noisy", seed, "camera_RotErr")
    wanted = {name: turn * frames * (frames - 1) / 2 for name, (frames, _, _) in CLIPS.items()}
    assert entry["samples"] == {name: pytest.approx(value, abs=1e-6) for name, value in wanted.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_what_changes_nothing_scores_nothing(seed: int) -> None:
    for track, metrics in {
        "depth": ("depth_mae", "depth_rmse_linear"),
        "camera": ("camera_RotErr", "camera_TransErr", "camera_CamMC"),
        "pose": ("pose_akd",),
    }.items():
        for metric in metrics:
            assert numbers(track, "demo-blocky", seed, metric)["value"] == pytest.approx(0, abs=1e-6)
    for metric in ("camera_TransErr_rel", "camera_CamMC_rel", "camera_RotErr_rel"):
        assert numbers("camera", "demo-still", seed, metric)["value"] == pytest.approx(1, abs=1e-6)
    # The dolly never turns: its ratio to chance is left out, and counted.
    assert numbers("camera", "demo-still", seed, "camera_RotErr_rel")["n"] == 2


@pytest.mark.slow
def test_the_demo_is_green_under_two_workers(tmp_path: Path) -> None:
    """All groups with the network, gated, in a folder that knows nothing of this repository."""
    environment = {**os.environ, "PIXELGATE_CACHE": str(tmp_path / "scores")}
    made = [sys.executable, "-m", "pixelgate.cli", "demo", "--only", "demo-video", "--out", "out", "--", "-n", "2"]
    gated = [*made, "-p", "no:cacheprovider", "-k", "test_case or test_seeds", "--bench-show-video"]
    done = subprocess.run(
        gated, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=400
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    report = json.loads((tmp_path / "report" / "report.json").read_text(encoding="utf-8"))
    assert len(report["cases"]) == 4 * len(RUNS) * len(SEEDS)
    assert {case["golden"]["status"] for case in report["cases"]} == {"passed"}
    assert all(difference["passed"] for case in report["cases"] for difference in case["golden"]["differences"])
    assert len([sheet for case in report["cases"] for sheet in case["sheets"]]) == 3 * len(RUNS) * len(SEEDS) * 3
