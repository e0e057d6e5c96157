"""Where a group's references lie: in a data set's folder, or in a folder of the condition's own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from pixelgate.tracks import DatasetData, Track
from pixelgate.tracks.patterns import folder_of
from pixelgate.tracks.track import REFERENCE, DatasetSource

SIZE = "size"
"""The column of clips in whose size a condition's keypoints were found."""


def data_in(track: Track, folder: Path) -> DatasetData:
    """The data set in a folder, with the samples that it names.

    Where it has nothing of the track's group, `DatasetData.absent` says so.
    """
    data = DatasetData(track, folder.absolute())
    return data if data.absent else DatasetData(replace(track, samples=data.ids()), data.root)


def condition_data(track: Track, folder: Path, size_dir: Path | None = None) -> DatasetData:
    """As `data_in`, where the folder may also be the condition's own.

    Tried in this order: the data set's folder; a folder that has its place in the layout, such as ``<dataset>/depth``
    or ``<dataset>/pose/raw``, so that the data set is above it; a folder of the condition's files by any name, in which
    what the layout has below that place keeps its relative place, as the masks in ``bbox``.

    Args:
        track: a track over clips.
        folder: the folder.
        size_dir: folder of the clips ``<id>.mp4`` that tell the condition's size, in place of the layout's.
    """
    found = next((data for data in _tried(track, folder) if not data.absent), None)
    if found is None:
        return data_in(track, folder)
    return found if size_dir is None else _with_sizes(found, size_dir)


def _tried(track: Track, folder: Path) -> Iterator[DatasetData]:
    yield data_in(track, folder)
    for root in _roots_above(track, folder):
        yield data_in(track, root)
    yield data_in(replace(track, source=replace(_source(track), files=_flat(track))), folder)


def _source(track: Track) -> DatasetSource:
    assert isinstance(track.source, DatasetSource)
    return track.source


def _roots_above(track: Track, folder: Path) -> Iterator[Path]:
    """The data sets that a folder belongs to if its name is that of the references' folder, or of one above that."""
    place = PurePosixPath(folder_of(_source(track).files[REFERENCE][0]))
    own = folder.absolute()
    for end in (place, *place.parents):
        parts = end.parts
        if parts and own.parts[-len(parts) :] == parts:
            yield own.parents[len(parts) - 1]


def _flat(track: Track) -> dict[str, tuple[str, ...]]:
    """The layout below the references' own folder; what lies elsewhere is left out."""
    files = _source(track).files
    head = folder_of(files[REFERENCE][0])
    flat = {
        column: tuple(place.removeprefix(f"{head}/") for place in places if place.startswith(f"{head}/") or not head)
        for column, places in files.items()
    }
    return {column: places for column, places in flat.items() if places}


def _with_sizes(data: DatasetData, size_dir: Path) -> DatasetData:
    # All places are relative to one folder, so the data set moves up to the one that both lie in.
    sizes = size_dir.absolute()
    root = Path(os.path.commonpath([data.root, sizes]))
    files: Mapping[str, tuple[str, ...]] = {
        column: tuple((data.root.relative_to(root) / place).as_posix() for place in places)
        for column, places in data.source.files.items()
    }
    own = {SIZE: ((sizes.relative_to(root) / "{id}.mp4").as_posix(),)}
    return DatasetData(replace(data.track, source=replace(data.source, files={**files, **own})), root)
