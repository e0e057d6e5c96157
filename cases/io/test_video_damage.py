"""Clips that are damaged, cut short, odd or no clips at all: refused with the reason, or read with a note."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from video_tools import CONFORMANCE, encode, joined, moving

from pixelgate.errors import InputError
from pixelgate.io._video_record import Container, Findings, make_record
from pixelgate.io.video import open_video, probe_video, read_video
from pixelgate.io.video_write import Encoding, write_video

av = pytest.importorskip("av")

FRAMES = moving(24)
CONTAINERS = {
    "a.mp4": ("libx264", "yuv420p", {}),
    "fragments.mp4": ("libx264", "yuv420p", {"movflags": "frag_keyframe+empty_moov"}),
    "a.mkv": ("libx264", "yuv420p", {}),
    "a.webm": ("libvpx-vp9", "yuv420p", {}),
    "a.avi": ("mjpeg", "yuvj420p", {}),
    "a.ts": ("libx264", "yuv420p", {}),
    "a.gif": ("gif", "rgb8", {}),
    "a.h264": ("libx264", "yuv420p", {}),
}


@pytest.fixture(scope="module")
def clips(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("clips")
    return {
        name: encode(
            folder / name,
            FRAMES,
            codec,
            pixel_format,
            container=container,
            **({"g": "6"} if codec == "libx264" else {}),
        )
        for name, (codec, pixel_format, container) in CONTAINERS.items()
    }


def problem(path: Path) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        read_video(path)
    (found,) = caught.value.problems
    return found.rule, found.found


def rules(path: Path) -> list[str]:
    return [note.rule for note in probe_video(path).notes]


@pytest.mark.parametrize("name", CONTAINERS)
def test_whole_clips_of_every_container_are_read(clips, name):
    frames, record = read_video(clips[name])
    assert frames.shape == FRAMES.shape
    assert set(rules(clips[name])) <= {"untagged-colour", "gif", "presentation-times"}
    assert ("presentation-times" in rules(clips[name])) is (name == "a.h264")
    assert record.pts.count(None) == (24 if name == "a.h264" else 0)


@pytest.mark.parametrize("share", [0.3, 0.55, 0.8, 0.97])
@pytest.mark.parametrize("name", list(CONTAINERS))
def test_a_clip_that_was_cut_short_is_refused(clips, name, share, tmp_path):
    data = clips[name].read_bytes()
    length = int(len(data) * share)
    # A transport stream says neither how long it is nor where it ends: only a packet that is not whole tells.
    length -= (length % 188 == 0) if name == "a.ts" else 0
    path = tmp_path / name
    path.write_bytes(data[:length])
    rule, found = problem(path)
    assert rule == "video-intact"
    assert "can be read" in found


def test_a_cut_between_two_frames_is_seen(tmp_path):
    # The data that are there are sound, and the decoder is silent: only the index tells that more was to come.
    path = tmp_path / "a.mp4"
    write_video(path, FRAMES, 8)
    with av.open(str(path)) as container:
        place = container.streams.video[0].index_entries[15].pos
    path.write_bytes(path.read_bytes()[:place])
    rule, found = problem(path)
    assert rule == "video-intact"
    assert found.startswith("ends early: its index names data beyond the end of the file, of 9 frames; ")
    assert found.endswith(" frames of the 24 that it announces can be read.")


def test_the_last_frame_alone_is_missed(clips, tmp_path):
    path = tmp_path / "a.mkv"
    write_video(path, FRAMES, 8, encoding=Encoding(lossless=True))
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * 0.97)])
    rule, found = problem(path)
    assert (rule, found) == (
        "video-intact",
        "ends early: 3.000 seconds are announced, and the frames end at 2.875; 23 frames can be read.",
    )


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv"])
def test_damaged_data_are_seen(clips, name, tmp_path):
    data = bytearray(clips[name].read_bytes())
    with av.open(str(clips[name])) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
    payload = bytes(max(packets[6:], key=lambda packet: packet.size))
    start = bytes(data).index(payload)
    middle = start + len(payload) // 2
    data[middle : middle + 40] = b"\xff" * 40
    path = tmp_path / name
    path.write_bytes(data)
    rule, found = problem(path)
    assert rule == "video-intact"
    assert "data" in found


def test_what_is_no_clip_is_refused_whatever_its_name(clips, tmp_path):
    Image.fromarray(FRAMES[0]).save(tmp_path / "picture.png")
    (tmp_path / "a.mp4").write_bytes(clips["a.mp4"].read_bytes())
    contents = {
        "picture.mp4": (tmp_path / "picture.png").read_bytes(),
        "list.m3u8": b"#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\na.mp4\n#EXT-X-ENDLIST\n",
        "list.ffconcat": b"ffconcat version 1.0\nfile a.mp4\n",
        "text.ans": b"hello\n" * 100,
        "sdp.mp4": b"v=0\no=- 0 0 IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        assert problem(tmp_path / name)[0] == "video-format", name


def test_a_codec_without_a_decoder_is_named(tmp_path):
    path = encode(tmp_path / "a.avi", FRAMES[:2], "mjpeg", "yuvj420p")
    path.write_bytes(path.read_bytes().replace(b"MJPG", b"????"))
    assert problem(path)[0] == "video-codec"


def test_a_change_of_size_is_refused(tmp_path):
    path = joined(tmp_path / "a.avi", [(32, 32, "yuvj420p"), (48, 32, "yuvj420p")])
    assert problem(path) == (
        "constant-size",
        "changes its size: frame 3 (counted from 0) is 32 x 48 pixels, the ones before are 32 x 32.",
    )


def test_no_shorter_clip_after_an_error(tmp_path):
    reader = open_video(joined(tmp_path / "a.avi", [(32, 32, "yuvj420p"), (48, 32, "yuvj420p")]))
    with pytest.raises(InputError, match="constant-size"):
        reader.drain()
    for again in (lambda: list(reader), reader.drain, lambda: reader.record):
        with pytest.raises(RuntimeError, match=r"met an error|is complete after"):
            again()


def test_a_change_of_pixel_format_is_noted_and_honoured(tmp_path):
    path = joined(tmp_path / "a.avi", [(32, 32, "yuvj420p"), (32, 32, "yuvj444p")])
    frames, record = read_video(path)
    assert record.pixel_format == "yuvj420p"
    assert rules(path) == ["colour-tags-change"]
    # Both halves show the same pictures; what the second keeps more of is chroma.
    assert np.abs(frames[:3].mean(axis=(1, 2)) - frames[3:].mean(axis=(1, 2))).max() < 3


def test_the_first_of_several_streams_is_read(tmp_path):
    path = encode(tmp_path / "a.mkv", np.full((3, 32, 32, 3), 50, np.uint8), streams=2)
    frames, _ = read_video(path)
    assert rules(path) == ["untagged-colour", "several-video-streams"]
    assert frames.shape[0] == 3
    assert np.abs(frames.astype(int) - 50).max() <= 2


@pytest.mark.parametrize("pixel_format", ["bgra", "yuva420p"])
@pytest.mark.parametrize("alpha", [0, 200, 255])
def test_alpha_is_dropped_with_a_note_where_it_shows(tmp_path, pixel_format, alpha):
    frame = np.full((32, 32, 4), (200, 60, 30, 255), np.uint8)
    frame[16:, :, 3] = alpha
    path = encode(tmp_path / "a.mkv", [frame, frame], "ffv1", pixel_format, pixels="rgba")
    frames, record = read_video(path)
    assert record.pixel_format == pixel_format
    assert ("alpha-dropped" in rules(path)) is (alpha < 255)
    assert np.abs(frames.astype(int) - (200, 60, 30)).max() <= 2


@pytest.mark.parametrize(
    ("value_range", "wanted", "noted"),
    [(0, (16, 126, 235), True), (1, (0, 128, 255), False), (2, (16, 126, 235), False)],
)
def test_grey_clips_honour_their_range(tmp_path, value_range, wanted, noted):
    frame = np.repeat(np.array([[16] * 16, [126] * 16, [235] * 16], np.uint8), 8, axis=0)
    path = encode(tmp_path / "a.mkv", [frame], "ffv1", "gray", pixels="gray", context={"color_range": value_range})
    frames, record = read_video(path)
    assert record.range == value_range
    assert frames[0, [4, 12, 20], 5].tolist() == [[level] * 3 for level in wanted]
    assert rules(path) == (["untagged-colour"] if noted else [])


MATRICES = {
    1: (0.2126, 0.0722),
    4: (0.30, 0.11),
    5: (0.299, 0.114),
    6: (0.299, 0.114),
    7: (0.212, 0.087),
    9: (0.2627, 0.0593),
}


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("matrix", [*MATRICES, 2])
def test_every_matrix_and_range_is_honoured(tmp_path, matrix, full):
    y, u, v = 120, 100, 160
    planes = np.stack([np.full((32, 32), level, np.uint8) for level in (y, u, v)])
    tags = {"colorspace": matrix, "color_range": 2 if full else 1}
    path = encode(tmp_path / "a.mkv", [planes], "ffv1", "yuv444p", pixels="yuv444p", context=tags, size=(32, 32))
    frames, record = read_video(path)
    assert (record.matrix, record.range) == (matrix, tags["color_range"])
    red, blue = MATRICES.get(matrix, MATRICES[6])
    green = 1 - red - blue
    luma = y / 255 if full else (y - 16) / 219
    cb, cr = ((level - 128) / (255 if full else 224) for level in (u, v))
    r, b = luma + 2 * (1 - red) * cr, luma + 2 * (1 - blue) * cb
    wanted = 255 * np.array([r, (luma - red * r - blue * b) / green, b])
    assert np.abs(frames[0, 16, 16] - wanted).max() < 1
    assert rules(path) == (["untagged-colour"] if matrix == 2 else [])


def test_an_unknown_matrix_is_refused(tmp_path):
    path = encode(tmp_path / "a.mkv", FRAMES[:2], "ffv1", "yuv444p", context={"colorspace": 8, "color_range": 1})
    assert problem(path) == ("colour-matrix", "has colour matrix 8, which cannot be converted to RGB.")


@pytest.mark.parametrize(
    ("rotation", "found"),
    [
        ((45, False), "is to be shown turned by 45 degrees."),
        ((0, True), "is to be shown mirrored."),
        ((90, True), "is to be shown mirrored."),
    ],
)
def test_only_quarter_turns_are_applied(tmp_path, rotation, found):
    if not hasattr(av.video.stream.VideoStream, "set_display_rotation"):
        pytest.skip("this PyAV cannot write a display matrix")
    path = encode(tmp_path / "a.mp4", FRAMES[:2], rotation=rotation)
    assert problem(path) == ("display-matrix", found)


def test_pixels_that_are_not_square_and_dynamic_range_are_noted(tmp_path):
    context = {"sample_aspect_ratio": Fraction(2, 1), "color_trc": 16, "colorspace": 9, "color_range": 1}
    path = encode(tmp_path / "a.mp4", FRAMES[:2], "libx264", "yuv420p10le", context=context)
    frames, _ = read_video(path)
    assert rules(path) == ["hdr-transfer", "pixel-aspect"]
    assert frames.shape == FRAMES[:2].shape


class TestTimes:
    CONTAINER = Container("matroska", None, Fraction(8), 1, None, 4)

    def record(self, *ticks: int | None):
        found = Findings("a.mkv", count=len(ticks), ticks=list(ticks), time_base=Fraction(1, 1000))
        found.looks.append(("yuv420p", 1, 1))
        return make_record(found, self.CONTAINER, "")

    @pytest.mark.parametrize(
        ("ticks", "variable"),
        [((0, 41, 83, 125), False), ((0, 41, 83, 126), True), ((0, 40, 80, 122), True), ((0, 1, 2, 3), False)],
    )
    def test_a_rate_is_variable_beyond_one_and_a_half_ticks(self, ticks, variable):
        record = self.record(*ticks)
        assert record.variable_rate is variable
        assert [note.rule for note in record.notes] == ["variable-frame-rate"] * variable

    def test_times_that_do_not_increase_are_noted(self):
        for ticks in ((0, 10, 10, 20), (0, 20, 10, 30)):
            notes = self.record(*ticks).notes
            assert "presentation-times" in [note.rule for note in notes]
            assert "do not increase" in notes[0].message

    def test_missing_times_are_noted(self):
        record = self.record(0, None, 10, 20)
        assert record.pts == (0.0, None, 0.01, 0.02)
        assert record.notes[0].message == "1 of 4 frames have no presentation time."

    def test_packets_without_a_frame_are_noted(self):
        notes = self.record(0, 10, 20).notes
        assert [(note.rule, note.message) for note in notes] == [("packet-count", "4 packets of data gave 3 frames.")]


def test_conformance_clip_with_a_wrong_count_names_both():
    (note,) = probe_video(CONFORMANCE / "trimmed_copy_wrong_count.mp4").notes
    assert note.message == "The container announces 12 frames; 8 are decoded, and they count."
