"""A picture of an image's hints, for people: region borders, scribbles and dots over the image."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from pixelgate.hints.result import Hints
from pixelgate.io.any_image import as_rgb8, read_any

Picture = NDArray[np.uint8]
Point = tuple[float, float]

_LONG_SIDE = 1024
_FINE = 2
"""Drawn twice as large and scaled down, for smooth edges."""
_FADE = 0.55
"""How much of the image is white: the hints must stand out."""
_BORDER = (70, 78, 92)
_DARK, _LIGHT = (20, 22, 28), (255, 255, 255)
_MIDDLE_GREY = 140.0


def hint_picture(image: Path | str | NDArray[Any], hints: Hints) -> Picture:
    """Draw the hints of an image.

    The image is shown faded, region borders as thin lines, scribbles as strokes in their colours with a rim, and dots
    as discs with a rim. The longer side has 1,024 pixels; the image keeps its proportions, and the square maps are
    stretched over it.

    Args:
        image: the file or array that the hints were made of, or another version of it.
        hints: the hints to draw.

    Returns:
        uint8, height x width x 3, RGB.

    Raises:
        InputError: the image cannot be read.
    """
    picture = read_any(image)[0] if isinstance(image, (str, Path)) else as_rgb8(image, "image")
    longest = max(picture.shape[:2])
    height, width = (max(hints.size, round(side * _LONG_SIDE / longest)) for side in picture.shape[:2])
    fine = (width * _FINE, height * _FINE)
    # A small image is shown with its pixels, not blurred.
    smooth = Image.Resampling.LANCZOS if longest > _LONG_SIDE // 4 else Image.Resampling.NEAREST
    canvas = Image.fromarray(picture).resize(fine, smooth)
    canvas = Image.blend(canvas, Image.new("RGB", fine, (255, 255, 255)), _FADE)
    cell = (fine[0] / hints.size, fine[1] / hints.size)
    draw = ImageDraw.Draw(canvas)
    _borders(draw, hints.labels, cell)
    for rim in (True, False):
        _scribbles(draw, hints, cell, rim)
    _dots(draw, hints, cell)
    return np.asarray(canvas.resize((width, height), Image.Resampling.LANCZOS)).copy()


def _borders(draw: ImageDraw.ImageDraw, labels: NDArray[np.int32], cell: Point) -> None:
    width = _FINE if labels.shape[0] <= 128 else 1
    for row, column in np.argwhere(labels[:, 1:] != labels[:, :-1]).tolist():
        x = (column + 1) * cell[0]
        draw.line([(x, row * cell[1]), (x, (row + 1) * cell[1])], _BORDER, width)
    for row, column in np.argwhere(labels[1:] != labels[:-1]).tolist():
        y = (row + 1) * cell[1]
        draw.line([(column * cell[0], y), ((column + 1) * cell[0], y)], _BORDER, width)


def _scribbles(draw: ImageDraw.ImageDraw, hints: Hints, cell: Point, rim: bool) -> None:
    """Join neighbouring scribble pixels of one region by strokes; the rims of all go below the colours of all."""
    thickness = max(_FINE, round(0.42 * min(cell)))
    width = thickness + 2 * _FINE if rim else thickness
    on = hints.scribble_mask > 0
    size = hints.size
    for row, column in np.argwhere(on).tolist():
        colour = _rim_colour(hints.scribble_color[row, column]) if rim else _tuple(hints.scribble_color[row, column])
        centre = _centre(row, column, cell)
        _disc(draw, centre, width / 2, colour)
        for down, right in ((0, 1), (1, -1), (1, 0), (1, 1)):
            other, beside = row + down, column + right
            if other < size and 0 <= beside < size and on[other, beside]:
                same = hints.labels[other, beside] == hints.labels[row, column]
                # No short cut over a corner that the stroke turns.
                label = hints.labels[row, column]
                corners = ((row, beside), (other, column))
                # Another region's scribble at the corner does not break this one's diagonal.
                turns = down and right and any(on[place] and hints.labels[place] == label for place in corners)
                if same and not turns:
                    draw.line([centre, _centre(other, beside, cell)], colour, width)


def _dots(draw: ImageDraw.ImageDraw, hints: Hints, cell: Point) -> None:
    radius = max(2.0 * _FINE, 0.45 * min(cell))
    for row, column in np.argwhere(hints.dot_mask > 0).tolist():
        colour = hints.dot_color[row, column]
        centre = _centre(row, column, cell)
        outer = _rim_colour(colour)
        _disc(draw, centre, radius + 2 * _FINE, _DARK if outer == _LIGHT else _LIGHT)
        _disc(draw, centre, radius + _FINE, outer)
        _disc(draw, centre, radius, _tuple(colour))


def _disc(draw: ImageDraw.ImageDraw, centre: Point, radius: float, colour: tuple[int, int, int]) -> None:
    x, y = centre
    draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill=colour)


def _centre(row: int, column: int, cell: Point) -> Point:
    return (column + 0.5) * cell[0], (row + 0.5) * cell[1]


def _tuple(colour: Picture) -> tuple[int, int, int]:
    red, green, blue = colour.tolist()
    return red, green, blue


def _rim_colour(colour: Picture) -> tuple[int, int, int]:
    """Dark around light colours, light around dark ones."""
    light = float(colour @ np.array([0.299, 0.587, 0.114]))
    return _DARK if light > _MIDDLE_GREY else _LIGHT
