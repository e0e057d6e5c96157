"""Whether a track's files are here, and whether they are the right ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pixelgate.errors import Problem, TrackError
from pixelgate.tracks.build import verify_built
from pixelgate.tracks.dataset import DatasetData
from pixelgate.tracks.places import built_folder, find
from pixelgate.tracks.revision import digest_file
from pixelgate.tracks.track import DatasetSource, HubSource, Track, TrackData

State = Literal["ready", "incomplete", "absent", "not-built", "unnamed"]


@dataclass(frozen=True)
class TrackStatus:
    """Where a track stands on this machine.

    Attributes:
        track: the track.
        state: ``ready``: every file is there; ``incomplete``: some are missing or have another size;
            ``absent``: to be fetched; ``not-built``: made on the first run.
        data: where its files are; None where there are none.
        problems: what is wrong with them.
        mend: the command or step that brings the track to ``ready``; empty where it is.
    """

    track: Track
    state: State
    data: TrackData | None = None
    problems: tuple[Problem, ...] = ()
    mend: str = ""


def status(track: Track, data: Sequence[Path] = ()) -> TrackStatus:
    """Where a track stands, without reading its pictures; nothing is fetched or built.

    Args:
        track: the track.
        data: the user's data folders.
    """
    found = find(track, data)
    if found is None:
        if track.made:
            return TrackStatus(track, "not-built", mend=f"It is made in {built_folder(track)} on the first run.")
        if isinstance(track.source, DatasetSource):
            looked = f" (not in {', '.join(map(str, data))})" if data else ""
            return TrackStatus(track, "unnamed", mend=f"Name your data set's folder{looked}: --data, or --bench-data.")
        return TrackStatus(track, "absent", mend=f"Run: pixelgate data fetch {track.id}")
    problems = tuple(found.problems())
    if isinstance(found, DatasetData) and found.absent:
        mend = "Add the references, or name another folder."
        problems = (*problems, Problem(str(found.root), "no-reference", f"{found.absent}.", mend))
    if problems:
        return TrackStatus(track, "incomplete", found, problems, problems[0].mend)
    return TrackStatus(track, "ready", found)


def verify(track: Track, root: Path | None = None) -> list[Problem]:
    """Read every file of a track and hold it against what was fetched.

    For a fetched data set, size and SHA-256 of each file must be those in the lock file. A built track's
    pictures must be those that its builder makes. For a user's own track there is nothing to compare with;
    missing and misnamed files are found.

    Args:
        track: the track.
        root: a data folder to look in first.

    Returns:
        All problems, sorted; empty where all is right.

    Raises:
        TrackError: the track's files are not here.
    """
    found = find(track, [root] if root else [])
    if found is None:
        if isinstance(track.source, DatasetSource) and not track.made:
            raise TrackError(f"track {track.id!r} is your own data set; name its folder.")
        command = "pixelgate demo" if track.made else f"pixelgate data fetch {track.id}"
        raise TrackError(f"track {track.id!r}: its files are not here. Run: {command}")
    problems = found.problems()
    named = {problem.file for problem in problems}
    if found.lock is None:
        if track.made:
            problems += [problem for problem in verify_built(track, found.root) if problem.file not in named]
        elif isinstance(track.source, HubSource):
            problems.append(_no_lock(found))
        return sorted(problems)
    for name in found.files():
        path = found.root / name
        fault = "" if str(path) in named else _fault(path, found.lock.files[name].sha256)
        if fault:
            problems.append(Problem(str(path), "changed-data", fault, f"Run: pixelgate data fetch {track.id}"))
    return sorted(problems)


def _fault(path: Path, sha256: str) -> str:
    try:
        same = digest_file(path).sha256 == sha256
    except OSError as error:
        return f"cannot be read ({error.strerror or error})."
    return "" if same else f"its bytes are not those that were fetched (sha256 {sha256})."


def _no_lock(found: TrackData) -> Problem:
    text = "the files were not fetched by Pixelgate: there is no lock file to hold them against."
    mend = (
        f"Nothing is wrong with that: their revision is their content hash. To tie them to a commit, move the "
        f"folder to the data directory and run: pixelgate data fetch {found.track.id}"
    )
    return Problem(str(found.root), "no-lock", text, mend)
