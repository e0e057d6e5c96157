"""The comparison of an inpainted clip: generated, reference, scored region."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from depth_tools import problems
from show_tools import CONFORMANCE, LOSSLESS, has_text, left_behind, picture, written

from pixelgate.clips.evaluator import ClipFiles
from pixelgate.clips.inpainting import EVALUATOR
from pixelgate.clips.show import SHOWN_GROUPS, write_show
from pixelgate.errors import ProtocolError
from pixelgate.io.fill import fill_bilinear_support, fill_coverage, fill_geometry, fill_resize
from pixelgate.io.video import read_video
from pixelgate.io.video_write import write_video
from pixelgate.metrics.registry import Runtime

pytest.importorskip("av")

NORMAL = "01_normal"
LENGTHS = "05_frame_counts_12_vs_10"
DOWN, UP = "06_other_resolution_down", "07_other_resolution_up_thin_mask"


def case(name):
    clip, reference, mask = (CONFORMANCE / "inpaint" / f"{name}_{part}.mp4" for part in ("gen", "ref", "mask"))
    return ClipFiles(name, clip, {"reference": reference, "mask": mask})


def decoded(files):
    return [read_video(path)[0] for path in (files.generated, files.references["reference"], files.references["mask"])]


@pytest.mark.parametrize("threshold", [127, 1])
def test_the_panes_of_clips_of_one_size(threshold, tmp_path):
    files = case(NORMAL)
    generated, reference, mask = decoded(files)
    shown, (left, middle, right) = written("inpainting", files, {"mask_threshold": threshold}, tmp_path)
    assert (shown.frames, shown.fps) == (12, 8.0)
    assert np.array_equal(left, generated)
    assert np.array_equal(middle, reference)
    kept = mask.astype(int).sum(axis=3) <= 3 * threshold
    assert 0 < kept.sum() < kept.size
    assert (kept != (mask.astype(int).sum(axis=3) <= 3 * 127)).any() == (threshold == 1)
    assert np.array_equal(right[kept], generated[kept])
    assert (right[~kept] == 128).all()


@pytest.mark.parametrize("mapping", ["area", "union"])
@pytest.mark.parametrize("name", [DOWN, UP])
def test_other_sizes_are_shown_as_they_are_scored(name, mapping, tmp_path):
    files, params = case(name), {"mask_mapping": mapping}
    generated, reference, mask = decoded(files)
    _, (left, middle, right) = written("inpainting", files, params, tmp_path)
    assert np.array_equal(left, generated)
    geometry = fill_geometry(reference.shape[1:3], generated.shape[1:3])
    scored = EVALUATOR.evaluate(files, params, ["inpaint_kept_fraction"], Runtime()).details["per_frame"]
    for index, frame in enumerate(mask):
        wanted = np.clip(np.rint(fill_resize(reference[index], geometry)), 0, 255)
        assert np.array_equal(middle[index], wanted)
        masked = fill_coverage(frame.astype(int).sum(axis=2) > 3 * 127, geometry)
        if mapping == "union":
            masked |= fill_bilinear_support(frame.astype(int).sum(axis=2) > 3 * 127, geometry)
        assert (right[index][masked] == 128).all()
        assert np.array_equal(right[index][~masked], generated[index][~masked])
        assert 1 - masked.mean() == pytest.approx(scored["kept_fraction"][index], abs=1e-12)


def test_no_more_frames_than_the_shortest_clip_has(tmp_path):
    files = case(LENGTHS)
    assert [len(frames) for frames in decoded(files)] == [12, 10, 11]
    shown, panes = written("inpainting", files, {}, tmp_path)
    assert shown.frames == 10
    assert np.array_equal(panes[0], decoded(files)[0][:10])
    last_row = picture(shown.sheet)[-196:-4, -320:]
    assert np.array_equal(last_row, panes[2][9].repeat(2, axis=0).repeat(2, axis=1))
    assert 6 * 196 < picture(shown.sheet).shape[0] < 7 * 196


def test_the_sheet_has_six_frames_at_even_distances(tmp_path):
    files = case(NORMAL)
    shown, panes = written("inpainting", files, {}, tmp_path)
    sheet = picture(shown.sheet)
    assert shown.sheet == shown.video.with_suffix(".png")
    top, step = sheet.shape[0] - 6 * (192 + 4), 192 + 4
    assert 20 <= top <= 30
    column = sheet.shape[1] - 3 * 320 - 2 * 4
    assert 40 <= column <= 70
    for row, index in enumerate((0, 2, 4, 7, 9, 11)):
        start = top + row * step
        assert has_text(sheet[start : start + 192, :column])
        for place, pane in enumerate(panes):
            left = column + place * 324
            twice = pane[index].repeat(2, axis=0).repeat(2, axis=1)
            assert np.array_equal(sheet[start : start + 192, left : left + 320], twice), (index, place)
    for place in range(3):
        assert has_text(sheet[:top, column + place * 324 : column + place * 324 + 320])


def test_the_clip_to_watch_is_near_to_what_was_given_and_the_same_each_time(tmp_path):
    files = case(NORMAL)
    first, second = (write_show("inpainting", files, {}, tmp_path / name / "a.mp4") for name in ("one", "two"))
    assert first.video.read_bytes() == second.video.read_bytes()
    assert first.sheet.read_bytes() == second.sheet.read_bytes()
    frames, record = read_video(first.video)
    assert record.pixel_format == "yuv420p"
    generated = decoded(files)[0].astype(int)
    top = frames.shape[1] - 96
    assert abs(frames[:, top:, :160].astype(int) - generated).mean() < 4


def test_the_rate_is_the_generated_clips(tmp_path):
    files = case(NORMAL)
    write_video(tmp_path / "faster.mp4", decoded(files)[0], 30000 / 1001, encoding=LOSSLESS)
    shown, _ = written("inpainting", replace(files, generated=tmp_path / "faster.mp4"), {}, tmp_path)
    assert shown.fps == pytest.approx(30000 / 1001)


def test_every_missing_file_is_told_and_nothing_is_written(tmp_path):
    files = case(NORMAL)
    gone = {"reference": tmp_path / "no.mp4", "mask": tmp_path / "none.mp4"}
    with problems("not-a-file", "not-a-file"):
        write_show("inpainting", replace(files, references=gone), {}, tmp_path / "a.mp4")
    with problems("missing-reference"):
        without = {"reference": files.references["reference"]}
        write_show("inpainting", replace(files, references=without), {}, tmp_path / "a.mp4")
    assert left_behind(tmp_path) == []


def test_a_damaged_clip_leaves_what_was_there(tmp_path):
    target = tmp_path / "a.mp4"
    target.write_bytes(b"before")
    damaged = CONFORMANCE / "video" / "truncated_data.mp4"
    with problems("video-intact"):
        write_show("inpainting", replace(case(NORMAL), generated=damaged), {}, target)
    assert left_behind(tmp_path) == [target]
    assert target.read_bytes() == b"before"


def test_no_file_that_is_read_is_written_over(tmp_path):
    copy = tmp_path / "a.mp4"
    copy.write_bytes(case(NORMAL).generated.read_bytes())
    with problems("show-target"):
        write_show("inpainting", replace(case(NORMAL), generated=copy), {}, tmp_path / "." / "a.mp4")
    assert copy.read_bytes() == case(NORMAL).generated.read_bytes()


def test_groups_and_parameters_that_there_are_not(tmp_path):
    assert SHOWN_GROUPS == ("depth", "pose", "inpainting")
    with pytest.raises(ProtocolError, match="'camera'"):
        write_show("camera", case(NORMAL), {}, tmp_path / "a.mp4")
    with pytest.raises(ProtocolError, match="mask_treshold"):
        write_show("inpainting", case(NORMAL), {"mask_treshold": 3}, tmp_path / "a.mp4")
    assert left_behind(tmp_path) == []


def test_memory_does_not_grow_with_the_clips_length(tmp_path):
    def peak(length):
        clip = tmp_path / f"{length}.mp4"
        write_video(clip, (np.full((96, 160, 3), 3 * index, dtype=np.uint8) for index in range(length)), 8)
        files = ClipFiles("one", clip, {"reference": clip, "mask": clip})
        tracemalloc.start()
        write_show("inpainting", files, {}, tmp_path / "shown.mp4")
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    write_show("inpainting", case(NORMAL), {}, tmp_path / "first.mp4")
    # 40 frames more of three panes would be 5.5 MB.
    assert peak(48) - peak(8) < 1_000_000
