"""One item per curve: all ratios of a method on a track, and the area under each metric."""

from __future__ import annotations

import pytest

from pixelgate.curves import CurveGroup
from pytest_bench.session import Bench


def test_curve(pixelgate_bench: Bench, bench_curve: CurveGroup) -> None:
    """Every metric has a curve over the same images at all ratios, and its area lies within the curve."""
    failure = pixelgate_bench.check_curve(bench_curve)
    if failure:
        pytest.fail(failure, pytrace=False)
