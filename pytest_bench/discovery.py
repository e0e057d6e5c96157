"""From an outputs folder to sorted cases. Imports neither torch nor pandas: every worker runs it at start."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pixelgate.case import Case
from pixelgate.clips.evaluator import FEATURES_ONLY
from pixelgate.curves import CurveGroup, curve_groups, grid_problems
from pixelgate.errors import InputError
from pixelgate.flexbench.choices import Choices
from pixelgate.flexbench.folder import named_datasets, run_folder, why_no_predictions
from pixelgate.flexbench.seed_groups import SeedGroup, seed_groups
from pixelgate.layout import add_baselines, scan, sliced_tracks
from pixelgate.protocols import Protocol, choose_backend, load_protocol
from pixelgate.tracks import DatasetData, Track, available_tracks, load_track
from pixelgate.tracks.places import find
from pytest_bench.options import Options


@dataclass(frozen=True)
class Discovery:
    """The cases of a run and what they are scored under.

    Attributes:
        cases: sorted, so that every worker collects the same items.
        tracks, protocols: by track id, of the tracks that occur.
        ignored: folders without pictures that were passed over.
        own_folder: whether the outputs folder is one method's own.
        partial: whether the run's filters take single slices, so that there are no curves.
        data: folders of data: the run's own, and the data sets that manifests of generated clips name.
    """

    cases: tuple[Case, ...]
    tracks: Mapping[str, Track]
    protocols: Mapping[str, Protocol]
    ignored: tuple[str, ...] = ()
    own_folder: bool = False
    partial: bool = False
    data: tuple[Path, ...] = ()

    @property
    def running(self) -> tuple[Case, ...]:
        """The cases that can be scored."""
        return tuple(case for case in self.cases if not case.not_run)

    @property
    def groups(self) -> tuple[Case, ...]:
        """The first case of each (method, track); it stands for the whole."""
        first: dict[tuple[str, str], Case] = {}
        for case in self.running:
            first.setdefault((case.method, case.track), case)
        return tuple(first.values())

    @property
    def invariants(self) -> tuple[tuple[Case, str], ...]:
        """Every case with every invariant of its protocol that says something about its track."""
        return tuple(
            (case, name)
            for case in self.running
            for name in self.protocols[case.track].invariants
            if not (name == "perfect-output" and self.tracks[case.track].group in FEATURES_ONLY)
        )

    @cached_property
    def curves(self) -> tuple[CurveGroup, ...]:
        """The curves that the cases make up; none where a filter takes single ratios."""
        return () if self.partial else curve_groups(self.cases, self.protocols)

    @cached_property
    def seeds(self) -> tuple[SeedGroup, ...]:
        """The runs over several seeds; none where a filter takes single seeds."""
        return () if self.partial else seed_groups(self.running)

    def case(self, case_id: str) -> Case | None:
        """The case of that id."""
        return next((case for case in self.cases if case.id == case_id), None)


def discover(options: Options) -> Discovery:
    """Scan the outputs folder.

    Raises:
        InputError: the folder is missing, or names in it break the layout.
        TrackError, ProtocolError: a track or protocol definition is wrong.
    """
    assert options.outputs is not None
    known = available_tracks(options.data)
    found = scan(
        options.outputs,
        known,
        tracks=options.track,
        methods=options.method,
        slices=options.ratio,
        sliced=sliced_tracks(known, options.data),
        conditions=options.conditions,
        predictions=options.predictions,
    )
    tracks = {track: load_track(track, options.data) for track in sorted({case.track for case in found.cases})}
    protocols = {
        track_id: choose_backend(load_protocol(track.protocol), options.backend) for track_id, track in tracks.items()
    }
    _check_metrics(options, protocols)
    data = (*options.data, *_datasets(found.cases, options))
    cases = _with_outlook(found.cases, tracks, data)
    cases = tuple(case for case in cases if _asked_for(tracks[case.track], protocols[case.track], options))
    occurring = {case.track for case in cases}
    tracks = {name: track for name, track in tracks.items() if name in occurring}
    protocols = {name: protocols[name] for name in tracks}
    partial = bool(options.ratio)
    discovery = Discovery(cases, tracks, protocols, found.ignored, found.own_folder, partial, data)
    problems = [problem for group in discovery.curves for problem in grid_problems(group)]
    if problems:
        raise InputError(problems)
    return discovery


def _datasets(cases: Collection[Case], options: Options) -> list[Path]:
    """The data sets that the manifests of generated clips name; none where the run names a folder itself."""
    return [] if options.data else named_datasets({run_folder(case) for case in cases if case.groups})


def _with_outlook(cases: Sequence[Case], tracks: Mapping[str, Track], data: tuple[Path, ...]) -> tuple[Case, ...]:
    """The cases, and why one cannot be scored where its group's references or predictions are not there as a whole.

    Where one seed has predictions, another without them is no group that cannot run: its clips lack something.
    """
    located = {name: find(track, data) for name, track in tracks.items() if track.group}
    absent = {name: found.absent for name, found in located.items() if isinstance(found, DatasetData)}
    lacking: dict[tuple[str, str], dict[str, str]] = {}
    for case in cases:
        if case.track in located and case.folder is not None:
            why = why_no_predictions(tracks[case.track].group, Path(case.predictions))
            lacking.setdefault((case.method, case.track), {})[case.slice] = why

    def reason(case: Case) -> str:
        seeds = lacking.get((case.method, case.track), {})
        return absent.get(case.track, "") or (seeds.get(case.slice, "") if all(seeds.values()) else "")

    return tuple(replace(case, not_run=reason(case)) for case in cases)


def _check_metrics(options: Options, protocols: Mapping[str, Protocol]) -> None:
    """Refuse a metric that no protocol of the run has; one that some have is left out of the others' tracks."""
    for name in options.metrics:
        if protocols and not any(metrics_of(options, protocol, name) for protocol in protocols.values()):
            next(iter(protocols.values())).metric(name)


