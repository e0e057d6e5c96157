"""Fixtures of the cases for Hint-AUC's metrics."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hintauc_reference import Oracle


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    return Oracle()


@pytest.fixture(scope="module", params=["numpy", "numba"])
def kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    """The tests of a module run once with each set of kernels."""
    if request.param == "numba":
        pytest.importorskip("numba")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIXELGATE_BACKEND", request.param)
        yield request.param
