"""Folders of outputs: which cases lie in them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pixelgate.case import FULL, Case
from pixelgate.clips.predictions import FOLDER as PREDICTIONS
from pixelgate.errors import InputError, Problem
from pixelgate.flexbench.folder import RunFolder, looks_like_run, seed_folders
from pixelgate.flexbench.manifest import check_readable, is_run
from pixelgate.listing import entries, folders, has_media, hidden, holds_media
from pixelgate.protocols import Protocol, load_protocol
from pixelgate.slices import find_slices, has_slices
from pixelgate.tracks import load_track

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


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
    sliced: Mapping[str, str] | None = None,
    conditions: Sequence[str] = (),
    predictions: Path | None = None,
) -> Scan:
    """Find the cases in a folder of outputs, in sorted order.

    Three layouts are read: ``outputs/<method>/<track>/<id>.png``; where exactly one track is named and the folder
    holds pictures or slices itself, one method's own folder ``outputs/<id>.png``; and folders of generated clips with
    a ``manifest.json``, or with conditions named, each of which feeds the tracks of all its groups: ``outputs`` itself,
    ``outputs/<method>``, or ``outputs/<config>/<subfolder>``, which is the method ``<config>.<subfolder>``. A track
    with slices has one folder for each (see `pixelgate.slices` for hint ratios; ``seed_<N>`` for seeds) in place of
    the pictures.

    Args:
        outputs: the folder.
        known_tracks: ids of the tracks that exist.
        tracks, methods, slices: keep these only; empty keeps all.
        sliced: those of the known tracks that have slices, with their kind.
        conditions: the conditions of a folder of generated clips, before those of its manifest.
        predictions: folder of the clips' predictions, in place of the one beside the clips.

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
    layout = _Layout(known, sliced or {}, predictions)
    if looks_like_run(outputs):
        check_readable(outputs)
    if is_run(outputs) or (conditions and looks_like_run(outputs)):
        if len(methods) > 1:
            raise InputError(_one_name(outputs))
        own_cases, problems = layout.run(methods[0] if methods else outputs.resolve().name, outputs, conditions)
    elif has_media(outputs) or (len(tracks) == 1 and layout.has_slices(tracks[0], outputs)):
        own_cases, problems = layout.slices(_own_folder(outputs, tracks, methods))
    else:
        cases, ignored, problems = layout.walk(outputs)
        if problems:
            raise InputError(problems)
        return Scan(_filtered(cases, tracks, methods, slices), tuple(ignored))
    if problems:
        raise InputError(problems)
    return Scan(_filtered(own_cases, tracks, methods, slices), own_folder=True)


def sliced_tracks(known: Iterable[str], data: Sequence[Path]) -> dict[str, str]:
    """Those of the known tracks whose protocol has slices, with the kind of slice: ``hint-ratio`` or ``seed``.

    Args:
        known: track ids.
        data: the user's data folders, for tracks of their own.
    """
    found = {track: load_protocol(load_track(track, data).protocol).slices for track in known}
    return {track: str(rule["kind"]) for track, rule in found.items() if rule}


def _one_name(outputs: Path) -> Problem:
    return Problem(
        str(outputs), "method", "several methods are named for one method's own folder.", "Name one, or none."
    )


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


