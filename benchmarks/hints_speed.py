"""Time hint generation beside hintauc, in one process, and compare the maps.

    python benchmarks/hints_speed.py --sizes 128 256 512 1024 --repeats 7

Contestants take turns on each picture, so that a busy machine slows all of them alike; the table shows medians. The
first call of each, which may compile, is not timed. ``as is`` compares with what hintauc gives here; ``stable`` with
what it gives when numpy's argsort is made stable while it runs, which is what our hints are defined by. Differences
are the number of pixels of all maps that differ, and the largest difference of a value. Nothing is asserted.

Needs the extra ``fast``, scikit-image and, for the comparison, ``pip install --no-deps hintauc==0.3.3`` with
opencv-python-headless. Without hintauc only our own times are shown.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pixelgate.hints import Hints, generate_hints

Picture = np.ndarray


@dataclass
class Entry:
    """One library's way to the hints of one picture."""

    library: str
    call: Callable[[], Any]
    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def photograph(side: int) -> Picture:
    from PIL import Image
    from skimage import data

    return np.asarray(Image.fromarray(data.astronaut()).resize((side, side), Image.Resampling.LANCZOS))


def mosaic(side: int, tiles: int) -> Picture:
    """Flat tiles of random colours: many regions, nearly all edges of equal cost."""
    colours = np.random.default_rng(0).integers(0, 256, (tiles, tiles, 3), dtype=np.uint8)
    place = np.arange(side) * tiles // side
    return np.ascontiguousarray(colours[place][:, place])


@contextmanager
def backend(name: str) -> Iterator[None]:
    before = os.environ.get("PIXELGATE_BACKEND")
    os.environ["PIXELGATE_BACKEND"] = name
    try:
        yield
    finally:
        os.environ.pop("PIXELGATE_BACKEND")
        if before is not None:
            os.environ["PIXELGATE_BACKEND"] = before


@contextmanager
def stable_argsort() -> Iterator[None]:
    real = np.argsort
    np.argsort = lambda values, *_, **__: real(values, kind="stable")
    try:
        yield
    finally:
        np.argsort = real


def own(name: str, picture: Picture, size: int) -> Entry:
    def call() -> Hints:
        with backend(name):
            return generate_hints(picture, size)

    return Entry(f"pixelgate/{name}", call)


def peer(picture: Picture, size: int) -> Entry:
    hintauc = importlib.import_module("hintauc")
    blue_first = np.ascontiguousarray(picture[..., ::-1])
    return Entry("hintauc", lambda: hintauc.generate_hints(blue_first, size=size, path_method="geodesic"))


def differences(ours: Hints, theirs: Any) -> str:
    pairs = [
        (ours.region_map[..., ::-1], theirs.region),
        (ours.flatten[..., ::-1], theirs.flatten),
        (ours.scribble_mask, theirs.scribble_mask),
        (ours.scribble_color[..., ::-1], theirs.scribble_color),
        (ours.dot_mask, theirs.dot_mask),
        (ours.dot_color[..., ::-1], theirs.dot_color),
    ]
    gaps = [np.abs(one.astype(int) - two.astype(int)) for one, two in pairs]
    pixels = sum(int(np.count_nonzero(gap.reshape(*gap.shape[:2], -1).any(axis=2))) for gap in gaps)
    return f"{pixels} px, {max(int(gap.max()) for gap in gaps)}"


def run(title: str, picture: Picture, size: int, repeats: int, plain: bool) -> None:
    entries = [own("numba", picture, size)]
    if plain:
        entries.append(own("numpy", picture, size))
    if importlib.util.find_spec("hintauc") is not None:
        entries.append(peer(picture, size))
    results = [entry.call() for entry in entries]
    for _ in range(repeats):
        for entry in entries:
            start = time.perf_counter()
            entry.call()
            entry.seconds.append(time.perf_counter() - start)
    times = "  ".join(f"{entry.library} {1000 * entry.median:8.1f} ms" for entry in entries)
    line = f"{title:24} {results[0].n_regions:5d} regions  {times}"
    if plain:
        line += f"  plain maps: {differences(results[0], as_theirs(results[1]))}"
    if entries[-1].library == "hintauc":
        with stable_argsort():
            stable = entries[-1].call()
        ratios = [entries[-1].median / entry.median for entry in entries[:-1]]
        line += f"  faster by {' / '.join(f'{ratio:.2f}' for ratio in ratios)}"
        line += f"  as is: {differences(results[0], results[-1])}  stable: {differences(results[0], stable)}"
    print(line, flush=True)


def as_theirs(hints: Hints) -> Any:
    """Our hints with the peer's names and channel order."""
    from types import SimpleNamespace

    return SimpleNamespace(
        region=hints.region_map[..., ::-1],
        flatten=hints.flatten[..., ::-1],
        scribble_mask=hints.scribble_mask,
        scribble_color=hints.scribble_color[..., ::-1],
        dot_mask=hints.dot_mask,
        dot_color=hints.dot_color[..., ::-1],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[128, 256, 512, 1024], help="sides of the photograph")
    parser.add_argument("--mosaics", type=int, nargs="*", default=[16, 32, 63], help="tiles a side, 1000 px pictures")
    parser.add_argument("--map-size", type=int, default=64, help="side of the hint maps")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--plain", action="store_true", help="time the path without numba too")
    arguments = parser.parse_args()
    for side in arguments.sizes:
        run(f"photograph {side} px", photograph(side), arguments.map_size, arguments.repeats, arguments.plain)
    for tiles in arguments.mosaics:
        picture = mosaic(1000, tiles)
        run(f"mosaic {tiles} x {tiles}", picture, arguments.map_size, arguments.repeats, arguments.plain)


if __name__ == "__main__":
    main()
