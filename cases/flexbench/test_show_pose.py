"""The comparison of a clip's people: generated RGB, the condition's limbs, the extracted ones."""

from __future__ import annotations

import numpy as np
import pytest
from depth_tools import problems
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pose_camera_tools import people, write_clip
from show_tools import left_behind, written

from pixelgate.clips._show_pose import COLOURS, LIMBS, UNMATCHED, drawn, plan
from pixelgate.clips._show_pose import people as matched
from pixelgate.clips.evaluator import ClipFiles
from pixelgate.clips.pose import EVALUATOR
from pixelgate.clips.show import write_show
from pixelgate.errors import ProtocolError
from pixelgate.io.video import read_video
from pixelgate.metrics.pose import _side
from pixelgate.metrics.registry import Runtime

pytest.importorskip("av")

SIZE = (640, 480)
OWN = (608, 352)
LEFT, RIGHT = (100, 150, 120, 300), (350, 180, 110, 280)
CONDITION = people(6, boxes=(LEFT, RIGHT))  # in a frame of 640 x 480
GENERATED = CONDITION * (OWN[0] / SIZE[0], OWN[1] / SIZE[1], 1) + (6, 3, 0)  # in one of 608 x 352
NECK, RIGHT_WRIST, LEFT_ELBOW, LEFT_WRIST = 1, 4, 6, 7


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    return write_clip(folder / "generated.mp4", 6, *OWN), write_clip(folder / "size.mp4", 6, *SIZE)


@pytest.fixture
def made(clips, tmp_path):
    """(condition, generated keypoints) -> the files."""

    def make(condition=CONDITION, generated=GENERATED):
        (tmp_path / "in").mkdir(exist_ok=True)
        np.save(tmp_path / "in" / "one_pose.npy", condition)
        np.save(tmp_path / "in" / "one.npy", generated)
        references = {"reference": tmp_path / "in" / "one_pose.npy", "size": clips[1]}
        return ClipFiles("one", clips[0], references, {"pose": (tmp_path / "in" / "one.npy",)})

    return make


def colour_at(pane, point):
    """The colour in the middle of a keypoint that is given as fractions of the frame."""
    height, width = pane.shape[:2]
    return tuple(int(v) for v in pane[int(point[1] * height), int(point[0] * width)])


def unit(points, size):
    return points[..., :2] / size


def test_the_panes_and_the_colours_of_pairs(made, tmp_path):
    files = made(generated=GENERATED[:, ::-1])
    shown, (left, middle, right) = written("pose", files, {}, tmp_path)
    assert (shown.frames, shown.fps) == (6, 8.0)
    assert np.array_equal(left, read_video(files.generated)[0])
    assert left.shape[1:3] == (OWN[1], OWN[0])
    for frame in range(6):
        for person in range(2):
            wanted, found = unit(CONDITION[frame, person], SIZE), unit(GENERATED[frame, person], OWN)
            for joint in range(18):
                assert colour_at(middle[frame], wanted[joint]) == COLOURS[person], (frame, person, joint)
                assert colour_at(right[frame], found[joint]) == COLOURS[person], (frame, person, joint)


def test_limbs_join_keypoints_and_the_rest_is_black(made, tmp_path):
    _, (_, pane, _) = written("pose", made(), {}, tmp_path)
    points = unit(CONDITION[0, 0], SIZE)
    dim = tuple(round(0.7 * level) for level in COLOURS[0])
    for first, second in ((8, 9), (9, 10), (1, 8), (3, 4)):
        assert (first, second) in LIMBS
        assert colour_at(pane[0], (points[first] + points[second]) / 2) == dim
    # Between the knees there is no limb.
    assert colour_at(pane[0], (points[9] + points[12]) / 2) == (0, 0, 0)
    assert (pane[0] == 0).all(axis=2).mean() > 0.9


