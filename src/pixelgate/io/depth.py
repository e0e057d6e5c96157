"""Depth clips: arrays, and videos whose grey value is the depth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem
from pixelgate.io.array_frames import ArrayFile, open_array
from pixelgate.records import VideoRecord

KEYS = ("depth", "depths", "disparity")
"""Names of the array in an npz file; an array that is alone there may have any name."""
ARRAYS = (".npz", ".npy")
VIDEOS = (".mp4", ".mkv", ".mov", ".webm", ".avi", ".gif")

GREY_SLACK = 2
"""Levels by which the channels of a grey frame may differ. Grey that was encoded as YUV decodes to equal channels;
other ways of encoding it may round."""

_WANTED = "depth, frames x height x width, integers or floats"


@dataclass(frozen=True)
class DepthFile:
    """A depth clip, of which a frame at a time is read; frames can be read any number of times.

    Attributes:
        path: the file.
        height, width: in pixels.
        length: frames.
        record: how the video was decoded; None for an array.
    """

    path: Path
    height: int
    width: int
    length: int
    record: VideoRecord | None = None
    _array: ArrayFile | None = field(default=None, repr=False)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.height, self.width

    def frames(self) -> Iterator[NDArray[Any]]:
        """The frames from the start, height x width each: an array's own values, a video's grey levels (uint8).

        Raises:
            InputError: ``npy-intact`` (a damaged array), ``depth-grey`` (a video whose channels differ by more than
                `GREY_SLACK` levels; of those that differ by less, the green one counts), or what
                `pixelgate.io.video.VideoReader` raises.
        """
        if self._array is not None:
            yield from self._array.slices()
            return
        from pixelgate.io.video import open_video

        with open_video(self.path) as reader:
            for index, frame in enumerate(reader):
                yield _grey(frame, self.path, index)


def open_depth(path: Path) -> DepthFile:
    """Open a depth clip.

    Args:
        path: ``.npz`` with one of `KEYS` or a single array, ``.npy``, or a video whose grey value is the depth.
            Arrays are frames x height x width, real numbers of any range; NaN and infinity are kept.

    Raises:
        InputError: ``depth-suffix`` (another kind of file), ``depth-shape`` (not three axes), ``depth-empty`` (no frame
            or no pixel); what `pixelgate.io.array_frames.open_array` raises, such as ``npy-pickle`` and ``array-type``;
            what `pixelgate.io.video.probe_video` raises.
        MissingExtra: a video, and PyAV is not installed.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in ARRAYS:
        return _open_array(path)
    if suffix not in VIDEOS:
        found = f"has the suffix {path.suffix!r}, which no depth clip has."
        raise InputError(Problem(str(path), "depth-suffix", found, f"Give {', '.join((*ARRAYS, *VIDEOS))}."))
    from pixelgate.io.video import probe_video

    record = probe_video(path)
    return DepthFile(path, record.height, record.width, record.frames, record)


def _open_array(path: Path) -> DepthFile:
    array, key = open_array(path, KEYS, "iuf", _WANTED)
    name = f"{key!r} has shape {array.shape}" if key else f"has shape {array.shape}"
    if len(array.shape) != 3:
        raise InputError(Problem(str(path), "depth-shape", f"{name}.", f"Save {_WANTED}."))
    if 0 in array.shape:
        raise InputError(Problem(str(path), "depth-empty", f"{name}: nothing is in it.", f"Save {_WANTED}."))
    length, height, width = array.shape
    return DepthFile(path, height, width, length, _array=array)


def _grey(frame: NDArray[np.uint8], path: Path, index: int) -> NDArray[np.uint8]:
    red, green, blue = (frame[..., channel] for channel in range(3))
    if np.array_equal(red, green) and np.array_equal(green, blue):
        return green
    widest = int((frame.max(axis=2) - frame.min(axis=2)).max())
    if widest > GREY_SLACK:
        found = f"is not grey: in frame {index} (counted from 0) the channels differ by up to {widest} levels."
        mend = "Save depth as grey levels, not in a colour map, or as an array."
        raise InputError(Problem(str(path), "depth-grey", found, mend))
    return green
