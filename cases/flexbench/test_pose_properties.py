"""What holds for pose fidelity on people made at random."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pose_camera_tools import people

from pixelgate.errors import ProtocolError
from pixelgate.io.keypoints import Keypoints, to_unit
from pixelgate.metrics.pose import METRICS, greedy_pairs, score_pose, threshold_of
from pixelgate.metrics.registry import Runtime, get_metric

quick = settings(max_examples=60, deadline=None)
seeds = st.integers(0, 2**32 - 1)


@st.composite
def clips(draw, frames=None, most=4, low=0.0):
    """People anywhere in the frame, as fractions of it, some of their keypoints weak."""
    rng = np.random.default_rng(draw(seeds))
    count = frames or draw(st.integers(1, 5))
    made = []
    for _ in range(count):
        number = draw(st.integers(0, most))
        points = rng.uniform(0.1, 0.9, (number, 1, 2)) + rng.normal(0, 0.05, (number, 20, 2))
        made.append(np.concatenate([points, rng.uniform(low, 1.0, (number, 20, 1))], axis=-1))
    return made


def moved(clip, rng, spread=0.05):
    """The same people a little elsewhere, with other confidences."""
    found = []
    for frame in clip:
        frame = frame.copy()
        frame[..., :2] += rng.normal(0, spread, frame[..., :2].shape)
        frame[..., 2] = rng.uniform(0, 1, frame.shape[:2])
        found.append(frame)
    return found


def same(first, second):
    assert first.counts == second.counts
    assert first.reason == second.reason
    pairs = [(first.akd, second.akd), *zip(first.akd_per_frame, second.akd_per_frame, strict=True)]
    for one, other in pairs:
        assert (one is None) == (other is None)
        assert one is None or one == pytest.approx(other, rel=1e-12, abs=1e-15)
    if first.akd is not None:
        assert dict(first.pck) == pytest.approx(dict(second.pck), rel=1e-12)


@quick
@given(clips(), seeds)
def test_the_order_of_people_does_not_matter(clip, seed):
    rng = np.random.default_rng(seed)
    other = moved(clip, rng)
    turned = [frame[rng.permutation(len(frame))] for frame in clip]
    shuffled = [frame[rng.permutation(len(frame))] for frame in other]
    same(score_pose(clip, other), score_pose(turned, shuffled))


@quick
@given(clips(), seeds)
def test_sides_may_be_exchanged(clip, seed):
    other = moved(clip, np.random.default_rng(seed))
    first, second = score_pose(clip, other), score_pose(other, clip)
    assert first.counts.matched_persons == second.counts.matched_persons
    assert first.counts.scored_keypoints == second.counts.scored_keypoints
    assert first.akd == pytest.approx(second.akd) if first.akd is not None else second.akd is None


@quick
@given(clips(), seeds, st.floats(-0.5, 0.5), st.floats(-0.5, 0.5))
def test_moving_both_sides_changes_nothing(clip, seed, x, y):
    other = moved(clip, np.random.default_rng(seed))
    shift = np.array([x, y, 0.0])
    first = score_pose(clip, other)
    second = score_pose([frame + shift for frame in clip], [frame + shift for frame in other])
    assert first.counts == second.counts
    assert first.akd is None or second.akd == pytest.approx(first.akd, rel=1e-9)


@quick
@given(clips(low=0.4), st.floats(0, 0.3), st.floats(0, 2 * math.pi))
def test_moving_one_side_is_the_distance(clip, far, angle):
    """One person a frame, so that nobody can be matched with another."""
    clip = [frame[:1] for frame in clip]
    shift = np.array([far * math.cos(angle), far * math.sin(angle), 0.0])
    found = score_pose(clip, [frame + shift for frame in clip], thresholds=(0.05, 0.10, 1.0))
    if not sum(map(len, clip)):
        assert found.akd is None
        return
    assert found.akd == pytest.approx(far, abs=1e-12)
    assert found.pck[1.0] == 1
    for limit in (0.05, 0.10):
        assert found.pck[limit] == float(far < limit) or abs(far - limit) < 1e-12


@quick
@given(clips(), st.integers(100, 2000), st.integers(100, 2000), seeds)
def test_the_frames_size_does_not_matter(clip, width, height, seed):
    """Pixels of any size give the fractions that they were made from."""
    other = moved(clip, np.random.default_rng(seed))
    pixels = tuple(frame * (width, height, 1) for frame in other)
    again = to_unit(Keypoints("one.npy", pixels, "pixels", "", False, "array"), width, height)
    first, second = score_pose(clip, other), score_pose(clip, again)
    assert first.counts == second.counts
    assert first.akd is None or second.akd == pytest.approx(first.akd, rel=1e-9)


@quick
@given(clips(), seeds, st.lists(st.floats(1e-3, 2), min_size=2, max_size=6))
def test_shares_grow_with_their_threshold(clip, seed, limits):
    found = score_pose(clip, moved(clip, np.random.default_rng(seed)), thresholds=sorted(limits))
    shares = [found.pck[limit] for limit in sorted(limits)]
    if found.akd is None:
        assert set(shares) == {None}
        return
    assert all(0 <= share <= 1 for share in shares)
    assert shares == sorted(shares)
    assert score_pose(clip, clip, thresholds=(1e-9,)).pck[1e-9] in (1.0, None)


@quick
@given(clips(), seeds, st.integers(1, 18), st.floats(0, 1))
def test_counts(clip, seed, keypoints, confidence):
    other = moved(clip, np.random.default_rng(seed))
    found = score_pose(clip, other, keypoints=keypoints, confidence=confidence)
    counts = found.counts
    kept = [(frame[:, :keypoints, 2] > confidence) for frame in clip]
    assert counts.ref_keypoints == sum(int(each.sum()) for each in kept)
    assert counts.ref_persons == sum(int(each.any(axis=1).sum()) for each in kept)
    assert counts.matched_persons <= min(counts.ref_persons, counts.gen_persons)
    assert counts.scored_keypoints <= counts.ref_keypoints
    assert counts.frames_scored <= counts.frames_with_ref_person <= counts.frames_compared == len(clip)
    assert sum(value is not None for value in found.akd_per_frame) == counts.frames_scored
    assert (found.akd is None) == (counts.scored_keypoints == 0) == (found.reason is not None)
    for share in (counts.person_coverage, counts.keypoint_coverage):
        assert share is None or 0 <= share <= 1


@quick
@given(clips(), seeds, st.integers(1, 8))
def test_frames_beyond_the_shorter_clip_do_not_count(clip, seed, more):
    rng = np.random.default_rng(seed)
    other = moved(clip, rng)
    tail = [np.full((3, 20, 3), 0.9) for _ in range(more)]
    first, second = score_pose(clip, other), score_pose(clip, other + tail)
    assert first.akd == second.akd
    assert (second.counts.ref_frames, second.counts.gen_frames) == (len(clip), len(clip) + more)
    assert second.counts.frames_compared == len(clip)
    assert score_pose(clip + tail, other).akd == first.akd


@quick
@given(clips(), seeds)
def test_what_is_absent_changes_nothing(clip, seed):
    """People without a confident body keypoint, hands and faces, and NaN."""
    rng = np.random.default_rng(seed)
    other = moved(clip, rng)
    ghost = rng.uniform(0, 1, (1, 20, 3)) * (1, 1, 0.3)
    ghost[0, 18:, 2] = 1.0
    ghost[0, :4, 0] = np.nan
    ghost[0, :4, 2] = 1.0
    haunted = [np.concatenate([ghost, frame, ghost]) for frame in other]
    first, second = score_pose(clip, other), score_pose(clip, haunted)
    same(first, second)
    noisy = [frame.copy() for frame in other]
    for frame in noisy:
        frame[:, 18:, :2] = 7.0
    same(first, score_pose(clip, noisy))


@quick
@given(st.integers(0, 6), st.integers(0, 6), seeds)
def test_nearest_first(n, m, seed):
    """Against taking the smallest of what is left, again and again; points on a grid, so that many distances tie."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 4, (n, 2)).astype(float), rng.integers(0, 4, (m, 2)).astype(float)
    left = [(math.dist(a, b), i, j) for i, a in enumerate(first) for j, b in enumerate(second)]
    wanted = []
    while left:
        _, i, j = min(left)
        wanted.append((i, j))
        left = [(d, k, l) for d, k, l in left if k != i and l != j]  # noqa: E741
    assert greedy_pairs(first, second) == wanted


