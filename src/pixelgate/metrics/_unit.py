"""What the metrics on resized pictures ask of them, and the values they share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import Problem
from pixelgate.metrics._backend import Backend
from pixelgate.metrics._scorer import PixelScorer
from pixelgate.metrics._validate import PictureError, check_params, check_same_size
from pixelgate.metrics.registry import Measurement, Picture, Runtime

Unit = NDArray[np.float32]
"""Resized RGB picture, height x width x 3, values 0 to 1."""

SLACK = 1e-5
"""How far a value may pass 0 or 1: a resize in float32 goes beyond by round-off alone."""

SOURCE = "Hint-AUC protocol (hintauc 0.3.3), on 256 x 256 float pictures"


def check_unit(picture: object, name: str, *, min_side: int = 1) -> Unit:
    """The picture itself, made contiguous where it was not.

    Args:
        picture: what was given; wanted is a float32 array, height x width x 3, values from 0 to 1.
        name: ``output`` or ``reference``, for the message.
        min_side: smallest height and width allowed, in pixels.

    Raises:
        PictureError: names what was given and what is wanted (an `InputError` and a `ValueError`).
    """
    mend = "Give float32, height x width x 3, values from 0 to 1: see pixelgate.io.square.to_square."
    if not isinstance(picture, np.ndarray):
        raise PictureError(Problem("", "picture-type", f"the {name} is a {type(picture).__name__}", mend))
    if picture.dtype != np.float32:
        raise PictureError(Problem("", "picture-dtype", f"the {name} has dtype {picture.dtype}", mend))
    if picture.ndim != 3 or picture.shape[2] != 3:
        raise PictureError(Problem("", "picture-shape", f"the {name} has shape {picture.shape}", mend))
    if min(picture.shape[:2]) < min_side:
        found = f"the {name} is {picture.shape[1]} x {picture.shape[0]} pixels (width x height)"
        raise PictureError(Problem("", "picture-too-small", found, f"Each side must be at least {min_side} pixels."))
    least, most = float(picture.min()), float(picture.max())
    # Written so that NaN fails.
    if not (least >= -SLACK and most <= 1.0 + SLACK):
        raise PictureError(Problem("", "picture-range", f"the {name} has values from {least:g} to {most:g}", mend))
    return np.ascontiguousarray(picture)


def plain_scorer(metric: str, score: Callable[[Unit, Unit], float], params: Mapping[str, Any]) -> PixelScorer:
    """A scorer of a metric that has no parameters and nothing to prepare; `ProtocolError` for parameters."""
    check_params(metric, params, {})
    return PixelScorer(_keep_reference, functools.partial(_score, score))


def bound(metric: str, score: Callable[[Unit, Unit], float]) -> Callable[[Mapping[str, Any], Runtime], PixelScorer]:
    """`Metric.bind` of such a metric."""

    def bind(params: Mapping[str, Any], runtime: Runtime) -> PixelScorer:
        return plain_scorer(metric, score, params)

    return bind


def pair(output: object, reference: object, *, min_side: int = 1) -> tuple[Unit, Unit]:
    """Both pictures, checked as by `check_unit` and found to have one size; `PictureError` otherwise."""
    first = check_unit(output, "output", min_side=min_side)
    second = check_unit(reference, "reference", min_side=min_side)
    check_same_size(first, second.shape)
    return first, second


def _keep_reference(backend: Backend, reference: Picture) -> Unit:
    return check_unit(reference, "reference")


def _score(score: Callable[[Unit, Unit], float], backend: Backend, output: Picture, reference: Unit) -> Measurement:
    output = check_unit(output, "output")
    check_same_size(output, reference.shape)
    return Measurement(score(output, reference))
