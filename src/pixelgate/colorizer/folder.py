"""The folder that a run writes: opened anew, taken up again where an earlier run stopped, or refused."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pixelgate.colorizer.manifest import (
    COMPLETE,
    FILE,
    Manifest,
    ratio_directories,
    read_manifest,
    write_manifest,
)
from pixelgate.colorizer.sample import ColorizerError
from pixelgate.errors import InputError, Problem
from pixelgate.io.any_image import read_any
from pixelgate.io.files import atomic_write, sha256_bytes, sha256_file
from pixelgate.records import Note

Picture = NDArray[np.uint8]

_OVERWRITE = "Name another save_dir, or pass overwrite=True, which removes what lies there."
# The manifest of a large run has megabytes: it is written again after a second, or after 20 times the time it takes.
_PAUSE = 1.0
_SHARE = 20


class RunFolder:
    """A run's predictions and manifest on disk.

    Predictions that the manifest does not know yet, because the process was killed, are written again by the next run.

    Args:
        folder: the folder; it is made where it is missing.
        wanted: the run as it is about to start: ratios, originals, settings, meta.
        overwrite: remove the predictions of an earlier run.

    Raises:
        ColorizerError: rule ``another-run``, ``finished-run`` or ``unknown-pictures``: the folder holds something else.
        InputError: ``manifest-readable``, ``not-writable``, or ``other-files`` in a folder to be overwritten.
    """

    def __init__(self, folder: Path | str, wanted: Manifest, *, overwrite: bool = False) -> None:
        self.folder = Path(folder)
        self._manifest = wanted
        self._predictions: dict[str, dict[str, str]] = {directory: {} for directory in wanted.dirs}
        self._hints: dict[str, Mapping[str, int]] = {}
        self._pixels: dict[str, str] = {}
        self._before: dict[str, dict[str, str]] = {}
        self._written_at, self._pause = time.monotonic(), _PAUSE
        self.reused = 0
        self.notes: list[Note] = []
        if overwrite:
            _clear(self.folder)
        else:
            self._take_up(wanted)
        self.write()

    @property
    def manifest(self) -> Manifest:
        """The record as it stands."""
        originals = {
            name: replace(original, pixels=self._pixels.get(name, original.pixels))
            for name, original in self._manifest.originals.items()
        }
        return replace(self._manifest, originals=originals, predictions=self._predictions, hints=self._hints)

    def saved(self, directory: str, name: str) -> Picture | None:
        """A prediction of an earlier run, if it is there and is the file that that run wrote."""
        digest = self._before.get(directory, {}).get(name)
        path = self.folder / directory / name
        if digest is None:
            return None
        if not path.is_file() or sha256_file(path) != digest:
            message = "the prediction of an earlier run was removed or changed; it is made again."
            self.notes.append(Note(f"{directory}/{name}", "prediction-changed", message))
            return None
        picture, _ = read_any(path)
        self._predictions[directory][name] = digest
        self.reused += 1
        return picture

    def put(self, directory: str, name: str, picture: Picture) -> None:
        """Write a prediction; `InputError`, rule ``not-writable``, where that fails."""
        stream = io.BytesIO()
        Image.fromarray(picture).save(stream, "PNG", compress_level=3)
        data = stream.getvalue()
        atomic_write(self.folder / directory / name, data)
        self._predictions[directory][name] = sha256_bytes(data)
        if time.monotonic() - self._written_at > self._pause:
            self.write()

    def describe(self, name: str, pixels: str, counts: Mapping[str, int]) -> None:
        """Record a ground truth's pixel digest and the counts of its regions."""
        self._pixels[name] = pixels
        self._hints[name] = counts

    def write(self) -> None:
        """Write the manifest."""
        begun = time.monotonic()
        write_manifest(self.folder, self._keeping_earlier())
        self._written_at = time.monotonic()
        self._pause = max(_PAUSE, _SHARE * (self._written_at - begun))

    def finish(self) -> None:
        """Write the manifest as that of a complete run."""
        self._before = {}
        self._manifest = replace(self._manifest, state=COMPLETE)
        self.write()

    def _keeping_earlier(self) -> Manifest:
        # What an earlier run wrote and this one has not come to yet must survive a second abort.
        manifest = self.manifest
        known = {d: {**self._before.get(d, {}), **files} for d, files in manifest.predictions.items()}
        return replace(manifest, predictions=known)

    def _take_up(self, wanted: Manifest) -> None:
        earlier = read_manifest(self.folder)
        if earlier is None:
            self._refuse_strangers()
            return
        differences = _differences(earlier, wanted)
        if differences:
            found = f"holds another run ({'; '.join(differences)})."
            raise ColorizerError(Problem(str(self.folder), "another-run", found, _OVERWRITE))
        if earlier.state == COMPLETE:
            found = "holds a finished run, and whether the function is still the same cannot be known."
            mend = f"Score its pictures again with pixelgate.colorizer.rescore. {_OVERWRITE}"
            raise ColorizerError(Problem(str(self.folder), "finished-run", found, mend))
        self._before = {directory: dict(files) for directory, files in earlier.predictions.items()}
        self._hints = dict(earlier.hints)
        self._pixels = {name: original.pixels for name, original in earlier.originals.items() if original.pixels}

    def _refuse_strangers(self) -> None:
        directories = ratio_directories(self.folder)
        if directories:
            names = ", ".join(directory.name for directory in directories)
            found = f"holds ratio directories without a run's manifest: {names}."
            raise ColorizerError(Problem(str(self.folder), "unknown-pictures", found, _OVERWRITE))
        if (self.folder / FILE).exists():
            found = "is another program's manifest."
            raise ColorizerError(Problem(str(self.folder / FILE), "unknown-manifest", found, "Name another save_dir."))


