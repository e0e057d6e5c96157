"""Files made on the spot: damage, limits, odd chunks, and what a protocol may choose."""

from __future__ import annotations

import io
import os
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageFile

from pixelgate.errors import InputError, ProtocolError
from pixelgate.io.png import read_png
from pixelgate.io.write import SIGNATURE, png_bytes

RULES: dict[str, Any] = {
    "format": "png",
    "bit_depth": 8,
    "colour_type": "rgb",
    "exif_orientation": "apply",
    "icc": {
        "output": "convert-to-srgb",
        "reference": "refuse",
        "srgb_probe_levels": 18,
        "srgb_probe_tolerance": 1,
        "intent": "perceptual",
    },
    "ignored_chunks": ["gAMA", "cHRM", "sRGB", "cICP"],
}
PICTURE = np.arange(5 * 4 * 3, dtype=np.uint8).reshape(5, 4, 3) * 4
P3 = (Path(__file__).parents[1] / "conformance" / "nasty" / "p3.icc").read_bytes()
TURN_RIGHT = b"II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00"


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def with_chunks(*extra: bytes, tail: bytes = b"") -> bytes:
    """PICTURE as a PNG with more chunks before and behind its pixels."""
    plain = png_bytes(PICTURE)
    head, end = len(SIGNATURE) + 25, len(plain) - 12
    return plain[:head] + b"".join(extra) + plain[head:end] + tail + plain[end:]


def iccp(profile: bytes) -> bytes:
    return chunk(b"iCCP", b"x\x00\x00" + zlib.compress(profile))


@pytest.fixture
def read(tmp_path):
    def reader(data: bytes, rules: dict[str, Any] = RULES, role: str = "output"):
        path = tmp_path / "x.png"
        path.write_bytes(data)
        return read_png(path, rules, role=role)

    return reader


def rule_of(reader, data: bytes, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        reader(data, **options)
    return caught.value.problems[0].rule


def test_plain_file_has_no_notes(read):
    pixels, record = read(with_chunks(chunk(b"gAMA", struct.pack(">I", 45455)), chunk(b"sRGB", b"\x00")))
    assert np.array_equal(pixels, PICTURE)
    assert record.notes == ()


@pytest.mark.parametrize("size", [(1, 1), (3, 9), (17, 13)])
def test_interlaced_file_is_read(read, size):
    image = Image.effect_noise(size, 60).convert("RGB")
    rows = np.asarray(image)
    stream = b""
    for left, top, dx, dy in (
        (0, 0, 8, 8),
        (4, 0, 8, 8),
        (0, 4, 4, 8),
        (2, 0, 4, 4),
        (0, 2, 2, 4),
        (1, 0, 2, 2),
        (0, 1, 1, 2),
    ):
        part = rows[top::dy, left::dx]
        stream += b"".join(b"\x00" + line.tobytes() for line in part if part.size)
    header = struct.pack(">IIBBBBB", *size, 8, 2, 0, 0, 1)
    data = SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(stream)) + chunk(b"IEND", b"")
    assert np.array_equal(read(data)[0], rows)


def test_every_single_byte_lost_at_the_end_is_seen(read):
    data = png_bytes(PICTURE)
    for end in range(1, len(data)):
        assert rule_of(read, data[:end]) in {"png-intact", "png-signature"}


def test_every_flipped_bit_is_seen(read):
    data = bytearray(png_bytes(PICTURE))
    for position in range(len(data)):
        data[position] ^= 16
        assert rule_of(read, bytes(data)) in {"png-intact", "png-signature", "png-8-bit-rgb"}
        data[position] ^= 16


@pytest.mark.parametrize("flag", [False, True])
def test_short_pixel_stream_is_seen_whatever_pillow_was_told(read, monkeypatch, flag):
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", flag)
    rows = b"".join(b"\x00" + line.tobytes() for line in PICTURE[:3])
    header = struct.pack(">IIBBBBB", 4, 5, 8, 2, 0, 0, 0)
    data = SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    assert rule_of(read, data) == "png-intact"
    assert np.array_equal(read(png_bytes(PICTURE))[0], PICTURE)


