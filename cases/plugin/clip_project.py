"""A user's folder of generated clips, its data set, and pytest runs on them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CONFORMANCE = Path(__file__).parents[1] / "conformance" / "flexbench"

# Twelve frames of 128x96.
CLIP = CONFORMANCE / "video" / "bt601_tagged.mp4"
FRAMES, HEIGHT, WIDTH = 12, 96, 128

SAMPLES = ("001", "002")

INVARIANTS = 7
"""The protocol's."""


def trajectory(depth: float, turn: float = 0.0, frames: int = FRAMES) -> np.ndarray:
    """A camera that moves sideways and forwards and turns about the vertical."""
    poses = np.tile(np.eye(4), (frames, 1, 1))
    for index, share in enumerate(np.linspace(0, 1, frames)):
        angle = turn * share
        poses[index, :3, :3] = [
            [np.cos(angle), 0, np.sin(angle)],
            [0, 1, 0],
            [-np.sin(angle), 0, np.cos(angle)],
        ]
        poses[index, :3, 3] = [share, 0, depth * share]
    return poses


def keypoints(shift: float = 0.0, frames: int = FRAMES) -> np.ndarray:
    """One person in pixels, all keypoints confident, moved to the right."""
    places = np.random.default_rng(5).uniform(0.2, 0.8, (134, 2)) * (WIDTH, HEIGHT)
    points = np.ones((frames, 1, 134, 3))
    points[..., :2] = places + np.arange(frames)[:, None, None, None] * 0.5
    points[..., 0] += shift
    return points


class ClipProject:
    """A data set ``ds`` and runs in ``out``."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.root = pytester.path
        self.data = self.root / "ds"
        self.out = self.root / "out"
        for folder in ("camera", "pose/raw"):
            (self.data / folder).mkdir(parents=True)
        for index, sample in enumerate(SAMPLES):
            np.savez(self.data / "camera" / f"{sample}.npz", cam_c2w=trajectory(0.5 + index, 0.4))
            np.save(self.data / "pose" / "raw" / f"{sample}_pose.npy", keypoints())
            shutil.copy(CLIP, self.data / "pose" / f"{sample}.mp4")
        self.captions({sample: f"a clip {sample}" for sample in SAMPLES})

    def captions(self, prompts: dict[str, str]) -> None:
        text = json.dumps({f"{sample}.mp4": prompt for sample, prompt in prompts.items()})
        (self.data / "captions.json").write_text(text, encoding="utf-8")

    def run_folder(
        self,
        method: str = "m",
        conditions: tuple[str, ...] = ("camera", "pose"),
        seeds: tuple[int, ...] = (),
        **more: Any,
    ) -> Path:
        """Write a run: a manifest, clips, and their predictions."""
        folder = self.out / method
        folder.mkdir(parents=True, exist_ok=True)
        run = {"conditions": list(conditions), "seeds": list(seeds), "dataset_dir": "ds", **more}
        (folder / "manifest.json").write_text(json.dumps({"run": run}), encoding="utf-8")
        for index, place in enumerate([folder / f"seed_{seed}" for seed in seeds] or [folder]):
            self.clips(place, float(index))
        return folder

    def clips(self, place: Path, shift: float = 0.0) -> None:
        """Write the clips of one seed with their predictions."""
        for kind in ("camera", "pose"):
            (place / "predictions" / kind).mkdir(parents=True, exist_ok=True)
        for index, sample in enumerate(SAMPLES):
            shutil.copy(CLIP, place / f"{sample}.mp4")
            path = trajectory(0.7 + index + shift, 0.3)
            np.savez(place / "predictions" / "camera" / f"{sample}.npz", cam_c2w=path)
            np.save(place / "predictions" / "pose" / f"{sample}_pose.npy", keypoints(2.0 + shift))

    def run(self, *args: object, outputs: str = "out") -> pytest.RunResult:
        """Score in this process."""
        return self.pytester.runpytest_inprocess(*self._arguments(outputs, args))

    def run_apart(self, *args: object, outputs: str = "out") -> pytest.RunResult:
        """Score in a process of its own, as runs with workers need it."""
        return self.pytester.runpytest_subprocess(*self._arguments(outputs, args), timeout=180)

    def _arguments(self, outputs: str, args: tuple[object, ...]) -> list[str]:
        own = [f"--bench-outputs={outputs}", "--bench-report=report", f"--bench-cache={self.root / 'scores'}"]
        return [*own, *map(str, args)]

    def report(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.root / "report" / "report.json").read_text(encoding="utf-8"))
        return loaded

    def cases(self) -> dict[str, dict[str, Any]]:
        """The report's cases by id."""
        return {case["id"]: case for case in self.report()["cases"]}
