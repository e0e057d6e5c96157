"""The suite's fixture; registered only in runs that score outputs."""

from __future__ import annotations

import pytest

from pytest_bench.session import BENCH, Bench


@pytest.fixture(scope="session")
def pixelgate_bench(request: pytest.FixtureRequest) -> Bench:
    """The state of the run: options, cases and engines."""
    return request.config.stash[BENCH]
