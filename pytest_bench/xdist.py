"""All that touches pytest-xdist; registered only where it is present."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_bench.collector import group_in, is_suite_id
from pytest_bench.progress import FOLDER
from pytest_bench.report.controller import Controller
from pytest_bench.run import ONLY_SUITE, only_suite


class XdistHooks:
    """Hooks of the controller of a distributed run.

    Args:
        config: the controller's configuration.
        controller: the keeper of the run's results.
        progress: folder through which workers tell what they are at.
        device: where learned metrics run.
    """

    def __init__(self, config: pytest.Config, controller: Controller, progress: Path | None, device: str) -> None:
        self._config = config
        self._controller = controller
        self._progress = progress
        self._device = device

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker what it cannot know."""
        node.workerinput[ONLY_SUITE] = only_suite(self._config)
        node.workerinput[FOLDER] = str(self._progress or "")

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Learn which items there are: the controller collects none itself."""
        self._controller.expect(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_auto_num_workers(self) -> int | None:
        """One worker per accelerator with ``-n auto``: each holds its own copy of every network."""
        if not self._device.startswith("cuda"):
            return None
        import torch

        return 1 if ":" in self._device else max(1, int(torch.cuda.device_count()))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Keep the items of one (method, track) on one worker and in their order, unless another way was chosen."""
        if config.getvalue("dist") != "load":
            return None
        return make_scheduler(config, log)


def make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A scheduler that groups the suite's items by (method, track); None where xdist cannot be built on.

    ``--dist loadgroup`` does not group with pytest 9.2 and xdist 3.8. What is overridden here is a private
    method; where it is gone, items are distributed one by one, which costs time and changes no number.
    """
    try:
        from xdist.scheduler import LoadScopeScheduling
    except ImportError:
        return None
    if not all(hasattr(LoadScopeScheduling, name) for name in ("_split_scope", "_reschedule")):
        return None

    class _ByMethodAndTrack(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return scope(nodeid)

        def remove_node(self, node: Any) -> str | None:
            """Take a dead worker's groups back, and name the item that it died of.

            xdist 3.8 gives back finished groups too, which a new worker then waits on for ever, and runs the
            item that killed a worker again.
            """
            left = {name: unit for name, unit in self.assigned_work.pop(node).items() if not all(unit.values())}
            if not left:
                return None
            first = next(iter(left.values()))
            lost: str = next(node_id for node_id, done in first.items() if not done)
            first[lost] = True
            self.workqueue.update({name: unit for name, unit in left.items() if not all(unit.values())})
            for other in self.assigned_work:
                # One that has just replaced another has collected nothing yet and asks for work when it has.
                if other in self.registered_collections:
                    self._reschedule(other)
            return lost

    return _ByMethodAndTrack(config, log)


def scope(node_id: str) -> str:
    """The group that an item belongs to: ``method/track``, or the item itself where it is none of the suite's."""
    return group_in(node_id) if is_suite_id(node_id) else node_id
