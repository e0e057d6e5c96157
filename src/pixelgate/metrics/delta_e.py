"""CIEDE2000 colour difference of 8-bit pictures."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pixelgate.errors import Problem
from pixelgate.metrics._backend import Backend, backend
from pixelgate.metrics._bands import row_sums, share, total
from pixelgate.metrics._lab import DEFAULT_MATRIX, MATRICES, LabTables, lab_tables
from pixelgate.metrics._scorer import PixelScorer
from pixelgate.metrics._validate import PictureError, check_params, check_picture, check_same_size, fixed, positive
from pixelgate.metrics.registry import Image, Measurement, Metric, Runtime, register

WHITE = "row-sums"
LARGEST_LAB = 1e6
"""Far beyond any colour, and small enough for the seventh power of a chroma."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Settings:
    tables: LabTables
    k: Floats
    threads: int | None


@dataclass(frozen=True)
class _Prepared:
    shape: tuple[int, ...]
    lab: Floats


def delta_e_2000(
    output: Image,
    reference: Image,
    *,
    matrix: str = DEFAULT_MATRIX,
    kl: float = 1.0,
    kc: float = 1.0,
    kh: float = 1.0,
    threads: int | None = None,
) -> float:
    """Mean CIEDE2000 over the pixels; lower is better, 0 for equal pictures.

    sRGB is taken to CIELAB (D65, 2 degree observer) with the white point of the matrix itself, so that
    greys are neutral; all in float64.

    Args:
        output: uint8, height x width x 3, 8-bit sRGB.
        reference: the same, of the same size.
        matrix: linear sRGB to XYZ: ``iec61966-2-1-4digit``, ``srgb-6digit`` or ``srgb-7digit``. The last two
            differ from the first by up to some thousandths in the mean.
        kl, kc, kh: the parametric factors of lightness, chroma and hue.
        threads: most CPU threads to use; None for all that the process may run on. The value is the same.

    Returns:
        0 or more; about 1 is a difference just noticed.

    Raises:
        PictureError: not 8-bit RGB pictures of one size (an `InputError` and a `ValueError`).
        ProtocolError: an unknown matrix, or a factor that is no finite number above 0.

    Source: Sharma, Wu, Dalal: The CIEDE2000 color-difference formula, Color Research & Application 30 (2005);
    IEC 61966-2-1 for sRGB.
    """
    params = {"matrix": matrix, "kl": kl, "kc": kc, "kh": kh}
    return bind(params, Runtime(threads=threads)).score(output, reference)


def delta_e_2000_lab(lab1: ArrayLike, lab2: ArrayLike, *, kl: float = 1.0, kc: float = 1.0, kh: float = 1.0) -> Floats:
    """CIEDE2000 of CIELAB colours, element by element.

    Args:
        lab1: L, a, b along the last axis: any shape (..., 3), L from 0 to 100.
        lab2: the same shape.
        kl, kc, kh: the parametric factors of lightness, chroma and hue.

    Returns:
        Differences of the leading shape (...), 0 or more.

    Raises:
        PictureError: the shapes differ or do not end in 3, or a value is not finite or beyond 1e6.
        ProtocolError: a factor is no finite number above 0.

    Source: as for `delta_e_2000`.
    """
    first, second = np.asarray(lab1, dtype=np.float64), np.asarray(lab2, dtype=np.float64)
    _check_lab(first, second)
    out = np.empty(first.size // 3, dtype=np.float64)
    columns = [np.ascontiguousarray(lab.reshape(-1, 3).T) for lab in (first, second)]
    _kernels(backend()).differences(*columns, _factors({"kl": kl, "kc": kc, "kh": kh}), out)
    return out.reshape(first.shape[:-1])


def bind(params: Mapping[str, Any], runtime: Runtime) -> PixelScorer:
    """A scorer for a protocol's ``matrix``, ``white`` (row-sums), ``kl``, ``kc``, ``kh``; else `ProtocolError`."""
    defaults = {"matrix": DEFAULT_MATRIX, "white": WHITE, "kl": 1.0, "kc": 1.0, "kh": 1.0}
    params = check_params("delta_e_2000", params, defaults)
    matrix = fixed("delta_e_2000", params, "matrix", *MATRICES)
    fixed("delta_e_2000", params, "white", WHITE)
    settings = _Settings(lab_tables(matrix), _factors(params), runtime.threads)
    return PixelScorer(functools.partial(_prepare, settings), functools.partial(_compare, settings))


def _factors(params: Mapping[str, Any]) -> Floats:
    return np.array([positive("delta_e_2000", params, name) for name in ("kl", "kc", "kh")])


def _check_lab(first: Floats, second: Floats) -> None:
    found = mend = ""
    if first.shape != second.shape or first.ndim == 0 or first.shape[-1] != 3:
        found = f"the shapes are {first.shape} and {second.shape}"
        mend = "Give two arrays of one shape with L, a, b along the last axis."
    elif not all((np.abs(lab) <= LARGEST_LAB).all() for lab in (first, second)):
        found, mend = "a Lab value is not finite or beyond all colours", f"Give numbers of up to {LARGEST_LAB:.0e}."
    if found:
        raise PictureError(Problem(file="", rule="lab-array", found=found, mend=mend))


def _kernels(backend: Backend) -> Any:
    return backend.kernels("_numba_colour", "_numpy_colour")


def _prepare(settings: _Settings, backend: Backend, reference: Image) -> _Prepared:
    reference = check_picture(reference, "reference")
    height, width, _ = reference.shape
    lab = np.empty((height, 3, width), dtype=np.float64)
    kernels, tables = _kernels(backend), settings.tables
    share(
        height,
        width,
        settings.threads,
        lambda first, end: kernels.lab_rows(reference, tables.linear, tables.weights, lab, first, end),
    )
    return _Prepared(reference.shape, lab)


def _compare(settings: _Settings, backend: Backend, output: Image, reference: _Prepared) -> Measurement:
    output = check_picture(output, "output")
    check_same_size(output, reference.shape)
    height, width, _ = output.shape
    kernels, tables = _kernels(backend), settings.tables
    sums = row_sums(
        height,
        width,
        settings.threads,
        lambda first, end, sums: kernels.difference_rows(
            output, reference.lab, tables.linear, tables.weights, settings.k, first, end, sums
        ),
    )
    return Measurement(total(sums) / (height * width))


METRIC = register(
    Metric(
        id="delta_e_2000",
        title="ΔE00",
        unit="",
        low=0.0,
        high=math.inf,
        direction="lower",
        perfect=0.0,
        version="1",
        min_side=1,
        source="CIEDE2000 (Sharma, Wu, Dalal 2005) on CIELAB from sRGB (IEC 61966-2-1), mean over pixels",
        bind=bind,
    )
)
