"""Whatever a run does that the protocol does not is recorded, shown, and keeps its rows from being ranked."""

from __future__ import annotations

import pytest
from bench_project import Project, text_of

CASE = ("-k", "test_case and warm", "--bench-report=report")


@pytest.fixture
def quick(project: Project) -> Project:
    """A project under a protocol that no metric needs to be left out of."""
    project.probe()
    return project


def deviations(project: Project) -> list[tuple[str, str]]:
    return [(deviation["rule"], deviation["message"]) for deviation in project.case("warm")["run"]["deviations"]]


def test_a_plain_run_has_none(quick: Project) -> None:
    result = quick.run(*CASE, metrics=None)
    assert deviations(quick) == []
    assert quick.case("warm")["ranked"]
    assert "†" not in text_of(result)
    assert "deviations" not in text_of(result)


def test_other_resamples(quick: Project) -> None:
    quick.run(*CASE, metrics=None)
    before = quick.case("warm")["summary"]["metrics"]["psnr"]
    result = quick.run(*CASE, "--bench-resamples=20", metrics=None)
    after = quick.case("warm")["summary"]["metrics"]["psnr"]
    assert deviations(quick) == [("resamples", "resamples 20 instead of the protocol's 10000")]
    assert quick.case("warm")["run"]["interval"]["resamples"] == 20
    assert after["mean"] == before["mean"]
    assert after["half_width"] != before["half_width"]
    assert not quick.case("warm")["ranked"]
    result.stdout.fnmatch_lines(["warm †*", "deviations from the protocol*", "*resamples 20 instead of*"])


def test_another_seed(quick: Project) -> None:
    quick.run(*CASE, "--bench-seed=7", metrics=None)
    assert deviations(quick) == [("seed", "seed 7 instead of the protocol's 0")]
    assert quick.case("warm")["run"]["interval"]["seed"] == 7


def test_the_protocols_own_values_are_no_deviation(quick: Project) -> None:
    quick.run(*CASE, "--bench-resamples=10000", "--bench-seed=0", metrics=None)
    assert deviations(quick) == []


def test_a_metric_that_is_left_out(quick: Project) -> None:
    result = quick.run(*CASE, metrics="probe")
    assert [rule for rule, _ in deviations(quick)] == ["metric-left-out"]
    assert quick.case("warm")["run"]["metrics_left_out"] == ["psnr"]
    assert list(quick.case("warm")["summary"]["metrics"]) == ["probe"]
    result.stdout.fnmatch_lines(["method*PSNR↑*Probe↓*", "warm †*–*"])


def test_the_order_in_which_metrics_are_named_does_not_matter(project: Project) -> None:
    project.run(*CASE, metrics="ssim,psnr,ssim")
    assert list(project.case("warm")["summary"]["metrics"]) == ["psnr", "ssim"]
