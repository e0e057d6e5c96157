"""The demo track's pictures: true pairs, made from photographs that ship with scikit-image.

``gt`` is a fixed grade of ``content``; ``style`` is the same grade of another photograph. So a method
that found the grade from the style alone would meet its ground truth exactly. Crops, grades and files
are whole-number arithmetic throughout: every machine gets the same bytes, and nothing is downloaded.

Source photographs, all lossless PNG files in scikit-image's wheel (``skimage/data``):

====================  =====================================  ==============================================
file                  what, and by whom                      terms, as stated by their sources
====================  =====================================  ==============================================
astronaut.png         Eileen Collins, NASA                   no known copyright restrictions, public domain
chelsea.png           Chelsea the cat, Stefan van der Walt   CC0
coffee.png            a coffee cup, Rachel Michetti          CC0
motorcycle_left.png,  two views of a motorcycle, Middlebury  may be used and published; citing is asked for
motorcycle_right.png  2014 stereo, D. Scharstein et al.
====================  =====================================  ==============================================

``docs/demo-data.md`` has the sources in full.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, MissingExtra, Problem, TrackError
from pixelgate.io.files import atomic_write, pixel_digest
from pixelgate.io.png import read_png
from pixelgate.io.write import png_bytes
from pixelgate.tracks.demo_grades import Curve, Grade, saturation
from pixelgate.tracks.expected import check_pictures

Progress = Callable[[int, int, str], None]
"""Called with (files done so far, files in all, the file done last)."""

FOLDERS = ("content", "style", "gt")

SOURCES = {
    "astronaut": "e7aa6b86f885693befa6f9b9fe17e842fed4fea03c55a531ec26cf83068e23cb",
    "chelsea": "6493d630861c010b5984b351374a52591c4338049a47b25041008b605ad9119b",
    "coffee": "2e9a1a2f156851147ea0e72b3d72179889390fabeed92dbb4795780220be94dd",
    "motorcycle_left": "a7aa013153925a8950e3370c40180be8dd23ee3093079d37a16ab0c97bfef077",
    "motorcycle_right": "ea4570ce09b6f0ba2efa87d57700447dc08d3b116973f5b148359e6f7c911b78",
}
"""Pixel digest of each source photograph."""

# The sources are somebody else's files; a profile in them must leave the pixels alone.
_SOURCE_RULES: dict[str, Any] = {
    "format": "png",
    "bit_depth": 8,
    "colour_type": "rgb",
    "exif_orientation": "apply",
    "icc": {
        "output": "refuse",
        "reference": "refuse",
        "srgb_probe_levels": 18,
        "srgb_probe_tolerance": 1,
        "intent": "perceptual",
    },
    "ignored_chunks": ["gAMA", "cHRM", "sRGB", "cICP"],
}


@dataclass(frozen=True)
class Crop:
    """A rectangle of a source photograph, in pixels from its top left corner."""

    source: str
    left: int
    top: int
    width: int
    height: int

    def cut(self, photographs: dict[str, NDArray[np.uint8]]) -> NDArray[np.uint8]:
        """Return the rectangle, uint8, height x width x 3."""
        return photographs[self.source][self.top : self.top + self.height, self.left : self.left + self.width]


@dataclass(frozen=True)
class Pair:
    """A content, another photograph as style, and the grade that links both to the ground truth."""

    content: Crop
    style: Crop
    grade: str


GRADES = {
    "warm-film": Grade(
        saturation(88, (268, 256, 236)),
        (Curve(10, 250, 12, 10), Curve(8, 248, 4, 10), Curve(18, 236, -4, 8)),
        shadows=(6, 2, -2),
        highlights=(8, 4, -10),
    ),
    "teal-and-orange": Grade(
        saturation(112),
        (Curve(0, 255, 0, 14), Curve(0, 252, 2, 12), Curve(4, 246, 4, 6)),
        shadows=(-16, 4, 18),
        highlights=(14, 4, -14),
    ),
    "cool-night": Grade(
        saturation(70, (222, 244, 276)),
        (Curve(0, 222, -22, 6), Curve(0, 228, -16, 6), Curve(8, 240, -6, 8)),
        shadows=(-4, 0, 10),
        highlights=(-6, 0, 6),
    ),
    "bleach-bypass": Grade(
        saturation(45),
        (Curve(0, 255, 4, 24), Curve(0, 255, 4, 24), Curve(0, 250, 2, 24)),
        shadows=(0, 2, 4),
        highlights=(2, 2, -4),
    ),
    "golden-hour": Grade(
        saturation(112, (270, 256, 220)),
        (Curve(4, 252, 16, 6), Curve(2, 250, 8, 6), Curve(2, 232, -8, 4)),
        shadows=(4, 0, 4),
        highlights=(6, 4, -8),
    ),
    "faded-print": Grade(
        saturation(76),
        (Curve(38, 240, 6, -12), Curve(34, 236, 8, -12), Curve(42, 226, 10, -12)),
        shadows=(4, -2, 6),
        highlights=(4, 4, -4),
    ),
    "cross-process": Grade(
        saturation(108),
        (Curve(0, 255, -4, 22), Curve(0, 255, 8, 14), Curve(36, 226, 4, -18)),
        shadows=(0, 0, 10),
        highlights=(4, 10, -8),
    ),
    "bright-and-airy": Grade(
        saturation(90, (258, 258, 262)),
        (Curve(14, 255, 30, -6), Curve(14, 255, 28, -6), Curve(18, 255, 30, -6)),
        shadows=(4, 0, 4),
        highlights=(2, 0, 2),
    ),
    "forest-green": Grade(
        saturation(84, (246, 260, 242)),
        (Curve(6, 244, -2, 10), Curve(10, 248, 4, 10), Curve(6, 236, -4, 8)),
        shadows=(-4, 4, 0),
        highlights=(2, 4, -4),
    ),
    "magenta-dusk": Grade(
        saturation(92, (260, 248, 264)),
        (Curve(8, 248, 4, 8), Curve(6, 242, -5, 8), Curve(14, 246, 4, 6)),
        shadows=(5, -2, 10),
        highlights=(6, -2, 0),
    ),
}

PAIRS = {
    "demo-001": Pair(Crop("coffee", 0, 0, 600, 400), Crop("astronaut", 0, 0, 448, 512), "warm-film"),
    "demo-002": Pair(Crop("astronaut", 0, 0, 432, 480), Crop("coffee", 100, 20, 480, 360), "teal-and-orange"),
    "demo-003": Pair(Crop("chelsea", 0, 0, 451, 300), Crop("motorcycle_left", 40, 40, 640, 420), "cool-night"),
    "demo-004": Pair(Crop("motorcycle_left", 100, 60, 601, 437), Crop("chelsea", 0, 10, 400, 288), "bleach-bypass"),
    "demo-005": Pair(Crop("coffee", 90, 10, 411, 337), Crop("chelsea", 20, 0, 420, 300), "golden-hour"),
    "demo-006": Pair(Crop("astronaut", 100, 20, 300, 400), Crop("motorcycle_left", 120, 0, 480, 320), "faded-print"),
    "demo-007": Pair(
        Crop("motorcycle_left", 250, 0, 480, 333), Crop("motorcycle_right", 60, 30, 610, 400), "cross-process"
    ),
    "demo-008": Pair(Crop("chelsea", 0, 0, 400, 292), Crop("coffee", 0, 0, 500, 400), "bright-and-airy"),
    "demo-009": Pair(
        Crop("motorcycle_left", 0, 0, 370, 500), Crop("motorcycle_right", 200, 120, 520, 380), "forest-green"
    ),
    "demo-010": Pair(Crop("astronaut", 132, 0, 380, 512), Crop("chelsea", 60, 0, 384, 256), "magenta-dusk"),
}

EXPECTED: dict[str, str] = {
    "content/demo-001.png": "2e9a1a2f156851147ea0e72b3d72179889390fabeed92dbb4795780220be94dd",
    "style/demo-001.png": "b3ae247d07983a6114964e5ed0247a9fb77305a240cb8f65148cdb76afdbbb15",
    "gt/demo-001.png": "ee0ed1089aa6e130799cc565b320077c1a38cde727c60e3d3b28ff29b65a3028",
    "content/demo-002.png": "a49d241cd37981673e2298bda1f5539555165fd55d830f51378efa635cfe5af2",
    "style/demo-002.png": "fd849535456010b751bd34f7562e12c8388008e02dc110f6bda3f1fadf0cb854",
    "gt/demo-002.png": "18b15bffecf7e666007cb8ebb78d63065a778dcd89434ab0e4aa181a5536e3cc",
    "content/demo-003.png": "6493d630861c010b5984b351374a52591c4338049a47b25041008b605ad9119b",
    "style/demo-003.png": "31dc40a0d081a4fce336c33ba3ba0d515b3f27de18de2ed09efaeb531c929483",
    "gt/demo-003.png": "115fa551e55d3c561df02daf2ce7f7a7c03ac46bfc57f1d3667755c69ea48e3c",
    "content/demo-004.png": "cbdfac88f2bc3298a6c469bc3aea43b6d6519fb321febdf6fc09b328031b7b44",
    "style/demo-004.png": "e48f667ef155eae039000538e067dcad50c830f442a639d17d9e4a98b6692da8",
    "gt/demo-004.png": "f9d56b3e77a76a7ef0ac24097f1809a007b8d350e738a99f6186c864d04ebb17",
    "content/demo-005.png": "de31e785eff21abd95c9ac28a3b5bc1fd4354bb68c4e3b5fb47553a0562c9418",
    "style/demo-005.png": "5ee149c377c42422e69b8a00c7ba9bc2baacd876f9a67b3a8ce1f435af78408d",
    "gt/demo-005.png": "b7fdb78baf363c322fb88a1734e681bc32f1af28e2e1ea3ebf7f5ada0cc014c9",
    "content/demo-006.png": "c7f479d8db3ec868d324233242b9d8f8aa08b05b1245122ad6e032eda5381a79",
    "style/demo-006.png": "315f31221192ac053b09d4eb299828647f387654b31ddd0497100f5f53d739c4",
    "gt/demo-006.png": "ab1adceaebc4d50f842a80e38858ed3ceb0fcad885243fb6fe9b197138a0841a",
    "content/demo-007.png": "01750f2857dbbc7896b666abe69ed778c5d906d215abeb8a793923de10b586b5",
    "style/demo-007.png": "36ddb366d826c402e7161c76a19d4eae366432075be218d88539bef5776c65fc",
    "gt/demo-007.png": "82c28453d06ff1b75f0b775efcc1145cae0edadfd829652a146e715d9012a4c0",
    "content/demo-008.png": "8a828cd3f19bc0de26e34f871966dd27893a1791d97a918b43b1245be3013d6c",
    "style/demo-008.png": "647923bcabdbfb0fca5996218ea235fb76fb3d51332c332eb7844d0213262ada",
    "gt/demo-008.png": "fafe8e99eba6a0becb89c5af0e52ba05019b151f5c095267713a43ca2e8cda92",
    "content/demo-009.png": "6698c859646d4cfd6757ff939e94569236c6c5314abf93b042cd45add990bcb9",
    "style/demo-009.png": "220524b04a4d29dbd25bebc40b098cf6be58a862e1fa922f2c31209a607bc7f6",
    "gt/demo-009.png": "1c639c38deac4e999118cd2302cbe218c87c45191d11e061ac4260ec0330ad92",
    "content/demo-010.png": "7f6dc0b30da668f0802e33a33043a0362ab2d95a1805ae8b9e22f2519bd6e889",
    "style/demo-010.png": "3c4fabfa0cbf3e61ef04f0aecc8664893fdbe306e9612e9afd18a207a0ee8f71",
    "gt/demo-010.png": "c98e19ff54f441a8ac36f2fec4ce7f904221280bfcfc66a160d1168950e5a04a",
}
"""Pixel digest of every file that `build` writes, by its path below the track's folder."""


