"""Reading an 8-bit picture of any mode into RGB, as the Hint-AUC protocol scores it, with a record of what was done.

Predictions and ground truth go through the same door, so both are turned upright and both lose their alpha channel
in the same way. Files with more than 8 bits a value are refused: Pillow opens several of them as if they had 8.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, UnidentifiedImageError

from pixelgate.errors import InputError, Problem
from pixelgate.io.chunks import PngLayout, plain_stream, scan
from pixelgate.io.files import pixel_digest, read_regular_file, sha256_bytes
from pixelgate.io.orientation import WARNINGS_LOCK, unreadable_exif, upright
from pixelgate.io.write import SIGNATURE
from pixelgate.records import ImageRecord, Note

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")
"""Pillow's names of the formats that are read; those that hold only more than 8 bits, or run programs, are not."""

_SAVE = "Save it as an 8-bit PNG"
_GIVE_A_PICTURE = "Give the path of a picture file: PNG, JPEG, WebP, GIF, BMP, TIFF or PPM."
_WRITE_AGAIN = "Write the file again from the picture, or copy it again from its source."
_BITS_PER_SAMPLE = 258
_MODES = {
    "1": "1-bit",
    "L": "grey",
    "LA": "grey with alpha",
    "La": "grey with alpha",
    "P": "palette",
    "PA": "palette with alpha",
    "RGBA": "RGB with alpha",
    "RGBa": "RGB with alpha",
}


class ArrayError(InputError, ValueError):
    """An array is not a picture that can be read as 8-bit RGB."""


def read_any(path: Path | str, *, label: str | None = None) -> tuple[NDArray[np.uint8], ImageRecord]:
    """Read a picture file of any mode as 8-bit RGB.

    Palette, grey, 1-bit, alpha, CMYK, YCbCr and Lab pictures are converted by Pillow. Alpha is dropped and not
    composited: the colours under transparent pixels count. ICC profiles are not applied. The orientation in EXIF
    or XMP data is applied. Of several frames the first is read. Each of these leaves a note.

    Args:
        path: the file.
        label: the subject of the record's notes, e.g. the sample's id; the path where it is None.

    Returns:
        The picture (uint8, height x width x 3, RGB, write-protected) and its record.

    Raises:
        InputError: ``not-a-file``, ``not-readable``, ``empty-file``, ``image-format`` (no picture, or a format that
            is not read), ``image-8-bit`` (16-bit, 32-bit or float, 16-bit RGB included), ``image-intact`` or
            ``png-intact`` (damaged), ``too-many-pixels``, ``exif-readable``.

    Source: the decoding rules of the Hint-AUC protocol (hintauc 0.3.3, metric side), except that 16-bit RGB is
    refused too, and that the orientation is applied, which hintauc does for its hints and not for its scores.
    """
    file = str(path)
    subject = label if label is not None else file
    data = read_regular_file(Path(path), _GIVE_A_PICTURE)
    layout = scan(data, file) if data.startswith(SIGNATURE) else None
    image, stored, warned = _open(data, file)
    with image:
        _refuse_deep(image, layout, file)
        _refuse_large(image, file)
        _load(image, file)
        if layout is not None:
            _check_rows(image, layout, file)
        notes = [Note(subject, "decoder-warning", message) for message in warned] + _notes(image, subject)
        rgb = _to_rgb(image, file)
        turned, orientation_notes = upright(rgb, file, subject, stored)
    pixels = np.frombuffer(turned.tobytes(), dtype=np.uint8).reshape(turned.height, turned.width, 3)
    record = ImageRecord(
        file=file,
        sha256=sha256_bytes(data),
        pixels_sha256=pixel_digest(pixels),
        width=turned.width,
        height=turned.height,
        notes=(*notes, *orientation_notes),
    )
    return pixels, record


