"""``pixelgate data``: fetching from a hub on loopback, listing, and verifying byte by byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pixelgate.errors import FetchError
from pixelgate.tracks.fetch import Fetched, FetchProgress

sys.path.insert(0, str(Path(__file__).parents[1] / "tracks"))
from hub_server import HubServer, Repository, sha256

COMMIT = "6ed86e3" + "0a" * 16 + "0"
NAMES = {"content_709": "in", "content_log": "in", "paired_style": "tar", "paired_gt": "gt"}


@pytest.fixture
def hub():
    """PST50 with small files that are no pictures: a fetch does not read them as such."""
    files = {
        f"{folder}/{stem}{number}.png": sha256(f"{folder}{number}".encode()).encode() * (20 + number)
        for folder, stem in NAMES.items()
        for number in range(1, 51)
    }
    with HubServer().running() as server:
        server.repositories["datasets", "zrgong/PST50"] = Repository({COMMIT: files})
        yield server


@pytest.fixture
def fetch_from(hub, tmp_path):
    """Run ``pixelgate data fetch`` in a process of its own, since the hub's client reads its settings once."""

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        settings = {
            "HF_ENDPOINT": hub.endpoint,
            "HF_HOME": str(tmp_path / "hub home"),
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
            "NO_PROXY": "127.0.0.1",
        }
        kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        command = [sys.executable, "-m", "pixelgate.cli", "data", "fetch", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env={**kept, **settings}, timeout=120)

    return call


@pytest.mark.slow
def test_fetch_list_and_verify(fetch_from, pixelgate, tmp_path):
    first = fetch_from("pst50-paired", "--json")
    assert first.returncode == 0, first.stderr
    assert first.stderr == "", "no progress where there is no terminal"
    data = json.loads(first.stdout)
    assert data["revision"] == f"zrgong/PST50@{COMMIT}"
    assert (len(data["downloaded"]), data["kept"]) == (150, [])

    again = fetch_from("pst50-paired-log", "--splits", "content_log", "paired_style", "paired_gt")
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines()[0] == "pst50-paired-log: complete; 50 files fetched, 100 kept"

    listed = {entry["track"]: entry for entry in pixelgate("data", "list", "--json").data["tracks"]}
    folder = tmp_path / "data" / "zrgong--PST50"
    for track in ("pst50-paired", "pst50-paired-log"):
        assert (listed[track]["state"], listed[track]["folder"]) == ("ready", str(folder))
    assert listed["acetone-transfer"]["state"] == "absent"

    done = pixelgate("data", "verify")
    assert (done.status, done.err) == (0, "")
    assert [line.split(":")[0] for line in done.out.splitlines()] == ["pst50-paired", "pst50-paired-log"]

    victim = folder / "paired_style" / "tar7.png"
    content = bytearray(victim.read_bytes())
    content[3] ^= 1
    victim.write_bytes(content)
    done = pixelgate("data", "verify", "pst50-paired")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(f"error: pst50-paired: {victim}: its bytes are not those that were fetched")
    (checked,) = pixelgate("data", "verify", "pst50-paired", "--json").data["tracks"]
    assert checked["ok"] is False
    assert [problem["rule"] for problem in checked["problems"]] == ["changed-data"]


def test_a_fetch_that_fails_says_why(pixelgate, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise FetchError("zrgong/PST50: no such repository. Check HF_ENDPOINT.")

    monkeypatch.setattr("pixelgate.tracks.fetch.fetch", fail)
    done = pixelgate("data", "fetch", "pst50-paired")
    assert (done.status, done.out) == (2, "")
    assert done.err == "error: zrgong/PST50: no such repository. Check HF_ENDPOINT.\n"


def test_options_reach_the_fetch(pixelgate, monkeypatch):
    asked = {}

    def fake(track: object, **options: object) -> Fetched:
        asked.update(options)
        return Fetched(Path("there"), "x/y@1", ("a",), ("b", "c"), ("c",))

    monkeypatch.setattr("pixelgate.tracks.fetch.fetch", fake)
    done = pixelgate("data", "fetch", "pst50-paired", "--splits", "one", "two", "--accept-changes")
    assert (asked["splits"], asked["accept_changes"]) == (["one", "two"], True)
    assert done.out.splitlines()[0] == "pst50-paired: complete; 2 files fetched (1 of them repaired), 1 kept"


def test_fetch_shows_progress_on_a_terminal_only(pixelgate, monkeypatch):
    def fake(track: object, *, progress: object, **_: object) -> Fetched:
        progress(FetchProgress("gt/gt9.png", 150, 150, 510_000_000, 510_000_000))
        return Fetched(Path("there"), "x/y@1")

    monkeypatch.setattr("pixelgate.tracks.fetch.fetch", fake)
    assert pixelgate("data", "fetch", "pst50-paired").err == ""
    monkeypatch.setattr("pixelgate.commands.console.terminal", lambda: sys.stderr)
    shown = pixelgate("data", "fetch", "pst50-paired").err
    assert "pst50-paired: 150 of 150 files, 510.0 MB of 510.0 MB, gt/gt9.png" in shown


def test_fetch_of_no_track(pixelgate):
    done = pixelgate("data", "fetch", "pst50")
    assert (done.status, done.out) == (2, "")
    assert "Did you mean 'pst50-paired'" in done.err


def test_list(pixelgate, photos, tmp_path):
    done = pixelgate("data", "list", "--data", photos.data)
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == f"data directory: {tmp_path / 'data'}"
    states = {line.split()[0]: line.split()[1] for line in lines[3:20]}
    clips = {name: states.pop(name) for name in sorted(states) if name.startswith(("demo-video-", "flexbench-"))}
    assert set(clips.values()) == {"not-built", "unnamed"}
    assert states == {
        "acetone-transfer": "absent",
        "demo-hints": "not-built",
        "demo-pst": "not-built",
        "my-photos": "ready",
        "pst50-paired": "absent",
        "pst50-paired-log": "absent",
    }
    assert "pst50-paired: Run: pixelgate data fetch pst50-paired" in lines


def test_list_tells_which_columns_are_missing(pixelgate, photos):
    import shutil

    shutil.rmtree(photos.data / "content")
    with (photos.data / "track.yaml").open("a") as stream:
        stream.write("optional: [content]\n")
    assert f"{photos.data} (without content)" in pixelgate("data", "list", "--data", photos.data).out
    listed = pixelgate("data", "list", "--data", photos.data, "--json").data["tracks"]
    mine = next(entry for entry in listed if entry["track"] == "my-photos")
    assert mine["missing_columns"] == ["content"]


def test_verify_of_ones_own_track(pixelgate, photos):
    assert pixelgate("data", "verify", "--data", photos.data).status == 0
    (photos.data / "style" / "harbour.png").unlink()
    done = pixelgate("data", "verify", "--data", photos.data)
    assert done.status == 1
    assert "style/harbour.png: the track's own file is missing. [missing-reference]" in done.err


def test_verify_with_nothing_at_hand(pixelgate):
    done = pixelgate("data", "verify")
    assert (done.status, done.out) == (0, "no track's data are at hand; see: pixelgate data list\n")
    done = pixelgate("data", "verify", "pst50-paired")
    assert (done.status, done.out) == (2, "")
    assert "Run: pixelgate data fetch pst50-paired" in done.err
