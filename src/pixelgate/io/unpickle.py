"""Unpickling that can build numbers, texts, containers and plain numpy arrays, and nothing else.

A pickle is a program: it names functions and calls them. Here every name is looked up in a short table of our own
functions, so that numpy's own, which trust the sizes and types that a pickle tells them, are never called.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
from collections.abc import Callable, Mapping
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem

_KINDS = "biufcSU"
"""Kinds of numpy types that stand for themselves; objects ("O") are lists of other values."""

_REFUSED = frozenset({"EXT1", "EXT2", "EXT4", "PERSID", "BINPERSID", "INST", "OBJ", "NEXT_BUFFER", "READONLY_BUFFER"})
"""Instructions that reach for something outside the file, or build instances in an old way."""

_MAX_DEPTH = 32
_NEW, _OPEN = object(), object()
_MEND = "Save a plain array of numbers with numpy.save instead, or make the file again."


class _Refused(pickle.UnpicklingError):
    """The pickle asks for something that is not on the list."""


def restricted_unpickle(data: bytes, file: str) -> Any:
    """Build what a pickle describes, from numbers, texts, containers and numpy arrays alone.

    Args:
        data: one whole pickle, of any protocol.
        file: where it comes from, for the message.

    Returns:
        The object. Arrays are new ones; an array of objects comes as an array of dtype object.

    Raises:
        InputError: rule ``pickle-global`` names what the pickle wanted to import and must not; rule ``pickle-intact``
            says what else is wrong with it.
    """
    try:
        _scan(data)
        stream = io.BytesIO(data)
        built = _Unpickler(stream).load()
        if stream.tell() != len(data):
            raise pickle.UnpicklingError(f"{len(data) - stream.tell()} bytes lie behind its end")
        return _resolve(built, {}, _MAX_DEPTH)
    except _Refused as error:
        raise InputError(Problem(file, "pickle-global", f"holds a pickle that {error}.", _MEND)) from None
    except Exception as error:  # a damaged or hostile pickle may raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        found = f"holds a pickle that cannot be read ({reason})."
        raise InputError(Problem(file, "pickle-intact", found, _MEND)) from None


def _scan(data: bytes) -> None:
    """Refuse instructions that are never needed, before any of them is carried out."""
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name in _REFUSED:
            raise _Refused(f"uses the instruction {opcode.name} ({argument!r}), which is not allowed")
        if opcode.name.endswith("PUT") and argument is not None and int(argument) > len(data):
            raise pickle.UnpicklingError("it numbers more values than it holds")


class _Dtype:
    """A numpy type while its parts are read."""

    __slots__ = ("dtype",)

    def __init__(self, code: object, *_: object) -> None:
        if not isinstance(code, str) or len(code) > 16 or not code[:1].isalpha():
            raise pickle.UnpicklingError(f"{code!r} is no type of numbers")
        self.dtype = np.dtype(code)
        if self.dtype.kind not in _KINDS + "O":
            raise pickle.UnpicklingError(f"{code!r} is no type of numbers or texts")

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) < 5 or state[1] not in ("<", ">", "=", "|"):
            raise pickle.UnpicklingError("a numpy type is described in an unknown way")
        if any(part is not None for part in state[2:5]):
            raise pickle.UnpicklingError("arrays with fields are not read")
        self.dtype = self.dtype if state[1] == "|" else self.dtype.newbyteorder(state[1])


class _Array:
    """A numpy array while its parts are read."""

    __slots__ = ("array", "items", "shape")

    def __init__(self) -> None:
        self.array: NDArray[Any] = np.empty(0)
        self.items: list[Any] | None = None
        self.shape: tuple[int, ...] = (0,)

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran, data = state
        self.shape = _shape(shape)
        if not _dtype(kind).hasobject:
            self.array = _from_bytes(data, kind, self.shape, "F" if fortran is True else "C")
        elif not isinstance(data, list) or len(data) != math.prod(self.shape):
            raise pickle.UnpicklingError("an array of objects does not hold as many as its shape says")
        else:
            # They are in C order whatever the array's own, and are put in at the end, when all of them are built.
            self.items, self.array = data, np.empty(len(data), dtype=object)


class _Function:
    """One of our functions under the name that a pickle knows; it cannot be changed by the pickle."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *args: Any) -> Any:
        return self._call(*args)

    def __setstate__(self, _: object) -> NoReturn:
        raise pickle.UnpicklingError("it changes a function")


