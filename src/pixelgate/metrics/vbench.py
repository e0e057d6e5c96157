"""The seven VBench dimensions of the FlexBench table, from given features, frames or flow fields.

Each function returns VBench's own scale, which is 0 to 1 except for imaging quality (0 to 100); `published` brings
all of them to the table's 0 to 100. Definitions are those of VBench's code (commit 45e79ec).

| column | dimension | from |
| --- | --- | --- |
| SuC | subject_consistency | DINO ViT-B/16 features of every frame |
| BC | background_consistency | CLIP ViT-B/32 features of every frame |
| AQ | aesthetic_quality | CLIP ViT-L/14 features of every frame and LAION's linear head |
| IQ | imaging_quality | MUSIQ's score of every frame |
| OvC | overall_consistency | ViCLIP features of clip and prompt |
| MS | motion_smoothness | frames that AMT-S interpolates |
| DD | dynamic_degree | RAFT's flow between sampled frames |
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import Problem
from pixelgate.metrics._clip import clip_metric
from pixelgate.metrics.consistency import (
    FeatureError,
    bad_rows,
    checked_cosine,
    feature_rows,
    feature_vector,
    numpy_fingerprint,
    row_cosines,
    same_dimensions,
    text_video_cosine,
)
from pixelgate.metrics.registry import Measurement

DIMENSIONS: Mapping[str, str] = MappingProxyType(
    {
        "SuC": "subject_consistency",
        "BC": "background_consistency",
        "AQ": "aesthetic_quality",
        "IQ": "imaging_quality",
        "OvC": "overall_consistency",
        "MS": "motion_smoothness",
        "DD": "dynamic_degree",
    }
)
"""Column of the table -> VBench's name of the dimension, in the table's order."""

ROUNDING_SHARE = 1e-5
"""How far beyond its scale a value may lie, as a share of it, and still be round-off; it is cut to the scale."""

_TOP_SHARE = 0.05
_SAMPLES_PER_SECOND = 8

overall_consistency = text_video_cosine


@dataclass(frozen=True)
class FrameConsistency:
    """How like each other the frames of a clip are.

    Attributes:
        measurement: the mean over pairs, 0 to 1.
        pair_terms: the term of every frame but the first, in order.
    """

    measurement: Measurement
    pair_terms: tuple[float, ...] = ()

    @property
    def pairs(self) -> int:
        """Number of terms: one fewer than frames."""
        return len(self.pair_terms)


@dataclass(frozen=True)
class Smoothness:
    """How well a clip's odd frames can be interpolated from the even ones.

    Attributes:
        measurement: 0 to 1.
        per_frame_mae: mean absolute difference of every compared frame, 0 to 255.
    """

    measurement: Measurement
    per_frame_mae: tuple[float, ...] = ()


@dataclass(frozen=True)
class DynamicDegree:
    """Whether a clip moves, and what decided it.

    Attributes:
        dynamic: the decision.
        threshold: a pair of frames moves where its magnitude is above this, in pixels.
        needed: pairs that must move.
        above: pairs that do.
    """

    dynamic: bool
    threshold: float
    needed: int
    above: int


def frame_consistency(frames: NDArray[Any]) -> FrameConsistency:
    """Consistency of a clip's frames with the first and with the one before; higher is better.

    The term of frame i, from 1 on, is (max(0, cos(f[i-1], f[i])) + max(0, cos(f[0], f[i]))) / 2. DINO features
    give subject_consistency, CLIP features background_consistency.

    Args:
        frames: T x D features.

    Returns:
        The mean of the terms, 0 to 1; None with a reason for a single frame, and for vectors that are zero or not
        finite.

    Raises:
        FeatureError: another shape or type, or no frame.
    """
    rows = feature_rows(frames, "frames")
    reason = bad_rows(rows, "frame") or ("needs two frames" if rows.shape[0] < 2 else None)
    if reason is not None:
        return FrameConsistency(Measurement(None, reason))
    before = np.maximum(row_cosines(rows[:-1], rows[1:]), 0.0)
    first = np.maximum(row_cosines(np.broadcast_to(rows[0], rows[1:].shape), rows[1:]), 0.0)
    terms = (before + first) / 2.0
    return FrameConsistency(Measurement(float(terms.mean())), tuple(terms.tolist()))


def pair_weighted(clips: Iterable[FrameConsistency]) -> Measurement:
    """The mean over all pairs of all clips, as VBench's single process pools them; longer clips weigh more.

    Clips without a pair are left out. The plain mean over clips is another number; tables show that one.

    Returns:
        0 to 1, or None where no clip has a pair.
    """
    terms = [term for clip in clips for term in clip.pair_terms]
    return Measurement(math.fsum(terms) / len(terms)) if terms else Measurement(None, "no clip has two frames")


def aesthetic_per_frame(features: NDArray[Any], weight: NDArray[Any], bias: float) -> NDArray[np.float64]:
    """The linear head's output of every frame: weight . (feature / length of the feature) + bias.

    Args:
        features: T x D; a zero vector gives NaN, which `aesthetic_quality` refuses.
        weight: D.
        bias: one number.

    Returns:
        T numbers, about 1 to 10 with LAION's head; not clamped.

    Raises:
        FeatureError: other shapes or types.
    """
    rows, head = feature_rows(features, "aesthetic_features"), feature_vector(weight, "aesthetic_weight")
    same_dimensions(rows, head)
    outputs = np.full(rows.shape[0], np.nan)
    sound = np.isfinite(rows).all(axis=1) & rows.any(axis=1)
    if sound.any():
        scaled = rows[sound] / np.abs(rows[sound]).max(axis=1, keepdims=True)
        outputs[sound] = (scaled * head).sum(axis=1) / np.sqrt((scaled * scaled).sum(axis=1)) + float(bias)
    return outputs


def aesthetic_quality(per_frame: NDArray[Any]) -> Measurement:
    """A tenth of the mean of the linear head's outputs; higher is better.

    Args:
        per_frame: T outputs, as of `aesthetic_per_frame`.

    Returns:
        About 0.1 to 1; None with a reason where an output is not finite.

    Raises:
        FeatureError: another shape or type, or no frame.
    """
    outputs = feature_vector(per_frame, "aesthetic")
    return _finite_mean(outputs, "aesthetic score", 10.0)


def imaging_quality(musiq: NDArray[Any]) -> Measurement:
    """Mean of MUSIQ's scores of the frames; higher is better.

    Args:
        musiq: T scores, 0 to 100.

    Returns:
        0 to 100; None with a reason where a score is not finite.

    Raises:
        FeatureError: another shape or type, or no frame.
    """
    return _finite_mean(feature_vector(musiq, "musiq"), "MUSIQ score", 1.0)


def interpolated_frames(frames: int) -> int:
    """How many odd frames lie between two even ones, and are compared, in a clip of that many frames."""
    return max(0, (frames + 1) // 2 - 1)


def frame_error(real: NDArray[np.uint8], predicted: NDArray[np.uint8]) -> float:
    """Mean absolute difference of two H x W x 3 frames of uint8, over pixels and channels, 0 to 255.

    Raises:
        FeatureError: not uint8, or two shapes.
    """
    if real.dtype != np.uint8 or predicted.dtype != np.uint8:
        found = f"the frames have dtype {real.dtype} and {predicted.dtype}."
        raise FeatureError(Problem("", "feature-type", found, "Give uint8, 0 to 255; truncate predictions to it."))
    if real.shape != predicted.shape:
        found = f"a frame of shape {real.shape} cannot be compared with a predicted one of shape {predicted.shape}."
        raise FeatureError(Problem("", "feature-shape", found, "Predict frames of the clip's own size."))
    larger, smaller = np.maximum(real, predicted), np.minimum(real, predicted)
    return float((larger - smaller).mean(dtype=np.float64))


def smoothness(errors: Sequence[float]) -> Smoothness:
    """Motion smoothness from the error of every compared frame: (255 - mean) / 255, 0 to 1; higher is better.

    None with a reason where no frame was compared, which is so for clips of fewer than three frames.
    """
    if not errors:
        return Smoothness(Measurement(None, "needs three frames"))
    mean = math.fsum(errors) / len(errors)
    return Smoothness(Measurement((255.0 - mean) / 255.0), tuple(errors))


def motion_smoothness(frames: NDArray[np.uint8], interpolated: NDArray[np.uint8]) -> Smoothness:
    """How near a clip's odd frames are to those interpolated from the even ones; higher is better.

    Args:
        frames: T x H x W x 3, uint8, the clip.
        interpolated: n x H x W x 3, uint8; number i stands for frame 2i + 1, n as of `interpolated_frames`. An odd
            frame after the last even one is not compared.

    Returns:
        0 to 1; None with a reason for fewer than three frames.

    Raises:
        FeatureError: another dtype, shape or number of frames.
    """
    wanted = interpolated_frames(len(frames))
    if len(interpolated) != wanted:
        found = f"{len(interpolated)} interpolated frames were given for a clip of {len(frames)} frames."
        raise FeatureError(Problem("", "feature-shape", found, f"Give {wanted}: each odd frame between two even ones."))
    return smoothness([frame_error(frames[2 * i + 1], interpolated[i]) for i in range(wanted)])


def flow_magnitude(flow: NDArray[Any]) -> float:
    """The mean length of the longest 5 % of a flow field's vectors, in pixels.

    Args:
        flow: H x W x 2, displacements in pixels; the share is int(0.05 H W) vectors.

    Returns:
        0 or more; NaN where a vector is not finite, or where the field is so small (H W < 20) that the share is none.

    Raises:
        FeatureError: another shape or type.
    """
    if flow.ndim != 3 or flow.shape[2] != 2 or flow.dtype.kind != "f":
        found = f"the flow has shape {flow.shape} and dtype {flow.dtype}."
        raise FeatureError(Problem("", "feature-shape", found, "Give height x width x 2, floating point."))
    lengths = np.hypot(flow[..., 0].astype(np.float64), flow[..., 1].astype(np.float64)).ravel()
    kept = int(_TOP_SHARE * lengths.size)
    if kept == 0 or not np.isfinite(lengths).all():
        return math.nan
    return float(np.partition(lengths, lengths.size - kept)[-kept:].mean())


def dynamic_degree(magnitudes: NDArray[Any], sampled: int, size: tuple[int, int]) -> DynamicDegree:
    """Whether a clip moves: enough pairs of sampled frames have a magnitude above the threshold.

    The threshold is 6 min(H, W) / 256 pixels, strictly above; round(4 n / 16) pairs are needed, halves to even. So
    two sampled frames need none and always move, while a single one never does.

    Args:
        magnitudes: n - 1 numbers, as of `flow_magnitude`, one for each pair of consecutive sampled frames; finite.
        sampled: n, the number of sampled frames, at least 1.
        size: (height, width) of the frames in pixels.

    Raises:
        FeatureError: another number of magnitudes, a negative one, or one that is not finite.
    """
    if magnitudes.shape != (sampled - 1,) or not np.isfinite(magnitudes).all() or (magnitudes < 0).any():
        found = f"the magnitudes have shape {magnitudes.shape} for {sampled} sampled frames, or hold unusable numbers."
        mend = "Give one finite length for each pair of consecutive sampled frames."
        raise FeatureError(Problem("", "feature-shape", found, mend))
    threshold = 6.0 * min(size) / 256.0
    needed = round(4 * sampled / 16.0)
    above = int((magnitudes > threshold).sum())
    return DynamicDegree(sampled > 1 and above >= needed, threshold, needed, above)


def sampling_step(fps: float) -> int:
    """Every how many frames VBench takes one for the flow: max(1, round(fps / 8)), halves to even."""
    return max(1, round(fps / _SAMPLES_PER_SECOND))


def sampled_frames(frames: int, fps: float) -> int:
    """How many frames of a clip VBench takes for the flow: the first and every `sampling_step`-th after it."""
    return math.ceil(frames / sampling_step(fps))


def middle_frames(frames: int, wanted: int = 8) -> tuple[int, ...]:
    """The frames that ViCLIP sees: the middle of each of `wanted` intervals; a shorter clip's last one is repeated.

    Args:
        frames: frames of the clip, at least 1.
        wanted: how many to take, at least 1.

    Returns:
        Indices from 0, in order.

    Source: VBench's ``get_frame_indices`` with sample ``middle``: bounds at int(linspace(0, T, n + 1)), the index
    is (start + end - 1) // 2.
    """
    if frames < 1 or wanted < 1:
        raise ValueError(f"both numbers must be at least 1; got {frames} frames, {wanted} wanted")
    bounds = np.linspace(0, frames, min(frames, wanted) + 1).astype(int).tolist()
    chosen = [(start + end - 1) // 2 for start, end in pairwise(bounds)]
    return tuple(chosen + chosen[-1:] * (wanted - len(chosen)))


def published(column: str, value: float) -> Measurement:
    """A clip's value on the table's scale, 0 to 100; overall consistency from -100.

    Args:
        column: a key of `DIMENSIONS`.
        value: on VBench's scale per clip: 0 to 1, imaging quality 0 to 100.

    Returns:
        The value, or None with a reason where it does not lie within the scale: the input was on another one.
    """
    factor = 1.0 if column == "IQ" else 100.0
    if column == "OvC":
        cosine = checked_cosine(value)
        return cosine if cosine.value is None else Measurement(100.0 * cosine.value)
    slack = ROUNDING_SHARE * 100.0 / factor
    if not -slack <= value <= 100.0 / factor + slack:
        return Measurement(None, f"{value:g} is outside {DIMENSIONS[column]}'s scale of 0 to {100.0 / factor:g}")
    return Measurement(min(100.0, max(0.0, value * factor)))


def _finite_mean(values: NDArray[np.float64], noun: str, divisor: float) -> Measurement:
    bad = ~np.isfinite(values)
    if bad.any():
        return Measurement(None, f"the {noun} of frame {int(bad.argmax())} is not a finite number")
    return Measurement(float(values.mean()) / divisor)


def _register(column: str, title: str, source: str, low: float = 0.0) -> None:
    clip_metric(
        f"vbench_{column}",
        title,
        group="vbench",
        direction="higher",
        source=f"VBench's {DIMENSIONS[column]}, per clip, on 0 to 100: {source}",
        fingerprint=numpy_fingerprint,
        low=low,
        high=100.0,
        perfect=100.0,
    )


_register("SuC", "subject consistency", "frame-to-frame and frame-to-first cosines of DINO features")
_register("BC", "background consistency", "frame-to-frame and frame-to-first cosines of CLIP features")
_register("AQ", "aesthetic quality", "LAION's linear head on normalised CLIP features")
_register("IQ", "imaging quality", "mean of MUSIQ over frames")
_register("OvC", "overall consistency", "ViCLIP's cosine of prompt and clip", low=-100.0)
_register("MS", "motion smoothness", "difference of odd frames from interpolated ones")
_register("DD", "dynamic degree", "0 or 100, by the flow's longest 5 % between sampled frames")
