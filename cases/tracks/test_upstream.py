"""A data set's commit: pinned, resolved, locked, and held to from then on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hub_server import Fault, HubServer, Repository
from small_pst50 import FIRST, REPOSITORY, SECOND, files, picture

from pixelgate.errors import FetchError, TrackError
from pixelgate.tracks import HubSource, Track, locate
from pixelgate.tracks.fetch import fetch, verify
from pixelgate.tracks.lock import LOCK_NAME


def test_pinned_revision_is_found_behind_newer_commits(repository: Repository, track: Track) -> None:
    repository.commits.update({f"{number:040x}": {"README.md": b"later"} for number in range(10, 30)})
    assert fetch(track).revision == f"{REPOSITORY}@{FIRST}"


def test_revision_that_does_not_begin_with_the_pin(hub: HubServer, repository: Repository, track: Track) -> None:
    repository.commits[SECOND] = repository.commits.pop(FIRST)
    with pytest.raises(FetchError, match=rf"pinned revision is 6ed86e3, and none of .* 2 commits.*newest: {SECOND}"):
        fetch(track)
    assert hub.bodies() == []


def test_ambiguous_pin(repository: Repository, track: Track) -> None:
    repository.commits["6ed86e3" + "f" * 33] = files()
    repository.commits[SECOND] = files()
    with pytest.raises(FetchError, match="several of the repository's"):
        fetch(track)


def test_unpinned_fetch_locks_what_it_got(repository: Repository, loose: Track) -> None:
    assert fetch(loose).revision == f"{REPOSITORY}@{FIRST}"
    assert fetch(loose).downloaded == ()


def test_upstream_change_after_the_lock_is_an_error(hub: HubServer, repository: Repository, loose: Track) -> None:
    fetch(loose)
    repository.commits[SECOND] = {**files(), "paired_gt/gt2.png": picture("regraded")}
    with pytest.raises(FetchError, match=r"changed upstream: 1 of 12 files.*paired_gt/gt2\.png.*--accept-changes"):
        fetch(loose)
    assert locate(loose).revision == f"{REPOSITORY}@{FIRST}"
    assert verify(loose) == []

    hub.requests.clear()
    done = fetch(loose, accept_changes=True)
    assert done.revision == f"{REPOSITORY}@{SECOND}"
    assert done.downloaded == done.repaired == ("paired_gt/gt2.png",)
    assert hub.bodies() == [(f"{SECOND}/paired_gt/gt2.png", "")]
    assert verify(loose) == []


def test_interrupted_fetch_stays_at_its_commit(repository: Repository, loose: Track) -> None:
    repository.faults["paired_gt/gt2.png"] = Fault("404")
    with pytest.raises(FetchError):
        fetch(loose)
    repository.faults.clear()
    repository.commits[SECOND] = {name: picture(f"new {name}") for name in files()}
    with pytest.raises(FetchError, match="changed upstream: 12 of 12"):
        fetch(loose)
    assert verify(loose) == []
    assert (locate(loose).root / "paired_gt/gt2.png").read_bytes() == repository.commits[FIRST]["paired_gt/gt2.png"]


def test_upstream_change_elsewhere_is_no_error(repository: Repository, loose: Track) -> None:
    fetch(loose)
    repository.commits[SECOND] = {**files(), "README.md": b"a better one"}
    assert fetch(loose).revision == f"{REPOSITORY}@{FIRST}"


@pytest.mark.parametrize("lfs", [True, False])
def test_rewritten_commit_is_an_error_and_replaces_nothing(repository: Repository, track: Track, lfs: bool) -> None:
    repository.lfs = lfs
    fetch(track)
    before = repository.commits[FIRST]["paired_gt/gt2.png"]
    repository.commits[FIRST]["paired_gt/gt2.png"] = bytes(byte ^ 2 for byte in before)
    with pytest.raises(FetchError, match=r"gt2\.png is not what was fetched before from the same commit"):
        fetch(track)
    assert (locate(track).root / "paired_gt/gt2.png").read_bytes() == before
    assert verify(track) == []


def test_vanished_commit_is_an_error(repository: Repository, track: Track) -> None:
    fetch(track)
    repository.commits[SECOND] = repository.commits.pop(FIRST)
    with pytest.raises(FetchError, match=f"its files at commit {FIRST}: the repository has no such commit"):
        fetch(track)


def test_damaged_file_is_found_and_repaired(hub: HubServer, repository: Repository, track: Track) -> None:
    root = fetch(track).root
    victim = root / "paired_gt/gt2.png"
    data = bytearray(victim.read_bytes())
    data[100] ^= 1
    victim.write_bytes(data)
    assert locate(track).problems() == []
    (problem,) = verify(track)
    assert (problem.file, problem.rule) == (str(victim), "changed-data")
    assert fetch(track).repaired == ("paired_gt/gt2.png",)
    assert verify(track) == []


def test_shortened_and_foreign_files_are_seen_without_reading(repository: Repository, track: Track) -> None:
    root = fetch(track).root
    (root / "paired_gt/gt2.png").write_bytes(b"short")
    lock = json.loads((root / LOCK_NAME).read_text())
    del lock["files"]["paired_style/tar1.png"]
    (root / LOCK_NAME).write_text(json.dumps(lock))
    data = locate(track)
    assert [(Path(problem.file).name, problem.rule) for problem in data.problems()] == [
        ("gt2.png", "changed-data"),
        ("tar1.png", "not-fetched"),
    ]
    assert data.revision.startswith("sha256:")


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"format": 2}', '{"format": 1, "repository": "a/b", "kind": "dataset", "revision": "6ed86e3"}']
)
def test_damaged_lock_is_named(repository: Repository, track: Track, text: str) -> None:
    root = fetch(track).root
    (root / LOCK_NAME).write_text(text)
    with pytest.raises(TrackError, match=LOCK_NAME):
        fetch(track)


def test_moved_pin_asks_before_it_moves(repository: Repository, track: Track) -> None:
    fetch(track)
    repository.commits[SECOND] = {**files(), "paired_gt/gt2.png": picture("regraded")}
    assert isinstance(track.source, HubSource)
    moved = replace(track, source=replace(track.source, revision=SECOND[:7]))
    with pytest.raises(FetchError, match=rf"holds commit {FIRST}; .* now pins {SECOND[:7]}.*--accept-changes"):
        fetch(moved)
    assert fetch(moved, accept_changes=True).downloaded == ("paired_gt/gt2.png",)
