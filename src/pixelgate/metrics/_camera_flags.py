"""What may be wrong with a camera path: poses that are not finite, or no rigid motions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NON_FINITE = "non_finite"
NON_RIGID = "non_rigid"
TOO_FEW = "too_few_frames"
_LAST_ROW = (0.0, 0.0, 0.0, 1.0)
_TITLES = {"ref": "reference", "gen": "generated"}


@dataclass(frozen=True)
class Findings:
    """A path, looked at.

    Attributes:
        name: ``ref`` or ``gen``.
        poses: T x 4 x 4 or T x 3 x 4, as given.
        relative: T x 4 x 4, each relative to the first; empty where the path cannot be used.
        max_trans: largest translation from the first frame, in the path's own unit; NaN where it cannot be used.
        flag: why it cannot be used, `NON_FINITE` or `NON_RIGID`; None for a usable one.
        reason: the same as one phrase, with the side and the first bad frame.
    """

    name: str
    poses: NDArray[np.float64]
    relative: NDArray[np.float64]
    max_trans: float
    flag: str | None = None
    reason: str | None = None

    @property
    def title(self) -> str:
        """The side's name in full."""
        return _TITLES[self.name]


def inspect(poses: NDArray[np.float64], name: str, slack: float) -> Findings:
    """Look at a path and take it relative to its first frame.

    Args:
        poses: T x 4 x 4 or T x 3 x 4.
        name: ``ref`` or ``gen``.
        slack: see `pixelgate.metrics.camera.score_camera`.
    """
    bad = ~np.isfinite(poses).all(axis=(1, 2))
    if bad.any():
        return _unusable(poses, name, NON_FINITE, "non-finite pose", int(bad.argmax()))
    found = _non_rigid(poses, slack)
    if found is not None:
        what, frame = found
        return _unusable(poses, name, NON_RIGID, what, frame)
    whole = poses if poses.shape[1] == 4 else np.concatenate([poses, np.tile(_LAST_ROW, (len(poses), 1, 1))], axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        relative = np.linalg.inv(whole[0]) @ whole
        distance = np.linalg.norm(relative[:, :3, 3], axis=1)
    lost = ~np.isfinite(distance)
    if lost.any():
        what = "translation too large to compute with"
        return _unusable(poses, name, NON_FINITE, what, int(lost.argmax()))
    return Findings(name, poses, relative, float(distance.max()))


def _non_rigid(poses: NDArray[np.float64], slack: float) -> tuple[str, int] | None:
    """What is wrong with the first pose that is no rigid motion, and its frame."""
    rotation = poses[:, :3, :3]
    with np.errstate(over="ignore", invalid="ignore"):
        # A sheared or stretched block can have the determinant of a rotation.
        gram = np.swapaxes(rotation, 1, 2) @ rotation
        square = np.abs(gram - np.eye(3)).max(axis=(1, 2)) <= slack
        turned = np.abs(np.linalg.det(rotation) - 1.0) <= slack
    closed = np.ones(len(poses), dtype=np.bool_)
    if poses.shape[1] == 4:
        closed = np.abs(poses[:, 3] - _LAST_ROW).max(axis=1) <= slack
    bad = ~(square & turned & closed)
    if not bad.any():
        return None
    frame = int(bad.argmax())
    if not (square & turned)[frame]:
        return "rotation block is not a rotation", frame
    return "last row is not 0 0 0 1 (a transposed matrix?)", frame


def _unusable(poses: NDArray[np.float64], name: str, flag: str, what: str, frame: int) -> Findings:
    reason = f"{what} ({_TITLES[name]}, frame {frame} counted from 0, of {len(poses)})"
    return Findings(name, poses, np.empty((0, 4, 4)), float("nan"), flag, reason)
