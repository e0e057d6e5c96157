"""From a decoded frame to upright 8-bit RGB: colour matrix, value range, alpha and display matrix."""

from __future__ import annotations

import functools
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem
from pixelgate.io._video_av import library

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

Frame = NDArray[np.uint8]

UNSPECIFIED_MATRIX = 2
UNSPECIFIED_RANGE = 0
LIMITED_RANGE = 1
MATRICES = frozenset({0, 1, 2, 4, 5, 6, 7, 9})
"""FFmpeg's numbers of the colour matrices that its scaler converts, unspecified (BT.601) among them."""

HDR_TRANSFERS = {16: "PQ", 18: "HLG"}
_EXPANDED = np.clip(np.rint((np.arange(256) - 16) * 255 / 219), 0, 255).astype(np.uint8)


def rgb(frame: VideoFrame, file: str) -> Frame:
    """The frame as RGB, as stored (not turned).

    YUV is converted with the frame's own matrix and range; an unspecified matrix counts as BT.601, an unspecified
    range as limited. Chroma is interpolated by FFmpeg's bilinear scaler. More than 8 bits are rounded to 8.

    Args:
        frame: a decoded frame.
        file: its file, for the error.

    Returns:
        uint8, H x W x 3, not necessarily contiguous.

    Raises:
        InputError: rule ``colour-matrix``, a matrix that FFmpeg's scaler does not know.
    """
    if frame.colorspace not in MATRICES:
        found = f"has colour matrix {int(frame.colorspace)}, which cannot be converted to RGB."
        mend = "Encode it again with a BT.709 or BT.601 matrix."
        raise InputError(Problem(file, "colour-matrix", found, mend))
    # One thread: see `use_one_thread`; for frames of this size the scaler's own threads only cost time.
    picture: Frame = np.asarray(frame.reformat(format="rgb24", threads=1).to_ndarray(), dtype=np.uint8)
    # FFmpeg's scaler takes every grey picture for full range, whatever its tag says.
    limited_grey = frame.color_range == LIMITED_RANGE and _kind(frame.format.name).grey
    return _EXPANDED[picture] if limited_grey else picture


def assumed(frame: VideoFrame) -> str:
    """What is assumed about the frame's colours because it does not say it; empty where it says what is needed.

    Formats that hold RGB need no tags, grey ones no matrix.
    """
    kind = _kind(frame.format.name)
    if kind.rgb:
        return ""
    if kind.grey:
        return "full range (as FFmpeg does for grey)" if frame.color_range == UNSPECIFIED_RANGE else ""
    matrix = "the BT.601 matrix" if frame.colorspace == UNSPECIFIED_MATRIX else ""
    limited = "limited range" if frame.color_range == UNSPECIFIED_RANGE else ""
    return " and ".join(part for part in (matrix, limited) if part)


def transparent(frame: VideoFrame) -> bool:
    """Whether any pixel has an alpha below the highest value."""
    if not _kind(frame.format.name).alpha:
        return False
    return bool(frame.reformat(format="rgba", threads=1).to_ndarray()[..., 3].min() < 255)


def rotation(frame: VideoFrame, file: str, before: int | None) -> int:
    """Degrees by which to turn the frame counter-clockwise: -90, 0, 90 or 180.

    Args:
        frame: a decoded frame.
        file: its file, for the error.
        before: those of the frame before it, None for the first.

    Raises:
        InputError: rule ``display-matrix``: another angle, or a matrix that mirrors.
    """
    degrees = int(frame.rotation)
    if degrees == -180:
        degrees = 180
    if degrees == before:
        # To ask PyAV for side data ties the frame into a reference cycle, which keeps it in memory for long.
        return degrees
    mirrored = _mirrored(frame)
    if degrees % 90 or mirrored:
        found = "is to be shown mirrored." if mirrored else f"is to be shown turned by {degrees} degrees."
        mend = "Encode it again with the pixels as they are to be seen; multiples of 90 degrees alone are applied."
        raise InputError(Problem(file, "display-matrix", found, mend))
    return degrees


def upright(picture: Frame, degrees: int) -> Frame:
    """The picture turned counter-clockwise by a multiple of 90 degrees, contiguous."""
    return np.ascontiguousarray(np.rot90(picture, degrees // 90))


@dataclass(frozen=True)
class _Kind:
    rgb: bool
    grey: bool
    alpha: bool


@functools.lru_cache
def _kind(pixel_format: str) -> _Kind:
    described = library().VideoFormat(pixel_format)
    alpha = [bool(component.is_alpha) for component in described.components]
    rgb_values = bool(described.is_rgb or described.has_palette)
    grey = not rgb_values and alpha.count(False) == 1
    return _Kind(rgb_values, grey, any(alpha) or bool(described.has_palette))


def _mirrored(frame: VideoFrame) -> bool:
    data: Any = frame.side_data.get(library().sidedata.sidedata.Type.DISPLAYMATRIX)
    if data is None:
        return False
    a, b, _, c, d = struct.unpack_from("=5i", data)
    return bool(a * d - b * c < 0)
