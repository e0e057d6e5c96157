"""Consistency with a subject's picture and with a text, from features that a network has computed already.

Every similarity here is the cosine of two feature vectors in float64. It is never clamped at 0: a clip that is
unlike its reference gets a negative number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem
from pixelgate.metrics._clip import clip_metric
from pixelgate.metrics.registry import Measurement, Runtime

ROUNDING = 1e-5
"""How far beyond -1 and 1 a cosine may lie and still be round-off: float32 features of a static clip reach 1 + 1e-6."""


class FeatureError(InputError, ValueError):
    """An array of features has another shape or type than the metric needs."""


@dataclass(frozen=True)
class Similarity:
    """How like its reference a clip is.

    Attributes:
        measurement: the mean over frames.
        per_frame: the cosine of every frame, in order; empty where the mean could not be computed.
    """

    measurement: Measurement
    per_frame: tuple[float, ...] = ()


def reference_consistency(frames: NDArray[Any], reference: NDArray[Any]) -> Similarity:
    """Mean cosine between the features of every frame and those of one reference picture; higher is better.

    Args:
        frames: T x D, real numbers of any scale.
        reference: D.

    Returns:
        A mean from -1 to 1. It is None, with a reason that names the frame, where a vector is zero or not finite.

    Raises:
        FeatureError: wrong shapes or types, no frame, or two numbers of dimensions.

    Source: the subject consistency of the FlexBench document: plain mean over frames, unclamped.
    """
    rows = feature_rows(frames, "frames")
    vector = feature_vector(reference, "reference")
    same_dimensions(rows, vector)
    reason = bad_rows(rows, "frame") or bad_vector(vector, "the reference")
    if reason is not None:
        return Similarity(Measurement(None, reason))
    cosines = row_cosines(rows, np.broadcast_to(vector, rows.shape))
    return Similarity(Measurement(float(cosines.mean())), tuple(cosines.tolist()))


def text_video_cosine(video: NDArray[Any], text: NDArray[Any]) -> Measurement:
    """Cosine between the features of a clip and those of its prompt; higher is better.

    Args:
        video: D, the clip's features, such as ViCLIP's of 8 middle frames.
        text: D, the prompt's features of the same network.

    Returns:
        A number from -1 to 1, not scaled and not clamped at 0; None with a reason where a vector is zero or not finite.

    Raises:
        FeatureError: wrong shapes or types, or two numbers of dimensions.

    Source: VBench's ``overall_consistency``; text consistency of the FlexBench document.
    """
    first, second = feature_vector(video, "video"), feature_vector(text, "text")
    same_dimensions(first[np.newaxis], second)
    reason = bad_vector(first, "the clip") or bad_vector(second, "the text")
    if reason is not None:
        return Measurement(None, reason)
    return Measurement(float(row_cosines(first[np.newaxis], second[np.newaxis])[0]))


def checked_cosine(value: float) -> Measurement:
    """A cosine that somebody else computed, as a measurement.

    Args:
        value: the number; what lies within `ROUNDING` beyond -1 or 1 is cut to it.

    Returns:
        The number, or None where it is not finite or no cosine at all: broken weights give numbers such as 3 or -26.
    """
    if not np.isfinite(value):
        return Measurement(None, "the cosine is not a finite number")
    if abs(value) > 1.0 + ROUNDING:
        return Measurement(None, f"{value:g} is no cosine: it must lie within -1 and 1")
    return Measurement(min(1.0, max(-1.0, float(value))))


def row_cosines(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cosine of every row of one N x D array with the same row of another; from -1 to 1.

    No row may be zero or hold NaN or infinity. A row's scale does not matter, however large or small it is.
    """
    one, other = _unit_rows(first), _unit_rows(second)
    # Round-off alone leads beyond 1, by about 1e-16.
    cosines: NDArray[np.float64] = np.clip((one * other).sum(axis=1), -1.0, 1.0)
    return cosines


def feature_rows(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    """The features of several frames, N x D with N and D above 0, as float64; `FeatureError` otherwise."""
    return _checked(array, name, ("N", "D"))


def feature_vector(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    """One feature vector, D above 0, as float64; `FeatureError` otherwise."""
    return _checked(array, name, ("D",))


def same_dimensions(rows: NDArray[np.float64], vector: NDArray[np.float64]) -> None:
    """Raise `FeatureError` unless the rows have as many dimensions as the vector."""
    if rows.shape[1] != vector.shape[0]:
        found = f"features of {rows.shape[1]} and of {vector.shape[0]} dimensions cannot be compared."
        raise FeatureError(Problem("", "feature-shape", found, "Compute both with one network."))


def bad_rows(rows: NDArray[np.float64], noun: str) -> str | None:
    """Why no cosine can be computed of these rows, counted from 0; None where all are sound."""
    infinite = ~np.isfinite(rows).all(axis=1)
    zero = ~rows.any(axis=1)
    for flags, what in ((infinite, "hold NaN or infinity"), (zero, "are all zero")):
        if flags.any():
            more = f", and of {int(flags.sum()) - 1} more," if flags.sum() > 1 else ""
            return f"the features of {noun} {int(flags.argmax())}{more} {what}"
    return None


def bad_vector(vector: NDArray[np.float64], owner: str) -> str | None:
    """Why no cosine can be computed of this vector; None where it is sound."""
    if not np.isfinite(vector).all():
        return f"the features of {owner} hold NaN or infinity"
    return None if vector.any() else f"the features of {owner} are all zero"


def numpy_fingerprint(params: Mapping[str, Any], runtime: Runtime) -> Mapping[str, str]:
    """What decides a number that plain numpy computes from given features."""
    return {"backend": "numpy", "numpy": version("numpy")}


def _unit_rows(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    # Brought to 1 by its largest entry first, so that no square over- or underflows.
    scaled = rows / np.abs(rows).max(axis=1, keepdims=True)
    unit: NDArray[np.float64] = scaled / np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    return unit


def _checked(array: NDArray[Any], name: str, axes: tuple[str, ...]) -> NDArray[np.float64]:
    wanted = " x ".join(axes)
    values = np.asarray(array)
    if values.dtype.kind != "f":
        mend = "Give floating-point features."
        raise FeatureError(Problem("", "feature-type", f"the features {name!r} have dtype {values.dtype}.", mend))
    if values.ndim != len(axes) or values.size == 0:
        found = f"the features {name!r} have shape {values.shape}."
        raise FeatureError(Problem("", "feature-shape", found, f"Give {wanted}, with at least one value."))
    return values.astype(np.float64)


_SOURCE = "FlexBench document, subject consistency: mean over frames of the cosine to the reference picture, unclamped"

SUBJECT_CLIP = clip_metric(
    "subject_clip",
    "CLIP subject consistency",
    group="subject",
    direction="higher",
    source=f"{_SOURCE}; CLIP ViT-B/32",
    fingerprint=numpy_fingerprint,
    low=-1.0,
    high=1.0,
    perfect=1.0,
)

SUBJECT_DINO = clip_metric(
    "subject_dino",
    "DINO subject consistency",
    group="subject",
    direction="higher",
    source=f"{_SOURCE}; DINO ViT-B/16",
    fingerprint=numpy_fingerprint,
    low=-1.0,
    high=1.0,
    perfect=1.0,
)

TEXT_CONSISTENCY = clip_metric(
    "text_consistency",
    "text consistency",
    group="text",
    direction="higher",
    source="FlexBench document, text consistency: ViCLIP's cosine of prompt and clip, 8 middle frames, unclamped",
    fingerprint=numpy_fingerprint,
    low=-1.0,
    high=1.0,
    perfect=1.0,
)
