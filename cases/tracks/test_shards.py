"""A data set that comes in parquet shards; the published names of AceTone-Bench would fit that form too."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hub_server import HubServer, Repository, sha256
from PIL import Image

from pixelgate.errors import FetchError, MissingExtra
from pixelgate.tracks import Track, load_track, locate
from pixelgate.tracks.fetch import fetch, verify

REPOSITORY = "Vivre/AceTone-Bench-Transfer"
COMMIT = "ab" * 20
COLUMNS = ("raw_image", "ref_image", "gt_image")
SHARDS = ("data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet")


def picture(row: int, column: str, form: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (4, 3), (row, COLUMNS.index(column), 7)).save(stream, form)
    return stream.getvalue()


def shard(rows: range, columns: tuple[str, ...] = COLUMNS, form: str = "PNG") -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    stream = io.BytesIO()
    table = {
        column: [{"bytes": picture(row, column, form), "path": f"{row}.png"} for row in rows] for column in columns
    }
    parquet.write_table(pyarrow.table(table), stream, row_group_size=2)
    return stream.getvalue()


@pytest.fixture
def track() -> Track:
    """acetone-transfer with its first five samples."""
    whole = load_track("acetone-transfer")
    return replace(whole, samples=whole.samples[:5])


@pytest.fixture
def repository(hub: HubServer) -> Repository:
    files = {"README.md": b"", SHARDS[0]: shard(range(3)), SHARDS[1]: shard(range(3, 5))}
    repository = Repository({COMMIT: files})
    hub.repositories["datasets", REPOSITORY] = repository
    return repository


def test_shards_are_unpacked_row_by_row(hub: HubServer, repository: Repository, track: Track) -> None:
    done = fetch(track)
    data = locate(track)
    assert data.problems() == []
    assert verify(track) == []
    assert data.revision == done.revision == f"{REPOSITORY}@{COMMIT}"
    for row, sample in enumerate(data.samples()):
        assert sample.id == f"acetone-{row:04d}"
        assert sample.files["content"].read_bytes() == picture(row, "raw_image")
        assert sample.files["style"].read_bytes() == picture(row, "ref_image")
        assert sample.files["reference"].read_bytes() == picture(row, "gt_image")
    assert not list(data.root.rglob("*.parquet"))

    hub.requests.clear()
    assert len(fetch(track).kept) == 15
    assert hub.bodies() == []


def test_damaged_picture_is_unpacked_again(repository: Repository, track: Track) -> None:
    fetch(track)
    victim = locate(track).samples()[1].files["reference"]
    victim.write_bytes(victim.read_bytes()[:-1] + b"x")
    assert [problem.file for problem in verify(track)] == [str(victim)]
    fetch(track)
    assert verify(track) == []


def test_upstream_change_is_an_error_until_it_is_accepted(repository: Repository, track: Track) -> None:
    fetch(track)
    changed = {**repository.commits[COMMIT], SHARDS[1]: shard(range(13, 15))}
    repository.commits["cd" * 20] = changed
    with pytest.raises(FetchError, match=r"changed upstream: 1 of 2 files.*train-00001"):
        fetch(track)
    assert verify(track) == []
    fetch(track, accept_changes=True)
    assert verify(track) == []
    assert locate(track).samples()[4].files["reference"].read_bytes() == picture(14, "gt_image")


@pytest.mark.parametrize(
    ("shards", "message"),
    [
        ([shard, range(4)], r"has 5 samples; the 1 shards hold 4 rows"),
        ([shard, range(5), ("raw_image", "gt_image")], r"has no column ref_image; it has: raw_image, gt_image"),
        ([shard, range(5), COLUMNS, "JPEG"], r"raw_image of acetone-0000: the picture is no PNG file"),
    ],
)
def test_shards_that_do_not_fit(repository: Repository, track: Track, shards: list[Any], message: str) -> None:
    make, *arguments = shards
    repository.commits[COMMIT] = {SHARDS[0]: make(*arguments)}
    with pytest.raises(FetchError, match=message):
        fetch(track)


def test_missing_pyarrow_is_told_before_the_download(
    hub: HubServer, repository: Repository, track: Track, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtra, match=r"pip install 'pixelgate\[parquet\]'"):
        fetch(track)
    assert hub.bodies() == []


@pytest.mark.parametrize("pattern", ["raw_image/{:04d}.png", "raw_image/{}.png", "train/raw_image/{}.png"])
def test_plain_files_are_taken_too(hub: HubServer, track: Track, pattern: str) -> None:
    files = {
        pattern.replace("raw_image", column).format(row): picture(row, column) for row in range(5) for column in COLUMNS
    }
    hub.repositories["datasets", REPOSITORY] = Repository({COMMIT: files})
    fetch(track)
    sample = locate(track).samples()[4]
    assert sample.files["style"].read_bytes() == picture(4, "ref_image")
    assert sample.files["style"].relative_to(locate(track).root) == Path(
        pattern.replace("raw_image", "ref_image").format(4)
    )
    assert sha256(sample.files["reference"].read_bytes()) == sha256(picture(4, "gt_image"))
    assert verify(track) == []
