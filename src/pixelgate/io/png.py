"""Strict reading of 8-bit RGB PNG files: pixels, and a record of what was done to get them."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pixelgate.errors import InputError, Problem
from pixelgate.io import icc
from pixelgate.io.chunks import PngHeader, PngLayout, plain_stream, scan
from pixelgate.io.files import pixel_digest, read_regular_file, sha256_bytes
from pixelgate.io.orientation import EXIF_KEYS, upright
from pixelgate.io.rules import DecodingRules, decoding_rules
from pixelgate.records import ImageRecord, Note

_SRGB_GAMA = 45455
_SAVE_RGB8 = "Save it as 8-bit RGB"


def read_png(
    path: Path | str, rules: Mapping[str, Any], *, role: Literal["output", "reference"], label: str | None = None
) -> tuple[NDArray[np.uint8], ImageRecord]:
    """Read one picture under a protocol's decoding rules.

    The file is read once. Order: signature and chunk scan, refusals by header, full decoding, ICC
    profile, orientation (EXIF before or behind the pixels, or XMP, as Pillow reads them).

    Args:
        path: the PNG file.
        rules: a protocol's ``decoding`` section.
        role: ``output`` for what a model made, ``reference`` for a track's own pictures; it picks what
            happens to a profile that is not sRGB.
        label: the subject of the record's notes, e.g. the sample's id; the path where it is None.

    Returns:
        The picture (uint8, height x width x 3, sRGB, write-protected) and its record.

    Raises:
        InputError: one or several broken rules: ``not-a-file``, ``not-readable``, ``empty-file``,
            ``png-signature``, ``png-intact``, ``png-8-bit-rgb``, ``png-no-transparency``,
            ``png-one-frame``, ``png-colour-chunk``, ``too-many-pixels``, ``icc-readable``,
            ``icc-output-srgb``, ``icc-reference-srgb``, ``exif-readable``.
        ProtocolError: the rules themselves are wrong.
    """
    parsed = decoding_rules(rules, role)
    file = str(path)
    data = read_regular_file(Path(path), "Give the path of a PNG file.")
    layout = scan(data, file)
    problems = _layout_problems(layout, parsed, file)
    if problems:
        raise InputError(problems)
    subject = label if label is not None else file
    notes = _chunk_notes(layout, subject)
    image = _decode(layout, file)
    image, converted = _to_srgb(image, layout, parsed, role, file, subject)
    image, turned = _orient(image, parsed, file, subject)
    pixels = np.frombuffer(image.tobytes(), dtype=np.uint8).reshape(image.height, image.width, 3)
    record = ImageRecord(
        file=file,
        sha256=sha256_bytes(data),
        pixels_sha256=pixel_digest(pixels),
        width=image.width,
        height=image.height,
        notes=(*notes, *converted, *turned),
    )
    return pixels, record


def _layout_problems(layout: PngLayout, rules: DecodingRules, file: str) -> list[Problem]:
    problems = []
    header = layout.header
    if (header.bit_depth, header.colour_type) != (8, 2):
        problems.append(Problem(file, "png-8-bit-rgb", f"is a {header.kind}.", _mend_kind(header)))
    elif "tRNS" in layout.chunks:
        found = "is an RGB PNG with a transparent colour (tRNS chunk)."
        mend = f"{_SAVE_RGB8} without transparency: composite it on the background that is meant first."
        problems.append(Problem(file, "png-no-transparency", found, mend))
    if (animation := layout.first("acTL")) is not None:
        frames = struct.unpack(">I", animation[:4])[0] if len(animation) == 8 else "an unknown number of"
        found = f"is an animated PNG ({frames} frames, acTL chunk)."
        problems.append(Problem(file, "png-one-frame", found, f"{_SAVE_RGB8} PNG of the one frame that is meant."))
    for name in _colour_chunks(layout):
        if name not in rules.ignored_chunks:
            found = f"holds a {name} chunk, which this protocol neither applies nor ignores."
            problems.append(Problem(file, "png-colour-chunk", found, f"Save it as sRGB without the {name} chunk."))
    limit = Image.MAX_IMAGE_PIXELS
    if limit is not None and header.width * header.height > limit:
        found = f"is {header.width} x {header.height} pixels large, more than the limit of {limit} pixels."
        mend = "Scale it down, or raise PIL.Image.MAX_IMAGE_PIXELS if it is meant to be that large."
        problems.append(Problem(file, "too-many-pixels", found, mend))
    return problems


def _mend_kind(header: PngHeader) -> str:
    if header.bit_depth == 16:
        return (
            f"{_SAVE_RGB8}, rounded: PIL.Image.fromarray(numpy.rint(rgb * 255).astype('uint8')).save(path), "
            "with rgb in [0, 1]; Pillow's own convert('RGB') would clip or truncate."
        )
    if header.colour_type in (4, 6):
        return f"{_SAVE_RGB8} without alpha: composite it on the background that is meant, then convert('RGB')."
    return f"{_SAVE_RGB8}: PIL.Image.open(path).convert('RGB').save(path)."


def _colour_chunks(layout: PngLayout) -> list[str]:
    # cHRM and sRGB hold no second opinion on pixels that are read as sRGB, so they are never a refusal.
    found = []
    gama = layout.first("gAMA")
    if gama is not None and _gama_value(gama) != _SRGB_GAMA:
        found.append("gAMA")
    if "cICP" in layout.chunks:
        found.append("cICP")
    return found


def _gama_value(body: bytes) -> int:
    return int.from_bytes(body, "big") if len(body) == 4 else -1


def _chunk_notes(layout: PngLayout, subject: str) -> tuple[Note, ...]:
    notes = []
    for name in _colour_chunks(layout):
        body = layout.first(name) or b""
        value = f"{_gama_value(body) / 100000:g}" if name == "gAMA" else "-".join(map(str, body))
        message = f"its {name} chunk ({value}) was not applied; the pixels were read as sRGB."
        notes.append(Note(subject, f"{name.lower()}-ignored", message))
    return tuple(notes)


def _decode(layout: PngLayout, file: str) -> Image.Image:
    whole = plain_stream(layout, file)
    try:
        image = Image.open(io.BytesIO(whole), formats=("PNG",))
        image.load()
    except Exception as error:  # Pillow documents no closed list of what a damaged file raises
        found = f"cannot be decoded by Pillow ({type(error).__name__}: {error})."
        mend = "Write the file again from the picture, or copy it again from its source."
        raise InputError(Problem(file, "png-intact", found, mend)) from None
    if image.mode != "RGB":
        found = f"was decoded to mode {image.mode} instead of RGB."
        raise InputError(Problem(file, "png-8-bit-rgb", found, f"{_SAVE_RGB8}."))
    return image


def _to_srgb(
    image: Image.Image, layout: PngLayout, rules: DecodingRules, role: str, file: str, subject: str
) -> tuple[Image.Image, tuple[Note, ...]]:
    if "iCCP" not in layout.chunks:
        return image, ()
    profile = image.info.get("icc_profile")
    if not profile:
        raise InputError(_bad_profile(file, "cannot be decompressed"))
    verdict = icc.judge(profile, rules.icc)
    if verdict.problem is not None:
        raise InputError(_bad_profile(file, verdict.problem))
    if verdict.is_srgb:
        return image, ()
    name = verdict.description or "unnamed"
    if rules.icc.policy == "refuse":
        found = f"has the ICC profile {name!r}, which is not sRGB (it moves colours by up to {verdict.largest_change})."
        raise InputError(Problem(file, f"icc-{role}-srgb", found, "Convert the picture to sRGB and save it again."))
    turned = icc.to_srgb(image, profile, rules.icc.intent)
    # The orientation is read from these later; the conversion leaves them behind.
    turned.info.update({key: image.info[key] for key in EXIF_KEYS if key in image.info})
    message = f"was converted from its ICC profile {name!r} to sRGB."
    return turned, (Note(subject, "icc-converted", message),)


def _bad_profile(file: str, problem: str) -> Problem:
    mend = "Save the picture as sRGB, or with a whole RGB profile; without one it is read as sRGB."
    return Problem(file, "icc-readable", f"has an ICC profile that {problem}.", mend)


def _orient(image: Image.Image, rules: DecodingRules, file: str, subject: str) -> tuple[Image.Image, tuple[Note, ...]]:
    if not rules.apply_orientation or not any(key in image.info for key in EXIF_KEYS):
        return image, ()
    return upright(image, file, subject)
