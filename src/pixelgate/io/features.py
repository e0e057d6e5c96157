"""Strict reading of npz files in which features, scores or fields of a network's prediction lie.

A file is checked as a whole when it is opened: every array's name, type and shape, from the headers alone. Nothing
is unpickled. Large arrays can be read one row at a time, so that a long clip does not have to fit in memory.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem
from pixelgate.io.npy_headers import HEADER_LOCK

Kind = Literal["real", "rgb8", "count", "text"]

_TYPES: Mapping[str, tuple[str, str]] = {
    "real": ("f", "floating point"),
    "rgb8": ("u", "uint8"),
    "count": ("iu", "integers"),
    "text": ("U", "text"),
}
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError, OSError)


@dataclass(frozen=True)
class Field:
    """What an array of a feature file must be.

    Attributes:
        kind: ``real`` for floating point of any width, ``rgb8`` for uint8, ``count`` for whole numbers, ``text`` for
            one string.
        axes: names of the axes, such as ("T", "D"); a number is the length that the axis must have.
        may_be_empty: whether the first axis may have length 0.
    """

    kind: Kind
    axes: tuple[str | int, ...] = ()
    may_be_empty: bool = False

    @property
    def shape(self) -> str:
        """The wanted shape, for messages: ``(T, D)``."""
        inside = ", ".join(map(str, self.axes))
        return f"({inside},)" if len(self.axes) == 1 else f"({inside})"


@dataclass(frozen=True)
class _Header:
    member: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    offset: int


class FeatureFile:
    """An npz file, open for reading; use it in a ``with`` statement."""

    def __init__(self, path: Path, fields: Mapping[str, Field]) -> None:
        """Open a file and check what its headers say.

        Args:
            path: the npz file.
            fields: every key that it may hold; none has to be there.

        Raises:
            InputError: ``not-a-file``, ``not-readable``; ``prediction-intact`` (no npz file, or a damaged one),
                ``prediction-keys`` (a key that is not in `fields`, or one twice), ``prediction-pickle`` (Python
                objects), ``prediction-type``, ``prediction-shape``. All problems of a file are listed at once.
        """
        self.path = path
        self._fields = fields
        self._archive = _open(path)
        try:
            self._headers = self._read_headers()
        except BaseException:
            self._archive.close()
            raise

    def __enter__(self) -> FeatureFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._archive.close()

    @property
    def keys(self) -> frozenset[str]:
        """The keys that the file holds."""
        return frozenset(self._headers)

    def shape(self, key: str) -> tuple[int, ...]:
        """The shape of an array that is there."""
        return self._headers[key].shape

    def array(self, key: str) -> NDArray[Any]:
        """A whole array, as stored.

        Raises:
            InputError: ``prediction-keys`` (not there), ``prediction-finite``, ``prediction-intact``.
        """
        header = self._header(key)
        try:
            with self._archive.open(header.member) as stream, HEADER_LOCK:
                values: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        except _DAMAGED as error:
            raise self._damaged(key, error) from None
        self._check_finite(key, values, None)
        return values

    def rows(self, key: str) -> Iterator[NDArray[Any]]:
        """The slices of an array along its first axis, one at a time; memory is needed for one of them.

        Raises:
            InputError: as `array`.
        """
        header = self._header(key)
        if header.fortran:
            yield from self.array(key)
            return
        count = math.prod(header.shape[1:])
        try:
            with self._archive.open(header.member) as stream:
                stream.read(header.offset)
                for index in range(header.shape[0]):
                    data = _read(stream, count * header.dtype.itemsize)
                    row = np.frombuffer(data, header.dtype).reshape(header.shape[1:])
                    self._check_finite(key, row, index)
                    yield row
        except InputError:
            raise
        except _DAMAGED as error:
            raise self._damaged(key, error) from None

    def text(self, key: str) -> str | None:
        """A string, or None where the key is not there."""
        return str(self.array(key)[()]) if key in self._headers else None

    def count(self, key: str) -> int:
        """A whole number; errors as `array`."""
        return int(self.array(key)[()])

    def _header(self, key: str) -> _Header:
        if key not in self._headers:
            found = f"holds no {key!r}; it holds {', '.join(sorted(self._headers)) or 'nothing'}."
            raise InputError(self._problem("prediction-keys", found, f"Write {key} {self._fields[key].shape} into it."))
        return self._headers[key]

    def _read_headers(self) -> dict[str, _Header]:
        headers: dict[str, _Header] = {}
        problems = []
        for info in self._archive.infolist():
            key = info.filename.removesuffix(".npy")
            problem = self._key_problem(key, info, headers)
            if problem is None:
                headers[key] = header = self._read_header(key, info)
                problem = self._header_problem(key, header)
            problems += [] if problem is None else [problem]
        if problems:
            raise InputError(problems)
        return headers

    def _key_problem(self, key: str, info: zipfile.ZipInfo, seen: Mapping[str, _Header]) -> Problem | None:
        if key in seen:
            return self._problem("prediction-keys", f"holds {key!r} twice.", "Write the file again.")
        if not info.filename.endswith(".npy") or key not in self._fields:
            found = f"holds {info.filename!r}, which has no meaning here."
            return self._problem("prediction-keys", found, f"Rename or remove it; known: {', '.join(self._fields)}.")
        return None

    def _read_header(self, key: str, info: zipfile.ZipInfo) -> _Header:
        try:
            with self._archive.open(info) as stream:
                major, _ = np.lib.format.read_magic(stream)
                if major not in (1, 2):
                    raise ValueError(f"version {major} of the npy format")
                read = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
                with HEADER_LOCK:
                    shape, fortran, dtype = read(stream)
                offset = stream.tell()
        except _DAMAGED as error:
            raise self._damaged(key, error) from None
        header = _Header(info.filename, shape, dtype, fortran, offset)
        wanted = offset + dtype.itemsize * math.prod(shape)
        if not dtype.hasobject and info.file_size != wanted:
            raise self._damaged(key, ValueError(f"{info.file_size} bytes where {wanted} were announced"))
        return header

    def _header_problem(self, key: str, header: _Header) -> Problem | None:
        field = self._fields[key]
        if header.dtype.hasobject:
            found = f"stores {key!r} as Python objects, which only unpickling could read."
            return self._problem("prediction-pickle", found, f"Store it as an array of shape {field.shape}.")
        kinds, name = _TYPES[field.kind]
        if header.dtype.kind not in kinds or (field.kind == "rgb8" and header.dtype != np.uint8):
            return self._problem("prediction-type", f"{key!r} has dtype {header.dtype}.", f"Store it as {name}.")
        if not _fits(header.shape, field):
            found = f"{key!r} has shape {header.shape}."
            return self._problem("prediction-shape", found, f"Its shape must be {field.shape}.")
        return None

    def _check_finite(self, key: str, values: NDArray[Any], row: int | None) -> None:
        if values.dtype.kind != "f":
            return
        sound = np.isfinite(values)
        if sound.all():
            return
        place = np.argwhere(~sound)[0].tolist() if values.ndim else []
        where = ", ".join(map(str, [row, *place] if row is not None else place))
        found = f"{key!r} holds {int((~sound).sum())} NaN or infinite numbers, the first at [{where}]."
        raise InputError(
            self._problem("prediction-finite", found, "Compute the prediction again; every number counts.")
        )

    def _damaged(self, key: str, error: Exception) -> InputError:
        found = f"{key!r} cannot be read ({_line(error)})."
        return InputError(self._problem("prediction-intact", found, "Write the file again with numpy.savez."))

    def _problem(self, rule: str, found: str, mend: str) -> Problem:
        return Problem(str(self.path), rule, found, mend)


def _open(path: Path) -> zipfile.ZipFile:
    try:
        if not path.is_file():
            found = "is no file." if path.exists() else "does not exist."
            raise InputError(Problem(str(path), "not-a-file", found, "Give the path of an npz file."))
        return zipfile.ZipFile(path)
    except PermissionError as error:
        found = f"cannot be read ({error.strerror})."
        raise InputError(Problem(str(path), "not-readable", found, "Check its rights.")) from None
    except _DAMAGED as error:
        found = f"is no npz file, or a damaged one ({_line(error)})."
        mend = "Write it again with numpy.savez or numpy.savez_compressed."
        raise InputError(Problem(str(path), "prediction-intact", found, mend)) from None


def _fits(shape: tuple[int, ...], field: Field) -> bool:
    if len(shape) != len(field.axes):
        return False
    for index, (length, axis) in enumerate(zip(shape, field.axes, strict=True)):
        if isinstance(axis, int) and length != axis:
            return False
        if length == 0 and not (index == 0 and field.may_be_empty):
            return False
    return True


def _read(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise EOFError("the data end early")
    return data


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
