"""What the demo's runs do to a clip and to its conditions: changes whose effect on the metrics is known beforehand.

All of it on whole numbers, or on a coarse grid, so that every machine gets the same result.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pixelgate.tracks._demo_video_files import on_grid
from pixelgate.tracks._demo_video_scenes import turned_right

Clip = NDArray[np.uint8]
Poses = NDArray[np.float64]

BLOCK = 8
_SHIFT = 15
AXIS = np.array([1.0, 2.0, 2.0]) / 3.0
"""The axis of `drifted`, in the camera's own frame."""

# The 8-point transform of HEVC: a cosine transform in whole numbers, whose rows are close to 2**7.5 long.
_TRANSFORM = np.array(
    [
        [64, 64, 64, 64, 64, 64, 64, 64],
        [89, 75, 50, 18, -18, -50, -75, -89],
        [83, 36, -36, -83, -83, -36, 36, 83],
        [75, -18, -89, -50, 50, 89, 18, -75],
        [64, -64, -64, 64, 64, -64, -64, 64],
        [50, -89, 18, 75, -75, -18, 89, -50],
        [36, -83, 83, -36, -36, 83, -83, 36],
        [18, -50, 75, -89, 89, -75, 50, -18],
    ],
    dtype=np.float64,
)


def speckled(clip: Clip, amplitude: int, seed: int) -> Clip:
    """Every value moved by exactly ``amplitude`` levels, up or down at random, and inwards at the ends of the scale.

    So the mean squared error is ``amplitude`` squared and the mean absolute error ``amplitude``, to the last digit.
    """
    # The legacy generator's stream is frozen; the newer ones' may change.
    noise = np.frombuffer(np.random.RandomState(seed).bytes((clip.size + 7) // 8), dtype=np.uint8)
    up = np.unpackbits(noise)[: clip.size].reshape(clip.shape).astype(bool)
    values = clip.astype(np.int16)
    up = np.where(values + amplitude > 255, False, np.where(values - amplitude < 0, True, up))
    return (values + np.where(up, amplitude, -amplitude)).astype(np.uint8)


def blocky(clip: Clip, step: int) -> Clip:
    """Each channel in blocks of 8 x 8 pixels, whose cosine transform is rounded to multiples of ``step``.

    That is the loss of a video encoder without its prediction, and without its dependence on a library's version.
    The mean squared error is below ``step`` squared over 4.
    """
    frames, height, width, _ = clip.shape
    pad = ((0, 0), (0, -height % BLOCK), (0, -width % BLOCK), (0, 0))
    padded = np.pad(clip, pad, mode="edge")
    rows, columns = padded.shape[1] // BLOCK, padded.shape[2] // BLOCK
    blocks = padded.reshape(frames, rows, BLOCK, columns, BLOCK, 3).transpose(0, 1, 3, 5, 2, 4).astype(np.float64)
    # Products and sums of whole numbers below 2**53 are exact in double precision, in any order.
    coefficients = (_TRANSFORM @ blocks @ _TRANSFORM.T).astype(np.int64)
    unit = step << _SHIFT
    rounded = ((2 * coefficients + unit) // (2 * unit) * unit).astype(np.float64)
    values = (_TRANSFORM.T @ rounded @ _TRANSFORM).astype(np.int64)
    back = np.clip((values + (1 << (2 * _SHIFT - 1))) >> (2 * _SHIFT), 0, 255).astype(np.uint8)
    return np.ascontiguousarray(
        back.transpose(0, 1, 4, 2, 5, 3).reshape(padded.shape)[:, :height, :width],
    )


def flickering(levels: NDArray[np.uint8], amount: int) -> NDArray[np.uint16]:
    """Depth that is ``amount`` too much in even frames and too little in odd ones, times 3 plus 100."""
    sign = np.where(np.arange(len(levels)) % 2, -1, 1)[:, np.newaxis, np.newaxis]
    return np.asarray(3 * (levels.astype(np.int32) + amount * sign) + 100, dtype=np.uint16)


def drifted(path: Poses, angle: float) -> Poses:
    """A path whose camera is turned, in frame i, by ``i * angle`` radians about `AXIS`; its places stay."""
    turned = path.copy()
    turned[:, :3, :3] = path[:, :3, :3] @ _rotations(angle, len(path))
    return on_grid(turned)


def elsewhere(path: Poses, scale: float) -> Poses:
    """The same path in another world frame and in another unit: nothing that a camera metric may see."""
    world = turned_right(np.array([0.5]))[0]
    moved = path.copy()
    moved[:, :3, :3] = world @ path[:, :3, :3]
    moved[:, :3, 3] = scale * path[:, :3, 3] @ world.T + np.array([4.0, -1.0, 7.0])
    return on_grid(moved)


def _rotations(angle: float, count: int) -> Poses:
    """Rotations by 0, 1, 2, ... times an angle about `AXIS`, N x 3 x 3 (Rodrigues' formula)."""
    angles: NDArray[np.float64] = np.arange(count, dtype=np.float64) * angle
    x, y, z = AXIS
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    sine, versine = np.sin(angles)[:, np.newaxis, np.newaxis], 1.0 - np.cos(angles)[:, np.newaxis, np.newaxis]
    return np.asarray(np.eye(3) + sine * cross + versine * (cross @ cross))
