"""The evaluator on small encoded clips: lengths, sizes, tags, masks, what is missing and what is reported."""

from __future__ import annotations

import json
import sys
import threading
import weakref
from dataclasses import replace

import numpy as np
import pytest
from inpainting_tools import (
    EVERYTHING,
    LOSSLESS,
    LOSSY,
    ONE_THREAD,
    PIXELS,
    boxes,
    eight_bits,
    evaluate,
    filled,
    noisy,
    oracle,
    oracle_files,
    pan,
    rules,
    write,
    write_files,
)

from pixelgate.clips.evaluator import ClipFiles, evaluator
from pixelgate.clips.inpainting import EVALUATOR
from pixelgate.errors import InputError, ProtocolError
from pixelgate.io.fill import fill_coverage, fill_geometry, fill_resize
from pixelgate.io.video import VideoReader, read_video
from pixelgate.metrics.inpainting import region, score_frame
from pixelgate.metrics.registry import Runtime

pytest.importorskip("av")


def test_it_is_the_groups_evaluator():
    assert evaluator("inpainting") is EVALUATOR
    assert EVALUATOR.group == "inpainting"
    assert EVALUATOR.needs({}) == ()


def test_a_sound_clip_has_scores_and_no_finding(tmp_path):
    clip, masks = pan(), boxes()
    found = evaluate(write_files(tmp_path, noisy(clip), filled(clip, masks), masks))
    assert set(found.values) == set(PIXELS)
    assert all(measured.reason is None for measured in found.values.values())
    assert 25 < found.values["inpaint_psnr"].value < 45
    assert found.values["inpaint_kept_fraction"].value == pytest.approx(1 - masks[0].mean(), abs=0.02)
    assert (found.deviations, found.notes) == ((), ())
    assert found.record.frames == 12
    assert found.record.file.endswith("generated.mp4")
    json.dumps(found.details, allow_nan=False)


def test_only_what_is_asked_for_is_computed(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "pixelgate.models.lpips_clips", raising=False)
    found = evaluate(oracle_files(oracle()["cases"]["08_identical_files"]), ("inpaint_mae",))
    assert list(found.values) == ["inpaint_mae"]
    assert list(found.details["per_frame"]) == ["mae"]
    assert "pixelgate.models.lpips_clips" not in sys.modules


def test_decoded_pixels_are_what_is_scored(tmp_path):
    """Each frame of clips of three sizes, recomputed from the decoded arrays."""
    clip, masks = pan(6, 96, 144), boxes(6, 48, 72)
    generated = [np.ascontiguousarray(frame[8:88, :130]) for frame in noisy(clip)]
    files = write_files(tmp_path, generated, clip, masks)
    found = evaluate(files)
    shown, reference, mask = (read_video(path)[0] for path in (files.generated, *files.references.values()))
    size = shown.shape[1:3]
    for index in range(6):
        masked = mask[index].mean(axis=2) > 127
        keep = ~fill_coverage(masked, fill_geometry(masked.shape, size))
        resized = fill_resize(reference[index], fill_geometry(reference.shape[1:3], size))
        wanted = score_frame(shown[index], resized, region(keep))
        per_frame = found.details["per_frame"]
        assert {name: per_frame[name][index] for name in ("mse", "mae", "psnr", "ssim", "kept_fraction")} == {
            name: getattr(wanted, name) for name in ("mse", "mae", "psnr", "ssim", "kept_fraction")
        }


@pytest.mark.parametrize(
    ("lengths", "scored"), [((9, 12, 12), 9), ((12, 9, 12), 9), ((12, 12, 7), 7), ((12, 10, 11), 10)]
)
def test_frames_past_the_shortest_clip_are_a_deviation(tmp_path, lengths, scored):
    clip, masks = pan(), boxes()
    parts = (side[:length] for side, length in zip((noisy(clip), filled(clip, masks), masks), lengths, strict=True))
    found = evaluate(write_files(tmp_path, *parts))
    assert rules(found.deviations) == ["truncated"]
    told = "generated {}, reference {}, mask {}".format(*lengths)
    assert f"the first {scored} frames" in found.deviations[0][1]
    assert told in found.deviations[0][1]
    assert found.details["frames_scored"] == scored
    assert tuple(found.details["lengths"].values()) == lengths
    # Records are complete although the frames were not needed.
    assert found.record.frames == lengths[0]