def as_rgb8(array: object, name: str = "picture") -> NDArray[np.uint8]:
    """An array as an 8-bit RGB picture.

    Args:
        array: height x width, or height x width x 1, 3 or 4; channels in RGB order, the fourth is dropped and one is
            repeated. uint8 is taken as it is, bool as 0 and 255; floats must lie in 0 to 1 and become 255 x, rounded
            half to even; other integers must lie in 0 to 255.
        name: what it is, for the error.

    Returns:
        uint8, height x width x 3, contiguous; the array itself where it is that already.

    Raises:
        ArrayError: another shape, type or range, NaN or infinity, or no pixels (an `InputError` and a `ValueError`).

    Source: the array rules of the Hint-AUC protocol (hintauc 0.3.3), which let arrays without pixels pass.
    """
    if not isinstance(array, np.ndarray):
        raise _array_error(name, "array-type", f"is a {type(array).__name__}", "Give a numpy array.")
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (1, 3, 4)):
        mend = "Give height x width, or height x width x 1, 3 or 4."
        raise _array_error(name, "array-shape", f"has shape {array.shape}", mend)
    if array.size == 0:
        raise _array_error(name, "array-empty", f"holds no pixels (shape {array.shape})", "Give a picture.")
    values = _as_uint8(array, name)
    if values.ndim == 2:
        values = values[..., np.newaxis]
    if values.shape[2] != 3:
        values = np.repeat(values, 3, axis=2) if values.shape[2] == 1 else values[..., :3]
    return np.ascontiguousarray(values)


def _as_uint8(array: NDArray[Any], name: str) -> NDArray[np.uint8]:
    if array.dtype == np.uint8:
        return array
    if array.dtype == np.bool_:
        return array.astype(np.uint8) * np.uint8(255)
    if np.issubdtype(array.dtype, np.floating):
        if not np.isfinite(array).all():
            raise _array_error(name, "array-finite", "holds NaN or infinity", "Give finite values from 0 to 1.")
        _check_range(array, 1, name)
        return np.rint(array * 255.0).astype(np.uint8)
    if np.issubdtype(array.dtype, np.integer):
        _check_range(array, 255, name)
        return array.astype(np.uint8)
    raise _array_error(name, "array-type", f"has dtype {array.dtype}", "Give uint8, or floats from 0 to 1.")


def _check_range(array: NDArray[Any], high: int, name: str) -> None:
    least, most = array.min(), array.max()
    if least < 0 or most > high:
        found = f"has {array.dtype} values from {least:g} to {most:g}"
        mend = f"Give {array.dtype} values from 0 to {high}, or uint8 from 0 to 255."
        raise _array_error(name, "array-range", found, mend)


def _array_error(name: str, rule: str, found: str, mend: str) -> ArrayError:
    return ArrayError(Problem("", rule, f"the {name} {found}.", mend))


def _open(data: bytes, file: str) -> tuple[Image.Image, object, list[str]]:
    """The opened file, the orientation that it stores where decoding would hide it, and Pillow's warnings."""
    if not data:
        raise InputError(Problem(file, "empty-file", "holds no bytes.", _WRITE_AGAIN))
    try:
        with WARNINGS_LOCK, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            image = Image.open(io.BytesIO(data), formats=FORMATS)
            stored = _stored_orientation(image, file)
    except InputError:
        raise
    except UnidentifiedImageError:
        raise InputError(_no_picture(data, file)) from None
    except Image.DecompressionBombError as error:
        raise InputError(Problem(file, "too-many-pixels", f"is too large ({error}).", "Scale it down.")) from None
    except Exception as error:  # Pillow documents no closed list of what a damaged file raises
        raise _damaged(file, error) from None
    # A picture above the limit is refused below, in our own words.
    kept = [warning for warning in caught if not issubclass(warning.category, Image.DecompressionBombWarning)]
    return image, stored, [" ".join(str(warning.message).split()) for warning in kept]


def _stored_orientation(image: Image.Image, file: str) -> object:
    if image.format != "TIFF":
        return None
    try:
        return image.getexif().get(ExifTags.Base.Orientation, 1)
    except Exception as error:
        raise unreadable_exif(file, error) from None


def _no_picture(data: bytes, file: str) -> Problem:
    if data.startswith(b"version https://git-lfs"):
        return Problem(file, "image-format", "is a Git LFS pointer, not the picture.", "Run git lfs pull.")
    found = f"is no picture in a format that is read here ({', '.join(FORMATS)})."
    return Problem(file, "image-format", found, f"{_SAVE}, or look whether it is a failed download.")


