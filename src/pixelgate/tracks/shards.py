"""Pictures out of parquet shards, the other form in which the hub's data sets come."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pixelgate.errors import FetchError, MissingExtra
from pixelgate.tracks.hub import RemoteFile
from pixelgate.tracks.lock import LockedFile
from pixelgate.tracks.patterns import expand
from pixelgate.tracks.revision import digest_file
from pixelgate.tracks.track import HubSource, Track

_PNG = b"\x89PNG\r\n\x1a\n"
_ROWS = 8


def parquet_reader() -> Any:
    """The module ``pyarrow.parquet``; `MissingExtra` where it is not installed."""
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise MissingExtra(
            "the data set comes in parquet shards, which pyarrow reads. Run: pip install 'pixelgate[parquet]'"
        ) from None


def is_unpacked(
    track: Track,
    folder: Path,
    shards: Sequence[RemoteFile],
    locked: Mapping[str, LockedFile],
    files: Mapping[str, LockedFile],
) -> bool:
    """Whether every picture of a track lies unpacked in the folder, out of these very shards.

    Args:
        track: the track.
        folder: the data set's folder.
        shards: the shards as the hub has them.
        locked: the shards that were unpacked.
        files: the pictures that came out of them.
    """
    same = all(shard.path in locked and locked[shard.path].sha256 == shard.sha256 for shard in shards)
    names = [name for column in track.columns for name in track.names(track.columns, column).values()]
    return same and all(
        name in files and (folder / name).is_file() and digest_file(folder / name).sha256 == files[name].sha256
        for name in names
    )


def unpack(track: Track, folder: Path, shards: Sequence[str]) -> dict[str, LockedFile]:
    """Write the pictures in parquet shards to the files that the track's columns name, bytes unchanged.

    Row 0 of the first shard is the first sample, and so on in the order of the shards' names.

    Args:
        track: the track; its source names the image column of each of its columns.
        folder: the data set's folder, where the shards lie.
        shards: the shards' relative paths, sorted.

    Returns:
        Relative name -> what was written.

    Raises:
        MissingExtra: pyarrow is not installed.
        FetchError: the shards have other columns, other rows, or pictures that are no PNG files.
    """
    assert isinstance(track.source, HubSource)
    columns = track.source.shards
    parquet = parquet_reader()
    readers = [(path, parquet.ParquetFile(folder / path)) for path in shards]
    try:
        _check(track, columns, readers)
        written: dict[str, LockedFile] = {}
        samples = iter(track.samples)
        for path, reader in readers:
            for row in _rows(reader, list(columns.values())):
                sample = next(samples)
                for column, source in columns.items():
                    name = expand(track.columns[column], sample, track.numbers.get(sample))
                    written[name] = _write(folder / name, _picture(row[source], f"{path}: {source} of {sample}"), path)
        return written
    finally:
        for _, reader in readers:
            reader.close()


def _check(track: Track, columns: Mapping[str, str], readers: Sequence[tuple[str, Any]]) -> None:
    for path, reader in readers:
        present = list(reader.schema_arrow.names)
        lacking = sorted(set(columns.values()) - set(present))
        if lacking:
            raise FetchError(f"{path} has no column {', '.join(lacking)}; it has: {', '.join(present)}.")
    rows = sum(reader.metadata.num_rows for _, reader in readers)
    if rows != len(track.samples):
        raise FetchError(
            f"track {track.id!r} has {len(track.samples)} samples; the {len(readers)} shards hold {rows} rows: "
            f"{', '.join(path for path, _ in readers)}. Which row is which sample cannot be known."
        )


def _rows(reader: Any, columns: list[str]) -> Iterator[dict[str, Any]]:
    for batch in reader.iter_batches(batch_size=_ROWS, columns=columns):
        yield from batch.to_pylist()


def _picture(value: Any, where: str) -> bytes:
    data = value.get("bytes") if isinstance(value, dict) else value
    if not isinstance(data, bytes):
        raise FetchError(f"{where}: the row holds no picture.")
    if not data.startswith(_PNG):
        raise FetchError(f"{where}: the picture is no PNG file, and the protocol reads nothing else.")
    return data


def _write(path: Path, data: bytes, shard: str) -> LockedFile:
    from pixelgate.io.files import atomic_write

    atomic_write(path, data)
    return LockedFile(len(data), hashlib.sha256(data).hexdigest(), shard)
