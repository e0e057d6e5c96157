"""Files of every mode and arrays of every type: what is read, what is refused, what is noted."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import threading
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps

from pixelgate.errors import InputError
from pixelgate.io.any_image import ArrayError, as_rgb8, read_any
from pixelgate.io.files import pixel_digest
from pixelgate.io.write import SIGNATURE, png_chunk

HINTAUC = Path(__file__).parents[1] / "conformance" / "hintauc"
DECODE = HINTAUC / "decode"
NASTY = HINTAUC.parent / "nasty"
ROWS: dict[str, Any] = json.loads((DECODE / "decode.json").read_text())

REFUSED = {
    "float32.tif": "image-8-bit",
    "gray16.png": "image-8-bit",
    "int32.tif": "image-8-bit",
    "notimage.png": "image-format",
    "rgb16.png": "image-8-bit",
    "truncated.png": "png-intact",
}
# Where we differ from hintauc 0.3.3's metric side on purpose, and what it does there.
ON_PURPOSE = {
    "rgb16.png": "cut to 8 bits without a word, though other 16-bit files are refused",
    "exif_orient6.jpg": "read as stored, though its hint side turns the same file upright",
}


def rule_of(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_any(path)
    assert str(path) in str(caught.value)
    assert all(problem.mend for problem in caught.value.problems)
    return ",".join(problem.rule for problem in caught.value.problems)


def digest(pixels: np.ndarray) -> str:
    return hashlib.sha256(pixels.tobytes()).hexdigest()


def rules(record: Any) -> list[str]:
    return [note.rule for note in record.notes]


@pytest.mark.parametrize("name", sorted(set(ROWS) - set(REFUSED) - set(ON_PURPOSE)))
def test_read_as_the_reference_reads(name):
    pixels, record = read_any(DECODE / name, label="s-1")
    assert digest(pixels) == ROWS[name]["evaluator"]["rgb_sha256"]
    assert list(pixels.shape) == ROWS[name]["evaluator"]["shape"]
    assert pixels.dtype == np.uint8
    assert pixels.flags.c_contiguous
    assert not pixels.flags.writeable
    assert (record.height, record.width) == pixels.shape[:2]
    assert record.sha256 == hashlib.sha256((DECODE / name).read_bytes()).hexdigest()
    assert record.pixels_sha256 == pixel_digest(pixels)
    assert ("mode-converted" in rules(record)) == (ROWS[name]["pil_mode"] != "RGB")
    assert all(note.subject == "s-1" for note in record.notes)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused(name):
    assert rule_of(DECODE / name) == REFUSED[name]
    assert name in ON_PURPOSE or "error" in ROWS[name]["evaluator"]


def test_sixteen_bit_rgb_is_refused_where_the_reference_cuts_it():
    assert ROWS["rgb16.png"]["evaluator"]["rgb_sha256"]
    assert "error" not in ROWS["rgb16.png"]["evaluator"]
    assert rule_of(DECODE / "rgb16.png") == "image-8-bit"


def test_orientation_is_applied_as_the_reference_does_for_its_hints_only():
    row = ROWS["exif_orient6.jpg"]
    pixels, record = read_any(DECODE / "exif_orient6.jpg")
    assert digest(pixels) == row["hint_loader"]["rgb_sha256"] != row["evaluator"]["rgb_sha256"]
    assert list(pixels.shape) == row["hint_loader"]["shape"]
    assert rules(record) == ["exif-applied"]


def test_every_row_is_held():
    read = set(ROWS) - set(REFUSED) - set(ON_PURPOSE)
    assert read | set(REFUSED) | set(ON_PURPOSE) == set(ROWS) == {p.name for p in DECODE.iterdir()} - {"decode.json"}
    assert len(read) == 14


def test_transparency_is_dropped_and_counted():
    pixels, record = read_any(DECODE / "rgba_halftransparent.png")
    with Image.open(DECODE / "rgba_halftransparent.png") as image:
        alpha = np.array(image)[..., 3]
    assert (alpha < 255).any()
    assert next(n.message for n in record.notes if n.rule == "alpha-dropped").startswith(
        f"{(alpha < 255).sum()} of its"
    )
    assert digest(pixels) == ROWS["rgb.png"]["evaluator"]["rgb_sha256"]


def test_an_opaque_alpha_channel_is_converted_without_that_note(tmp_path):
    Image.new("RGBA", (4, 3), (9, 8, 7, 255)).save(tmp_path / "a.png")
    assert rules(read_any(tmp_path / "a.png")[1]) == ["mode-converted"]


def test_transparent_palette_and_transparent_colour_are_noted(tmp_path):
    assert "alpha-dropped" in rules(read_any(DECODE / "palette_transparent.png")[1])
    picture = Image.new("RGB", (4, 3), (9, 8, 7))
    picture.putpixel((0, 0), (1, 2, 3))
    picture.save(tmp_path / "key.png", transparency=(1, 2, 3))
    pixels, record = read_any(tmp_path / "key.png")
    assert rules(record) == ["alpha-dropped"]
    assert "1 of its 12" in record.notes[0].message
    assert pixels[0, 0].tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", ["png", "gif", "tif", "webp"])
def test_of_several_frames_the_first_is_read(tmp_path, kind):
    first, second = Image.new("RGB", (6, 4), (200, 0, 0)), Image.new("RGB", (6, 4), (0, 0, 200))
    options = {"lossless": True} if kind == "webp" else {}
    first.save(tmp_path / f"a.{kind}", save_all=True, append_images=[second], **options)
    pixels, record = read_any(tmp_path / f"a.{kind}")
    assert "first-frame" in rules(record)
    assert (pixels == (200, 0, 0)).all()


def test_one_file_read_twice_after_another_compression(tmp_path):
    picture = Image.open(DECODE / "rgb.png")
    picture.save(tmp_path / "a.png", compress_level=0)
    again, first = read_any(tmp_path / "a.png")[1], read_any(DECODE / "rgb.png")[1]
    assert again.sha256 != first.sha256
    assert again.pixels_sha256 == first.pixels_sha256


@pytest.mark.parametrize("kind", ["jpg", "tif", "png", "webp"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_orientation_in_every_format_that_holds_one(tmp_path, kind, orientation):
    stored = Image.fromarray(np.arange(10 * 6 * 3, dtype=np.uint8).reshape(6, 10, 3))
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"webp": {"lossless": True}, "jpg": {"quality": 100, "subsampling": 0}}.get(kind, {})
    stored.save(tmp_path / f"a.{kind}", exif=exif, **options)
    pixels, record = read_any(tmp_path / f"a.{kind}")
    # Pillow itself turns a TIFF while it decodes.
    with Image.open(tmp_path / f"a.{kind}") as image:
        plain = np.array(stored) if kind != "jpg" else np.array(image)
    wanted_exif = Image.fromarray(plain)
    wanted_exif.info["exif"] = exif.tobytes()
    assert np.array_equal(pixels, np.array(ImageOps.exif_transpose(wanted_exif)))
    assert rules(record) == ["exif-applied"] * (orientation != 1)
    assert record.width, record.height == pixels.shape[1::-1]


@pytest.mark.parametrize("bits", [(16, 16, 16), (16, 16, 16, 16)])
def test_sixteen_bit_colour_tiff_is_refused(tmp_path, bits):
    path = tmp_path / "deep.tif"
    path.write_bytes(colour_tiff(bits))
    with Image.open(path) as image:
        assert image.mode in ("RGB", "RGBA")
    assert rule_of(path) == "image-8-bit"


def colour_tiff(bits: tuple[int, ...], width: int = 3, height: int = 2) -> bytes:
    """A minimal little-endian TIFF with that many bits for each value."""
    data = bytes(width * height * sum(bits) // 8)
    tail = struct.pack(f"<{len(bits)}H", *bits)
    entries = [(256, 3, 1, width), (257, 3, 1, height), (258, 3, len(bits), 0), (259, 3, 1, 1), (262, 3, 1, 2)]
    entries += [(273, 4, 1, 0), (277, 3, 1, len(bits)), (278, 3, 1, height), (279, 4, 1, len(data))]
    if len(bits) == 4:
        entries.append((338, 3, 1, 2))
    start = 8 + 2 + 12 * len(entries) + 4
    places = {258: start, 273: start + len(tail)}
    body = struct.pack("<H", len(entries))
    for tag, kind, count, value in entries:
        body += struct.pack("<HHII", tag, kind, count, places.get(tag, value))
    return b"II*\0" + struct.pack("<I", 8) + body + struct.pack("<I", 0) + tail + data


def test_that_tiff_with_8_bits_is_read(tmp_path):
    (tmp_path / "a.tif").write_bytes(colour_tiff((8, 8, 8)))
    assert read_any(tmp_path / "a.tif")[0].shape == (2, 3, 3)


@pytest.mark.parametrize("magic", ["P5", "P6"])
def test_deep_pnm_is_refused(tmp_path, magic):
    (tmp_path / "deep.ppm").write_bytes(f"{magic} 2 2 1023\n".encode() + bytes(24))
    assert rule_of(tmp_path / "deep.ppm") == "image-8-bit"
    (tmp_path / "plain.ppm").write_bytes(f"{magic} 2 2 255\n".encode() + bytes(12))
    assert read_any(tmp_path / "plain.ppm")[0].shape == (2, 2, 3)


def test_a_format_that_runs_programs_is_not_opened(tmp_path):
    (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 2 2\n%%EndComments\n")
    assert rule_of(tmp_path / "a.png") == "image-format"


def test_things_that_are_no_file(tmp_path):
    assert rule_of(tmp_path / "absent.png") == rule_of(tmp_path) == "not-a-file"
    (tmp_path / "empty.png").touch()
    assert rule_of(tmp_path / "empty.png") == "empty-file"
    (tmp_path / "lfs.png").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n")
    with pytest.raises(InputError, match="git lfs pull"):
        read_any(tmp_path / "lfs.png")


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.9, 0.99])
@pytest.mark.parametrize("name", ["rgb.png", "rgb.jpg", "rgb.webp", "rgb.bmp", "ycbcr.tif", "rgb.gif"])
def test_a_cut_file_is_never_a_picture(tmp_path, name, cut):
    data = (DECODE / name).read_bytes()
    (tmp_path / name).write_bytes(data[: int(len(data) * cut)])
    assert rule_of(tmp_path / name) in {"png-intact", "image-intact", "image-format"}


def short_png(mode: str, rows: int) -> bytes:
    """A whole 8 x 8 PNG file whose stream of pixels ends early: after some rows, or before the last Adam7 pass."""
    colour, values = {"RGB": (2, 3), "L": (0, 1)}[mode]
    interlaced = rows == 0
    widths = [1, 1, *[2] * 3, *[4] * 6] if interlaced else [8] * rows
    header = struct.pack(">IIBBBBB", 8, 8, 8, colour, 0, 0, interlaced)
    body = zlib.compress(b"".join(b"\0" + b"\x80" * (width * values) for width in widths))
    chunks = [png_chunk(b"IHDR", header), png_chunk(b"IDAT", body), png_chunk(b"IEND", b"")]
    return SIGNATURE + b"".join(chunks)


@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("rows", [7, 4, 0])
def test_missing_rows_are_not_black_rows(tmp_path, mode, rows):
    (tmp_path / "short.png").write_bytes(short_png(mode, rows))
    if rows:
        with Image.open(tmp_path / "short.png") as image:
            image.load()  # Pillow has nothing to say
    assert rule_of(tmp_path / "short.png") in {"png-intact", "image-intact"}


def test_a_black_last_row_is_fine(tmp_path):
    Image.new("RGB", (5, 5)).save(tmp_path / "black.png")
    assert not read_any(tmp_path / "black.png")[0].any()


def test_too_many_pixels(tmp_path, monkeypatch):
    Image.new("L", (40, 30)).save(tmp_path / "a.png")
    for limit in (1199, 400):  # Pillow itself only warns at first, and refuses beyond twice the limit
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        assert rule_of(tmp_path / "a.png") == "too-many-pixels"
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1200)
    assert read_any(tmp_path / "a.png")[0].shape == (30, 40, 3)


def test_profile_is_noted_and_not_applied(tmp_path):
    pixels, record = read_any(NASTY / "icc_p3.png")
    with Image.open(NASTY / "icc_p3.png") as image:
        assert np.array_equal(pixels, np.array(image))
    assert rules(record) == ["icc-ignored"]


def test_exif_that_cannot_be_read(tmp_path):
    data = (DECODE / "rgb.png").read_bytes()
    bad = data[:33] + png_chunk(b"eXIf", b"nothing of the kind") + data[33:]
    (tmp_path / "a.png").write_bytes(bad)
    assert rule_of(tmp_path / "a.png") == "exif-readable"


def test_many_threads_see_no_warning_and_the_same_pixels():
    """The filters of warnings belong to the process; a thread must not lose another's."""
    before = list(warnings.filters)
    wanted = digest(read_any(DECODE / "exif_orient6.jpg")[0])
    got: list[str] = []

    def work() -> None:
        for _ in range(20):
            got.append(digest(read_any(DECODE / "exif_orient6.jpg")[0]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [wanted] * 80
    assert warnings.filters == before


def test_read_from_anywhere_pillow_can(tmp_path):
    """JPEG variants that Pillow gives other modes."""
    Image.new("CMYK", (9, 7), (10, 20, 30, 40)).save(tmp_path / "cmyk.tif")
    Image.new("L", (9, 7), 77).save(tmp_path / "grey.jpg", quality=100)
    Image.new("I", (9, 7), 77).save(tmp_path / "deep.tif")
    with Image.open(tmp_path / "cmyk.tif") as image:
        assert np.array_equal(read_any(tmp_path / "cmyk.tif")[0], np.array(image.convert("RGB")))
    assert (read_any(tmp_path / "grey.jpg")[0] == 77).all()
    assert rule_of(tmp_path / "deep.tif") == "image-8-bit"


# Arrays.

GREY = np.array([[0, 128], [200, 255]], dtype=np.uint8)


def test_array_shapes():
    assert np.array_equal(as_rgb8(GREY), np.stack([GREY] * 3, axis=-1))
    assert np.array_equal(as_rgb8(GREY[..., None]), np.stack([GREY] * 3, axis=-1))
    four = np.arange(16, dtype=np.uint8).reshape(2, 2, 4)
    assert np.array_equal(as_rgb8(four), four[..., :3])
    assert as_rgb8(four).flags.c_contiguous
    three = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    assert as_rgb8(three) is three
    assert as_rgb8(np.asfortranarray(three)).flags.c_contiguous


def test_array_types():
    assert np.array_equal(as_rgb8(GREY > 150)[..., 0], [[0, 0], [255, 255]])
    for kind in (np.int8, np.int16, np.uint16, np.int32, np.int64, np.uint64):
        assert np.array_equal(as_rgb8((GREY // 3).astype(kind))[..., 2], GREY // 3)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_floats_are_rounded_half_to_even(kind):
    values = np.array([[0.0, 0.5 / 255, 1.5 / 255, 2.5 / 255, 1.0]], dtype=np.float64).astype(kind)
    # Only those that are halves in this type can show the rule.
    wanted = np.rint(values * kind(255))
    assert np.array_equal(as_rgb8(values)[..., 0], wanted)
    if kind is np.float64:
        assert as_rgb8(values)[0, :, 0].tolist() == [0, 0, 2, 2, 255]


def test_every_8_bit_level_survives_the_way_through_floats():
    levels = np.arange(256, dtype=np.uint8).reshape(16, 16)
    for kind in (np.float16, np.float32, np.float64):
        assert np.array_equal(as_rgb8(levels.astype(kind) / kind(255))[..., 1], levels), kind


@pytest.mark.parametrize(
    ("array", "rule"),
    [
        ([[1, 2], [3, 4]], "array-type"),
        (np.zeros(5, dtype=np.uint8), "array-shape"),
        (np.zeros((2, 2, 2), dtype=np.uint8), "array-shape"),
        (np.zeros((1, 3, 4, 4), dtype=np.uint8), "array-shape"),
        (np.zeros((0, 0), dtype=np.uint8), "array-empty"),
        (np.zeros((0, 4, 3), dtype=np.uint8), "array-empty"),
        (np.full((2, 2), 256), "array-range"),
        (np.full((2, 2), -1), "array-range"),
        (np.full((2, 2), 1.001), "array-range"),
        (np.full((2, 2), -0.001), "array-range"),
        (np.full((2, 2), 200.0), "array-range"),
        (np.full((2, 2), np.nan), "array-finite"),
        (np.array([[0.0, np.inf]]), "array-finite"),
        (np.zeros((2, 2), dtype=complex), "array-type"),
        (np.zeros((2, 2), dtype="U1"), "array-type"),
    ],
)
def test_arrays_that_are_refused(array, rule):
    with pytest.raises(ArrayError) as caught:
        as_rgb8(array, "prediction")
    assert caught.value.problems[0].rule == rule
    assert "the prediction" in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_reading_a_buffer_is_reading_the_file(tmp_path):
    """What is read equals Pillow's own conversion for a picture of noise."""
    noise = np.random.default_rng(3).integers(0, 256, (33, 47, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(noise).save(stream, "PNG")
    (tmp_path / "noise.png").write_bytes(stream.getvalue())
    pixels, record = read_any(tmp_path / "noise.png")
    assert np.array_equal(pixels, noise)
    assert record.notes == ()