def _refuse_deep(image: Image.Image, layout: PngLayout | None, file: str) -> None:
    kind = _deep_kind(image, layout)
    if kind is not None:
        mend = f"{_SAVE}: scale the values to 0...255 and round them; this protocol scores 8-bit pictures only."
        raise InputError(Problem(file, "image-8-bit", f"is {kind}.", mend))


def _deep_kind(image: Image.Image, layout: PngLayout | None) -> str | None:
    """What the picture is where it has more than 8 bits a value; Pillow's mode alone does not tell for RGB."""
    if image.mode == "F":
        return "a floating-point picture"
    if layout is not None and layout.header.bit_depth > 8:
        return f"a {layout.header.kind}"
    if image.format == "TIFF":
        bits = image.tag_v2.get(_BITS_PER_SAMPLE, (1,))  # type: ignore[attr-defined]
        depth = max(bits) if isinstance(bits, tuple) else int(bits)
        if depth > 8:
            return f"a TIFF with {depth} bits a value"
    if image.format == "PPM":
        tile = image.tile[0][3]  # type: ignore[attr-defined]
        # (raw mode, largest value) where values do not end at 255; the raw mode alone where they do.
        if isinstance(tile, tuple) and isinstance(tile[-1], int) and tile[-1] > 255:
            return f"a PPM picture with values up to {tile[-1]}"
    return f"a picture of mode {image.mode}, with more than 8 bits a value" if image.mode.startswith("I") else None


def _refuse_large(image: Image.Image, file: str) -> None:
    limit = Image.MAX_IMAGE_PIXELS
    if limit is not None and image.width * image.height > limit:
        found = f"is {image.width} x {image.height} pixels large, more than the limit of {limit} pixels."
        mend = "Scale it down, or raise PIL.Image.MAX_IMAGE_PIXELS if it is meant to be that large."
        raise InputError(Problem(file, "too-many-pixels", found, mend))


def _load(image: Image.Image, file: str) -> None:
    try:
        image.load()
    except Exception as error:
        raise _damaged(file, error) from None


def _damaged(file: str, error: Exception) -> InputError:
    found = f"cannot be decoded ({type(error).__name__}: {error})."
    return InputError(Problem(file, "image-intact", found, _WRITE_AGAIN))


def _check_rows(image: Image.Image, layout: PngLayout, file: str) -> None:
    """Pillow takes a stream of pixels that ends early for a whole one and leaves the missing rows at zero."""
    last = image.crop((0, image.height - 1, image.width, image.height)).tobytes()
    if layout.header.interlaced or not any(last):
        plain_stream(layout, file)


def _notes(image: Image.Image, subject: str) -> list[Note]:
    notes = []
    if image.mode != "RGB":
        kind = _MODES.get(image.mode, image.mode)
        notes.append(Note(subject, "mode-converted", f"was a {kind} picture (mode {image.mode}), converted to RGB."))
    hidden = _transparent_pixels(image)
    if hidden:
        message = (
            f"{hidden} of its {image.width * image.height} pixels are not opaque; their alpha was dropped, so the "
            "colours under it count."
        )
        notes.append(Note(subject, "alpha-dropped", message))
    frames = getattr(image, "n_frames", 1)
    if frames > 1:
        notes.append(Note(subject, "first-frame", f"holds {frames} frames; the first was read."))
    if image.info.get("icc_profile"):
        notes.append(Note(subject, "icc-ignored", "its ICC profile was not applied; the pixels were read as sRGB."))
    return notes


def _transparent_pixels(image: Image.Image) -> int:
    alpha = {"LA": "A", "La": "a", "PA": "A", "RGBA": "A", "RGBa": "a"}.get(image.mode)
    if alpha is not None:
        band = image.getchannel(alpha)
    elif "transparency" in image.info:
        band = image.convert("RGBA").getchannel("A")
    else:
        return 0
    return image.width * image.height - band.histogram()[255]


def _to_rgb(image: Image.Image, file: str) -> Image.Image:
    try:
        rgb = image if image.mode == "RGB" else image.convert("RGB")
    except Exception as error:
        found = f"is of mode {image.mode}, which Pillow does not convert to RGB ({error})."
        raise InputError(Problem(file, "image-format", found, f"{_SAVE}.")) from None
    return rgb
