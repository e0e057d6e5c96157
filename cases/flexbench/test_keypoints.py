"""Keypoint files: every layout, what is refused, and how units and scale are told."""

from __future__ import annotations

import os

import numpy as np
import pytest
from pose_camera_tools import people, person

from pixelgate.errors import InputError
from pixelgate.io.keypoints import read_keypoints, to_unit

WIDTH, HEIGHT = 640, 480
CLIP = people()  # 6 frames, 2 people, 134 keypoints


@pytest.fixture
def save(tmp_path):
    def save(content, name="one_pose.npy"):
        np.save(tmp_path / name, content, allow_pickle=True)
        return tmp_path / name

    return save


def objects(items):
    array = np.empty(len(items), dtype=object)
    for index, item in enumerate(items):
        array[index] = item
    return array


def refused(rule, *args, **options):
    with pytest.raises(InputError) as caught:
        read_keypoints(*args, **options)
    (problem,) = caught.value.problems
    assert problem.rule == rule, problem
    assert problem.mend
    return str(problem)


def same(found, wanted=CLIP):
    assert len(found.frames) == len(wanted)
    for ours, theirs in zip(found.frames, wanted, strict=True):
        assert ours.dtype == np.float64
        np.testing.assert_allclose(ours, theirs[:, : ours.shape[1]], rtol=0, atol=1e-4)


BODIES = [
    {
        "bodies": {
            "candidate": (frame[:, :18, :2] / (WIDTH, HEIGHT)).reshape(-1, 2),
            "subset": np.arange(36.0).reshape(2, 18),
        },
        "hands": np.zeros((4, 21, 2)),
        "faces": np.zeros((2, 68, 2)),
    }
    for frame in CLIP
]
LAYOUTS = {
    "array": CLIP,
    "array-float32": CLIP.astype(np.float32),
    "array-fortran": np.asfortranarray(CLIP),
    "array-body-only": CLIP[:, :, :18],
    "array-as-objects": CLIP.astype(object),
    "frames": objects(list(CLIP)),
    "frames-lists": objects([frame.tolist() for frame in CLIP]),
    "frames-in-a-list": np.array(None, dtype=object),
    "frames-dict": objects([{"keypoints": frame[..., :2], "scores": frame[..., 2]} for frame in CLIP]),
    "frames-dict-3": objects([{"keypoints": frame} for frame in CLIP]),
}
LAYOUTS["frames-in-a-list"][()] = list(CLIP)


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name, save):
    content = LAYOUTS[name]
    found = read_keypoints(save(content), allow_pickle=content.dtype == object)
    same(found)
    assert found.units == "pixels"
    assert "above 2" in found.evidence
    assert not found.unclear


def test_one_person_without_an_axis_of_people(save):
    same(read_keypoints(save(CLIP[:, 0])), CLIP[:, :1])
    same(read_keypoints(save(objects(list(CLIP[:, 0]))), allow_pickle=True), CLIP[:, :1])
    dicts = objects([{"keypoints": frame[0, :, :2], "scores": frame[0, :, 2]} for frame in CLIP])
    same(read_keypoints(save(dicts), allow_pickle=True), CLIP[:, :1])


def test_confidences_apart(save):
    points, scores = save(CLIP[..., :2]), save(CLIP[..., 2], "one_scores.npy")
    same(read_keypoints(points, scores))
    same(read_keypoints(save(CLIP[:, 0, :, :2]), save(CLIP[:, 0, :, 2], "one_scores.npy")), CLIP[:, :1])
    frames = save(objects([frame[..., :2] for frame in CLIP]))
    same(read_keypoints(frames, save(objects(list(CLIP[..., 2])), "one_scores.npy"), allow_pickle=True))


