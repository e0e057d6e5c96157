"""Digests, atomic writing, the deterministic encoder, and the one resize."""

from __future__ import annotations

import hashlib
import os
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from pixelgate.errors import InputError, ProtocolError
from pixelgate.io.files import atomic_write, pixel_digest, sha256_bytes, sha256_file
from pixelgate.io.resize import resize_to
from pixelgate.io.write import png_bytes, write_png

PICTURES = st.tuples(st.integers(1, 9), st.integers(1, 9)).flatmap(
    lambda size: arrays(np.uint8, (*size, 3), elements=st.integers(0, 255))
)


def noise(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(height * 1000 + width).integers(0, 256, (height, width, 3), dtype=np.uint8)


def test_file_digest_is_sha256_of_its_bytes(tmp_path):
    data = b"x" * (3 << 20) + b"y"
    (tmp_path / "f").write_bytes(data)
    assert sha256_file(tmp_path / "f") == sha256_bytes(data) == hashlib.sha256(data).hexdigest()
    with pytest.raises(InputError) as caught:
        sha256_file(tmp_path / "gone")
    assert caught.value.problems[0].rule == "not-readable"


def test_pixel_digest_sees_shape_and_order_of_bytes_only():
    picture = noise(4, 6)
    expected = hashlib.sha256(b"4x6x3\n" + picture.tobytes()).hexdigest()
    assert pixel_digest(picture) == expected
    assert pixel_digest(np.asfortranarray(picture)) == expected
    assert pixel_digest(np.repeat(picture, 2, axis=1)[:, ::2]) == expected
    assert pixel_digest(picture.reshape(6, 4, 3)) != expected
    with pytest.raises(ValueError, match="uint8"):
        pixel_digest(picture.astype(np.float64))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="uint8"):
        pixel_digest(picture[..., 0])


def test_atomic_write_makes_folders_and_replaces(tmp_path):
    path = tmp_path / "a" / "b.txt"
    atomic_write(path, "first\r\n")
    atomic_write(path, "zweite\nMaßeinheit")
    assert path.read_bytes() == "zweite\nMaßeinheit".encode()
    atomic_write(path, b"\x00")
    assert path.read_bytes() == b"\x00"
    assert os.listdir(path.parent) == ["b.txt"]


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "f"
    atomic_write(path, "old")

    def refuse(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(InputError, match="No space left"):
        atomic_write(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["f"]


def test_writing_below_a_file_is_told(tmp_path):
    (tmp_path / "f").write_text("")
    with pytest.raises(InputError) as caught:
        atomic_write(tmp_path / "f" / "g", "x")
    assert caught.value.problems[0].rule == "not-writable"


def test_bytes_of_the_smallest_picture():
    # Worked out by hand from the PNG, zlib and deflate specifications.
    stream = b"\x78\x01" + b"\x01" + b"\x04\x00" + b"\xfb\xff" + b"\x00\x01\x02\x03" + b"\x00\x0e\x00\x07"
    chunks = [(b"IHDR", b"\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00"), (b"IDAT", stream), (b"IEND", b"")]
    expected = b"\x89PNG\r\n\x1a\n"
    for name, body in chunks:
        expected += struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    assert png_bytes(np.array([[[1, 2, 3]]], dtype=np.uint8)) == expected


# 1 + 3 * width bytes a row: below, at and above one and two stored blocks of 65535 bytes.
@pytest.mark.parametrize(("height", "width"), [(1, 21844), (3, 7281), (1, 21845), (15, 1456), (15, 2912), (200, 300)])
def test_blocks(tmp_path, height, width):
    picture = noise(height, width)
    write_png(tmp_path / "x.png", picture)
    with Image.open(tmp_path / "x.png") as image:
        assert image.mode == "RGB"
        assert np.array_equal(np.array(image), picture)
    data = png_bytes(picture)
    assert data == png_bytes(np.asfortranarray(picture))
    rows = height * (1 + 3 * width)
    assert len(data) == 8 + 25 + 12 + 12 + 2 + 4 + rows + 5 * -(-rows // 65535)


@settings(max_examples=60, deadline=None)
@given(PICTURES)
def test_pillow_reads_back_what_was_written(picture):
    import io

    with Image.open(io.BytesIO(png_bytes(picture))) as image:
        assert np.array_equal(np.array(image), picture)


@pytest.mark.parametrize("shape", [(2, 2), (2, 2, 4), (0, 2, 3), (2, 0, 3)])
def test_other_arrays_are_refused(shape):
    with pytest.raises(ValueError, match="uint8"):
        png_bytes(np.zeros(shape, dtype=np.uint8))
    with pytest.raises(ValueError, match="float64"):
        png_bytes(np.zeros((2, 2, 3)))  # type: ignore[arg-type]


def test_resize_is_pillows_bicubic_and_takes_width_first():
    picture = noise(20, 30)
    small = resize_to(picture, (15, 10), {"resize": "bicubic"})
    assert small.shape == (10, 15, 3)
    assert np.array_equal(small, np.array(Image.fromarray(picture).resize((15, 10), Image.Resampling.BICUBIC)))
    assert not small.flags.writeable
    assert np.array_equal(resize_to(picture, (30, 20), {"resize": "bicubic"}), picture)


def test_resize_kernel_must_be_known():
    for rules in ({}, {"resize": "nearest"}):
        with pytest.raises(ProtocolError, match=r"size\.resize"):
            resize_to(noise(4, 4), (2, 2), rules)
    with pytest.raises(ValueError, match="0 x 2"):
        resize_to(noise(4, 4), (0, 2), {"resize": "bicubic"})
