"""Every file of the conformance set, by name: refused, converted with a note, or accepted."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image, ImageCms, ImageOps

import pixelgate.protocols
from pixelgate.errors import InputError
from pixelgate.io.png import read_png

NASTY = Path(__file__).parents[1] / "conformance" / "nasty"
PROTOCOL = Path(pixelgate.protocols.__file__).parent / "pstbench.yaml"

REFUSED = {
    "apng.png": "png-one-frame",
    "bilevel.png": "png-8-bit-rgb",
    "bitflip.png": "png-intact",
    "empty.png": "empty-file",
    "grey16.png": "png-8-bit-rgb",
    "grey8.png": "png-8-bit-rgb",
    "icc_broken_zlib.png": "icc-readable",
    "icc_garbage.png": "icc-readable",
    "jpeg_named.png": "png-signature",
    "palette.png": "png-8-bit-rgb",
    "rgb16.png": "png-8-bit-rgb",
    "rgb_trns.png": "png-no-transparency",
    "rgba.png": "png-8-bit-rgb",
    "truncated.png": "png-intact",
    "webp_named.png": "png-signature",
}
ORIENTED = {f"exif{k}.png": k for k in range(1, 9)} | {"exif6_after_idat.png": 6, "xmp6.png": 6}
UNTOUCHED = ("icc_srgb.png", "icc_srgb_other_bytes.png", "gama_linear.png", "cicp_p3.png")
# What each EXIF orientation asks for, after the EXIF 2.3 table of row 0 and column 0, in numpy's terms.
UPRIGHT = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.transpose(1, 0, 2),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: a[::-1, ::-1].transpose(1, 0, 2),
    8: lambda a: np.rot90(a, 1),
}


@pytest.fixture(scope="module")
def rules() -> dict[str, Any]:
    decoding: dict[str, Any] = yaml.safe_load(PROTOCOL.read_text(encoding="utf-8"))["decoding"]
    return decoding


def raw(name: str) -> np.ndarray:
    with Image.open(NASTY / name) as image:
        return np.array(image)


def test_the_lists_cover_the_set():
    listed = set(REFUSED) | set(ORIENTED) | set(UNTOUCHED) | {"icc_p3.png"}
    assert listed == {path.name for path in NASTY.glob("*.png")}


@pytest.mark.parametrize("role", ["output", "reference"])
@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused(name, role, rules):
    with pytest.raises(InputError) as caught:
        read_png(NASTY / name, rules, role=role)
    (problem,) = caught.value.problems
    assert problem.file == str(NASTY / name)
    assert problem.rule == REFUSED[name]
    assert problem.found.endswith(".")
    assert problem.mend.endswith(".")
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("name", "found", "mend"),
    [
        ("rgb16.png", "16-bit RGB PNG (bit depth 16, colour type 2)", "rint(rgb * 255)"),
        ("grey16.png", "16-bit grey PNG (bit depth 16, colour type 0)", "rint(rgb * 255)"),
        ("rgba.png", "8-bit RGB with alpha PNG (bit depth 8, colour type 6)", "composite"),
        ("palette.png", "palette PNG", "convert('RGB')"),
        ("bilevel.png", "1-bit grey PNG", "convert('RGB')"),
        ("apng.png", "2 frames", "one frame"),
        ("jpeg_named.png", "JPEG file", "8-bit RGB PNG"),
        ("webp_named.png", "WebP file", "8-bit RGB PNG"),
        ("truncated.png", "inside its IDAT chunk", "copy it again"),
        ("bitflip.png", "check sum", "copy it again"),
    ],
)
def test_the_message_says_what_and_how_to_mend(name, found, mend, rules):
    with pytest.raises(InputError) as caught:
        read_png(NASTY / name, rules, role="output")
    assert found in caught.value.problems[0].found
    assert mend in caught.value.problems[0].mend


@pytest.mark.parametrize("name", sorted(ORIENTED))
def test_orientation_is_applied(name, rules):
    pixels, record = read_png(NASTY / name, rules, role="output", label="s-1")
    orientation = ORIENTED[name]
    assert np.array_equal(pixels, UPRIGHT[orientation](raw(name)))
    with Image.open(NASTY / name) as image:
        assert np.array_equal(pixels, np.array(ImageOps.exif_transpose(image)))
    assert (record.width, record.height) == ((6, 10) if orientation >= 5 else (10, 6))
    assert [(note.subject, note.rule) for note in record.notes] == [("s-1", "exif-applied")] * (orientation != 1)


@pytest.mark.parametrize("name", UNTOUCHED)
def test_pixels_stay_as_they_are(name, rules):
    pixels, record = read_png(NASTY / name, rules, role="reference")
    assert np.array_equal(pixels, raw(name))
    expected = {"gama_linear.png": ["gama-ignored"], "cicp_p3.png": ["cicp-ignored"]}.get(name, [])
    assert [note.rule for note in record.notes] == expected
    assert all(note.subject == str(NASTY / name) for note in record.notes)


def test_gama_note_holds_the_value(rules):
    _, record = read_png(NASTY / "gama_linear.png", rules, role="output")
    assert "(1)" in record.notes[0].message


def linear(level: np.ndarray) -> np.ndarray:
    value = level / 255.0
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def test_display_p3_output_is_converted(rules):
    pixels, record = read_png(NASTY / "icc_p3.png", rules, role="output", label="s-1")
    source = raw("icc_p3.png")
    # Linear Display P3 to linear sRGB, both D65: CSS Color Module Level 4, sample code.
    matrix = np.array(
        [
            [1.2249401763, -0.2249401763, 0],
            [-0.0420569547, 1.0420569547, 0],
            [-0.0196375546, -0.0786360456, 1.0982736001],
        ]
    )
    light = np.clip(linear(source) @ matrix.T, 0, 1)
    encoded = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055) * 255
    assert np.abs(pixels - encoded).max() < 2.0
    assert np.abs(pixels.astype(int) - source).max() > 20
    with Image.open(NASTY / "icc_p3.png") as image:
        converted = ImageCms.profileToProfile(image, str(NASTY / "p3.icc"), ImageCms.createProfile("sRGB"))
    assert converted is not None
    assert np.array_equal(pixels, np.array(converted))
    (note,) = record.notes
    assert (note.subject, note.rule) == ("s-1", "icc-converted")


def test_display_p3_reference_is_refused(rules):
    with pytest.raises(InputError) as caught:
        read_png(NASTY / "icc_p3.png", rules, role="reference")
    assert caught.value.problems[0].rule == "icc-reference-srgb"


def test_the_other_srgb_profile_is_within_the_probe_tolerance_only(rules):
    strict = rules | {"icc": rules["icc"] | {"srgb_probe_tolerance": 0, "output": "refuse"}}
    read_png(NASTY / "icc_srgb.png", strict, role="output")
    with pytest.raises(InputError) as caught:
        read_png(NASTY / "icc_srgb_other_bytes.png", strict, role="output")
    assert caught.value.problems[0].rule == "icc-output-srgb"


def test_record_and_protection(rules):
    path = NASTY / "exif6.png"
    pixels, record = read_png(path, rules, role="output")
    assert record.file == str(path)
    assert record.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert record.pixels_sha256 == hashlib.sha256(b"10x6x3\n" + pixels.tobytes()).hexdigest()
    assert pixels.dtype == np.uint8
    assert not pixels.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        pixels.flags.writeable = True
