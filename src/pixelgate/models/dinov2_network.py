"""DINOv2-base: finding, loading and running it through transformers."""

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

TITLE = "DINOv2-base"
HUB = HubModel(
    title=TITLE,
    repo="facebook/dinov2-base",
    files=(("model.safetensors", "pytorch_model.bin"), ("config.json",), ("preprocessor_config.json",)),
    folder="dinov2-base",
)


def locate(explicit: str | None) -> FeatureFiles:
    """The weights, configuration and preprocessing's settings; raises `MissingExtra` or `WeightsError`.

    Args:
        explicit: a folder that holds the three files under their published names, or one of them.
    """
    check_packages(TITLE, "dino", ("torch", "torchvision", "transformers", "huggingface_hub"))
    return find(HUB, explicit)


def package_versions() -> Mapping[str, str]:
    """The libraries whose version may move the last digits, the preprocessing's included."""
    return versions("transformers", "pillow")


class Dinov2Network:
    """The network in evaluation mode on one device, with its own preprocessing in its Pillow form.

    Args:
        files: the weights and both settings.
        device: ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        WeightsError: the files do not hold this network.
    """

    def __init__(self, files: FeatureFiles, device: str) -> None:
        import torch

        self.device = torch.device(device)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            transformers: Any = importlib.import_module("transformers")
            # Releases from 5 on resize with torchvision unless told so; the paper's resized with Pillow.
            major = int(transformers.__version__.split(".")[0])
            form: dict[str, Any] = {"backend": "pil"} if major >= 5 else {"use_fast": False}
            try:
                self._processor = transformers.AutoImageProcessor.from_pretrained(
                    files.folder, local_files_only=True, **form
                )
                model, loaded = transformers.AutoModel.from_pretrained(
                    files.folder, local_files_only=True, output_loading_info=True
                )
            except Exception as error:  # a file of another network may surface as nearly any exception
                message = f"{files.folder}: not the files of {TITLE} ({type(error).__name__}: {error})"
                raise WeightsError(message) from None
        # transformers fills what a file lacks with random numbers and only prints a line.
        left = sorted({str(name) for key in ("missing_keys", "mismatched_keys") for name in loaded[key]})
        if left or not hasattr(model.config, "patch_size"):
            lacking = ", ".join(left[:3]) or "patches"
            raise WeightsError(f"{files.folder}: not the weights of {TITLE}: they lack {lacking}")
        self._model = model.to(self.device, torch.float32).eval().requires_grad_(False)

    def features(self, picture: NDArray[np.uint8], threads: int | None) -> NDArray[np.float64]:
        """The mean over all tokens of the last hidden state, the class token's included.

        Args:
            picture: height x width x 3, uint8, RGB, not resized: the processor brings the shorter side to 256 pixels
                (bicubic, on 8-bit values), cuts 224 x 224 from the centre and normalises.
            threads: CPU threads, as `Runtime.threads`.

        Returns:
            One vector of 768 values, not normalised.
        """
        signal = self._processor(images=Image.fromarray(picture), return_tensors="pt")["pixel_values"]
        with computing(self.device, threads):
            vector = self._model(pixel_values=signal.to(self.device)).last_hidden_state.mean(dim=1)[0]
        return np.asarray(vector.cpu().numpy(), dtype=np.float64)
