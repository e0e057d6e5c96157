"""Turning a picture upright as its EXIF or XMP data say, the one place that does it."""

from __future__ import annotations

import re
import threading
import warnings

from PIL import ExifTags, Image, ImageOps

from pixelgate.errors import InputError, Problem
from pixelgate.records import Note

EXIF_KEYS = ("exif", "Raw profile type exif", "xmp", "XML:com.adobe.xmp")
"""Where Pillow keeps what may hold an orientation, in `Image.info`."""

WARNINGS_LOCK = threading.Lock()
"""Python's warning filters are global to the process: one thread at a time may change them."""


def upright(image: Image.Image, file: str, subject: str, stored: object = None) -> tuple[Image.Image, tuple[Note, ...]]:
    """The picture with its orientation applied.

    Args:
        image: a decoded picture.
        file: its name, for the error.
        subject: what the notes are about.
        stored: the orientation that the file gave before its pixels were decoded, where that is known: Pillow
            applies a TIFF's own while it decodes and forgets it.

    Returns:
        The picture, and notes ``exif-applied``, ``exif-ignored`` or ``exif-warning`` where there is something
        to say.

    Raises:
        InputError: rule ``exif-readable``.
    """
    try:
        with WARNINGS_LOCK, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            value = image.getexif().get(ExifTags.Base.Orientation, 1) if stored is None else stored
            turned = ImageOps.exif_transpose(image)
    except Exception as error:  # Pillow documents no closed list of what damaged EXIF raises
        raise unreadable_exif(file, error) from None
    notes = [Note(subject, "exif-warning", _one_line(str(warning.message))) for warning in caught]
    if value in range(2, 9):
        size = f"{turned.width} x {turned.height}"
        notes.append(Note(subject, "exif-applied", f"its orientation {value} was applied; it is {size} pixels large."))
    elif value != 1:
        notes.append(Note(subject, "exif-ignored", f"its orientation {value!r} means nothing and was not applied."))
    return turned, tuple(notes)


def unreadable_exif(file: str, error: Exception) -> InputError:
    """The error for EXIF data that cannot be read."""
    found = f"has EXIF data that cannot be read ({type(error).__name__}: {error}), so its orientation is unknown."
    return InputError(
        Problem(file, "exif-readable", found, "Write the file again without EXIF data, its pixels upright.")
    )


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
