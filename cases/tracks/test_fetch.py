"""Fetching, with the real huggingface_hub client against a hub on loopback."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hub_server import Fault, HubServer, Repository, git_blob, sha256
from small_pst50 import FIRST, FOLDERS, PAIRED, REPOSITORY, SAMPLES, files, picture, wanted

from pixelgate.errors import FetchError, TrackError
from pixelgate.tracks import Track, load_track, locate
from pixelgate.tracks.fetch import FetchProgress, fetch, status, verify
from pixelgate.tracks.lock import LOCK_NAME, read_lock


def test_fetches_the_tracks_files_and_nothing_else(
    hub: HubServer, repository: Repository, track: Track, data_home: Path
) -> None:
    seen: list[FetchProgress] = []
    done = fetch(track, progress=seen.append)
    root = data_home / "zrgong--PST50"
    assert done.root == root
    assert done.revision == f"{REPOSITORY}@{FIRST}"
    assert list(done.downloaded) == PAIRED
    assert done.kept == done.repaired == ()
    on_disk = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    assert on_disk == sorted([*PAIRED, LOCK_NAME])
    for name in PAIRED:
        assert (root / name).read_bytes() == repository.commits[FIRST][name]
    assert [name for name, _ in hub.bodies()] == [f"{FIRST}/{name}" for name in PAIRED]
    total = sum(len(repository.commits[FIRST][name]) for name in PAIRED)
    assert (seen[-1].files_done, seen[-1].files, seen[-1].bytes_done, seen[-1].bytes) == (12, 12, total, total)
    assert [event.bytes_done for event in seen] == sorted(event.bytes_done for event in seen)


def test_lock_holds_commit_sizes_and_digests(repository: Repository, track: Track) -> None:
    root = fetch(track).root
    lock = json.loads((root / LOCK_NAME).read_text())
    assert lock["format"] == 1
    assert (lock["repository"], lock["kind"], lock["revision"]) == (REPOSITORY, "dataset", FIRST)
    assert lock["files"] == {
        name: {"size": len(data), "sha256": sha256(data)}
        for name, data in repository.commits[FIRST].items()
        if name in PAIRED
    }


def test_located_after_the_fetch(repository: Repository, track: Track) -> None:
    fetch(track)
    data = locate(track)
    assert data.problems() == []
    assert data.revision == f"{REPOSITORY}@{FIRST}"
    assert data.revision_short == f"{REPOSITORY}@6ed86e3"
    sample = data.samples()[1]
    assert sample.id == "pst50-002"
    assert {column: path.name for column, path in sample.files.items()} == {
        "content": "in2.png",
        "style": "tar2.png",
        "reference": "gt2.png",
    }
    assert data.expected_sha256(sample.files["reference"]) == sha256(repository.commits[FIRST]["paired_gt/gt2.png"])
    assert verify(track) == []
    assert status(track).state == "ready"


def test_two_tracks_share_folder_and_lock(hub: HubServer, repository: Repository, track: Track) -> None:
    fetch(track)
    hub.requests.clear()
    whole = load_track("pst50-paired-log")
    log = replace(whole, samples=whole.samples[:SAMPLES])
    done = fetch(log)
    assert list(done.downloaded) == wanted("content_log")
    assert list(done.kept) == wanted("paired_style", "paired_gt")
    assert {name for name, _ in hub.bodies()} == {f"{FIRST}/{name}" for name in done.downloaded}
    assert locate(log).revision == locate(track).revision == f"{REPOSITORY}@{FIRST}"


def test_second_fetch_downloads_nothing(hub: HubServer, repository: Repository, track: Track) -> None:
    fetch(track)
    hub.requests.clear()
    done = fetch(track)
    assert list(done.kept) == PAIRED
    assert done.downloaded == ()
    assert hub.bodies() == []


def test_files_that_were_copied_there_are_adopted(
    hub: HubServer, repository: Repository, track: Track, data_home: Path
) -> None:
    for name in PAIRED:
        path = data_home / "zrgong--PST50" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(repository.commits[FIRST][name])
    assert locate(track).revision.startswith("sha256:")
    assert [problem.rule for problem in verify(track)] == ["no-lock"]
    assert list(fetch(track).kept) == PAIRED
    assert hub.bodies() == []
    assert locate(track).revision == f"{REPOSITORY}@{FIRST}"
    assert verify(track) == []


def test_small_files_are_held_to_their_git_blob(repository: Repository, track: Track) -> None:
    repository.lfs = False
    fetch(track)
    assert verify(track) == []
    repository.faults["paired_gt/gt3.png"] = Fault("other")
    (locate(track).root / "paired_gt/gt3.png").unlink()
    with pytest.raises(FetchError, match=f"gt3.png does not verify.*{git_blob(files()['paired_gt/gt3.png'])}"):
        fetch(track)


@pytest.mark.parametrize("split", [["reference"], ["paired_gt"], ["paired_gt/"]])
def test_a_split_is_a_column_or_a_folder(repository: Repository, track: Track, split: list[str]) -> None:
    assert list(fetch(track, splits=split).downloaded) == wanted("paired_gt")


def test_a_split_may_be_any_folder_of_the_repository(repository: Repository, track: Track) -> None:
    assert list(fetch(track, splits=["video", "reference"]).downloaded) == [*wanted("paired_gt"), "video/clip.mp4"]


def test_unknown_split_names_the_known_ones(hub: HubServer, repository: Repository, track: Track) -> None:
    with pytest.raises(FetchError, match=r"unknown split 'gt'.*content, style, reference.*content_709.*video"):
        fetch(track, splits=["gt"])
    assert hub.bodies() == []


def test_without_content_the_track_still_scores(repository: Repository, track: Track) -> None:
    fetch(track, splits=["style", "reference"])
    data = locate(track)
    assert data.problems() == []
    assert data.columns == ("style", "reference")
    assert set(data.samples()[0].files) == {"style", "reference"}
    assert data.revision == f"{REPOSITORY}@{FIRST}"


def test_wrong_bytes_are_refused_and_thrown_away(repository: Repository, track: Track, data_home: Path) -> None:
    repository.faults["paired_gt/gt2.png"] = Fault("other", times=1)
    with pytest.raises(FetchError, match=r"paired_gt/gt2\.png does not verify") as caught:
        fetch(track)
    assert sha256(repository.commits[FIRST]["paired_gt/gt2.png"]) in str(caught.value)
    assert not (data_home / "zrgong--PST50/paired_gt/gt2.png").exists()
    assert "paired_gt/gt2.png" in fetch(track).downloaded
    assert verify(track) == []


def test_dropped_connection_goes_on_where_it_stopped(
    hub: HubServer, repository: Repository, track: Track, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    repository.faults["paired_gt/gt2.png"] = Fault("drop", after=1_000, times=1)
    fetch(track)
    spans = [span for name, span in hub.bodies() if name.endswith("gt2.png")]
    assert spans == ["", "bytes=1000-"]
    assert verify(track) == []


def test_interrupted_fetch_asks_for_the_missing_rest_only(hub: HubServer, repository: Repository, track: Track) -> None:
    def interrupt(event: FetchProgress) -> None:
        if event.file == "paired_gt/gt3.png" and event.bytes_done >= before + 1_000:
            raise KeyboardInterrupt

    earlier = PAIRED[: PAIRED.index("paired_gt/gt3.png")]
    before = sum(len(files()[name]) for name in earlier)
    with pytest.raises(KeyboardInterrupt):
        fetch(track, progress=interrupt)
    lock = read_lock(locate(track).root)
    assert lock is not None
    assert sorted(lock.files) == earlier
    assert status(track).state == "incomplete"
    assert {problem.rule for problem in locate(track).problems()} == {"missing-reference"}

    hub.requests.clear()
    done = fetch(track)
    assert list(done.kept) == earlier
    asked = hub.bodies()
    assert asked[0] == (f"{FIRST}/paired_gt/gt3.png", "bytes=1000-")
    assert [name for name, _ in asked] == [f"{FIRST}/{name}" for name in PAIRED[len(earlier) :]]
    assert verify(track) == []


def test_server_that_ignores_ranges(hub: HubServer, repository: Repository, track: Track) -> None:
    name = "paired_gt/gt2.png"
    fetch(track, splits=["content"])
    part = locate_part(track, repository.commits[FIRST][name])
    part.parent.mkdir()
    part.write_bytes(repository.commits[FIRST][name][:500])
    repository.faults[name] = Fault("no-range")
    fetch(track)
    assert verify(track) == []


def test_damaged_part_is_fetched_anew(hub: HubServer, repository: Repository, track: Track) -> None:
    name = "paired_gt/gt2.png"
    fetch(track, splits=["content"])
    part = locate_part(track, repository.commits[FIRST][name])
    part.parent.mkdir()
    part.write_bytes(b"x" * 500)
    fetch(track)
    assert [span for asked, span in hub.bodies() if asked.endswith(name)] == ["bytes=500-", ""]
    assert verify(track) == []


def locate_part(track: Track, data: bytes) -> Path:
    from pixelgate.tracks.places import hub_folder

    return hub_folder(track) / ".pixelgate-parts" / f"{sha256(data)}.part"


def test_truncated_body_is_an_error_and_resumes(hub: HubServer, repository: Repository, track: Track) -> None:
    repository.faults["paired_gt/gt2.png"] = Fault("short", after=700, times=1)
    with pytest.raises(FetchError, match=r"paired_gt/gt2\.png.*Run the same command again"):
        fetch(track)
    hub.requests.clear()
    fetch(track)
    assert hub.bodies()[0] == (f"{FIRST}/paired_gt/gt2.png", "bytes=700-")
    assert verify(track) == []


def test_connection_that_never_holds_is_given_up(
    hub: HubServer, repository: Repository, track: Track, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    repository.faults["paired_gt/gt2.png"] = Fault("drop", after=0)
    with pytest.raises(FetchError, match=r"paired_gt/gt2\.png.*Run the same command again"):
        fetch(track)
    assert sum(name.endswith("gt2.png") for name, _ in hub.bodies()) <= 10


def test_missing_file_is_named_before_anything_is_fetched(hub: HubServer, repository: Repository, track: Track) -> None:
    del repository.commits[FIRST]["paired_style/tar2.png"]
    with pytest.raises(FetchError, match=r"lacks 1 of the 12 files.*paired_style/tar2\.png"):
        fetch(track)
    assert hub.bodies() == []


def test_file_that_is_listed_but_gone(repository: Repository, track: Track) -> None:
    repository.faults["paired_gt/gt1.png"] = Fault("404")
    with pytest.raises(FetchError, match=r"paired_gt/gt1\.png: the hub lists the file, but does not have it"):
        fetch(track)


def test_server_error_is_named(repository: Repository, track: Track) -> None:
    repository.faults["paired_gt/gt1.png"] = Fault("500")
    with pytest.raises(FetchError, match=r"paired_gt/gt1\.png: .* answered 500"):
        fetch(track)


def test_unknown_repository(hub: HubServer, track: Track) -> None:
    with pytest.raises(FetchError, match=r"zrgong/PST50: its newest commit: no public dataset of that name at http"):
        fetch(track)


def test_unreachable_hub(track: Track, data_home: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(FetchError, match=r"http://127\.0\.0\.1:9.*Run the same command again"):
        fetch(track)


def test_offline_mode_is_named(track: Track, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(FetchError, match=r"HF_HUB_OFFLINE is set"):
        fetch(track)


def test_other_layout_is_taken_and_located(repository: Repository, track: Track) -> None:
    plain = {f"{folder}/{n}.png": picture(f"{folder}{n}") for folder in FOLDERS for n in range(1, SAMPLES + 1)}
    repository.commits[FIRST] = plain
    fetch(track)
    data = locate(track)
    assert data.problems() == []
    assert data.samples()[0].files["style"].relative_to(data.root).as_posix() == "paired_style/1.png"
    assert data.revision == f"{REPOSITORY}@{FIRST}"


def test_unknown_layout_says_what_it_found(hub: HubServer, repository: Repository, track: Track) -> None:
    repository.commits[FIRST] = {"pairs/a.jpg": b"x", "README.md": b""}
    with pytest.raises(FetchError, match=r"not laid out as") as caught:
        fetch(track)
    assert "paired_gt/gt{n}.png" in str(caught.value)
    assert "README.md, pairs/" in str(caught.value)
    assert hub.bodies() == []


def test_own_root(repository: Repository, track: Track, tmp_path: Path, data_home: Path) -> None:
    root = tmp_path / "elsewhere"
    assert fetch(track, root=root).root == root / "zrgong--PST50"
    assert not data_home.exists()
    assert verify(track, root) == []
    assert locate(track, [root]).root == root / "zrgong--PST50"
    with pytest.raises(TrackError, match="pixelgate data fetch pst50-paired"):
        verify(track)


def test_unwritable_place_is_named(repository: Repository, track: Track, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FetchError, match="PIXELGATE_DATA"):
        fetch(track, root=tmp_path / "file")