def _differences(earlier: Manifest, wanted: Manifest) -> list[str]:
    differences = []
    if dict(earlier.dirs) != dict(wanted.dirs):
        differences.append(f"ratios {_listed(earlier.alphas)} and not {_listed(wanted.alphas)}")
    for what, old, new in (("", earlier.settings, wanted.settings), ("meta ", earlier.meta, wanted.meta)):
        differences += [
            f"{what}{key} {old.get(key)!r} and not {new.get(key)!r}"
            for key in sorted({*old, *new})
            if old.get(key) != new.get(key)
        ]
    if earlier.names != wanted.names:
        differences.append(f"{len(earlier.names)} samples and not these {len(wanted.names)}, in this order")
        return differences
    for what, key in (("ground truth", "ground_truth"), ("line art", "line_art")):
        other = [name for name in wanted.names if _digest(earlier, name, key) != _digest(wanted, name, key)]
        if other:
            differences.append(f"another {what} for {_listed(other)}")
    return differences


def _digest(manifest: Manifest, name: str, key: str) -> str:
    digest: str = getattr(manifest.originals[name], key)
    return digest


def _listed(items: Iterable[Any], most: int = 10) -> str:
    texts = [str(item) for item in items]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def _clear(folder: Path) -> None:
    """Remove the ratio directories' pictures and the manifest, and nothing else: looked through before any is gone."""
    if read_foreign(folder):
        found = "is another program's manifest."
        raise InputError(Problem(str(folder / FILE), "unknown-manifest", found, "Name another save_dir."))
    doomed: list[Path] = []
    strangers: list[Path] = []
    for directory in ratio_directories(folder):
        for entry in directory.iterdir():
            ours = entry.is_file() and (entry.suffix.lower() == ".png" or entry.name.startswith("."))
            (doomed if ours else strangers).append(entry)
    if strangers:
        mend = "Move it away, or name another save_dir: overwrite=True removes PNG files only."
        raise InputError([Problem(str(path), "other-files", "is no run's prediction.", mend) for path in strangers])
    # The manifest goes first: without it, what is left after a crash is never taken for a run.
    try:
        (folder / FILE).unlink(missing_ok=True)
        for path in doomed:
            path.unlink()
        for directory in ratio_directories(folder):
            directory.rmdir()
    except OSError as error:
        found = f"cannot be cleared ({error.strerror or error})."
        raise InputError(Problem(str(folder), "not-writable", found, "Check the folder's rights.")) from None


def read_foreign(folder: Path) -> bool:
    """Whether a ``manifest.json`` is there that is no run's; a broken one of ours is not foreign."""
    with contextlib.suppress(InputError):
        return (folder / FILE).exists() and read_manifest(folder) is None
    return False
