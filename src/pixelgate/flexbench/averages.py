"""Means and spreads of the tables, over the values that are there."""

from __future__ import annotations

import math
from collections.abc import Iterable

DDOF = 1
"""The spread over seeds is the sample standard deviation: squares are divided by n - 1."""

LARGEST = 1e100
"""A larger number is no metric's; refusing it keeps sums and squares finite."""

_SAME = 1e-12


def mean_of(values: Iterable[float | None]) -> tuple[float | None, int]:
    """Mean over the values that are not None, and how many there are; (None, 0) where there is none.

    The sum is exact, so that the order of the values does not matter.
    """
    present = [value for value in values if value is not None]
    return (math.fsum(present) / len(present) if present else None), len(present)


def spread_of(values: Iterable[float | None]) -> float | None:
    """Sample standard deviation (`DDOF`) over the values that are not None; None for fewer than two."""
    present = [value for value in values if value is not None]
    mean, n = mean_of(present)
    if mean is None or n <= DDOF:
        return None
    return math.sqrt(math.fsum((value - mean) ** 2 for value in present) / (n - DDOF))


def same(one: float, other: float) -> bool:
    """Whether two means are a tie: equal but for the last digits of the computer's arithmetic (1e-12, relative)."""
    return math.isclose(one, other, rel_tol=_SAME, abs_tol=_SAME)