@pytest.mark.parametrize(
    ("fps", "deviations", "notes"), [(25, ["frame-rate"], []), (24.05, [], ["fps-mismatch"]), (24, [], [])]
)
def test_another_frame_rate(tmp_path, fps, deviations, notes):
    clip, masks = pan(), boxes()
    found = evaluate(write_files(tmp_path, noisy(clip), filled(clip, masks), masks, fps=fps))
    assert (rules(found.deviations), rules(found.notes)) == (deviations, notes)
    if deviations:
        assert "25 frames per second, its reference 24" in found.deviations[0][1]


def test_a_mask_of_another_rate_is_a_note(tmp_path):
    clip, masks = pan(), boxes()
    files = write_files(tmp_path, noisy(clip), filled(clip, masks), masks)
    write(files.references["mask"], masks, 12)
    assert rules(evaluate(files).notes) == ["mask-frame-rate"]


@pytest.mark.parametrize("untagged", ["generated", "reference"])
def test_colour_without_tags_on_one_side_is_a_note(tmp_path, untagged):
    clip, masks = pan(), boxes()
    plain = replace(LOSSY, tagged=False, matrix="bt601")
    encodings = (plain, LOSSY) if untagged == "generated" else (LOSSY, plain)
    files = write_files(
        tmp_path, noisy(clip), filled(clip, masks), masks, encoding=encodings[0], reference_encoding=encodings[1]
    )
    found = evaluate(files)
    assert found.deviations == ()
    assert rules(found.notes) == ["untagged-colour-one-side"]
    assert untagged in found.notes[0][1]


def test_other_tags_are_a_note(tmp_path):
    clip, masks = pan(), boxes()
    other = replace(LOSSY, matrix="bt601", value_range="full")
    files = write_files(tmp_path, noisy(clip), filled(clip, masks), masks, encoding=other)
    found = evaluate(files)
    assert (rules(found.deviations), rules(found.notes)) == ([], ["colour-tags-differ"])
    assert found.values["inpaint_psnr"].value > 25


def test_what_is_wrong_with_the_files_is_listed_together(tmp_path):
    empty = tmp_path / "mask.mp4"
    empty.write_bytes(b"")
    files = ClipFiles("clip", tmp_path / "none.mp4", {"mask": empty})
    with pytest.raises(InputError) as caught:
        evaluate(files)
    found = {problem.rule: problem.file for problem in caught.value.problems}
    assert found == {"not-a-file": str(files.generated), "missing-reference": "", "empty-file": str(empty)}


def test_other_metrics_and_parameters_are_refused():
    files = oracle_files(oracle()["cases"]["08_identical_files"])
    for metrics, params in ((("inpaint_fvd",), {}), (("psnr",), {}), (PIXELS, {"threshold": 1})):
        with pytest.raises(ProtocolError):
            EVALUATOR.evaluate(files, params, metrics, ONE_THREAD)


def test_the_threshold_is_above_and_before_the_resize(tmp_path):
    clip = pan(7)
    grey = [np.full((96, 144, 3), 127, dtype=np.uint8) for _ in range(3)]
    grey[1][:, :72] = 128
    # A mask that is grey for the most part would be refused.
    grey += [np.full((96, 144, 3), 255, dtype=np.uint8) for _ in range(4)]
    files = write_files(tmp_path, noisy(clip), clip, grey)
    write(files.references["mask"], grey, encoding=LOSSLESS)
    assert evaluate(files).details["per_frame"]["kept_fraction"] == [1.0, 0.5, 1.0, *[0.0] * 4]
    lower = evaluate(files, params={"mask_threshold": 126})
    assert lower.details["per_frame"]["kept_fraction"] == [0.0] * 7
    assert lower.values["inpaint_psnr"].reason == "every frame fully masked"


