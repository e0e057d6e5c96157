"""Which tracks there are, where their files are found, and what is wrong with them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pixelgate.errors import TrackError
from pixelgate.tracks import (
    HubSource,
    LocalSource,
    available_tracks,
    data_home,
    load_track,
    locate,
    register_track,
    registry,
)
from pixelgate.tracks.fetch import fetch, status, verify

CLIP_GROUPS = ["camera", "depth", "inpainting", "pose"]
BUILT_IN = sorted(
    [
        *["acetone-transfer", "demo-hints", "demo-pst", "pst50-paired", "pst50-paired-log"],
        *[f"demo-video-{group}" for group in CLIP_GROUPS],
        *[f"flexbench-{group}" for group in [*CLIP_GROUPS, "subject", "text", "vbench"]],
    ]
)


@pytest.fixture(autouse=True)
def fresh_register(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", {})


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """Write a user's track folder; returns it."""

    def write(name: str = "photos", track: str = "photos", samples: str = '"{id}.png"', ids: str = "a b") -> Path:
        root = tmp_path / "data" / name
        for folder in ("content", "style", "gt"):
            (root / folder).mkdir(parents=True)
            for sample in ids.split():
                (root / folder / f"{sample}.png").write_bytes(f"{folder} {sample}".encode())
        columns = "{content: 'content/{id}.png', style: 'style/{id}.png', reference: 'gt/{id}.png'}"
        text = f"id: {track}\nprotocol: pstbench\nsamples: {samples}\ncolumns: {columns}\n"
        (root / "track.yaml").write_text(text)
        return root

    return write


def test_built_in_tracks() -> None:
    assert available_tracks() == BUILT_IN
    paired, log, acetone = (load_track(name) for name in ("pst50-paired", "pst50-paired-log", "acetone-transfer"))
    assert (paired.samples[0], paired.samples[-1], len(paired.samples)) == ("pst50-001", "pst50-050", 50)
    assert (acetone.samples[0], acetone.samples[-1], len(acetone.samples)) == ("acetone-0000", "acetone-1023", 1024)
    assert paired.names(paired.columns, "content")["pst50-007"] == "content_709/in7.png"
    assert log.names(log.columns, "content")["pst50-050"] == "content_log/in50.png"
    assert log.columns["reference"] == paired.columns["reference"] == "paired_gt/gt{n}.png"
    assert isinstance(paired.source, HubSource)
    assert (paired.source.repository, paired.source.revision) == ("zrgong/PST50", "6ed86e3")
    assert isinstance(acetone.source, HubSource)
    assert (acetone.source.repository, acetone.source.revision) == ("Vivre/AceTone-Bench-Transfer", None)
    assert {track.protocol for track in (paired, log, acetone)} == {"pstbench"}


def test_demo_track_lists_what_its_builder_makes() -> None:
    from pixelgate.tracks.demo_pst import EXPECTED

    track = load_track("demo-pst")
    names = {name for column in track.columns for name in track.names(track.columns, column).values()}
    assert names == set(EXPECTED)


def test_unknown_track_lists_the_known_ones(make: Callable[..., Path]) -> None:
    with pytest.raises(TrackError, match=r"Did you mean 'acetone-transfer'\?"):
        load_track("aceton-transfer")
    hint = r"unknown track 'pst50'\. Did you mean 'pst50-paired' or 'pst50-paired-log'\?"
    with pytest.raises(TrackError, match=hint) as caught:
        load_track("pst50", [make()])
    assert all(name in str(caught.value) for name in (*BUILT_IN, "photos", "--bench-data"))


def test_own_tracks_are_found_in_the_folder_and_below(make: Callable[..., Path], tmp_path: Path) -> None:
    one, two = make("one", "first"), make("two", "second")
    assert available_tracks([tmp_path / "data"]) == sorted([*BUILT_IN, "first", "second"])
    assert available_tracks([one]) == sorted([*BUILT_IN, "first"])
    assert available_tracks([one, one / "track.yaml", two]) == sorted([*BUILT_IN, "first", "second"])
    assert load_track("second", [tmp_path / "data"]).source == LocalSource(two)


def test_two_tracks_of_one_id(make: Callable[..., Path], tmp_path: Path) -> None:
    make("one"), make("two")
    with pytest.raises(TrackError, match=r"two/track\.yaml: key 'id' is 'photos' in .*one/track\.yaml too"):
        available_tracks([tmp_path / "data"])


