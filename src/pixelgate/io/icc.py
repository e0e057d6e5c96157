"""Embedded ICC profiles: is it sRGB, and if not, the conversion.

Whether a profile is sRGB is decided by what it does, not by its bytes or its name: a grid of probe
colours is converted to sRGB with it. Conversion is Little CMS through Pillow.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image, ImageCms

from pixelgate.io.rules import IccRules


@dataclass(frozen=True)
class IccVerdict:
    """What a profile is.

    Attributes:
        description: the profile's own name, or empty.
        problem: why it cannot be used, or None.
        largest_change: largest change of a probe colour in 8-bit levels; 0 where there is a problem.
        is_srgb: whether pixels are left as they are.
    """

    description: str
    problem: str | None
    largest_change: int
    is_srgb: bool


@lru_cache(maxsize=64)
def judge(profile: bytes, rules: IccRules) -> IccVerdict:
    """Decide what to do with a profile.

    Args:
        profile: the profile's bytes.
        rules: number of probe levels, tolerance and intent.
    """
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    except (OSError, TypeError, ValueError) as error:
        return IccVerdict("", f"cannot be read ({error})", 0, False)
    description = _description(source)
    space = source.profile.xcolor_space.strip()
    if space != "RGB":
        return IccVerdict(description, f"is made for {space} pixels", 0, False)
    probe = _probe(rules.probe_levels)
    try:
        moved = np.asarray(to_srgb(Image.fromarray(probe), profile, rules.intent))
    except ImageCms.PyCMSError as error:
        return IccVerdict(description, f"cannot be applied ({error})", 0, False)
    change = int(np.abs(moved.astype(np.int16) - probe.astype(np.int16)).max())
    return IccVerdict(description, None, change, change <= rules.probe_tolerance)


def to_srgb(image: Image.Image, profile: bytes, intent: int) -> Image.Image:
    """Convert an RGB picture from a profile to sRGB.

    Args:
        image: mode RGB.
        profile: the profile's bytes.
        intent: the ICC number of the rendering intent, 0 to 3.

    Returns:
        A new picture; its orientation tags are not carried over.

    Raises:
        PIL.ImageCms.PyCMSError: the profile cannot be applied to RGB pixels.
    """
    source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    target = ImageCms.createProfile("sRGB")
    converted = ImageCms.profileToProfile(
        image, source, target, renderingIntent=ImageCms.Intent(intent), outputMode="RGB"
    )
    if converted is None:  # only with inPlace, which is not asked for
        raise ImageCms.PyCMSError("no picture came back")
    return converted


def _probe(levels: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    values = np.rint(np.linspace(0, 255, levels)).astype(np.uint8)
    grid = np.stack(np.meshgrid(values, values, values, indexing="ij"), axis=-1)
    return np.ascontiguousarray(grid.reshape(levels * levels, levels, 3))


def _description(profile: ImageCms.ImageCmsProfile) -> str:
    try:
        return ImageCms.getProfileDescription(profile).strip()
    except ImageCms.PyCMSError:
        return ""
