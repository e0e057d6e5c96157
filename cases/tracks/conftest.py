from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hub_server import HubServer, Repository
from small_pst50 import FIRST, REPOSITORY, SAMPLES, files

from pixelgate.tracks import HubSource, Track, load_track


@pytest.fixture
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data directory that nothing else uses."""
    home = tmp_path / "data home"
    monkeypatch.setenv("PIXELGATE_DATA", str(home))
    return home


@pytest.fixture
def hub(tmp_path: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A hub on loopback that the real client talks to: no token, no telemetry, short waits."""
    from huggingface_hub import constants

    for name, value in {
        "HF_HUB_DISABLE_TELEMETRY": True,
        "HF_HUB_DISABLE_XET": True,
        "HF_HUB_DISABLE_IMPLICIT_TOKEN": True,
        "HF_TOKEN_PATH": str(tmp_path / "no token"),
        "HF_HUB_DOWNLOAD_TIMEOUT": 5,
        "HF_HUB_OFFLINE": False,
        # The client hands on a body in pieces of this size; what is short of a piece is lost when it is cut off.
        "DOWNLOAD_CHUNK_SIZE": 100,
    }.items():
        monkeypatch.setattr(constants, name, value, raising=False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with HubServer().running() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        yield server


@pytest.fixture
def track() -> Track:
    """pst50-paired with the first few of its samples."""
    whole = load_track("pst50-paired")
    return replace(whole, samples=whole.samples[:SAMPLES])


@pytest.fixture
def loose(track: Track) -> Track:
    """The same with no pinned revision."""
    assert isinstance(track.source, HubSource)
    return replace(track, source=replace(track.source, revision=None))


@pytest.fixture
def repository(hub: HubServer) -> Repository:
    repository = Repository({"0" * 40: {"README.md": b"first"}, FIRST: files()})
    hub.repositories["datasets", REPOSITORY] = repository
    return repository
