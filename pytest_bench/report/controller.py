"""Gathers what the items report, and at the end gates, writes and prints. Lives on the controller alone."""

from __future__ import annotations

import time
from collections.abc import Iterable

import pytest

from pixelgate.errors import PixelgateError
from pytest_bench.collector import is_suite_id
from pytest_bench.golden import read_tolerances
from pytest_bench.golden_update import Update, prune, update_case, without_outputs
from pytest_bench.report.document import CaseResult, CurveResult, build_document, case_results, curve_results
from pytest_bench.report.results import ItemResult, from_report
from pytest_bench.report.terminal import write_summary
from pytest_bench.report.writing import write_all
from pytest_bench.runs import checklist, run_folders
from pytest_bench.session import Bench


class Controller:
    """The keeper of a run's results.

    Args:
        config: pytest's configuration.
        bench: options and cases; its engines are used for checks before the run only.
    """

    def __init__(self, config: pytest.Config, bench: Bench) -> None:
        self._config = config
        self._bench = bench
        self._expected: dict[str, None] = {}
        self._items: dict[str, ItemResult] = {}
        self._updates: list[Update] = []
        self._pruned: list[str] = []
        self._orphans: list[str] = []
        self._written: list[str] = []
        self._unwritten = ""
        self._cases: list[CaseResult] = []
        self._curves: list[CurveResult] = []
        self._start = time.time()

    def expect(self, node_ids: Iterable[str]) -> None:
        """Learn which items were selected."""
        self._expected.update(dict.fromkeys(node_id for node_id in node_ids if is_suite_id(node_id)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Stop before the first item where data, packages or weights are missing."""
        try:
            self._bench.prepare()
            self._bench.check_ready()
            read_tolerances(self._bench.folders.own, self._bench.folders.shipped)
            for folder in run_folders(self._bench.discovery.cases):
                checklist(folder, self._bench.options.meta)
        except PixelgateError as error:
            raise pytest.UsageError(str(error)) from None

    def pytest_report_header(self) -> str:
        """One line: what is scored, and what it is held against."""
        discovery = self._bench.discovery
        golden = self._bench.folders.own or "no folder of this project's (the demo brings its own)"
        left_out = [f"passed over, no pictures or hidden: {', '.join(discovery.ignored)}"] if discovery.ignored else []
        head = f"pixelgate: {len(discovery.cases)} cases in {self._bench.options.outputs}, golden numbers: {golden}"
        return "; ".join([head, *left_out])

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Learn the items of a serial run."""
        self.expect(item.nodeid for item in session.items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in one phase of one item."""
        if not is_suite_id(report.nodeid):
            return
        self._expected.setdefault(report.nodeid)
        result = from_report(report, self._items.get(report.nodeid))
        if result is not None:
            self._items[report.nodeid] = result

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Update golden numbers where asked, and write the reports."""
        # A run that only collects has nothing to tell, and must not write over the report of one that did.
        if not self._expected or self._config.option.collectonly:
            return
        self._cases = case_results(self._bench, self._all_items())
        if self._bench.options.update_golden:
            self._update_golden()
        if self._bench.options.prune_golden:
            self._prune()
        self._find_orphans()
        refused = any(update.refused for update in self._updates)
        required = bool(self._orphans) and self._bench.options.require_golden
        if (refused or required) and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = exitstatus = pytest.ExitCode.TESTS_FAILED
        # Their intervals are resampled here once, for the document, the files and the table.
        self._curves = curve_results(self._bench, self._cases)
        items = self._all_items()
        document = build_document(self._bench, self._cases, self._curves, items, int(exitstatus), self._start)
        document["golden_without_outputs"] = self._orphans
        try:
            self._written = write_all(self._config, self._bench, self._cases, self._curves, document)
        except PixelgateError as error:
            session.exitstatus = exitstatus or pytest.ExitCode.TESTS_FAILED
            self._unwritten = f"the report is not complete: {error}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the tables."""
        if self._cases:
            write_summary(
                terminalreporter,
                self._bench,
                self._cases,
                self._curves,
                self._updates,
                self._pruned,
                self._written,
            )
        for file in self._orphans:
            terminalreporter.write_line(
                f"golden numbers without outputs: {file} (a method that is gone? --bench-prune-golden deletes them)"
            )
        if self._unwritten:
            terminalreporter.write_line(self._unwritten, red=True)

    def _find_orphans(self) -> None:
        options, discovery = self._bench.options, self._bench.discovery
        if not (options.track or options.method or options.ratio or options.update_golden):
            orphans = without_outputs(self._bench.folders, discovery.protocols, discovery.cases)
            self._orphans = [str(file) for file in orphans]

    def _all_items(self) -> dict[str, ItemResult]:
        # A worker's death is reported for the item it was at; items that no report came for never ran.
        return {
            node_id: self._items.get(node_id, ItemResult(node_id, "not-run", "the run ended before it"))
            for node_id in sorted(self._expected)
        }

    def _update_golden(self) -> None:
        items = self._all_items()
        for case in self._cases:
            if case.case.not_run:
                continue
            if case.scores is None:
                self._updates.append(Update(case.case.id, "", refused=f"not scored: {case.item.outcome}"))
                continue
            failed = sorted(
                item.subject
                for item in items.values()
                if item.outcome in ("failed", "lost") and _is_about(item, case.case.id)
            )
            protocol = self._bench.discovery.protocols[case.case.track]
            self._updates.append(
                update_case(
                    case.scores, case.aggregates, protocol, case.revision, self._bench.folders, ", ".join(failed)
                )
            )

    def _prune(self) -> None:
        items = self._all_items().values()
        ran = {item.subject for item in items if item.kind == "case" and item.outcome == "passed"}
        if ran == {case.id for case in self._bench.discovery.running}:
            deleted = prune(self._bench.folders, self._bench.discovery.protocols, self._bench.discovery.cases)
            self._pruned = [str(file) for file in deleted]
        else:
            self._pruned = ["nothing: not every case ran and passed"]


def _is_about(item: ItemResult, case_id: str) -> bool:
    return item.subject == case_id or item.subject.startswith(f"{case_id}/") or case_id.startswith(f"{item.subject}/")
