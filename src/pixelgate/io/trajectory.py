"""Camera trajectories as MegaSaM writes them: an ``.npz`` file with ``cam_c2w``, camera to world, one pose a frame."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem
from pixelgate.io.files import read_regular_file
from pixelgate.io.npy_headers import HEADER_LOCK

POSES = "cam_c2w"
_INTRINSICS = ("intrinsic", "intrinsics")
_MEGASAM = "Give MegaSaM's output for the clip, or numpy.savez(path, cam_c2w=poses) with poses of shape (frames, 4, 4)."


@dataclass(frozen=True)
class Trajectory:
    """A camera's path.

    Attributes:
        file: path as given.
        poses: T x 4 x 4, float64, camera to world. Nothing is known of them but that they are numbers: they may be
            NaN, infinite or no rigid motions.
        intrinsics: what the file holds of them, float64; None where it holds none.
        dtype: the type in which the poses are stored.
    """

    file: str
    poses: NDArray[np.float64]
    intrinsics: NDArray[np.float64] | None
    dtype: str


def read_trajectory(path: Path) -> Trajectory:
    """Read a camera trajectory.

    Args:
        path: an ``.npz`` file whose ``cam_c2w`` is (T,4,4) or (T,3,4), of real numbers; ``intrinsic`` or ``intrinsics``
            is kept where present. Other arrays, such as MegaSaM's images and depths, are not read from the disk.

    Raises:
        InputError: rule ``trajectory-format`` (no such file format, damaged), ``trajectory-key`` (no ``cam_c2w``; says
            which arrays there are), ``trajectory-dtype``, ``trajectory-shape`` or ``trajectory-empty``.
    """
    file = str(path)
    arrays = _arrays(path, file)
    poses = _numbers(arrays[POSES], file, POSES)
    if poses.ndim != 3 or poses.shape[1:] not in ((4, 4), (3, 4)):
        found = f"has {POSES} of shape {poses.shape}."
        raise InputError(Problem(file, "trajectory-shape", found, "Give (frames, 4, 4) or (frames, 3, 4)."))
    if not len(poses):
        raise InputError(Problem(file, "trajectory-empty", "holds no poses.", _MEGASAM))
    intrinsics = next((_numbers(arrays[key], file, key) for key in _INTRINSICS if key in arrays), None)
    return Trajectory(file, _square(poses), intrinsics, str(arrays[POSES].dtype))


def _arrays(path: Path, file: str) -> dict[str, NDArray[Any]]:
    """The arrays that are wanted; the others of the archive, which may be large, stay on the disk."""
    if not path.is_file():
        read_regular_file(path, "Give the path of an .npz file.")  # says what is wrong with it
    try:
        with path.open("rb") as stream:
            start = stream.read(64)
            if not start.startswith(b"PK"):
                raise InputError(_no_npz(start, file))
            stream.seek(0)
            with HEADER_LOCK, np.load(stream, allow_pickle=False) as archive:
                keys = list(archive.files)
                found = {key: np.asarray(archive[key]) for key in (POSES, *_INTRINSICS) if key in keys}
    except InputError:
        raise
    except Exception as error:  # a damaged archive raises what its decoders do, of many kinds
        if isinstance(error, ValueError) and "allow_pickle" in str(error):
            problem = Problem(file, "trajectory-dtype", "holds Python objects, no numbers.", _MEGASAM)
            raise InputError(problem) from None
        raise InputError(_damaged(file, error)) from None
    if POSES not in found:
        there = ", ".join(sorted(keys)) or "none"
        problem = Problem(file, "trajectory-key", f"has no array {POSES!r}; it has: {there}.", _MEGASAM)
        raise InputError(problem)
    return found


def _numbers(array: NDArray[Any], file: str, key: str) -> NDArray[np.float64]:
    if array.dtype.kind not in "fiu":
        found = f"has {key} of type {array.dtype}, no real numbers."
        raise InputError(Problem(file, "trajectory-dtype", found, "Save it as a float array."))
    return array.astype(np.float64)


def _square(poses: NDArray[np.float64]) -> NDArray[np.float64]:
    if poses.shape[1] == 4:
        return poses
    last = np.broadcast_to(np.array([0.0, 0.0, 0.0, 1.0]), (len(poses), 1, 4))
    return np.concatenate([poses, last], axis=1)


def _damaged(file: str, error: BaseException) -> Problem:
    reason = " ".join(str(error).split()) or type(error).__name__
    found = f"cannot be read ({reason})."
    return Problem(file, "trajectory-format", found, "Write it again, or copy it again.")


def _no_npz(data: bytes, file: str) -> Problem:
    if data.startswith(b"version https://git-lfs"):
        return Problem(file, "trajectory-format", "is a Git LFS pointer, not the archive.", "Run git lfs pull.")
    found = "is no .npz archive." if data else "holds no bytes."
    return Problem(file, "trajectory-format", found, _MEGASAM)
