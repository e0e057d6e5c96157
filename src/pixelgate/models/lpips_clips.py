"""LPIPS of several frames at once, on any of the three networks of ``lpips`` 0.1.4.

AlexNet comes from the places that `pixelgate.models.alexnet_weights` names. The trunks of the other two are
torchvision's published files, which have to be at hand: they are looked for in the folder or file that the run names
and in torch hub's cache, and one that is not the published file is refused.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import re
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import MissingExtra, ProtocolError, WeightsError
from pixelgate.metrics.registry import Runtime
from pixelgate.models import alexnet_weights, lpips_network
from pixelgate.models.computing import computing

if TYPE_CHECKING:
    import torch

Frames = NDArray[np.float32]
"""Count x height x width x 3, RGB from 0 to 1."""


@dataclass(frozen=True)
class Trunk:
    """One of the networks whose weights only their publisher has.

    Attributes:
        file: torchvision's name; its last eight characters before the suffix begin the file's SHA-256.
        megabytes: its size, for the message.
        heads_digest: SHA-256 of the linear heads in lpips 0.1.4.
    """

    file: str
    megabytes: int
    heads_digest: str

    @property
    def url(self) -> str:
        """Where torchvision gets it."""
        return f"https://download.pytorch.org/models/{self.file}"


TRUNKS: Mapping[str, Trunk] = {
    "vgg": Trunk("vgg16-397923af.pth", 528, "a78928a0af1e5f0fcb1f3b9e8f8c3a2a5a3de244d830ad5c1feddc79b8432868"),
    "squeeze": Trunk(
        "squeezenet1_1-b8a52dc0.pth", 5, "4a5350f23600cb79923ce65bb07cbf57dca461329894153e05a1346bd531cf76"
    ),
}

_networks: dict[tuple[str, str], ClipLpips] = {}
_lock = threading.Lock()


class ClipLpips:
    """A network in evaluation mode on one device.

    Args:
        network: an ``lpips.LPIPS`` with all its weights.
        device: ``cpu``, ``cuda`` or ``cuda:N``.
    """

    def __init__(self, network: Any, device: str) -> None:
        import torch

        self.device = torch.device(device)
        self._network = network.to(self.device, torch.float32, memory_format=torch.channels_last)
        self._slices = [getattr(network.net, f"slice{level}") for level in range(1, network.L + 1)]
        # In evaluation mode a head is its 1x1 convolution alone: one weight a channel.
        self._heads = [head.model[-1].weight.flatten().contiguous() for head in network.lins]

    def distances(self, outputs: Frames, references: Frames, threads: int | None = None) -> list[float]:
        """The distance of each output to its reference; 0.0 exactly where they are equal.

        Args:
            outputs, references: count x height x width x 3, float32, RGB from 0 to 1, of one shape.
            threads: CPU threads, as `Runtime.threads`.
        """
        import torch

        with computing(self.device, threads):
            total = torch.zeros(len(outputs), dtype=torch.float64, device=self.device)
            # Both sides pass apart and in batches of one size, so that equal frames go through equal arithmetic.
            levels = zip(self._levels(outputs), self._levels(references), self._heads, strict=True)
            for output, reference, head in levels:
                difference = _unit_vectors(output).sub_(_unit_vectors(reference)).square_()
                weighted = torch.mv(difference.flatten(0, 1), head).view(len(outputs), -1)
                total += weighted.sum(dim=1, dtype=torch.float64) / weighted.shape[1]
            return [float(value) for value in total]

    def _levels(self, frames: Frames) -> Iterator[torch.Tensor]:
        """Count x pixels x channels for each level."""
        import torch

        signal = torch.from_numpy(np.array(frames)).to(self.device).mul_(2.0).sub_(1.0).permute(0, 3, 1, 2)
        signal = self._network.scaling_layer(signal)
        for layer in self._slices:
            signal = layer(signal)
            # In the channels-last layout this is a view: one row of channels for each pixel.
            yield signal.permute(0, 2, 3, 1).flatten(1, 2)


def load(net: str, runtime: Runtime) -> ClipLpips:
    """The network on the runtime's device, built at its first use in the process.

    Raises:
        MissingExtra, WeightsError, ProtocolError, InputError: it cannot run here.
    """
    lpips_network.device_name(runtime.device)
    with _lock:
        key = (net, runtime.device)
        if key not in _networks:
            _networks[key] = ClipLpips(_build(net, runtime.weights), runtime.device)
        return _networks[key]


def fingerprint(net: str, runtime: Runtime) -> Mapping[str, str]:
    """Backend, device, versions and digests of ``vgg`` or ``squeeze``; errors as `load`."""
    lpips_network.check_package()
    trunk = _trunk(net)
    file = find_trunk(net, runtime.weights)
    return {
        "net": net,
        "backend": f"torch {lpips_network.torch_version()}",
        "device": lpips_network.device_name(runtime.device),
        "lpips": lpips_network.lpips_version(),
        "weights": file_digest(file),
        "heads": trunk.heads_digest,
        "weights_source": str(file),
    }


def find_trunk(net: str, explicit: str | None = None) -> Path:
    """The published file of a trunk.

    Args:
        net: ``vgg`` or ``squeeze``.
        explicit: a file, or a folder that holds one under its published name; no other place is then looked at.

    Raises:
        WeightsError: it is missing or is another file; says how to get it.
        ProtocolError: there is no such network.
    """
    trunk = _trunk(net)
    path = Path(explicit).expanduser() if explicit is not None else alexnet_weights.hub_folder() / "checkpoints"
    if not path.is_file():
        path = path / trunk.file
    mend = (
        f"Download {trunk.url} ({trunk.megabytes} MB) and put it there, name a folder that has it with "
        "--bench-weights, or use the network alex, which is FlexBench's."
    )
    if not path.is_file():
        raise WeightsError(f"{path}: LPIPS on {net} needs torchvision's weights, which are not there. {mend}")
    wanted = trunk.file.rpartition("-")[2].partition(".")[0]
    got = file_digest(path)
    if not got.startswith(wanted):
        raise WeightsError(
            f"{path}: not the weights of LPIPS on {net}: their SHA-256 begins {wanted}, this one is {got}. {mend}"
        )
    return path


@functools.lru_cache(maxsize=8)
def _digest(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file; not read again in this process while its size and date stay."""
    status = path.stat()
    return _digest(path, status.st_size, status.st_mtime_ns)