def build(root: Path, progress: Progress | None = None) -> None:
    """Write the demo track's pictures to ``root/content``, ``root/style`` and ``root/gt``.

    Files that are already right are left alone, so a build that was interrupted is finished by the next
    call, and two builds at a time do no harm. Each file is written atomically. Files that are not part
    of the track are left alone.

    Args:
        root: the track's folder; it is made where it is missing.
        progress: see `Progress`.

    Raises:
        MissingExtra: scikit-image is not installed.
        TrackError: its photographs are missing or other ones, or a picture came out wrong.
        InputError: rule ``not-writable``.
    """
    photographs = {name: _photograph(name) for name in SOURCES}
    pictures = [
        (f"{folder}/{sample}.png", pair, folder) for sample, pair in sorted(PAIRS.items()) for folder in FOLDERS
    ]
    for done, (name, pair, folder) in enumerate(pictures, start=1):
        picture = _picture(pair, folder, photographs)
        if pixel_digest(picture) != EXPECTED[name]:
            raise TrackError(f"demo-pst: {name} came out with other pixels than expected; please report this")
        _write_if_needed(root / name, png_bytes(picture))
        if progress is not None:
            progress(done, len(pictures), name)


def verify(root: Path) -> list[Problem]:
    """Read every file that `build` makes and hold its pixels to `EXPECTED`; missing files are skipped."""
    return check_pictures(root, EXPECTED)


