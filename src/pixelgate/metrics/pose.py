"""Pose fidelity: how far the people of a generated clip stand from those of its condition.

Both sides are keypoints as fractions of their own frame (see `pixelgate.io.keypoints.to_unit`), so that a distance of
0.05 is 5 % of the frame, and of its width and its height alike. People are matched frame by frame. A person or a
keypoint that is missing on one side is not scored: the coverage tells how much was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.metrics._clip import clip_metric
from pixelgate.metrics.registry import Metric, Runtime

People = NDArray[np.float64]
"""One frame's people: N x K x 3, x and y as fractions of the frame, and confidence."""

NOTHING_SCORED = "no keypoint scored"
SOURCE = (
    "FlexBench evaluation document; body keypoints that DWPose (Yang et al. 2023) is confident of on both sides, "
    "people matched by their centroids, nearest first"
)


@dataclass(frozen=True)
class PoseCounts:
    """What was there and what was scored, over the frames compared.

    Attributes:
        ref_frames, gen_frames: frames of the condition and of the generated clip.
        frames_compared: the shorter of the two.
        frames_with_ref_person: of these, those in which the condition has a person.
        frames_scored: of these, those in which a keypoint was scored.
        ref_persons, gen_persons: people with a confident body keypoint, summed over frames.
        matched_persons: pairs of them.
        ref_keypoints: confident body keypoints of the condition.
        scored_keypoints: those of matched people that are confident on both sides.
    """

    ref_frames: int
    gen_frames: int
    frames_compared: int
    frames_with_ref_person: int
    frames_scored: int
    ref_persons: int
    gen_persons: int
    matched_persons: int
    ref_keypoints: int
    scored_keypoints: int

    @property
    def person_coverage(self) -> float | None:
        """Matched people over the condition's people, 0 to 1; None where the condition has none."""
        return self.matched_persons / self.ref_persons if self.ref_persons else None

    @property
    def keypoint_coverage(self) -> float | None:
        """Scored keypoints over the condition's keypoints, 0 to 1; None where the condition has none."""
        return self.scored_keypoints / self.ref_keypoints if self.ref_keypoints else None


@dataclass(frozen=True)
class PoseScore:
    """Pose fidelity of one clip.

    Attributes:
        akd: mean distance of all scored keypoints, as a fraction of the frame, lower is better; None without any.
        pck: threshold -> share of the scored keypoints within it, 0 to 1, higher is better; None without any.
        akd_per_frame: the mean distance in each frame compared; None where nothing was scored.
        counts: what was there and what was scored.
        reason: why there is no value; None where there is one.
    """

    akd: float | None
    pck: Mapping[float, float | None]
    akd_per_frame: tuple[float | None, ...]
    counts: PoseCounts
    reason: str | None


@dataclass(frozen=True)
class _Side:
    """People of one side that exist, in the order of frames: P people with K keypoints."""

    frame: NDArray[np.intp]  # P
    points: NDArray[np.float64]  # P x K x 2
    kept: NDArray[np.bool_]  # P x K
    centroid: NDArray[np.float64]  # P x 2


def score_pose(
    reference: Sequence[People],
    generated: Sequence[People],
    *,
    keypoints: int = 18,
    confidence: float = 0.3,
    thresholds: Sequence[float] = (0.05, 0.10),
) -> PoseScore:
    """Compare the people of two clips.

    Frames beyond the shorter clip are not compared. A keypoint is kept where its confidence is above `confidence`; one
    that is not finite has none. A person without a kept body keypoint does not exist. In each frame all pairs of people
    are sorted by the distance of their centroids, the means of each person's own kept keypoints, then by their order in
    the files, and taken one to one. Scored are the keypoints of a pair that are kept on both sides; mean distance and
    shares are over all of them in the clip.

    Args:
        reference: the condition's people, one array a frame, N_t x K x 3, as fractions of the frame; N_t may be 0.
        generated: the generated clip's, likewise, by their own frame.
        keypoints: how many of the K are scored, from the first.
        confidence: kept above it.
        thresholds: of the shares; a distance equal to one counts.

    Raises:
        ValueError: an array has another shape, or there are no frames.

    Source: FlexBench evaluation document; matching by own centroids, ties by order and one mean over the clip are this
    protocol's choices.
    """
    if not reference or not generated:
        raise ValueError("a clip has no frames")
    frames = min(len(reference), len(generated))
    wanted = _side(reference[:frames], keypoints, confidence)
    found = _side(generated[:frames], keypoints, confidence)
    first, second = _match(wanted, found, frames)
    both = wanted.kept[first] & found.kept[second]
    frame_of = np.broadcast_to(wanted.frame[first, np.newaxis], both.shape)[both]
    counts = PoseCounts(
        ref_frames=len(reference),
        gen_frames=len(generated),
        frames_compared=frames,
        frames_with_ref_person=len(np.unique(wanted.frame)),
        frames_scored=len(np.unique(frame_of)),
        ref_persons=len(wanted.frame),
        gen_persons=len(found.frame),
        matched_persons=len(first),
        ref_keypoints=int(wanted.kept.sum()),
        scored_keypoints=int(both.sum()),
    )
    return _summary(_distance(wanted.points[first], found.points[second])[both], frame_of, counts, thresholds)


