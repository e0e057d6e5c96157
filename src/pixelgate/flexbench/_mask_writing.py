"""Writing a clip's mask frame by frame: as an npz file, as a black and white video, and over the clip."""

from __future__ import annotations

import contextlib
import os
import secrets
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pixelgate.clips._show_layout import Frame, grey_rgb, tinted
from pixelgate.errors import InputError, Problem
from pixelgate.io.fill import fill_coverage, fill_geometry

Mask = NDArray[np.bool_]
Sink = Callable[[Mask], None]

FALLBACK_FPS = 8.0
"""Frames per second of videos of masks that no clip belongs to."""
MASKED = (255, 64, 64)

_MEMBER = "mask.npy"


@contextmanager
def mask_array(path: Path, shape: tuple[int, int, int]) -> Iterator[Sink]:
    """A compressed npz file with ``mask``, bool, frames x height x width; gives what takes its frames, one at a time.

    The file appears under its name once it is whole; if the ``with`` block ends with an error, nothing is left behind.
    The same masks give the same bytes.

    Raises:
        InputError: rule ``not-writable``.
        ValueError: a frame of another size, or another number of them.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    # A date of its own, so that the bytes do not depend on when they were written.
    member = zipfile.ZipInfo(_MEMBER, date_time=(1980, 1, 1, 0, 0, 0))
    member.compress_type = zipfile.ZIP_DEFLATED
    count = 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(temporary, "x") as archive, archive.open(member, "w", force_zip64=True) as stream:
            header = {"descr": "|b1", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(stream, header)

            def write(mask: Mask) -> None:
                nonlocal count
                if mask.shape != shape[1:] or mask.dtype != np.bool_:
                    raise ValueError(f"a mask is bool of shape {shape[1:]}; got {mask.dtype}, shape {mask.shape}")
                stream.write(mask.tobytes())
                count += 1

            yield write
        if count != shape[0]:
            raise ValueError(f"{path}: {count} frames were written; {shape[0]} were announced")
        os.replace(temporary, path)
    except OSError as error:
        found, mend = f"cannot be written ({error.strerror or error}).", "Check the folder's rights and space."
        raise InputError(Problem(str(path), "not-writable", found, mend)) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


@contextmanager
def mask_video(path: Path, fps: float) -> Iterator[Sink]:
    """A video that is white where masked; gives what takes its frames. Errors as of `VideoWriter`."""
    from pixelgate.io.video_write import VideoWriter

    with VideoWriter(path, fps) as writer:
        yield lambda mask: writer.write(grey_rgb(np.where(mask, np.uint8(255), np.uint8(0))))


@contextmanager
def overlay_video(path: Path, fps: float, clip: Path, size: tuple[int, int]) -> Iterator[Sink]:
    """A video of the clip whose masked pixels are half red; gives what takes the masks.

    Args:
        path: of the video.
        fps: its rate.
        clip: has as many frames as there are masks.
        size: height and width of the masks, which are brought to the clip's size by coverage.

    Raises:
        InputError: as of `VideoWriter` and `open_video`.
    """
    from pixelgate.io.video import open_video
    from pixelgate.io.video_write import VideoWriter

    with open_video(clip) as reader, VideoWriter(path, fps) as writer:
        frames = iter(reader)

        def draw(mask: Mask) -> None:
            frame: Frame = next(frames)
            geometry = fill_geometry(size, (frame.shape[0], frame.shape[1]))
            writer.write(tinted(frame, fill_coverage(mask, geometry), MASKED))

        yield draw
