"""The demo track ``demo-hints``: one synthetic illustration, its line art, and three methods' outputs.

Whole-number arithmetic throughout: every machine gets the same pictures. The illustration is the reference library's
own demo, so that its published numbers hold here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pixelgate.colorizer.baseline import CANVAS, hint_fill_colorizer, plain_colorizer, spread_colorizer
from pixelgate.colorizer.canny import canny_line_art
from pixelgate.colorizer.evaluate import evaluate_colorizer
from pixelgate.colorizer.sample import Colorizer
from pixelgate.errors import Problem, TrackError
from pixelgate.io.files import pixel_digest
from pixelgate.io.write import write_png
from pixelgate.tracks.expected import check_pictures

Picture = NDArray[np.uint8]
Progress = Callable[[int, int, str], None]
"""Called with (files done so far, files in all, the file done last)."""

TRACK = "demo-hints"
SAMPLE = "demo-hints"

GROUND_TRUTH, LINE_ART = f"gt/{SAMPLE}.png", f"line_art/{SAMPLE}.png"

EXPECTED = {
    GROUND_TRUTH: "270e51da9e2b98bce6584a2db86aa428b83349724d3e09d133d663a9246ca1bb",
    LINE_ART: "710408898e1421f3ef03e24c527f96a22afff42b6ac8d15e70f8823b9c5960e5",
}
"""Pixel digest of every file that `build` writes, by its path below the track's folder."""

_META = {
    "checkpoint": "none, computed",
    "line_art_source": "Canny edges of the ground truth, thresholds 50 and 150",
    "seed": "none, deterministic",
    "split": TRACK,
}
_SIDE = 128
# Top, bottom, left, right of each rectangle, for a side of 128.
_RECTANGLES = ((10, 60, 10, 70), (70, 120, 20, 60), (30, 100, 80, 120))


@dataclass(frozen=True)
class DemoMethod:
    """A method of the demo.

    Attributes:
        name: its folder's name.
        model: the function.
        oracle: whether it sees the ground truth.
    """

    name: str
    model: Colorizer
    oracle: bool = False


METHODS = (
    DemoMethod("hint-fill", hint_fill_colorizer, oracle=True),
    DemoMethod("hint-spread", spread_colorizer),
    DemoMethod("plain", plain_colorizer),
)


def demo_picture(side: int = _SIDE) -> Picture:
    """The illustration: three rectangles on a ground of 235.

    Args:
        side: height and width in pixels; the rectangles are scaled and cut to whole pixels.

    Returns:
        uint8, side x side x 3, RGB.

    Source: hintauc 0.3.3, its demo: colours are drawn with ``numpy.random.default_rng(0)`` as BGR.
    """
    picture = np.full((side, side, 3), CANVAS, dtype=np.uint8)
    generator = np.random.default_rng(0)
    for rectangle in _RECTANGLES:
        top, bottom, left, right = (place * side // _SIDE for place in rectangle)
        picture[top:bottom, left:right] = generator.integers(20, 220, size=3, dtype=np.uint8)[::-1]
    return picture


def build(root: Path, progress: Progress | None = None) -> None:
    """Write the demo track's pictures to ``root/gt`` and ``root/line_art``.

    Args:
        root: the track's folder; it is made where it is missing.
        progress: see `Progress`.

    Raises:
        TrackError: a picture came out other than expected.
        InputError: rule ``not-writable``.
    """
    ground_truth = demo_picture()
    line_art = np.repeat(canny_line_art(ground_truth)[..., np.newaxis], 3, axis=2)
    pictures = {GROUND_TRUTH: ground_truth, LINE_ART: line_art}
    for done, (name, picture) in enumerate(pictures.items(), start=1):
        if pixel_digest(picture) != EXPECTED[name]:
            raise TrackError(f"{TRACK}: {name} came out with other pixels than expected; please report this")
        write_png(root / name, picture)
        if progress is not None:
            progress(done, len(pictures), name)


def verify(root: Path) -> list[Problem]:
    """Read every file that `build` makes and hold its pixels to `EXPECTED`; missing files are skipped."""
    return check_pictures(root, EXPECTED)


def make_outputs(
    out_dir: Path,
    root: Path,
    *,
    methods: Sequence[DemoMethod] = METHODS,
    hint_type: str = "scribble",
    overwrite: bool = True,
    progress: Progress | None = None,
) -> tuple[Path, ...]:
    """Write ``out_dir/<method>/demo-hints/<ratio>/demo-hints.png`` and each method's manifest; nothing is scored.

    Args:
        out_dir: the outputs folder; it is made where it is missing.
        root: the track's folder, as `build` fills it.
        methods: what to run; the first of the demo's own is an oracle, and its manifest says so.
        hint_type: ``scribble`` or ``dot``.
        overwrite: replace outputs of an earlier run.
        progress: called with (pictures done, pictures in all, the picture done last).

    Returns:
        One folder per method.

    Raises:
        InputError: a folder holds something else, or cannot be written.
    """
    folders = []
    for place, method in enumerate(methods):
        folder = out_dir / method.name / TRACK
        evaluate_colorizer(
            method.model,
            [(root / LINE_ART, root / GROUND_TRUTH)],
            hint_type=hint_type,
            metrics=(),
            save_dir=folder,
            oracle=method.oracle,
            overwrite=overwrite,
            meta=_META,
            progress=_part(progress, method.name, place, len(methods)),
        )
        folders.append(folder)
    return tuple(folders)


def _part(progress: Progress | None, method: str, place: int, parts: int) -> Progress | None:
    if progress is None:
        return None

    def tell(done: int, total: int, what: str) -> None:
        progress(place * total + done, parts * total, f"{method}/{TRACK}/{what}")

    return tell
