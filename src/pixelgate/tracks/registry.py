"""Which tracks there are: built in, registered by plugins, and described beside the user's data."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path

from pixelgate.errors import TrackError
from pixelgate.tracks.definition import read_track
from pixelgate.tracks.listing import unreadable
from pixelgate.tracks.track import Track

TRACK_FILE = "track.yaml"

_REGISTERED: dict[str, Track] = {}


def register_track(track: Track | Path | str) -> Track:
    """Add a track, or the YAML that defines it; for plugins.

    Args:
        track: the track, or the path of its YAML.

    Returns:
        The track.

    Raises:
        TrackError: the YAML is wrong, or another track has the id.
    """
    new = track if isinstance(track, Track) else read_track(Path(track))
    known = _REGISTERED.get(new.id)
    if new.id in _built_in() or (known is not None and known != new):
        raise TrackError(f"track {new.id!r} exists already{_from(known)}; give yours another id")
    _REGISTERED[new.id] = new
    return new


def available_tracks(data: Iterable[Path] = ()) -> list[str]:
    """Ids of all tracks, sorted.

    Args:
        data: folders in which, or directly below which, a ``track.yaml`` may lie; or such files themselves.

    Raises:
        TrackError: a ``track.yaml`` there is wrong, or two tracks have one id.
    """
    return sorted({*_built_in(), *_REGISTERED, *_own(data)})


def load_track(track_id: str, data: Iterable[Path] = ()) -> Track:
    """The track of that id.

    Args:
        track_id: the id.
        data: as for `available_tracks`.

    Raises:
        TrackError: no track has that id (the known ones are listed), or a ``track.yaml`` in ``data`` is wrong.
    """
    folders = [Path(folder) for folder in data]
    own = _own(folders)
    if track_id in own:
        return own[track_id]
    if track_id in _REGISTERED:
        return _REGISTERED[track_id]
    built_in = _built_in()
    if track_id in built_in:
        return read_track(built_in[track_id])
    known = sorted({*built_in, *_REGISTERED, *own})
    longer = [name for name in known if name.startswith(track_id)]
    near = longer or difflib.get_close_matches(track_id, known, n=1)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    looked = ", ".join(map(str, folders)) or "no data folder was given"
    raise TrackError(
        f"unknown track {track_id!r}.{hint} Known tracks: {', '.join(known)}. For your own, put a {TRACK_FILE} beside "
        f"its folders and name that folder with --bench-data (looked in: {looked})."
    )


def _built_in() -> dict[str, Path]:
    folder = Path(str(resources.files("pixelgate.tracks")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _own(data: Iterable[Path]) -> dict[str, Track]:
    tracks: dict[str, Track] = {}
    taken = {*_built_in(), *_REGISTERED}
    for path in _track_files([Path(folder) for folder in data]):
        track = read_track(path)
        if track.id in taken and _REGISTERED.get(track.id) != track:
            raise TrackError(f"{path}: key 'id' is {track.id!r}, which another track has. Give yours another id.")
        other = tracks.setdefault(track.id, track)
        if other is not track:
            raise TrackError(f"{path}: key 'id' is {track.id!r}{_from(other)} too. Give one of them another id.")
    return tracks


def _track_files(data: Sequence[Path]) -> list[Path]:
    found: dict[Path, None] = {}
    for place in data:
        try:
            found.update(dict.fromkeys(_definitions(place)))
        except OSError as error:
            raise unreadable(place, error) from None
    return list(found)


def _definitions(place: Path) -> list[Path]:
    if place.is_file() and place.suffix in (".yaml", ".yml"):
        return [place.resolve()]
    if place.is_dir():
        paths = [place / TRACK_FILE, *sorted(place.glob(f"*/{TRACK_FILE}"))]
        return [path.resolve() for path in paths if path.is_file()]
    raise TrackError(f"{place}: no such folder. Name the folder of your data set or its {TRACK_FILE}.")


def _from(track: Track | None) -> str:
    return f" in {track.file}" if track is not None and track.file is not None else ""
