"""What one broken file, folder, cache entry or argument may fail, and what goes on beside it."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from engine_tools import PIXEL_METRICS

import pixelgate
from pixelgate.aggregate import MOST_RESAMPLES, Bootstrap, aggregate, bootstrap_settings
from pixelgate.cache import ScoreCache
from pixelgate.case import Case
from pixelgate.columns import Settings
from pixelgate.engine import Engine
from pixelgate.errors import InputError, PixelgateError, Problem, ProtocolError
from pixelgate.protocols import load_protocol
from pixelgate.slices import find_slices
from pixelgate.tracks import load_track, locate


@pytest.fixture
def engine(small):
    track = load_track("small", [small.data])
    return Engine(locate(track, [small.data]), load_protocol("pstbench"), Settings(PIXEL_METRICS))


def cases(small):
    return [Case(name, "small", folder=small.outputs / name / "small") for name in ("one", "two")]


class TestUnreadable:
    @pytest.fixture
    def locked(self, small, monkeypatch):
        """An output that cannot be read; rights would not stop a superuser."""
        from pixelgate.io.files import sha256_file

        path = small.outputs / "two" / "small" / "s1.png"

        def refuse(asked):
            if asked == path:
                raise InputError(Problem(str(asked), "not-readable", "cannot be read.", "Check."))
            return sha256_file(asked)

        monkeypatch.setattr("pixelgate.engine.sha256_file", refuse)
        return path

    def test_an_output_fails_its_own_case_alone(self, small, engine, locked):
        one, two = cases(small)
        scored = engine.score(one, [two])
        assert not scored.problems
        assert len(scored.samples) == 4
        broken = engine.score(two)
        assert [(problem.rule, problem.file) for problem in broken.problems] == [("not-readable", str(locked))]
        assert [sample.sample for sample in broken.samples] == ["s0", "s2", "s3"]

    def test_it_is_not_called_missing(self, small, locked):
        track = load_track("small", [small.data])
        settings = Settings(("psnr",), allow_missing=True)
        lenient = Engine(locate(track, [small.data]), load_protocol("pstbench"), settings)
        assert "missing-output" not in {item.rule for item in lenient.score(cases(small)[1]).deviations}
        assert lenient.cached(cases(small)[1]) == (3, 4)

    def test_a_folder_fails_its_own_case_alone(self, small, engine, monkeypatch):
        real, locked = Path.iterdir, small.outputs / "two" / "small"

        def refuse(folder):
            if folder == locked:
                raise PermissionError(13, "Permission denied", str(folder))
            return real(folder)

        monkeypatch.setattr(Path, "iterdir", refuse)
        one, two = cases(small)
        assert not engine.score(one, [two]).problems
        (problem,) = engine.score(two).problems
        assert (problem.rule, problem.file) == ("not-readable", str(locked))

    def test_a_ratios_folder_is_not_taken_for_an_empty_one(self, tmp_path, monkeypatch):
        real, locked = os.scandir, tmp_path / "0.10"
        locked.mkdir()

        def refuse(folder):
            if Path(folder) == locked:
                raise PermissionError(13, "Permission denied", str(folder))
            return real(folder)

        monkeypatch.setattr(os, "scandir", refuse)
        with pytest.raises(InputError, match=r"0\.10: the folder cannot be read .*\[not-readable\]"):
            find_slices(tmp_path)


DAMAGE = {
    "a list": "'[1, 2]'",
    "a text": "'\"high\"'",
    "true": "'true'",
    "nan": '\'{"value": NaN, "reason": null, "notes": []}\'',
    "infinity": '\'{"value": Infinity, "reason": null, "notes": []}\'',
    "overflow": '\'{"value": 1e999, "reason": null, "notes": []}\'',
    "a long number": "'" + "9" * 5000 + "'",
    "another number": '\'{"value": 12.5, "reason": null, "notes": []}\'',
    "another digit": "replace(value, '1', '2')",
    "another entry's": "(SELECT value FROM scores AS other WHERE other.key != scores.key LIMIT 1)",
    "cut": "substr(value, 1, 20)",
    "null": "NULL",
    "bytes": "x'ff00'",
    "a number": "7",
    "empty": "''",
}


def spoil(folder, statement):
    with sqlite3.connect(folder / "scores.sqlite") as connection:
        connection.execute(statement)
    connection.close()


class TestCache:
    @pytest.mark.parametrize("how", DAMAGE)
    def test_a_damaged_entry_is_computed_anew_and_replaced(self, small, tmp_path, how):
        def score(cache):
            return pixelgate.score(small.outputs, data=small.data, metrics=PIXEL_METRICS, cache=cache)

        first = score(tmp_path / "cache")
        spoil(tmp_path / "cache", f"UPDATE scores SET value = {DAMAGE[how]}")
        assert score(tmp_path / "cache").equals(first)
        with sqlite3.connect(tmp_path / "cache" / "scores.sqlite") as connection:
            keys = [key for (key,) in connection.execute("SELECT key FROM scores")]
        connection.close()
        store = ScoreCache(tmp_path / "cache")
        assert store.get_many(keys).keys() == set(keys)
        store.close()

    def test_a_damaged_time_of_use(self, tmp_path):
        store = ScoreCache(tmp_path)
        store.put_many({"k": 1.5})
        store.close()
        spoil(tmp_path, "UPDATE scores SET used = 'yesterday'")
        store = ScoreCache(tmp_path)
        assert store.get_many(["k"]) == {"k": 1.5}
        store.close()

    def test_a_foreign_table_is_found_when_the_file_is_opened(self, tmp_path):
        spoil(tmp_path, "CREATE TABLE scores (player TEXT, points INTEGER)")
        with pytest.raises(PixelgateError, match=r"scores\.sqlite: the score cache cannot be used: .*\[score-cache\]"):
            ScoreCache(tmp_path)

    def test_a_damaged_page_is_found_when_the_file_is_opened(self, tmp_path):
        store = ScoreCache(tmp_path)
        store.put_many({f"key-{number:04}": "x" * 100 for number in range(500)})
        store.close()
        file = tmp_path / "scores.sqlite"
        data = bytearray(file.read_bytes())
        middle = len(data) // 2 // 4096 * 4096
        data[middle : middle + 4096] = b"\x5a" * 4096
        file.write_bytes(data)
        with pytest.raises(PixelgateError, match=r"\[score-cache\]"):
            ScoreCache(tmp_path)


class TestArguments:
    def test_one_metric_needs_no_list(self, small):
        one = pixelgate.score(small.outputs, data=small.data, metrics="psnr", cache=False)
        assert one.equals(pixelgate.score(small.outputs, data=small.data, metrics=["psnr"], cache=False))
        with pytest.raises(ProtocolError, match="psnrr"):
            pixelgate.score(small.outputs, data=small.data, metrics="psnrr", cache=False)

    @pytest.mark.parametrize("nothing", [None, ""])
    def test_no_outputs(self, nothing):
        with pytest.raises(InputError, match=r"the argument outputs is (None|'')"):
            pixelgate.score(nothing)

    @pytest.mark.parametrize("resamples", [0, -1, MOST_RESAMPLES + 1, 10**12])
    def test_resamples_out_of_range(self, small, engine, resamples):
        with pytest.raises(ProtocolError, match=r"1 to 1,000,000"):
            bootstrap_settings(load_protocol("pstbench"), resamples)
        scores = engine.score(cases(small)[0])
        with pytest.raises(ProtocolError, match=r"1 to 1,000,000"):
            aggregate(scores, Bootstrap(resamples, 0, 0.95))

    def test_most_resamples(self):
        assert bootstrap_settings(load_protocol("pstbench"), MOST_RESAMPLES)[0].resamples == MOST_RESAMPLES
