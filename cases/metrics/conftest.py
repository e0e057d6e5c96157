"""Fixtures of the metric tests: both backends, the reference results and their pictures."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

PST = Path(__file__).parent.parent / "conformance" / "pst"


class Pst:
    """The photographs and the numbers that other libraries computed for them."""

    def __init__(self) -> None:
        self.results: dict[str, Any] = json.loads((PST / "results.json").read_text())
        self._pictures: dict[str, np.ndarray] = {}

    def picture(self, path: str) -> np.ndarray:
        if path not in self._pictures:
            with Image.open(PST / f"{path}.png") as opened:
                assert opened.mode == "RGB"
                self._pictures[path] = np.asarray(opened)
        return self._pictures[path]

    def output(self, method: str, pair: str) -> np.ndarray:
        return self.picture(f"content/{pair}" if method == "identity" else f"outputs/{method}/{pair}")

    def pairs(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for pair, entry in self.results["pairs"].items():
            for method, numbers in entry["methods"].items():
                yield pair, method, numbers


@pytest.fixture(scope="session")
def pst() -> Pst:
    return Pst()


@pytest.fixture(scope="module", params=["numpy", "numba"])
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """The tests of a module run once with each backend."""
    if request.param == "numba":
        pytest.importorskip("numba")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIXELGATE_BACKEND", request.param)
        yield request.param


@pytest.fixture
def each_backend() -> Any:
    """A function that calls another with either backend and returns both results."""
    pytest.importorskip("numba")

    def call(function: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        before = os.environ.get("PIXELGATE_BACKEND")
        try:
            results = []
            for name in ("numpy", "numba"):
                os.environ["PIXELGATE_BACKEND"] = name
                results.append(function(*args, **kwargs))
        finally:
            os.environ.pop("PIXELGATE_BACKEND", None)
            if before is not None:
                os.environ["PIXELGATE_BACKEND"] = before
        return results[0], results[1]

    return call
