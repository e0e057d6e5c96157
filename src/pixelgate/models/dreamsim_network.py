"""DreamSim's ensemble: finding its files, loading and running it through the package dreamsim."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pixelgate.cache import default_cache_folder
from pixelgate.errors import WeightsError
from pixelgate.models.computing import computing
from pixelgate.models.download import offline_reason
from pixelgate.models.feature_files import FeatureFiles, check_packages, choose, versions

TITLE = "DreamSim"
FOLDER = "dreamsim"
FILES = (
    ("dino_vitb16_pretrain.pth",),
    ("clip_vitb16_pretrain.pth.tar",),
    ("open_clip_vitb16_pretrain.pth.tar",),
    ("ensemble_lora/adapter_config.json",),
    ("ensemble_lora/adapter_model.safetensors", "ensemble_lora/adapter_model.bin"),
    # The package loads DINO's network through torch hub, which keeps code and weights here.
    ("facebookresearch_dino_main/hubconf.py",),
    ("checkpoints/dino_vitbase16_pretrain.pth",),
)
"""What the package needs in its cache folder to load the ensemble without a network."""


def locate(explicit: str | None) -> FeatureFiles:
    """The ensemble's files; raises `MissingExtra` or `WeightsError`.

    Args:
        explicit: a folder that the package dreamsim has filled, or one that holds such a folder as ``dreamsim``.
    """
    packages = ("torch", "torchvision", "dreamsim", "peft", "timm", "transformers", "open_clip")
    check_packages(TITLE, "dreamsim", packages)
    places = _places(explicit)
    for source, folder in places:
        names = choose(folder, FILES)
        if names is not None:
            return FeatureFiles(folder, names, source)
    seen = [f"{source}: {folder}: {_lacking(folder)}" for source, folder in places]
    if explicit is None:
        forbidden = offline_reason()
        if forbidden is None:
            return _download(_own_folder(), seen)
        seen.append(f"download: not tried: {forbidden} is set")
    raise WeightsError(_not_found(seen))


def package_versions() -> Mapping[str, str]:
    """The libraries whose version may move the last digits, the preprocessing's included."""
    return versions("dreamsim", "peft", "timm", "torchvision", "pillow")


class DreamSimNetwork:
    """The ensemble in evaluation mode on one device, with its own preprocessing.

    Args:
        files: the files.
        device: ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        WeightsError: the files do not hold this network.
    """

    def __init__(self, files: FeatureFiles, device: str) -> None:
        import torch

        self.device = torch.device(device)
        # The package keeps the features of the picture in work in the network itself.
        self._lock = threading.Lock()
        try:
            self._model, self._preprocess = _load(files.folder, device)
        except Exception as error:  # a damaged file may surface as nearly any exception
            message = f"{files.folder}: not the files of {TITLE} ({type(error).__name__}: {error})"
            raise WeightsError(message) from None

    def features(self, picture: NDArray[np.uint8], threads: int | None) -> NDArray[np.float64]:
        """The ensemble's embedding, of which DreamSim's distance is one minus the cosine.

        Args:
            picture: height x width x 3, uint8, RGB, not resized: the package brings it to 224 x 224 pixels (bicubic,
                on 8-bit values, aspect ratio not kept) and each network normalises by itself.
            threads: CPU threads, as `Runtime.threads`.

        Returns:
            One vector, centred and normalised by the package.
        """
        signal = self._preprocess(Image.fromarray(picture))
        with self._lock, computing(self.device, threads):
            vector = self._model.embed(signal.to(self.device))[0]
        return np.asarray(vector.cpu().numpy(), dtype=np.float64)


def _load(folder: Path, device: str) -> tuple[Any, Any]:
    with _quiet(), _hub_directory_kept():
        dreamsim: Any = importlib.import_module("dreamsim")
        # Without the device the package asks for a GPU.
        model, preprocess = dreamsim.dreamsim(pretrained=True, device=device, cache_dir=str(folder))
    return model.to(device).eval(), preprocess


def _places(explicit: str | None) -> list[tuple[str, Path]]:
    if explicit is not None:
        path = Path(explicit).expanduser()
        return [("explicit file", path / FOLDER), ("explicit file", path)]
    hintauc = os.environ.get("HINTAUC_CACHE_DIR") or "~/.cache/hintauc/dreamsim"
    return [("pixelgate cache", _own_folder()), ("hintauc cache", Path(hintauc).expanduser())]


def _own_folder() -> Path:
    return default_cache_folder() / "weights" / FOLDER


def _download(folder: Path, seen: list[str]) -> FeatureFiles:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Loading is the package's only way of getting all the files.
        _load(folder, "cpu")
    except Exception as error:  # torch hub and urllib document no closed list
        lines = [*seen, f"download: failed ({type(error).__name__}: {error})"]
        raise WeightsError(_not_found(lines)) from None
    names = choose(folder, FILES)
    if names is None:
        raise WeightsError(_not_found([*seen, f"download: {folder}: {_lacking(folder)}"]))
    return FeatureFiles(folder, names, "download")


def _lacking(folder: Path) -> str:
    if not folder.is_dir():
        return "no such folder"
    absent = [" or ".join(group) for group in FILES if not any((folder / name).exists() for name in group)]
    return f"lacks {', '.join(absent)}"


def _not_found(seen: list[str]) -> str:
    return "\n".join(
        [
            f"the weights of {TITLE} were not found. Looked in:",
            *(f"  {line}" for line in seen),
            "Name a folder that holds them with --bench-weights FOLDER, or get them on a machine with a network:",
            f"  python -c \"from dreamsim import dreamsim; dreamsim(device='cpu', cache_dir='{FOLDER}')\"",
        ]
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The package prints to stdout, which may be a result's; its warnings are of no use to the reader."""
    with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _hub_directory_kept() -> Iterator[None]:
    """The package points torch hub at its own folder for the whole process; other networks look there too."""
    import torch

    before = torch.hub.get_dir()
    try:
        yield
    finally:
        torch.hub.set_dir(before)
