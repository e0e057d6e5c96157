"""What is evaluated of a folder of generated clips: which groups and seeds, held against which references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pixelgate.case import Case
from pixelgate.clips.evaluator import GROUPS
from pixelgate.clips.predictions import FOLDER as PREDICTIONS
from pixelgate.errors import InputError, Problem
from pixelgate.flexbench.choices import Choices
from pixelgate.flexbench.condition_folder import condition_data, data_in
from pixelgate.flexbench.folder import SUFFIXES, RunFolder, seed_of, why_no_predictions
from pixelgate.flexbench.manifest import CONDITIONS, is_run, read_run_manifest
from pixelgate.flexbench.manifest import FILE as MANIFEST
from pixelgate.protocols import Protocol, load_protocol
from pixelgate.tracks import DatasetData, Track, TrackData, available_tracks, load_track, locate


@dataclass(frozen=True)
class Sources:
    """Where a run's files lie, where that is not as its manifest has it.

    Attributes:
        dataset_dir: the data set's folder.
        predictions: folder of the predictions; with seeds it has a folder ``seed_<N>`` for each.
        own_folder: whether ``dataset_dir`` may be the folder of the one group's own references.
        size_dir: see `pixelgate.flexbench.condition_folder.condition_data`.
    """

    dataset_dir: Path | None = None
    predictions: Path | None = None
    own_folder: bool = False
    size_dir: Path | None = None


@dataclass(frozen=True)
class GroupPlan:
    """One group of a run.

    Attributes:
        group: its name.
        track, protocol: what it is scored under.
        data: its references.
        absent: why it has none; empty where it has.
    """

    group: str
    track: Track
    protocol: Protocol
    data: TrackData
    absent: str = ""


@dataclass(frozen=True)
class RunPlan:
    """A folder of generated clips with all that is evaluated of it.

    Attributes:
        folder: the folder.
        slices: ``full`` or ``seed-<N>`` -> the folder of its clips.
        selected: the groups of the run's conditions, whichever of them are evaluated.
        groups: those that are evaluated.
        dataset: the data set's folder; None for the demo's, which is made here.
        choices: what the run chose.
        predictions: see `Sources`.
    """

    folder: Path
    slices: Mapping[str, Path]
    selected: tuple[str, ...]
    groups: tuple[GroupPlan, ...]
    dataset: Path | None
    choices: Choices
    predictions: Path | None = None

    def case(self, plan: GroupPlan, name: str) -> Case:
        """The case of a group and a slice, with why it cannot be scored where references or predictions lack.

        A slice without any clip is no such case: all of its outputs are missing, and it fails. Nor is a seed without
        predictions where another has them.
        """
        made = [other for other, folder in self.slices.items() if has_clips(folder)]
        lacking = {other: self._why_no_predictions(plan, other) for other in made}
        why = plan.absent or (lacking.get(name, "") if all(lacking.values()) else "")
        method, place = self.folder.resolve().name or "run", str(self._predictions(name))
        return Case(
            method, plan.track.id, name, self.slices[name], groups=self.selected, predictions=place, not_run=why
        )

    def _why_no_predictions(self, plan: GroupPlan, name: str) -> str:
        if plan.group in self.choices.places:
            return ""
        return why_no_predictions(plan.group, self._predictions(name))

    def _predictions(self, name: str) -> Path:
        if self.predictions is None:
            return self.slices[name] / PREDICTIONS
        return self.predictions if seed_of(name) is None else self.predictions / self.slices[name].name


def plan_run(
    generated_dir: Path,
    choices: Choices,
    sources: Sources,
    *,
    conditions: Sequence[str] = (),
    groups: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
) -> RunPlan:
    """Find out what is to be evaluated; no clip is read.

    Args:
        generated_dir: the run's folder, or one of its ``seed_<N>`` folders.
        choices: what the run chose.
        sources: where files lie.
        conditions: the run's conditions, before those of its manifest.
        groups: evaluate these only; None takes those of the conditions, text and VBench.
        seeds: evaluate these only; None takes all.

    Raises:
        InputError: a folder is not there, nothing is in it, or a name is unknown; rules ``generated-folder``,
            ``no-clips``, ``groups``, ``seeds``, ``dataset``, ``predictions-folder``, and those of
            `pixelgate.flexbench.folder.RunFolder` and `Choices`.
        TrackError, ProtocolError: a track or a metric is unknown, or the demo's data set cannot be made.
    """
    folder, only = _whole_run(generated_dir, seeds)
    _check_folder(folder, "generated-folder", "Name the folder of the generated clips with --generated-dir.")
    if sources.predictions is not None:
        _check_folder(sources.predictions, "predictions-folder", "Name the folder of the predictions.")
    _check_groups(groups)
    named = tuple(conditions)
    if not named and groups is not None and not is_run(folder):
        named = tuple(group for group in groups if group in CONDITIONS)
    run = RunFolder(folder, named)
    slices = _chosen(run.slices, only, folder)
    if not any(map(has_clips, slices.values())):
        mend = f"Name the folder that holds <id>{SUFFIXES[0]}, or the seed_<N> folders, with --generated-dir."
        raise InputError(Problem(str(folder), "no-clips", "holds no generated clips.", mend))
    wanted = [group for group in GROUPS if group in (run.groups if groups is None else groups)]
    tracks = _tracks(run.family, wanted, groups is not None)
    kept = [track for track in tracks if not choices.leaves_out(track, load_protocol(track.protocol))]
    if not kept:
        found = f"the metrics asked for are of none of the run's groups: {', '.join(choices.metrics)}."
        raise InputError(Problem("", "metrics", found, "Leave --metrics out, or select their group."))
    places = replace(sources, dataset_dir=_dataset(run, kept, sources))
    plans = tuple(_group_plan(track, places, choices) for track in kept)
    return RunPlan(folder, slices, run.groups, plans, places.dataset_dir, choices, sources.predictions)


def has_clips(folder: Path) -> bool:
    """Whether a folder is there and holds a generated clip."""
    return folder.is_dir() and any(
        entry.suffix.lower() in SUFFIXES and not entry.name.startswith(".") for entry in folder.iterdir()
    )


def _whole_run(folder: Path, seeds: Sequence[int] | None) -> tuple[Path, Sequence[int] | None]:
    """The run that a seed's own folder belongs to, and that seed; other folders stay as they are."""
    above = folder.absolute().parent
    seed = seed_of(folder.absolute().name.replace("_", "-", 1))
    if seed is None or is_run(folder) or not is_run(above):
        return folder, seeds
    return above, [seed] if seeds is None else seeds