_NDARRAY = "numpy.ndarray"
"""Stands for the class, which must not be called: it would take any memory for an array."""


def _reconstruct(kind: object, *_: object) -> _Array:
    if kind != _NDARRAY:
        raise pickle.UnpicklingError("it makes an array of an unknown class")
    return _Array()


def _scalar(kind: object, data: object) -> Any:
    return _from_bytes(data, kind, (), "C")[()]


def _frombuffer(data: object, kind: object, shape: object, order: object, *_: object) -> _Array:
    array = _Array()
    array.array = _from_bytes(data, kind, shape, "F" if order == "F" else "C")
    return array


def _dtype(kind: object) -> np.dtype[Any]:
    if not isinstance(kind, _Dtype):
        raise pickle.UnpicklingError("an array has no type")
    return kind.dtype


def _shape(shape: object) -> tuple[int, ...]:
    if not isinstance(shape, tuple) or any(type(side) is not int or side < 0 for side in shape):
        raise pickle.UnpicklingError("an array has no shape")
    return shape


def _from_bytes(data: object, kind: object, shape: object, order: Literal["C", "F"]) -> NDArray[Any]:
    dtype, sides = _dtype(kind), _shape(shape)
    if not isinstance(data, bytes | bytearray) or dtype.hasobject:
        raise pickle.UnpicklingError("an array's numbers are not given as bytes")
    if len(data) != math.prod(sides) * dtype.itemsize:
        raise pickle.UnpicklingError("an array does not hold as many numbers as its shape says")
    if not data:
        return np.empty(sides, dtype)
    flat: NDArray[Any] = np.frombuffer(bytes(data), dtype)
    return flat.reshape(sides, order=order)


def _names() -> Mapping[tuple[str, str], Any]:
    names: dict[tuple[str, str], Any] = {
        ("numpy", "ndarray"): _NDARRAY,
        ("numpy", "dtype"): _Function(_Dtype),
        ("builtins", "complex"): _Function(complex),
    }
    for core in ("numpy.core", "numpy._core"):
        names[f"{core}.multiarray", "_reconstruct"] = _Function(_reconstruct)
        names[f"{core}.multiarray", "scalar"] = _Function(_scalar)
        names[f"{core}.numeric", "_frombuffer"] = _Function(_frombuffer)
    return names


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, fix_imports=False)
        self._names = _names()

    def find_class(self, module: str, name: str, /) -> Any:
        try:
            return self._names[module, name]
        except KeyError:
            raise _Refused(f"wants to import {module}.{name}, which is not allowed") from None

    def persistent_load(self, pid: Any, /) -> NoReturn:
        raise _Refused(f"refers to something outside the file ({pid!r})")


def _resolve(value: Any, done: dict[int, Any], depth: int) -> Any:
    """The value with our stand-ins replaced by arrays; ``done`` keeps what is shared from being built many times."""
    if isinstance(value, _Dtype | _Function) or value is _NDARRAY:
        raise pickle.UnpicklingError("it holds a type or a function where a value belongs")
    if not isinstance(value, _Array | list | tuple | dict | set | frozenset):
        return value
    found = done.get(id(value), _NEW)
    if found is _OPEN or depth == 0:
        raise pickle.UnpicklingError(f"its values hold themselves, or are nested more than {_MAX_DEPTH} deep")
    if found is _NEW:
        done[id(value)] = _OPEN
        found = done[id(value)] = _resolve_container(value, done, depth - 1)
    return found


def _resolve_container(value: Any, done: dict[int, Any], depth: int) -> Any:
    if isinstance(value, dict):
        return {_resolve(key, done, depth): _resolve(item, done, depth) for key, item in value.items()}
    if not isinstance(value, _Array):
        return type(value)([_resolve(item, done, depth) for item in value])
    if value.items is not None:
        flat = value.array
        for index, item in enumerate(value.items):
            flat[index] = _resolve(item, done, depth)
        value.array = flat.reshape(value.shape)
    return value.array
