"""Time inpainting fidelity: masked SSIM beside scikit-image, scoring beside decoding, and memory by length.

    python benchmarks/inpainting_speed.py --frames 49 --height 704 --width 1216

A photograph under a moving camera, with a moving box to inpaint, is encoded three times: as the reference with the box
filled black, as the mask, and slightly noisy as the generated clip. Three tables follow:

1. SSIM over the kept windows of every frame, beside the mean over the same windows of scikit-image's full map. Aim: at
   least 4 times faster, within 1e-6.
2. Decoding of the three clips alone, and decoding with all pixel metrics and diagnoses. Aim: at most 3 times the
   decoding. Contestants take turns, so that a busy machine slows both alike; each pass is as cold as the other.
3. Peak resident memory of a process that scores the clip, and of one that scores a clip four times as long.

Nothing is asserted: read the ratios. Needs the extras ``fast`` and ``video``, and scikit-image.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from pixelgate.clips.evaluator import ClipFiles
from pixelgate.clips.inpainting import EVALUATOR
from pixelgate.io import _video_cache
from pixelgate.io.video import open_video
from pixelgate.metrics.inpainting import region, score_frame
from pixelgate.metrics.registry import Runtime

Picture = np.ndarray
PIXELS = ("inpaint_psnr", "inpaint_ssim", "inpaint_mse", "inpaint_mae", "inpaint_kept_fraction")
COLUMNS = ("generated", "reference", "mask")


def scene(frames: int, height: int, width: int) -> Iterator[tuple[Picture, Picture, Picture]]:
    """Generated frame, reference frame with the box filled, and mask, one after the other."""
    from skimage import data

    photograph = data.astronaut()
    margin = 64
    grown = [(0, max(0, size + margin - have)) for size, have in zip((height, width), photograph.shape, strict=False)]
    wide = np.pad(photograph, [*grown, (0, 0)], mode="symmetric")
    rng = np.random.default_rng(0)
    for index in range(frames):
        top, left = round(24 + 20 * np.sin(index / 9)), round(24 + 20 * np.cos(index / 7))
        picture = np.ascontiguousarray(wide[top : top + height, left : left + width])
        masked = np.zeros((height, width), dtype=bool)
        box = height // 3, width // 4 + index % 40
        masked[box[0] : box[0] + 2 * height // 5, box[1] : box[1] + 2 * width // 5] = True
        generated = np.clip(picture + rng.normal(0, 4, picture.shape), 0, 255).round().astype(np.uint8)
        reference = np.where(masked[..., np.newaxis], np.uint8(0), picture)
        yield generated, reference, np.repeat(masked[..., np.newaxis], 3, axis=2).astype(np.uint8) * 255


def encode(folder: Path, frames: int, height: int, width: int) -> ClipFiles:
    """Write the scene as three H.264 clips."""
    import av

    paths = {name: folder / f"{name}-{frames}.mp4" for name in COLUMNS}
    containers = {name: av.open(str(path), "w") for name, path in paths.items()}
    streams = {}
    for name, container in containers.items():
        stream = container.add_stream("libx264", rate=24)
        stream.height, stream.width, stream.pix_fmt = height, width, "yuv420p"
        stream.options = {"crf": "18", "preset": "veryfast"}
        streams[name] = stream
    for pictures in scene(frames, height, width):
        for name, picture in zip(COLUMNS, pictures, strict=True):
            containers[name].mux(streams[name].encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
    for name, container in containers.items():
        container.mux(streams[name].encode())
        container.close()
    return ClipFiles("clip", paths["generated"], {name: paths[name] for name in COLUMNS[1:]})


def similarity(options: argparse.Namespace) -> None:
    """Masked SSIM, frame by frame, here and with scikit-image."""
    from scipy.ndimage import minimum_filter
    from skimage.metrics import structural_similarity

    settings = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "data_range": 255}

    def peer(generated: Picture, reference: Picture, keep: Picture) -> float:
        full = structural_similarity(reference, generated, channel_axis=-1, full=True, **settings)[1]
        whole = minimum_filter(keep, size=11, mode="constant", cval=False)
        return float(full[whole].mean())

    def own(generated: Picture, reference: Picture, keep: Picture) -> float:
        value = score_frame(generated, reference, region(keep), threads=options.threads).ssim
        assert value is not None
        return value

    worst, own_seconds, peer_seconds = 0.0, [], []
    for generated, reference, mask in scene(options.frames, options.height, options.width):
        pair = generated, reference, mask[..., 0] == 0
        if not own_seconds:
            own(*pair)  # may compile
        values = []
        for function, seconds in ((own, own_seconds), (peer, peer_seconds)):
            start = time.perf_counter()
            values.append(function(*pair))
            seconds.append(time.perf_counter() - start)
        worst = max(worst, abs(values[0] - values[1]))
    ours, theirs = statistics.median(own_seconds), statistics.median(peer_seconds)
    print(f"\nmasked SSIM of {options.frames} frames, with errors and mask, median of a frame")
    print(f"{'pixelgate':14} {1e3 * ours:9.2f} ms\n{'scikit-image':14} {1e3 * theirs:9.2f} ms")
    print(f"{theirs / ours:.1f} times faster (aim: 4), largest difference {worst:.1e} (aim: below 1e-6)")


def decode(files: ClipFiles) -> None:
    """Read the three clips in step and let the frames go."""
    readers = [open_video(path) for path in (files.generated, *files.references.values())]
    for _ in zip(*readers, strict=True):
        pass
    for reader in readers:
        reader.drain()
        reader.close()


def throughput(files: ClipFiles, options: argparse.Namespace) -> None:
    """Decoding alone beside decoding and scoring."""
    runtime = Runtime(threads=options.threads)

    def score() -> None:
        EVALUATOR.evaluate(files, {}, PIXELS, runtime)

    calls: dict[str, Callable[[], None]] = {"decoding alone": lambda: decode(files), "and all pixel metrics": score}
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    score()  # may compile
    for _ in range(options.repeats):
        for name, call in calls.items():
            _video_cache._records.clear()  # a clip that was read before is not hashed again
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    print(f"\nthree clips of {options.frames} frames, {options.threads} threads, medians of {options.repeats}")
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    for name, value in medians.items():
        print(f"{name:22} {value:7.3f} s  {1e3 * value / options.frames:7.2f} ms a frame")
    print(f"{medians['and all pixel metrics'] / medians['decoding alone']:.2f} times the decoding (aim: at most 3)")


def memory(files: dict[int, ClipFiles], options: argparse.Namespace) -> None:
    """Peak resident memory of fresh processes, one a length."""
    print("\npeak resident memory of a process that scores a clip")
    for frames, clip in files.items():
        command = [sys.executable, __file__, "--score", str(clip.generated), *map(str, clip.references.values())]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        print(f"{frames:6} frames {int(output) / 1024:9.1f} MB")


def peak(paths: list[str]) -> None:
    """Score one clip and print this process's peak memory in kilobytes; Linux only."""
    generated, reference, mask = map(Path, paths)
    files = ClipFiles("clip", generated, {"reference": reference, "mask": mask})
    EVALUATOR.evaluate(files, {}, PIXELS, Runtime(threads=1))
    lines = Path("/proc/self/status").read_text().splitlines()
    print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=49)
    parser.add_argument("--height", type=int, default=704)
    parser.add_argument("--width", type=int, default=1216)
    parser.add_argument("--repeats", type=int, default=5, help="timed passes of each, in turns (default 5)")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads (default 2)")
    parser.add_argument("--score", nargs=3, metavar="CLIP", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.score:
        peak(options.score)
        return
    print(f"Python {sys.version.split()[0]}, numpy {np.__version__}, {os.cpu_count()} CPUs")
    similarity(options)
    with tempfile.TemporaryDirectory() as folder:
        lengths = (options.frames, 4 * options.frames)
        files = {frames: encode(Path(folder), frames, options.height, options.width) for frames in lengths}
        throughput(files[options.frames], options)
        memory(files, options)


if __name__ == "__main__":
    main()
