"""Hint ratios: the paper's grid, checks of other grids, and the names of a ratio's directory."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from pixelgate.errors import InputError, Problem

PAPER_GRID = (0.0, 0.01, 0.03, 0.05, 0.10, 0.25, 0.50, 1.0)
"""The ratios of the Hint-AUC paper."""

_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(%?)", re.ASCII)
_NOT_NUMBERS = re.compile(r"[+-]?(?:nan|inf|infinity)%?", re.ASCII | re.IGNORECASE)


class RatioError(InputError, ValueError):
    """A ratio, a grid of ratios or the name of a ratio's directory is wrong; also a `ValueError`."""


def alpha_dir_name(alpha: float) -> str:
    """The directory name of a ratio: a decimal with at least two and at most six digits, such as ``0.05``.

    Args:
        alpha: 0 to 1.

    Raises:
        RatioError: rule ``ratio-range``.
    """
    whole, digits = f"{check_alpha(alpha):.6f}".split(".")
    return f"{whole}.{digits.rstrip('0').ljust(2, '0')}"


def check_alpha(alpha: object) -> float:
    """One ratio as a float.

    Raises:
        RatioError: rule ``ratio-range``: it is no number, not finite, or not in 0 to 1.
    """
    value = _number(alpha)
    if value is None or not 0.0 <= value <= 1.0:
        found = f"the ratio {alpha!r} is not a number from 0 to 1."
        raise RatioError(Problem("", "ratio-range", found, "Give a fraction: 0.1 for 10 %."))
    return value


def check_alphas(alphas: Iterable[object], *, full_range: bool = True) -> tuple[float, ...]:
    """A grid of ratios, checked.

    Args:
        alphas: at least two, from 0 to 1, strictly increasing, no two with the same directory name.
        full_range: whether the first must be 0 and the last 1, which an area under the curve needs.

    Raises:
        RatioError: rules ``ratio-range`` and ``ratio-grid``; everything that is wrong at once.
    """
    given = list(alphas)
    values = [_number(alpha) for alpha in given]
    problems = [
        Problem("", "ratio-range", f"the ratio {alpha!r} is not a number from 0 to 1.", "Give fractions: 0.1 for 10 %.")
        for alpha, value in zip(given, values, strict=True)
        if value is None or not 0.0 <= value <= 1.0
    ]
    if not problems:
        grid = [value for value in values if value is not None]
        problems = [Problem("", "ratio-grid", found, _GRID_MEND) for found in _grid_faults(grid, full_range)]
    if problems:
        raise RatioError(problems)
    return tuple(value for value in values if value is not None)


def is_paper_grid(alphas: Sequence[float]) -> bool:
    """Whether a grid is the paper's."""
    return tuple(alphas) == PAPER_GRID


def parse_ratio_name(name: str) -> float | None:
    """Read the name of a ratio's directory.

    ``10%`` is 0.1. A bare number above 1 is per cent too: ``10`` is 0.1. A bare number up to 1 is the ratio itself,
    so ``1`` is 100 %, not 1 %. The ratio is rounded to 8 decimals.

    Returns:
        The ratio, or None for a name that is no number.

    Raises:
        RatioError: rule ``ratio-name``: a number that is no ratio: negative, above 100 %, NaN or infinity.
    """
    match = _NUMBER.fullmatch(name)
    if match is None:
        if _NOT_NUMBERS.fullmatch(name):
            raise RatioError(_no_ratio(name))
        return None
    # Exact, so that the rounding to 8 decimals is the only one.
    value = Fraction(match[1])
    if match[2] or value > 1:
        value /= 100
    if not 0 <= value <= 1:
        raise RatioError(_no_ratio(name))
    return float(round(value, 8))


def read_ratio_names(names: Iterable[str]) -> dict[float, str]:
    """Which of a folder's directory names are ratios.

    Args:
        names: the names, in any order.

    Returns:
        Ratio to name, by rising ratio; names that are no numbers are left out.

    Raises:
        RatioError: a name is a number and no ratio, or two names denote the same ratio; all of them at once.
    """
    found: dict[float, list[str]] = {}
    problems: list[Problem] = []
    for name in sorted(names):
        try:
            ratio = parse_ratio_name(name)
        except RatioError as error:
            problems.extend(error.problems)
            continue
        if ratio is not None:
            found.setdefault(ratio, []).append(name)
    problems.extend(_doubled(ratio, same) for ratio, same in sorted(found.items()) if len(same) > 1)
    if problems:
        raise RatioError(problems)
    return {ratio: same[0] for ratio, same in sorted(found.items())}


_GRID_MEND = "Give at least two ratios, strictly increasing, from 0 to 1."


def _number(alpha: object) -> float | None:
    if isinstance(alpha, (bool, str, bytes)):
        return None
    try:
        value = float(alpha)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _grid_faults(grid: list[float], full_range: bool) -> list[str]:
    if len(grid) < 2:
        return [f"the grid has {len(grid)} ratio{'' if len(grid) == 1 else 's'}."]
    faults = []
    for one, two in itertools.pairwise(grid):
        if two <= one:
            faults.append(f"the ratio {two!r} follows {one!r}.")
        elif alpha_dir_name(one) == alpha_dir_name(two):
            faults.append(f"the ratios {one!r} and {two!r} have the same directory name {alpha_dir_name(one)}.")
    if full_range and not faults and (grid[0] != 0.0 or grid[-1] != 1.0):
        faults.append(f"the grid runs from {grid[0]!r} to {grid[-1]!r}, not from 0 to 1.")
    return faults


def _no_ratio(name: str) -> Problem:
    mend = "Name the directory by its ratio, from 0.00 to 1.00, or in per cent, from 0% to 100%."
    return Problem(name, "ratio-name", "is a number and no ratio.", mend)


def _doubled(ratio: float, names: list[str]) -> Problem:
    listed = " and ".join(repr(name) for name in names)
    mend = "Keep one of them."
    if "1" in names:
        mend += " The name '1' stands for 100 %; write 0.01 or 1% for one per cent."
    return Problem("", "ratio-name", f"the names {listed} denote the same ratio {ratio!r}.", mend)
