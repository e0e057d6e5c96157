"""``manifest.json`` of a generation run: which conditions, which seeds, which data set."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pixelgate.errors import InputError, Problem

FILE = "manifest.json"

CONDITIONS = ("subject", "depth", "pose", "inpainting", "camera")
"""What a video can be conditioned on; each has its group of metrics."""

ALWAYS = ("text", "vbench")
"""The groups that need the captions alone and run for every condition."""

FAMILY = "flexbench"
"""What the ids of the tracks begin with, unless a manifest says otherwise."""

_SHAPE = '{"run": {"conditions": ["depth"], "seeds": [0, 1], "dataset_dir": "DIR"}}'


@dataclass(frozen=True)
class RunManifest:
    """What a run's manifest says.

    Attributes:
        conditions: the run's conditions, in `CONDITIONS`' order.
        seeds: its seeds; empty where its clips lie in the folder itself.
        dataset_dir: the data set's folder as the manifest writes it; empty where it names none.
        family: what the ids of the tracks begin with; the built-in demo has its own.
        file: the manifest.
    """

    conditions: tuple[str, ...]
    seeds: tuple[int, ...]
    dataset_dir: str
    family: str
    file: Path

    @property
    def dataset(self) -> Path | None:
        """The data set's folder: as written, or relative to the manifest's folder or one above; None if not there."""
        if not self.dataset_dir:
            return None
        written = Path(self.dataset_dir).expanduser()
        places = [written, *(folder / written for folder in self.file.absolute().parents)]
        return next((place for place in places if place.is_dir()), None)


def is_run(folder: Path) -> bool:
    """Whether a folder has a manifest of a generation run; other programs' manifests are none."""
    try:
        run = json.loads((folder / FILE).read_text(encoding="utf-8-sig")).get("run")
    except (OSError, ValueError, AttributeError, RecursionError):
        return False
    return isinstance(run, dict) and "conditions" in run


def check_readable(folder: Path) -> None:
    """Refuse a manifest beside clips that is no JSON mapping: what it says of seeds and conditions would be lost.

    Raises:
        InputError: rule ``manifest``.
    """
    file = folder / FILE
    if not file.exists() and not file.is_symlink():
        return
    try:
        found = json.loads(file.read_text(encoding="utf-8-sig"), object_pairs_hook=_once)
        if not isinstance(found, dict) or not isinstance(found.get("run", {}), dict):
            raise ValueError("it is no mapping")
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(_unreadable(file, str(error) or "it is nested too deeply")) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    twice = [key for key in keys if keys.count(key) > 1]
    if twice:
        raise ValueError(f"the key {twice[0]!r} is given twice")
    return dict(pairs)


def _unreadable(file: Path, what: str) -> Problem:
    return Problem(str(file), "manifest", f"it cannot be read: {what}.", f"Write {_SHAPE}.")


def read_run_manifest(folder: Path) -> RunManifest:
    """The manifest in a run's folder.

    ``conditions`` stands under ``run``; ``seeds`` and ``dataset_dir`` under ``run`` or beside it.

    Raises:
        InputError: rule ``manifest``: it cannot be read, or a value is not of its kind.
    """
    file = folder / FILE
    try:
        raw = json.loads(file.read_text(encoding="utf-8-sig"), object_pairs_hook=_once)
        run = raw["run"]
        conditions = check_conditions(run["conditions"])
        seeds = _seeds(_either(raw, "seeds", []))
        dataset = _either(raw, "dataset_dir", "")
        family = raw.get("pixelgate", {}).get("tracks", FAMILY)
        if not isinstance(dataset, str) or not isinstance(family, str):
            raise ValueError("dataset_dir is text")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(_unreadable(file, what)) from None
    return RunManifest(conditions, seeds, dataset, family, file)


def check_conditions(given: Any) -> tuple[str, ...]:
    """Conditions in their order.

    Args:
        given: a list of names, or one text with ``_`` or ``,`` between them, as folders are named.

    Raises:
        ValueError: a name is no condition.
    """
    if not isinstance(given, str | list | tuple) or not all(isinstance(name, str) for name in given):
        raise ValueError(f"conditions is a list of names, and it is {given!r}")
    names = given.replace(",", "_").split("_") if isinstance(given, str) else list(given)
    unknown = [name for name in names if name not in CONDITIONS and name not in ALWAYS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no condition; known: {', '.join(CONDITIONS)}")
    return tuple(name for name in CONDITIONS if name in names)


def _seeds(given: Any) -> tuple[int, ...]:
    if not isinstance(given, list) or not all(isinstance(s, int) and not isinstance(s, bool) and s >= 0 for s in given):
        raise ValueError(f"seeds is a list of whole numbers, and it is {given!r}")
    if len(set(given)) < len(given):
        raise ValueError(f"seeds names one twice: {given!r}")
    return tuple(sorted(given))


def _either(raw: Mapping[str, Any], key: str, default: Any) -> Any:
    run: Mapping[str, Any] = raw["run"]
    if key in run and key in raw and run[key] != raw[key]:
        raise ValueError(f"{key} is {raw[key]!r} and, under run, {run[key]!r}")
    return run.get(key, raw.get(key, default))
