"""Reading clips: each conformance clip's outcome, colours, count, size and rotation, and what the record says."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from video_tools import CONFORMANCE, encode, moving

from pixelgate.errors import InputError, MissingExtra
from pixelgate.io import _video_av, _video_cache, video
from pixelgate.io.files import sha256_file
from pixelgate.io.video import open_video, probe_video, read_video
from pixelgate.io.video_write import Encoding, write_video

av = pytest.importorskip("av")

VALUES = json.loads((CONFORMANCE / "values.json").read_text())
CASES = VALUES["cases"]
LEVELS = VALUES["tolerance"]["levels"]
READ = sorted(name for name, case in CASES.items() if case["status"] != "error")
REFUSED = sorted(name for name, case in CASES.items() if case["status"] == "error")

RULES = {
    "colour matrix or range unspecified": "untagged-colour",
    "rotation applied": "rotation-applied",
    "variable frame rate": "variable-frame-rate",
    "container frame count differs from decoded count": "container-count",
    "gif: motion dimensions of VBench refuse it": "gif",
}
REFUSALS = {
    "audio_only.mp4": ("video-stream", "has no video stream; it holds audio."),
    "empty_file.mp4": ("empty-file", "is empty (0 bytes)."),
    "not_a_video.mp4": ("video-format", "cannot be opened as a video"),
    "truncated_data.mp4": ("video-intact", "7 frames of the 12 that it announces can be read."),
    "truncated_no_index.mp4": ("video-intact", "0 frames can be read."),
    "zero_frames.mp4": ("no-frame", "has a video stream without any frame."),
}
# (y, x) in the middle of the four colour patches, and the inside of the square whose grey tells the frame's number.
PATCHES = ((60, 16), (60, 48), (60, 80), (60, 112))
SMALL_PATCHES = ((15, 4), (15, 12), (15, 20), (15, 29))
SQUARE = (slice(4, 20), slice(4, 28))
SMALL_SQUARE = (slice(2, 4), slice(2, 6))


def refusal(path: Path) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        read_video(path)
    (problem,) = caught.value.problems
    assert problem.file == str(path)
    assert problem.mend
    return problem.rule, problem.found


def test_every_conformance_clip_is_tested():
    files = {path.name for path in CONFORMANCE.iterdir()} - {"values.json"}
    assert files == set(CASES)
    assert set(REFUSALS) == set(REFUSED)


@pytest.mark.parametrize("name", READ)
def test_clip_is_read_as_expected(name):
    case = CASES[name]
    frames, record = read_video(CONFORMANCE / name)
    assert frames.dtype == np.uint8
    assert frames.flags.c_contiguous
    assert frames.shape == (case["frames"], *case["size_hw_after_rotation"], 3)
    assert (record.frames, record.height, record.width) == frames.shape[:3]
    assert record.container_frames == case["container_count"]
    numerator, _, denominator = case["average_rate"].partition("/")
    assert record.fps == pytest.approx(int(numerator) / int(denominator or 1), rel=1e-15)
    assert record.time_base == case["time_base"]
    assert record.pts == tuple(case["pts"])
    assert record.pixel_format == case["pix_fmt"]
    assert (record.matrix, record.range) == (case["colorspace"], case["color_range"])
    assert record.rotation == (180 if case["rotation"] == -180 else case["rotation"])
    assert record.variable_rate is case["vfr"]
    assert [note.rule for note in record.notes] == [RULES[note] for note in case["notes"]]
    assert record.sha256 == sha256_file(CONFORMANCE / name)
    assert probe_video(CONFORMANCE / name) == record


@pytest.mark.parametrize("name", READ)
def test_pixels_are_the_expected_ones(name):
    # Byte for byte with the FFmpeg that made the values; another one may differ by the stated levels.
    frames, _ = read_video(CONFORMANCE / name)
    if hashlib.sha256(frames.tobytes()).hexdigest() != CASES[name]["rgb24_upright_sha256"]:
        assert av.library_versions["libavcodec"][0] != 62
    for y, x, wanted in patches(name):
        assert np.abs(frames[0, y, x].astype(int) - wanted).max() <= LEVELS, (name, y, x)


def patches(name: str):
    case = CASES[name]
    height, width = case["size_hw_after_rotation"]
    if "first_frame_corners_rgb" in case:
        inset = 3
        places = {"top": inset, "bottom": height - 1 - inset, "left": inset, "right": width - 1 - inset}
        for corner, wanted in case["first_frame_corners_rgb"].items():
            vertical, horizontal = corner.split("_")
            yield places[vertical], places[horizontal], wanted
    else:
        for index, wanted in enumerate(case["patch_rgb_first_frame"]):
            yield *(SMALL_PATCHES if name == "odd_size.mp4" else PATCHES)[index], wanted


@pytest.mark.parametrize("name", [name for name in READ if "index_square_level" in CASES[name]])
def test_frames_come_in_presentation_order(name):
    frames, _ = read_video(CONFORMANCE / name)
    square = SMALL_SQUARE if name == "odd_size.mp4" else SQUARE
    levels = frames[:, *square].mean(axis=(1, 2, 3))
    assert np.abs(levels - CASES[name]["index_square_level"]).max() <= LEVELS


@pytest.mark.parametrize("name", REFUSED)
def test_clip_is_refused(name):
    rule, found = REFUSALS[name]
    got = refusal(CONFORMANCE / name)
    assert got[0] == rule
    assert found in got[1]
    with pytest.raises(InputError):
        probe_video(CONFORMANCE / name)


def test_digest_of_the_pixels_is_over_the_bytes_and_then_the_shape():
    frames, record = read_video(CONFORMANCE / "odd_size.mp4")
    wanted = hashlib.sha256(frames.tobytes() + b"5x27x35x3\n").hexdigest()
    assert record.pixels_sha256 == wanted


def test_reader_streams_and_then_has_a_record():
    whole, record = read_video(CONFORMANCE / "b_frames.mp4")
    with open_video(CONFORMANCE / "b_frames.mp4", label="a clip") as reader:
        first = next(iter(reader))
        with pytest.raises(RuntimeError, match="after the last frame"):
            assert reader.record
        second = next(iter(reader))
        reader.drain()
        assert list(reader) == []
    assert np.array_equal(np.stack([first, second]), whole[:2])
    assert (reader.record.frames, reader.record.pixels_sha256) == (12, record.pixels_sha256)


def test_frames_are_the_callers_own():
    with open_video(CONFORMANCE / "b_frames.mp4") as reader:
        for frame in reader:
            frame[:] = 0
    assert reader.record.pixels_sha256 == probe_video(CONFORMANCE / "b_frames.mp4").pixels_sha256
    assert read_video(CONFORMANCE / "b_frames.mp4")[0].any()


def test_closed_reader_gives_no_short_clip():
    with open_video(CONFORMANCE / "b_frames.mp4") as reader:
        next(iter(reader))
    with pytest.raises(RuntimeError, match="closed"):
        list(reader)
    with pytest.raises(RuntimeError, match="closed"):
        reader.drain()


def test_notes_name_the_label():
    path = CONFORMANCE / "vfr.mp4"
    assert [note.subject for note in probe_video(path, label="s-1").notes] == ["s-1"]
    assert [note.subject for note in probe_video(path).notes] == [str(path)]
    assert [note.subject for note in read_video(path, label="s-2")[1].notes] == ["s-2"]


def test_nothing_is_printed(capfd):
    for name in CASES:
        with contextlib.suppress(InputError):
            read_video(CONFORMANCE / name)
    assert capfd.readouterr() == ("", "")


def test_paths_that_are_no_files(tmp_path, monkeypatch):
    assert refusal(tmp_path / "gone.mp4") == ("not-a-file", "does not exist.")
    assert refusal(tmp_path) == ("not-a-file", "is a folder and no video.")
    (tmp_path / "link.mp4").symlink_to(tmp_path / "gone.mp4")
    assert refusal(tmp_path / "link.mp4") == ("not-a-file", "is a link to a file that is not there.")
    os.mkfifo(tmp_path / "pipe.mp4")
    assert refusal(tmp_path / "pipe.mp4") == ("not-a-file", "is no regular file and no video.")
    (tmp_path / "a.mp4").write_bytes(b"x")

    def denied(*_arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    assert refusal(tmp_path / "a.mp4") == ("not-readable", "cannot be read (Permission denied).")


def test_names_of_any_kind(tmp_path):
    source = (CONFORMANCE / "single_frame.mp4").read_bytes()
    for name in ("https:x.mp4", "a b%03d.mp4", "ü-\N{SNOWMAN}.mp4", "-i.mp4", "no suffix", "UPPER.MP4"):
        (tmp_path / name).write_bytes(source)
        assert probe_video(tmp_path / name).frames == 1


def test_relative_path(tmp_path, monkeypatch):
    (tmp_path / "concat:x.mp4").write_bytes((CONFORMANCE / "single_frame.mp4").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert probe_video(Path("concat:x.mp4")).file == "concat:x.mp4"


@pytest.fixture
def without_library():
    _video_av.library.cache_clear()
    yield
    _video_av.library.cache_clear()


@pytest.mark.usefixtures("without_library")
def test_missing_or_old_library_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtra, match=r"pip install 'pixelgate\[video\]'"):
        open_video(CONFORMANCE / "single_frame.mp4")
    with pytest.raises(MissingExtra, match=r"pixelgate\[video\]"):
        write_video(tmp_path / "a.mp4", moving(2), 8)
    monkeypatch.setitem(sys.modules, "av", SimpleNamespace(__version__="16.1.0"))
    with pytest.raises(MissingExtra, match=r"PyAV 17 or newer.*16\.1\.0 is installed.*pixelgate\[video\]"):
        open_video(CONFORMANCE / "single_frame.mp4")


class TestCache:
    @pytest.fixture
    def opened(self, monkeypatch):
        _video_cache.forget()
        count: list[Path] = []

        def counting(path):
            count.append(path)
            return _video_av.open_container(path)

        monkeypatch.setattr(video, "open_container", counting)
        yield count
        _video_cache.forget()

    @pytest.fixture
    def clip(self, tmp_path):
        path = tmp_path / "clip.mp4"
        path.write_bytes((CONFORMANCE / "bt709_tagged.mp4").read_bytes())
        os.utime(path, ns=(10**18, 10**18))
        return path

    def test_a_clip_is_decoded_once_for_its_record(self, clip, opened):
        first = probe_video(clip)
        assert probe_video(clip) == first
        assert len(opened) == 1

    def test_a_reader_fills_the_cache_and_uses_it(self, clip, opened, monkeypatch):
        with open_video(clip) as reader:
            reader.drain()
        assert probe_video(clip) == reader.record
        assert len(opened) == 1
        # What is known of the clip is not computed again.
        monkeypatch.setattr(video, "sha256_file", None)
        monkeypatch.setattr(video, "make_record", None)
        with open_video(clip) as again:
            again.drain()
        assert again.record == reader.record
        assert not again._found.hashing

    def test_another_content_is_decoded(self, clip, opened):
        before = probe_video(clip)
        clip.write_bytes((CONFORMANCE / "bt601_tagged.mp4").read_bytes())
        os.utime(clip, ns=(10**18 + 1, 10**18 + 1))
        after = probe_video(clip)
        assert len(opened) == 2
        assert (before.matrix, after.matrix) == (1, 6)

    def test_a_file_written_a_moment_ago_is_not_kept(self, clip, opened):
        os.utime(clip)
        probe_video(clip)
        probe_video(clip)
        assert len(opened) == 2

    def test_a_clip_that_changes_while_it_is_read(self, clip, opened):
        with open_video(clip) as reader:
            next(iter(reader))
            os.utime(clip, ns=(10**18 + 1, 10**18 + 1))
            with pytest.raises(InputError) as caught:
                reader.drain()
        assert caught.value.problems[0].rule == "changed-while-read"
        assert probe_video(clip).frames == 12


PEAK = """
import resource, sys
from pathlib import Path
from pixelgate.io.video import open_video
with open_video(Path(sys.argv[1])) as reader:
    reader.drain()
print(reader.record.frames, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_length(tmp_path):
    # 360 frames of 480 x 640 pixels are 330 MB; what is kept may be a few frames of 0.9 MB each.
    frame = moving(1, 480, 640)[0]
    peaks = []
    for count in (12, 360):
        path = tmp_path / f"{count}.mp4"
        write_video(path, (frame for _ in range(count)), 24, encoding=Encoding(preset="ultrafast"))
        output = subprocess.run(
            [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True, timeout=60
        )
        frames, kilobytes = map(int, output.stdout.split())
        assert frames == count
        peaks.append(kilobytes / 1024)
    assert peaks[1] - peaks[0] < 16


def test_ten_bits_are_rounded_to_eight(tmp_path):
    frames = np.full((2, 32, 32, 3), 77, np.uint8)
    path = encode(tmp_path / "a.mkv", frames, "ffv1", "yuv444p10le", context={"colorspace": 1, "color_range": 1})
    got, record = read_video(path)
    assert record.pixel_format == "yuv444p10le"
    assert np.abs(got.astype(int) - 77).max() <= 1
