"""The comparison of a clip's depth: generated RGB, condition, and the aligned prediction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from depth_tools import ORACLE, clip_files, problems, slow_scores
from show_tools import left_behind, picture, written

from pixelgate.clips._show_depth import INVALID, PERSON, plan
from pixelgate.clips.depth import EVALUATOR
from pixelgate.clips.show import write_show
from pixelgate.errors import ProtocolError
from pixelgate.io.fill import fill_geometry, fill_resize
from pixelgate.io.video import read_video
from pixelgate.metrics.registry import Runtime

pytest.importorskip("av")

AS_GIVEN = {"person_mask": True, "person_mask_dilation": 0, "fill_holes": False}
PERSONS = "03_mp4_exclusion_mask"


def case(name, folder, shape=(6, 48, 64), masks=True, fps=8):
    """A reference case's files, with some clip as the generated one."""
    (condition,) = ORACLE.glob(f"{name}_cond.*")
    given = ORACLE / f"{name}_exclude.npz"
    return clip_files(folder, ORACLE / f"{name}_pred.npz", condition, given if masks else None, shape, fps)


def half(grey, colour):
    """A grey level half in a colour."""
    return (np.asarray(grey)[..., None].astype(int) + np.array(colour)) // 2


def levels(values):
    return np.clip(np.rint(values), 0, 255).astype(int)


def test_the_panes_are_what_is_scored(tmp_path):
    files = case(PERSONS, tmp_path, fps=12)
    prediction = np.load(ORACLE / f"{PERSONS}_pred.npz")["depth"].astype(np.float64)
    persons = np.load(ORACLE / f"{PERSONS}_exclude.npz")["mask"]
    condition = read_video(ORACLE / f"{PERSONS}_cond.mp4")[0][..., 1].astype(int)
    fit = slow_scores(prediction, condition, persons)
    shown, (left, middle, right) = written("depth", files, AS_GIVEN, tmp_path)
    assert (shown.frames, shown.fps) == (6, 12.0)
    assert np.array_equal(left, read_video(files.generated)[0])
    valid = (condition != 0) & ~persons
    assert 0 < valid.sum() < valid.size
    aligned = fit["scale"] * prediction + fit["shift"]
    for pane, depth, slack in ((middle, condition, 0), (right, levels(aligned), 1)):
        assert (abs(pane[valid].astype(int) - depth[valid][:, None]) <= slack).all()
        assert (abs(pane[persons] - half(depth[persons], PERSON)) <= slack).all()
        zero = (condition == 0) & ~persons
        assert (abs(pane[zero] - half(depth[zero], INVALID)) <= slack).all()


@pytest.mark.parametrize("name", [PERSONS, "07_one_frame_without_valid_pixel"])
def test_as_many_pixels_are_tinted_as_are_left_out(name, tmp_path):
    files, params = case(name, tmp_path), {"person_mask": True}
    details = EVALUATOR.evaluate(files, params, ["depth_mae"], Runtime()).details
    _, panes = written("depth", files, params, tmp_path)
    for pane in panes[1:].astype(int):
        red, blue = (pane[..., channel] - pane[..., 1] for channel in (0, 2))
        grey = (red == 0) & (blue == 0)
        assert grey.sum(axis=(1, 2)).tolist() == details["valid_per_frame"]
        assert (red > 40).sum(axis=(1, 2)).tolist() == details["person_mask"]["area_dilated"]


def test_another_size_and_length_of_the_condition(tmp_path):
    name = "09_other_resolution_mp4_upscaled_lengths_differ"
    files = case(name, tmp_path, (5, 48, 64), masks=False)
    shown, panes = written("depth", files, {}, tmp_path)
    condition = read_video(ORACLE / f"{name}_cond.mp4")[0][..., 1]
    assert (shown.frames, len(condition)) == (5, 6)
    geometry = fill_geometry(condition.shape[1:], (48, 64))
    for index in range(5):
        resized = fill_resize(condition[index], geometry)
        valid = resized != 0
        assert np.array_equal(panes[1][index][valid][:, 0], levels(resized)[valid])


def test_without_a_valid_pixel_there_is_no_fit_to_show(tmp_path):
    name = "06_no_valid_pixel"
    files = case(name, tmp_path)
    words = [words for words, _ in plan(files, {"person_mask": True}).labels[2]]
    assert words == ["aligned extracted depth", "no fit"]
    _, panes = written("depth", files, {"person_mask": True}, tmp_path)
    assert (panes[2] == half(0, PERSON)).all()


def test_pixels_that_are_not_finite_and_values_beyond_grey(tmp_path):
    name = "10_negative_after_alignment_and_nan_pixel"
    files = case(name, tmp_path, masks=False)
    prediction = np.load(ORACLE / f"{name}_pred.npz")["depth"]
    condition = np.load(ORACLE / f"{name}_cond.npz")["depth"]
    fit = slow_scores(prediction, condition)
    aligned = fit["scale"] * prediction.astype(np.float64) + fit["shift"]
    _, panes = written("depth", files, {}, tmp_path)
    lost = ~np.isfinite(prediction)
    assert (panes[2][lost] == half(0, INVALID)).all()
    below = (aligned < -0.5) & (condition != 0)
    assert below.any()
    assert (panes[2][below] == 0).all()


def test_a_clip_of_another_size_than_its_depth_is_stretched_to_it(tmp_path):
    files = case(PERSONS, tmp_path, (6, 96, 128))
    _, panes = written("depth", files, AS_GIVEN, tmp_path)
    assert panes.shape[2:4] == (48, 64)
    smaller = read_video(files.generated)[0].reshape(6, 48, 2, 64, 2, 3).mean(axis=(2, 4))
    assert np.corrcoef(panes[0].ravel(), smaller.ravel())[0, 1] > 0.8


def test_tiny_panes_are_enlarged_on_the_sheet(tmp_path):
    shown, panes = written("depth", case(PERSONS, tmp_path), AS_GIVEN, tmp_path)
    sheet = picture(shown.sheet)
    top = sheet.shape[0] - 6 * (240 + 4)
    assert 20 <= top <= 30
    column = sheet.shape[1] - 3 * 320 - 8
    for row in range(6):
        start = top + row * 244
        found = sheet[start : start + 240 : 5, column : column + 320 : 5]
        assert np.array_equal(found, panes[0][row])


def test_what_is_missing_is_told_and_nothing_is_written(tmp_path):
    (tmp_path / "in").mkdir()
    files = case(PERSONS, tmp_path / "in", masks=False)
    lost = replace(files, references={}, predictions={})
    with problems("missing-reference", "missing-prediction"):
        write_show("depth", lost, {}, tmp_path / "out" / "a.mp4")
    with problems("missing-prediction"):
        write_show("depth", files, AS_GIVEN, tmp_path / "out" / "a.mp4")
    with pytest.raises(ProtocolError, match="alignmnet"):
        write_show("depth", files, {"alignmnet": "none"}, tmp_path / "out" / "a.mp4")
    assert not (tmp_path / "out").exists()


def test_depth_of_another_number_of_frames_is_refused(tmp_path):
    files = case(PERSONS, tmp_path, (5, 48, 64))
    with problems("prediction-length", "prediction-length"):  # of the depth and of the masks
        write_show("depth", files, AS_GIVEN, tmp_path / "a.mp4")
    assert left_behind(tmp_path) == [files.generated]
