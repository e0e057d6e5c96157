"""Writing clips: what comes back when they are read, and that no half-written file is ever left."""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest
from video_tools import moving

from pixelgate.errors import InputError
from pixelgate.io.video import probe_video, read_video
from pixelgate.io.video_write import Encoding, VideoWriter, write_video

av = pytest.importorskip("av")

COLOURS = ((255, 0, 0), (0, 255, 0), (0, 0, 255), (200, 120, 40))
CAN_ROTATE = hasattr(av.video.stream.VideoStream, "set_display_rotation")


def patches(count: int = 5) -> np.ndarray:
    frames = np.zeros((count, 64, 96, 3), np.uint8)
    for index, colour in enumerate(COLOURS):
        frames[:, :, 24 * index : 24 * index + 24] = colour
    return frames


def noise(count: int = 6, height: int = 27, width: int = 35) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 256, (count, height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize("name", ["a.mp4", "a.mov", "a.mkv"])
@pytest.mark.parametrize("size", [(27, 35), (32, 48), (1, 1), (2, 3)])
def test_lossless_clips_come_back_as_they_were(tmp_path, name, size):
    frames = noise(4, *size)
    write_video(tmp_path / name, frames, 12, encoding=Encoding(lossless=True))
    got, record = read_video(tmp_path / name)
    assert np.array_equal(got, frames)
    assert record.notes == ()
    assert record.fps == 12


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv"])
@pytest.mark.parametrize("value_range", ["limited", "full"])
@pytest.mark.parametrize(("matrix", "number"), [("bt709", 1), ("bt601", 6)])
def test_colours_come_back_under_every_tag(tmp_path, name, matrix, number, value_range):
    write_video(tmp_path / name, patches(), 8, encoding=Encoding(matrix=matrix, value_range=value_range))
    got, record = read_video(tmp_path / name)
    assert (record.matrix, record.range) == (number, 2 if value_range == "full" else 1)
    assert record.notes == ()
    assert np.abs(got[:, 32, 12::24].astype(int) - COLOURS).max() <= 2


def test_the_default_is_what_players_take(tmp_path):
    write_video(tmp_path / "a.mp4", moving(9), Fraction(24000, 1001))
    record = probe_video(tmp_path / "a.mp4")
    assert (record.pixel_format, record.matrix, record.range, record.frames) == ("yuv420p", 1, 1, 9)
    assert record.fps == pytest.approx(24000 / 1001, rel=1e-12)
    assert not record.variable_rate
    head = (tmp_path / "a.mp4").read_bytes()
    assert head.index(b"moov") < head.index(b"mdat")


def test_odd_sides_keep_their_size(tmp_path):
    frames = np.full((3, 27, 35, 3), (200, 120, 40), np.uint8)
    write_video(tmp_path / "a.mp4", frames, 8)
    got, record = read_video(tmp_path / "a.mp4")
    assert (got.shape, record.pixel_format) == (frames.shape, "yuv444p")
    assert np.abs(got.astype(int) - frames).max() <= 2


def test_untagged_and_wrongly_tagged_clips_for_tests(tmp_path):
    write_video(tmp_path / "untagged.mp4", patches(), 8, encoding=Encoding(tagged=False))
    got, record = read_video(tmp_path / "untagged.mp4")
    assert (record.matrix, record.range) == (2, 0)
    assert [note.rule for note in record.notes] == ["untagged-colour"]
    # BT.709 read as BT.601: the conformance clip bt709_untagged.mp4 has the same patch, 23 levels off.
    assert np.abs(got[0, 32, 12].astype(int) - (232, 0, 1)).max() <= 2
    write_video(tmp_path / "mixed.mp4", patches(), 8, encoding=Encoding(tagged_range="full"))
    mixed, record = read_video(tmp_path / "mixed.mp4")
    assert record.range == 2
    # Limited values shown as they are: black at 16 and white at 235.
    assert abs(int(mixed[0, 32, 12, 1]) - 16) <= 3


@pytest.mark.skipif(not CAN_ROTATE, reason="this PyAV cannot write a display matrix")
@pytest.mark.parametrize("lossless", [False, True])
@pytest.mark.parametrize("rotation", [90, -90, 180])
def test_a_rotation_is_for_the_reader_to_apply(tmp_path, rotation, lossless):
    frames = moving(3)
    write_video(tmp_path / "a.mp4", frames, 8, encoding=Encoding(rotation=rotation, lossless=lossless))
    got, record = read_video(tmp_path / "a.mp4")
    assert record.rotation == rotation
    turned = np.rot90(frames, rotation // 90, axes=(1, 2))
    assert got.shape == turned.shape
    # Lossy blocks of saturated colours bleed a little; a wrong turn would be off by about 85 levels.
    assert np.abs(got.astype(int) - turned).mean() <= (0 if lossless else 12)


def test_times_make_a_variable_rate(tmp_path):
    write_video(tmp_path / "a.mp4", moving(5), 8, times=[0, 1, 4, 5, 9])
    record = probe_video(tmp_path / "a.mp4")
    assert record.pts == (0.0, 0.125, 0.5, 0.625, 1.125)
    assert [note.rule for note in record.notes] == ["variable-frame-rate"]


def test_the_same_frames_give_the_same_file(tmp_path):
    for name in ("a.mp4", "b.mp4"):
        write_video(tmp_path / name, moving(12), 8)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()


def test_views_and_readonly_frames_can_be_written(tmp_path):
    frames = noise(3, 32, 48)
    frames.flags.writeable = False
    write_video(tmp_path / "a.mkv", frames[:, ::-1, ::-1], 8, encoding=Encoding(lossless=True))
    assert np.array_equal(read_video(tmp_path / "a.mkv")[0], frames[:, ::-1, ::-1])


class TestWhole:
    def test_nothing_appears_before_the_end(self, tmp_path):
        path = tmp_path / "new" / "a.mp4"
        with VideoWriter(path, 8) as writer:
            for frame in moving(4):
                writer.write(frame)
                assert not path.exists()
        assert (probe_video(path).frames, writer.count) == (4, 4)
        assert [entry.name for entry in path.parent.iterdir()] == ["a.mp4"]
        writer.close()
        assert probe_video(path).frames == 4

    def test_an_error_leaves_the_old_file(self, tmp_path):
        path = tmp_path / "a.mp4"
        path.write_bytes(b"old")

        def frames():
            yield moving(1)[0]
            raise KeyError

        with pytest.raises(KeyError):
            write_video(path, frames(), 8)
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["a.mp4"]

    @pytest.mark.parametrize(
        ("frames", "message"),
        [
            ([], "0 frames were written; 1 are needed"),
            ([np.zeros((8, 8, 3), np.uint8), np.zeros((8, 10, 3), np.uint8)], r"frames are \(8, 8\); got \(8, 10\)"),
            ([np.zeros((8, 8), np.uint8)], "a frame is uint8, height x width x 3"),
            ([np.zeros((8, 8, 3))], "a frame is uint8, height x width x 3; got float64"),
            ([np.zeros((0, 8, 3), np.uint8)], "a frame is uint8"),
        ],
    )
    def test_wrong_frames_leave_nothing(self, tmp_path, frames, message):
        with pytest.raises(ValueError, match=message):
            write_video(tmp_path / "a.mp4", frames, 8)
        assert os.listdir(tmp_path) == []

    def test_no_shorter_clip_after_an_error(self, tmp_path):
        writer = VideoWriter(tmp_path / "a.mp4", 8)
        writer.write(np.zeros((8, 8, 3), np.uint8))
        with pytest.raises(ValueError, match="got"):
            writer.write(np.zeros((8, 10, 3), np.uint8))
        with pytest.raises(ValueError, match="no frame can be added"):
            writer.write(np.zeros((8, 8, 3), np.uint8))
        with pytest.raises(ValueError, match="an error came before"):
            writer.close()
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("count", [1, 3])
    def test_frames_and_times_must_agree(self, tmp_path, count):
        with pytest.raises(ValueError, match="than the 2 times" if count == 3 else "2 are needed"):
            write_video(tmp_path / "a.mp4", moving(count), 8, times=[0, 3])
        assert os.listdir(tmp_path) == []

    def test_a_folder_that_cannot_be_written(self, tmp_path):
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(InputError) as caught:
            write_video(tmp_path / "file" / "a.mp4", moving(2), 8)
        assert caught.value.problems[0].rule == "not-writable"
        (tmp_path / "a.mp4").mkdir()
        with pytest.raises(InputError) as caught:
            write_video(tmp_path / "a.mp4", moving(2), 8)
        assert caught.value.problems[0].rule == "not-writable"
        assert sorted(os.listdir(tmp_path)) == ["a.mp4", "file"]

    @pytest.mark.parametrize(
        ("name", "fps", "options", "message"),
        [
            ("a.wmv", 8, {}, "ends in .mp4, .mov, .mkv"),
            ("a.mp4", 0, {}, "above 0"),
            ("a.mp4", 8, {"times": [0, 2, 2]}, "must increase"),
            ("a.mkv", 8, {"encoding": Encoding(rotation=90)}, "no display matrix"),
        ],
    )
    def test_wrong_choices(self, tmp_path, name, fps, options, message):
        with pytest.raises(ValueError, match=message):
            VideoWriter(tmp_path / name, fps, **options)
