"""A contact sheet: a few frames of a comparison in one picture, for a report."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from pixelgate.clips._show_layout import BACKGROUND, GAP, TEXT, Frame, Layout, Show, default_font

ROWS = 6
"""Frames on a sheet, at most."""

_LARGEST = (300, 360)
_ENLARGED = 320
_TEXT_HEIGHT = 14
_SIDE = 6


class Sheet:
    """Gathers frames at even distances, the first and the last among them; holds them in the size of the sheet alone.

    Rows are time, columns are panes. Large panes are made smaller, to at most 300 x 360 pixels (height x width); tiny
    ones are enlarged by a whole factor, without smoothing.

    Attributes:
        indices: the frames' numbers, counted from 0.
        pane: height and width of a pane on the sheet.
    """

    def __init__(self, show: Show) -> None:
        count = min(ROWS, show.frames)
        self.indices: tuple[int, ...] = tuple(np.rint(np.linspace(0, show.frames - 1, count)).astype(int).tolist())
        self.pane, self._filter = _scaled(show.size)
        self._layout = Layout(show.labels, self.pane, _TEXT_HEIGHT)
        self._last = show.frames - 1
        self._rows: list[Frame] = []

    def add(self, index: int, panes: Sequence[Frame]) -> None:
        """Take a frame's panes, if the frame belongs on the sheet."""
        if index in self.indices:
            shown = self._layout.compose([self._resized(pane) for pane in panes])
            self._rows.append(shown[self._layout.top : self._layout.top + self.pane[0]])

    @property
    def left(self) -> int:
        """Width of the column of frame numbers."""
        font = default_font(_TEXT_HEIGHT)
        return 2 * _SIDE + round(max(font.getlength(text) for text in ("frame", str(self._last))))

    def picture(self) -> Frame:
        """The sheet, uint8, height x width x 3; as many rows as frames were added."""
        layout, step = self._layout, self.pane[0] + GAP
        height = layout.top + step * len(self._rows)
        whole = np.full((height, self.left + layout.width, 3), BACKGROUND, dtype=np.uint8)
        whole[: layout.top, self.left :] = layout.bar
        for place, row in enumerate(self._rows):
            start = layout.top + place * step
            whole[start : start + self.pane[0], self.left :] = row
        return self._numbered(whole, step)

    def _numbered(self, whole: Frame, step: int) -> Frame:
        picture = Image.fromarray(whole)
        draw = ImageDraw.Draw(picture)
        font = default_font(_TEXT_HEIGHT)
        right = self.left - _SIDE
        draw.text((right, self._layout.top / 2), "frame", fill=TEXT, font=font, anchor="rm")
        for place, index in enumerate(self.indices[: len(self._rows)]):
            middle = self._layout.top + place * step + self.pane[0] / 2
            draw.text((right, middle), str(index), fill=TEXT, font=font, anchor="rm")
        return np.asarray(picture)

    def _resized(self, pane: Frame) -> Frame:
        if pane.shape[:2] == self.pane:
            return pane
        return np.asarray(Image.fromarray(pane).resize((self.pane[1], self.pane[0]), self._filter))


def _scaled(size: tuple[int, int]) -> tuple[tuple[int, int], Image.Resampling]:
    """A pane's height and width on the sheet, and how it gets there."""
    scale = min(most / side for most, side in zip(_LARGEST, size, strict=True))
    if scale < 1:
        height, width = (max(1, round(scale * side)) for side in size)
        return (height, width), Image.Resampling.HAMMING
    factor = max(1, _ENLARGED // max(size))
    return (factor * size[0], factor * size[1]), Image.Resampling.NEAREST
