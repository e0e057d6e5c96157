"""Arrays in NumPy's ``.npy`` format, read without its unpickler and held to the size that their header promises."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem
from pixelgate.io.files import read_regular_file
from pixelgate.io.npy_headers import HEADER_LOCK

MAGIC = b"\x93NUMPY"
_WRITE_AGAIN = "Write it again with numpy.save, or copy it again."
_HEADERS: dict[tuple[int, int], Callable[[io.BytesIO], Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_npy(path: Path, unpickle: Callable[[bytes, str], Any] | None = None) -> Any:
    """The content of a ``.npy`` file.

    Args:
        path: the file.
        unpickle: (pickled bytes, file name) -> object, for an array of Python objects; None refuses such arrays.

    Returns:
        A read-only array, or for an array of objects what ``unpickle`` gives.

    Raises:
        InputError: rule ``npy-format`` (no such file format), ``npy-intact`` (cut off, or longer than its header says)
            or ``npy-pickle`` (an array of Python objects and no ``unpickle``).
    """
    file = str(path)
    data = read_regular_file(path, "Give the path of a .npy file.")
    if not data.startswith(MAGIC):
        raise InputError(_no_npy(data, file))
    shape, fortran, dtype, start = _header(data, file)
    if dtype.hasobject:
        if unpickle is None:
            found = "holds Python objects, which only unpickling can read, and a pickle can run any program."
            raise InputError(Problem(file, "npy-pickle", found, "Save a plain array of numbers instead."))
        return unpickle(data[start:], file)
    return _plain(data, shape, fortran, dtype, start, file)


def _header(data: bytes, file: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        with HEADER_LOCK:
            shape, fortran, dtype = _HEADERS[version](stream)
    except KeyError:
        found = "is a .npy file of a version other than 1.0 and 2.0."
        raise InputError(Problem(file, "npy-format", found, "Save an array of numbers without field names.")) from None
    except Exception as error:  # a damaged header raises whatever Python's parser does
        found = f"has a header that cannot be read ({type(error).__name__}: {error})."
        raise InputError(Problem(file, "npy-intact", found, _WRITE_AGAIN)) from None
    return shape, fortran, dtype, stream.tell()


def _plain(
    data: bytes, shape: tuple[int, ...], fortran: bool, dtype: np.dtype[Any], start: int, file: str
) -> NDArray[Any]:
    count = math.prod(shape)
    wanted, held = count * dtype.itemsize, len(data) - start
    if min(shape, default=0) < 0 or held != wanted:
        found = f"holds {held} bytes of numbers where its header promises {wanted} (shape {shape}, {dtype})."
        raise InputError(Problem(file, "npy-intact", found, _WRITE_AGAIN))
    if wanted == 0:
        return np.empty(shape, dtype)
    flat: NDArray[Any] = np.frombuffer(data, dtype, count, start)
    return flat.reshape(shape, order="F" if fortran else "C")


def _no_npy(data: bytes, file: str) -> Problem:
    kind = "is no .npy file"
    if not data:
        kind = "holds no bytes"
    elif data.startswith(b"PK"):
        kind = "is an archive (.npz), no .npy file"
    elif data.startswith(b"version https://git-lfs"):
        return Problem(file, "npy-format", "is a Git LFS pointer, not the array.", "Run git lfs pull.")
    elif data.startswith(b"\x80"):
        kind = "is a bare pickle, no .npy file"
    return Problem(file, "npy-format", f"{kind}.", "Save the array with numpy.save.")
