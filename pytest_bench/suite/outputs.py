"""One item per (method, track, slice): score it and hold it against its golden numbers."""

from __future__ import annotations

import pytest

from pixelgate.case import Case
from pytest_bench.session import Bench


def test_case(pixelgate_bench: Bench, bench_case: Case, request: pytest.FixtureRequest) -> None:
    """All metrics of the case; every problem and every deviation from the golden numbers in one failure."""
    if bench_case.not_run:
        if pixelgate_bench.options.require_golden:
            pytest.fail(f"not run: {bench_case.not_run}", pytrace=False)
        pytest.skip(f"not run: {bench_case.not_run}")
    outcome = pixelgate_bench.judge(bench_case)
    pixelgate_bench.publish(request.node, outcome)
    if outcome.failure:
        pytest.fail(outcome.failure, pytrace=False)