def _summary(
    scored: NDArray[np.float64], frame_of: NDArray[np.intp], counts: PoseCounts, thresholds: Sequence[float]
) -> PoseScore:
    number = np.bincount(frame_of, minlength=counts.frames_compared)
    total = np.bincount(frame_of, weights=scored, minlength=counts.frames_compared)
    reason = None
    if not len(scored):
        reason = NOTHING_SCORED
    elif not np.isfinite(total).all():
        reason = "the coordinates are too large for a distance"
    if reason is not None:
        return PoseScore(None, dict.fromkeys(thresholds), (None,) * counts.frames_compared, counts, reason)
    per_frame = tuple(float(t / n) if n else None for t, n in zip(total, number, strict=True))
    pck: dict[float, float | None] = {limit: float((scored <= limit).mean()) for limit in thresholds}
    return PoseScore(float(scored.mean()), pck, per_frame, counts, None)


def _side(frames: Sequence[People], keypoints: int, confidence: float) -> _Side:
    for people in frames:
        if people.ndim != 3 or people.shape[2] != 3 or people.shape[1] < keypoints:
            raise ValueError(f"a frame's people are N x K x 3 with K of {keypoints} or more, not {people.shape}")
    body = np.concatenate([np.asarray(people[:, :keypoints], dtype=np.float64) for people in frames])
    frame = np.repeat(np.arange(len(frames)), [len(people) for people in frames])
    kept = np.isfinite(body).all(axis=-1) & (body[..., 2] > confidence)
    exists = kept.any(axis=1)
    frame, body, kept = frame[exists], body[exists], kept[exists]
    points = np.where(kept[..., np.newaxis], body[..., :2], 0.0)
    with np.errstate(over="ignore"):
        centroid = points.sum(axis=1) / kept.sum(axis=1, keepdims=True)
    return _Side(frame, points, kept, centroid)


def _match(wanted: _Side, found: _Side, frames: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of people, as their places in each side."""
    edges = np.arange(frames + 1)
    starts, others = np.searchsorted(wanted.frame, edges), np.searchsorted(found.frame, edges)
    pairs: list[tuple[int, int]] = []
    for index in range(frames):
        a, b = slice(starts[index], starts[index + 1]), slice(others[index], others[index + 1])
        pairs += [(a.start + i, b.start + j) for i, j in greedy_pairs(wanted.centroid[a], found.centroid[b])]
    array = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return array[:, 0], array[:, 1]


def greedy_pairs(first: NDArray[np.float64], second: NDArray[np.float64]) -> list[tuple[int, int]]:
    """One-to-one pairs of points, nearest first; equal distances by the first side's order, then the second's.

    Args:
        first: N x 2.
        second: M x 2.

    Returns:
        min(N, M) pairs of places, in the order in which they were taken.
    """
    if len(first) == 1 and len(second) == 1:
        return [(0, 0)]
    distance = _distance(first[:, np.newaxis], second[np.newaxis])
    pairs: list[tuple[int, int]] = []
    free_first, free_second = set(range(len(first))), set(range(len(second)))
    for place in np.argsort(distance, axis=None, kind="stable"):
        i, j = divmod(int(place), len(second))
        if i in free_first and j in free_second:
            pairs.append((i, j))
            free_first.discard(i)
            free_second.discard(j)
    return pairs


def _distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Between points, of any shapes that go together."""
    with np.errstate(over="ignore", invalid="ignore"):
        gap = first - second
        distance: NDArray[np.float64] = np.hypot(gap[..., 0], gap[..., 1])
    return distance


def threshold_of(name: str) -> float | None:
    """The threshold in a metric's name: 0.05 for ``pck@0.05``; None where it has none."""
    return float(name.removeprefix("pck@")) if name.startswith("pck@") else None


def _fingerprint(params: Mapping[str, Any], runtime: Runtime) -> Mapping[str, str]:
    return {"backend": "numpy", "numpy": np.__version__}


def _share(name: str, what: str) -> Metric:
    return clip_metric(
        f"pose_{name}",
        what,
        group="pose",
        direction="higher",
        source=SOURCE,
        fingerprint=_fingerprint,
        high=1.0,
        perfect=1.0,
    )


METRICS: Mapping[str, Metric] = {
    "akd": clip_metric(
        "pose_akd",
        "average keypoint distance, as a fraction of the frame",
        group="pose",
        direction="lower",
        source=SOURCE,
        fingerprint=_fingerprint,
    ),
    "pck@0.05": _share("pck@0.05", "share of keypoints within 0.05"),
    "pck@0.10": _share("pck@0.10", "share of keypoints within 0.10"),
    "person_coverage": _share("person_coverage", "people matched, of the condition's"),
    "keypoint_coverage": _share("keypoint_coverage", "keypoints scored, of the condition's"),
}
"""The group's metrics by their names in the tables."""
