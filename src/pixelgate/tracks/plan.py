"""Which files of a repository a track needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pixelgate.errors import FetchError
from pixelgate.tracks.hub import RemoteFile
from pixelgate.tracks.patterns import folder_of
from pixelgate.tracks.track import HubSource, Track

_SHOWN = 5


@dataclass(frozen=True)
class Plan:
    """What to fetch.

    Attributes:
        files: the track's files in the repository, sorted by path; empty where they come out of shards.
        shards: parquet shards that hold the track's pictures, sorted by path.
    """

    files: tuple[RemoteFile, ...]
    shards: tuple[RemoteFile, ...] = ()


def plan(track: Track, tree: Mapping[str, RemoteFile], splits: Sequence[str] | None = None) -> Plan:
    """Choose the layout that the repository has, and list its files.

    Args:
        track: a track whose source is a `HubSource`.
        tree: the repository's files.
        splits: columns of the track or folders of the repository to fetch; None takes all of the track's columns.

    Raises:
        FetchError: the repository has none of the known layouts, lacks files, or has no such split.
    """
    assert isinstance(track.source, HubSource)
    layout = _layout(track, tree)
    if layout is None:
        shards = tuple(tree[path] for path in sorted(tree) if path.endswith(".parquet"))
        if not shards or not track.source.shards:
            raise FetchError(_unknown_layout(track, tree))
        if splits:
            raise FetchError(f"{track.source.repository} holds parquet shards; they are fetched whole, without splits.")
        return Plan((), shards)
    wanted = _wanted(track, layout, tree, splits)
    missing = [name for name in wanted if name not in tree]
    if missing:
        raise FetchError(
            f"{track.source.repository} lacks {len(missing)} of the {len(wanted)} files of track {track.id!r}: "
            f"{_some(missing)}. Nothing was fetched. Tell the data set's publishers."
        )
    return Plan(tuple(tree[name] for name in sorted(set(wanted))))


def _layout(track: Track, tree: Mapping[str, RemoteFile]) -> Mapping[str, str] | None:
    def count(layout: Mapping[str, str]) -> int:
        return sum(name in tree for column in layout for name in track.names(layout, column).values())

    best = max(track.layouts, key=count)
    return best if count(best) else None


def _wanted(
    track: Track, layout: Mapping[str, str], tree: Mapping[str, RemoteFile], splits: Sequence[str] | None
) -> list[str]:
    columns = {folder_of(pattern): column for column, pattern in layout.items()}
    names: list[str] = []
    for split in splits if splits else list(layout):
        column = split if split in layout else columns.get(split.strip("/"))
        inside = [path for path in tree if path.startswith(f"{split.strip('/')}/")]
        if column is None and not inside:
            folders = sorted({path.split("/", 1)[0] for path in tree if "/" in path})
            raise FetchError(
                f"unknown split {split!r} of track {track.id!r}. Its columns: {', '.join(layout)}; "
                f"the repository's folders: {', '.join(folders)}."
            )
        names += track.names(layout, column).values() if column is not None else inside
    return names


def _unknown_layout(track: Track, tree: Mapping[str, RemoteFile]) -> str:
    assert isinstance(track.source, HubSource)
    looked = sorted({pattern for layout in track.layouts for pattern in layout.values()})
    tops = sorted({path.split("/", 1)[0] + ("/" if "/" in path else "") for path in tree})
    return (
        f"{track.source.repository} is not laid out as track {track.id!r} expects. Nothing was fetched.\n"
        f"Looked for: {', '.join(looked)}\n"
        f"It holds {len(tree)} files, at the top: {_some(tops, 20)}; for instance: {_some(sorted(tree))}\n"
        "Download it yourself, describe where its files lie in a track.yaml beside them (docs/tracks.md), and please "
        "tell Pixelgate's authors what you saw."
    )


def _some(names: Iterable[str], most: int = _SHOWN) -> str:
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
