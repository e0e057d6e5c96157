"""Fetching a track's data set, file by file, and checking what was fetched."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pixelgate.errors import FetchError
from pixelgate.tracks.build import build, exclusive
from pixelgate.tracks.checking import TrackStatus, status, verify
from pixelgate.tracks.dataset import dataset_in
from pixelgate.tracks.hub import Hub, RemoteFile
from pixelgate.tracks.lock import Lock, LockedFile, read_lock, write_lock
from pixelgate.tracks.places import built_folder, hub_folder
from pixelgate.tracks.plan import Plan, plan
from pixelgate.tracks.revision import FileDigest, digest_file
from pixelgate.tracks.shards import is_unpacked, parquet_reader, unpack
from pixelgate.tracks.track import HubSource, LocalSource, Track, TrackData

__all__ = ["FetchProgress", "Fetched", "TrackStatus", "fetch", "status", "verify"]

_PARTS = ".pixelgate-parts"
_LOCK_EVERY = 2.0
_SHOWN = 5


@dataclass(frozen=True)
class FetchProgress:
    """How far a fetch is.

    Attributes:
        file: the file at hand, relative to the data set's folder.
        files_done, files: files that are there and right, and files in all.
        bytes_done, bytes: the same in bytes, with the part of the file at hand that has arrived.
    """

    file: str
    files_done: int
    files: int
    bytes_done: int
    bytes: int


@dataclass(frozen=True)
class Fetched:
    """What a fetch did.

    Attributes:
        root: the data set's folder.
        revision: ``organisation/name@<commit>``.
        kept: files that were there and right.
        downloaded: files that were fetched now.
        repaired: those of the downloaded that were there before with other bytes.
    """

    root: Path
    revision: str
    kept: tuple[str, ...] = ()
    downloaded: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()


Told = Callable[[FetchProgress], None]


def fetch(
    track: Track,
    *,
    splits: Sequence[str] | None = None,
    progress: Told | None = None,
    root: Path | None = None,
    accept_changes: bool = False,
) -> Fetched:
    """Fetch a track's files into the data directory, and check each one.

    Files that are there and right are not fetched again; a file that was cut off goes on where it
    stopped. Each file is held to the size and digest that the hub gives (SHA-256 for large files, the git
    blob id for small ones). ``pixelgate.lock.json`` beside the files records the full commit and every
    file's size and SHA-256; later fetches stay at that commit and are held to it.

    Args:
        track: the track. One that is built here is built.
        splits: columns of the track, or folders of the repository; None takes all of the track's columns.
        progress: told before each file and as its bytes arrive.
        root: the data directory in place of `pixelgate.tracks.data_home`.
        accept_changes: move to the repository's pinned or newest commit where the lock holds another one.

    Returns:
        What was done.

    Raises:
        FetchError: the hub cannot be reached or lacks something, a file does not verify, or the repository
            is no longer what the lock holds. The message says what differs and what to do.
        MissingExtra: huggingface_hub is not installed.
        TrackError: the lock file is damaged.
    """
    if track.made is not None:
        folder = build(track, built_folder(track, root))
        data = dataset_in(track, [folder]) or TrackData(track, folder)
        return Fetched(data.root, data.revision, tuple(data.files()))
    if not isinstance(track.source, HubSource):
        where = f" {track.source.folder}" if isinstance(track.source, LocalSource) else ""
        raise FetchError(f"track {track.id!r} is your own folder{where}; there is nothing to fetch.")
    folder = hub_folder(track, root)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with exclusive(folder.parent / f".{folder.name}.lock"):
            return _Fetch(track, track.source, folder, progress).run(splits, accept_changes)
    except OSError as error:
        mend = "Free some space, or set PIXELGATE_DATA to a folder that can be written."
        raise FetchError(f"{folder}: {error}. {mend}") from error


@dataclass
class _Fetch:
    """One fetch of one track into one folder."""

    track: Track
    source: HubSource
    folder: Path
    told: Told | None
    kept: list[str] = field(default_factory=list)
    downloaded: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    _written: float = 0.0

    def run(self, splits: Sequence[str] | None, accept_changes: bool) -> Fetched:
        self.hub = Hub(self.source)
        old = read_lock(self.folder)
        self.lock = self._start(old, accept_changes)
        tree = self.hub.tree(self.lock.revision)
        self.files = dict(self.lock.files)
        self.shards = dict(self.lock.shards)
        chosen = plan(self.track, tree, splits)
        if old is not None and old.revision != self.lock.revision:
            self._carry_over(tree)
        try:
            if chosen.shards:
                self._get_shards(chosen.shards)
            else:
                self._get_all(chosen.files)
        finally:
            self._save()
        if old is not None and not accept_changes and self.source.revision is None:
            self._check_newest(chosen, tree)
        _clear(self.folder / _PARTS)
        revision = f"{self.source.repository}@{self.lock.revision}"
        return Fetched(self.folder, revision, tuple(self.kept), tuple(self.downloaded), tuple(self.repaired))

    def _start(self, old: Lock | None, accept_changes: bool) -> Lock:
        """The commit to fetch: the lock's, unless there is none or the user lets it go."""
        pin = self.source.revision or ""
        fresh = Lock(self.source.repository, self.source.kind, "")
        if old is None:
            return Lock(fresh.repository, fresh.kind, self.hub.commit())
        if (old.repository, old.kind) != (fresh.repository, fresh.kind):
            raise FetchError(f"{self.folder} holds {old.repository}, not {fresh.repository}. Move it away first.")
        if accept_changes:
            return Lock(fresh.repository, fresh.kind, self.hub.commit(), old.files, old.shards)
        if not old.revision.startswith(pin):
            raise FetchError(
                f"{self.folder} holds commit {old.revision}; track {self.track.id!r} now pins {pin}. "
                f"Results from the two cannot be compared. {self._accept()}"
            )
        return old

    def _carry_over(self, tree: Mapping[str, RemoteFile]) -> None:
        """After a move to another commit, only files that are the same there stay in the lock."""
        for name in list(self.files):
            path, remote = self.folder / name, tree.get(name)
            if self.files[name].shard:
                continue  # Its shard is compared; see `is_unpacked`.
            if remote is None or not path.is_file() or not remote.is_like(digest_file(path)):
                del self.files[name]

    def _get_shards(self, shards: Sequence[RemoteFile]) -> None:
        """Fetch shards, unpack them, and remove them; nothing is fetched where the pictures are all there."""
        if is_unpacked(self.track, self.folder, shards, self.shards, self.files):
            self.kept = sorted(name for name, entry in self.files.items() if entry.shard)
            return
        parquet_reader()  # Before gigabytes are fetched that nothing here could read.
        self._get_all(shards)
        unpacked = unpack(self.track, self.folder, [shard.path for shard in shards])
        self.files.update(unpacked)
        for shard in shards:
            self.shards[shard.path] = self.files.pop(shard.path)
        self._save()
        for shard in shards:
            (self.folder / shard.path).unlink()
        self.kept, self.downloaded, self.repaired = [], sorted(unpacked), []

    def _get_all(self, wanted: Sequence[RemoteFile]) -> None:
        total, done = sum(file.size for file in wanted), 0
        for count, file in enumerate(wanted):

            def arrived(size: int, file: RemoteFile = file, count: int = count, done: int = done) -> None:
                if self.told is not None:
                    self.told(FetchProgress(file.path, count, len(wanted), done + size, total))

            arrived(0)
            self._get(file, arrived)
            done += file.size
            if time.monotonic() - self._written > _LOCK_EVERY:
                self._save()
        if wanted and self.told is not None:
            self.told(FetchProgress(wanted[-1].path, len(wanted), len(wanted), total, total))

    def _get(self, remote: RemoteFile, arrived: Callable[[int], None]) -> None:
        path = self.folder / remote.path
        local = digest_file(path) if path.is_file() else None
        if local is not None and remote.is_like(local):
            self._record(remote, local)
            self.kept.append(remote.path)
            return
        self._held_to_lock(remote, local)
        part, fetched = self._download(remote, arrived)
        self._record(remote, fetched)
        path.parent.mkdir(parents=True, exist_ok=True)
        os.replace(part, path)
        self.downloaded.append(remote.path)
        if local is not None:
            self.repaired.append(remote.path)

    def _download(self, remote: RemoteFile, arrived: Callable[[int], None]) -> tuple[Path, FileDigest]:
        # The digest in the name keeps the parts of different versions apart.
        part = self.folder / _PARTS / f"{remote.sha256 or remote.git_sha1}.part"
        resumed = part.exists()
        self.hub.download(self.lock.revision, remote, part, arrived)
        fetched = digest_file(part)
        if resumed and not remote.is_like(fetched):
            part.unlink()
            self.hub.download(self.lock.revision, remote, part, arrived)
            fetched = digest_file(part)
        if not remote.is_like(fetched):
            part.unlink()
            came = f"{fetched.size} bytes with sha256 {fetched.sha256}"
            raise FetchError(
                f"{self.source.repository}: {remote.path} does not verify: the hub names {remote.size} bytes with "
                f"{remote.digest}; what came has {came} and was thrown away. "
                "Run the same command again; if it stays so, a proxy or mirror on the way changes the file."
            )
        return part, fetched

    def _record(self, remote: RemoteFile, digest: FileDigest) -> None:
        entry = LockedFile(digest.size, digest.sha256)
        held = self.files.get(remote.path)
        if held is not None and held != entry:
            raise self._changed([remote.path], f"{held.size} bytes with sha256 {held.sha256}", remote)
        self.files[remote.path] = entry

    def _held_to_lock(self, remote: RemoteFile, local: FileDigest | None) -> None:
        """A commit never changes. Where the hub says otherwise, nothing is replaced without the user's word."""
        held = self.files.get(remote.path)
        if held is None:
            return
        same_size = held.size == remote.size and (not remote.sha256 or held.sha256 == remote.sha256)
        untouched = local is not None and (local.size, local.sha256) == (held.size, held.sha256)
        if not same_size or untouched:
            raise self._changed([remote.path], f"{held.size} bytes with sha256 {held.sha256}", remote)

    def _changed(self, names: Sequence[str], held: str, remote: RemoteFile) -> FetchError:
        return FetchError(
            f"{self.source.repository}: {names[0]} is not what was fetched before from the same commit "
            f"{self.lock.revision}: the lock holds {held}, the hub names {remote.size} bytes with {remote.digest}. "
            f"Your copy was left as it is. {self._accept()}"
        )

    def _check_newest(self, chosen: Plan, tree: Mapping[str, RemoteFile]) -> None:
        """With no pinned revision, what others fetch today may differ from what is locked here."""
        newest = self.hub.commit()
        if newest == self.lock.revision:
            return
        now = self.hub.tree(newest)
        wanted = chosen.files or chosen.shards
        differing = [file.path for file in wanted if now.get(file.path) != tree[file.path]]
        if not differing:
            return
        shown = ", ".join(differing[:_SHOWN]) + (f" and {len(differing) - _SHOWN} more" if differing[_SHOWN:] else "")
        raise FetchError(
            f"{self.source.repository} has changed upstream: {len(differing)} of {len(wanted)} files differ between "
            f"commit {self.lock.revision}, which your lock file holds, and the newest, {newest}: {shown}. "
            f"Your copy is complete and stays as it is; results from the two cannot be compared. {self._accept()}"
        )

    def _accept(self) -> str:
        return f"To move on purpose: pixelgate data fetch {self.track.id} --accept-changes"

    def _save(self) -> None:
        write_lock(self.folder, self.lock.holding(self.files, self.shards))
        self._written = time.monotonic()


def _clear(parts: Path) -> None:
    """Remove leftovers of other versions once everything is there."""
    if parts.is_dir():
        for part in parts.glob("*.part"):
            part.unlink()
        parts.rmdir()