def test_small_frames_say_why_there_is_no_value(tmp_path):
    clip = [frame[:10, :30].copy() for frame in pan(3)]
    files = write_files(tmp_path, noisy(clip), clip, [np.zeros((10, 30), dtype=bool)] * 3, encoding=LOSSLESS)
    found = evaluate(files, EVERYTHING)
    assert found.values["inpaint_ssim"].reason == "a side is below 11 pixels"
    assert found.values["inpaint_lpips"].reason == "a side is below 31 pixels"
    assert found.values["inpaint_mse"].value is not None


def test_no_kept_window_is_a_reason(tmp_path):
    clip = pan(2)
    comb = np.ones((96, 144), dtype=bool)
    comb[:, ::2] = False
    files = write_files(tmp_path, noisy(clip), clip, [comb] * 2)
    write(files.references["mask"], [comb] * 2, encoding=LOSSLESS)
    found = evaluate(files)
    assert found.values["inpaint_ssim"].reason == "no frame has an 11 x 11 window that is wholly kept"
    assert found.values["inpaint_kept_fraction"].value == 0.5


class TestInvertedMasks:
    def test_the_black_box_alone_is_kept(self, tmp_path):
        clip, masks = pan(), boxes()
        files = write_files(tmp_path, noisy(clip), filled(clip, masks), [~mask for mask in masks])
        with pytest.raises(InputError) as caught:
            evaluate(files)
        (problem,) = caught.value.problems
        assert (problem.rule, problem.file) == ("mask-inverted", str(files.references["mask"]))
        assert "invert the mask" in problem.mend
        assert "%" in problem.found

    def test_even_where_the_clip_is_the_reference(self, tmp_path):
        clip, masks = pan(), boxes()
        files = write_files(tmp_path, clip, filled(clip, masks), [~mask for mask in masks])
        with pytest.raises(InputError, match="mask-inverted"):
            EVALUATOR.evaluate(EVALUATOR.itself(files), {}, PIXELS, ONE_THREAD)

    def test_a_box_filled_with_video_black_is_found_too(self, tmp_path):
        clip, masks = pan(), boxes()
        files = write_files(tmp_path, noisy(clip), filled(clip, masks, 14), [~mask for mask in masks])
        with pytest.raises(InputError, match="mask-inverted"):
            evaluate(files)

    @pytest.mark.parametrize("inside", ["black", "bright"])
    def test_a_dark_scene_is_none(self, tmp_path, inside):
        """Night: dark outside the box in both clips; with the box filled, and with a lamp left in it."""
        masks = boxes()
        night = [eight_bits(frame * 0.05 + 2) for frame in pan()]
        lamp = [np.where(mask[..., np.newaxis], np.uint8(200), frame) for frame, mask in zip(night, masks, strict=True)]
        reference = filled(night, masks) if inside == "black" else lamp
        found = evaluate(write_files(tmp_path, noisy(lamp, 1.0), reference, masks))
        assert found.deviations == ()

    def test_one_black_frame_is_none(self, tmp_path):
        clip, masks = pan(), boxes()
        clip[4] = np.zeros_like(clip[4])
        found = evaluate(write_files(tmp_path, noisy(clip), filled(clip, masks), masks))
        assert found.deviations == ()

    def test_a_lamp_that_goes_out_is_none(self, tmp_path):
        """A reference with its region left in, and a last frame that is black outside of it."""
        clip, masks = pan(), boxes()
        clip[-1] = np.where(masks[-1][..., np.newaxis], clip[-1], np.uint8(0))
        evaluate(write_files(tmp_path, noisy(clip), clip, masks))

    def test_a_black_reference_is_none(self, tmp_path):
        masks = boxes()
        files = write_files(tmp_path, noisy(pan()), [np.zeros_like(frame) for frame in pan()], masks)
        assert evaluate(files).values["inpaint_psnr"].value < 20

    def test_an_empty_or_full_mask_is_none(self, tmp_path):
        clip = pan(4)
        for value in (False, True):
            masks = [np.full((96, 144), value)] * 4
            evaluate(write_files(tmp_path, noisy(clip), [np.zeros_like(frame) for frame in clip], masks))