def _picture(pair: Pair, folder: str, photographs: dict[str, NDArray[np.uint8]]) -> NDArray[np.uint8]:
    crop = pair.style if folder == "style" else pair.content
    picture = crop.cut(photographs)
    return picture if folder == "content" else GRADES[pair.grade].apply(picture)


def _photograph(name: str) -> NDArray[np.uint8]:
    # Found without importing skimage: its data module would load a downloader.
    spec = importlib.util.find_spec("skimage")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra("the demo track needs scikit-image: run pip install 'pixelgate[demo]'")
    path = Path(spec.submodule_search_locations[0]) / "data" / f"{name}.png"
    mend = "Install another scikit-image (0.26.0 is known to fit): pip install 'scikit-image==0.26.0'"
    try:
        picture, _ = read_png(path, _SOURCE_RULES, role="reference")
    except InputError as error:
        raise TrackError(f"demo-pst: a source photograph cannot be used. {error} {mend}") from None
    if pixel_digest(picture) != SOURCES[name]:
        raise TrackError(f"demo-pst: {path} holds another picture than the demo is made from. {mend}")
    return picture


def _write_if_needed(path: Path, data: bytes) -> None:
    try:
        if path.read_bytes() == data:
            return
    except OSError:
        pass  # missing, or no readable file: the write says what is wrong with it
    atomic_write(path, data)
