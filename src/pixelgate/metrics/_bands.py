"""Work on a picture by bands of rows, in several threads, with the same sum for any number of them.

Every row gets its own partial sum, so a band's borders cannot reach the result. Threads live for one
call only: nothing is left running that a later fork could trip over.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import PixelgateError

SMALLEST_BAND = 32_768
"""Pixels below which a thread costs more than it saves."""

Band = Callable[[int, int, NDArray[np.float64]], None]
"""Called with (first row, end row, sums); writes sums[first:end]."""


def row_sums(rows: int, width: int, threads: int | None, band: Band) -> list[float]:
    """One sum for each row, computed by `band` in up to `threads` threads.

    Args:
        rows: number of rows.
        width: pixels in a row; decides whether threads are worth their start.
        threads: the most threads to use; None means the CPUs this process may run on.
        band: the kernel; it must let go of the interpreter lock to gain from threads.

    Returns:
        The sums in the rows' order.
    """
    sums = np.zeros(rows, dtype=np.float64)
    share(rows, width, threads, lambda first, end: band(first, end, sums))
    return [float(value) for value in sums]


def total(sums: list[float]) -> float:
    """The exactly rounded sum, so that neither order nor grouping matters."""
    return math.fsum(sums)


def share(rows: int, width: int, threads: int | None, band: Callable[[int, int], object]) -> None:
    """Call `band(first, end)` for bands that cover all rows, in up to `threads` threads."""
    if threads is not None and threads < 1:
        raise PixelgateError(f"threads must be 1 or more, or None for all CPUs, not {threads}")
    count = max(1, min(threads or available_cpus(), rows * width // SMALLEST_BAND, rows))
    borders = [rows * index // count for index in range(count + 1)]
    if count == 1:
        band(0, rows)
        return
    with ThreadPoolExecutor(count - 1, thread_name_prefix="pixelgate") as pool:
        others = [pool.submit(band, borders[index], borders[index + 1]) for index in range(1, count)]
        band(0, borders[1])
        for other in others:
            other.result()


def available_cpus() -> int:
    """CPUs that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
