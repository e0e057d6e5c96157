"""Cheap items per (method, track): the protocol's rules on files and its invariants on scores."""

from __future__ import annotations

import pytest

from pixelgate.case import Case
from pytest_bench.session import Bench


def test_files(pixelgate_bench: Bench, bench_group: Case) -> None:
    """Every output that the track asks for is there under its exact name, and no other picture is."""
    problems = pixelgate_bench.group_problems(bench_group)
    if problems:
        pytest.fail("\n".join(str(problem) for problem in problems), pytrace=False)


def test_invariant(pixelgate_bench: Bench, bench_invariant: tuple[Case, str]) -> None:
    """One of the protocol's invariants."""
    case, name = bench_invariant
    failure = pixelgate_bench.check_invariant(case, name)
    if failure:
        pytest.fail(failure, pytrace=False)
