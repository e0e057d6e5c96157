"""How the suite's modules get into a run without a path of the user's and with node ids that name no machine."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

PREFIX = "pixelgate"
MODULES = ("outputs", "protocol", "summary")
CURVE = "curve"
SEEDS = "seeds"

# What may stand for the whole suite on the command line; the second goes with --pyargs.
_WHOLE = frozenset({PREFIX, "pytest_bench.suite"})

_CASE_IN_NODE_ID = re.compile(r"\[([^\]]+)\]$")


class SuiteModule(pytest.Module):
    """A module of the suite.

    Its node id is ``pixelgate/<module>.py`` wherever the package is installed; pytest would otherwise put
    the path of site-packages into it.
    """

    def _getobj(self) -> ModuleType:
        # The package is importable already: no need for pytest to change sys.path.
        return importlib.import_module(f"pytest_bench.suite.{self.path.stem}")


class SuiteCollection:
    """Has the suite's modules collected whatever ``--lf`` knows of.

    Once a failed file was found, ``--lf`` passes over every file that had no failure, and it looks for those
    by their paths in the root folder. The suite's have none there.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._runner = config.pluginmanager.get_plugin("runner")

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> pytest.CollectReport | None:
        """Collect a module of the suite before another plugin can answer for it."""
        if not isinstance(collector, SuiteModule) or self._runner is None:
            return None
        report: pytest.CollectReport = self._runner.pytest_make_collect_report(collector)
        return report


def suite_modules(session: pytest.Session, curves: bool, seeds: bool) -> list[SuiteModule]:
    """The suite's modules as nodes under the session, in the order in which their items run."""
    folder = Path(__file__).parent / "suite"
    names = [*MODULES, *([CURVE] if curves else []), *([SEEDS] if seeds else [])]
    return [
        SuiteModule.from_parent(session, path=folder / f"{name}.py", nodeid=f"{PREFIX}/{name}.py") for name in names
    ]


def is_suite_id(node_id: str) -> bool:
    """Whether a node id or a command line argument names the suite or an item of it."""
    path = node_id.split("::")[0]
    return path in _WHOLE or path in {f"{PREFIX}/{name}.py" for name in (*MODULES, CURVE, SEEDS)}


def selects(arguments: list[str], node_id: str) -> bool:
    """Whether one of the arguments names an item or a part that holds it."""
    return any(
        argument in _WHOLE
        or node_id == argument
        or node_id.startswith((f"{argument}::", f"{argument}/", f"{argument}["))
        for argument in arguments
    )


def case_in(node_id: str) -> str:
    """The case or group that a node id is about: ``method/track[/slice][/invariant]``; empty if none."""
    match = _CASE_IN_NODE_ID.search(node_id)
    return match.group(1) if match else ""


def group_in(node_id: str) -> str:
    """The ``method/track`` that a node id is about; empty if none."""
    return "/".join(case_in(node_id).split("/")[:2])
