"""Tracks that are made on this machine: once, whole or not at all, the same for every process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pixelgate.errors import MissingExtra, TrackError
from pixelgate.tracks import BuiltSource, Track, load_track, locate
from pixelgate.tracks.build import build
from pixelgate.tracks.fetch import fetch, status, verify

MODULE = """
import os, pathlib, time

def build(root, progress=None):
    with open(os.environ["BUILD_LOG"], "a") as log:
        log.write("built\\n")
    for number in (1, 2):
        for folder in ("content", "style", "gt"):
            (root / folder).mkdir(exist_ok=True)
            from PIL import Image
            Image.new("RGB", (3, 2), (number, len(folder), 0)).save(root / folder / f"s-{number}.png")
            time.sleep(0.02)
    if progress:
        progress(6, 6, "s-2")

def broken(root, progress=None):
    (root / "half").write_text("done")
    raise OSError("disk is full")

def needy(root, progress=None):
    import not_installed_anywhere
"""


@pytest.fixture
def builder(tmp_path: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Track]:
    """A track that a small module builds."""
    (tmp_path / "module").mkdir()
    (tmp_path / "module/small_builder.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path / "module"))
    monkeypatch.setenv("BUILD_LOG", str(tmp_path / "log"))
    demo = load_track("demo-pst")

    def track(function: str = "build") -> Track:
        source = BuiltSource(f"small_builder:{function}", "1", "demo")
        return replace(demo, id="small", samples=("s-1", "s-2"), numbers={}, source=source)

    return track


def test_built_once_and_found_again(builder: Callable[[str], Track], tmp_path: Path, data_home: Path) -> None:
    track = builder("build")
    assert status(track).state == "not-built"
    seen: list[tuple[int, int, str]] = []
    data = locate(track, progress=lambda *event: seen.append(event))
    assert seen == [(6, 6, "s-2")]
    assert data.root == data_home / "small-1"
    assert data.problems() == []
    assert locate(track).revision == data.revision
    assert fetch(track).root == data.root
    assert (tmp_path / "log").read_text() == "built\n"
    assert status(track).state == "ready"
    assert verify(track) == []
    assert sorted(path.name for path in data_home.iterdir()) == [".small-1.lock", "small-1"]


def test_built_revision_is_that_of_the_pixels(builder: Callable[[str], Track]) -> None:
    from PIL import Image

    track = builder("build")
    data = locate(track)
    path = data.samples()[0].files["reference"]
    before = path.read_bytes()
    with Image.open(path) as image:
        image.save(path, compress_level=0)
    assert path.read_bytes() != before
    assert locate(track).revision == data.revision
    Image.new("RGB", (3, 2), (1, 2, 1)).save(path)
    assert locate(track).revision != data.revision


def test_another_version_is_built_beside(builder: Callable[[str], Track], data_home: Path) -> None:
    track = builder("build")
    locate(track)
    assert isinstance(track.source, BuiltSource)
    assert locate(replace(track, source=replace(track.source, version="2"))).root == data_home / "small-2"


def test_built_track_in_a_data_folder(builder: Callable[[str], Track], tmp_path: Path, data_home: Path) -> None:
    track = builder("build")
    build(track, tmp_path / "mine/small")
    assert locate(track, [tmp_path / "mine"]).root == tmp_path / "mine/small"
    assert not data_home.exists()


def test_failed_build_leaves_nothing(builder: Callable[[str], Track], data_home: Path) -> None:
    with pytest.raises(TrackError, match=r"disk is full\. Set PIXELGATE_DATA"):
        locate(builder("broken"))
    assert [path.name for path in data_home.iterdir()] == [".small-1.lock"]


def test_builder_that_needs_a_package(builder: Callable[[str], Track]) -> None:
    with pytest.raises(MissingExtra, match=r"pip install 'pixelgate\[demo\]'"):
        locate(builder("needy"))


@pytest.mark.parametrize("name", ["small_builder:nothing", "no_such_module_at_all:build"])
def test_builder_that_is_not_there(builder: Callable[[str], Track], name: str) -> None:
    track = builder("build")
    with pytest.raises(TrackError, match=r"key 'source\.built' names .*, which is not there"):
        locate(replace(track, source=BuiltSource(name, "1")))


def test_broken_build_is_mended_by_removing_it(builder: Callable[[str], Track]) -> None:
    track = builder("build")
    data = locate(track)
    data.samples()[0].files["style"].unlink()
    (problem,) = locate(track).problems()
    assert problem.mend == f"Remove the folder {data.root}; it is built anew on the next run."


def test_processes_that_build_at_the_same_time(
    builder: Callable[[str], Track], tmp_path: Path, data_home: Path
) -> None:
    """Four processes, one build, the same revision in each."""
    code = (
        "from dataclasses import replace\n"
        "from pixelgate.tracks import load_track, locate, BuiltSource\n"
        "track = replace(load_track('demo-pst'), id='small', samples=('s-1', 's-2'), numbers={},\n"
        "                source=BuiltSource('small_builder:build', '1', 'demo'))\n"
        "data = locate(track)\n"
        "assert not data.problems(), data.problems()\n"
        "print(data.revision)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "module")}
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    revisions = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0] * 4
    assert len(set(revisions)) == 1
    assert (tmp_path / "log").read_text() == "built\n"


def test_without_locks_the_slower_build_gives_way(
    builder: Callable[[str], Track], tmp_path: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def no_locks(*_: object) -> None:
        raise OSError("this disk knows no locks")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    track = builder("build")
    threads = [threading.Thread(target=locate, args=(track,)) for _ in range(3)]
    for thread in threads:
        thread.start()
        time.sleep(0.01)
    for thread in threads:
        thread.join(30)
    assert locate(track).problems() == []
    assert sorted(path.name for path in data_home.iterdir()) == [".small-1.lock", "small-1"]
