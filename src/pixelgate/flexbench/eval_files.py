"""The files of an evaluation: what was there of an earlier one is replaced whole."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pixelgate.clips.evaluator import GROUPS
from pixelgate.errors import InputError, Problem
from pixelgate.flexbench.combined import COMBINED_CSV, COMBINED_JSON, Combined, combined_csv, combined_data
from pixelgate.flexbench.evaluated import GroupOutcome
from pixelgate.flexbench.results import CSV_NAME, JSON_NAME, write_results
from pixelgate.flexbench.table_columns import label_of
from pixelgate.io.files import atomic_write
from pixelgate.results import library_versions, to_json

DETAILS_JSON = "details.json"
VIDEOS = "show_video"
"""Folder of the side-by-side clips, in the evaluation's or the group's."""

_RESULTS = (JSON_NAME, CSV_NAME, DETAILS_JSON)


def check_writable(folder: Path, option: str) -> None:
    """Find out before an hour of scoring whether results can be written; nothing is made.

    Raises:
        InputError: rule ``not-writable``.
    """
    there = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    if not there.is_dir() or not os.access(there, os.W_OK):
        fault = "write-protected" if there.is_dir() else "no folder"
        found = f"results cannot be written there: {there} is {fault}."
        raise InputError(Problem(str(folder), "not-writable", found, f"Name another folder with {option}."))


def write_run(
    folder: Path, groups: Sequence[GroupOutcome], table: Combined | None, *, keep_groups: bool
) -> tuple[Path, ...]:
    """Write a run's files, in place of those of an earlier evaluation of any groups.

    Groups without valid means are in the JSON, with what is wrong, and in no table. Without any complete group there is
    no CSV.

    Args:
        folder: the evaluation's.
        groups: what was found.
        table: of the complete groups; None where there is none.
        keep_groups: write every complete group's own files too.

    Returns:
        The files.

    Raises:
        InputError: rule ``not-writable``.
    """
    clear_run(folder)
    files = []
    data = {**(combined_data(table) if table is not None else _no_table(groups)), **_record(groups)}
    atomic_write(folder / COMBINED_JSON, to_json(data))
    if table is not None:
        # Without holes the table is the document's own; with holes every mean has its n.
        holes = any(table.average(column)[1] < len(table.samples) for column in table.columns)
        atomic_write(folder / COMBINED_CSV, combined_csv(table, common_subset=holes))
        files.append(folder / COMBINED_CSV)
    files.append(folder / COMBINED_JSON)
    for one in groups if keep_groups else ():
        files += write_group(folder / one.group, one)
    return tuple(files)


def write_group(folder: Path, outcome: GroupOutcome) -> list[Path]:
    """Write a group's ``results.json``, ``results.csv`` and ``details.json``; nothing for one without valid means.

    What an earlier evaluation left there is removed in any case.
    """
    clear_group(folder)
    if outcome.results is None or outcome.scores is None or not outcome.complete:
        return []
    write_results(folder, outcome.results)
    details = {sample.sample: dict(sample.details) for sample in outcome.scores.samples}
    atomic_write(folder / DETAILS_JSON, to_json(details))
    return [folder / name for name in _RESULTS]


def clear_run(folder: Path) -> None:
    """Remove the files of an earlier evaluation, and folders that are then empty; other files stay."""
    for name in (COMBINED_CSV, COMBINED_JSON):
        (folder / name).unlink(missing_ok=True)
    for name in dict.fromkeys([*GROUPS, *map(label_of, GROUPS)]):
        clear_group(folder / name)
        _clear(folder / VIDEOS / name, _is_shown)
    _remove_empty(folder / VIDEOS)


def clear_group(folder: Path) -> None:
    """Remove a group's files of an earlier evaluation, and its folder if that is then empty."""
    _clear(folder / VIDEOS, _is_shown)
    _clear(folder, lambda entry: entry.name in _RESULTS)


def _is_shown(entry: Path) -> bool:
    """Whether a file is a side-by-side clip or its contact sheet: each has the other beside it."""
    other = {".mp4": ".png", ".png": ".mp4"}.get(entry.suffix)
    return other is not None and entry.with_suffix(other).is_file()


def _clear(folder: Path, ours: Callable[[Path], bool]) -> None:
    if not folder.is_dir():
        return
    for entry in [entry for entry in folder.iterdir() if ours(entry) and not entry.is_dir()]:
        entry.unlink()
    _remove_empty(folder)


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def _no_table(groups: Sequence[GroupOutcome]) -> dict[str, Any]:
    return {"groups": {}, "not_run": {label_of(one.group): one.not_run for one in groups if one.not_run}}


def _record(groups: Sequence[GroupOutcome]) -> dict[str, Any]:
    """What became of the groups that are in no table, and where the numbers come from."""
    run = [one for one in groups if one.scores is not None]
    backends: Mapping[str, Any] = {
        metric: dict(made) for one in run if one.scores for metric, made in (one.scores.fingerprints or {}).items()
    }
    return {
        "incomplete": {label_of(one.group): one.to_json() for one in run if not one.complete},
        "faults": {label_of(one.group): one.to_json()["faults"] for one in run if one.faults},
        "dataset_revisions": {label_of(one.group): one.revision for one in run},
        "backends": backends,
        "versions": library_versions(),
    }
