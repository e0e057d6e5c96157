"""Finding the files of a feature network: named by the user, or in the cache of the library that publishes them."""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pixelgate.errors import MissingExtra, WeightsError
from pixelgate.models.download import offline_reason

_BLOCK = 1 << 20


@dataclass(frozen=True)
class FeatureFiles:
    """Files of one network, all there.

    Attributes:
        folder: where they are.
        names: their names in it, sorted.
        source: ``explicit file``, ``hugging face cache``, ``download`` or another place's name.
    """

    folder: Path
    names: tuple[str, ...]
    source: str

    @property
    def digest(self) -> str:
        """The sha256 over the files' own sha256 in hex, sorted: the files' names do not matter."""
        digests = sorted(_sha256(self.folder / name, _state(self.folder / name)) for name in self.names)
        return hashlib.sha256("\n".join(digests).encode()).hexdigest()


@dataclass(frozen=True)
class HubModel:
    """A network that is published on the Hugging Face hub.

    Attributes:
        title: its name, for messages.
        repo: its repository.
        files: groups of names; of each group the first that is there is taken.
        folder: name of the subfolder in which an explicit folder may hold them.
    """

    title: str
    repo: str
    files: tuple[tuple[str, ...], ...]
    folder: str


def find(model: HubModel, explicit: str | None) -> FeatureFiles:
    """The files of a network.

    Args:
        model: the network.
        explicit: a file or a folder that is looked at instead of every other place.

    Raises:
        WeightsError: a file is missing; the one message lists each place and the command that gets the files.
            Where ``PIXELGATE_OFFLINE`` or ``HF_HUB_OFFLINE`` is set nothing is downloaded.
    """
    if explicit is not None:
        found, seen = _explicit(model, Path(explicit).expanduser())
        if found is None:
            raise WeightsError(_not_found(model, seen))
        return found
    cached = _cached(model)
    if cached is not None:
        return cached
    seen = [f"hugging face cache: {model.repo}: not there, or not whole"]
    forbidden = offline_reason()
    if forbidden:
        raise WeightsError(_not_found(model, [*seen, f"download: not tried: {forbidden} is set"]))
    try:
        return _download(model)
    except Exception as error:  # the hub's client documents no closed list
        raise WeightsError(
            _not_found(model, [*seen, f"download: failed ({type(error).__name__}: {_line(error)})"])
        ) from None


def check_packages(title: str, extra: str, names: Sequence[str]) -> None:
    """Raise `MissingExtra` unless all these modules are installed; imports none of them."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingExtra(f"{title} needs {', '.join(missing)}: pip install 'pixelgate[{extra}]'")


def versions(*distributions: str) -> dict[str, str]:
    """Installed releases by distribution name; ``unknown`` where there is no metadata."""
    found = {}
    for name in distributions:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "unknown"
    return found


def choose(folder: Path, groups: Sequence[Sequence[str]]) -> tuple[str, ...] | None:
    """Of each group of names the first that the folder holds; None where a group has none."""
    names = [next((name for name in group if (folder / name).exists()), None) for group in groups]
    return None if None in names else tuple(sorted(name for name in names if name is not None))


def _explicit(model: HubModel, path: Path) -> tuple[FeatureFiles | None, list[str]]:
    if path.is_file() and len(model.files) == 1:
        return FeatureFiles(path.parent, (path.name,), "explicit file"), []
    path = path.parent if path.is_file() else path
    for folder in (path / model.folder, path):
        names = choose(folder, model.files)
        if names is not None:
            return FeatureFiles(folder, names, "explicit file"), []
    return None, [f"explicit file: {path}: holds neither {_wanted(model)} nor a folder {model.folder} with them"]


def _cached(model: HubModel) -> FeatureFiles | None:
    hub: Any = importlib.import_module("huggingface_hub")
    for name in model.files[0]:
        known = hub.try_to_load_from_cache(model.repo, name)
        if isinstance(known, str):
            names = choose(Path(known).parent, model.files)
            if names is not None:
                return FeatureFiles(Path(known).parent, names, "hugging face cache")
    return None


def _download(model: HubModel) -> FeatureFiles:
    hub: Any = importlib.import_module("huggingface_hub")
    folder = Path()
    names = []
    for group in model.files:
        file, name = _first(hub, model.repo, group)
        folder = file.parent
        names.append(name)
    return FeatureFiles(folder, tuple(sorted(names)), "download")


def _first(hub: Any, repo: str, group: Sequence[str]) -> tuple[Path, str]:
    for name in group[:-1]:
        try:
            return Path(hub.hf_hub_download(repo, name)), name
        except hub.errors.EntryNotFoundError:
            continue
    return Path(hub.hf_hub_download(repo, group[-1])), group[-1]


def _wanted(model: HubModel) -> str:
    return ", ".join(" or ".join(group) for group in model.files)


def _not_found(model: HubModel, seen: Sequence[str]) -> str:
    lines = [f"  {line}" for line in seen]
    names = " ".join(group[0] for group in model.files)
    return "\n".join(
        [
            f"the weights of {model.title} were not found. Looked in:",
            *lines,
            "Name a folder that holds them with --bench-weights FOLDER, or get them on a machine with a network:",
            f"  hf download {model.repo} {names}",
        ]
    )


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no message"])[0][:200]


def _state(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


@functools.lru_cache(maxsize=64)
def _sha256(path: Path, state: tuple[int, int]) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
