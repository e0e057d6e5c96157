"""Compile the kernels with numba, kept on disk where that is possible.

Each module of kernels must hold all the functions that its kernels call: numba's cache looks at the
date of the kernel's own file only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

PICTURE = numba.types.Array(numba.uint8, 3, "C", readonly=True)
"""Takes writable and write-protected arrays alike, so one compilation serves both."""

TABLE = numba.types.Array(numba.float64, 1, "C", readonly=True)
TABLE_2D = numba.types.Array(numba.float64, 2, "C", readonly=True)
CUBE = numba.types.Array(numba.float64, 3, "C", readonly=True)
ROWS = numba.types.Array(numba.float64, 1, "C")
WRITABLE_CUBE = numba.types.Array(numba.float64, 3, "C")
COUNTS = numba.types.Array(numba.int64, 2, "C")
ROW_COUNTS = numba.types.Array(numba.int64, 1, "C")


def kernel(*arguments: Any) -> Callable[[F], F]:
    """Compile at once for these argument types; runs without the interpreter lock.

    A folder that cannot be written, a full disk or a damaged cache costs a compilation in each process,
    nothing more.
    """

    def compile_function(function: F) -> F:
        signature = numba.void(*arguments)
        try:
            return cast(F, numba.njit(signature, nogil=True, error_model="numpy", cache=True)(function))
        except Exception:
            # Whatever is wrong with the cache; a mistake in the kernel itself is raised again here.
            return cast(F, numba.njit(signature, nogil=True, error_model="numpy")(function))

    return compile_function


def inlined(function: F) -> F:
    """Compile as a part of the kernels of the same module."""
    return cast(F, numba.njit(nogil=True, error_model="numpy")(function))


def inlined_with_fma(function: F) -> F:
    """As `inlined`; a product and the sum that takes it may be rounded once instead of twice."""
    return cast(F, numba.njit(nogil=True, error_model="numpy", fastmath={"contract"})(function))


def inlined_in_any_order(function: F) -> F:
    """As `inlined`; sums may be taken in any order: exact for whole numbers, for others right to the last digit."""
    return cast(F, numba.njit(nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})(function))
