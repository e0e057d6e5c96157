"""Run folders for the tests of FlexBench's tables."""

from __future__ import annotations

import importlib
import json
import shutil
from pathlib import Path

TABLES = Path(__file__).parents[1] / "conformance" / "flexbench" / "tables"
PUBLISHED = ("lora-switch", "lora-direct-merge", "lora-union")
BY_HAND = ("plain", "tuned")
SUBFOLDER = "subject_depth"

for family in ("camera", "consistency", "depth", "inpainting", "pose", "vbench"):
    importlib.import_module(f"pixelgate.metrics.{family}")


def root_of(config: str) -> Path:
    return (TABLES / "pose_inpaint" if config in BY_HAND else TABLES) / config


def copy_config(config: str, base: Path) -> Path:
    """``<base>/<config>/subject_depth/seed_<n>/eval/<group>/results.json`` of a reference config."""
    target = base / config / SUBFOLDER
    for seed in root_of(config).glob("seed_*"):
        shutil.copytree(seed, target / seed.name / "eval", ignore=shutil.ignore_patterns("expected*"))
    return target


def write_group(folder: Path, rows: dict, **more: object) -> Path:
    """A group's ``results.json`` with per-sample rows; returns the group's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps({"mean": {}, "per_sample": rows, **more}))
    return folder


def write_run(folder: Path, **groups: dict) -> Path:
    """A run's ``eval`` folder with groups of per-sample rows."""
    for group, rows in groups.items():
        write_group(folder / group, rows)
    return folder


def read_json(file: Path) -> dict:
    def refuse(word: str) -> None:
        raise AssertionError(f"JSON must not hold {word}")

    return json.loads(file.read_text(encoding="utf-8"), parse_constant=refuse)


def rules(error: object) -> list[str]:
    return [problem.rule for problem in error.value.problems]


def texts(notes: object, rule: str) -> list[str]:
    return [f"{note.subject}: {note.message}" for note in notes if note.rule == rule]
