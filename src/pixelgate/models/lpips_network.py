"""The network of ``lpips`` 0.1.4 on AlexNet: checked, loaded once for each device, and run one side at a time."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import math
import re
import sys
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, MissingExtra, Problem, WeightsError
from pixelgate.models.alexnet_weights import AlexNetWeights
from pixelgate.models.computing import computing
from pixelgate.models.weight_files import TORCH_INDICES

if TYPE_CHECKING:
    import torch

VERSION = "0.1.4"
"""The release of ``lpips`` whose network and linear heads are the definition."""

HEADS_DIGEST = "df73285e35b22355a2df87cdb6b70b343713b667eddbda73e1977e0c860835c0"
"""sha256 of ``lpips/weights/v0.1/alex.pth`` in the release 0.1.4 on PyPI."""

Signal = NDArray[np.uint8] | NDArray[np.float32]
"""A picture, height x width x 3: uint8 from 0 to 255, or float32 from 0 to 1. Both are brought to -1 to 1."""

EPSILON = 1e-10
"""Added to each feature vector's norm, as in ``lpips.normalize_tensor``."""

_PIP = "pip install 'pixelgate[perceptual]'"
# On a CPU a level is worked on in up to four pieces of at least so many values (8 MB), which bounds the scratch
# memory. More pieces are no faster, and on a busy machine torch's threads wait for each other after each.
_PIECES, _CHUNK = 4, 1 << 21

_networks: dict[str, LpipsNetwork] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class Prepared:
    """The reference's side: its features of the five levels, each pixel's vector at unit length.

    About 42 MB for a picture of one megapixel (10.5 float32 values a pixel).

    Attributes:
        height, width: of the picture, in pixels.
        levels: one (pixels of the level) x channels tensor a level, on the network's device.
    """

    height: int
    width: int
    levels: tuple[torch.Tensor, ...]