def test_bodies_of_the_detector(save):
    content = [dict(frame) for frame in BODIES]
    subset = content[0]["bodies"]["subset"].copy()
    subset[1, 4] = -1
    content[0]["bodies"] = {**content[0]["bodies"], "subset": subset}
    found = read_keypoints(save(objects(content)), allow_pickle=True)
    assert (found.units, found.layout, found.unclear) == ("normalised", "frames-bodies", False)
    assert found.frames[0][1, 4, 2] == 0
    assert found.frames[0][..., 2].sum() == 35
    np.testing.assert_allclose(found.frames[2][..., :2] * (WIDTH, HEIGHT), CLIP[2, :, :18, :2])
    np.testing.assert_allclose(to_unit(found, 7, 9)[2][..., :2] * (WIDTH, HEIGHT), CLIP[2, :, :18, :2])


def test_bodies_in_pixels_against_the_definition_are_told(save):
    content = [
        {"bodies": {"candidate": frame[:, :18, :2].reshape(-1, 2), "subset": np.arange(36.0).reshape(2, 18)}}
        for frame in CLIP
    ]
    found = read_keypoints(save(objects(content)), allow_pickle=True)
    assert found.units == "pixels"
    assert found.unclear
    assert "although" in found.evidence


def test_nobody_and_changing_numbers_of_people(save):
    frames = [CLIP[0], CLIP[1, :1], np.empty((0, 134, 3)), [], None, np.array([])]
    found = read_keypoints(save(objects(frames)), allow_pickle=True)
    assert [len(frame) for frame in found.frames] == [2, 1, 0, 0, 0, 0]
    empty = {"keypoints": np.empty((0, 134, 2)), "scores": np.empty((0, 134))}
    dicts = [{"keypoints": CLIP[0, ..., :2], "scores": CLIP[0, ..., 2]}, empty, None]
    assert [len(frame) for frame in read_keypoints(save(objects(dicts)), allow_pickle=True).frames] == [2, 0, 0]
    nobody = {"bodies": {"candidate": np.empty((0, 2)), "subset": np.empty((0, 18))}}
    found = read_keypoints(save(objects([BODIES[0], nobody])), allow_pickle=True)
    assert [len(frame) for frame in found.frames] == [2, 0]
    found = read_keypoints(save(objects([[], None])), allow_pickle=True)
    assert (found.units, found.unclear) == ("unknown", True)
    assert [len(frame) for frame in to_unit(found, 640, 480)] == [0, 0]
    found = read_keypoints(save(np.empty((4, 0, 134, 3))))
    assert [len(frame) for frame in found.frames] == [0] * 4


def test_what_is_no_keypoint_gets_no_confidence(save):
    clip = CLIP.copy()
    clip[0, 0, 0, 0] = np.nan
    clip[0, 0, 1, 1] = np.inf
    clip[0, 0, 2, 2] = np.nan
    clip[0, 0, 3, :2] = -1
    clip[0, 0, 4, 0] = -1  # one coordinate alone is beside the frame
    clip[0, 0, 5, 2] = -np.inf
    found = read_keypoints(save(clip))
    assert np.isfinite(found.frames[0]).all()
    assert found.frames[0][0, :6, 2].tolist() == [0, 0, 0, 0, 0.9, 0]
    np.testing.assert_array_equal(found.frames[1], clip[1])


def test_pickles_are_read_on_request_alone(save):
    path = save(LAYOUTS["frames-dict"])
    message = refused("keypoints-pickle", path)
    assert "--bench-allow-pickle" in message
    assert "--allow-pickle" in message
    assert "numpy.save(path, array)" in message
    points, scores = save(CLIP[..., :2]), save(objects(list(CLIP[..., 2])), "one_scores.npy")
    assert "one_scores.npy" in refused("keypoints-pickle", points, scores)


class _Attack:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


