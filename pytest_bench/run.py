"""The hooks of a run that scores outputs; registered in the process that runs items and on the controller."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from pixelgate.errors import PixelgateError
from pytest_bench.collector import case_in, is_suite_id, selects, suite_modules
from pytest_bench.session import PAYLOAD, Bench

ONLY_SUITE = "bench_only_suite"


class Run:
    """Collects the suite and sends their scores to the controller.

    Args:
        config: pytest's configuration.
        bench: the state of this process.
    """

    def __init__(self, config: pytest.Config, bench: Bench) -> None:
        self._config = config
        self._bench = bench
        self._selected: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Take arguments that name the suite out of pytest's hands: they are no paths."""
        if hasattr(self._config, "workerinput"):
            self._bench.prepare()
        # Under xdist the controller collects nothing, and a worker that replaces a lost one needs its arguments.
        if self._config.pluginmanager.has_plugin("dsession"):
            return
        args = self._config.args
        self._selected = [arg for arg in args if is_suite_id(arg)]
        self._config.args = [] if only_suite(self._config) else [arg for arg in args if not is_suite_id(arg)]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Put the suite's modules beside what the session collects."""
        report = yield
        if isinstance(collector, pytest.Session) and report.passed:
            discovery = self._bench.discovery
            more = suite_modules(collector, bool(discovery.curves), bool(discovery.seeds))
            report.result = [*report.result, *more]
        return report

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One item per case, per group, and per case and invariant."""
        if not is_suite_id(metafunc.definition.nodeid):
            return
        discovery = self._bench.discovery
        if "bench_case" in metafunc.fixturenames:
            metafunc.parametrize("bench_case", discovery.cases, ids=[case.id for case in discovery.cases])
        if "bench_group" in metafunc.fixturenames:
            groups = discovery.groups
            metafunc.parametrize("bench_group", groups, ids=[f"{case.method}/{case.track}" for case in groups])
        if "bench_invariant" in metafunc.fixturenames:
            pairs = discovery.invariants
            metafunc.parametrize("bench_invariant", pairs, ids=[f"{case.id}/{name}" for case, name in pairs])
        if "bench_seeds" in metafunc.fixturenames:
            metafunc.parametrize("bench_seeds", discovery.seeds, ids=[group.id for group in discovery.seeds])
        if "bench_curve" in metafunc.fixturenames:
            metafunc.parametrize("bench_curve", discovery.curves, ids=[group.id for group in discovery.curves])

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the items of the suite that the arguments name, where they name any."""
        if not self._selected:
            return
        kept: list[pytest.Item] = []
        dropped: list[pytest.Item] = []
        for item in items:
            wanted = not is_suite_id(item.nodeid) or selects(self._selected, item.nodeid)
            (kept if wanted else dropped).append(item)
        if not any(is_suite_id(item.nodeid) for item in kept):
            raise pytest.UsageError(f"no item of the suite is named {', '.join(self._selected)}")
        if dropped:
            self._config.hook.pytest_deselected(items=dropped)
        items[:] = kept

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Tell the engine which cases will be asked for; a worker cannot know."""
        if not hasattr(self._config, "workerinput"):
            self._bench.expect(case_in(item.nodeid) for item in session.items)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Send a case's scores to the controller on its report."""
        report = yield
        if report.when == "call":
            # Reports carry plain attributes from a worker to the controller.
            report.__dict__["bench_payload"] = item.stash.get(PAYLOAD, None)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Tell the user's mistakes in one sentence each, without the way that led to them."""
        try:
            return (yield)
        except PixelgateError as error:
            if not is_suite_id(item.nodeid):
                raise
            failure = str(error)
        pytest.fail(failure, pytrace=False)

    def pytest_unconfigure(self) -> None:
        """Give the cache file back."""
        self._bench.close()


def only_suite(config: pytest.Config) -> bool:
    """Whether no test paths were given, so that the suite is all there is to run."""
    # Workers get the folder of the call as an argument and could not tell it from a path that was typed.
    workerinput: dict[str, Any] | None = getattr(config, "workerinput", None)
    if workerinput is not None:
        return bool(workerinput[ONLY_SUITE])
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        return all(is_suite_id(arg) for arg in config.args)
    # Where the ini file asks for the suite with every run, it comes beside the project's own tests.
    return config.getoption("bench_outputs") is not None
