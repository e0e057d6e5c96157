"""Array files whose bytes are the same on every machine: no time stamps, no compression, values on a coarse grid."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.io.files import atomic_write

_EPOCH = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_GRID = float(1 << 40)


def on_grid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values rounded to multiples of 2**-40.

    Sines and cosines of different C libraries differ in the last bit; rounded, they are equal.
    """
    return np.asarray(np.rint(values * _GRID) / _GRID + 0.0)


def write_npy(path: Path, array: NDArray[Any]) -> None:
    """Write one array as ``.npy``.

    Raises:
        InputError: rule ``not-writable``.
    """
    atomic_write(path, _npy(array))


def write_npz(path: Path, arrays: Mapping[str, NDArray[Any]], *, compressed: bool = False) -> None:
    """Write arrays as ``.npz``.

    Args:
        path: the file.
        arrays: name -> array.
        compressed: deflate the arrays. The bytes then depend on the zlib at hand; the numbers do not.

    Raises:
        InputError: rule ``not-writable``.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
            entry.create_system = _UNIX
            entry.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
            archive.writestr(entry, _npy(array))
    atomic_write(path, buffer.getvalue())


def _npy(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    np.lib.format.write_array(buffer, np.ascontiguousarray(little), version=(1, 0), allow_pickle=False)
    return buffer.getvalue()
