"""Fixtures of the plugin's tests: a user's project, and runs inside this process that leave no trace in it."""

from __future__ import annotations

import importlib
import pkgutil

import pytest
from bench_project import Project
from PIL import Image

import pixelgate
import pytest_bench

# Modules that load a network or start a program.
_LEFT_OUT = ("lpips_network", "__main__")


@pytest.fixture(scope="session", autouse=True)
def _imported() -> None:
    """Load every module once: a run inside this process forgets what it was the first to import."""
    for package in (pixelgate, pytest_bench):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith(_LEFT_OUT):
                importlib.import_module(module.name)
    Image.init()
    # Its compiled modules cannot be loaded twice in one process.
    importlib.import_module("av")


@pytest.fixture(autouse=True)
def _apart(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's terminal and settings do not reach the runs."""
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "200")
    for variable in ("CI", "BUILD_NUMBER", "PYTHONDONTWRITEBYTECODE", "PIXELGATE_BACKEND"):
        monkeypatch.delenv(variable, raising=False)
    # Plugins that are here for other tests; hypothesis would be imported anew by every run. (pytester unsets this.)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest -p no:anyio")


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with the track ``toy`` and outputs of the methods ``warm`` and ``cold``; its score cache is its own."""
    monkeypatch.setenv("PIXELGATE_CACHE", str(pytester.path / "scores"))
    project = Project(pytester)
    project.track()
    project.method("warm", 4)
    project.method("cold", -9)
    return project
