"""``pixelgate cache``: what it holds, and pruning by age."""

from __future__ import annotations

import sqlite3
import time

import pytest

from pixelgate.cache import ScoreCache

DAY = 86_400


@pytest.fixture
def filled(tmp_path):
    """The default cache with entries that were last used 0, 20 and 40 days ago, and one from the future."""
    folder = tmp_path / "cache"
    cache = ScoreCache(folder)
    cache.put_many({f"key-{age}": 1.0 for age in (0, 20, 40, -400)})
    cache.close()
    with sqlite3.connect(folder / "scores.sqlite") as connection:
        for age in (0, 20, 40, -400):
            used = time.time() - age * DAY
            connection.execute("UPDATE scores SET used = ? WHERE key = ?", (int(used), f"key-{age}"))
    connection.close()
    return folder


def entries(folder):
    cache = ScoreCache(folder)
    found = sorted(cache.get_many(f"key-{age}" for age in (0, 20, 40, -400)))
    cache.close()
    return found


def test_info_of_a_cache_that_is_not_there_makes_none(pixelgate, tmp_path):
    done = pixelgate("cache", "info")
    assert (done.status, done.err) == (0, "")
    assert f"folder:   {tmp_path / 'cache'}" in done.out
    assert pixelgate("cache", "info", "--json").data["entries"] == 0
    assert pixelgate("cache", "prune", "--all", "--json").data["deleted"] == 0
    assert not (tmp_path / "cache").exists()


def test_info(pixelgate, filled):
    data = pixelgate("cache", "info", "--json").data
    assert data == {"folder": str(filled), "entries": 4, "bytes": (filled / "scores.sqlite").stat().st_size}
    assert "scores:   4" in pixelgate("cache", "info").out


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ((), ["key--400", "key-0", "key-20"]),
        (("--older-than", "10"), ["key--400", "key-0"]),
        (("--older-than", "90.5"), ["key--400", "key-0", "key-20", "key-40"]),
        (("--all",), []),
    ],
    ids=str,
)
def test_prune(options, left, pixelgate, filled):
    done = pixelgate("cache", "prune", *options, "--json")
    assert done.status == 0
    assert (done.data["deleted"], done.data["entries"]) == (4 - len(left), len(left))
    assert entries(filled) == left


def test_prune_says_what_it_did(pixelgate, filled):
    assert pixelgate("cache", "prune").out.startswith("1 scores deleted, 3 left (")


def test_another_folder(pixelgate, filled, tmp_path):
    other = ScoreCache(tmp_path / "other")
    other.put_many({"one": 1})
    other.close()
    assert pixelgate("cache", "prune", "--all", "--cache", tmp_path / "other", "--json").data["deleted"] == 1
    assert len(entries(filled)) == 4


@pytest.mark.parametrize("action", ["info", "prune"])
def test_a_damaged_cache(action, pixelgate, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "scores.sqlite").write_bytes(b"this is no database, whatever its name says" * 50)
    done = pixelgate("cache", action)
    assert (done.status, done.out) == (2, "")
    assert "[score-cache]" in done.err
    assert "--cache DIR" in done.err
