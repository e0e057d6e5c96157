"""One item per (method, track) with seeds: the same samples in each, and a mean with its deviation over them."""

from __future__ import annotations

import pytest

from pixelgate.flexbench.seed_groups import SeedGroup
from pytest_bench.session import Bench


def test_seeds(pixelgate_bench: Bench, bench_seeds: SeedGroup) -> None:
    """Every seed was scored over the same samples, and every metric has a mean in each."""
    failure = pixelgate_bench.check_seeds(bench_seeds)
    if failure:
        pytest.fail(failure, pytrace=False)
