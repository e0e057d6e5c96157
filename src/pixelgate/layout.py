"""Folders of outputs: which cases lie in them, and whether a case's files are the ones its track asks for."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pixelgate.errors import InputError, Problem
from pixelgate.protocols import Protocol, load_protocol
from pixelgate.slices import find_slices, has_slices
from pixelgate.tracks import load_track

FULL = "full"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


@dataclass(frozen=True, order=True)
class Case:
    """One (method, track, slice): what a test item scores.

    Attributes:
        method: what made the outputs; a folder name.
        track: id of the track.
        slice: the third axis, ``full`` where a protocol has none.
        folder: where the outputs lie; None for a baseline.
        baseline: the track's column that stands in for outputs, e.g. ``content`` for an Identity row that
            nobody had to write; empty for real outputs.
        siblings: the folders of all slices of the same curve, this one's among them; empty where a track has none.
    """

    method: str
    track: str
    slice: str = FULL
    folder: Path | None = field(default=None, compare=False)
    baseline: str = ""
    siblings: tuple[str, ...] = field(default=(), compare=False)

    @property
    def id(self) -> str:
        """``method/track/slice``."""
        return f"{self.method}/{self.track}/{self.slice}"


@dataclass(frozen=True)
class Scan:
    """What a scan of an outputs folder found.

    Attributes:
        cases: sorted cases after the filters.
        ignored: folders that hold no pictures, and hidden ones, which were passed over.
        own_folder: whether the folder is one method's own.
    """

    cases: tuple[Case, ...]
    ignored: tuple[str, ...] = ()
    own_folder: bool = False


def scan(
    outputs: Path,
    known_tracks: Iterable[str],
    *,
    tracks: Sequence[str] = (),
    methods: Sequence[str] = (),
    slices: Sequence[str] = (),
    sliced: Collection[str] = (),
) -> Scan:
    """Find the cases in a folder of outputs, in sorted order.

    Two layouts are read: ``outputs/<method>/<track>/<id>.png``, and, where exactly one track is named and
    the folder holds pictures or slices itself, one method's own folder ``outputs/<id>.png``. A track with slices has
    one folder for each (see `pixelgate.slices`) in place of the pictures.

    Args:
        outputs: the folder.
        known_tracks: ids of the tracks that exist.
        tracks, methods, slices: keep these only; empty keeps all.
        sliced: those of the known tracks that have slices.

    Raises:
        InputError: the folder is missing, a name in it is no track or no usable id, or pictures lie where
            no layout has them. All problems are listed at once.
    """
    known = set(known_tracks)
    if not outputs.is_dir():
        found = "is not a folder" if outputs.exists() else "does not exist"
        raise InputError(
            Problem(str(outputs), "outputs-folder", f"the outputs folder {found}.", "Name the folder of your outputs.")
        )
    unknown = [track for track in tracks if track not in known]
    if unknown:
        raise InputError([_unknown_track("", track, known) for track in unknown])
    if _pictures(outputs) or (len(tracks) == 1 and tracks[0] in sliced and has_slices(outputs)):
        own = _own_folder(outputs, tracks, methods)
        own_cases, problems = _slices(own) if own.track in sliced else ([own], [])
        if problems:
            raise InputError(problems)
        return Scan(_filtered(own_cases, tracks, methods, slices), own_folder=True)
    cases, ignored, problems = _walk(outputs, known, sliced)
    if problems:
        raise InputError(problems)
    return Scan(_filtered(cases, tracks, methods, slices), tuple(ignored))


def sliced_tracks(known: Iterable[str], data: Sequence[Path]) -> list[str]:
    """Those of the known tracks whose protocol has slices.

    Args:
        known: track ids.
        data: the user's data folders, for tracks of their own.
    """
    return [track for track in known if load_protocol(load_track(track, data).protocol).slices]


def _own_folder(outputs: Path, tracks: Sequence[str], methods: Sequence[str]) -> Case:
    if len(tracks) != 1 or len(methods) > 1:
        raise InputError(
            Problem(
                str(outputs),
                "outputs-layout",
                "pictures lie directly in the outputs folder, as in one method's own folder.",
                "Name the one track they belong to with --bench-track T (and the method with --bench-method NAME), "
                "or use the layout DIR/<method>/<track>/<id>.png.",
            )
        )
    method = methods[0] if methods else outputs.resolve().name
    problem = _bad_name(str(outputs), method, "method")
    if problem:
        raise InputError(problem)
    return Case(method, tracks[0], FULL, outputs)


def _slices(case: Case) -> tuple[list[Case], list[Problem]]:
    assert case.folder is not None
    found, problems = find_slices(case.folder)
    curves: dict[str, list[Path]] = {}
    for one in found:
        curves.setdefault(one.variant, []).append(one.folder)
    cases = [
        replace(case, slice=one.name, folder=one.folder, siblings=tuple(map(str, curves[one.variant]))) for one in found
    ]
    return cases, problems


def _walk(outputs: Path, known: set[str], sliced: Collection[str]) -> tuple[list[Case], list[str], list[Problem]]:
    cases: list[Case] = []
    # Hidden folders are nobody's methods, but one that holds pictures is named.
    hidden = (entry for entry in _entries(outputs) if entry.is_dir() and _hidden(entry.name))
    ignored: list[str] = [entry.name for entry in hidden if _holds_pictures(entry)]
    problems: list[Problem] = []
    for method_folder in _folders(outputs):
        tracks = _folders(method_folder)
        found = [folder for folder in tracks if folder.name in known]
        strangers = [folder for folder in tracks if folder.name not in known and _holds_pictures(folder)]
        problems += [_unknown_track(str(folder), folder.name, known) for folder in strangers]
        if _pictures(method_folder):
            problems.append(_no_track_folder(method_folder))
        elif found:
            bad = _bad_name(str(method_folder), method_folder.name, "method")
            problems += [bad] if bad else []
            for case in (Case(method_folder.name, folder.name, FULL, folder) for folder in found):
                more, wrong = _slices(case) if case.track in sliced else ([case], [])
                cases += more
                problems += wrong
        elif not strangers:
            ignored.append(method_folder.name)
    return sorted(cases), ignored, problems


def _filtered(
    cases: Iterable[Case], tracks: Sequence[str], methods: Sequence[str], slices: Sequence[str]
) -> tuple[Case, ...]:
    return tuple(
        case
        for case in cases
        if (not tracks or case.track in tracks)
        and (not methods or case.method in methods)
        and (not slices or case.slice in slices)
    )


def add_baselines(
    cases: Sequence[Case],
    protocols: Mapping[str, Protocol],
    columns: Mapping[str, Collection[str]],
    methods: Sequence[str] = (),
    slices: Sequence[str] = (),
) -> tuple[Case, ...]:
    """Add the baseline row of each track whose pictures for it are at hand and where nobody wrote its outputs.

    Args:
        cases: cases found.
        protocols: track id -> its protocol, which names the baseline.
        columns: track id -> the columns whose files are at hand.
        methods, slices: the run's filters; a baseline that they leave out is not added.
    """
    rules = {track: protocol.baseline for track, protocol in protocols.items()}
    baselines = {track: (str(rule["method"]), str(rule["column"])) for track, rule in rules.items() if rule}
    added = [
        Case(method, track, FULL, None, column)
        for track, (method, column) in baselines.items()
        if column in columns[track]
        and any(case.track == track for case in cases)
        and not any(case.track == track and case.method == method for case in cases)
        and (not methods or method in methods)
        and (not slices or FULL in slices)
    ]
    return tuple(sorted([*cases, *added]))


def _folders(folder: Path) -> list[Path]:
    return sorted(entry for entry in _entries(folder) if entry.is_dir() and not _hidden(entry.name))


def _hidden(name: str) -> bool:
    return name.startswith(".") or name == "__pycache__"


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        _unreadable(error)
        raise


def _unreadable(error: OSError) -> None:
    reason = error.strerror or str(error)
    problem = Problem(str(error.filename), "not-readable", f"cannot be read ({reason}).", "Check its rights.")
    raise InputError(problem) from None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        _unreadable(error)
        raise


def _pictures(folder: Path) -> bool:
    return any(entry.suffix.lower() == ".png" and not entry.name.startswith(".") for entry in _entries(folder))


def _holds_pictures(folder: Path) -> bool:
    return any(
        name.lower().endswith(".png") and not name.startswith(".")
        for _, _, names in os.walk(folder, onerror=_unreadable)
        for name in names
    )


def _unknown_track(file: str, track: str, known: set[str]) -> Problem:
    near = difflib.get_close_matches(track, sorted(known), n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return Problem(
        file,
        "unknown-track",
        f"{track!r} is no known track (known: {', '.join(sorted(known))}).",
        f"{hint}Rename the folder to its track, or give the folder of your own track.yaml with --bench-data.",
    )


def _no_track_folder(folder: Path) -> Problem:
    return Problem(
        str(folder),
        "outputs-layout",
        "pictures lie directly in a method's folder; which track they belong to cannot be known.",
        f"Move them to {folder.name}/<track>/<id>.png, or run on this folder alone with --bench-track T.",
    )


def _bad_name(file: str, name: str, what: str) -> Problem | None:
    if _NAME.fullmatch(name):
        return None
    return Problem(
        file,
        "name",
        f"{name!r} cannot be a {what}'s name: test ids are made of ASCII letters, digits and . _ + - only.",
        "Rename the folder, or name the method with --bench-method.",
    )


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
    present = {
        entry.name: entry
        for entry in _entries(case.folder)
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
    problems += [_not_a_file(present[name]) for name in sorted(wanted) if not _is_file(present[name])]
    problems += [_stray_folder(folder) for folder in _folders(case.folder) if _stray(folder, suffixes)]
    return problems


def find_outputs(
    folder: Path, samples: Sequence[str], suffixes: Sequence[str], names: Collection[str] | None = None
) -> dict[str, list[str]]:
    """Sample -> the names of its outputs in a folder, by exact name; none where it is missing."""
    present = {entry.name for entry in _entries(folder)} if names is None else names
    return {sample: [name for suffix in suffixes if (name := f"{sample}{suffix}") in present] for sample in samples}


def _stray(folder: Path, suffixes: Sequence[str]) -> bool:
    return not folder.name.lower().endswith(tuple(suffixes)) and _holds_pictures(folder)


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
    return Problem(
        str(file),
        "extra-output",
        f"the picture is none of the track's {count} outputs (names are exact, e.g. {example!r}).",
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