def test_reading_ahead_passes_errors_on_and_leaves_no_thread(tmp_path):
    clip, masks = pan(), boxes()
    files = write_files(tmp_path, noisy(clip), filled(clip, masks), masks)
    whole = files.generated.read_bytes()
    files.generated.write_bytes(whole[: len(whole) * 2 // 3])
    before = threading.active_count()
    for threads in (1, 2, None):
        with pytest.raises(InputError, match="video-intact"):
            evaluate(files, runtime=Runtime(threads=threads))
    assert threading.active_count() == before


def test_an_error_in_the_scores_stops_the_reading(tmp_path, monkeypatch):
    def failing(*_, **__):
        raise RuntimeError("no more")

    monkeypatch.setattr("pixelgate.clips._inpainting_pass.score_frame", failing)
    clip, masks = pan(), boxes()
    files = write_files(tmp_path, noisy(clip), filled(clip, masks), masks)
    before = threading.active_count()
    for threads in (1, 2):
        with pytest.raises(RuntimeError, match="no more"):
            evaluate(files, runtime=Runtime(threads=threads))
    assert threading.active_count() == before


def test_no_frame_is_kept(tmp_path, monkeypatch):
    alive, most = weakref.WeakSet(), []

    class Frame(np.ndarray):
        """An array that can be a member of a set."""

        __hash__ = object.__hash__

    class Counting(VideoReader):
        def __iter__(self):
            for frame in super().__iter__():
                own = frame.copy().view(Frame)
                alive.add(own)
                most.append(len(alive))
                yield own

    monkeypatch.setattr("pixelgate.clips.inpainting.open_video", Counting)
    clip, masks = pan(12), boxes(12)
    files = write_files(tmp_path, noisy(clip), filled(clip, masks), masks)
    for threads in (1, 2):
        evaluate(files, runtime=Runtime(threads=threads))
    # Three frames that are worked on, and as many that are being read and that were given out.
    assert (len(most), max(most) <= 9) == (72, True)


class TestMasksThatAreNone:
    @pytest.mark.parametrize("colour", [(255, 0, 0), (100, 100, 100), (127, 127, 127)])
    def test_a_box_that_is_not_white_is_refused(self, tmp_path, colour):
        clip, masks = pan(), boxes()
        files = write_files(tmp_path, noisy(clip), filled(clip, masks), masks)
        painted = [np.where(mask[..., np.newaxis], np.uint8(colour), np.uint8(0)) for mask in masks]
        write(files.references["mask"], painted)
        with pytest.raises(InputError, match="mask-levels") as caught:
            evaluate(files)
        assert caught.value.problems[0].file == str(files.references["mask"])

    @pytest.mark.parametrize("size", [(60, 144), (96, 72)])
    def test_other_proportions_than_the_references_are_refused(self, tmp_path, size):
        clip, masks = pan(), boxes()
        files = write_files(tmp_path, noisy(clip), filled(clip, masks), masks)
        other = [np.repeat(np.uint8(255 * mask)[: size[0], : size[1], np.newaxis], 3, axis=2) for mask in masks]
        write(files.references["mask"], other)
        with pytest.raises(InputError, match="mask-size"):
            evaluate(files)

    def test_a_mask_that_masks_nothing_is_noted(self, tmp_path):
        clip, masks = pan(), boxes()
        files = write_files(tmp_path, noisy(clip), clip, [np.zeros_like(mask) for mask in masks])
        found = evaluate(files)
        assert "mask-empty" in dict(found.notes)
        assert found.values["inpaint_kept_fraction"].value == 1

    def test_a_clip_of_other_proportions_is_noted(self, tmp_path):
        clip, masks = pan(), boxes()
        files = write_files(tmp_path, [frame[:, :96] for frame in clip], filled(clip, masks), masks)
        assert "cropped" in dict(evaluate(files).notes)
