"""What the controller learned of each item, as it arrives on reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from pytest_bench.collector import case_in

ItemOutcome = Literal["passed", "failed", "skipped", "lost", "not-run"]


@dataclass(frozen=True)
class ItemResult:
    """One item of the suite.

    Attributes:
        node_id: its node id.
        outcome: ``lost`` where the worker that ran it died, ``not-run`` where it was selected and never ran.
        message: why it failed.
        duration: seconds.
        payload: a case's scores and verdict; None for other items and where it was lost.
        attempts: how often it ran, where a plugin repeats failed items; the last attempt counts.
    """

    node_id: str
    outcome: ItemOutcome
    message: str = ""
    duration: float = 0.0
    payload: Mapping[str, Any] | None = None
    attempts: int = 1

    @property
    def kind(self) -> str:
        """``case``, ``files``, ``invariant`` or ``summary``: what kind of item it is."""
        return self.node_id.split("::")[1].split("[")[0].removeprefix("test_")

    @property
    def subject(self) -> str:
        """``method/track[/slice[/invariant]]``."""
        return case_in(self.node_id)


_PHASES = ("setup", "call", "teardown")


def from_report(report: pytest.TestReport, before: ItemResult | None) -> ItemResult | None:
    """What a report adds to what is known of its item; None where it adds nothing."""
    # What xdist sends for an item whose worker died has a phase that pytest's types do not know.
    if str(report.when) not in _PHASES:
        return ItemResult(report.nodeid, "lost", _message(report))
    if report.when == "call" or (report.when in ("setup", "teardown") and not report.passed):
        attempts = before.attempts + 1 if before is not None and report.when == "call" else 1
        return ItemResult(
            report.nodeid,
            report.outcome if report.outcome in ("passed", "failed", "skipped") else "failed",
            _message(report) if report.failed else "",
            report.duration,
            getattr(report, "bench_payload", None),
            attempts,
        )
    return None


def _message(report: pytest.TestReport) -> str:
    # longreprtext would put the worker's name before it, and two equal runs would differ.
    return str(report.longrepr or "")
