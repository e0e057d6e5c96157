"""What lies beside a method's ratio folders: the manifest of the run that wrote them, and what its user says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from pixelgate.case import Case
from pixelgate.colorizer.manifest import Manifest, check, read_manifest
from pixelgate.errors import InputError, Problem
from pixelgate.io.files import sha256_file
from pixelgate.records import Deviation

META_FILE = "meta.yaml"

# What a result needs beside its numbers so that others can compare with it, and where it comes from if not from meta.
CHECKLIST = ("hint_type", "line_art_source", "split", "checkpoint", "seed", "hint_maps", "path_method", "tie_break")


def run_folders(cases: Sequence[Case]) -> list[Path]:
    """The folders that hold the ratio folders of cases, sorted; none for cases without ratios."""
    return sorted({case.folder.parent for case in cases if case.folder is not None and case.siblings})


@cache
def manifest_of(folder: Path) -> Manifest | None:
    """The manifest in a run's folder; None where it has none.

    Raises:
        InputError: it cannot be read.
    """
    return read_manifest(folder)


def forget() -> None:
    """Read every manifest anew; for each run, as one process may start several."""
    manifest_of.cache_clear()
    manifest_problems.cache_clear()
    _hashed.cache_clear()


@cache
def manifest_problems(folder: Path) -> tuple[Problem, ...]:
    """What does not fit between a run's manifest and its folder: missing, extra and edited files."""
    try:
        manifest = manifest_of(folder)
    except InputError as error:
        return tuple(error.problems)
    return tuple(check(manifest, folder)) if manifest is not None else ()


def case_problems(case: Case) -> list[Problem]:
    """Those of the manifest's problems that a case's mean must not stand on: its edited files, an unfinished run.

    Missing and extra files are the engine's to tell.
    """
    return [
        problem
        for folder in run_folders([case])
        for problem in manifest_problems(folder)
        if problem.rule not in ("missing-output", "extra-output")
        and (Path(problem.file).parent == case.folder or Path(problem.file).parent in (folder, folder.parent))
    ]


def oracle_deviation(case: Case) -> list[Deviation]:
    """A deviation where the method saw the ground truth, so that it is never ranked beside a real one."""
    for folder in run_folders([case]):
        manifest = manifest_of(folder)
        if manifest is not None and manifest.oracle:
            return [
                Deviation(case.method, "oracle", "the method saw the ground truth; it is a reference, not a result")
            ]
    return []


def checklist(folder: Path, given: Sequence[str], variant: str = "") -> tuple[dict[str, str], list[str]]:
    """The reporting checklist of a run, and what is missing from it.

    Args:
        folder: the run's folder; its manifest and its ``meta.yaml`` are read.
        variant: hint type and line-art source, as the ratio folders name them.
        given: ``KEY=VALUE`` from the command line, which go before both. A checkpoint that is a file is hashed.

    Raises:
        InputError: a value has another form, or the YAML cannot be read.
    """
    manifest = manifest_of(folder)
    known: dict[str, Any] = {}
    if variant:
        hint_type, mark, source = variant.partition("-")
        known.update({"hint_type": hint_type, "line_art_source": source} if mark else {})
    if manifest is not None:
        known.update({key: value for key, value in manifest.settings.items() if value not in (None, "")})
        known.update(manifest.meta)
    known.update(_meta_file(folder / META_FILE))
    known.update(_pairs(given))
    texts = {key: str(value) for key, value in sorted(known.items())}
    if "checkpoint" in texts:
        texts["checkpoint"] = _hashed(texts["checkpoint"])
    return texts, [key for key in CHECKLIST if key not in texts]


def _meta_file(file: Path) -> Mapping[str, Any]:
    if not file.is_file():
        return {}
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
        if not isinstance(data, dict):
            raise ValueError("it is no mapping")
    except (OSError, ValueError, yaml.YAMLError) as error:
        found = f"it cannot be read: {error}"
        raise InputError(Problem(str(file), "meta", found, "Write lines of KEY: VALUE.")) from None
    return {str(key): value for key, value in data.items()}


def _pairs(given: Sequence[str]) -> dict[str, str]:
    pairs = [entry.partition("=") for entry in given]
    wrong = [entry for entry, (key, mark, _) in zip(given, pairs, strict=True) if not key or not mark]
    if wrong:
        raise InputError(Problem("", "meta", f"--bench-meta {wrong[0]!r} is no KEY=VALUE.", "Write, e.g., seed=0."))
    return {key: value for key, _, value in pairs}


@cache
def _hashed(checkpoint: str) -> str:
    path = Path(checkpoint)
    return f"{path.name} sha256:{sha256_file(path)}" if path.is_file() else checkpoint
