"""``pixelgate tracks``: which tracks there are, and what one of them is."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pixelgate.commands.arguments import Commands, add_command, add_data, add_json, own_options
from pixelgate.commands.console import aligned, print_json, print_lines
from pixelgate.commands.data import status_json, statuses

if TYPE_CHECKING:
    from pixelgate.tracks.fetch import TrackStatus
    from pixelgate.tracks.track import Source


def add(commands: Commands) -> None:
    """Declare the subcommand."""
    parser = add_command(
        commands,
        "tracks",
        run,
        "list the tracks, or show one",
        examples=("pixelgate tracks", "pixelgate tracks pst50-paired", "pixelgate tracks my-photos --data my-photos"),
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="show this track's samples, files and revision")
    add_data(parser)
    add_json(parser)
    own_options(parser, {"data": "--data"})


def run(args: argparse.Namespace) -> int:
    """Print the list, or one track."""
    if args.name is not None:
        return _show(args)
    found = statuses(args.data)
    if args.json:
        heads = [{"title": status.track.title, "protocol": status.track.protocol} for status in found]
        print_json({"tracks": [{**status_json(s), **head} for s, head in zip(found, heads, strict=True)]})
        return 0
    rows = [(s.track.id, str(len(s.track.samples)), s.track.protocol, s.state, s.track.title) for s in found]
    print_lines(aligned([("track", "samples", "protocol", "data", "title"), *rows]))
    return 0


def _show(args: argparse.Namespace) -> int:
    from pixelgate.tracks import load_track
    from pixelgate.tracks.fetch import status

    found = status(load_track(args.name, args.data), args.data)
    data = _details(found)
    if args.json:
        print_json(data)
        return 0
    samples = data["samples"]
    lines = [
        ("track", data["track"]),
        ("title", data["title"]),
        ("protocol", data["protocol"]),
        ("samples", f"{len(samples)}, {samples[0]} to {samples[-1]}" if samples else "those of the data set's folder"),
        *(("column", f"{column}: {pattern}") for column, pattern in data["columns"].items()),
        ("optional", ", ".join(data["optional"]) or "-"),
        ("source", _words(data["source"])),
        ("state", data["state"]),
        ("folder", data["folder"] or "-"),
        ("revision", data["revision"] or "-"),
        *(("problem", str(problem)) for problem in found.problems),
        *([("next", data["mend"])] if data["mend"] else []),
    ]
    print_lines(aligned([(f"{name}:", text) for name, text in lines]))
    return 0


def _details(found: TrackStatus) -> dict[str, Any]:
    track = found.data.track if found.data else found.track
    return {
        **status_json(found),
        "title": track.title,
        "protocol": track.protocol,
        "samples": list(track.samples),
        "columns": dict(found.data.layout if found.data else track.columns),
        "optional": sorted(track.optional),
        "source": _source(track.source),
        "definition": str(track.file) if track.file else None,
        "revision": found.data.revision if found.data else None,
    }


def _words(source: dict[str, Any]) -> str:
    # Other layouts and shards are tried by themselves; only JSON lists them.
    return ", ".join(f"{key} {value}" for key, value in source.items() if isinstance(value, str) and value)


def _source(source: Source) -> dict[str, Any]:
    plain = {key: str(value) if isinstance(value, Path) else value for key, value in asdict(source).items()}
    # A hub source has a `kind` of its own: the repository's type.
    renamed = {("repository_type" if key == "kind" else key): value for key, value in plain.items()}
    return {"kind": type(source).__name__.removesuffix("Source").lower(), **renamed}
