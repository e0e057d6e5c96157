"""``pixelgate data``: fetch tracks' data sets, list what is at hand, and verify it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pixelgate.commands.arguments import Commands, add_actions, add_command, add_data, add_json, own_options
from pixelgate.commands.console import Progress, aligned, print_errors, print_json, print_lines, size_text

if TYPE_CHECKING:
    from pixelgate.errors import Problem
    from pixelgate.tracks import Track
    from pixelgate.tracks.fetch import FetchProgress, TrackStatus

_ACCEPT = "--accept-changes"


def add(commands: Commands) -> None:
    """Declare the subcommand."""
    examples = ("pixelgate data list", "pixelgate data fetch pst50-paired", "pixelgate data verify")
    parser = add_command(
        commands,
        "data",
        None,
        "fetch, list or verify the data sets of tracks",
        details="Files go to $PIXELGATE_DATA or the user's cache folder. HF_ENDPOINT names another hub or a mirror.",
        examples=examples,
    )
    actions = add_actions(parser)
    _add_fetch(actions)
    listing = add_command(
        actions, "list", run_list, "show which tracks' data are at hand, and where", examples=examples[:1]
    )
    verify = add_command(
        actions,
        "verify",
        run_verify,
        "read every file and hold it against what was fetched",
        details="Exit status 1 where a file is missing or is not the one that was fetched.",
        examples=(*examples[2:], "pixelgate data verify pst50-paired"),
    )
    verify.add_argument("track", nargs="*", metavar="TRACK", help="a track to verify (default: all at hand)")
    for own in (listing, verify):
        add_data(own)
        add_json(own)
        own_options(own, {"data": "--data"})


def _add_fetch(actions: Commands) -> None:
    fetch = add_command(
        actions,
        "fetch",
        run_fetch,
        "fetch a track's data set, file by file, and check each file",
        details="What is there and right is kept, and an interrupted fetch goes on where it stopped.",
        examples=(
            "pixelgate data fetch pst50-paired",
            "pixelgate data fetch pst50-paired-log --splits content_log paired_style paired_gt",
        ),
    )
    fetch.add_argument("track", metavar="TRACK", help="the track; `pixelgate tracks` lists them")
    fetch.add_argument(
        "--splits",
        nargs="+",
        metavar="SPLIT",
        help="columns of the track or folders of its repository (default: all of the track's columns)",
    )
    fetch.add_argument(
        _ACCEPT, action="store_true", help="move to the repository's pinned or newest commit, on purpose"
    )
    add_json(fetch)


def run_fetch(args: argparse.Namespace) -> int:
    """Fetch a track."""
    from pixelgate.tracks import load_track
    from pixelgate.tracks.fetch import fetch

    track = load_track(args.track)
    with Progress() as progress:

        def told(now: FetchProgress) -> None:
            size = f"{size_text(now.bytes_done)} of {size_text(now.bytes)}"
            text = f"{track.id}: {now.files_done} of {now.files} files, {size}, {now.file}"
            progress.show(text, last=now.files_done == now.files)

        progress.show(f"{track.id}: asking what there is", last=True)
        done = fetch(track, splits=args.splits, progress=told, accept_changes=args.accept_changes)
    if args.json:
        print_json({"track": track.id, **asdict(done), "root": str(done.root)})
        return 0
    repaired = f" ({len(done.repaired)} of them repaired)" if done.repaired else ""
    print_lines(
        [
            f"{track.id}: complete; {len(done.downloaded)} files fetched{repaired}, {len(done.kept)} kept",
            f"revision: {done.revision}",
            f"folder:   {done.root}",
        ]
    )
    return 0


def run_list(args: argparse.Namespace) -> int:
    """Print where each track's data stand."""
    from pixelgate.tracks import data_home

    found = statuses(args.data)
    if args.json:
        print_json({"data_home": str(data_home()), "tracks": [status_json(status) for status in found]})
        return 0
    rows = [(status.track.id, status.state, str(len(status.track.samples)), _place(status)) for status in found]
    lines = aligned([("track", "state", "samples", "where"), *rows])
    mends = [f"{status.track.id}: {status.mend}" for status in found if status.mend]
    print_lines([f"data directory: {data_home()}", "", *lines, *(["", *mends] if mends else [])])
    return 0


def run_verify(args: argparse.Namespace) -> int:
    """Verify tracks; 1 where something is not right."""
    from pixelgate.tracks import load_track

    tracks = [load_track(name, args.data) for name in args.track]
    if not tracks:
        tracks = [status.track for status in statuses(args.data) if status.data is not None]
    checked: list[tuple[Track, Path | None, list[Problem]]] = []
    with Progress() as progress:
        for track in tracks:
            progress.show(f"{track.id}: reading its files", last=True)
            checked.append((track, *_verify(track, args.data)))
    if args.json:
        print_json({"tracks": [_verified_json(*entry) for entry in checked]})
    else:
        lines = [f"{track.id}: all files are right, in {root}" for track, root, problems in checked if not problems]
        print_lines(lines if checked else ["no track's data are at hand; see: pixelgate data list"])
        print_errors(f"error: {track.id}: {problem}" for track, _, problems in checked for problem in problems)
    return 1 if any(problems for *_, problems in checked) else 0


def statuses(data: Sequence[Path]) -> list[TrackStatus]:
    """Where every known track stands on this machine; nothing is fetched or built."""
    from pixelgate.tracks import available_tracks, load_track
    from pixelgate.tracks.fetch import status

    return [status(load_track(name, data), data) for name in available_tracks(data)]


def status_json(status: TrackStatus) -> dict[str, Any]:
    """A track's status for scripts."""
    return {
        "track": status.track.id,
        "state": status.state,
        "samples": len(status.track.samples),
        "folder": str(status.data.root) if status.data else None,
        "columns": list(status.data.columns) if status.data else [],
        "missing_columns": _without(status),
        "problems": [asdict(problem) for problem in status.problems],
        "mend": status.mend or None,
    }


def _without(status: TrackStatus) -> list[str]:
    return [column for column in status.track.columns if status.data and column not in status.data.columns]


def _place(status: TrackStatus) -> str:
    if status.data is None:
        return "-"
    without = ", ".join(_without(status))
    return f"{status.data.root} (without {without})" if without else str(status.data.root)


def _verify(track: Track, data: Sequence[Path]) -> tuple[Path | None, list[Problem]]:
    from pixelgate.tracks.fetch import verify
    from pixelgate.tracks.places import find

    # `verify` looks in one folder: the one in which these data folders have the track.
    found = find(track, data)
    root = found.root if found else None
    return root, verify(track, root)


def _verified_json(track: Track, root: Path | None, problems: list[Problem]) -> dict[str, Any]:
    return {
        "track": track.id,
        "folder": str(root) if root else None,
        "ok": not problems,
        "problems": [asdict(problem) for problem in problems],
    }
