"""What a colouriser is given and what it must give back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.colorizer.grey import area_resize, grey
from pixelgate.errors import InputError, Problem
from pixelgate.hints import Hints, alpha_dir_name
from pixelgate.io.any_image import as_rgb8, read_any
from pixelgate.io.files import pixel_digest, sha256_file
from pixelgate.records import ImageRecord, Note

Picture = NDArray[np.uint8]
PictureSource = Path | str | NDArray[Any]
Colorizer = Callable[[Mapping[str, Any]], Any]
"""A method: called with what `Sample.view` gives, it returns uint8, height x width x 3."""

CHANNEL_ORDERS = ("rgb", "bgr")
ARRAY = "<array>"


class ColorizerError(InputError, ValueError):
    """The samples, or what the function gave back, cannot be scored; also a `ValueError`."""


@dataclass(frozen=True)
class Pair:
    """One sample as it was given.

    Attributes:
        name: its prediction's file name: the ground truth's with ``.png``, or its place (``000000.png``) for an array.
        line_art, ground_truth: a path, or an array in the channel order of `channel_order`.
        channel_order: ``rgb`` or ``bgr``, of arrays.
    """

    name: str
    line_art: Path | NDArray[Any]
    ground_truth: Path | NDArray[Any]
    channel_order: str = "rgb"

    @property
    def source(self) -> str:
        """The ground truth's file name, or ``<array>``."""
        return self.ground_truth.name if isinstance(self.ground_truth, Path) else ARRAY

    def digests(self) -> tuple[str, str]:
        """SHA-256 of line art and ground truth: of a file's bytes, or of an array's pixels (`pixel_digest`)."""
        line_art, ground_truth = (
            sha256_file(given) if isinstance(given, Path) else pixel_digest(_array(given, what, self))
            for given, what in ((self.line_art, "line art"), (self.ground_truth, "ground truth"))
        )
        return line_art, ground_truth

    def read_ground_truth(self) -> tuple[Picture, ImageRecord]:
        """The ground truth, uint8, height x width x 3, RGB, and how it was read; `InputError` where it cannot be."""
        return _read(self.ground_truth, "ground truth", self)

    def read_line_art(self, height: int, width: int) -> tuple[Picture, tuple[Note, ...]]:
        """The line art, uint8, height x width, and what was done to it; `InputError` where it cannot be read."""
        colour, record = _read(self.line_art, "line art", self)
        notes = tuple(Note(f"{self.name}, line art", note.rule, note.message) for note in record.notes)
        values = grey(colour)
        if values.shape == (height, width):
            return values, notes
        message = f"was resized from {values.shape[1]} x {values.shape[0]} to {width} x {height} pixels, by area."
        return area_resize(values, height, width), (*notes, Note(f"{self.name}, line art", "resized", message))