def test_damage_behind_the_pixels_is_seen(read):
    tail = bytearray(chunk(b"eXIf", TURN_RIGHT))
    assert read(with_chunks(tail=bytes(tail)))[0].shape == (4, 5, 3)
    tail[-1] ^= 1
    assert rule_of(read, with_chunks(tail=bytes(tail))) == "png-intact"


def test_two_headers_and_foreign_critical_chunks_are_refused(read):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0))
    assert rule_of(read, with_chunks(header)) == "png-intact"
    assert rule_of(read, with_chunks(chunk(b"ABCD", b""))) == "png-intact"
    plain = png_bytes(PICTURE)
    assert rule_of(read, plain[:8] + chunk(b"CgBI", b"\x00" * 4) + plain[8:]) == "png-intact"
    assert rule_of(read, SIGNATURE + plain[8:33] + chunk(b"IEND", b"")) == "png-intact"


def test_one_frame_animation_is_refused_too(read):
    assert rule_of(read, with_chunks(chunk(b"acTL", struct.pack(">II", 1, 0)))) == "png-one-frame"


def test_all_broken_rules_are_told_at_once(read):
    data = with_chunks(chunk(b"tRNS", b"\x00" * 6), chunk(b"acTL", struct.pack(">II", 2, 0)))
    with pytest.raises(InputError) as caught:
        read(data)
    assert [problem.rule for problem in caught.value.problems] == ["png-no-transparency", "png-one-frame"]


@pytest.mark.parametrize("side", [9500, 14000])
def test_too_many_pixels(read, side):
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    data = SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\x00")) + chunk(b"IEND", b"")
    assert rule_of(read, data) == "too-many-pixels"


def test_pixel_limit_is_pillows(read, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 19)
    assert rule_of(read, png_bytes(PICTURE)) == "too-many-pixels"
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 20)
    read(png_bytes(PICTURE))


def test_folder_missing_file_broken_link_and_pipe(tmp_path):
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "link.png").symlink_to(tmp_path / "gone.png")
    os.mkfifo(tmp_path / "pipe.png")
    found = {}
    for name in ("folder.png", "gone.png", "link.png", "pipe.png"):
        with pytest.raises(InputError) as caught:
            read_png(tmp_path / name, RULES, role="output")
        (problem,) = caught.value.problems
        assert problem.rule == "not-a-file"
        found[name] = problem.found
    assert "folder" in found["folder.png"]
    assert "does not exist" in found["gone.png"]
    assert "link to a file that is not there" in found["link.png"]
    assert "no regular file" in found["pipe.png"]


def test_link_to_a_picture_is_read(tmp_path):
    (tmp_path / "a.png").write_bytes(png_bytes(PICTURE))
    (tmp_path / "b.png").symlink_to("a.png")
    assert np.array_equal(read_png(tmp_path / "b.png", RULES, role="output")[0], PICTURE)


def test_no_right_to_read(tmp_path, monkeypatch):
    path = tmp_path / "x.png"
    path.write_bytes(png_bytes(PICTURE))

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(InputError, match="Permission denied") as caught:
        read_png(path, RULES, role="output")
    assert caught.value.problems[0].rule == "not-readable"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS pointer"),
        (b"<!DOCTYPE html><html></html>", "HTML"),
        (b"\x00\x00\x00\x1cftypavif", "AVIF"),
        (b"plain words", "no PNG"),
    ],
)
def test_other_content_is_named(read, data, words):
    with pytest.raises(InputError) as caught:
        read(data)
    (problem,) = caught.value.problems
    assert problem.rule == "png-signature"
    assert words in problem.found


def test_unreadable_exif_is_refused(read):
    assert rule_of(read, with_chunks(chunk(b"eXIf", b"nothing of the kind"))) == "exif-readable"