def test_confidence_and_thresholds_at_their_edges():
    clip = np.full((1, 1, 18, 3), 0.5)
    clip[..., 2] = 0.3
    assert score_pose(list(clip), list(clip)).reason == "no keypoint scored"
    clip[..., 2] = np.nextafter(0.3, 1)
    other = clip + np.array([0.25, 0, 0])
    found = score_pose(list(clip), list(other), thresholds=(0.25, np.nextafter(0.25, 0)))
    assert list(found.pck.values()) == [1.0, 0.0]


def test_nobody():
    nobody = [np.empty((0, 18, 3))] * 3
    clip = [frame / (640, 480, 1) for frame in people(3)]
    found = score_pose(nobody, clip)
    assert found.counts.person_coverage is None
    assert found.counts.keypoint_coverage is None
    assert found.akd is None
    assert found.counts.gen_persons == 6
    assert score_pose(clip, nobody).counts.person_coverage == 0
    assert score_pose(nobody, nobody).akd_per_frame == (None, None, None)


def test_coordinates_too_large_for_floats():
    clip = np.full((1, 1, 18, 3), 1e308)
    found = score_pose(list(clip), list(-clip * (1, 1, -1)))
    assert found.akd is None
    assert "too large" in found.reason


@pytest.mark.parametrize("bad", [[], [np.zeros((1, 17, 3))], [np.zeros((18, 3))], [np.zeros((1, 18, 2))]])
def test_other_shapes(bad):
    with pytest.raises(ValueError, match=r"N x K x 3|no frames"):
        score_pose(bad, [np.zeros((1, 18, 3))])


def test_a_long_crowded_clip_is_quick():
    """1000 frames of 8 people: scoring them takes far less than reading a single frame of video does for each."""
    import time

    rng = np.random.default_rng(0)
    clip = list(rng.uniform(0, 1, (1000, 8, 134, 3)))
    start = time.process_time()
    score_pose(clip, clip)
    assert time.process_time() - start < 3


def test_registered_with_directions():
    assert set(METRICS) == {"akd", "pck@0.05", "pck@0.10", "person_coverage", "keypoint_coverage"}
    for name in METRICS:
        metric = get_metric(f"pose_{name}")
        assert metric.direction == ("lower" if name == "akd" else "higher")
        assert metric.perfect == (0 if name == "akd" else 1)
        assert metric.high == (math.inf if name == "akd" else 1)
        assert (metric.group, metric.takes) == ("pose", "clip")
        with pytest.raises(ProtocolError):
            metric.bind({}, Runtime()).compare(None, None)
    assert [threshold_of(name) for name in ("akd", "pck@0.05", "pck@0.10")] == [None, 0.05, 0.1]
