from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from given_tools import refusal, save
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelgate.errors import InputError
from pixelgate.io.features import FeatureFile, Field

FIELDS = {
    "frames": Field("real", ("T", "D")),
    "pictures": Field("rgb8", ("n", "H", "W", 3), may_be_empty=True),
    "count": Field("count"),
    "name": Field("text"),
}


class Bomb:
    """Unpickling it makes a file: a proof that nothing was unpickled is that the file is not there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_reading(tmp_path: Path) -> None:
    frames = np.arange(6, dtype=np.float16).reshape(3, 2)
    pictures = np.zeros((0, 4, 5, 3), dtype=np.uint8)
    path = save(tmp_path / "a.npz", frames=frames, pictures=pictures, count=np.uint16(7), name="CLIP – ViT")
    with FeatureFile(path, FIELDS) as file:
        assert file.keys == set(FIELDS)
        assert file.shape("frames") == (3, 2)
        np.testing.assert_array_equal(file.array("frames"), frames)
        np.testing.assert_array_equal(np.stack(list(file.rows("frames"))), frames)
        assert list(file.rows("pictures")) == []
        assert file.count("count") == 7
        assert file.text("name") == "CLIP – ViT"
    with FeatureFile(save(tmp_path / "b.npz", count=1), FIELDS) as file:
        assert file.text("name") is None


@given(
    st.sampled_from(["<f2", "<f4", "<f8", ">f4", ">f8"]),
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_rows_are_the_array(
    tmp_path_factory: pytest.TempPathFactory, dtype: str, shape: tuple[int, int], fortran: bool, packed: bool
) -> None:
    values = np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)
    values = np.asfortranarray(values) if fortran else values
    path = tmp_path_factory.mktemp("rows") / "a.npz"
    (np.savez_compressed if packed else np.savez)(path, frames=values)
    with FeatureFile(path, FIELDS) as file:
        np.testing.assert_array_equal(np.stack(list(file.rows("frames"))), values)
        np.testing.assert_array_equal(file.array("frames"), values)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ({"frames": np.ones(3)}, "prediction-shape"),
        ({"frames": np.ones((3, 2, 1))}, "prediction-shape"),
        ({"frames": np.ones((0, 2))}, "prediction-shape"),
        ({"frames": np.ones((2, 0))}, "prediction-shape"),
        ({"pictures": np.ones((2, 4, 5, 4), dtype=np.uint8)}, "prediction-shape"),
        ({"pictures": np.ones((2, 0, 5, 3), dtype=np.uint8)}, "prediction-shape"),
        ({"count": np.ones(2, dtype=np.int64)}, "prediction-shape"),
        ({"frames": np.ones((3, 2), dtype=np.int64)}, "prediction-type"),
        ({"frames": np.ones((3, 2), dtype=np.complex64)}, "prediction-type"),
        ({"frames": np.array([["1", "2"]])}, "prediction-type"),
        ({"pictures": np.ones((2, 4, 5, 3), dtype=np.uint16)}, "prediction-type"),
        ({"pictures": np.ones((2, 4, 5, 3), dtype=np.float32)}, "prediction-type"),
        ({"count": 2.0}, "prediction-type"),
        ({"count": True}, "prediction-type"),
        ({"name": b"bytes"}, "prediction-type"),
        ({"frame": np.ones((3, 2))}, "prediction-keys"),
    ],
)
def test_refused(tmp_path: Path, content: dict[str, Any], rule: str) -> None:
    path = save(tmp_path / "a.npz", **content)
    with pytest.raises(InputError) as error:
        FeatureFile(path, FIELDS)
    assert str(path) in refusal(error, rule)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    harm = tmp_path / "harm"
    path = tmp_path / "a.npz"
    np.savez(path, frames=np.array([[Bomb(harm)]], dtype=object))
    with pytest.raises(InputError) as error:
        FeatureFile(path, FIELDS)
    refusal(error, "prediction-pickle")
    assert not harm.exists()


def test_all_problems_of_a_file_are_listed(tmp_path: Path) -> None:
    path = save(tmp_path / "a.npz", frames=np.ones(2), count=1.0, other=1)
    with pytest.raises(InputError) as error:
        FeatureFile(path, FIELDS)
    assert {p.rule for p in error.value.problems} == {"prediction-shape", "prediction-type", "prediction-keys"}


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_are_finite(tmp_path: Path, bad: float) -> None:
    frames = np.ones((4, 3))
    frames[2, 1] = bad
    with FeatureFile(save(tmp_path / "a.npz", frames=frames), FIELDS) as file:
        with pytest.raises(InputError) as error:
            file.array("frames")
        assert "[2, 1]" in refusal(error, "prediction-finite")
        rows = file.rows("frames")
        next(rows), next(rows)
        with pytest.raises(InputError) as error:
            next(rows)
        assert "[2, 1]" in refusal(error, "prediction-finite")


def test_a_key_that_is_not_there(tmp_path: Path) -> None:
    with FeatureFile(save(tmp_path / "a.npz", count=1), FIELDS) as file, pytest.raises(InputError) as error:
        file.array("frames")
    assert "(T, D)" in refusal(error, "prediction-keys")


def test_a_key_twice(tmp_path: Path) -> None:
    path = save(tmp_path / "a.npz", frames=np.ones((2, 2)))
    with zipfile.ZipFile(path) as archive:
        data = archive.read("frames.npy")
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("frames.npy", data)
    with pytest.raises(InputError) as error:
        FeatureFile(path, FIELDS)
    assert "twice" in refusal(error, "prediction-keys")


def test_no_npz_file(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    for content in (b"", b"PK\x03\x04", b"plain text", save(tmp_path / "b.npz", count=1).read_bytes()[:-30]):
        path.write_bytes(content)
        with pytest.raises(InputError) as error:
            FeatureFile(path, FIELDS)
        refusal(error, "prediction-intact")
    for missing in (tmp_path / "none.npz", tmp_path):
        with pytest.raises(InputError) as error:
            FeatureFile(missing, FIELDS)
        refusal(error, "not-a-file")


@pytest.mark.parametrize("announced", [(4, 3), (1, 3), (10**12, 10**12)])
def test_a_header_that_lies(tmp_path: Path, announced: tuple[int, int]) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive, archive.open("frames.npy", "w") as stream:
        header = {"descr": "<f8", "fortran_order": False, "shape": announced}
        np.lib.format.write_array_header_1_0(stream, header)
        stream.write(np.ones((2, 3)).tobytes())
    with pytest.raises(InputError) as error:
        FeatureFile(path, FIELDS)
    assert "announced" in refusal(error, "prediction-intact")


def test_damaged_data(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, frames=np.random.default_rng(0).normal(size=(50, 20)))
    data = bytearray(path.read_bytes())
    data[4000] ^= 255
    path.write_bytes(data)
    with FeatureFile(path, FIELDS) as file:
        for read in (file.array, lambda key: list(file.rows(key))):
            with pytest.raises(InputError) as error:
                read("frames")
            assert "CRC" in refusal(error, "prediction-intact")
