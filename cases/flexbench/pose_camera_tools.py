"""Clips, people and camera paths for the tests of poses and cameras."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

CONFORMANCE = Path(__file__).parent.parent / "conformance" / "flexbench"

# A standing person as fractions of its own box, in OpenPose order: nose, neck, right arm, left arm, right leg, left
# leg, eyes, ears.
_STANDING = [
    (0.50, 0.08), (0.50, 0.20), (0.35, 0.20), (0.28, 0.36), (0.25, 0.50), (0.65, 0.20), (0.72, 0.36), (0.75, 0.50),
    (0.42, 0.52), (0.41, 0.75), (0.40, 0.98), (0.58, 0.52), (0.59, 0.75), (0.60, 0.98), (0.46, 0.05), (0.54, 0.05),
    (0.42, 0.07), (0.58, 0.07),
]  # fmt: skip


def person(left=100.0, top=50.0, width=120.0, height=300.0, confidence=0.9, keypoints=18):
    """One person, K x 3, in the unit of the box that is given; keypoints after the body lie in the box's middle."""
    points = np.full((keypoints, 3), 0.5)
    points[:18, :2] = _STANDING
    points[:, :2] = points[:, :2] * (width, height) + (left, top)
    points[:, 2] = confidence
    return points


def people(frames=6, boxes=((100, 50, 120, 300), (350, 80, 110, 280)), step=3.0, keypoints=134):
    """A clip of people who walk to the right, T x N x K x 3, in pixels of a frame of 640 x 480."""
    return np.stack(
        [np.stack([person(x + step * t, y, w, h, keypoints=keypoints) for x, y, w, h in boxes]) for t in range(frames)]
    )


def rotation(axis, angle):
    """A rotation by an angle in radians about an axis (Rodrigues)."""
    axis = np.asarray(axis, dtype=np.float64)
    x, y, z = axis / np.linalg.norm(axis)
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew


def rigid(axis=(0, 0, 1), angle=0.0, shift=(0, 0, 0)):
    """A rigid motion as a 4 x 4 matrix."""
    motion = np.eye(4)
    motion[:3, :3] = rotation(axis, angle)
    motion[:3, 3] = shift
    return motion


def path(frames=12, turn=0.6, reach=2.0, axis=(0.2, 1.0, -0.3), seed=0):
    """A camera that turns and moves along a bent line, T x 4 x 4, camera to world."""
    way = np.random.default_rng(seed).normal(size=3)
    way *= reach / np.linalg.norm(way)
    share = np.linspace(0.0, 1.0, frames)
    return np.stack([rigid(axis, turn * s, way * s + 0.2 * reach * np.array([np.sin(3 * s), s * s, 0])) for s in share])


def scaled(poses, factor):
    """The same path in another unit of length."""
    found = poses.copy()
    found[:, :3, 3] *= factor
    return found


def write_clip(file, frames, width, height, rate=8):
    """A grey clip that gets brighter from frame to frame."""
    import av

    with av.open(str(file), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(rate), options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for index in range(frames):
            picture = np.full((height, width, 3), 40 + 3 * index % 200, dtype=np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return file