def _trunk(net: str) -> Trunk:
    try:
        return TRUNKS[net]
    except KeyError:
        raise ProtocolError(f"LPIPS has no network {net!r}; known: alex, {', '.join(TRUNKS)}") from None


def _build(net: str, weights: str | None) -> Any:
    if net == "alex":
        return lpips_network.build(alexnet_weights.resolve(weights))
    lpips_network.check_package()
    trunk = find_trunk(net, weights)
    heads = _heads(net)
    with warnings.catch_warnings():
        # lpips asks torchvision for its networks in a way that has been deprecated since.
        warnings.simplefilter("ignore")
        try:
            import lpips
            import torch
        except ImportError as error:
            raise MissingExtra(f"LPIPS cannot be loaded ({error}): pip install 'pixelgate[perceptual]'") from error
        with torch.device("meta"):
            network = lpips.LPIPS(net=net, version="0.1", pretrained=False, pnet_rand=True, verbose=False)
        state = torch.load(heads, map_location="cpu", weights_only=True)
        published = torch.load(trunk, map_location="cpu", weights_only=True)
    for name, _ in network.net.named_parameters():
        # The slices keep torchvision's numbers of the layers.
        source = re.sub(r"^slice\d+\.", "features.", name)
        if source not in published:
            raise WeightsError(f"{trunk}: not the weights of LPIPS on {net}: there is no {source}")
        state[f"net.{name}"] = published[source].to(torch.float32)
    left = network.load_state_dict(state, strict=False, assign=True).unexpected_keys
    left += [name for name, value in network.named_parameters() if value.is_meta]
    if left:
        raise WeightsError(f"lpips {lpips_network.VERSION} lacks the layers expected of it: {', '.join(left)}")
    return network.eval().requires_grad_(False)


def _heads(net: str) -> Path:
    spec = importlib.util.find_spec("lpips")
    path = Path(spec.origin if spec and spec.origin else "lpips").parent / "weights" / "v0.1" / f"{net}.pth"
    if not path.is_file() or file_digest(path) != TRUNKS[net].heads_digest:
        raise WeightsError(
            f"{path}: not the linear heads of lpips {lpips_network.VERSION}. "
            f"Install it again: pip install --force-reinstall --no-deps lpips=={lpips_network.VERSION}"
        )
    return path


def _unit_vectors(rows: torch.Tensor) -> torch.Tensor:
    import torch

    norm = torch.linalg.vector_norm(rows, dim=2, keepdim=True).add_(lpips_network.EPSILON)
    return torch.div(rows, norm)
