"""Whether a case's files are the ones that its track asks for."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from pixelgate.case import Case
from pixelgate.clips.predictions import FOLDER as PREDICTIONS
from pixelgate.errors import Problem
from pixelgate.listing import entries, folders, holds_media, is_file

# What this package and the networks write beside generated clips.
_BESIDE_CLIPS = frozenset({PREDICTIONS, "eval"})


def check_files(case: Case, samples: Sequence[str], suffixes: Sequence[str] = (".png",)) -> list[Problem]:
    """Hold a case's folder against the names that its track asks for.

    Outputs are matched by exact name, never by position. Files of other types and hidden files are
    ignored; every other picture is refused.

    Args:
        case: the case; a baseline has no files and no problems.
        samples: the track's sample ids.
        suffixes: what an output's name may end in; a sample has one output, whichever it is.

    Returns:
        All missing, extra and misnamed files, sorted; empty where all is right.
    """
    if case.folder is None:
        return []
    if not case.folder.is_dir() and not case.folder.exists():
        return [_no_folder(case.folder)]
    present = {
        entry.name: entry
        for entry in entries(case.folder)
        if entry.name.lower().endswith(tuple(suffixes)) and not entry.name.startswith(".")
    }
    outputs = find_outputs(case.folder, samples, suffixes, present)
    wanted = {name for names in outputs.values() for name in names}
    missing = [f"{sample}{suffixes[0]}" for sample, names in sorted(outputs.items()) if not names]
    extra = sorted(present.keys() - wanted)
    first = f"{min(samples)}{suffixes[0]}"
    problems = [_missing(case.folder / name, extra) for name in missing]
    problems += [_extra(case.folder / name, len(samples), first) for name in extra]
    problems += [_twice(case.folder / names[0], names) for names in outputs.values() if len(names) > 1]
    problems += [_not_a_file(present[name]) for name in sorted(wanted) if not is_file(present[name])]
    beside = _BESIDE_CLIPS if case.groups else frozenset()
    strays = [folder for folder in folders(case.folder) if folder.name not in beside and _stray(folder, suffixes)]
    return problems + [_stray_folder(folder) for folder in strays]


def _no_folder(folder: Path) -> Problem:
    found = "the folder is not there, and the run's manifest lists it."
    return Problem(str(folder), "missing-slice", found, "Generate its clips, or take its seed out of the manifest.")


def find_outputs(
    folder: Path, samples: Sequence[str], suffixes: Sequence[str], names: Collection[str] | None = None
) -> dict[str, list[str]]:
    """Sample -> the names of its outputs in a folder, by exact name; none where it is missing."""
    present = {entry.name for entry in entries(folder)} if names is None else names
    return {sample: [name for suffix in suffixes if (name := f"{sample}{suffix}") in present] for sample in samples}


def _stray(folder: Path, suffixes: Sequence[str]) -> bool:
    return not folder.name.lower().endswith(tuple(suffixes)) and holds_media(folder)


def _missing(file: Path, extra: Sequence[str]) -> Problem:
    near = (
        [name for name in extra if name.lower() == file.name.lower()]
        or difflib.get_close_matches(file.name, extra, n=1, cutoff=0.8)
        or [name for name in extra if _same_number(name, file.name)]
    )
    hint = f"Is it {near[0]!r} under another name? Rename it. " if near else ""
    return Problem(
        str(file),
        "missing-output",
        "the output is missing.",
        f"{hint}Write it, or accept a mean over fewer samples with --bench-allow-missing (a recorded deviation).",
    )


def _extra(file: Path, count: int, example: str) -> Problem:
    what = "picture" if Path(example).suffix == ".png" else "clip"
    return Problem(
        str(file),
        "extra-output",
        f"the {what} is none of the track's {count} outputs (names are exact, e.g. {example!r}).",
        "Rename it to the sample it belongs to, or remove it.",
    )


def _twice(file: Path, names: Sequence[str]) -> Problem:
    found = f"the sample has {len(names)} outputs: {', '.join(names)}."
    return Problem(str(file), "output-twice", found, "Keep one of them.")


def _not_a_file(path: Path) -> Problem:
    if path.is_dir():
        return Problem(str(path), "not-a-file", "a folder stands where an output picture should.", "Remove the folder.")
    return Problem(str(path), "not-a-file", "this is a link to nothing, or no plain file.", "Put the picture there.")


def _stray_folder(folder: Path) -> Problem:
    return Problem(
        str(folder),
        "stray-folder",
        "a folder with pictures lies among the outputs; this track's protocol has no such level.",
        "Move the pictures up, or move the folder out of the outputs.",
    )


def _same_number(left: str, right: str) -> bool:
    numbers = [re.findall(r"\d+", name) for name in (left, right)]
    return bool(numbers[0]) and bool(numbers[1]) and int(numbers[0][-1]) == int(numbers[1][-1])
