"""OpenCLIP's ViT-B/32 trained on LAION-2B: finding, loading and running its image side."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pixelgate.errors import WeightsError
from pixelgate.models.computing import computing
from pixelgate.models.feature_files import FeatureFiles, HubModel, check_packages, find, versions

ARCHITECTURE = "ViT-B-32"
"""open_clip's name of the network."""

TAG = "laion2b_s34b_b79k"
"""open_clip's name of the training run."""

TITLE = "OpenCLIP ViT-B/32"
HUB = HubModel(
    title=f"{TITLE} ({TAG})",
    repo="laion/CLIP-ViT-B-32-laion2B-s34B-b79K",
    files=(("open_clip_model.safetensors", "open_clip_pytorch_model.bin"),),
    folder="openclip",
)


def locate(explicit: str | None) -> FeatureFiles:
    """The weights; raises `MissingExtra` or `WeightsError`. Loads nothing.

    Args:
        explicit: a file of any name, or a folder that holds one under its published name.
    """
    check_packages(TITLE, "openclip", ("torch", "torchvision", "open_clip", "huggingface_hub"))
    return find(HUB, explicit)


def package_versions() -> Mapping[str, str]:
    """The libraries whose version may move the last digits, the preprocessing's included."""
    return versions("open_clip_torch", "torchvision", "pillow")


class OpenClipNetwork:
    """The network in evaluation mode on one device, with its own preprocessing.

    Args:
        files: the weights.
        device: ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        WeightsError: the file does not hold this network.
    """

    def __init__(self, files: FeatureFiles, device: str) -> None:
        import torch

        self.device = torch.device(device)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            open_clip: Any = importlib.import_module("open_clip")
            path = str(files.folder / files.names[0])
            try:
                # A path in place of the tag: the library then downloads nothing, and its defaults are the tag's.
                model, _, preprocess = open_clip.create_model_and_transforms(ARCHITECTURE, pretrained=path)
            except Exception as error:  # a file of another network may surface as nearly any exception
                raise WeightsError(
                    f"{path}: not the weights of {HUB.title} ({type(error).__name__}: {error})"
                ) from None
        self._model = model.to(self.device, torch.float32).eval().requires_grad_(False)
        self._preprocess = preprocess

    def features(self, picture: NDArray[np.uint8], threads: int | None) -> NDArray[np.float64]:
        """The image's embedding.

        Args:
            picture: height x width x 3, uint8, RGB, not resized: the library brings the shorter side to 224 pixels
                (bicubic, on 8-bit values), cuts the centre and normalises with CLIP's mean and deviation.
            threads: CPU threads, as `Runtime.threads`.

        Returns:
            One vector of 512 values, not normalised.
        """
        signal = self._preprocess(Image.fromarray(picture)).unsqueeze(0)
        with computing(self.device, threads):
            vector = self._model.encode_image(signal.to(self.device))[0]
        return np.asarray(vector.cpu().numpy(), dtype=np.float64)
