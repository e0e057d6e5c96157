"""Where a track's files are looked for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pixelgate.errors import TrackError
from pixelgate.tracks.build import BuildProgress, build
from pixelgate.tracks.dataset import dataset_in, no_dataset
from pixelgate.tracks.listing import Listing, unreadable
from pixelgate.tracks.lock import read_lock
from pixelgate.tracks.track import (
    REFERENCE,
    DatasetSource,
    HubSource,
    LocalSource,
    Track,
    TrackData,
)

DATA_VARIABLE = "PIXELGATE_DATA"


def data_home() -> Path:
    """The data directory: ``$PIXELGATE_DATA``, or ``data`` in Pixelgate's user cache directory."""
    named = os.environ.get(DATA_VARIABLE, "").strip()
    if named:
        return Path(named).expanduser().absolute()
    import platformdirs

    return platformdirs.user_cache_path("pixelgate", appauthor=False) / "data"


def hub_folder(track: Track, root: Path | None = None) -> Path:
    """The folder that a fetched data set has in a data directory: ``organisation--name``.

    Args:
        track: a track whose source is a `HubSource`.
        root: the data directory; `data_home` by default.
    """
    assert isinstance(track.source, HubSource)
    return (root or data_home()).absolute() / track.source.folder


def built_folder(track: Track, root: Path | None = None) -> Path:
    """The folder of a built track in a data directory: ``<track>-<builder's version>``.

    Tracks over one data set that is built share its folder.
    """
    assert track.made is not None
    name = track.source.folder if isinstance(track.source, DatasetSource) else track.id
    return (root or data_home()).absolute() / f"{name}-{track.made.version}"


def locate(track: Track, data: Iterable[Path] = (), *, progress: BuildProgress | None = None) -> TrackData:
    """Find a track's files; a built track is made where it is not there yet.

    Looked in, in this order: the folder of ``track.yaml`` for a user's own track, and nowhere else; for
    each folder in ``data``, the folder itself and in it the folders named after the track and the
    repository; the same in the data directory (`data_home`). A place counts where it holds at least
    one of the track's references.

    Args:
        track: the track.
        data: the user's data folders.
        progress: told how a build goes: (files done, files in all, name).

    Returns:
        The files' folder with the track. `TrackData.problems` says whether they are complete.

    Raises:
        TrackError: nothing was found; the message lists the places and the command that fetches.
        MissingExtra: a built track needs a package that is not installed.
    """
    folders = [Path(folder) for folder in data]
    found = find(track, folders)
    if found is not None:
        return found
    if track.made is not None:
        root = build(track, built_folder(track), progress)
        return dataset_in(track, [root]) or TrackData(track, root)
    if isinstance(track.source, DatasetSource):
        raise no_dataset(track, folders)
    places = _places(track, folders)
    looked = "\n".join(f"  {place}{'' if place.is_dir() else ' (no such folder)'}" for place in places)
    raise TrackError(
        f"track {track.id!r}: its files are not here. Run: pixelgate data fetch {track.id}\n"
        f"or name the folder that holds them with --bench-data. None of its references "
        f"({track.columns[REFERENCE]}) is in:\n{looked}"
    )


def find(track: Track, data: Iterable[Path] = ()) -> TrackData | None:
    """As `locate`, but nothing is built, and None is returned where there are no files."""
    if isinstance(track.source, LocalSource):
        return TrackData(track, track.source.folder)
    if isinstance(track.source, DatasetSource):
        made = [built_folder(track)] if track.made else []
        return dataset_in(track, made or _dataset_places(track, [Path(folder) for folder in data]))
    for place in _places(track, [Path(folder) for folder in data]):
        if _holds(track, place):
            return TrackData(track, place, read_lock(place) if isinstance(track.source, HubSource) else None)
    return None


def _places(track: Track, data: list[Path]) -> list[Path]:
    home = data_home()
    if isinstance(track.source, HubSource):
        names = [track.source.folder, track.source.short_name, track.id]
    else:
        names = [track.id, built_folder(track).name]
    own = [place for folder in data for place in (folder, *(folder / name for name in names))]
    found = [place.absolute() for place in (*own, *(home / name for name in names)) if not _is_file(place)]
    return list(dict.fromkeys(found))


def _dataset_places(track: Track, data: list[Path]) -> list[Path]:
    return [place.absolute() for folder in data for place in (folder, folder / track.id) if not _is_file(place)]


def _is_file(place: Path) -> bool:
    try:
        return place.is_file()
    except OSError as error:
        raise unreadable(place.parent, error) from None


def _holds(track: Track, place: Path) -> bool:
    listing = Listing(place)
    return any(any(map(listing.has, track.names(layout, REFERENCE).values())) for layout in track.layouts)
