"""The one resize of the Hint-AUC protocol: any picture to a square of float values, by one of two libraries.

Both backends apply an antialiased bilinear (triangle) filter, whose width grows with the reduction, to float32 values
from 0 to 1; aspect ratio is not kept. They differ by a few units in the last place of float32, so a result says which
one made it, and one result never holds both.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pixelgate.errors import MissingExtra, Problem, ProtocolError
from pixelgate.io.any_image import ArrayError

Backend = Literal["paper", "pillow"]

SIDE = 256
"""Height and width of the protocol's square, in pixels."""


def to_square(
    picture: NDArray[np.uint8], backend: Backend, *, side: int = SIDE, threads: int | None = 1
) -> NDArray[np.float32]:
    """Resize a decoded picture to a square.

    Args:
        picture: uint8, height x width x 3, RGB.
        backend: ``paper`` resizes with torchvision (antialiased bilinear on a channels-first float tensor), as the
            paper's evaluator does; ``pillow`` resizes each channel with Pillow's bilinear filter in mode F.
        side: height and width of the square, in pixels.
        threads: CPU threads that torch may use; None leaves its own choice. The values are the same.

    Returns:
        float32, side x side x 3, RGB, values from 0 to 1 (round-off may pass them by 1e-7), contiguous,
        write-protected.

    Raises:
        ArrayError: the picture is not 8-bit RGB (an `InputError` and a `ValueError`).
        ProtocolError: no such backend.
        MissingExtra: ``paper`` without torch and torchvision.

    Source: hintauc 0.3.3, metric side, its two resize backends.
    """
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or picture.size == 0:
        found = f"the picture is {picture.dtype}, of shape {picture.shape}."
        raise ArrayError(Problem("", "array-rgb8", found, "Give uint8, height x width x 3; see as_rgb8."))
    check_backend(backend)
    square = _with_torchvision(picture, side, threads) if backend == "paper" else _with_pillow(picture, side)
    square.flags.writeable = False
    return square


def check_backend(backend: str) -> None:
    """Raise `ProtocolError` unless the backend is known, `MissingExtra` unless it can run here; imports nothing."""
    if backend not in get_args(Backend):
        raise ProtocolError(f"no backend {backend!r}; known: {', '.join(get_args(Backend))}")
    if backend == "paper":
        missing = [name for name in ("torch", "torchvision") if importlib.util.find_spec(name) is None]
        if missing:
            raise MissingExtra(
                f"the backend 'paper' resizes with torchvision and lacks {', '.join(missing)}: "
                "pip install 'pixelgate[perceptual]', or choose the backend 'pillow'"
            )


def fingerprint(backend: Backend) -> Mapping[str, str]:
    """The resize and the versions that decide its values, for a result's record."""
    names = ("torch", "torchvision") if backend == "paper" else ("pillow",)
    library = "torchvision" if backend == "paper" else "pillow"
    versions = {f"resize_{name}": importlib.metadata.version(name) for name in names}
    return {"resize": library, "resize_filter": "bilinear, antialiased, float32 in [0, 1]", **versions}


def _with_torchvision(picture: NDArray[np.uint8], side: int, threads: int | None) -> NDArray[np.float32]:
    import torch
    from torchvision.transforms import functional

    from pixelgate.models.computing import computing

    with computing(torch.device("cpu"), threads):
        # A copy where it is write-protected, because torch warns about such arrays.
        values = torch.from_numpy(picture if picture.flags.writeable else picture.copy())
        signal = values.permute(2, 0, 1).float().div_(255.0)
        resized = functional.resize(signal, [side, side], antialias=True)
        return np.ascontiguousarray(resized.permute(1, 2, 0).numpy())


def _with_pillow(picture: NDArray[np.uint8], side: int) -> NDArray[np.float32]:
    square = np.empty((side, side, 3), dtype=np.float32)
    for channel in range(3):
        values = picture[..., channel].astype(np.float32)
        values /= np.float32(255.0)
        resized = Image.fromarray(values).resize((side, side), Image.Resampling.BILINEAR)
        square[..., channel] = np.asarray(resized)
    return square
