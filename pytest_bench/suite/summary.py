"""One item per (method, track): its row of the table is complete."""

from __future__ import annotations

import pytest

from pixelgate.case import Case
from pytest_bench.session import Bench


def test_summary(pixelgate_bench: Bench, bench_group: Case) -> None:
    """Every metric of the row has a mean over all samples, and the reason is told where one has none."""
    failure = pixelgate_bench.check_summary(bench_group)
    if failure:
        pytest.fail(failure, pytrace=False)
