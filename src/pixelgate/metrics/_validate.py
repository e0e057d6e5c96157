"""What the pixel metrics ask of their pictures and parameters, checked in one place.

Only 8-bit pictures are taken: a float picture in 0 to 1 and one in 0 to 255 cannot be told apart,
and an integer type that is too narrow wraps around without a trace.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from pixelgate.errors import InputError, Problem, ProtocolError
from pixelgate.metrics.registry import Image, Picture


class PictureError(InputError, ValueError):
    """An array is not a picture that the metric can take."""


def check_picture(picture: object, name: str, *, min_side: int = 1) -> Image:
    """The picture itself, made contiguous where it was not.

    Args:
        picture: what was given; wanted is a uint8 array, height x width x 3.
        name: ``output`` or ``reference``, for the message.
        min_side: smallest height and width allowed, in pixels.

    Raises:
        PictureError: names what was given and what is wanted; it is an `InputError` and a `ValueError`.
    """
    problems: list[Problem] = []
    if not isinstance(picture, np.ndarray):
        found = f"the {name} is a {type(picture).__name__}"
        raise PictureError(_problem("picture-type", found, "Give a numpy array of uint8, height x width x 3."))
    if picture.dtype != np.uint8:
        mend = "Give 8-bit sRGB values (uint8, 0 to 255); scale and round floats first."
        problems.append(_problem("picture-dtype", f"the {name} has dtype {picture.dtype}", mend))
    if picture.ndim != 3 or picture.shape[2] != 3:
        mend = "Give height x width x 3: three channels, red, green, blue, in the last axis."
        problems.append(_problem("picture-shape", f"the {name} has shape {picture.shape}", mend))
    elif min(picture.shape[:2]) < min_side:
        size = f"the {name} is {picture.shape[1]} x {picture.shape[0]} pixels (width x height)"
        mend = f"Each side must be at least {min_side} pixel{'s' if min_side > 1 else ''} for this metric."
        problems.append(_problem("picture-too-small", size, mend))
    if problems:
        raise PictureError(problems)
    return np.ascontiguousarray(picture)


def check_pair(output: Image, reference: Image, *, min_side: int = 1) -> tuple[Image, Image]:
    """Both pictures, checked as by `check_picture` and found to have one size.

    Raises:
        PictureError: where either is no picture or the sizes differ.
    """
    output = check_picture(output, "output", min_side=min_side)
    reference = check_picture(reference, "reference", min_side=min_side)
    check_same_size(output, reference.shape)
    return output, reference


def check_same_size(output: Picture, shape: tuple[int, ...]) -> None:
    """Raise `PictureError` unless the output has the reference's shape."""
    if output.shape != shape:
        found = (
            f"the output is {output.shape[1]} x {output.shape[0]} pixels, "
            f"the reference {shape[1]} x {shape[0]} (width x height)"
        )
        raise PictureError(_problem("picture-size", found, "Give two pictures of one size."))


def check_params(metric: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """A protocol's parameters over the defaults, none unknown.

    Args:
        metric: the metric's id, for the message.
        given: the protocol's parameters.
        known: every parameter the metric has, with its default.

    Raises:
        ProtocolError: names each unknown parameter and those that are known.
    """
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ProtocolError(
            f"metric {metric!r} has no parameter {', '.join(map(repr, unknown))}; it has: {', '.join(sorted(known))}"
        )
    return {**known, **given}


def fixed(metric: str, params: Mapping[str, Any], name: str, *allowed: object) -> Any:
    """A parameter that may only take one of a few values; `ProtocolError` otherwise."""
    value = params[name]
    if isinstance(value, bool) or value not in allowed:
        choices = " or ".join(map(repr, allowed))
        raise ProtocolError(f"metric {metric!r}: {name} must be {choices}, not {value!r}")
    return value


def positive(metric: str, params: Mapping[str, Any], name: str) -> float:
    """A parameter that must be a finite number above zero; `ProtocolError` otherwise."""
    value = params[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise ProtocolError(f"metric {metric!r}: {name} must be a finite number above 0, not {value!r}")
    return float(value)


def _problem(rule: str, found: str, mend: str) -> Problem:
    return Problem(file="", rule=rule, found=found, mend=mend)
