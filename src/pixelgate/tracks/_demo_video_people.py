"""Stick figures that walk along a known path: the demo's pose condition, as DWPose would report it, and its picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Keypoints = NDArray[np.float64]
"""T x N x 134 x 3: x and y in pixels, confidence. OpenPose's order: 18 of the body, 6 feet, 68 face, 2 x 21 hands."""

BODY = 18
COUNTED = 16
"""Body keypoints of a figure whose confidence is above the protocol's 0.3: all but the two ears."""

CONFIDENT = 0.3
_EARS = (16, 17)
_GRID = 8.0

# Body joints of a figure one unit high, from the middle of its hips, x to the right and y down.
_JOINTS = np.array(
    [
        *[(0.0, -0.42), (0.0, -0.30)],
        *[(-0.10, -0.30), (-0.13, -0.15), (-0.15, 0.0)],
        *[(0.10, -0.30), (0.13, -0.15), (0.15, 0.0)],
        *[(-0.06, 0.02), (-0.07, 0.24), (-0.08, 0.46)],
        *[(0.06, 0.02), (0.07, 0.24), (0.08, 0.46)],
        *[(-0.02, -0.44), (0.02, -0.44), (-0.05, -0.43), (0.05, -0.43)],
    ]
)
# How far each joint swings to the right at the top of a step: arms against legs.
_SWING = np.zeros(BODY)
_SWING[[3, 4, 6, 7, 9, 10, 12, 13]] = (-0.04, -0.09, 0.04, 0.09, 0.05, 0.11, -0.05, -0.11)

_LIMBS = (
    *((1, 2), (2, 3), (3, 4), (1, 5), (5, 6), (6, 7)),
    *((1, 8), (8, 9), (9, 10), (1, 11), (11, 12), (12, 13)),
    *((1, 0), (0, 14), (0, 15), (14, 16), (15, 17)),
)
_COLOURS = np.array([(255, 64, 0), (255, 170, 0), (170, 255, 0), (0, 255, 85), (0, 170, 255), (85, 0, 255)], np.uint8)


@dataclass(frozen=True)
class Walker:
    """One figure.

    Attributes:
        x, y: of the middle of its hips in the first frame, in pixels.
        height: in pixels.
        speed: pixels to the right in each frame.
        period: frames of a double step.
    """

    x: float
    y: float
    height: float
    speed: float
    period: int


def walk(walkers: tuple[Walker, ...], frames: int) -> Keypoints:
    """The figures' keypoints in each frame, on a grid of an eighth of a pixel."""
    return np.stack([np.stack([_figure(walker, frame) for walker in walkers]) for frame in range(frames)])


def draw(keypoints: Keypoints, height: int, width: int) -> NDArray[np.uint8]:
    """The bodies as coloured sticks on black, T x height x width x 3; joints of low confidence are left out."""
    frames = np.zeros((len(keypoints), height, width, 3), dtype=np.uint8)
    for picture, people in zip(frames, keypoints, strict=True):
        for person in people:
            for number, (start, end) in enumerate(_LIMBS):
                if min(person[start, 2], person[end, 2]) > CONFIDENT:
                    _line(picture, person[start, :2], person[end, :2], _COLOURS[number % len(_COLOURS)])
    return frames


def regions(keypoints: Keypoints, height: int, width: int, margin: int = 3) -> NDArray[np.bool_]:
    """Where each figure is: N x T x height x width, a rectangle around the body and a margin.

    Rectangles stand still for two frames at a time: that of an odd frame is that of the frame before.
    """
    frames, people = keypoints.shape[:2]
    masks = np.zeros((people, frames, height, width), dtype=np.bool_)
    for frame in range(frames):
        for person, points in enumerate(keypoints[frame - frame % 2]):
            body = points[:BODY][points[:BODY, 2] > CONFIDENT, :2]
            if len(body):
                left, top = np.maximum(np.floor(body.min(axis=0)).astype(int) - margin, 0)
                right, bottom = np.ceil(body.max(axis=0)).astype(int) + margin + 1
                masks[person, frame, top:bottom, left:right] = True
    return masks


def _figure(walker: Walker, frame: int) -> NDArray[np.float64]:
    phase = np.sin(2.0 * np.pi * frame / walker.period)
    body = _JOINTS + np.stack([_SWING * phase, np.zeros(BODY)], axis=-1)
    ankles, nose, wrists = body[[10, 13]], body[0], body[[4, 7]]
    feet = np.concatenate([ankle + np.array([(-0.02, 0.03), (0.02, 0.03), (0.0, 0.01)]) for ankle in ankles])
    parts = [body, feet, nose + _ring(68, 0.045), *(wrist + _ring(21, 0.02) for wrist in wrists)]
    middle = np.array([walker.x + walker.speed * frame, walker.y])
    points = np.rint((np.concatenate(parts) * walker.height + middle) * _GRID) / _GRID
    confidence = np.concatenate([np.full(BODY, 0.9), np.full(6, 0.7), np.full(68, 0.6), np.full(42, 0.5)])
    confidence[list(_EARS)] = 0.2
    return np.concatenate([points, confidence[:, np.newaxis]], axis=1)


def _ring(count: int, radius: float) -> NDArray[np.float64]:
    angle = 2.0 * np.pi * np.arange(count) / count
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def _line(
    picture: NDArray[np.uint8], start: NDArray[np.float64], end: NDArray[np.float64], colour: NDArray[np.uint8]
) -> None:
    height, width = picture.shape[:2]
    steps = int(np.ceil(np.abs(end - start).max())) + 1
    along = np.arange(steps + 1)[:, np.newaxis] / steps
    for x, y in np.floor(start + (end - start) * along).astype(int):
        picture[max(0, y - 1) : max(0, min(height, y + 2)), max(0, x - 1) : max(0, min(width, x + 2))] = colour
