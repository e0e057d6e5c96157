"""Data sets in FlexBench's layout: which samples they name, and what of each is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pixelgate.errors import InputError, TrackError
from pixelgate.tracks import DatasetData, load_track, locate
from pixelgate.tracks.fetch import status, verify


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x")


def captions(root: Path, *ids: str) -> None:
    root.mkdir(exist_ok=True)
    (root / "captions.json").write_text(json.dumps({f"{name}.mp4": "a prompt" for name in ids}), encoding="utf-8")


def data_of(group: str, root: Path) -> DatasetData:
    found = locate(load_track(f"flexbench-{group}"), [root])
    assert isinstance(found, DatasetData)
    return found


def test_samples_are_those_of_captions_and_of_the_conditions_own_files(tmp_path: Path) -> None:
    captions(tmp_path, "a", "b")
    touch(tmp_path, "depth/b.mp4", "depth/c.npz")
    data = data_of("depth", tmp_path)
    assert data.track.samples == ("a", "b", "c")
    assert [sample.id for sample in data.samples()] == ["b", "c"]
    assert {name: problem.rule for name, problem in data.missing.items()} == {"a": "missing-reference"}
    assert "lacks its reference" in str(data.missing["a"])
    assert "depth/a.mp4 or depth/a.npz or depth/a.npy" in str(data.missing["a"])


def test_any_place_will_do_and_two_are_refused(tmp_path: Path) -> None:
    captions(tmp_path, "a", "b")
    touch(tmp_path, "subject/a.png", "subject/a.jpg", "subject/b.png")
    data = data_of("subject", tmp_path)
    assert [sample.files["reference"].name for sample in data.samples()] == ["b.png"]
    assert data.missing["a"].rule == "reference-twice"
    assert "subject/a.jpg, subject/a.png" in str(data.missing["a"])


@pytest.mark.parametrize(
    ("files", "owned"),
    [
        (("x_pose", "x_pose_pose"), {"x": "x_pose", "x_pose": "x_pose_pose"}),
        (("x", "x_pose"), {"x": "x", "x_pose": "x_pose"}),
        (("x_pose",), {}),
        (("x", "x_pose", "x_pose_pose"), {"x": "x", "x_pose": "x_pose_pose"}),
    ],
)
def test_a_file_is_never_two_samples(tmp_path: Path, files, owned) -> None:
    captions(tmp_path, "x", "x_pose")
    touch(tmp_path, *(f"pose/raw/{name}.npy" for name in files))
    data = data_of("pose", tmp_path)
    assert {sample.id: sample.files["reference"].stem for sample in data.samples()} == owned
    assert {problem.rule for problem in data.missing.values()} <= {"reference-twice"}


@pytest.mark.parametrize(
    ("named", "files", "ids"),
    [
        (("001",), ("001_pose.npy",), ("001",)),
        (("001_pose",), ("001_pose.npy",), ("001_pose",)),
        (("001", "001_pose"), ("001_pose.npy", "001.npy"), ("001", "001_pose")),
        ((), ("001_pose.npy",), ("001",)),
        ((), ("001.npy", "001_scores.npy"), ("001",)),
    ],
)
def test_a_pose_suffix_is_the_files_or_the_ids(tmp_path: Path, named, files, ids) -> None:
    if named:
        captions(tmp_path, *named)
    touch(tmp_path, *(f"pose/raw/{name}" for name in files))
    assert data_of("pose", tmp_path).track.samples == ids


def test_a_missing_mask_keeps_the_sample_and_is_named(tmp_path: Path) -> None:
    touch(tmp_path, "inpainting/a.mp4", "inpainting/b.mp4", "inpainting/bbox/b.mp4")
    data = data_of("inpainting", tmp_path)
    assert data.track.samples == ("a", "b")
    assert "lacks its mask" in str(data.missing["a"])


def test_an_optional_column_may_be_missing(tmp_path: Path) -> None:
    touch(tmp_path, "pose/raw/a.npy", "pose/raw/b.npy", "pose/b.mp4")
    files = {sample.id: sorted(sample.files) for sample in data_of("pose", tmp_path).samples()}
    assert files == {"a": ["reference"], "b": ["reference", "size"]}


def test_captions_are_the_reference_of_every_sample(tmp_path: Path) -> None:
    captions(tmp_path, "a", "b")
    data = data_of("text", tmp_path)
    assert {sample.files["reference"].name for sample in data.samples()} == {"captions.json"}
    assert not data.absent
    assert not data.missing


def test_a_group_without_any_reference_is_absent(tmp_path: Path) -> None:
    captions(tmp_path, "a")
    assert "nothing fits depth/{id}.mp4" in data_of("depth", tmp_path).absent
    touch(tmp_path, "depth/a.mp4")
    assert data_of("depth", tmp_path).absent == ""


def test_the_revision_changes_with_any_file_of_the_group_and_no_other(tmp_path: Path) -> None:
    captions(tmp_path, "a")
    touch(tmp_path, "depth/a.mp4", "pose/raw/a.npy")
    before = {group: data_of(group, tmp_path).revision for group in ("depth", "pose")}
    (tmp_path / "depth" / "a.mp4").write_bytes(b"y")
    after = {group: data_of(group, tmp_path).revision for group in ("depth", "pose")}
    assert before["depth"] != after["depth"]
    assert before["pose"] == after["pose"]
    captions(tmp_path, "a", "b")
    assert data_of("pose", tmp_path).revision != before["pose"]


def test_a_folder_that_is_no_data_set(tmp_path: Path) -> None:
    with pytest.raises(TrackError, match=r"captions\.json"):
        locate(load_track("flexbench-depth"), [tmp_path])
    with pytest.raises(TrackError, match="no folder was named"):
        locate(load_track("flexbench-depth"))


def test_captions_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "captions.json").write_text('{"a.mp4": 3}', encoding="utf-8")
    with pytest.raises(InputError, match=r"captions\.json"):
        data_of("text", tmp_path)


def test_its_state_is_told(tmp_path: Path) -> None:
    track = load_track("flexbench-depth")
    assert status(track).state == "unnamed"
    touch(tmp_path, "depth/a.mp4")
    assert status(track, [tmp_path]).state == "ready"
    assert verify(track, tmp_path) == []


def test_separate_scores_are_a_column_and_no_sample(tmp_path: Path) -> None:
    touch(tmp_path, "pose/raw/a.npy", "pose/raw/a_scores.npy")
    (sample,) = data_of("pose", tmp_path).samples()
    assert sample.id == "a"
    assert sample.files["scores"].name == "a_scores.npy"
