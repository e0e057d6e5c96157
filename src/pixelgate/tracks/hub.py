"""One repository of the Hugging Face Hub: its commits, its files, and a download that goes on where it stopped."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pixelgate.errors import FetchError, MissingExtra
from pixelgate.tracks.revision import FileDigest
from pixelgate.tracks.track import HubSource

_AGAIN = "Run the same command again: it goes on where it stopped."


@dataclass(frozen=True)
class RemoteFile:
    """A file in the repository.

    Attributes:
        path: its path in the repository.
        size: bytes.
        sha256: its SHA-256, which the hub gives for large files only; empty for others.
        git_sha1: its git blob id, given for small files only; empty for others.
    """

    path: str
    size: int
    sha256: str = ""
    git_sha1: str = ""

    def is_like(self, local: FileDigest) -> bool:
        """Whether a file on the disk has this one's size and digest."""
        if self.sha256:
            return (self.size, self.sha256) == (local.size, local.sha256)
        return (self.size, self.git_sha1) == (local.size, local.git_sha1)

    @property
    def digest(self) -> str:
        """The digest that the hub gives, with its kind, for messages."""
        return f"sha256 {self.sha256}" if self.sha256 else f"git blob {self.git_sha1}"


class Hub:
    """The repository of a track's source, at ``$HF_ENDPOINT`` or the public hub.

    Every method raises `FetchError` where the hub refuses, lacks something, or cannot be reached, and
    `MissingExtra` where huggingface_hub is not installed.
    """

    def __init__(self, source: HubSource) -> None:
        try:
            from huggingface_hub import HfApi, constants
        except ImportError:
            raise MissingExtra("fetching needs huggingface_hub. Run: pip install 'pixelgate[data]'") from None
        # The library reads this variable once, on import; here it counts whenever a fetch starts.
        self.endpoint = (os.environ.get("HF_ENDPOINT", "").strip() or constants.ENDPOINT).rstrip("/")
        self._source = source
        self._api = HfApi(endpoint=self.endpoint)
        self._known: dict[str, Any] = {"repo_id": source.repository, "repo_type": source.kind}

    def commit(self) -> str:
        """The full commit to fetch: the pinned one, or, with no pin, the newest."""
        pin = self._source.revision or ""
        with self._explained("its newest commit"):
            newest = str(self._api.repo_info(**self._known, timeout=20).sha)
        if newest.startswith(pin):
            return newest
        if len(pin) == 40:
            return pin
        with self._explained("its commits"):
            history = [str(entry.commit_id) for entry in self._api.list_repo_commits(**self._known)]
        fitting = [commit for commit in history if commit.startswith(pin)]
        if len(fitting) == 1:
            return fitting[0]
        count = "several" if fitting else "none"
        raise FetchError(
            f"{self._source.repository}: the pinned revision is {pin}, and {count} of the repository's "
            f"{len(history)} commits at {self.endpoint} begins with it (newest: {newest}). Nothing was fetched. "
            "Ask the data set's publishers, or update Pixelgate if its pin has changed."
        )

    def tree(self, commit: str) -> dict[str, RemoteFile]:
        """Path -> file, of the whole repository at a commit."""
        from huggingface_hub.hf_api import RepoFile

        with self._explained(f"its files at commit {commit}"):
            entries = list(self._api.list_repo_tree(**self._known, revision=commit, recursive=True))
        files = [entry for entry in entries if isinstance(entry, RepoFile)]
        return {file.path: _remote(file) for file in files}

    def download(self, commit: str, file: RemoteFile, part: Path, told: Callable[[int], None]) -> None:
        """Fetch a file's bytes into ``part``; what is there already is not asked for again.

        A dropped connection is taken up again a few times; what has arrived stays in ``part`` after an error.

        Args:
            commit: full commit.
            file: what to fetch.
            part: the file to fill.
            told: called with the number of bytes that have arrived.
        """
        from huggingface_hub import hf_hub_url
        from huggingface_hub.file_download import http_get

        headers = _utils().build_hf_headers()
        at_hand = part.stat().st_size if part.exists() else 0
        if at_hand > file.size:
            part.unlink()
            at_hand = 0
        # An empty file is never asked for: some servers answer it with no length at all.
        with _Counted(part, told) as stream, self._explained(file.path), _no_bars():
            if at_hand < file.size:
                url = hf_hub_url(**self._known, filename=file.path, revision=commit, endpoint=self.endpoint)
                http_get(url, stream, resume_size=at_hand, headers=headers, expected_size=file.size)

    @contextlib.contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        from huggingface_hub.errors import HfHubHTTPError

        # The client raises its transport library's errors as they are; that library differs by version.
        network: tuple[Any, ...] = (OSError, *HfHubHTTPError.__bases__)
        try:
            yield
        except network as error:
            raise FetchError(f"{self._source.repository}: {what}: {self._reason(error)}") from error

    def _reason(self, error: Exception) -> str:
        from huggingface_hub import errors

        status = getattr(getattr(error, "response", None), "status_code", None)
        if isinstance(error, errors.GatedRepoError):
            return "access must be asked for on the data set's page; then log in with `hf auth login`."
        if isinstance(error, errors.RepositoryNotFoundError):
            return (
                f"no public {self._source.kind} of that name at {self.endpoint}. Check HF_ENDPOINT; for a private one, "
                "log in with `hf auth login`."
            )
        if isinstance(error, errors.RevisionNotFoundError):
            return "the repository has no such commit."
        if isinstance(error, errors.EntryNotFoundError) or status == 404:
            return "the hub lists the file, but does not have it (404). Try again later, or tell its publishers."
        if isinstance(error, errors.OfflineModeIsEnabled):
            return "HF_HUB_OFFLINE is set. Unset it to fetch."
        if status is not None:
            return f"{self.endpoint} answered {status}. {_AGAIN}"
        # The first line says what happened; the client's own advice does not fit here.
        told = str(error).strip().partition("\n")[0].rstrip(".")
        return f"{self.endpoint}: {type(error).__name__}: {told}. {_AGAIN}"


def _remote(file: Any) -> RemoteFile:
    if file.lfs is not None:
        return RemoteFile(file.path, int(file.lfs.size), sha256=file.lfs.sha256)
    return RemoteFile(file.path, int(file.size), git_sha1=file.blob_id)


def _utils() -> Any:
    # Imported by name: the module re-exports its parts without saying so to type checkers.
    return importlib.import_module("huggingface_hub.utils")


class _Counted(io.BufferedRandom):
    """A file opened at its end that tells how long it is whenever it grows."""

    def __init__(self, path: Path, told: Callable[[int], None]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        super().__init__(io.FileIO(path, "r+"))
        self._told = told
        self.seek(0, os.SEEK_END)

    def write(self, data: Any) -> int:
        count = super().write(data)
        self._told(self.tell())
        return count


@contextlib.contextmanager
def _no_bars() -> Iterator[None]:
    """Keep the client's own progress bars out of the way of the caller's."""
    from huggingface_hub import constants

    utils = _utils()
    # Where the user's environment settles it, changing it would only warn.
    if constants.HF_HUB_DISABLE_PROGRESS_BARS is not None or utils.are_progress_bars_disabled():
        yield
        return
    utils.disable_progress_bars()
    try:
        yield
    finally:
        utils.enable_progress_bars()