class LpipsNetwork:
    """AlexNet up to its fifth rectifier, and the five linear heads, in evaluation mode on one device.

    Args:
        weights: verified weights of the convolutions.
        device: ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        MissingExtra, WeightsError: as `check_package` and `heads_file`.
    """

    def __init__(self, weights: AlexNetWeights, device: str) -> None:
        import torch

        network = build(weights)
        self.device = torch.device(device)
        self._network = network.to(self.device, torch.float32, memory_format=torch.channels_last)
        self._slices = [getattr(network.net, f"slice{level}") for level in range(1, 6)]
        # In evaluation mode a head is its 1x1 convolution alone: one weight a channel.
        self._heads = [head.model[-1].weight.flatten().contiguous() for head in network.lins]

    def prepare(self, reference: Signal, threads: int | None = None) -> Prepared:
        """Compute the reference's side once.

        Args:
            reference: height x width x 3, uint8 from 0 to 255 or float32 from 0 to 1, both sides at least 31 pixels.
            threads: CPU threads, as `Runtime.threads`.
        """
        import torch

        levels = []
        with computing(self.device, threads):
            for rows in self._features(reference):
                unit = torch.empty_like(rows)
                for start, stop in self._spans(rows):
                    _normalise(rows[start:stop], unit[start:stop])
                levels.append(unit)
        return Prepared(reference.shape[0], reference.shape[1], tuple(levels))

    def compare(self, output: Signal, prepared: Prepared, threads: int | None = None) -> float:
        """The distance of an output of the same size to a prepared reference; 0.0 exactly for the same picture."""
        import torch

        with computing(self.device, threads):
            total = torch.zeros((), dtype=torch.float64, device=self.device)
            levels = zip(self._features(output), prepared.levels, self._heads, strict=True)
            for rows, reference, head in levels:
                total += self._distance(rows, reference, head)
            return float(total)

    def _features(self, image: Signal) -> Iterator[torch.Tensor]:
        import torch

        # A copy, because torch warns about arrays that are write-protected.
        pixels = torch.from_numpy(np.array(image)).to(self.device).to(torch.float32)
        scaled = pixels.div_(127.5) if image.dtype == np.uint8 else pixels.mul_(2.0)
        signal = scaled.sub_(1.0).permute(2, 0, 1).unsqueeze(0)
        signal = self._network.scaling_layer(signal)
        for layer in self._slices:
            signal = layer(signal)
            # In the channels-last layout this is a view: one row of channels for each pixel.
            yield signal.permute(0, 2, 3, 1).reshape(-1, signal.shape[1])

    def _distance(self, rows: torch.Tensor, reference: torch.Tensor, head: torch.Tensor) -> torch.Tensor:
        import torch

        spans = list(self._spans(rows))
        scratch = torch.empty_like(rows[: spans[0][1]])
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        for start, stop in spans:
            difference = scratch[: stop - start]
            _normalise(rows[start:stop], difference)
            difference.sub_(reference[start:stop])
            total += torch.mv(difference.mul_(difference), head).sum(dtype=torch.float64)
        return total / len(rows)

    def _spans(self, rows: torch.Tensor) -> Iterator[tuple[int, int]]:
        # prepare and compare share the spans, so that equal pictures go through equal arithmetic.
        step = len(rows)
        if self.device.type == "cpu":
            step = max(_CHUNK // rows.shape[1], math.ceil(len(rows) / _PIECES))
        for start in range(0, len(rows), step):
            yield start, min(start + step, len(rows))


def load_network(weights: AlexNetWeights, device: str) -> LpipsNetwork:
    """The network on that device, built at its first use in the process.

    The weights' source does not matter here: only one digest passes, so every source gives the same network.
    """
    with _lock:
        if device not in _networks:
            _networks[device] = LpipsNetwork(weights, device)
        return _networks[device]


def check_package() -> None:
    """Raise `MissingExtra` unless torch, torchvision and lpips 0.1.4 are installed; imports none of them."""
    missing = [name for name in ("torch", "torchvision", "lpips") if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingExtra(f"LPIPS needs {', '.join(missing)}: {_PIP}")
    found = lpips_version()
    if found != VERSION:
        raise MissingExtra(f"LPIPS is defined by lpips {VERSION}, and {found} is installed: {_PIP}")


def lpips_version() -> str:
    """The installed release of lpips, or ``unknown``."""
    return _installed("lpips")


def torch_version() -> str:
    """The installed torch with its build (``2.9.0+cpu``), without importing it: that takes over a second."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return str(torch.__version__)
    spec = importlib.util.find_spec("torch")
    file = Path(spec.origin).with_name("version.py") if spec and spec.origin else None
    if file and file.is_file():
        match = re.search(r"^__version__ = '([^']+)'", file.read_text(encoding="utf-8"), re.MULTILINE)
        if match:
            return match[1]
    return _installed("torch")


def heads_file() -> Path:
    """The file with the five linear heads in the installed lpips.

    Raises:
        WeightsError: it is missing or is not the one of release 0.1.4.
    """
    spec = importlib.util.find_spec("lpips")
    path = Path(spec.origin if spec and spec.origin else "lpips").parent / "weights" / "v0.1" / "alex.pth"
    mend = f"Install it again: pip install --force-reinstall --no-deps lpips=={VERSION}"
    if not path.is_file():
        raise WeightsError(f"{path}: the linear heads of lpips are missing. {mend}")
    got = hashlib.sha256(path.read_bytes()).hexdigest()
    if got != HEADS_DIGEST:
        raise WeightsError(
            f"{path}: not the linear heads of lpips {VERSION}: expected {HEADS_DIGEST}, got {got}. {mend}"
        )
    return path


def device_name(device: str) -> str:
    """``cpu``, or ``cuda`` and the GPU's name; imports torch only for a GPU.

    Raises:
        InputError: the name is not a device, or torch sees no such GPU.
    """
    if device == "cpu":
        return "cpu"
    if not re.fullmatch(r"cuda(:\d+)?", device):
        raise InputError(Problem("", "device", f"{device!r} is no device.", "Use cpu, cuda or cuda:N."))
    import torch

    index = int(device.partition(":")[2] or 0)
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if index >= count:
        found = f"torch sees {count} GPU(s), so there is no {device}."
        raise InputError(Problem("", "device", found, "Use --bench-device cpu, or a torch build for your GPU."))
    return f"cuda {torch.cuda.get_device_name(index)}"


def _installed(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def build(weights: AlexNetWeights) -> Any:
    """An ``lpips.LPIPS`` on AlexNet with these weights, in evaluation mode; errors as `check_package`, `heads_file`."""
    check_package()
    heads = heads_file()
    with warnings.catch_warnings():
        # lpips asks torchvision for its network in a way that has been deprecated since.
        warnings.simplefilter("ignore")
        try:
            import lpips
            import torch
        except ImportError as error:
            raise MissingExtra(f"LPIPS cannot be loaded ({error}): {_PIP}") from error
        # On the meta device nothing is allocated and no random number is drawn: every weight is put in below.
        with torch.device("meta"):
            network = lpips.LPIPS(net="alex", version="0.1", pretrained=False, pnet_rand=True, verbose=False)
        state = torch.load(heads, map_location="cpu", weights_only=True)
    for level, (index, (kernel, bias)) in enumerate(zip(TORCH_INDICES, weights.layers, strict=True), start=1):
        state[f"net.slice{level}.{index}.weight"] = torch.from_numpy(kernel.copy())
        state[f"net.slice{level}.{index}.bias"] = torch.from_numpy(bias.copy())
    left = network.load_state_dict(state, strict=False, assign=True).unexpected_keys
    left += [name for name, value in network.named_parameters() if value.is_meta]
    if left:
        raise WeightsError(f"lpips {VERSION} does not have the layers expected of it: {', '.join(left)}")
    return network.eval().requires_grad_(False)


def _normalise(rows: torch.Tensor, into: torch.Tensor) -> None:
    import torch

    norm = torch.linalg.vector_norm(rows, dim=1, keepdim=True).add_(EPSILON)
    torch.div(rows, norm, out=into)
