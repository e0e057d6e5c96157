"""A folder of generated clips: one folder feeds the tracks of all its groups, and each seed is a slice."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from pixelgate.case import Case
from pixelgate.clips.evaluator import GROUPS
from pixelgate.clips.predictions import PredictionFolder
from pixelgate.errors import InputError, Problem
from pixelgate.flexbench.manifest import (
    ALWAYS,
    CONDITIONS,
    FAMILY,
    FILE,
    check_conditions,
    check_readable,
    is_run,
    read_run_manifest,
)

SUFFIXES = (".mp4", ".mkv", ".mov", ".webm", ".avi", ".gif")
"""What the names of clips may end in."""

_SEED = re.compile(r"seed_(\d+)")


class RunFolder:
    """A folder of generated clips.

    Attributes:
        folder: the folder.
        groups: the groups that score it, in `GROUPS`' order.
        slices: slice -> folder: ``seed-<N>``, or ``full`` where there are no seeds.
        family: what the ids of its tracks begin with.
        dataset: the data set's folder that the manifest names; None where it names none, or none that is there.
    """

    def __init__(self, folder: Path, conditions: Sequence[str] = ()) -> None:
        """Read a run's folder.

        Args:
            folder: the folder.
            conditions: the conditions to score, which go before the manifest's; needed where there is no manifest.

        Raises:
            InputError: the manifest is wrong, seeds are not the ones it names, or clips lie beside seeds.
        """
        self.folder = folder
        self.family, self.dataset = FAMILY, None
        named, seeds = tuple(conditions), tuple[int, ...]()
        check_readable(folder)
        if is_run(folder):
            manifest = read_run_manifest(folder)
            self.family, self.dataset, seeds = manifest.family, manifest.dataset, manifest.seeds
            named = named or manifest.conditions
        try:
            chosen = check_conditions(named)
        except ValueError as error:
            raise InputError(Problem("", "conditions", f"{error}.", f"Choose of {', '.join(CONDITIONS)}.")) from None
        self.groups = tuple(group for group in GROUPS if group in chosen or group in ALWAYS)
        self.slices = self._slices(seeds)

    def _slices(self, listed: tuple[int, ...]) -> dict[str, Path]:
        there = seed_folders(self.folder)
        clips = [entry.name for entry in sorted(self.folder.iterdir()) if entry.suffix.lower() in SUFFIXES]
        mend = f"Put every clip into its seed's folder, and list the seeds in {FILE}."
        if (there or listed) and clips:
            found = f"clips lie beside the seeds' folders: {', '.join(clips[:3])}."
            raise InputError(Problem(str(self.folder), "seeds", found, mend))
        strangers = sorted(there.keys() - set(listed)) if listed else []
        if strangers:
            found = f"seed_{strangers[0]} is there, and {FILE} lists the seeds {', '.join(map(str, listed))}."
            raise InputError(Problem(str(self.folder), "seeds", found, "List it, or move its folder away."))
        # A listed seed without its folder stays a case, which fails: it must not leave the summary unseen.
        folders = {seed: there.get(seed, self.folder / f"seed_{seed}") for seed in (listed or sorted(there))}
        return {f"seed-{seed}": path for seed, path in folders.items()} or {"full": self.folder}


def seed_folders(folder: Path) -> dict[int, Path]:
    """Seed -> its folder ``seed_<N>``, by rising seed.

    Raises:
        InputError: rule ``no-folder``, or ``seed-twice`` where two names are one number.
    """
    if not folder.is_dir():
        mend = "Name the folder that holds the seed_<N> folders."
        raise InputError(Problem(str(folder), "no-folder", "is no folder.", mend))
    found: dict[int, Path] = {}
    for entry in sorted(folder.iterdir()):
        match = _SEED.fullmatch(entry.name)
        if match is None or not entry.is_dir():
            continue
        if int(match[1]) in found:
            text = f"is the same seed as {found[int(match[1])].name}."
            raise InputError(Problem(str(entry), "seed-twice", text, "Keep one of the two folders."))
        found[int(match[1])] = entry
    return dict(sorted(found.items()))


def seed_of(slice_name: str) -> int | None:
    """The seed of a slice ``seed-<N>``; None for another."""
    head, _, number = slice_name.partition("-")
    return int(number) if head == "seed" and number.isdecimal() else None


def run_folder(case: Case) -> Path:
    """The folder of the run that a case's clips belong to: theirs, or the one above a seed's."""
    assert case.folder is not None
    return case.folder.parent if seed_of(case.slice) is not None else case.folder


def named_datasets(folders: Collection[Path]) -> list[Path]:
    """The one data set that the manifests in runs' folders name; none where they name none.

    Raises:
        InputError: rule ``dataset``: one is not there, or they name several.
    """
    runs = {folder: read_run_manifest(folder) for folder in sorted(folders) if is_run(folder)}
    problems = [
        Problem(str(run.file), "dataset", f"its data set {run.dataset_dir!r} is not there.", _NAME_IT)
        for run in runs.values()
        if run.dataset_dir and run.dataset is None
    ]
    if problems:
        raise InputError(problems)
    places = {place.resolve(): place for run in runs.values() if (place := run.dataset) is not None}
    if len(places) > 1:
        found = f"the manifests name several data sets: {', '.join(map(str, places))}."
        mend = "Run on one method's folder at a time, or name the data set with --bench-data."
        raise InputError(Problem(", ".join(map(str, runs)), "dataset", found, mend))
    return list(places.values())


_NAME_IT = "Correct it (it is relative to the manifest, to a folder above it, or to here), or use --bench-data."


def looks_like_run(folder: Path) -> bool:
    """Whether a folder holds clips or seeds' folders itself."""
    return bool(seed_folders(folder)) or any(entry.suffix.lower() in SUFFIXES for entry in folder.iterdir())


def why_no_predictions(group: str, folder: Path) -> str:
    """Why a group cannot be scored where its network's predictions are not at hand; empty where they are."""
    if group == "inpainting" or PredictionFolder(folder).has(group):
        return ""
    return f"no {group} predictions are in {folder / group}; run the network on the clips and put its files there"
