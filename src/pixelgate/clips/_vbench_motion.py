"""Motion smoothness and dynamic degree of a clip, from interpolated frames and flow fields in a feature file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.clips.evaluator import ClipFiles
from pixelgate.errors import InputError, Problem
from pixelgate.io.features import FeatureFile
from pixelgate.io.video import open_video, probe_video
from pixelgate.metrics.registry import Measurement
from pixelgate.metrics.vbench import (
    Smoothness,
    dynamic_degree,
    flow_magnitude,
    frame_error,
    interpolated_frames,
    sampled_frames,
    sampling_step,
    smoothness,
)
from pixelgate.records import VideoRecord

_RAFT_STRIDE = 8


def decode(files: ClipFiles, file: FeatureFile, compare: bool) -> tuple[VideoRecord, Smoothness | None]:
    """Decode a clip once; on the way compare its odd frames with the predicted ones, if asked to.

    Holds one frame and one prediction at a time.

    Raises:
        InputError: ``prediction-shape`` or ``prediction-length``, where the key ``interpolated`` does not fit the clip.
    """
    if not compare:
        return probe_video(files.generated, label=files.sample), None
    clip = files.generated
    count, size = file.shape("interpolated")[0], file.shape("interpolated")[1:3]
    predictions = file.rows("interpolated")
    errors = []
    with open_video(clip, label=files.sample) as reader:
        for index, frame in enumerate(reader):
            if index == 0 and count and frame.shape[:2] != size:
                found = f"'interpolated' holds frames of {_size(size)}; the clip {clip} has {_size(frame.shape[:2])}."
                mend = "Predict frames of the clip's own size."
                raise InputError(Problem(str(file.path), "prediction-shape", found, mend))
            if index % 2 and index // 2 < count:
                errors.append(frame_error(frame, next(predictions)))
        record = reader.record
    wanted = interpolated_frames(record.frames)
    if count != wanted:
        found = f"'interpolated' holds {count} frames; a clip of {record.frames} frames ({clip}) needs {wanted}."
        mend = "Predict each odd frame that lies between two even ones, from this very clip."
        raise InputError(Problem(str(file.path), "prediction-length", found, mend))
    return record, smoothness(errors)


def dynamic(file: FeatureFile, keys: tuple[str, ...], record: VideoRecord, details: dict[str, Any]) -> Measurement:
    """Dynamic degree, 0 or 100; what decided it goes into the details.

    Raises:
        InputError: ``fps``, ``prediction-length`` or ``prediction-shape``, where the flow does not fit the clip.
    """
    if not record.fps:
        return Measurement(None, "the clip names no frame rate, by which its frames would be sampled")
    sampled = file.count("sampled_frames")
    _check_sampling(file, sampled, record, record.fps)
    _check_size(file, keys[0], record)
    if file.shape(keys[0])[0] != sampled - 1:
        found = f"{keys[0]!r} is of {file.shape(keys[0])[0]} pairs; {sampled} sampled frames make {sampled - 1}."
        mend = "Compute the flow of each pair of consecutive sampled frames."
        raise InputError(Problem(str(file.path), "prediction-length", found, mend))
    magnitudes: NDArray[Any] = (
        np.array([flow_magnitude(flow) for flow in file.rows("flow")], dtype=np.float64)
        if keys[0] == "flow"
        else file.array("flow_magnitude").astype(np.float64)
    )
    if not np.isfinite(magnitudes).all():
        return Measurement(None, "the frames are too small: 5 % of their pixels are not one")
    found_degree = dynamic_degree(magnitudes, sampled, (record.height, record.width))
    details["DD"] = {
        "sampled_frames": sampled,
        "sampling_step": sampling_step(record.fps),
        "threshold": found_degree.threshold,
        "needed_pairs": found_degree.needed,
        "pairs_above": found_degree.above,
        "pair_magnitudes": magnitudes.tolist(),
    }
    two = "two sampled frames always count as moving: no pair is needed"
    return Measurement(
        100.0 if found_degree.dynamic else 0.0, notes=(("two-sampled-frames", two),) if sampled == 2 else ()
    )


def _check_sampling(file: FeatureFile, sampled: int, record: VideoRecord, fps: float) -> None:
    wanted = sampled_frames(record.frames, fps)
    if sampled != wanted:
        found = (
            f"the flow is of {sampled} sampled frames; the clip {record.file} of {record.frames} frames at {fps:g} "
            f"frames per second gives {wanted} (one in {sampling_step(fps)})."
        )
        mend = (
            "Set the clip's frame rate right, or compute the flow again from this clip: the rate decides the sampling."
        )
        raise InputError(Problem(str(file.path), "fps", found, mend))


def _check_size(file: FeatureFile, key: str, record: VideoRecord) -> None:
    clip = (record.height, record.width)
    padded = tuple(-(-side // _RAFT_STRIDE) * _RAFT_STRIDE for side in clip)
    size = file.shape("flow")[1:3] if key == "flow" else tuple(int(side) for side in file.array("size"))
    if size != clip and not (key == "flow" and size == padded):
        found = f"{'flow' if key == 'flow' else 'size'!r} is {_size(size)}; the clip {record.file} is {_size(clip)}."
        mend = "Compute the flow from this very clip, in its own size."
        raise InputError(Problem(str(file.path), "prediction-shape", found, mend))


def _size(size: tuple[int, ...]) -> str:
    return f"{size[1]} x {size[0]} pixels (width x height)"