def _check_folder(folder: Path, rule: str, mend: str) -> None:
    if not folder.is_dir():
        found = "is no folder." if folder.exists() else "does not exist."
        raise InputError(Problem(str(folder), rule, found, mend))


def _check_groups(groups: Sequence[str] | None) -> None:
    unknown = [group for group in groups or () if group not in GROUPS]
    if unknown or (groups is not None and not groups):
        found = f"{unknown[0]!r} is no group." if unknown else "no group is named."
        raise InputError(Problem("", "groups", found, f"Choose of {', '.join(GROUPS)}."))


def _chosen(slices: Mapping[str, Path], seeds: Sequence[int] | None, folder: Path) -> dict[str, Path]:
    if seeds is None:
        return dict(slices)
    there = ", ".join(str(seed) for name in slices if (seed := seed_of(name)) is not None)
    unknown = [seed for seed in seeds if f"seed-{seed}" not in slices]
    if unknown or not seeds:
        found = f"the run has no seed {', '.join(map(str, unknown))}." if unknown else "no seed is named."
        raise InputError(Problem(str(folder), "seeds", found, f"Its seeds: {there or 'none, its clips lie in it'}."))
    return {name: path for name, path in slices.items() if seed_of(name) in seeds}


def _tracks(family: str, groups: Sequence[str], named: bool) -> list[Track]:
    """The groups' tracks; the demo's family has none for some groups, which are then left out unless named."""
    known = set(available_tracks())
    absent = [group for group in groups if f"{family}-{group}" not in known]
    if absent and (named or len(absent) == len(groups)):
        found = f"the tracks {family!r}, which the manifest names, have none for {', '.join(absent)}."
        raise InputError(Problem("", "groups", found, "Evaluate other groups."))
    return [load_track(f"{family}-{group}") for group in groups if group not in absent]


def _dataset(run: RunFolder, tracks: Sequence[Track], sources: Sources) -> Path | None:
    folder = sources.dataset_dir if sources.dataset_dir is not None else run.dataset
    mend = "Name the data set's folder with --dataset-dir: the one of captions.json and the conditions' folders."
    if folder is None:
        if all(track.made for track in tracks):
            return None
        written = read_run_manifest(run.folder).dataset_dir if is_run(run.folder) else ""
        found = f"the manifest names the data set {written!r}, which is not there."
        found = found if written else f"has no {MANIFEST} that names the data set."
        raise InputError(Problem(str(run.folder), "dataset", found, mend))
    _check_folder(folder, "dataset", mend)
    if folder.resolve() in {run.folder.resolve(), *(place.resolve() for place in run.slices.values())}:
        found = "is the folder of the generated clips, and no data set."
        raise InputError(Problem(str(folder), "dataset", found, mend))
    return folder


def _group_plan(track: Track, sources: Sources, choices: Choices) -> GroupPlan:
    protocol = load_protocol(track.protocol)
    choices.check_rules(protocol)
    if track.made or sources.dataset_dir is None:
        return GroupPlan(track.group, track, protocol, locate(track))
    if sources.size_dir is not None:
        _check_folder(sources.size_dir, "dataset", "Name the folder of the condition's clips.")
    if sources.own_folder:
        data: DatasetData = condition_data(track, sources.dataset_dir, sources.size_dir)
    else:
        data = data_in(track, sources.dataset_dir)
    return GroupPlan(track.group, data.track, protocol, data, data.absent)
