"""Keypoints of people in a clip, as DWPose predicts them, from ``.npy`` files in the layouts that are in use.

| layout | content of the file |
| --- | --- |
| ``array`` | numbers, (T,N,K,3) or (T,K,3): x, y, confidence |
| ``array-scores`` | numbers, (T,N,K,2) or (T,K,2), with a second file of confidences, (T,N,K) or (T,K) |
| ``frames`` | one (N_t,K,3) array a frame, as objects; or (N_t,K,2) with a second file of confidences |
| ``frames-dict`` | one dict a frame: ``keypoints`` (N_t,K,2) in pixels and ``scores`` (N_t,K) |
| ``frames-bodies`` | one dict a frame: ``bodies`` with ``candidate`` (18 N_t,2), normalised, and ``subset`` (N_t,18) |

The first 18 of K keypoints are the body in OpenPose order. The last three hold Python objects, and are read on request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem
from pixelgate.io._keypoint_layouts import BODY, Layout, layout_of, scores_of
from pixelgate.io.npy import read_npy
from pixelgate.io.unpickle import restricted_unpickle

Frame = NDArray[np.float64]
"""One frame's people: N x K x 3, x, y and confidence; confidence 0 where there is no keypoint."""

Units = Literal["pixels", "normalised", "unknown"]

CONFIDENT = 0.3
"""Keypoints above this confidence tell the units of a file and its scale."""

_PIXELS_ABOVE = 2.0
_UNCLEAR_ABOVE = 1.5
_CORNER_PIXELS = 2.0
_CORNER_FRACTION = 0.005
_FEWEST = 4
_OUTSIDE = 2.0

_OTHER_ORDERS = {
    17: "COCO's 17 body keypoints",
    25: "OpenPose's BODY_25",
    133: "COCO-WholeBody's 133 keypoints, which have no neck",
    135: "OpenPose's 135 keypoints, which begin with BODY_25",
    137: "OpenPose's 137 keypoints, which begin with BODY_25",
}


@dataclass(frozen=True)
class Keypoints:
    """What a keypoint file holds.

    Attributes:
        file: path as given.
        frames: one array a frame, N_t x K x 3 in float64: x, y, confidence. A keypoint whose x, y or confidence is not
            finite, or that lies at (-1, -1), is all 0. N_t may be 0.
        units: what x and y count: ``pixels`` or fractions of the frame (``normalised``); ``unknown`` where no keypoint
            has any confidence, so that nothing tells.
        evidence: how the units were known, in one phrase.
        unclear: whether the evidence is weak.
        layout: see this module's table.
    """

    file: str
    frames: tuple[Frame, ...]
    units: Units
    evidence: str
    unclear: bool
    layout: str


def read_keypoints(path: Path, scores: Path | None = None, allow_pickle: bool = False) -> Keypoints:
    """Read a clip's keypoints.

    Coordinates are pixels where the largest one of a confident keypoint is above 2, and fractions of the frame
    otherwise; DWPose's ``bodies`` are fractions by definition. See `to_unit`.

    Args:
        path: a ``.npy`` file in one of the layouts of this module.
        scores: a ``.npy`` file with the confidences, for layouts that hold none. For others it must say the same.
        allow_pickle: whether a file of Python objects may be read; even then only numbers, texts, containers and
            arrays are built (see `pixelgate.io.unpickle`).

    Raises:
        InputError: rule ``keypoints-pickle`` (objects, not allowed), ``keypoints-layout`` (no such layout),
            ``keypoints-dtype`` (no real numbers), ``keypoints-count`` (fewer than 18 keypoints, or known ones in
            another order), ``keypoints-empty`` (no frames), ``keypoints-confidence`` (confidences missing or of another
            shape), ``keypoints-subset``, and those of `read_npy` and `restricted_unpickle`.
    """
    layout = layout_of(_content(path, allow_pickle), str(path))
    if not layout.points:
        raise _error(path, "keypoints-empty", "holds no frames.", "Give the keypoints of every frame of the clip.")
    _check_count(layout, path)
    confidences = _confidences(layout, path, scores, allow_pickle)
    frames = tuple(_clean(points, given) for points, given in zip(layout.points, confidences, strict=True))
    units, evidence, unclear = _units(frames, layout)
    return Keypoints(str(path), frames, units, evidence, unclear, layout.name)


def to_unit(keypoints: Keypoints, width: int, height: int) -> tuple[Frame, ...]:
    """Keypoints as fractions of their own frame: x / width and y / height, unless they are that already.

    Args:
        keypoints: as read.
        width, height: size in pixels of the frames that they were found in.

    Returns:
        One array a frame, N_t x K x 3; the frame's top left corner is 0, its bottom right one is 1.

    Raises:
        InputError: rule ``keypoints-scale``. Either all confident keypoints of the whole clip, 4 or more, lie within 2
            pixels (or 0.5 % of the side) of the top left corner: no person is that small, so they were divided by the
            frame's size once too often. Or more than half of them lie beyond twice the frame's width or height: they
            belong to a larger frame.
    """
    divisor = np.array([width, height, 1.0]) if keypoints.units == "pixels" else np.ones(3)
    frames = tuple(frame / divisor for frame in keypoints.frames)
    _check_scale(_confident(frames), keypoints, width, height)
    return frames


