"""Made-up conditions with a known truth: a depth scene, camera paths, and boxes to inpaint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pixelgate.tracks._demo_video_files import on_grid

FAR = 40
"""Grey level of the wall at the back."""
NEAR = 220
"""Grey level of the floor at the lower edge."""
PILLAR = 150
INVALID = 0
"""Grey level of the sky, whose depth is unknown: it is not scored."""

Motion = Literal["dolly", "pan", "orbit"]


@dataclass(frozen=True)
class Box:
    """A rectangle to inpaint, in pixels; it may move by whole pixels."""

    left: int
    top: int
    width: int
    height: int
    step: int = 0
    """Pixels to the right in each frame."""

    def mask(self, frames: int, height: int, width: int) -> NDArray[np.bool_]:
        """T x height x width, True inside the box."""
        mask = np.zeros((frames, height, width), dtype=np.bool_)
        for frame in range(frames):
            left = self.left + self.step * frame
            mask[frame, self.top : self.top + self.height, left : left + self.width] = True
        return mask


@dataclass(frozen=True)
class DepthScene:
    """A floor that comes nearer towards the lower edge, a wall or the sky behind it, and a pillar that goes by.

    Grey levels are disparity: near is bright. The scene changes every second frame only.

    Attributes:
        horizon: row at which the floor begins.
        sky: whether what is above is the sky, without depth, in place of a wall.
        pillar: left edge of the pillar in the first frame.
        step: pixels by which it moves to the right every second frame.
    """

    horizon: int
    sky: bool
    pillar: int
    step: int

    def levels(self, frames: int, height: int, width: int) -> NDArray[np.uint8]:
        """T x height x width, 0 to 255."""
        rows = np.arange(height, dtype=np.int64) - self.horizon
        floor = FAR + rows * (NEAR - FAR) // (height - 1 - self.horizon)
        column = np.where(rows < 0, INVALID if self.sky else FAR, floor).astype(np.uint8)
        scene = np.broadcast_to(column[np.newaxis, :, np.newaxis], (frames, height, width)).copy()
        foot = int(np.argmax(floor >= PILLAR))
        for frame in range(frames):
            left = self.pillar + self.step * (frame // 2)
            scene[frame, height // 8 : foot, max(0, left) : max(0, left + width // 10)] = PILLAR
        return scene


def camera_path(kind: Motion, frames: int) -> NDArray[np.float64]:
    """Poses of a camera that moves evenly, camera to world, T x 4 x 4; x right, y down, z forward.

    ``dolly`` goes 2 forward without turning. ``pan`` turns 20 degrees to the right and slides 0.5 to the right.
    ``orbit`` goes 40 degrees around a point 3 in front of its first place and keeps looking at it.
    """
    share = np.arange(frames) / (frames - 1)
    poses = np.tile(np.eye(4), (frames, 1, 1))
    if kind == "dolly":
        poses[:, 2, 3] = 2.0 * share
    elif kind == "pan":
        poses[:, :3, :3] = turned_right(np.deg2rad(20.0) * share)
        poses[:, 0, 3] = 0.5 * share
    else:
        poses[:, :3, :3] = turned_right(np.deg2rad(40.0) * share)
        centre = np.array([0.0, 0.0, 3.0])
        poses[:, :3, 3] = centre - poses[:, :3, :3] @ centre
    return on_grid(poses)


def turned_right(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotations about the vertical axis, N x 3 x 3; angles in radians."""
    cosine, sine, none, one = np.cos(angles), np.sin(angles), np.zeros_like(angles), np.ones_like(angles)
    rows = [(cosine, none, sine), (none, one, none), (-sine, none, cosine)]
    return np.moveaxis(np.array(rows), -1, 0)
