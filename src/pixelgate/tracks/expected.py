"""Holding pictures that were made on this machine to the pixels that their builder makes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pixelgate.errors import Problem
from pixelgate.io.files import pixel_digest


def check_pictures(root: Path, expected: Mapping[str, str]) -> list[Problem]:
    """Read pictures and compare their pixels with the expected ones.

    Args:
        root: the folder in which they lie.
        expected: relative name -> digest of the pixels, as `pixelgate.io.files.pixel_digest` defines it.

    Returns:
        A problem for each picture that has other pixels or cannot be read; a missing one is passed over.
    """
    problems = []
    for name, digest in expected.items():
        path = root / name
        fault = _fault(path, digest) if path.is_file() else ""
        if fault:
            mend = f"Remove the folder {root}; it is built anew on the next run."
            problems.append(Problem(str(path), "changed-data", fault, mend))
    return problems


def _fault(path: Path, digest: str) -> str:
    from PIL import Image

    try:
        with Image.open(path) as image:
            # Anything but 8-bit RGB was not written by the builder, whatever it would look like converted.
            pixels = np.asarray(image) if image.mode == "RGB" else None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:  # as Pillow finds damage
        return f"cannot be read as a picture ({error})."
    if pixels is None or pixel_digest(pixels) != digest:
        return "its pixels are not those that the track is built with."
    return ""
