"""From what a keypoint file holds to one array of points, and one of confidences, a frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem

BODY = 18
"""Keypoints of the body in OpenPose order; they come first."""

Floats = NDArray[np.float64]

_LAYOUTS = (
    "Give numbers of shape (frames, people, keypoints, 3) or (frames, keypoints, 3); or x and y alone with the "
    "confidences in a second file; or one array or one dict (keypoints and scores, or bodies) a frame."
)


@dataclass(frozen=True)
class Layout:
    """What was found.

    Attributes:
        name: as in `pixelgate.io.keypoints`.
        points: a frame's points, N_t x K x 2 or more columns.
        scores: a frame's confidences, N_t x K; None where the file holds none.
        normalised: whether the layout says by itself that coordinates are fractions of the frame.
    """

    name: str
    points: Sequence[Floats]
    scores: Sequence[Floats] | None
    normalised: bool = False


def layout_of(content: object, file: str) -> Layout:
    """Find the layout of a file's content.

    Args:
        content: as `pixelgate.io.npy.read_npy` gives it.
        file: its name, for the message.

    Raises:
        InputError: rule ``keypoints-layout``, ``keypoints-dtype``, ``keypoints-confidence`` or ``keypoints-subset``.
    """
    content = _unwrapped(content)
    if isinstance(content, np.ndarray):
        points = _numbers(content, file, "the file")
        if points.ndim and not len(points):
            return Layout("array", [], None)
        points = points[:, np.newaxis] if points.ndim == 3 else points
        if points.ndim != 4 or points.shape[3] not in (2, 3):
            raise _error(file, "keypoints-layout", f"holds an array of shape {content.shape}.", _LAYOUTS)
        return _with_columns("array", list(points))
    if not isinstance(content, list):
        raise _error(file, "keypoints-layout", f"holds a {type(content).__name__}.", _LAYOUTS)
    kinds = {_kind(frame) for frame in content} - {"nobody"}
    if len(kinds) > 1:
        found = f"mixes layouts from frame to frame ({', '.join(sorted(kinds))})."
        raise _error(file, "keypoints-layout", found, _LAYOUTS)
    return _from_frames(content, next(iter(kinds), "frames"), file)


def scores_of(content: object, file: str) -> Sequence[Floats]:
    """Confidences of a file of their own, N_t x K a frame.

    Args:
        content: (T,N,K) or (T,K) numbers, or one (N_t,K) or (K,) array a frame.
        file: its name, for the message.

    Raises:
        InputError: rule ``keypoints-confidence`` or ``keypoints-dtype``.
    """
    content = _unwrapped(content)
    frames = content if isinstance(content, list) else [content]
    arrays = [_numbers(frame, file, f"frame {index}") for index, frame in enumerate(frames)]
    if not isinstance(content, list):
        whole = arrays[0]
        arrays = list(whole[:, np.newaxis] if whole.ndim == 2 else whole) if whole.ndim in (2, 3) else [whole]
    else:
        arrays = [array[np.newaxis] if array.ndim == 1 and array.size else array for array in arrays]
        arrays = [array if array.size else np.empty((0, BODY)) for array in arrays]
    for array in arrays:
        if array.ndim != 2:
            found = f"holds confidences of shape {array.shape} where (people, keypoints) a frame are wanted."
            mend = "Give numbers of shape (frames, people, keypoints) or (frames, keypoints)."
            raise _error(file, "keypoints-confidence", found, mend)
    return arrays


def _unwrapped(content: object) -> object:
    """Arrays of objects as lists, or as plain arrays where the objects are numbers."""
    if isinstance(content, np.ndarray) and content.dtype.hasobject:
        if content.ndim == 0:
            return _unwrapped(content[()])
        if content.ndim == 1:
            return list(content)
        return content
    return list(content) if isinstance(content, tuple) else content


def _kind(frame: object) -> str:
    if frame is None:
        return "nobody"
    if isinstance(frame, dict):
        return "frames-bodies" if "bodies" in frame and "keypoints" not in frame else "frames-dict"
    return "nobody" if isinstance(frame, np.ndarray | list | tuple) and np.size(_sized(frame)) == 0 else "frames"


def _sized(frame: Any) -> Any:
    return frame if isinstance(frame, np.ndarray) else [0] * len(frame)


def _from_frames(frames: Sequence[Any], kind: str, file: str) -> Layout:
    read = {"frames": _points, "frames-dict": _from_dict, "frames-bodies": _from_bodies}[kind]
    found = [
        (np.empty((0, BODY, 3)), np.empty((0, BODY))) if _kind(frame) == "nobody" else read(frame, file, f"frame {i}")
        for i, frame in enumerate(frames)
    ]
    points = [item[0] for item in found]
    if kind == "frames":
        return _with_columns(kind, points)
    return Layout(kind, points, [item[1] for item in found], normalised=kind == "frames-bodies")


def _with_columns(kind: str, points: list[Floats]) -> Layout:
    """Confidences from the third column, where there is one."""
    held = [frame for frame in points if len(frame)] or points
    if held and all(frame.shape[2] == 3 for frame in held):
        return Layout(kind, points, [frame[..., -1] for frame in points])
    name = "array-scores" if kind == "array" else kind
    return Layout(name, [frame[..., :2] for frame in points], None)


def _points(frame: object, file: str, where: str) -> tuple[Floats, Floats]:
    points = _numbers(frame, file, where)
    points = points[np.newaxis] if points.ndim == 2 else points
    if points.ndim != 3 or points.shape[2] not in (2, 3):
        found = f"has an array of shape {points.shape} in {where}."
        raise _error(file, "keypoints-layout", found, _LAYOUTS)
    return points, points[..., -1]


def _from_dict(frame: dict[str, Any], file: str, where: str) -> tuple[Floats, Floats]:
    if "keypoints" not in frame:
        found = f"has a dict with the keys {_keys(frame)} in {where}."
        raise _error(file, "keypoints-layout", found, "Give keypoints and scores, or bodies.")
    if not np.size(frame["keypoints"]):
        return np.empty((0, BODY, 3)), np.empty((0, BODY))
    points, confidence = _points(frame["keypoints"], file, f"keypoints of {where}")
    if "scores" in frame:
        confidence = _numbers(frame["scores"], file, f"scores of {where}")
        confidence = confidence[np.newaxis] if confidence.ndim == 1 else confidence
    elif points.shape[2] == 2:
        found = f"has no confidences in {where}: its dict has the keys {_keys(frame)}."
        raise _error(file, "keypoints-confidence", found, "Give scores beside keypoints.")
    if confidence.shape != points.shape[:2]:
        found = f"has keypoints of shape {points.shape} and scores of shape {confidence.shape} in {where}."
        raise _error(file, "keypoints-confidence", found, "Give one confidence for each keypoint.")
    return points, confidence


def _from_bodies(frame: dict[str, Any], file: str, where: str) -> tuple[Floats, Floats]:
    bodies = frame["bodies"]
    if not isinstance(bodies, dict) or not {"candidate", "subset"} <= set(bodies):
        found = f"has bodies without candidate and subset in {where}."
        raise _error(file, "keypoints-layout", found, "Give both, as DWPose's detector returns them.")
    subset = _numbers(bodies["subset"], file, f"bodies.subset of {where}")
    candidate = _numbers(bodies["candidate"], file, f"bodies.candidate of {where}")
    if not subset.size:
        return np.empty((0, BODY, 3)), np.empty((0, BODY))
    if subset.ndim != 2 or subset.shape[1] != BODY or candidate.shape != (subset.size, 2):
        found = f"has bodies.subset of shape {subset.shape} and bodies.candidate of {candidate.shape} in {where}."
        raise _error(file, "keypoints-layout", found, f"Give (people, {BODY}) and ({BODY} x people, 2).")
    running = np.arange(subset.size).reshape(subset.shape)
    if not ((subset == running) | (subset == -1)).all():
        found = f"has other values in bodies.subset of {where} than each keypoint's own number or -1."
        mend = "Give DWPose's subset as its detector returns it, or keypoints with their scores instead."
        raise _error(file, "keypoints-subset", found, mend)
    return candidate.reshape(-1, BODY, 2), (subset >= 0).astype(np.float64)


def _numbers(value: object, file: str, where: str) -> Floats:
    try:
        array = np.asarray(value.tolist() if isinstance(value, np.ndarray) and value.dtype.hasobject else value)
    except ValueError:
        found = f"has rows of different lengths in {where}."
        raise _error(file, "keypoints-layout", found, _LAYOUTS) from None
    if array.dtype.kind not in "fiu" and array.size:
        found = f"holds values of type {array.dtype} in {where}, no real numbers."
        raise _error(file, "keypoints-dtype", found, "Save a float array.")
    return array.astype(np.float64)


def _keys(frame: dict[str, Any]) -> str:
    return ", ".join(sorted(map(str, frame))) or "none"


def _error(file: str, rule: str, found: str, mend: str) -> InputError:
    return InputError(Problem(file, rule, found, mend))
