"""Masks of persons for a clip, one per person or one of all: arrays, or videos that are white where masked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem
from pixelgate.io.array_frames import ArrayFile, open_array
from pixelgate.io.depth import ARRAYS, VIDEOS
from pixelgate.records import VideoRecord

KEYS = ("masks", "mask")
"""Names of the array in an npz file; an array that is alone there may have any name."""
THRESHOLD = 127
"""Luma above this is masked, in videos."""

_WANTED = (
    "mask, frames x height x width, or masks, persons x frames x height x width, of booleans, 0 and 1 or 0 and 255"
)


@dataclass(frozen=True)
class MaskFile:
    """Masks of a clip, of which a frame at a time is read; frames can be read any number of times.

    Attributes:
        path: the file.
        height, width: in pixels.
        length: frames.
        persons: masks per frame; 1 for a mask of all. An array of no persons at all has 0, and empty frames.
        record: how the video was decoded; None for an array.
    """

    path: Path
    height: int
    width: int
    length: int
    persons: int
    record: VideoRecord | None = None
    _array: ArrayFile | None = field(default=None, repr=False)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.height, self.width

    def frames(self) -> Iterator[NDArray[np.bool_]]:
        """The frames from the start, persons x height x width each, True where masked.

        Raises:
            InputError: ``mask-values`` (integers other than 0 and 1 or 0 and 255, or both kinds in one file),
                ``npy-intact`` (a damaged array), or what `pixelgate.io.video.VideoReader` raises.
        """
        if self._array is not None:
            yield from self._array_frames(self._array)
            return
        from pixelgate.io.video import open_video

        with open_video(self.path) as reader:
            for frame in reader:
                yield luma_mask(frame)[np.newaxis]

    def _array_frames(self, array: ArrayFile) -> Iterator[NDArray[np.bool_]]:
        if self.persons == 0:
            for _ in range(self.length):
                yield np.zeros((0, *self.size), dtype=np.bool_)
            return
        seen = 0
        for index, values in enumerate(array.slices(axis=len(array.shape) - 3)):
            high = _high(values, self.path, index)
            if high and seen and high != seen:
                found = f"masks with {seen} and, in frame {index} (counted from 0), with {high}."
                raise InputError(Problem(str(self.path), "mask-values", found, f"Save {_WANTED}."))
            seen = seen or high
            masks = values != 0
            yield masks if masks.ndim == 3 else masks[np.newaxis]


def open_masks(path: Path) -> MaskFile:
    """Open the masks of a clip.

    Args:
        path: ``.npz`` with one of `KEYS` or a single array, ``.npy``, or a video that is white where masked. Arrays are
            frames x height x width, or persons x frames x height x width.

    Raises:
        InputError: ``mask-suffix`` (another kind of file), ``mask-shape`` (neither three axes nor four), ``mask-empty``
            (no frame or no pixel); what `pixelgate.io.array_frames.open_array` raises, such as ``npy-pickle`` and
            ``array-type``; what `pixelgate.io.video.probe_video` raises.
        MissingExtra: a video, and PyAV is not installed.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in ARRAYS:
        return _open_array(path)
    if suffix not in VIDEOS:
        found = f"has the suffix {path.suffix!r}, which no masks have."
        raise InputError(Problem(str(path), "mask-suffix", found, f"Give {', '.join((*ARRAYS, *VIDEOS))}."))
    from pixelgate.io.video import probe_video

    record = probe_video(path)
    return MaskFile(path, record.height, record.width, record.frames, 1, record)


def luma_mask(frame: NDArray[np.uint8], threshold: int = THRESHOLD) -> NDArray[np.bool_]:
    """Where the luma of an RGB frame, 0.299 R + 0.587 G + 0.114 B, is above a level.

    Args:
        frame: uint8, height x width x 3.
        threshold: 0 to 255. The sum is exact, so that grey at the threshold is not masked.

    Returns:
        bool, height x width.
    """
    red, green, blue = (frame[..., channel] for channel in range(3))
    if np.array_equal(red, green) and np.array_equal(green, blue):
        return np.asarray(green > threshold)
    luma = 299 * red.astype(np.int32) + 587 * green.astype(np.int32) + 114 * blue.astype(np.int32)
    return np.asarray(luma > 1000 * threshold)


def _open_array(path: Path) -> MaskFile:
    array, key = open_array(path, KEYS, "biu", _WANTED)
    name = f"{key!r} has shape {array.shape}" if key else f"has shape {array.shape}"
    if len(array.shape) not in {3, 4} or (key in KEYS and len(array.shape) != {"mask": 3, "masks": 4}[key]):
        raise InputError(Problem(str(path), "mask-shape", f"{name}.", f"Save {_WANTED}."))
    if 0 in array.shape[-3:]:
        raise InputError(Problem(str(path), "mask-empty", f"{name}: nothing is in it.", f"Save {_WANTED}."))
    length, height, width = array.shape[-3:]
    persons = array.shape[0] if len(array.shape) == 4 else 1
    return MaskFile(path, height, width, length, persons, _array=array)


def _high(values: NDArray[Any], path: Path, index: int) -> int:
    """The value that means masked in these values; 0 where nothing is."""
    if values.dtype == np.bool_:
        return int(values.any())
    high = int(values.max())
    if high in {0, 1, 255} and ((values == 0) | (values == high)).all():
        return high
    other = values[(values != 0) & (values != 1) & (values != 255)]
    what = str(int(other.flat[0])) if other.size else "1 and 255"
    found = f"holds {what} in frame {index} (counted from 0)."
    raise InputError(Problem(str(path), "mask-values", found, f"Save {_WANTED}."))