def pairs(samples: Iterable[object], channel_order: str) -> tuple[Pair, ...]:
    """The samples of a run, checked without decoding them.

    Args:
        samples: (line art, ground truth): paths or arrays.
        channel_order: of arrays.

    Raises:
        ColorizerError: there are none, one is no pair, a file is missing, or two would have one name (also where only
            upper and lower case differ); everything at once.
    """
    found: list[Pair] = []
    problems: list[Problem] = []
    for index, sample in enumerate(samples):
        if not isinstance(sample, (tuple, list)) or len(sample) != 2:
            text = f"sample {index} is no pair."
            problems.append(Problem("", "sample-pair", text, "Give (line art, ground truth): paths or arrays."))
            continue
        line_art, ground_truth = (Path(part) if isinstance(part, str) else part for part in sample)
        name = f"{ground_truth.stem}.png" if isinstance(ground_truth, Path) else f"{index:06d}.png"
        found.append(Pair(name, line_art, ground_truth, channel_order))
        problems += [_missing(part) for part in (line_art, ground_truth) if isinstance(part, Path) and _absent(part)]
    problems += _same_names(found)
    if not found and not problems:
        problems = [Problem("", "no-samples", "there are no samples.", "Give (line art, ground truth) pairs.")]
    if problems:
        raise ColorizerError(problems)
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Sample:
    """One sample, decoded.

    Attributes:
        index: its place in the run.
        pair: what was given.
        line_art: uint8, height x width.
        ground_truth: uint8, height x width x 3, RGB.
        hints: its hints.
    """

    index: int
    pair: Pair
    line_art: Picture
    ground_truth: Picture
    hints: Hints

    def view(self, alpha: float, hint_type: str, oracle: bool) -> Mapping[str, Any]:
        """What the function is given: a read-only mapping with arrays that are its own and read-only.

        Keys: ``index``, ``name``, ``alpha``, ``hint_type``, ``line_art`` (uint8, height x width), ``hint_color``
        (uint8, height x width x 3), ``hint_mask`` (uint8, height x width, 0 and 255); for an oracle also
        ``ground_truth``, ``hints`` and ``n_regions``. Colours have the pair's channel order.
        """
        height, width = self.line_art.shape
        colour, mask = self.hints.at_ratio(alpha, hint_type, (height, width))
        view = {
            "index": self.index,
            "name": self.pair.name,
            "alpha": alpha,
            "hint_type": hint_type,
            "line_art": _own(self.line_art),
            "hint_color": self._ordered(colour),
            "hint_mask": _own(mask),
        }
        if oracle:
            view["ground_truth"] = self._ordered(self.ground_truth)
            view["hints"] = self._own_hints()
            view["n_regions"] = self.hints.n_regions
        return MappingProxyType(view)

    def checked(self, output: object, alpha: float) -> Picture:
        """What the function gave back, as RGB.

        Raises:
            ColorizerError: rule ``colorizer-output``: no uint8 array of the ground truth's shape.
        """
        if isinstance(output, np.ndarray):
            if output.dtype == np.uint8 and output.shape == self.ground_truth.shape:
                ordered = output[..., ::-1] if self.pair.channel_order == "bgr" else output
                # A copy: what the function keeps and changes later must not change what is scored.
                return np.array(ordered, order="C")
            found = f"{output.dtype}, shape {output.shape}"
        else:
            found = f"{'an' if type(output).__name__[0] in 'aeiouAEIOU' else 'a'} {type(output).__name__}"
        raise ColorizerError(
            Problem(
                self.pair.name,
                "colorizer-output",
                f"at ratio {alpha_dir_name(alpha)} the function gave {found}.",
                f"Return a numpy array, uint8, of the ground truth's shape {self.ground_truth.shape}, "
                f"in {self.pair.channel_order.upper()} order.",
            )
        )

    def _ordered(self, colour: Picture) -> Picture:
        return _own(colour[..., ::-1] if self.pair.channel_order == "bgr" else colour)

    def _own_hints(self) -> Hints:
        own: dict[str, Any] = {
            field.name: _own(value)
            for field in dataclasses.fields(self.hints)
            if isinstance(value := getattr(self.hints, field.name), np.ndarray)
        }
        for name in ("flatten", "scribble_color", "dot_color"):
            own[name] = self._ordered(own[name])
        return dataclasses.replace(self.hints, **own)


def _own(array: NDArray[Any]) -> NDArray[Any]:
    copy = np.array(array, order="C")
    copy.flags.writeable = False
    return copy


def _read(given: Path | NDArray[Any], what: str, pair: Pair) -> tuple[Picture, ImageRecord]:
    if isinstance(given, Path):
        return read_any(given, label=pair.name)
    picture = _array(given, what, pair)
    digest = pixel_digest(picture)
    return picture, ImageRecord(ARRAY, digest, digest, picture.shape[1], picture.shape[0])


def _array(given: NDArray[Any], what: str, pair: Pair) -> Picture:
    picture = as_rgb8(given, f"{what} of {pair.name}")
    return np.ascontiguousarray(picture[..., ::-1]) if pair.channel_order == "bgr" else picture


def _absent(path: Path) -> bool:
    return not path.is_file()


def _missing(path: Path) -> Problem:
    found = "is a folder." if path.is_dir() else "does not exist."
    return Problem(str(path), "not-a-file", found, "Give the path of a picture file.")


def _same_names(found: Iterable[Pair]) -> list[Problem]:
    first: dict[str, Pair] = {}
    problems = []
    for pair in found:
        other = first.setdefault(pair.name.lower(), pair)
        if other is not pair:
            text = f"{pair.ground_truth} and {other.ground_truth} would both be written as {pair.name}."
            problems.append(Problem(pair.name, "sample-name", text, "Give ground truths with distinct names."))
    return problems
