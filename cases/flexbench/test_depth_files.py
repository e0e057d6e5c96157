"""Depth and mask files: every layout that is read, every one that is refused, and memory that does not grow."""

from __future__ import annotations

import io
import tracemalloc
import zipfile

import numpy as np
import pytest
from depth_tools import grey_clip, problems

from pixelgate.io.depth import open_depth
from pixelgate.io.masks import luma_mask, open_masks

DEPTH = np.random.default_rng(0).normal(3, 1, (4, 5, 6)).astype(np.float32)
MASKS = np.random.default_rng(1).random((2, 4, 5, 6)) < 0.3


def read(path):
    """All frames, read twice."""
    file = (open_masks if "mask" in path.name else open_depth)(path)
    first, second = np.stack(list(file.frames())), np.stack(list(file.frames()))
    assert np.array_equal(first, second, equal_nan=first.dtype.kind == "f")
    assert first.shape[0] == file.length
    assert first.shape[-2:] == file.size == (file.height, file.width)
    return first


@pytest.mark.parametrize("key", ["depth", "depths", "disparity", "whatever"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path, key, save):
    path = tmp_path / "a.npz"
    save(path, **{key: DEPTH})
    assert np.array_equal(read(path), DEPTH)


@pytest.mark.parametrize("array", [DEPTH, DEPTH.astype(">f8"), (DEPTH * 9).astype(np.int16), DEPTH.astype(np.float16)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy(tmp_path, array, order):
    path = tmp_path / "a.NPY"
    with path.open("wb") as stream:
        np.save(stream, np.array(array, order=order))
    assert np.array_equal(read(path), array)


def test_fortran_order_in_an_archive(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", depth=np.asfortranarray(DEPTH))
    assert np.array_equal(read(tmp_path / "a.npz"), DEPTH)
    np.savez(tmp_path / "masks.npz", masks=np.asfortranarray(MASKS))
    assert np.array_equal(read(tmp_path / "masks.npz"), MASKS.transpose(1, 0, 2, 3))


def test_a_key_beside_others(tmp_path):
    np.savez(tmp_path / "a.npz", fps=np.array(24), depth=DEPTH, frames=np.arange(4))
    assert np.array_equal(read(tmp_path / "a.npz"), DEPTH)


def test_not_finite_values_are_kept(tmp_path):
    holes = DEPTH.copy()
    holes[0, 0, :2] = [np.nan, np.inf]
    np.save(tmp_path / "a.npy", holes)
    assert np.array_equal(read(tmp_path / "a.npy"), holes, equal_nan=True)


def test_grey_video(tmp_path):
    levels = np.random.default_rng(2).integers(0, 256, (3, 16, 18)).astype(np.uint8)
    path = grey_clip(tmp_path / "a.mp4", levels)
    assert np.array_equal(read(path), levels)
    file = open_depth(path)
    assert (file.length, file.size) == (3, (16, 18))
    assert file.record.fps == 8


def test_a_video_with_channels_that_differ(tmp_path):
    frames = np.repeat(np.random.default_rng(2).integers(2, 250, (3, 16, 18, 1)), 3, axis=3).astype(np.uint8)
    frames[1, 2, 3] += np.array([1, 0, 2], dtype=np.uint8)
    assert np.array_equal(read(grey_clip(tmp_path / "a.mp4", frames)), frames[..., 1])
    frames[2, 2, 3, 0] += 3
    with problems("depth-grey") as found:
        list(open_depth(grey_clip(tmp_path / "b.mp4", frames)).frames())
    assert "frame 2" in found[0].found
    assert "3 levels" in found[0].found


@pytest.mark.parametrize(
    ("array", "rule"),
    [
        (DEPTH[0], "depth-shape"),
        (DEPTH[None], "depth-shape"),
        (np.float32(3), "depth-shape"),
        (DEPTH[:0], "depth-empty"),
        (DEPTH[:, :0], "depth-empty"),
        (DEPTH > 3, "array-type"),
        (DEPTH.astype(complex), "array-type"),
        (DEPTH.astype(str), "array-type"),
        (np.zeros((2, 2, 2), dtype=[("a", "f4")]), "array-type"),
        (DEPTH.astype(object), "npy-pickle"),
    ],
)
def test_arrays_that_are_no_depth(tmp_path, array, rule):
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    with problems(rule) as found:
        open_depth(tmp_path / "a.npy")
    assert found[0].file == str(tmp_path / "a.npy")
    with (tmp_path / "b.npz").open("wb") as stream:
        np.savez(stream, depth=array)
    with problems(rule):
        open_depth(tmp_path / "b.npz")


def test_archives_that_are_no_depth(tmp_path):
    np.savez(tmp_path / "a.npz", depth=DEPTH, depths=DEPTH)
    np.savez(tmp_path / "b.npz", x=DEPTH, y=DEPTH)
    np.savez(tmp_path / "c.npz")
    for name in "abc":
        with problems("array-keys"):
            open_depth(tmp_path / f"{name}.npz")
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("depth.txt", "3")
    with problems("npy-format"):
        open_depth(tmp_path / "d.npz")


def test_files_that_are_none(tmp_path):
    with problems("not-a-file"):
        open_depth(tmp_path / "none.npz")
    (tmp_path / "folder.npy").mkdir()
    with problems("not-a-file"):
        open_depth(tmp_path / "folder.npy")
    for name in ("a.png", "a", "a.npz.txt"):
        (tmp_path / name).write_bytes(b"x")
        with problems("depth-suffix"):
            open_depth(tmp_path / name)
    for content in (b"", b"version https://git-lfs", b"\x80\x04N."):
        for name in ("e.npy", "e.npz"):
            (tmp_path / name).write_bytes(content)
            with problems("npy-format"):
                open_depth(tmp_path / name)
    (tmp_path / "v.mp4").write_bytes(b"no video at all")
    with problems("video-format"):
        open_depth(tmp_path / "v.mp4")


def test_damaged_files(tmp_path):
    stream = io.BytesIO()
    np.save(stream, DEPTH)
    whole = stream.getvalue()
    path = tmp_path / "a.npy"
    for data in (whole[:-1], whole + b"x", whole[:20], whole.replace(b"'shape'", b"'shale'")):
        path.write_bytes(data)
        with problems("npy-intact"):
            open_depth(path)
    np.savez(tmp_path / "b.npz", depth=DEPTH)
    data = bytearray((tmp_path / "b.npz").read_bytes())
    (tmp_path / "b.npz").write_bytes(data[:-30])
    with problems("npy-intact"):
        open_depth(tmp_path / "b.npz")
    data[data.index(DEPTH[3].tobytes())] ^= 1
    (tmp_path / "b.npz").write_bytes(data)
    with problems("npy-intact"):
        list(open_depth(tmp_path / "b.npz").frames())


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("name", ["depth", "masks"])
def test_a_wrong_checksum_is_seen_before_the_last_frame(tmp_path, save, name):
    path = tmp_path / f"{name}.npz"
    values = np.random.default_rng(4).random((2, 4, 90, 100)).astype(np.float32)
    save(path, **{name: values > 0.5 if name == "masks" else values[0]})
    with zipfile.ZipFile(path) as archive:
        checksum = archive.infolist()[0].CRC.to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(checksum, b"\x01\x02\x03\x04"))
    frames = (open_masks if name == "masks" else open_depth)(path).frames()
    for _ in range(3):
        next(frames)
    with problems("npy-intact"):
        next(frames)


@pytest.mark.parametrize("scale", [1, 255])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64"])
def test_masks(tmp_path, scale, dtype):
    values = MASKS.astype(dtype) * scale if dtype != "bool" else MASKS
    np.savez_compressed(tmp_path / "masks.npz", masks=values)
    assert np.array_equal(read(tmp_path / "masks.npz"), MASKS.transpose(1, 0, 2, 3))
    np.save(tmp_path / "masks.npy", values)
    assert np.array_equal(read(tmp_path / "masks.npy"), MASKS.transpose(1, 0, 2, 3))
    np.savez(tmp_path / "mask.npz", mask=values[0])
    assert np.array_equal(read(tmp_path / "mask.npz"), MASKS[0][:, None])
    assert open_masks(tmp_path / "masks.npz").persons == 2


def test_masks_of_no_person(tmp_path):
    np.savez(tmp_path / "masks.npz", masks=MASKS[:0])
    assert read(tmp_path / "masks.npz").shape == (4, 0, 5, 6)


def test_a_video_mask_is_thresholded(tmp_path):
    levels = np.zeros((2, 16, 16), dtype=np.uint8)
    levels[0, :, 8:], levels[1, :4], levels[1, 4:8] = 255, 128, 127
    assert np.array_equal(read(grey_clip(tmp_path / "mask.mp4", levels))[:, 0], levels > 127)


def test_luma_is_exact_at_the_threshold():
    grey = np.repeat(np.array([[[126], [127], [128]]], dtype=np.uint8), 3, axis=2)
    assert luma_mask(grey).tolist() == [[False, False, True]]
    colours = np.array([[[255, 255, 0], [255, 0, 255], [0, 255, 0]]], dtype=np.uint8)
    assert luma_mask(colours).tolist() == [[True, False, True]]
    # 587 x 188 + 114 x 146 is 127 000 exactly: no float sum decides.
    assert luma_mask(np.array([[[0, 188, 146]]], dtype=np.uint8)).tolist() == [[False]]


@pytest.mark.parametrize(
    ("values", "told"), [([0, 7], "7"), ([0, 1, 255], "1 and 255"), ([0, 254], "254"), ([-1, 0], "-1"), ([3, 3], "3")]
)
def test_mask_values_that_are_neither(tmp_path, values, told):
    array = np.zeros((3, 5, 6), dtype=np.int32)
    array[1].flat[: len(values)] = values
    np.savez(tmp_path / "mask.npz", mask=array)
    with problems("mask-values") as found:
        list(open_masks(tmp_path / "mask.npz").frames())
    assert f"holds {told} in frame 1" in found[0].found


def test_one_kind_of_values_per_file(tmp_path):
    array = np.zeros((3, 5, 6), dtype=np.uint8)
    array[0, 0], array[2, 0] = 1, 255
    np.savez(tmp_path / "mask.npz", mask=array)
    with problems("mask-values") as found:
        list(open_masks(tmp_path / "mask.npz").frames())
    assert "frame 2" in found[0].found


@pytest.mark.parametrize(
    ("arrays", "rule"),
    [
        ({"mask": MASKS}, "mask-shape"),
        ({"masks": MASKS[0]}, "mask-shape"),
        ({"x": MASKS[0, 0]}, "mask-shape"),
        ({"mask": MASKS[0, :0]}, "mask-empty"),
        ({"mask": MASKS[0].astype(float)}, "array-type"),
        ({"mask": MASKS[0].astype(object)}, "npy-pickle"),
        ({"mask": MASKS[0], "masks": MASKS}, "array-keys"),
    ],
)
def test_arrays_that_are_no_masks(tmp_path, arrays, rule):
    np.savez(tmp_path / "m.npz", **arrays)
    with problems(rule):
        open_masks(tmp_path / "m.npz")


def test_masks_of_another_kind_of_file(tmp_path):
    (tmp_path / "mask.png").write_bytes(b"x")
    with problems("mask-suffix"):
        open_masks(tmp_path / "mask.png")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_memory_holds_a_frame_not_the_clip(tmp_path, save):
    save(tmp_path / "a.npz", depth=np.random.default_rng(0).random((40, 300, 400)).astype(np.float32))
    save(tmp_path / "masks.npz", masks=np.zeros((3, 40, 300, 400), dtype=bool))
    frame = 300 * 400 * 4
    for file in (open_depth(tmp_path / "a.npz"), open_masks(tmp_path / "masks.npz")):
        tracemalloc.start()
        try:
            for _ in file.frames():
                pass
            assert tracemalloc.get_traced_memory()[1] < 5 * frame
        finally:
            tracemalloc.stop()
