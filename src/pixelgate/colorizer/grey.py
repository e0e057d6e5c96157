"""Line art as grey values at the ground truth's size: conversion and resampling as OpenCV does them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]

# Rec. 601 luma in units of 1 / 2**15, as OpenCV rounds the three weights.
_WEIGHTS = (9798, 19235, 3735)
_BITS = 15
_EPSILON = 1e-3


def grey(picture: Picture) -> Picture:
    """Rec. 601 luma in whole numbers, as ``cv2.cvtColor(..., COLOR_RGB2GRAY)``; grey pictures keep their values.

    Args:
        picture: uint8, height x width x 3, RGB.

    Returns:
        uint8, height x width.
    """
    red, green, blue = (picture[..., channel].astype(np.int32) for channel in range(3))
    luma = red * _WEIGHTS[0] + green * _WEIGHTS[1] + blue * _WEIGHTS[2]
    return ((luma + (1 << (_BITS - 1))) >> _BITS).astype(np.uint8)


def area_resize(values: Picture, height: int, width: int) -> Picture:
    """Resample grey values as ``cv2.resize(..., interpolation=INTER_AREA)`` does.

    Where neither side grows, a new pixel is the mean of the area it covers. Otherwise it lies between the two nearest
    pixels of each axis, with weights by the area covered.

    Args:
        values: uint8, height x width.
        height, width: the size wanted, in pixels.

    Returns:
        uint8, the new size; a copy where the size is the same already.
    """
    if values.shape == (height, width):
        return values.copy()
    if values.shape[0] < height or values.shape[1] < width:
        return _between(values, height, width)
    steps = values.shape[0] / height, values.shape[1] / width
    if all(step == int(step) for step in steps):
        return _blocks(values, int(steps[0]), int(steps[1]))
    return _covered(values, height, width)


def _blocks(values: Picture, down: int, across: int) -> Picture:
    """Means of whole blocks; those of 2 x 2 are rounded half up, others half to even."""
    height, width = values.shape[0] // down, values.shape[1] // across
    sums = values.reshape(height, down, width, across).sum(axis=(1, 3), dtype=np.int64)
    if down == across == 2:
        means: NDArray[Any] = (sums + 2) >> 2
    else:
        means = np.rint(sums.astype(np.float32) * np.float32(1.0 / (down * across)))
    return means.astype(np.uint8)


def _covered(values: Picture, height: int, width: int) -> Picture:
    """Means of covered areas in float32, summed along a row first, in the order of the pixels."""
    columns, rows = _shares(values.shape[1], width), _shares(values.shape[0], height)
    across = np.zeros((values.shape[0], width), dtype=np.float32)
    for source, share in zip(*columns, strict=True):
        across += values[:, source].astype(np.float32) * share
    out = np.zeros((height, width), dtype=np.float32)
    for source, share in zip(*rows, strict=True):
        out += across[source] * share[:, np.newaxis]
    return np.clip(np.rint(out), 0, 255).astype(np.uint8)


def _shares(source: int, target: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Which source pixels each target pixel covers, and each one's share of it.

    Returns:
        Both as (largest count) x target; a pixel that covers fewer has shares of 0.
    """
    step = source / target
    starts = np.arange(target) * step
    width = np.minimum(step, source - starts)
    first = np.minimum(np.ceil(starts).astype(np.int64), source - 1)
    last = np.minimum(np.floor(starts + step).astype(np.int64), source - 1)
    first = np.minimum(first, last)
    places = (first - 1) + np.arange(int((last - first).max()) + 2)[:, np.newaxis]
    shares = np.where((places >= first) & (places < last), 1.0 / width, 0.0)
    head, tail = first - starts, np.minimum(np.minimum(starts + step - last, 1.0), width)
    shares = np.where((places == first - 1) & (head > _EPSILON), head / width, shares)
    shares = np.where((places == last) & (starts + step - last > _EPSILON), tail / width, shares)
    return np.clip(places, 0, source - 1), shares.astype(np.float32)


def _between(values: Picture, height: int, width: int) -> Picture:
    rows, row_weights = _neighbours(values.shape[0], height)
    columns, column_weights = _neighbours(values.shape[1], width)
    whole = values.astype(np.int32)
    right, below = np.minimum(columns + 1, values.shape[1] - 1), np.minimum(rows + 1, values.shape[0] - 1)
    across = whole[:, columns] * column_weights[0] + whole[:, right] * column_weights[1]
    # Of 22 fraction bits, 18 are kept for the second product and 2 after it; then the sum is rounded.
    across >>= 4
    upper = (row_weights[0][:, np.newaxis] * across[rows]) >> 16
    lower = (row_weights[1][:, np.newaxis] * across[below]) >> 16
    mixed: Picture = np.clip((upper + lower + 2) >> 2, 0, 255).astype(np.uint8)
    return mixed


def _neighbours(source: int, target: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The first of two source pixels for each target pixel, and both weights in units of 1 / 2048."""
    inverse = target / source
    step = 1.0 / inverse
    places = np.arange(target)
    first = np.floor(places * step).astype(np.int64)
    part = ((places + 1) - (first + 1) * inverse).astype(np.float32)
    part = np.where(part <= 0, np.float32(0), part - np.floor(part)).astype(np.float32)
    outside = first >= source - 1
    first, part = np.minimum(first, source - 1), np.where(outside, np.float32(0), part)
    weights = np.stack([np.float32(1) - part, part]).astype(np.float32) * np.float32(2048)
    return first, np.rint(weights).astype(np.int32)
