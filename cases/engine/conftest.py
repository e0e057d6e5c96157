"""Tracks and outputs to score: the reference photographs, and small synthetic ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from engine_tools import save

PST = Path(__file__).parents[1] / "conformance" / "pst"

TRACK = """\
id: {id}
title: test track
protocol: pstbench
samples: "{{id}}.png"
columns:
  content: content/{{id}}.png
  style: style/{{id}}.png
  reference: gt/{{id}}.png
"""


@pytest.fixture
def photographs(tmp_path):
    """The reference photographs as a track ``photographs`` and its four methods' outputs."""
    data = tmp_path / "data"
    for folder in ("content", "style", "gt"):
        shutil.copytree(PST / folder, data / folder)
    (data / "track.yaml").write_text(TRACK.format(id="photographs"))
    outputs = tmp_path / "outputs"
    for method in (PST / "outputs").iterdir():
        shutil.copytree(method, outputs / method.name / "photographs")
    results = json.loads((PST / "results.json").read_text())
    return SimpleNamespace(data=data, outputs=outputs, expected=results["pairs"])


@pytest.fixture
def small(tmp_path):
    """A track ``small`` of four 40x48 pictures and the outputs of methods ``one`` and ``two``."""
    rng = np.random.default_rng(11)
    data, outputs = tmp_path / "small-data", tmp_path / "small-outputs"
    for index in range(4):
        base = rng.integers(0, 256, size=(40, 48, 3))
        for folder, noise in (("content", 20), ("style", 90), ("gt", 0)):
            save(data / folder / f"s{index}.png", base + rng.integers(-noise, noise + 1, size=base.shape))
        for method, noise in (("one", 10), ("two", 30)):
            place = outputs / method / "small" / f"s{index}.png"
            save(place, base + rng.integers(-noise, noise + 1, size=base.shape))
    (data / "track.yaml").write_text(TRACK.format(id="small"))
    return SimpleNamespace(data=data, outputs=outputs)