def metrics_of(options: Options, protocol: Protocol, *names: str) -> tuple[str, ...]:
    """Those of the run's metrics, or of those named here, that the protocol has."""
    known = {entry.id for entry in protocol.metrics}
    return tuple(name for name in names or options.metrics if name in known)


def _asked_for(track: Track, protocol: Protocol, options: Options) -> bool:
    """Whether a run's choice of metrics leaves any of a track's."""
    if options.metrics and not metrics_of(options, protocol):
        return False
    if not track.group:
        return True
    choices = choices_of(options, protocol)
    choices.check_rules(protocol)
    return not choices.leaves_out(track, protocol)


def choices_of(options: Options, protocol: Protocol) -> Choices:
    """What a run over generated clips chooses for a track under a protocol."""
    return Choices(
        metrics=metrics_of(options, protocol),
        vbench_dimensions=options.vbench_dimensions,
        depth_person_mask=options.depth_person_mask,
        person_mask_dilation=options.person_mask_dilation,
        lpips_net=options.lpips_net,
        allow_pickle=options.allow_pickle,
        allow_missing=options.allow_missing,
        allow_deviations=options.allow_deviation,
        shuffle_refs=options.shuffle_refs,
        device=options.device,
        weights=str(options.weights) if options.weights else None,
    )


def with_baselines(discovery: Discovery, columns: Mapping[str, Collection[str]], options: Options) -> Discovery:
    """Add the baseline row of each track where its outputs were not written and its pictures are at hand.

    Args:
        discovery: the cases found.
        columns: track id -> the columns whose files are at hand.
        options: the run's filters.
    """
    # With one method's own folder, --bench-method is a name and not a filter.
    wanted = () if discovery.own_folder else options.method
    return replace(discovery, cases=add_baselines(discovery.cases, discovery.protocols, columns, wanted, options.ratio))
