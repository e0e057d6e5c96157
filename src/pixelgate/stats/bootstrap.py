"""The mean of samples and its percentile bootstrap interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Resample indices are drawn in blocks of rows so that 1,024 samples do not need 82 MB at once.
# One generator gives the same stream however it is cut into rows.
_ROWS = 1000


@dataclass(frozen=True)
class Interval:
    """A mean and the bounds of its interval.

    Attributes:
        mean: arithmetic mean of the samples; the centre that is printed.
        low, high: bounds of the interval; None for a single sample.
        half: half the width of the interval, the ± of the tables; None for a single sample.
        n: number of samples.
        resamples, seed, confidence: what the bounds were computed with.
    """

    mean: float
    low: float | None
    high: float | None
    half: float | None
    n: int
    resamples: int
    seed: int
    confidence: float


def bootstrap_interval(
    values: Sequence[float], *, resamples: int = 10_000, seed: int = 0, confidence: float = 0.95
) -> Interval:
    """Mean with a percentile bootstrap interval (Efron 1979).

    Resamples are rows of ``numpy.random.default_rng(seed).integers(0, n, size=(resamples, n))``, the bounds
    are linearly interpolated percentiles of the rows' means. The order of the values matters for the bounds:
    give them in the order of the sample ids.

    Args:
        values: one finite number per sample.
        resamples: number of resamples, at least 1.
        seed: seed of the generator, made afresh at each call.
        confidence: coverage, between 0 and 1.

    Returns:
        The interval; a single value has no interval, and `Interval.half` is None.

    Raises:
        ValueError: no values, a value that is not finite, or parameters out of range.
    """
    v = np.asarray(values, dtype=np.float64)
    if v.ndim != 1 or v.size == 0:
        raise ValueError(f"a mean needs a flat list of at least one value; got shape {v.shape}")
    if not np.isfinite(v).all():
        bad = [int(i) for i in np.flatnonzero(~np.isfinite(v))]
        raise ValueError(f"values at positions {bad} are not finite; a mean over them would hide it")
    if resamples < 1 or not 0 < confidence < 1:
        raise ValueError(f"needs resamples >= 1 and 0 < confidence < 1; got {resamples} and {confidence}")
    mean = float(v.mean())
    if v.size == 1:
        return Interval(mean, None, None, None, 1, resamples, seed, confidence)
    rng = np.random.default_rng(seed)
    means = np.empty(resamples)
    for start in range(0, resamples, _ROWS):
        stop = min(start + _ROWS, resamples)
        means[start:stop] = v[rng.integers(0, v.size, size=(stop - start, v.size))].mean(axis=1)
    tail = 100 * (1 - confidence) / 2
    low, high = (float(x) for x in np.percentile(means, [tail, 100 - tail]))
    assert math.isfinite(low)
    assert math.isfinite(high)
    return Interval(mean, low, high, (high - low) / 2, int(v.size), resamples, seed, confidence)
