"""Tracks that are made on this machine."""

from __future__ import annotations

import contextlib
import importlib
import os
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pixelgate.errors import MissingExtra, Problem, TrackError
from pixelgate.tracks.track import BuiltSource, Track

BuildProgress = Callable[[int, int, str], None]
"""Told how a build goes: files done, files in all, the name of the one at hand."""


def build(track: Track, folder: Path, progress: BuildProgress | None = None) -> Path:
    """Make a track's files, once, however many processes ask at the same time.

    The files are made in a neighbouring folder, which takes its name only when it is complete: a folder
    of that name is never half done. A lock makes other processes wait rather than do the same work.

    Args:
        track: a track that is made here (`Track.made`).
        folder: the folder to fill.
        progress: passed on to the builder.

    Returns:
        The folder.

    Raises:
        MissingExtra: the builder's packages are not installed.
        TrackError: the builder is unknown, or the folder cannot be written.
    """
    assert track.made is not None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(folder.with_name(f".{folder.name}.lock")):
            if not folder.is_dir():
                _build(track, track.made, folder, progress)
    except OSError as error:
        mend = "Set PIXELGATE_DATA to a folder that can be written."
        raise TrackError(f"track {track.id!r} cannot be made in {folder}: {error}. {mend}") from error
    return folder


def _build(track: Track, source: BuiltSource, folder: Path, progress: BuildProgress | None) -> None:
    builder = _builder(track, source)
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    temporary.mkdir()
    try:
        builder(temporary, progress=progress)
        _move(temporary, folder)
    except ImportError as error:
        raise _missing(track, source, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def verify_built(track: Track, folder: Path) -> list[Problem]:
    """Hold a built track's files to what its builder makes, where the builder's module has a function for that.

    That function is ``verify(root) -> list[Problem]``; it skips files that are missing.

    Args:
        track: a track that is made here (`Track.made`).
        folder: the track's folder.

    Raises:
        MissingExtra, TrackError: as `build`.
    """
    assert track.made is not None
    _builder(track, track.made)
    module = importlib.import_module(track.made.builder.partition(":")[0])
    check: Callable[[Path], list[Problem]] | None = getattr(module, "verify", None)
    return check(folder) if check is not None else []


def _builder(track: Track, source: BuiltSource) -> Callable[..., None]:
    module, _, name = source.builder.partition(":")
    try:
        function: Callable[..., None] = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(f"{error.name}.")):
            raise TrackError(f"{track.file}: key 'source.built' names {source.builder!r}, which is not there") from None
        raise _missing(track, source, error) from error
    except AttributeError:
        raise TrackError(f"{track.file}: key 'source.built' names {source.builder!r}, which is not there") from None
    return function


def _missing(track: Track, source: BuiltSource, error: ImportError) -> MissingExtra:
    command = f"pip install 'pixelgate[{source.extra}]'" if source.extra else f"pip install {error.name}"
    return MissingExtra(f"track {track.id!r} is made with a package that is not installed ({error}). Run: {command}")


def _move(temporary: Path, folder: Path) -> None:
    try:
        temporary.rename(folder)
    except OSError:
        # Where locks do not work, another process may have been quicker; its folder is as good.
        if not folder.is_dir():
            raise


@contextlib.contextmanager
def exclusive(path: Path, pause: float = 0.2) -> Iterator[None]:
    """Hold a lock file while the block runs; other processes wait. The system frees it when a process dies.

    Args:
        path: the lock file; it is made where it is missing and stays.
        pause: seconds between two tries, on Windows only.
    """
    with path.open("a+b") as stream:
        if sys.platform == "win32":
            import msvcrt

            while True:
                try:
                    stream.seek(0)
                    msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
                    break
                except OSError:
                    time.sleep(pause)
            try:
                yield
            finally:
                stream.seek(0)
                msvcrt.locking(stream.fileno(), msvcrt.LK_UNLCK, 1)
        else:
            import fcntl

            # Some network disks know no locks. All writing here is by rename, so the lock only saves work.
            with contextlib.suppress(OSError):
                fcntl.flock(stream, fcntl.LOCK_EX)
            yield
