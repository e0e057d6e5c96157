"""The scheduler that keeps the items of one (method, track) together, and its ways out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bench.xdist import make_scheduler, scope

loadscope = pytest.importorskip("xdist.scheduler")

COLD = [f"pixelgate/outputs.py::test_case[cold/toy/{name}]" for name in ("0.10", "0.20")]
WARM = [f"pixelgate/outputs.py::test_case[warm/toy/{name}]" for name in ("0.10", "0.20")]
CURVES = [f"pixelgate/summary.py::test_summary[{name}/toy]" for name in ("cold", "warm")]
ITEMS = [*COLD, *WARM, *CURVES]


class Worker:
    """What a scheduler sees of a worker."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.sent: list[str] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        assert indices, "a worker that is sent nothing is waited on for ever"
        self.sent += [ITEMS[index] for index in indices]

    def shutdown(self) -> None:
        self.shutting_down = True


@pytest.fixture
def config(pytester: pytest.Pytester) -> pytest.Config:
    return pytester.parseconfig("--tx=2*popen", "--dist=load")


@pytest.fixture
def scheduler(config: pytest.Config) -> Any:
    """A scheduler with two workers that have begun."""
    made = make_scheduler(config, None)
    made.workers = [Worker("gw0"), Worker("gw1")]
    for worker in made.workers:
        made.add_node(worker)
        made.add_node_collection(worker, ITEMS)
    made.schedule()
    return made


def finish(scheduler: Any, worker: Worker, *items: str) -> None:
    for item in items:
        scheduler.mark_test_complete(worker, ITEMS.index(item))


@pytest.mark.parametrize(
    ("node_id", "group"),
    [
        ("pixelgate/outputs.py::test_case[warm/toy/0.10]", "warm/toy"),
        ("pixelgate/protocol.py::test_invariant[warm/toy/full/order-free]", "warm/toy"),
        ("pixelgate/summary.py::test_summary[warm/toy]", "warm/toy"),
        ("tests/test_own.py::test_it[a/b/c]", "tests/test_own.py::test_it[a/b/c]"),
        ("tests/test_own.py::test_it", "tests/test_own.py::test_it"),
    ],
)
def test_groups(node_id: str, group: str) -> None:
    assert scope(node_id) == group


def test_items_of_a_group_go_to_one_worker_in_their_order(scheduler: Any) -> None:
    assert [worker.sent for worker in scheduler.workers] == [[*COLD, CURVES[0]], [*WARM, CURVES[1]]]


def test_what_a_dead_worker_left_goes_to_its_replacement(scheduler: Any) -> None:
    dead, other = scheduler.workers
    finish(scheduler, dead, COLD[0])
    finish(scheduler, other, *WARM, CURVES[1])
    assert scheduler.remove_node(dead) == COLD[1]
    new = Worker("gw2")
    scheduler.add_node(new)
    scheduler.add_node_collection(new, ITEMS)
    scheduler.schedule()
    assert new.sent == [CURVES[0]], "neither what was finished nor what killed the worker"
    finish(scheduler, new, CURVES[0])
    assert not scheduler.has_pending
    assert scheduler.tests_finished


def test_finished_groups_of_a_dead_worker_are_not_given_out_again(config: pytest.Config) -> None:
    """xdist 3.8 sends an empty group to the new worker and waits for it."""
    scheduler = make_scheduler(config, None)
    scheduler.numnodes = 1
    dead, new = Worker("gw0"), Worker("gw1")
    scheduler.add_node(dead)
    scheduler.add_node_collection(dead, ITEMS)
    scheduler.schedule()
    finish(scheduler, dead, *COLD, CURVES[0], WARM[0])
    assert scheduler.remove_node(dead) == WARM[1]
    scheduler.add_node(new)
    scheduler.add_node_collection(new, ITEMS)
    scheduler.schedule()
    assert new.sent == [CURVES[1]]


def test_a_worker_that_dies_idle_or_at_its_last_item_leaves_nothing(scheduler: Any) -> None:
    one, other = scheduler.workers
    finish(scheduler, one, *COLD, CURVES[0])
    assert scheduler.remove_node(one) is None
    finish(scheduler, other, *WARM)
    assert scheduler.remove_node(other) == CURVES[1]
    assert not scheduler.has_pending


def test_two_deaths_while_the_first_replacement_still_collects(scheduler: Any) -> None:
    first, second = scheduler.workers
    assert scheduler.remove_node(first) == COLD[0]
    new = Worker("gw2")
    scheduler.add_node(new)
    assert scheduler.remove_node(second) == WARM[0]
    assert new.sent == []
    scheduler.add_node_collection(new, ITEMS)
    scheduler.schedule()
    assert new.sent == [COLD[1], CURVES[0]]
    finish(scheduler, new, COLD[1])
    assert new.sent == [COLD[1], CURVES[0], WARM[1], CURVES[1]]


@pytest.mark.parametrize("private", ["_split_scope", "_reschedule"])
def test_without_what_it_builds_on_xdists_own_is_used(
    config: pytest.Config, monkeypatch: pytest.MonkeyPatch, private: str
) -> None:
    monkeypatch.delattr(loadscope.LoadScopeScheduling, private)
    assert make_scheduler(config, None) is None


def test_without_the_class_xdists_own_is_used(config: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(loadscope, "LoadScopeScheduling")
    assert make_scheduler(config, None) is None