def test_id_of_a_built_in_track(make: Callable[..., Path]) -> None:
    with pytest.raises(TrackError, match="key 'id' is 'demo-pst', which another track has"):
        load_track("demo-pst", [make("one", "demo-pst")])


def test_data_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TrackError, match=r"nowhere: no such folder"):
        available_tracks([tmp_path / "nowhere"])


def test_registered_tracks(make: Callable[..., Path]) -> None:
    root = make()
    track = register_track(root / "track.yaml")
    assert register_track(str(root / "track.yaml")) == track
    assert load_track("photos") == track
    assert "photos" in available_tracks([root])
    with pytest.raises(TrackError, match="track 'photos' exists already"):
        register_track(replace(track, title="another"))
    with pytest.raises(TrackError, match="track 'demo-pst' exists already"):
        register_track(replace(track, id="demo-pst"))


def test_own_folder(make: Callable[..., Path]) -> None:
    root = make()
    data = locate(load_track("photos", [root]))
    assert data.root == root
    assert data.problems() == verify(data.track) == []
    assert [sample.id for sample in data.samples()] == ["a", "b"]
    assert data.samples()[0].files["style"] == root / "style/a.png"
    assert data.expected_sha256(root / "gt/a.png") is None
    assert status(data.track).state == "ready"


def test_content_hash_is_as_documented(make: Callable[..., Path]) -> None:
    root = make(ids="b a")
    data = locate(load_track("photos", [root]))
    lines = "".join(
        f"{hashlib.sha256(f'{folder} {sample}'.encode()).hexdigest()}  {folder}/{sample}.png\n"
        for folder in ("content", "gt", "style")
        for sample in ("a", "b")
    )
    assert data.revision == f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"
    assert data.revision_short == data.revision[:19]


def test_revision_depends_on_names_and_bytes_alone(make: Callable[..., Path], tmp_path: Path) -> None:
    root = make()

    def revision(folder: Path) -> str:
        return locate(load_track("photos", [folder])).revision

    before = revision(root)
    (root / "notes.txt").write_text("not part of it")
    (root / "content/.DS_Store").write_text("nor this")
    os.utime(root / "gt/a.png", (1, 1))
    moved = root.rename(tmp_path / "moved")
    assert revision(moved) == before
    (moved / "style/a.png").write_bytes(b"style A")
    assert revision(moved) != before
    (moved / "style/a.png").write_bytes(b"style a")
    assert revision(moved) == before
    for folder in ("content", "style", "gt"):
        (moved / folder / "a.png").rename(moved / folder / "c.png")
    assert revision(moved) != before


def test_revision_is_computed_once(make: Callable[..., Path]) -> None:
    root = make()
    data = locate(load_track("photos", [root]))
    before = data.revision
    (root / "gt/a.png").write_bytes(b"changed")
    assert data.revision == before


def test_all_problems_at_once(make: Callable[..., Path]) -> None:
    root = make(ids="a b c d")
    (root / "style/a.png").unlink()
    (root / "content/b.png").unlink()
    (root / "content/b.png").mkdir()
    (root / "style/c.png").rename(root / "style/C.png.tmp")
    (root / "style/C.png.tmp").rename(root / "style/C.PNG")
    (root / "content/e.png").write_bytes(b"")
    (root / "content/two words.png").write_bytes(b"")
    (root / "content/._a.png").write_bytes(b"")
    (root / "style/Thumbs.db").write_bytes(b"")
    data = locate(load_track("photos", [root]))
    problems = data.problems()
    assert [(Path(problem.file).relative_to(root).as_posix(), problem.rule) for problem in problems] == [
        ("content/b.png", "not-a-file"),
        ("content/e.png", "no-reference"),
        ("content/two words.png", "no-reference"),
        ("style/a.png", "missing-reference"),
        ("style/c.png", "name-case"),
    ]
    assert "'C.PNG'" in problems[-1].found
    assert status(data.track).state == "incomplete"
    assert len(data.samples()) == 4


def test_folder_that_differs_in_case(make: Callable[..., Path]) -> None:
    root = make()
    (root / "style").rename(root / "x")
    (root / "x").rename(root / "Style")
    problems = locate(load_track("photos", [root])).problems()
    assert [(Path(problem.file).name, problem.rule, problem.found) for problem in problems] == [
        ("a.png", "name-case", "the file is named 'Style'."),
        ("b.png", "name-case", "the file is named 'Style'."),
    ]


