"""Time the alignment and the errors of a depth clip beside plain numpy, in one process, and weigh their memory.

    python benchmarks/depth_speed.py --frames 49 --repeats 3

The peer does what an evaluation script does: numpy's least squares over all valid pixels of the clip, then the errors
frame by frame. Contestants take turns, so that a busy machine slows all of them alike; the table shows ratios of
medians. The first call of each, which may compile, is not timed. Nothing is asserted: read the ratios. The memory is
what the resident memory grows by while two files are scored, for a short clip and a long one.

Needs the extra ``fast``; about 4 GB of memory for 49 frames of 1216 x 704, which the peer takes.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pixelgate.io.depth import open_depth
from pixelgate.metrics.depth import depth_scores, stream_scores
from pixelgate.metrics.person_mask import dilate, fill_holes

METRICS = ("mae", "rmse_linear")
AIM = 4.0
Clip = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass
class Entry:
    """One way to the numbers."""

    name: str
    call: Callable[[], dict[str, float]]
    seconds: list[float] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def frame(index: int, height: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Prediction (float32), condition (grey levels) and mask of one frame of a moving scene."""
    rng = np.random.default_rng(index)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32) / height
    scene = 120 + 80 * np.sin(3 * x + 0.05 * index) * np.cos(2 * y) + 50 * y
    condition = np.clip(scene, 0, 255).round().astype(np.uint8)
    condition[: height // 12] = 0
    prediction = (scene / 40 + rng.normal(0, 0.15, scene.shape)).astype(np.float32)
    return prediction, condition, (x - 0.8 - 0.004 * index) ** 2 + (y - 0.6) ** 2 < 0.04


def clip(frames: int, height: int, width: int) -> Clip:
    predictions, conditions, masks = zip(*(frame(index, height, width) for index in range(frames)), strict=True)
    return np.stack(predictions), np.stack(conditions), np.stack(masks)


def numpy_peer(prediction: np.ndarray, condition: np.ndarray, excluded: np.ndarray) -> dict[str, float]:
    valid = (condition != 0) & ~excluded & np.isfinite(prediction)
    p, g = prediction[valid].astype(np.float64), condition[valid].astype(np.float64)
    (scale, shift), *_ = np.linalg.lstsq(np.stack([p, np.ones_like(p)], axis=1), g, rcond=None)
    errors: dict[str, list[float]] = {name: [] for name in METRICS}
    for p_frame, g_frame, v in zip(prediction, condition, valid, strict=True):
        difference = (scale * p_frame.astype(np.float64) + shift - g_frame)[v]
        errors["mae"].append(float(np.abs(difference).mean()))
        errors["rmse_linear"].append(float(np.sqrt((difference**2).mean())))
    return {name: float(np.mean(values)) for name, values in errors.items()}


def own(backend: str, threads: int, given: Clip) -> dict[str, float]:
    os.environ["PIXELGATE_BACKEND"] = backend
    scores = depth_scores(*given, metrics=METRICS, threads=threads)
    return {name: scores.values[name].value or float("nan") for name in METRICS}


def measure(entries: list[Entry], repeats: int) -> None:
    for entry in entries:
        entry.values = entry.call()
    for _ in range(repeats):
        for entry in entries:
            start = time.perf_counter()
            entry.call()
            entry.seconds.append(time.perf_counter() - start)


def report(entries: list[Entry]) -> None:
    peer = entries[0]
    print(f"{'':22} {'times faster':>12} {'mae':>18} {'rmse_linear':>18} {'difference':>11}")
    for entry in entries:
        difference = max(abs(entry.values[name] - peer.values[name]) for name in METRICS)
        numbers = " ".join(f"{entry.values[name]:18.12f}" for name in METRICS)
        print(f"{entry.name:22} {peer.median / entry.median:11.1f}x {numbers} {difference:11.1e}")
    print(f"aim: {AIM:g} times the peer within 1e-6")


def mask_report(height: int, width: int, repeats: int) -> None:
    """Holes and dilation of one frame beside scipy's."""
    from scipy import ndimage

    mask = frame(0, height, width)[2]
    mask[height // 2 : height // 2 + 9, width // 2 : width // 2 + 9] = False
    radius = round(0.02 * height)
    seconds: dict[str, list[float]] = {"own": [], "scipy": []}
    for _ in range(repeats + 1):
        start = time.perf_counter()
        found = dilate(fill_holes(mask), radius)
        middle = time.perf_counter()
        wanted = ndimage.distance_transform_edt(~ndimage.binary_fill_holes(mask)) <= radius
        seconds["own"].append(middle - start)
        seconds["scipy"].append(time.perf_counter() - middle)
        assert np.array_equal(found, wanted)
    ratio = statistics.median(seconds["scipy"][1:]) / statistics.median(seconds["own"][1:])
    print(f"\nperson mask, holes and dilation by {radius}: {ratio:.1f} times as fast as scipy's distance transform")


def peak_megabytes(call: Callable[[], object]) -> float | None:
    """What the resident memory grew to above its level before the call; Linux only."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not reset.exists():
        return None
    # Memory that earlier calls left to the allocator would hide the growth.
    ctypes.CDLL(None).malloc_trim(0)
    reset.write_text("5")
    before = kilobytes(status, "VmRSS")
    call()
    return max(0, kilobytes(status, "VmHWM") - before) / 1024


def kilobytes(status: Path, name: str) -> int:
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(f"{name}:"))


def write(path: Path, frames: int, height: int, width: int, part: int) -> None:
    """An npz file, written a frame at a time."""
    sample = frame(0, height, width)[part]
    header = {"descr": np.lib.format.dtype_to_descr(sample.dtype), "fortran_order": False}
    with zipfile.ZipFile(path, "w") as archive, archive.open("depth.npy", "w", force_zip64=True) as stream:
        np.lib.format.write_array_header_1_0(stream, {**header, "shape": (frames, height, width)})
        for index in range(frames):
            stream.write(frame(index, height, width)[part].tobytes())


def memory_report(lengths: list[int], height: int, width: int) -> None:
    print("\npeak memory of scoring two files, all metrics, one thread")
    with tempfile.TemporaryDirectory() as folder:
        for frames in lengths:
            paths = [Path(folder) / f"{frames}-{part}.npz" for part in (0, 1)]
            for part, path in enumerate(paths):
                write(path, frames, height, width, part)
            prediction, condition = (open_depth(path) for path in paths)

            def pairs(p=prediction, g=condition) -> Iterator[tuple[np.ndarray, np.ndarray, None]]:
                yield from ((a, b, None) for a, b in zip(p.frames(), g.frames(), strict=True))

            grown = peak_megabytes(lambda pairs=pairs: stream_scores(pairs, threads=1))
            size = sum(path.stat().st_size for path in paths) / 1e6
            print(f"{frames:5} frames, {size:6.0f} MB of files: {'-' if grown is None else f'{grown:.0f} MB'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=49, help="frames of the timed clip (default 49)")
    parser.add_argument("--size", type=int, nargs=2, default=[1216, 704], help="width and height (default 1216 704)")
    parser.add_argument("--repeats", type=int, default=3, help="timed calls of each, in turns (default 3)")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads (default 2)")
    parser.add_argument("--memory", type=int, nargs="*", default=[10, 100], help="frames (default 10 100)")
    options = parser.parse_args()
    width, height = options.size
    print(f"Python {sys.version.split()[0]}, numpy {np.__version__}, {os.cpu_count()} CPUs, {options.threads} threads")
    print(f"\nalignment, mae and rmse of {options.frames} frames of {width} x {height}, medians of {options.repeats}")
    given = clip(options.frames, height, width)
    entries = [Entry("numpy, per frame", lambda: numpy_peer(*given))]
    for backend in ("numba", "numpy"):
        for threads in sorted({1, options.threads}):
            name = f"pixelgate/{backend}, {threads}"
            entries.append(Entry(name, lambda b=backend, t=threads: own(b, t, given)))
    measure(entries, options.repeats)
    report(entries)
    mask_report(height, width, options.repeats)
    os.environ["PIXELGATE_BACKEND"] = "numba"
    memory_report(options.memory, height, width)


if __name__ == "__main__":
    main()
