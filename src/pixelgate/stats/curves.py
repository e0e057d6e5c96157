"""The area under a metric's curve over a ratio, per image and in the mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pixelgate.stats.bootstrap import Interval, bootstrap_interval


def area_under_curve(x: Sequence[float], y: Sequence[float]) -> float:
    """Area by the trapezoidal rule, not normalised: over 0 to 1 it has the unit of the metric.

    Args:
        x: at least two finite, strictly increasing places.
        y: one finite value for each.

    Raises:
        ValueError: too few places, another number of values, places out of order, or a value that is not finite.
    """
    places, values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if places.ndim != 1 or places.size < 2 or places.shape != values.shape:
        raise ValueError(f"an area needs two or more places and as many values; got {places.size} and {values.size}")
    if not (np.isfinite(places).all() and np.isfinite(values).all()):
        raise ValueError("an area over values that are not finite would hide them")
    if not (np.diff(places) > 0).all():
        raise ValueError(f"the places must increase strictly; got {places.tolist()}")
    return float(((values[1:] + values[:-1]) / 2 * np.diff(places)).sum())


@dataclass(frozen=True)
class Curve:
    """One metric of one method over the ratios.

    Attributes:
        ratios: the grid, increasing.
        points: mean and interval over the images at each ratio.
        area: area under the means, with the interval of the mean of the images' own areas.
        areas: image -> area under its own curve.
    """

    ratios: tuple[float, ...]
    points: tuple[Interval, ...]
    area: Interval
    areas: Mapping[str, float]


def curve(
    ratios: Sequence[float],
    values: Mapping[str, Sequence[float]],
    *,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Curve:
    """Means, areas and bootstrap intervals over images.

    The area under the means equals the mean of the images' areas, so the interval of the latter is the area's.
    Every interval draws the same resamples of images.

    Args:
        ratios: the grid, strictly increasing.
        values: image -> its values, one per ratio, all finite.
        resamples, seed, confidence: see `bootstrap_interval`.

    Raises:
        ValueError: no images, or values that do not fit the grid.
    """
    images = sorted(values)
    table = np.array([values[image] for image in images], dtype=np.float64)
    if not images or table.ndim != 2 or table.shape[1] != len(ratios):
        raise ValueError(f"a curve needs one value per image and ratio; got {table.shape} for {len(ratios)} ratios")
    areas = {image: area_under_curve(ratios, row) for image, row in zip(images, table.tolist(), strict=True)}

    def interval(column: Sequence[float]) -> Interval:
        return bootstrap_interval(column, resamples=resamples, seed=seed, confidence=confidence)

    points = tuple(interval(column) for column in table.T.tolist())
    area = interval(list(areas.values()))
    assert math.isclose(area.mean, area_under_curve(ratios, [p.mean for p in points]), rel_tol=1e-9, abs_tol=1e-9)
    return Curve(tuple(ratios), points, area, areas)


@dataclass(frozen=True)
class SourceSummary:
    """A method's areas over line-art sources, as a row of a table: mean ± sample standard deviation (ddof 1).

    Attributes:
        mean: mean of the sources' areas.
        sd: their sample standard deviation; None for a single source.
        n: number of sources.
    """

    mean: float
    sd: float | None
    n: int


def over_sources(areas: Sequence[float]) -> SourceSummary:
    """Mean and sample standard deviation (ddof 1) of one area per line-art source.

    Raises:
        ValueError: no areas, or one that is not finite.
    """
    values = np.asarray(areas, dtype=np.float64)
    if values.size == 0 or not np.isfinite(values).all():
        raise ValueError(f"needs one finite area per source; got {list(areas)}")
    sd = float(values.std(ddof=1)) if values.size > 1 else None
    return SourceSummary(float(values.mean()), sd, int(values.size))


@dataclass(frozen=True)
class PairedDifference:
    """Two methods' areas over the same images.

    Attributes:
        difference: mean of first minus second, with its bootstrap interval.
        p_value: two-sided Wilcoxon signed-rank test; 1 where no image differs.
    """

    difference: Interval
    p_value: float


def compare_areas(
    first: Mapping[str, float],
    second: Mapping[str, float],
    *,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> PairedDifference:
    """Compare two methods' areas image by image.

    Zero differences are dropped from the test (Wilcoxon's own treatment).

    Args:
        first, second: image -> area, over the same images.
        resamples, seed, confidence: see `bootstrap_interval`.

    Raises:
        ValueError: the images are not the same; the message names those that one side lacks.
    """
    if first.keys() != second.keys():
        lacking = sorted(first.keys() ^ second.keys())
        raise ValueError(f"a paired comparison needs the same images; only one side has: {', '.join(lacking)}")
    differences = [first[image] - second[image] for image in sorted(first)]
    interval = bootstrap_interval(differences, resamples=resamples, seed=seed, confidence=confidence)
    # scipy gives NaN for all-zero differences beyond 13 of them.
    if not any(differences):
        return PairedDifference(interval, 1.0)
    from scipy.stats import wilcoxon

    test = wilcoxon(differences, zero_method="wilcox", alternative="two-sided", method="auto")
    return PairedDifference(interval, float(test.pvalue))
