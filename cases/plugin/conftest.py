"""A small project in a temporary folder: a user's own track of three pairs, outputs of methods, and runs on them."""

from __future__ import annotations

import importlib
import json
import pkgutil
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import pixelgate
import pytest_bench
from pixelgate.metrics import registry as metric_registry
from pixelgate.protocols import protocol as protocol_registry
from pixelgate.tracks import registry as track_registry

SAMPLES = ("a", "b", "c")
HEIGHT, WIDTH = 40, 48

FAST = "psnr,ssim,de00,hcorr_gt,hcorr_style"
"""All of the protocol but its network, for runs that are about something else."""

TRACK = """\
id: {track}
protocol: {protocol}
samples: "{{id}}.png"
columns: {{content: content, style: style, reference: gt}}
"""


def picture(seed: int, height: int = HEIGHT, width: int = WIDTH) -> np.ndarray:
    """A smooth random picture."""
    small = np.random.default_rng(seed).integers(0, 256, (6, 6, 3), dtype=np.uint8)
    return np.asarray(Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC))


def load(path: Path) -> np.ndarray:
    with Image.open(path) as opened:
        return np.array(opened)


def save(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def nudge(path: Path, levels: int = 1) -> None:
    """Change one channel of one pixel."""
    pixels = load(path)
    value = int(pixels[3, 5, 1])
    pixels[3, 5, 1] = value - levels if value >= levels else value + levels
    save(path, pixels)


class Project:
    """A user's project folder and pytest runs in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.root = pytester.path
        self.outputs = self.root / "out"
        self.data = self.root / "data"

    def track(self, name: str = "toy", protocol: str = "pstbench", seed: int = 0) -> Path:
        """Write a track of three pairs."""
        folder = self.data / name
        for number, sample in enumerate(SAMPLES):
            for offset, column in enumerate(("content", "style", "gt")):
                save(folder / column / f"{sample}.png", picture(seed + 10 * number + offset))
        (folder / "track.yaml").write_text(TRACK.format(track=name, protocol=protocol), encoding="utf-8")
        return folder

    def method(self, name: str = "warm", shift: int = 4, track: str = "toy") -> Path:
        """Write the outputs of a method: ground truth that is a little too bright or dark."""
        folder = self.outputs / name / track
        for sample in SAMPLES:
            truth = load(self.data / track / "gt" / f"{sample}.png").astype(int)
            save(folder / f"{sample}.png", np.clip(truth + shift, 0, 255).astype(np.uint8))
        return folder

    def conftest(self, text: str) -> None:
        (self.root / "conftest.py").write_text(text, encoding="utf-8")

    def arguments(self, *args: str, metrics: str | None = FAST) -> list[str]:
        own = ["--bench-outputs=out", "--bench-data=data", *([f"--bench-metrics={metrics}"] if metrics else [])]
        return [*own, *map(str, args)]

    def run(self, *args: str, metrics: str | None = FAST) -> pytest.RunResult:
        """Score the outputs, in this process."""
        return self.pytester.runpytest_inprocess(*self.arguments(*args, metrics=metrics))

    def run_apart(self, *args: str, metrics: str | None = FAST) -> pytest.RunResult:
        """Score the outputs in a process of its own, as for runs that have workers."""
        return self.pytester.runpytest_subprocess(*self.arguments(*args, metrics=metrics), timeout=120)

    def report(self, name: str = "report/report.json") -> dict[str, Any]:
        """A written report; a number that JSON does not have is an error."""

        def refuse(constant: str) -> None:
            raise ValueError(f"{constant} in {name}")

        text = (self.root / name).read_text(encoding="utf-8")
        loaded: dict[str, Any] = json.loads(text, parse_constant=refuse)
        return loaded

    def case(self, case_id: str, name: str = "report/report.json") -> dict[str, Any]:
        """One case of a written report."""
        return next(case for case in self.report(name)["cases"] if case["id"] == case_id)

    def golden(self, method: str = "warm", track: str = "toy", protocol: str = "pstbench") -> Path:
        return self.root / "golden" / protocol / track / f"{method}.json"

    def edit_golden(self, method: str = "warm", **changes: Any) -> dict[str, Any]:
        """Change entries of a golden file by their path, e.g. ``slices__full__metrics__psnr__value=1.0``."""
        file = self.golden(method)
        data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        for path, value in changes.items():
            *parents, last = path.split("__")
            place = data
            for key in parents:
                place = place[key]
            place[last] = value
        file.write_text(json.dumps(data), encoding="utf-8")
        return data


def text_of(result: pytest.RunResult) -> str:
    """All that a run printed."""
    return "\n".join([*result.outlines, *result.errlines])


def error_lines(result: pytest.RunResult) -> list[str]:
    """The lines of a usage error."""
    return [line for line in [*result.outlines, *result.errlines] if line.startswith("ERROR: ")]


def timeless(value: Any) -> Any:
    """A report without what two equal runs may differ in."""
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if key not in ("created", "duration_s")}
    if isinstance(value, list):
        return [timeless(item) for item in value]
    return value


@pytest.fixture(scope="session", autouse=True)
def _imported() -> None:
    """Load every module once: a run inside this process forgets what it was the first to import."""
    for package in (pixelgate, pytest_bench):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            # Networks are loaded in processes of their own only.
            if "lpips_network" not in module.name and "__main__" not in module.name:
                importlib.import_module(module.name)
    Image.init()


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a run inside this process registers is gone afterwards, and no run takes our output for a terminal."""
    for module, name in (
        (metric_registry, "_METRICS"),
        (protocol_registry, "_REGISTERED"),
        (track_registry, "_REGISTERED"),
    ):
        monkeypatch.setattr(module, name, dict(getattr(module, name)))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("CI", "BUILD_NUMBER", "PYTHONDONTWRITEBYTECODE"):
        monkeypatch.delenv(name, raising=False)
    # Plugins that are here for other tests; hypothesis would be imported anew by every run.
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest -p no:anyio")
    yield


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with the track ``toy`` and the outputs of ``warm`` and ``cold``; its score cache is its own."""
    monkeypatch.setenv("PIXELGATE_CACHE", str(pytester.path / "scores"))
    project = Project(pytester)
    project.track()
    project.method("warm", 4)
    project.method("cold", -9)
    return project


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


PYTHON = sys.executable
