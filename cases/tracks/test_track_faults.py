"""Broken files and folders of tracks: falsified pictures, links to nothing, folders that nobody may read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PIL import Image

from pixelgate.colorizer import demo
from pixelgate.errors import InputError, PixelgateError, TrackError
from pixelgate.tracks import LocalSource, Track, TrackData, available_tracks, load_track, locate
from pixelgate.tracks.fetch import status, verify
from pixelgate.tracks.listing import Listing

OWN = """\
id: own
protocol: pstbench
samples: [a, b]
columns: {content: "content/{id}.png", style: "style/{id}.png", reference: "gt/{id}.png"}
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A user's track of two samples."""
    for folder in ("content", "style", "gt"):
        (tmp_path / "own" / folder).mkdir(parents=True)
        for sample in "ab":
            Image.new("RGB", (3, 2), (1, 2, 3)).save(tmp_path / "own" / folder / f"{sample}.png")
    (tmp_path / "own" / "track.yaml").write_text(OWN)
    return tmp_path / "own"


def change(path: Path) -> None:
    """One channel of one pixel by one level."""
    with Image.open(path) as opened:
        image = opened.copy()
    red, green, blue = image.getpixel((0, 0))
    image.putpixel((0, 0), (red, green ^ 1, blue))
    image.save(path)


class TestBuilt:
    @pytest.fixture
    def data(self, data_home: Path) -> TrackData:
        pytest.importorskip("skimage")
        return locate(load_track("demo-pst"))

    def test_one_changed_pixel_is_found(self, data: TrackData) -> None:
        assert verify(data.track) == []
        reference = data.root / "gt" / "demo-001.png"
        change(reference)
        (problem,) = verify(data.track)
        assert (problem.file, problem.rule) == (str(reference), "changed-data")
        assert problem.mend == f"Remove the folder {data.root}; it is built anew on the next run."

    def test_the_same_picture_compressed_anew_is_right(self, data: TrackData) -> None:
        path = data.root / "style" / "demo-002.png"
        with Image.open(path) as image:
            image.load()
            image.save(path, compress_level=0)
        assert verify(data.track) == []

    def test_other_faults_are_named_once(self, data: TrackData) -> None:
        (data.root / "gt" / "demo-001.png").unlink()
        (data.root / "gt" / "demo-002.png").write_bytes(b"no picture")
        (data.root / "gt" / "demo-003.png").write_bytes((data.root / "gt" / "demo-003.png").read_bytes()[:2000])
        with Image.open(data.root / "gt" / "demo-004.png") as image:
            image.convert("RGBA").save(data.root / "gt" / "demo-004.png")
        found = [(Path(problem.file).name, problem.rule) for problem in verify(data.track)]
        rules = ["missing-reference", "changed-data", "changed-data", "changed-data"]
        assert found == [(f"demo-00{number}.png", rule) for number, rule in enumerate(rules, start=1)]

    def test_the_hint_demos_pictures(self, tmp_path: Path) -> None:
        demo.build(tmp_path)
        assert demo.verify(tmp_path) == []
        change(tmp_path / demo.GROUND_TRUTH)
        (problem,) = demo.verify(tmp_path)
        assert problem.file == str(tmp_path / demo.GROUND_TRUTH)


class TestLinks:
    @pytest.mark.parametrize("target", ["nowhere.png", "a.png"], ids=["to nothing", "in a circle"])
    @pytest.mark.parametrize("folder", ["gt", "style"])
    def test_a_link_to_nothing_is_named(self, own: Path, folder: str, target: str) -> None:
        link = own / folder / "a.png"
        link.unlink()
        link.symlink_to(target)
        data = locate(load_track("own", [own]))
        (problem,) = data.problems()
        assert (problem.file, problem.rule) == (str(link), "not-a-file")
        assert data.revision.startswith("sha256:")
        assert status(data.track, [own]).state == "incomplete"
        assert [problem.rule for problem in verify(data.track)] == ["not-a-file"]

    def test_a_found_sample_that_is_a_link_to_nothing(self, own: Path) -> None:
        (own / "track.yaml").write_text(OWN.replace("[a, b]", '"{id}.png"'))
        (own / "gt" / "b.png").unlink()
        (own / "gt" / "b.png").symlink_to("nowhere.png")
        assert [problem.rule for problem in locate(load_track("own", [own])).problems()] == ["not-a-file"]

    def test_a_link_to_a_picture_is_as_good_as_one(self, own: Path) -> None:
        before = locate(load_track("own", [own])).revision
        (own / "gt" / "a.png").rename(own / "elsewhere.png")
        (own / "gt" / "a.png").symlink_to("../elsewhere.png")
        data = locate(load_track("own", [own]))
        assert data.problems() == []
        assert data.revision == before


class TestUnreadable:
    @pytest.fixture
    def refused(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Paths that nobody may read; rights would not stop a superuser."""
        refused: list[str] = []
        scan, opened = os.scandir, Path.open

        def scandir(path: str | Path) -> os.PathLike[str]:
            if str(path) in refused:
                raise PermissionError(13, "Permission denied", str(path))
            return scan(path)

        def open_(path: Path, *args: object, **kwargs: object) -> object:
            if str(path) in refused:
                raise PermissionError(13, "Permission denied", str(path))
            return opened(path, *args, **kwargs)

        monkeypatch.setattr(os, "scandir", scandir)
        monkeypatch.setattr(Path, "open", open_)
        return refused

    def test_a_folder(self, own: Path, refused: list[str]) -> None:
        data = locate(load_track("own", [own]))
        refused.append(str(own / "gt"))
        with pytest.raises(TrackError, match=r"gt: the folder cannot be read \(Permission denied\) \[not-readable\]"):
            data.problems()
        with pytest.raises(TrackError, match=r"\[not-readable\]"):
            Listing(own).has("gt/a.png")

    def test_a_file(self, own: Path, refused: list[str]) -> None:
        data = locate(load_track("own", [own]))
        refused.append(str(own / "gt" / "b.png"))
        with pytest.raises(InputError, match=r"b\.png: cannot be read \(Permission denied\)"):
            assert data.revision

    def test_a_file_is_found_before_anything_is_scored(self, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        data, locked = locate(load_track("own", [own])), own / "style" / "b.png"
        monkeypatch.setattr(os, "access", lambda path, mode: path != locked)
        assert [(problem.file, problem.rule) for problem in data.problems()] == [(str(locked), "not-readable")]

    def test_a_data_folder(self, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        real = Path.is_file

        def is_file(path: Path) -> bool:
            if path.name == "track.yaml":
                raise PermissionError(13, "Permission denied", str(path))
            return real(path)

        monkeypatch.setattr(Path, "is_file", is_file)
        with pytest.raises(TrackError, match=r"own: the folder cannot be read \(Permission denied\)"):
            available_tracks([own])

    def test_a_damaged_picture_of_a_built_track(self, data_home: Path) -> None:
        pytest.importorskip("skimage")
        data = locate(load_track("demo-pst"))
        path = data.root / "gt" / "demo-001.png"
        path.write_bytes(path.read_bytes()[:3000])
        with pytest.raises(PixelgateError, match=r"demo-001\.png: cannot be read"):
            assert data.revision


def test_the_track_is_the_users_own(own: Path) -> None:
    track: Track = load_track("own", [own])
    assert isinstance(track.source, LocalSource)
    assert verify(track) == []