def test_who_has_no_match_is_grey_and_keypoints_of_one_side_are_rings(made, tmp_path):
    generated = GENERATED.copy()
    generated[3:, 1, :, 2] = 0.1
    generated[:, 0, [RIGHT_WRIST, LEFT_ELBOW], 2] = 0.3  # Not above the limit.
    files = made(generated=generated)
    _, (_, middle, right) = written("pose", files, {}, tmp_path)
    first, second = (unit(CONDITION[:, person], SIZE) for person in range(2))
    assert colour_at(middle[2], second[2, NECK]) == COLOURS[1]
    # A ring around black, in grey.
    assert colour_at(middle[4], second[4, NECK]) == (0, 0, 0)
    assert (middle[4] == np.array(UNMATCHED)).all(axis=2).any()
    assert not (middle[2] == np.array(UNMATCHED)).all(axis=2).any()
    assert not (right == np.array(UNMATCHED)).all(axis=3).any()
    assert colour_at(middle[2], first[2, RIGHT_WRIST]) == (0, 0, 0)
    assert colour_at(middle[2], first[2, NECK]) == COLOURS[0]
    # What nobody is confident of is not drawn at all.
    x, y = (unit(generated[2, 0], OWN)[RIGHT_WRIST] * OWN).astype(int)
    assert (right[2][y - 4 : y + 4, x - 4 : x + 4] == 0).all()
    assert (right[2][:20, :20] == 0).all()
    wrist = unit(generated[2, 0], OWN)[LEFT_WRIST]
    assert colour_at(right[2], wrist) == COLOURS[0]
    near, limb = (wrist * OWN).astype(int), tuple(round(0.7 * level) for level in COLOURS[0])
    around = right[2][near[1] - 9 : near[1] + 9, near[0] - 9 : near[0] + 9]
    assert not (around == np.array(limb)).all(axis=2).any()
    words = [words for words, _ in plan(files, {}).labels[2]]
    assert words == ["extracted pose", "grey: no match", "rings: not scored"]
    assert [words for words, _ in plan(made(), {}).labels[2]] == ["extracted pose"]


def test_as_many_people_and_keypoints_as_are_scored(made):
    generated = GENERATED.copy()
    generated[2:, 1, 3:9, 2] = 0
    generated[4:, 0, :, 2] = 0
    files = made(generated=generated)
    counts = EVALUATOR.evaluate(files, {}, ["pose_akd"], Runtime()).details
    sides = [
        _side([*map(np.asarray, clip)], 18, 0.3) for clip in (unit_clip(CONDITION, SIZE), unit_clip(generated, OWN))
    ]
    for shown, persons in zip(matched(*sides, 6), ("ref_persons", "gen_persons"), strict=True):
        everyone = [person for frame in shown for person in frame]
        assert len(everyone) == counts[persons]
        assert sum(person.rank is not None for person in everyone) == counts["matched_persons"]
        assert sum(int(person.scored.sum()) for person in everyone) == counts["scored_keypoints"]


def unit_clip(points, size):
    return points / (*size, 1)


def test_no_more_frames_than_the_shorter_side_has(made, tmp_path):
    shown, panes = written("pose", made(condition=CONDITION[:4]), {}, tmp_path)
    assert shown.frames == 4
    assert panes.shape[1] == 4


def test_nobody_and_people_far_outside_are_drawn_without_a_fault(made, tmp_path):
    generated = GENERATED.copy()
    generated[:, 1, NECK, :2] = 1e9
    generated[1, :, :, 2] = 0
    _, (_, _, right) = written("pose", made(generated=generated), {}, tmp_path)
    assert (right[1] == 0).all()
    assert right[0].any()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(range(3)), st.integers(0, 2**32 - 1))
def test_the_order_of_the_generated_people_changes_nothing(order, seed):
    condition = unit_clip(people(2, boxes=(LEFT, RIGHT, (150, 160, 120, 280))), SIZE)
    generated = condition + np.array([*np.random.default_rng(seed).uniform(-0.02, 0.02, 2), 0])

    def pictures(clip):
        shown = matched(_side(list(condition), 18, 0.3), _side(list(clip), 18, 0.3), 2)
        return [drawn(frame, (120, 160)) for side in shown for frame in side]

    wanted, found = pictures(generated), pictures(generated[:, list(order)])
    assert all(np.array_equal(a, b) for a, b in zip(wanted, found, strict=True))


def test_what_is_missing_is_told_and_nothing_is_written(made, tmp_path):
    files = made()
    for lost, rule in (
        (ClipFiles("one", files.generated, {}, files.predictions), "missing-reference"),
        (ClipFiles("one", files.generated, files.references, {}), "missing-prediction"),
        (ClipFiles("one", tmp_path / "no.mp4", files.references, files.predictions), "not-a-file"),
    ):
        with problems(rule):
            write_show("pose", lost, {}, tmp_path / "out" / "a.mp4")
    with problems("prediction-length"):
        write_show("pose", made(generated=GENERATED[:5]), {}, tmp_path / "out" / "a.mp4")
    with pytest.raises(ProtocolError, match="confidnce"):
        write_show("pose", made(), {"confidnce": 1}, tmp_path / "out" / "a.mp4")
    assert not (tmp_path / "out").exists()
    assert len(left_behind(tmp_path)) == 2
