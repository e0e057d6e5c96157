"""From an outputs folder to sorted cases. Imports neither torch nor pandas: every worker runs it at start."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from pixelgate.curves import CurveGroup, curve_groups, grid_problems
from pixelgate.errors import InputError
from pixelgate.layout import Case, add_baselines, scan, sliced_tracks
from pixelgate.protocols import Protocol, choose_backend, load_protocol
from pixelgate.tracks import Track, available_tracks, load_track
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
    """

    cases: tuple[Case, ...]
    tracks: Mapping[str, Track]
    protocols: Mapping[str, Protocol]
    ignored: tuple[str, ...] = ()
    own_folder: bool = False
    partial: bool = False

    @property
    def groups(self) -> tuple[Case, ...]:
        """The first case of each (method, track); it stands for the whole."""
        first: dict[tuple[str, str], Case] = {}
        for case in self.cases:
            first.setdefault((case.method, case.track), case)
        return tuple(first.values())

    @property
    def invariants(self) -> tuple[tuple[Case, str], ...]:
        """Every case with every invariant of its protocol."""
        return tuple((case, name) for case in self.cases for name in self.protocols[case.track].invariants)

    @cached_property
    def curves(self) -> tuple[CurveGroup, ...]:
        """The curves that the cases make up; none where a filter takes single ratios."""
        return () if self.partial else curve_groups(self.cases, self.protocols)

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
    )
    tracks = {track: load_track(track, options.data) for track in sorted({case.track for case in found.cases})}
    protocols = {
        track_id: choose_backend(load_protocol(track.protocol), options.backend) for track_id, track in tracks.items()
    }
    discovery = Discovery(found.cases, tracks, protocols, found.ignored, found.own_folder, bool(options.ratio))
    problems = [problem for group in discovery.curves for problem in grid_problems(group)]
    if problems:
        raise InputError(problems)
    return discovery


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