def test_names_are_exact_never_by_position(make: Callable[..., Path]) -> None:
    root = make(samples='{id: "pst-{n:03d}", first: 1, last: 2}', ids="1 2")
    problems = locate(load_track("photos", [root])).problems()
    assert {Path(problem.file).name for problem in problems} == {"pst-001.png", "pst-002.png"}
    assert len(problems) == 6


def test_listed_samples_may_be_some_of_the_files(make: Callable[..., Path]) -> None:
    root = make(samples='["b"]')
    data = locate(load_track("photos", [root]))
    assert data.problems() == []
    assert [sample.id for sample in data.samples()] == ["b"]


def test_optional_column(make: Callable[..., Path]) -> None:
    root = make()
    (root / "track.yaml").write_text((root / "track.yaml").read_text() + "optional: [content]\n")
    track = load_track("photos", [root])
    whole = locate(track).revision
    (root / "content/a.png").unlink()
    assert [problem.rule for problem in locate(track).problems()] == ["missing-reference"]
    (root / "content/b.png").unlink()
    data = locate(track)
    assert data.problems() == []
    assert data.columns == ("style", "reference")
    assert set(data.samples()[0].files) == {"style", "reference"}
    assert data.revision != whole


def pst50(root: Path, samples: int = 50, gt: str = "paired_gt/gt{}.png") -> Path:
    for pattern in ("paired_style/tar{}.png", gt):
        for number in range(1, samples + 1):
            path = root / pattern.format(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(pattern.format(number).encode())
    return root


@pytest.mark.parametrize("place", ["", "PST50", "zrgong--PST50", "pst50-paired"])
def test_hub_track_in_a_data_folder(tmp_path: Path, data_home: Path, place: str) -> None:
    root = pst50(tmp_path / "mine" / place)
    data = locate(load_track("pst50-paired"), [tmp_path / "mine"])
    assert data.root == root
    assert data.problems() == []
    assert data.revision.startswith("sha256:")


def test_data_folders_go_before_the_data_directory(tmp_path: Path, data_home: Path) -> None:
    at_home = pst50(data_home / "zrgong--PST50")
    track = load_track("pst50-paired")
    assert locate(track).root == at_home
    (tmp_path / "empty").mkdir()
    assert locate(track, [tmp_path / "empty"]).root == at_home
    mine = pst50(tmp_path / "mine", samples=1)
    assert locate(track, [mine]).root == mine
    assert len(locate(track, [mine]).problems()) == 98


def test_missing_data_name_the_places_and_the_command(tmp_path: Path, data_home: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(TrackError, match="Run: pixelgate data fetch pst50-paired") as caught:
        locate(load_track("pst50-paired"), [tmp_path / "empty"])
    for place in (tmp_path / "empty", tmp_path / "empty/PST50", data_home / "zrgong--PST50"):
        assert f"\n  {place}" in str(caught.value)
    assert status(load_track("pst50-paired")).state == "absent"
    assert "pixelgate data fetch" in status(load_track("pst50-paired")).mend
    with pytest.raises(TrackError, match="pixelgate data fetch pst50-paired"):
        verify(load_track("pst50-paired"))


def test_data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIXELGATE_DATA", str(tmp_path / "x"))
    assert data_home() == tmp_path / "x"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PIXELGATE_DATA", "relative")
    assert data_home() == tmp_path / "relative"
    monkeypatch.delenv("PIXELGATE_DATA")
    assert data_home().parts[-2:] == ("pixelgate", "data")


def test_own_folder_has_nothing_to_fetch(make: Callable[..., Path]) -> None:
    from pixelgate.errors import FetchError

    with pytest.raises(FetchError, match="is your own folder"):
        fetch(load_track("photos", [make()]))


def test_import_is_light() -> None:
    """Discovery imports this package in every run; reading every built-in track included."""
    code = (
        "import sys, pixelgate.tracks as t\n"
        "[t.load_track(i) for i in t.available_tracks()]\n"
        "import pixelgate.tracks.fetch\n"
        "print([m for m in ('numpy', 'PIL', 'pandas', 'torch', 'skimage', 'scipy', 'huggingface_hub', 'pyarrow')"
        " if m in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "[]"