def test_programs_are_never_run(save, tmp_path):
    mark = tmp_path / "ran"
    path = save(objects([{"keypoints": CLIP[0], "note": _Attack(mark)}]))
    refused("keypoints-pickle", path)
    assert f"{os.system.__module__}.system" in refused("pickle-global", path, allow_pickle=True)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("rule", "content"),
    [
        ("keypoints-empty", CLIP[:0]),
        ("keypoints-empty", np.empty(0)),
        ("keypoints-empty", objects([])),
        ("keypoints-layout", np.float64(3)),
        ("keypoints-layout", CLIP[0, 0]),
        ("keypoints-layout", CLIP[np.newaxis]),
        ("keypoints-layout", CLIP[..., :1]),
        ("keypoints-layout", np.concatenate([CLIP, CLIP[..., :1]], axis=-1)),
        ("keypoints-layout", objects([CLIP[0], BODIES[0]])),
        ("keypoints-layout", objects([CLIP])),
        ("keypoints-layout", objects([[[1.0, 2.0, 3.0], [1.0, 2.0]]])),
        ("keypoints-layout", objects([{"joints": CLIP[0]}])),
        ("keypoints-layout", objects([{"bodies": CLIP[0]}])),
        ("keypoints-layout", objects([{"bodies": {"candidate": np.ones((35, 2)), "subset": np.ones((2, 18))}}])),
        ("keypoints-layout", np.array({"keypoints": CLIP})),
        ("keypoints-subset", objects([{"bodies": {"candidate": np.ones((36, 2)), "subset": np.ones((2, 18))}}])),
        ("keypoints-dtype", CLIP.astype(str)),
        ("keypoints-dtype", CLIP.astype(complex)),
        ("keypoints-dtype", CLIP > 3),
        ("keypoints-dtype", objects(["frame", "frame"])),
        ("keypoints-count", CLIP[:, :, :17]),
        ("keypoints-count", CLIP[:, :, :1]),
        ("keypoints-count", CLIP[:, :, :25]),
        ("keypoints-count", CLIP[:, :, :133]),
        ("keypoints-count", objects([CLIP[0], CLIP[1, :, :18]])),
        ("keypoints-confidence", CLIP[..., :2]),
        ("keypoints-confidence", objects([{"keypoints": CLIP[0, ..., :2]}])),
        ("keypoints-confidence", objects([{"keypoints": CLIP[0, ..., :2], "scores": CLIP[0, :1, :, 2]}])),
    ],
)
def test_refused(rule, content, save):
    message = refused(rule, save(content), allow_pickle=True)
    assert "one_pose.npy" in message


def test_known_orders_of_other_models_are_named(save):
    assert "COCO-WholeBody" in refused("keypoints-count", save(CLIP[:, :, :133]))
    assert "COCO's 17" in refused("keypoints-count", save(CLIP[:, :, :17]))


def test_confidences_that_do_not_fit(save):
    points = save(CLIP[..., :2])
    wrong = [CLIP[:-1, ..., 2], CLIP[:, :1, :, 2], CLIP[..., :18, 2], CLIP[..., 2, np.newaxis], np.float64(1)]
    for content in wrong:
        message = refused("keypoints-confidence", points, save(content, "one_scores.npy"))
        assert "one_scores.npy" in message
    refused("keypoints-dtype", points, save(CLIP[..., 2].astype(str), "one_scores.npy"))
    whole = save(CLIP)
    assert "others" in refused("keypoints-confidence", whole, save(CLIP[..., 2] / 2, "one_scores.npy"))
    same(read_keypoints(whole, save(CLIP[..., 2], "one_scores.npy")))


