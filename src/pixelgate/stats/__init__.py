"""Statistics over samples: bootstrap intervals, curves and their areas."""

from __future__ import annotations

from pixelgate.stats.bootstrap import Interval, bootstrap_interval
from pixelgate.stats.curves import (
    Curve,
    PairedDifference,
    SourceSummary,
    area_under_curve,
    compare_areas,
    curve,
    over_sources,
)

__all__ = [
    "Curve",
    "Interval",
    "PairedDifference",
    "SourceSummary",
    "area_under_curve",
    "bootstrap_interval",
    "compare_areas",
    "curve",
    "over_sources",
]
