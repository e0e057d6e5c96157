"""Faults that are found in decoded clips, and sound clips in which none may be found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from inpainting_tools import (
    LOSSY,
    boxes,
    eight_bits,
    evaluate,
    filled,
    noisy,
    oracle,
    oracle_files,
    pan,
    rules,
    write_files,
)
from scipy.ndimage import gaussian_filter

from pixelgate.clips._diagnosis import Diagnosis, Turned, exchanged
from pixelgate.clips._shift import REACH, ShiftFinder
from pixelgate.io.fill import fill_geometry, fill_resize
from pixelgate.io.video import read_video

pytest.importorskip("av")

COUNT = 12


def findings(folder, generated, reference=None, masks=None, **encodings):
    """What is found in encoded clips; the generated one noisy, the reference with its box filled."""
    clip = pan(COUNT) if reference is None else reference
    masks = boxes(COUNT, *clip[0].shape[:2]) if masks is None else masks
    files = write_files(folder, generated, filled(clip, masks), masks, **encodings)
    return [finding for finding in evaluate(files, ("inpaint_mse",)).deviations if finding[0] != "truncated"]


class TestTime:
    @pytest.mark.parametrize("dropped", [0, 1, 5, 10])
    def test_a_dropped_frame_is_named(self, tmp_path, dropped):
        clip = noisy(pan(COUNT))
        ((rule, message),) = findings(tmp_path, clip[:dropped] + clip[dropped + 1 :])
        assert rule == "dropped-frame"
        assert f"from frame {dropped} on" in message
        assert "i+1" in message

    @pytest.mark.parametrize("dropped", [0, 5])
    def test_also_where_the_length_was_made_up(self, tmp_path, dropped):
        clip = noisy(pan(COUNT))
        ((rule, message),) = findings(tmp_path, clip[:dropped] + clip[dropped + 1 :] + clip[-1:])
        assert (rule, f"from frame {dropped} on" in message) == ("dropped-frame", True)

    def test_two_dropped_frames_are_counted(self, tmp_path):
        clip = noisy(pan(COUNT))
        ((rule, message),) = findings(tmp_path, clip[:4] + clip[6:])
        assert (rule, message.startswith("2 frames are missing")) == ("dropped-frame", True)

    def test_a_repeated_frame_is_another_finding(self, tmp_path):
        clip = noisy(pan(COUNT))
        ((rule, message),) = findings(tmp_path, clip[:6] + clip[5:-1])
        assert (rule, "from frame 6 on" in message) == ("repeated-frame", True)

    @pytest.mark.parametrize("kept", [slice(None, -1), slice(None, -3)])
    def test_an_end_cut_off_is_no_shift(self, tmp_path, kept):
        assert findings(tmp_path, noisy(pan(COUNT))[kept]) == []

    def test_a_still_scene_has_no_time(self, tmp_path):
        still = [pan(1)[0]] * COUNT
        assert findings(tmp_path, noisy(still)[:-1], still) == []

    def test_a_picture_moved_further_than_any_frame_is_no_shift(self, tmp_path):
        clip = pan(COUNT, 96, 120, step=(0, 3))
        assert findings(tmp_path, [np.roll(frame, -24, axis=1) for frame in noisy(clip)], clip) == []

    @pytest.mark.parametrize("size", [1.0, 4.0])
    def test_a_shift_must_make_up_for_much_of_the_error(self, size):
        """Other errors than the time's, each frame's its own; where they are larger, only a length can convince."""
        rng = np.random.default_rng(0)
        kept = np.ones((24, 24), dtype=bool)
        reference = rng.normal(100, 10, (COUNT + 1, 24, 24))
        finder = ShiftFinder()
        for index in range(COUNT):
            generated = reference[index + 1] + size * rng.normal(0, 10, (24, 24))
            finder.add(generated, reference[index], kept)
        finder.add(None, reference[COUNT], kept)
        assert (finder.find() is not None) == (size == 1.0)
        assert finder.find(surplus=1).offset == 1

    def test_a_shift_out_of_reach_is_called_no_other(self):
        rng = np.random.default_rng(0)
        start, step = rng.normal(100, 10, (2, 24, 24))
        kept = np.ones((24, 24), dtype=bool)
        finder = ShiftFinder()
        for index in range(COUNT):
            finder.add(start + 0.1 * (index + REACH + 1) * step, start + 0.1 * index * step, kept)
        assert finder.find() is None

    def test_chance_is_no_shift(self):
        """Clips that have nothing to do with their reference, seen in few cells."""
        rng = np.random.default_rng(0)
        kept = np.zeros((24, 24), dtype=bool)
        kept[:3, :5] = True
        found = 0
        for _ in range(200):
            finder = ShiftFinder()
            for _ in range(COUNT):
                finder.add(*rng.normal(100, 10, (2, 24, 24)), kept)
            finder.add(None, rng.normal(100, 10, (24, 24)), kept)
            found += finder.find(surplus=1) is not None
        assert found == 0

    def test_half_a_frame_late_is_no_shift(self, tmp_path):
        clip = [frame.astype(np.float64) for frame in pan(COUNT)]
        late = [eight_bits((clip[i] + clip[min(i + 1, COUNT - 1)]) / 2) for i in range(COUNT)]
        assert findings(tmp_path, late) == []


class TestColours:
    @pytest.mark.parametrize(
        ("order", "told"),
        [((2, 1, 0), "blue, green, red"), ((0, 2, 1), "red, blue, green"), ((1, 2, 0), "green, blue, red")],
    )
    def test_swapped_channels_are_named(self, tmp_path, order, told):
        swapped = [np.ascontiguousarray(frame[..., order]) for frame in noisy(pan(COUNT))]
        ((rule, message),) = findings(tmp_path, swapped)
        assert (rule, told in message) == ("channels-swapped", True)

    def test_a_grey_clip_has_nothing_to_swap(self, tmp_path):
        grey = [np.repeat(frame.mean(axis=2, keepdims=True), 3, axis=2).astype(np.uint8) for frame in pan(COUNT)]
        assert findings(tmp_path, noisy([frame[..., ::-1] for frame in grey]), grey) == []


class TestRange:
    @pytest.mark.parametrize(
        ("stored", "named", "told"),
        [("limited", "full", "limited range is read as full"), ("full", "limited", "full range is read as limited")],
    )
    def test_a_file_that_names_the_wrong_range(self, tmp_path, stored, named, told):
        wrong = replace(LOSSY, value_range=stored, tagged_range=named)
        ((rule, message),) = findings(tmp_path, noisy(pan(COUNT)), encoding=wrong)
        assert (rule, told in message) == ("range-mixup", True)

    def test_the_right_range_is_sound(self, tmp_path):
        right = replace(LOSSY, value_range="full")
        assert findings(tmp_path, noisy(pan(COUNT)), encoding=right) == []

    @pytest.mark.parametrize("change", [(0.8, 26), (0.92, 10), (1.1, -12), (0.859, 0), (1.0, 16), (1.164, 0)])
    def test_other_contrast_and_brightness_are_none(self, tmp_path, change):
        scale, shift = change
        assert findings(tmp_path, [eight_bits(scale * frame + shift) for frame in pan(COUNT)]) == []


class TestOrientation:
    @pytest.mark.parametrize(
        ("turn", "rule", "told"),
        [
            (lambda frame: frame[::-1, ::-1], "rotated", "turned by 180 degrees"),
            (np.rot90, "rotated", "turned by 90 degrees counter-clockwise"),
            (lambda frame: np.rot90(frame, -1), "rotated", "turned by 90 degrees clockwise"),
            (np.fliplr, "mirrored", "mirrored left to right"),
            (np.flipud, "mirrored", "mirrored upside down"),
        ],
    )
    @pytest.mark.parametrize("size", [(96, 144), (112, 112)])
    def test_a_turned_clip_is_named(self, tmp_path, turn, rule, told, size):
        clip = pan(COUNT, *size)
        ((found, message),) = findings(tmp_path, [np.ascontiguousarray(turn(frame)) for frame in noisy(clip)], clip)
        assert (found, told in message) == (rule, True)

    def test_a_symmetric_scene_is_sound(self, tmp_path):
        clip = [eight_bits((frame + frame[:, ::-1].astype(np.float64)) / 2) for frame in pan(COUNT)]
        assert findings(tmp_path, noisy(clip), clip) == []

    @pytest.mark.parametrize(
        ("generated", "reference", "wanted"),
        [
            ((96, 160), (160, 96), True),
            ((96, 160), (320, 192), True),
            ((96, 160), (96, 160), False),
            ((96, 160), (192, 320), False),
            ((100, 100), (100, 100), False),
            ((96, 160), (160, 160), False),
        ],
    )
    def test_exchanged_sides(self, generated, reference, wanted):
        assert exchanged(generated, reference) is wanted


DEGRADATIONS = {
    "noise": lambda frame, rng: frame + rng.normal(0, 20, frame.shape),
    "blur": lambda frame, rng: gaussian_filter(frame.astype(np.float64), (2.5, 2.5, 0)),
    "brighter": lambda frame, rng: frame + 20.0,
    "darker": lambda frame, rng: 255 * (frame / 255) ** 1.5,
    "flatter": lambda frame, rng: 0.7 * (frame - 128.0) + 128,
    "warmer": lambda frame, rng: frame * np.array([1.2, 1.0, 0.8]),
    "colourless": lambda frame, rng: np.repeat(frame.mean(axis=2, keepdims=True), 3, axis=2),
    "moved": lambda frame, rng: np.roll(frame, 4, axis=0),
    "black": lambda frame, rng: np.zeros(frame.shape),
    "unrelated": lambda frame, rng: rng.integers(0, 256, (12, 18, 3)).repeat(8, axis=0).repeat(8, axis=1),
}


@pytest.mark.parametrize("name", DEGRADATIONS)
def test_a_degraded_clip_is_only_a_bad_one(tmp_path, name):
    rng = np.random.default_rng(0)
    assert findings(tmp_path, [eight_bits(DEGRADATIONS[name](frame, rng)) for frame in pan(COUNT)]) == []


@pytest.mark.parametrize("crf", [32, 42])
def test_hard_compression_is_only_bad(tmp_path, crf):
    assert findings(tmp_path, pan(COUNT), encoding=replace(LOSSY, crf=crf)) == []


@pytest.mark.parametrize("name", ["01_normal", "02_mask_touches_border", "06_other_resolution_down"])
@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        (lambda clip: clip[..., ::-1], "channels-swapped"),
        (lambda clip: clip[:, ::-1, ::-1], "rotated"),
        (lambda clip: eight_bits(clip * (219 / 255) + 16), "range-mixup"),
        (lambda clip: eight_bits((clip - 16.0) * (255 / 219)), "range-mixup"),
    ],
)
def test_faults_are_found_in_real_footage(name, fault, rule):
    files = oracle_files(oracle()["cases"][name])
    clip, reference, mask = (read_video(path)[0] for path in (files.generated, *files.references.values()))
    diagnosis = Diagnosis()
    size = clip.shape[1:3]
    for generated, other, masked in zip(fault(clip), reference, mask, strict=False):
        resized = fill_resize(other, fill_geometry(other.shape[:2], size))
        keep = fill_resize(masked, fill_geometry(masked.shape[:2], size))[..., 0] < 1
        diagnosis.add(generated, resized, keep)
    assert rules(diagnosis.findings()) == [rule]


def test_nothing_is_found_without_a_kept_pixel():
    diagnosis = Diagnosis()
    for frame in pan(4):
        diagnosis.add(frame[::-1], frame, np.zeros(frame.shape[:2], dtype=bool), Turned(frame, frame[..., 0] > 999))
        diagnosis.add_later(frame, np.zeros(frame.shape[:2], dtype=bool))
    assert diagnosis.findings() == []
    assert diagnosis.inverted_mask() is None


@pytest.mark.parametrize("shape", [(1, 1), (2, 40), (23, 25)])
def test_tiny_frames_pass(shape):
    rng = np.random.default_rng(0)
    diagnosis = Diagnosis()
    for _ in range(3):
        frame = rng.integers(0, 256, (*shape, 3), dtype=np.uint8)
        diagnosis.add(frame, frame, np.ones(shape, dtype=bool))
    assert diagnosis.findings() == []


def _walk(frames: int, seed: int = 3) -> np.ndarray:
    """Small pictures of a scene that slides and changes."""
    scene = np.random.default_rng(seed).uniform(0, 255, (24, 32 + 2 * frames))
    return np.stack([scene[:, 2 * i : 2 * i + 32] for i in range(frames)])


def _found(generated: np.ndarray, reference: np.ndarray):
    from pixelgate.clips._shift import ShiftFinder

    finder = ShiftFinder()
    kept = np.ones(reference.shape[1:], dtype=bool)
    for own, wanted in zip(generated, reference, strict=True):
        finder.add(own, wanted, kept)
    return finder.find()


def test_a_clip_that_stands_still_shows_no_other_time():
    reference = _walk(20)
    for held in range(20):
        assert _found(np.repeat(reference[held : held + 1], 20, axis=0), reference) is None, held


def test_one_frame_that_stands_out_does_not_speak_for_the_others():
    reference = _walk(20)
    flash = reference.copy()
    flash[5] = 255 * (np.indices(flash[5].shape).sum(axis=0) % 2)
    assert _found(reference, flash) is None
    assert _found(flash, reference) is None


def test_a_missing_frame_is_still_found():
    reference = _walk(20)
    lost = np.delete(np.concatenate([reference, reference[-1:]]), 7, axis=0)
    found = _found(lost, reference)
    assert (found.first, found.offset) == (7, 1)
