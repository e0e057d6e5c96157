"""Colour grades in whole numbers, for demo pictures that are the same on every machine.

A grade is what a colourist does: white balance and saturation (a 3x3 matrix), a tone curve for each
channel, and a tint for shadows and highlights. Every step is 64-bit integer arithmetic with a stated
rounding, so no compiler, processor or library version can change a bit of the result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_FINE = 16
"""Steps run on 16ths of an 8-bit level, so that only the last one rounds visibly."""
_TOP = 255 * _FINE
_LUMA = (54, 183, 19)
"""Weights of red, green and blue in 256ths (Rec. 709, rounded), for tints only."""


@dataclass(frozen=True)
class Curve:
    """A tone curve from 8-bit levels to 8-bit levels.

    Attributes:
        black, white: the levels to which 0 and 255 go.
        bend: largest lift of the middle tones in levels; negative darkens.
        contrast: largest change of the quarter tones in levels: brighter highlights, darker shadows; negative flattens.
    """

    black: int = 0
    white: int = 255
    bend: int = 0
    contrast: int = 0

    def table(self) -> NDArray[np.int64]:
        """Return the curve for every 16th of a level: 4081 entries in 16ths of a level."""
        x = np.arange(_TOP + 1, dtype=np.int64)
        y = self.black * _FINE + _divide(x * (self.white - self.black), 255)
        # A parabola that is 0 at both ends and 1 in the middle.
        y += _divide(4 * self.bend * _FINE * x * (_TOP - x), _TOP * _TOP)
        # A cubic that is 0 at both ends and in the middle; 10.39 scales its extremes, near the quarters, to 1.
        cubic = _divide(x * (_TOP - x) * (2 * x - _TOP), _TOP * _TOP)
        y += _divide(cubic * self.contrast * _FINE * 1039, 100 * _TOP)
        return np.clip(y, 0, _TOP)


@dataclass(frozen=True)
class Grade:
    """A colour grade.

    Attributes:
        matrix: three rows in 256ths; each row's sum is the channel's gain.
        curves: red, green, blue.
        shadows, highlights: what is added to red, green and blue where the picture is black or white, in
            levels; it fades with the square of the lightness.
    """

    matrix: tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int]]
    curves: tuple[Curve, Curve, Curve]
    shadows: tuple[int, int, int] = (0, 0, 0)
    highlights: tuple[int, int, int] = (0, 0, 0)

    def apply(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Grade a picture.

        Args:
            image: uint8, height x width x 3.

        Returns:
            uint8 of the same shape; the same bits on every machine.
        """
        rgb = [image[..., channel].astype(np.int64) * _FINE for channel in range(3)]
        mixed = [_divide(_dot(row, rgb), 256) for row in self.matrix]
        curved = [c.table()[np.clip(m, 0, _TOP)] for c, m in zip(self.curves, mixed, strict=True)]
        luma = _divide(_dot(_LUMA, curved), 256)
        dark, light = (_TOP - luma) ** 2, luma**2
        out = np.empty(image.shape, dtype=np.uint8)
        for channel in range(3):
            tint = self.shadows[channel] * _FINE * dark + self.highlights[channel] * _FINE * light
            value = _divide(curved[channel] + _divide(tint, _TOP * _TOP), _FINE)
            out[..., channel] = np.clip(value, 0, 255)
        return out


def saturation(
    percent: int, gains: tuple[int, int, int] = (256, 256, 256)
) -> tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int]]:
    """Return a matrix that scales saturation and then the channels.

    Args:
        percent: 100 keeps colours, 0 gives grey.
        gains: red, green and blue in 256ths.
    """

    def row(channel: int) -> tuple[int, int, int]:
        mixed = [_LUMA[k] * (100 - percent) + (256 * percent if k == channel else 0) for k in range(3)]
        red, green, blue = ((value * gains[channel] + 12800) // 25600 for value in mixed)
        return red, green, blue

    return row(0), row(1), row(2)


def _dot(weights: tuple[int, int, int], channels: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    red, green, blue = channels
    return weights[0] * red + weights[1] * green + weights[2] * blue


def _divide(numerator: NDArray[np.int64], denominator: int) -> NDArray[np.int64]:
    """Divide and round to the nearest whole number, halves upwards, for either sign."""
    return (numerator + denominator // 2) // denominator