def test_cut_exif_becomes_a_note_and_no_warning(read):
    # The directory says two entries and holds one: Pillow warns, and its warning must not leak.
    cut = TURN_RIGHT[:8] + b"\x02\x00" + TURN_RIGHT[10:22]
    _, record = read(with_chunks(chunk(b"eXIf", cut)))
    assert "exif-warning" in [note.rule for note in record.notes]


def test_meaningless_orientation_is_noted(read):
    nine = TURN_RIGHT.replace(b"\x06\x00\x00\x00\x00", b"\x09\x00\x00\x00\x00")
    pixels, record = read(with_chunks(chunk(b"eXIf", nine)))
    assert np.array_equal(pixels, PICTURE)
    assert [note.rule for note in record.notes] == ["exif-ignored"]


def test_profile_and_orientation_together(read):
    converted, _ = read(with_chunks(iccp(P3)))
    both, record = read(with_chunks(iccp(P3), tail=chunk(b"eXIf", TURN_RIGHT)))
    assert np.array_equal(both, np.rot90(converted, -1))
    assert [note.rule for note in record.notes] == ["icc-converted", "exif-applied"]
    assert not np.array_equal(converted, PICTURE)


def test_profile_for_other_pixels_is_refused(read):
    lab = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()
    assert rule_of(read, with_chunks(iccp(lab))) == "icc-readable"
    assert rule_of(read, with_chunks(iccp(b""))) == "icc-readable"
    assert rule_of(read, with_chunks(iccp(P3[:200]))) == "icc-readable"


def test_a_protocol_may_refuse_profiles_and_ignore_orientation(read):
    refusing = RULES | {"icc": RULES["icc"] | {"output": "refuse"}}
    assert rule_of(read, with_chunks(iccp(P3)), rules=refusing) == "icc-output-srgb"
    ignoring = RULES | {"exif_orientation": "ignore"}
    assert np.array_equal(read(with_chunks(chunk(b"eXIf", TURN_RIGHT)), rules=ignoring)[0], PICTURE)


@pytest.mark.parametrize("extra", [chunk(b"gAMA", struct.pack(">I", 100000)), chunk(b"cICP", b"\x0c\x0d\x00\x01")])
def test_a_chunk_that_is_not_to_be_ignored_is_a_refusal(read, extra):
    assert rule_of(read, with_chunks(extra), rules=RULES | {"ignored_chunks": ["cHRM"]}) == "png-colour-chunk"


@pytest.mark.parametrize(
    "change",
    [
        {"bit_depth": 16},
        {"colour_type": "grey"},
        {"format": "jpeg"},
        {"exif_orientation": "sometimes"},
        {"icc": None},
        {"icc": RULES["icc"] | {"output": "guess"}},
        {"icc": RULES["icc"] | {"intent": "best"}},
        {"icc": RULES["icc"] | {"srgb_probe_levels": 1}},
        {"icc": RULES["icc"] | {"srgb_probe_tolerance": "1"}},
        {"ignored_chunks": ["iCCP"]},
    ],
)
def test_wrong_rules_are_told(read, change):
    with pytest.raises(ProtocolError, match="decoding"):
        read(png_bytes(PICTURE), rules=RULES | change)


@pytest.mark.parametrize("key", sorted(RULES))
def test_missing_rules_are_told(read, key):
    with pytest.raises(ProtocolError, match=f"decoding.{key} is missing"):
        read(png_bytes(PICTURE), rules={name: value for name, value in RULES.items() if name != key})


def test_reading_in_threads(tmp_path):
    path = tmp_path / "x.png"
    path.write_bytes(with_chunks(iccp(P3), tail=chunk(b"eXIf", TURN_RIGHT)))
    first, _ = read_png(path, RULES, role="output")
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: read_png(path, RULES, role="output")[0], range(64)))
    assert all(np.array_equal(first, result) for result in results)


def test_pillow_saved_file_reads_as_pillow_reads_it(read):
    picture = np.random.default_rng(3).integers(0, 256, (37, 53, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG", optimize=True)
    assert np.array_equal(read(buffer.getvalue())[0], picture)