@dataclass(frozen=True)
class _Layout:
    """Finds cases below folders.

    Attributes:
        known: ids of the tracks that exist.
        sliced: track -> the kind of its slices.
        predictions: folder of the clips' predictions; None for the one beside the clips.
    """

    known: Collection[str]
    sliced: Mapping[str, str]
    predictions: Path | None

    def has_slices(self, track: str, folder: Path) -> bool:
        kind = self.sliced.get(track)
        return has_slices(folder) if kind == "hint-ratio" else kind == "seed" and bool(seed_folders(folder))

    def slices(self, case: Case) -> tuple[list[Case], list[Problem]]:
        """The cases of one track's folder."""
        assert case.folder is not None
        kind = self.sliced.get(case.track)
        if kind is None:
            return [case], []
        if kind == "seed":
            return self._seeds(case)
        found, problems = find_slices(case.folder)
        curves: dict[str, list[Path]] = {}
        for one in found:
            curves.setdefault(one.variant, []).append(one.folder)
        cases = [
            replace(case, slice=one.name, folder=one.folder, siblings=tuple(map(str, curves[one.variant])))
            for one in found
        ]
        return cases, problems

    def _seeds(self, case: Case) -> tuple[list[Case], list[Problem]]:
        assert case.folder is not None
        group = load_track(case.track).group
        slices = RunFolder(case.folder).slices
        return [self._clips(case, name, folder, (group,)) for name, folder in slices.items()], []

    def _clips(self, case: Case, name: str, folder: Path, groups: tuple[str, ...]) -> Case:
        beside = folder / PREDICTIONS
        if self.predictions is not None:
            beside = self.predictions if name == FULL else self.predictions / folder.name
        return replace(case, slice=name, folder=folder, groups=groups, predictions=str(beside))

    def run(self, method: str, folder: Path, conditions: Sequence[str] = ()) -> tuple[list[Case], list[Problem]]:
        """The cases of a folder of generated clips: every group with every seed."""
        problem = _bad_name(str(folder), method, "method")
        run = RunFolder(folder, conditions)
        tracks = [track for group in run.groups if (track := f"{run.family}-{group}") in self.known]
        cases = [
            self._clips(Case(method, track), name, place, run.groups)
            for track in tracks
            for name, place in run.slices.items()
        ]
        return cases, [problem] if problem else []

    def walk(self, outputs: Path) -> tuple[list[Case], list[str], list[Problem]]:
        """The cases of all methods' folders, the folders passed over, and what breaks the layout."""
        cases: list[Case] = []
        # Hidden folders are nobody's methods, but one that holds pictures is named.
        secret = (entry for entry in entries(outputs) if entry.is_dir() and hidden(entry.name))
        ignored: list[str] = [entry.name for entry in secret if holds_media(entry)]
        problems: list[Problem] = []
        for method_folder in folders(outputs):
            inner = [folder for folder in folders(method_folder) if is_run(folder)]
            if looks_like_run(method_folder):
                check_readable(method_folder)
            if is_run(method_folder):
                more, wrong = self.run(method_folder.name, method_folder)
            elif inner:
                found = [self.run(f"{method_folder.name}.{folder.name}", folder) for folder in inner]
                more, wrong = [c for cases, _ in found for c in cases], [p for _, problems in found for p in problems]
            else:
                more, wrong = self._method(method_folder)
                if not more and not wrong:
                    ignored.append(method_folder.name)
            cases += more
            problems += wrong
        return sorted(cases), ignored, problems

    def _method(self, method_folder: Path) -> tuple[list[Case], list[Problem]]:
        tracks = folders(method_folder)
        found = [folder for folder in tracks if folder.name in self.known]
        strangers = [folder for folder in tracks if folder.name not in self.known and holds_media(folder)]
        problems = [_unknown_track(str(folder), folder.name, set(self.known)) for folder in strangers]
        cases: list[Case] = []
        if has_media(method_folder):
            problems.append(_no_track_folder(method_folder))
        elif found:
            bad = _bad_name(str(method_folder), method_folder.name, "method")
            problems += [bad] if bad else []
            for case in (Case(method_folder.name, folder.name, FULL, folder) for folder in found):
                more, wrong = self.slices(case)
                cases += more
                problems += wrong
        return cases, problems


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
        "pictures or clips lie directly in a method's folder; which track they belong to cannot be known.",
        f"Move them to {folder.name}/<track>/, or run on this folder alone with --bench-track T; clips of several "
        "conditions need a manifest.json beside them, or --bench-conditions.",
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
