"""Fixtures for all of our own tests: pytest's tests of plugins, and folders that keep the user's cache out of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest_plugins = ["pytester"]


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Scores and data sets of this run lie in temporary folders; the user's own are neither read nor written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIXELGATE_CACHE", str(tmp_path_factory.mktemp("pixelgate-cache")))
        patch.setenv("PIXELGATE_DATA", str(tmp_path_factory.mktemp("pixelgate-data")))
        yield
