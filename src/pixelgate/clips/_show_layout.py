"""How a comparison of clips is laid out: panes of one size side by side, under a bar with their labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from pixelgate.errors import MissingExtra

Frame = NDArray[np.uint8]
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
Colour = tuple[int, int, int]

Label = tuple[tuple[str, Colour], ...]
"""The words above a pane and their colours. The first are its name; others explain colours that the pane uses."""

BACKGROUND: Colour = (24, 24, 24)
TEXT: Colour = (235, 235, 235)
GAP = 4
"""Pixels between panes."""
FALLBACK_FPS = 8.0
"""Frames per second where the generated clip names no rate."""

_MARGIN = 4
_BETWEEN_WORDS = 10


@dataclass(frozen=True)
class Show:
    """A comparison of clips that is still to be drawn.

    Attributes:
        labels: one per pane.
        size: height and width of each pane, in pixels.
        frames: how many there are.
        fps: frames per second of the generated clip.
        panes: gives, each time it is called, the panes of one frame after the other; uint8, height x width x 3, RGB.
    """

    labels: tuple[Label, ...]
    size: tuple[int, int]
    frames: int
    fps: float
    panes: Callable[[], Iterator[Sequence[Frame]]]


class Layout:
    """Places for panes of one size, side by side. A label that is wider than its pane widens the pane's place.

    Attributes:
        height, width: of the whole, in pixels; both even, so that every player takes the clip.
        top: where the panes begin.
        lefts: where each pane begins.
    """

    def __init__(self, labels: Sequence[Label], size: tuple[int, int], text_height: int) -> None:
        """Measure the labels.

        Args:
            labels: one per pane, at least one.
            size: height and width of a pane.
            text_height: of the labels' font, in pixels.

        Raises:
            MissingExtra: Pillow was built without FreeType.
        """
        self._pane = size
        font = default_font(text_height)
        places = [max(size[1], _length(label, font) + 2 * _MARGIN) for label in labels]
        starts = [sum(places[:index]) + GAP * index for index in range(len(places))]
        self.top = _even(round(1.8 * text_height))
        self.lefts = tuple(start + (place - size[1]) // 2 for start, place in zip(starts, places, strict=True))
        self.height, self.width = _even(self.top + size[0]), _even(starts[-1] + places[-1])
        self._empty = np.full((self.height, self.width, 3), BACKGROUND, dtype=np.uint8)
        self._empty[: self.top] = _bar(labels, starts, (self.top, self.width), font)

    @property
    def bar(self) -> Frame:
        """The labels alone, `top` x `width` x 3; not to be written to."""
        return self._empty[: self.top]

    def compose(self, panes: Sequence[Frame]) -> Frame:
        """The panes in their places, `height` x `width` x 3, a new array.

        Raises:
            ValueError: another number of panes, or a pane of another size.
        """
        whole = self._empty.copy()
        for left, pane in zip(self.lefts, panes, strict=True):
            whole[self.top : self.top + self._pane[0], left : left + self._pane[1]] = _checked(pane, self._pane)
        return whole


def default_font(height: int) -> Font:
    """Pillow's own font, so that no font has to be installed; `MissingExtra` where Pillow lacks FreeType."""
    try:
        return ImageFont.load_default(height)
    except ImportError:
        raise MissingExtra(
            "labels are drawn with FreeType, which this Pillow was built without: pip install --force-reinstall pillow"
        ) from None


def grey_rgb(grey: NDArray[np.uint8]) -> Frame:
    """A grey picture, height x width, as RGB."""
    return np.repeat(grey[:, :, np.newaxis], 3, axis=2)


def tinted(frame: Frame, mask: NDArray[np.bool_], colour: Colour) -> Frame:
    """The frame with the mask's pixels half in that colour; a new array."""
    shown = frame.copy()
    shown[mask] = (frame[mask].astype(np.uint16) + np.array(colour, dtype=np.uint16)) // 2
    return shown


def _checked(pane: Frame, size: tuple[int, int]) -> Frame:
    if pane.dtype != np.uint8 or pane.shape != (*size, 3):
        raise ValueError(f"a pane is uint8 of shape {(*size, 3)}; got {pane.dtype}, shape {pane.shape}")
    return pane


def _bar(labels: Sequence[Label], starts: Sequence[int], size: tuple[int, int], font: Font) -> Frame:
    picture = Image.new("RGB", (size[1], size[0]), BACKGROUND)
    draw = ImageDraw.Draw(picture)
    for label, start in zip(labels, starts, strict=True):
        x = float(start + _MARGIN)
        for words, colour in label:
            draw.text((x, size[0] / 2), words, fill=colour, font=font, anchor="lm")
            x += font.getlength(words) + _BETWEEN_WORDS
    return np.asarray(picture)


def _length(label: Label, font: Font) -> int:
    words = sum(font.getlength(words) for words, _ in label)
    return math.ceil(words + _BETWEEN_WORDS * (len(label) - 1))


def _even(pixels: int) -> int:
    return pixels + pixels % 2