def _content(path: Path, allow_pickle: bool) -> object:
    try:
        return read_npy(path, restricted_unpickle if allow_pickle else None)
    except InputError as error:
        if error.problems[0].rule != "npy-pickle":
            raise
    mend = (
        "If you made the file yourself, allow it with --bench-allow-pickle (pytest) or --allow-pickle (pixelgate "
        "flexbench). Or save it again as plain numbers: numpy.save(path, array) with a float array of shape (frames, "
        "people, keypoints, 3), in which people who are not there have confidence 0."
    )
    found = "holds Python objects (pickled), which are not read unless you allow it: a pickle can run any program."
    raise _error(path, "keypoints-pickle", found, mend)


def _check_count(layout: Layout, path: Path) -> None:
    counts = {points.shape[1] for points in layout.points if len(points)}
    if len(counts) > 1:
        found = f"has frames with different numbers of keypoints ({', '.join(map(str, sorted(counts)))})."
        raise _error(path, "keypoints-count", found, "Give all of them the same keypoints.")
    for count in counts:
        if count < BODY or count in _OTHER_ORDERS:
            known = f", probably {_OTHER_ORDERS[count]}" if count in _OTHER_ORDERS else ""
            found = f"has {count} keypoints a person{known}."
            mend = "Give DWPose's 134 keypoints, or at least the body's 18, in OpenPose order with the neck second."
            raise _error(path, "keypoints-count", found, mend)


def _confidences(layout: Layout, path: Path, scores: Path | None, allow_pickle: bool) -> Sequence[NDArray[np.float64]]:
    if scores is None:
        if layout.scores is None:
            found = "holds x and y only, without confidences."
            mend = "Put the confidences in a second file beside it, <id>_scores.npy, or in a third column."
            raise _error(path, "keypoints-confidence", found, mend)
        return layout.scores
    given = scores_of(_content(scores, allow_pickle), str(scores))
    shapes, wanted = [frame.shape for frame in given], [points.shape[:2] for points in layout.points]
    if shapes != wanted:
        found = f"holds confidences of {_describe(shapes)}; the keypoints are of {_describe(wanted)}."
        raise _error(scores, "keypoints-confidence", found, "Give one confidence for each keypoint.")
    if layout.scores is not None:
        own = zip(layout.scores, given, strict=True)
        if not all(np.allclose(a, b, rtol=0, atol=1e-5, equal_nan=True) for a, b in own):
            found = f"holds confidences, and {scores} holds others."
            raise _error(path, "keypoints-confidence", found, "Keep one of the two.")
    return given


def _describe(shapes: Sequence[tuple[int, ...]]) -> str:
    people = sorted({shape[0] for shape in shapes})
    points = sorted({shape[1] for shape in shapes})
    return f"{len(shapes)} frames, {_range(people)} people and {_range(points)} keypoints"


def _range(values: Sequence[int]) -> str:
    if not values:
        return "no"
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"


def _clean(points: NDArray[np.float64], confidence: NDArray[np.float64]) -> Frame:
    frame = np.concatenate([points[..., :2], confidence[..., np.newaxis]], axis=-1)
    absent = ~np.isfinite(frame).all(axis=-1) | (frame[..., :2] == -1).all(axis=-1)
    frame[absent] = 0.0
    return frame


def _confident(frames: Sequence[Frame], above: float = CONFIDENT) -> NDArray[np.float64]:
    """Coordinates of all keypoints of a clip above a confidence, M x 2."""
    kept = [frame[frame[..., 2] > above][:, :2] for frame in frames]
    return np.concatenate([np.empty((0, 2)), *kept])


def _units(frames: Sequence[Frame], layout: Layout) -> tuple[Units, str, bool]:
    points = _confident(frames)
    if not len(points):
        points = _confident(frames, 0.0)
    if not len(points):
        return "unknown", "no keypoint has any confidence", True
    largest = float(np.abs(points).max())
    if layout.normalised and largest <= _PIXELS_ABOVE:
        return "normalised", "bodies.candidate is normalised by definition", False
    if largest > _PIXELS_ABOVE:
        contrary = ", although bodies.candidate is normalised by definition" if layout.normalised else ""
        return "pixels", f"the largest confident coordinate is {largest:.4g}, above 2{contrary}", layout.normalised
    unclear = largest > _UNCLEAR_ABOVE
    far = ", which is far outside the frame" if unclear else ""
    return "normalised", f"the largest confident coordinate is {largest:.4g}, not above 2{far}", unclear


def _check_scale(points: NDArray[np.float64], keypoints: Keypoints, width: int, height: int) -> None:
    if len(points) < _FEWEST:
        return
    x, y = np.abs(points).max(axis=0)
    limit = (max(_CORNER_PIXELS, _CORNER_FRACTION * side) for side in (width, height))
    if all(extent * side <= most for extent, side, most in zip((x, y), (width, height), limit, strict=True)):
        found = (
            f"has all its {len(points)} confident keypoints within {x:.2g} of the width and {y:.2g} of the height from "
            f"the top left corner ({x * width:.2g} x {y * height:.2g} pixels of {width} x {height}; read as "
            f"{keypoints.units}): the coordinates were probably normalised twice."
        )
        mend = "Save them in pixels, or divide them by the frame's width and height once only."
        raise _error(keypoints.file, "keypoints-scale", found, mend)
    middle = np.median(points, axis=0)
    if (np.abs(middle) > _OUTSIDE).any():
        found = (
            f"has more than half of its confident keypoints far outside its frame of {width} x {height} pixels (read "
            f"as {keypoints.units}; the median is {middle[0] * width:.4g}, {middle[1] * height:.4g})."
        )
        mend = "They belong to a larger frame: name the clip that they were found in, or find them again in this one."
        raise _error(keypoints.file, "keypoints-scale", found, mend)


def _error(file: Path | str, rule: str, found: str, mend: str) -> InputError:
    return InputError(Problem(str(file), rule, found, mend))
