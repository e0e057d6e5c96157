"""Large arrays in npy and npz files, read one frame at a time, so that a long clip does not have to fit in memory.

The header is checked when a file is opened; the numbers are read when they are asked for, as often as they are. Nothing
is ever unpickled.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem
from pixelgate.io.npy_headers import HEADER_LOCK

_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError, OSError)
_HEADERS: dict[tuple[int, int], Callable[[IO[bytes]], Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_WRITE_AGAIN = "Write it again with numpy.save or numpy.savez, or copy it again."
_BLOCK = 1 << 18
_MAGIC = b"\x93NUMPY"


@dataclass(frozen=True)
class ArrayFile:
    """One array of a file, of which only the header was read.

    Attributes:
        path: the file.
        member: its name within an npz file; None for an npy file.
        shape, dtype: as stored.
        fortran: whether the first axis varies fastest; such an array is loaded whole.
        offset: bytes before the first number.
    """

    path: Path
    member: str | None
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    offset: int

    def slices(self, axis: int = 0) -> Iterator[NDArray[Any]]:
        """The array's slices along an axis, one at a time; may be called any number of times.

        Args:
            axis: 0, or 1 for the second axis; then the slices are cut at as many places of the file at once as the
                first axis is long.

        Raises:
            InputError: ``npy-intact``, if the file is damaged.
        """
        try:
            if self.fortran:
                yield from self._whole(axis)
            else:
                yield from self._streamed(axis)
        except _DAMAGED as error:
            raise InputError(_damaged(self.path, error)) from None

    def _whole(self, axis: int) -> Iterator[NDArray[Any]]:
        with _opened(self.path, self.member) as stream, HEADER_LOCK:
            values: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        yield from np.moveaxis(values, axis, 0)

    def _streamed(self, axis: int) -> Iterator[NDArray[Any]]:
        outer, inner = self.shape[:axis], self.shape[axis + 1 :]
        size = math.prod(inner) * self.dtype.itemsize
        with ExitStack() as stack:
            streams = [stack.enter_context(_opened(self.path, self.member)) for _ in range(math.prod(outer))]
            for index, stream in enumerate(streams):
                self._skip(stream, self.offset + index * self.shape[axis] * size)
            for _ in range(self.shape[axis]):
                # An archive's checksum is compared with the last bytes.
                parts = [np.frombuffer(_read(stream, size), self.dtype).reshape(inner) for stream in streams]
                yield np.stack(parts) if outer else parts[0]

    def _skip(self, stream: IO[bytes], count: int) -> None:
        if self.member is None:
            stream.seek(count)
        # An archive's own seek reads up to 16 MiB at a time.
        elif any(not stream.read(min(_BLOCK, count - start)) for start in range(0, count, _BLOCK)):
            raise EOFError("the numbers end early")


def open_array(path: Path, keys: Sequence[str], kinds: str, wanted: str) -> tuple[ArrayFile, str]:
    """Find the array of an npz or npy file and check its header.

    Args:
        path: a file whose name ends in ``.npz`` or ``.npy``.
        keys: the names that it may have in an npz file; an array that is alone there may have any.
        kinds: numpy's letters of the types it may have, such as ``iuf``.
        wanted: those types and shapes in words, for messages.

    Returns:
        The array and its name, which is empty for an npy file.

    Raises:
        InputError: ``not-a-file``, ``not-readable``; ``npy-format`` (another kind of file), ``npy-intact`` (damaged),
            ``npy-pickle`` (Python objects), ``array-keys`` (none or several of `keys`), ``array-type``.
    """
    if not path.is_file():
        found = "is no file." if path.exists() else "does not exist."
        raise InputError(Problem(str(path), "not-a-file", found, f"Give a file with {wanted}."))
    try:
        array, key = _member(path, keys, wanted) if path.suffix.lower() == ".npz" else (None, "")
        with _opened(path, array) as stream:
            header = _header(path, array, stream)
    except PermissionError as error:
        raise InputError(Problem(str(path), "not-readable", f"{error.strerror}.", "Check its rights.")) from None
    except _DAMAGED as error:
        raise InputError(_damaged(path, error)) from None
    if header.dtype.hasobject:
        found = f"holds Python objects{_named(key)}, which only unpickling could read; that may run any program."
        raise InputError(Problem(str(path), "npy-pickle", found, f"Save {wanted}."))
    if header.dtype.kind not in kinds:
        raise InputError(Problem(str(path), "array-type", f"holds {header.dtype}{_named(key)}.", f"Save {wanted}."))
    _check_size(header)
    return header, key


def _member(path: Path, keys: Sequence[str], wanted: str) -> tuple[str, str]:
    with path.open("rb") as stream:
        if stream.read(2) != b"PK":
            raise InputError(Problem(str(path), "npy-format", "is no npz archive.", "Write it with numpy.savez."))
    with zipfile.ZipFile(path) as archive:
        names = {name.removesuffix(".npy"): name for name in archive.namelist()}
    there = [key for key in keys if key in names] or (list(names) if len(names) == 1 else [])
    if len(there) == 1:
        return names[there[0]], there[0]
    found = f"holds {', '.join(sorted(names)) or 'nothing'}; which array is meant cannot be told."
    raise InputError(Problem(str(path), "array-keys", found, f"Save one array, {' or '.join(keys)}: {wanted}."))


def _header(path: Path, member: str | None, stream: IO[bytes]) -> ArrayFile:
    start = stream.read(len(_MAGIC))
    if start != _MAGIC:
        raise InputError(Problem(str(path), "npy-format", "is no array of numpy's.", "Save it with numpy.save."))
    stream.seek(0)
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        found = "is of a version of numpy's format other than 1.0 and 2.0."
        raise InputError(Problem(str(path), "npy-format", found, "Save an array of numbers without field names."))
    with HEADER_LOCK:
        shape, fortran, dtype = _HEADERS[version](stream)
    return ArrayFile(path, member, shape, dtype, fortran and len(shape) > 1, stream.tell())


def _check_size(array: ArrayFile) -> None:
    wanted = array.offset + math.prod(array.shape) * array.dtype.itemsize
    if array.member is None:
        held = array.path.stat().st_size
    else:
        with zipfile.ZipFile(array.path) as archive:
            held = archive.getinfo(array.member).file_size
    if min(array.shape, default=0) < 0 or held != wanted:
        found = f"{held} bytes where its header of shape {array.shape}, {array.dtype} promises {wanted}"
        raise InputError(_damaged(array.path, EOFError(found)))


@contextmanager
def _opened(path: Path, member: str | None) -> Iterator[IO[bytes]]:
    if member is None:
        with path.open("rb") as stream:
            yield stream
    else:
        with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
            yield stream


def _read(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise EOFError("the numbers end early")
    return data


def _named(key: str) -> str:
    return f" as {key!r}" if key else ""


def _damaged(path: Path, error: BaseException) -> Problem:
    line = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    return Problem(str(path), "npy-intact", f"cannot be read ({line}).", _WRITE_AGAIN)
