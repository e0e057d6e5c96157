"""Trajectory files: what is read and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from pose_camera_tools import path

from pixelgate.errors import InputError
from pixelgate.io.trajectory import read_trajectory

POSES = path(5)


@pytest.fixture
def save(tmp_path):
    def save(**arrays):
        np.savez(tmp_path / "one.npz", **arrays)
        return tmp_path / "one.npz"

    return save


def refused(rule, file):
    with pytest.raises(InputError) as caught:
        read_trajectory(file)
    (problem,) = caught.value.problems
    assert problem.rule == rule, problem
    assert problem.file == str(file)
    assert problem.mend
    return problem.found


def test_megasam(save):
    images = np.zeros((5, 4, 6, 3), np.uint8)
    file = save(cam_c2w=POSES.astype(np.float32), intrinsic=np.eye(3, dtype=np.float32), images=images)
    found = read_trajectory(file)
    assert (found.file, found.dtype) == (str(file), "float32")
    assert found.poses.dtype == np.float64
    np.testing.assert_array_equal(found.poses, POSES.astype(np.float32))
    np.testing.assert_array_equal(found.intrinsics, np.eye(3))


def test_three_rows(save):
    found = read_trajectory(save(cam_c2w=POSES[:, :3]))
    np.testing.assert_array_equal(found.poses, POSES)
    assert found.intrinsics is None
    np.testing.assert_array_equal(read_trajectory(save(cam_c2w=np.eye(4, dtype=int)[None])).poses, np.eye(4)[None])


def test_other_arrays_are_left_on_the_disk(save):
    """An array of objects under another name is never touched."""
    assert len(read_trajectory(save(cam_c2w=POSES, note=np.array([{}], dtype=object))).poses) == 5


def test_numbers_that_are_no_poses_are_read(save):
    poses = POSES * 2
    poses[3, 0, 0] = np.nan
    np.testing.assert_array_equal(read_trajectory(save(cam_c2w=poses)).poses, poses)


def test_refused(save):
    assert "depths, poses" in refused("trajectory-key", save(poses=POSES, depths=POSES))
    assert "none" in refused("trajectory-key", save())
    for shape in [(4, 4), (5, 4), (5, 3, 3), (5, 4, 3), (5, 7), (1, 5, 4, 4)]:
        assert str(shape) in refused("trajectory-shape", save(cam_c2w=np.zeros(shape)))
    refused("trajectory-empty", save(cam_c2w=POSES[:0]))
    refused("trajectory-dtype", save(cam_c2w=POSES.astype(complex)))
    refused("trajectory-dtype", save(cam_c2w=POSES.astype(str)))
    refused("trajectory-dtype", save(cam_c2w=POSES > 0))
    refused("trajectory-dtype", save(cam_c2w=POSES.astype(object)))
    refused("trajectory-dtype", save(cam_c2w=POSES, intrinsics=np.array("f")))


def test_damaged_files(save, tmp_path):
    file = save(cam_c2w=POSES)
    whole = file.read_bytes()
    for data in (b"", b"\x00" * 50, b"version https://git-lfs.github.com/spec/v1\n", whole[:100], whole[:-30]):
        file.write_bytes(data)
        refused("trajectory-format", file)
    file.write_bytes(whole.replace(POSES[2].tobytes()[:20], b"?" * 20))
    assert "CRC" in refused("trajectory-format", file)
    np.save(tmp_path / "one.npy", POSES)
    assert "no .npz archive" in refused("trajectory-format", tmp_path / "one.npy")
    refused("not-a-file", tmp_path / "none.npz")
    refused("not-a-file", tmp_path)