def test_damaged_files(save, tmp_path):
    path = save(CLIP)
    whole = path.read_bytes()
    for end in (0, 5, 60, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(InputError, match=r"one_pose\.npy"):
            read_keypoints(path)
    refused("not-a-file", tmp_path / "none.npy")


@pytest.mark.parametrize(
    ("clip", "units", "unclear"),
    [
        (CLIP, "pixels", False),
        (CLIP / (WIDTH, HEIGHT, 1), "normalised", False),
        (CLIP / (WIDTH, HEIGHT, 1) + (0.5, 0.2, 0), "normalised", False),  # beyond the frame's edge
        (CLIP / (WIDTH, HEIGHT, 1) + (1.1, 0.2, 0), "normalised", True),  # farther than a person may be
        (CLIP * (1, 1, 0), "unknown", True),
        (CLIP * (1, 1, 0.1), "pixels", False),  # nothing above 0.3: what there is tells
        (np.where([True, True, False], -CLIP, CLIP), "pixels", False),
    ],
)
def test_units(clip, units, unclear, save):
    found = read_keypoints(save(clip))
    assert (found.units, found.unclear) == (units, unclear)


def test_weak_keypoints_do_not_decide_the_units(save):
    clip = CLIP / (WIDTH, HEIGHT, 1)
    clip[0, 0, 3] = (400, 300, 0.05)
    assert read_keypoints(save(clip)).units == "normalised"


def test_fractions(save):
    wanted = CLIP / (WIDTH, HEIGHT, 1)
    for stored in (CLIP, wanted):
        found = to_unit(read_keypoints(save(stored)), WIDTH, HEIGHT)
        np.testing.assert_allclose(np.stack(found), wanted, rtol=0, atol=1e-12)


SIZES = [(1216, 704), (640, 480), (320, 240), (64, 64)]


def standing(width, height, share=0.6, left=0.3, top=0.2, frames=4):
    """A person in a frame of that size, in pixels; its height is a share of the frame's."""
    one = person(left * width, top * height, 0.4 * share * height, share * height, keypoints=134)
    return np.broadcast_to(one, (frames, 1, 134, 3))


@pytest.mark.parametrize("size", SIZES)
def test_normalised_twice(size, save):
    width, height = size
    twice = standing(*size) / (width**2, height**2, 1)
    with pytest.raises(InputError, match="normalised twice") as caught:
        to_unit(read_keypoints(save(twice)), width, height)
    (problem,) = caught.value.problems
    assert problem.rule == "keypoints-scale"
    assert f"{width} x {height}" in problem.found
    assert "pixels of" in problem.found
    content = [{"bodies": {"candidate": frame[0, :18, :2], "subset": np.arange(18.0)[np.newaxis]}} for frame in twice]
    with pytest.raises(InputError, match="normalised twice"):
        to_unit(read_keypoints(save(objects(content)), allow_pickle=True), width, height)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("unit", [True, False])
def test_a_tiny_person_in_the_corner_is_no_such_fault(size, unit, save):
    """Ten pixels tall, its head at the frame's very corner: smaller than any network finds."""
    width, height = size
    clip = standing(width, height, share=10 / height, left=0, top=0)
    stored = clip / (width, height, 1) if unit else clip
    found = to_unit(read_keypoints(save(stored)), width, height)
    np.testing.assert_allclose(np.stack(found), clip / (width, height, 1), rtol=0, atol=1e-12)


def test_a_few_keypoints_in_the_corner_are_no_such_fault(save):
    clip = standing(WIDTH, HEIGHT) / (WIDTH, HEIGHT, 1)
    clip[..., 2] = 0.1
    clip[0, 0, :3] = (0.001, 0.001, 0.9)
    assert len(to_unit(read_keypoints(save(clip)), WIDTH, HEIGHT)) == 4
    clip[0, 0, :4] = (0.001, 0.001, 0.9)
    with pytest.raises(InputError, match="keypoints-scale"):
        to_unit(read_keypoints(save(clip)), WIDTH, HEIGHT)


def test_one_person_elsewhere_is_enough(save):
    clip = np.concatenate([standing(WIDTH, HEIGHT) / (WIDTH**2, HEIGHT**2, 1)] * 2, axis=1)
    clip[3, 1] = standing(WIDTH, HEIGHT)[0, 0] / (WIDTH, HEIGHT, 1)
    assert len(to_unit(read_keypoints(save(clip)), WIDTH, HEIGHT)) == 4


def test_keypoints_of_a_larger_frame(save):
    found = read_keypoints(save(standing(1920, 1080)))
    with pytest.raises(InputError, match="larger frame"):
        to_unit(found, 192, 108)
    assert len(to_unit(found, 1216, 704)) == 4  # partly beyond the edge: may be
