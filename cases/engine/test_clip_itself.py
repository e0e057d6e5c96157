"""A condition scored against itself through the engine, as the invariant does it."""

from __future__ import annotations

import pytest

from pixelgate.columns import Settings
from pixelgate.engine import Engine
from pixelgate.protocols import load_protocol
from pixelgate.tracks import load_track, locate

pytest.importorskip("av")


@pytest.mark.parametrize("people", ["auto", "always", "never"])
def test_a_depth_condition_needs_no_masks_of_people(people: str) -> None:
    data = locate(load_track("demo-video-depth"))
    engine = Engine(data, load_protocol("flexbench"), Settings(choices={"depth": {"person_mask": people}}))
    found = engine.score_itself("bunny")
    assert found is not None
    assert {name: one.value for name, one in found.items()} == {
        "depth_mae": pytest.approx(0, abs=1e-9),
        "depth_rmse_linear": pytest.approx(0, abs=1e-9),
    }
