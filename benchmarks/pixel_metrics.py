"""Time the pixel metrics beside scikit-image, torchmetrics and piq, in one process, on real photographs.

    python benchmarks/pixel_metrics.py --sizes 0.25 1 8 --repeats 7

Contestants take turns, so that a busy machine slows all of them alike; the table shows medians. What a
library wants as input (float tensors for the torch ones) is made beforehand and not timed, and neither is
the first call of each, which may compile. Nothing is asserted: read the ratios.

Needs the extras ``fast`` and ``bench``. Libraries that are not installed are left out and named.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pixelgate.metrics import delta_e_2000, histogram_correlation, psnr, ssim

METRICS = ("psnr", "ssim", "delta_e_2000", "histogram_correlation")
OWN = "pixelgate/numba"
PEER = "scikit-image"
Picture = np.ndarray


@dataclass
class Entry:
    """One library's way to one metric."""

    metric: str
    library: str
    call: Callable[[], float]
    seconds: list[float] = field(default_factory=list)
    value: float = float("nan")
    megabytes: float | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def photographs(megapixels: float) -> tuple[Picture, Picture]:
    """A graded, slightly noisy output and its reference: a photograph, mirrored on until it is large enough."""
    from skimage import data

    height = round((megapixels * 1e6 / 1.5625) ** 0.5)
    width = round(megapixels * 1e6 / height)
    picture = data.astronaut()
    grown = [(0, max(0, size - have)) for size, have in zip((height, width), picture.shape, strict=False)]
    reference = np.ascontiguousarray(np.pad(picture, [*grown, (0, 0)], mode="symmetric")[:height, :width])
    noise = np.random.default_rng(0).normal(0, 2, reference.shape)
    graded = 255 * (reference / 255) ** [0.92, 1.0, 1.1] * [0.98, 1.0, 0.95] + noise
    return np.clip(graded, 0, 255).round().astype(np.uint8), reference


def pixelgate_entries(output: Picture, reference: Picture, threads: int) -> Iterator[Entry]:
    functions = {
        "psnr": lambda: psnr(output, reference),
        "ssim": lambda: ssim(output, reference, threads=threads),
        "delta_e_2000": lambda: delta_e_2000(output, reference, threads=threads),
        "histogram_correlation": lambda: histogram_correlation(output, reference),
    }
    for backend in ("numba", "numpy"):
        if backend == "numba" and not installed("numba"):
            continue
        for metric, function in functions.items():
            yield Entry(metric, f"pixelgate/{backend}", forced(backend, function))


def forced(backend: str, function: Callable[[], float]) -> Callable[[], float]:
    def call() -> float:
        os.environ["PIXELGATE_BACKEND"] = backend
        return function()

    return call


def skimage_entries(output: Picture, reference: Picture) -> Iterator[Entry]:
    from skimage.color import deltaE_ciede2000, rgb2lab
    from skimage.metrics import peak_signal_noise_ratio, structural_similarity

    window = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}

    def correlation() -> float:
        return float(np.mean([np.corrcoef(*(levels(p[..., c]) for p in (output, reference)))[0, 1] for c in range(3)]))

    def levels(channel: Picture) -> np.ndarray:
        return np.histogram(channel, bins=256, range=(0, 256))[0]

    calls: dict[str, Callable[[], float]] = {
        "psnr": lambda: peak_signal_noise_ratio(reference, output, data_range=255),
        "ssim": lambda: structural_similarity(reference, output, channel_axis=-1, data_range=255, **window),
        "delta_e_2000": lambda: float(deltaE_ciede2000(rgb2lab(reference), rgb2lab(output)).mean()),
        "histogram_correlation": correlation,
    }
    for metric, call in calls.items():
        yield Entry(metric, PEER, call)


def torch_entries(output: Picture, reference: Picture, threads: int) -> Iterator[Entry]:
    import torch

    torch.set_num_threads(threads)
    x, y = (torch.from_numpy(p.copy()).permute(2, 0, 1)[None].contiguous().float() for p in (output, reference))
    if installed("torchmetrics"):
        functional = importlib.import_module("torchmetrics.functional.image")
        yield Entry("psnr", "torchmetrics", lambda: functional.peak_signal_noise_ratio(x, y, data_range=255.0).item())
        yield Entry(
            "ssim",
            "torchmetrics",
            lambda: functional.structural_similarity_index_measure(x, y, sigma=1.5, data_range=255.0).item(),
        )
    if installed("piq"):
        piq = importlib.import_module("piq")
        yield Entry("psnr", "piq", lambda: piq.psnr(x, y, data_range=255.0).item())
        yield Entry(
            "ssim",
            "piq",
            lambda: piq.ssim(x, y, kernel_size=11, kernel_sigma=1.5, data_range=255.0, downsample=False).item(),
        )


def installed(name: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(name)
    except ImportError:
        return False
    return True


def entries(output: Picture, reference: Picture, threads: int) -> list[Entry]:
    made = [*pixelgate_entries(output, reference, threads), *skimage_entries(output, reference)]
    if installed("torch"):
        made.extend(torch_entries(output, reference, threads))
    return made


@contextmanager
def peak_memory(entry: Entry) -> Iterator[None]:
    """What the resident memory grew to above its level before the call, in megabytes; Linux only."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not reset.exists():
        yield
        return
    # Memory that earlier calls left to the allocator would hide the growth.
    ctypes.CDLL(None).malloc_trim(0)
    reset.write_text("5")
    before = kilobytes(status, "VmRSS")
    yield
    entry.megabytes = max(0, kilobytes(status, "VmHWM") - before) / 1024


def kilobytes(status: Path, name: str) -> int:
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(f"{name}:"))


def measure(contestants: list[Entry], repeats: int) -> None:
    for entry in contestants:
        entry.value = float(entry.call())
    for _ in range(repeats):
        for entry in contestants:
            start = time.perf_counter()
            entry.call()
            entry.seconds.append(time.perf_counter() - start)
    for entry in contestants:
        with peak_memory(entry):
            entry.call()


def report(contestants: list[Entry], own: str) -> None:
    print(
        f"{'metric':22} {'library':17} {'ms':>9} {'times ' + own:>22} {'value':>20} {'difference':>11} {'peak MB':>8}"
    )
    for metric in METRICS:
        rows = [entry for entry in contestants if entry.metric == metric]
        base = next(entry for entry in rows if entry.library == own)
        for entry in rows:
            memory = "-" if entry.megabytes is None else f"{entry.megabytes:.0f}"
            print(
                f"{metric:22} {entry.library:17} {1e3 * entry.median:9.2f} {entry.median / base.median:21.2f}x "
                f"{entry.value:20.15f} {abs(entry.value - base.value):11.1e} {memory:>8}"
            )
    totals = {
        library: sum(entry.median for entry in contestants if entry.library == library)
        for library in dict.fromkeys(entry.library for entry in contestants)
        if {entry.metric for entry in contestants if entry.library == library} == set(METRICS)
    }
    for library, seconds in totals.items():
        print(f"{'all four':22} {library:17} {1e3 * seconds:9.2f} {seconds / totals[own]:21.2f}x")
    print(f"speed-up of the four together over {PEER}: {totals[PEER] / totals[own]:.1f} (aim: 3.5 at 1 megapixel)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sizes", type=float, nargs="+", default=[0.25, 1.0, 8.0], help="megapixels (default 0.25 1 8)"
    )
    parser.add_argument("--repeats", type=int, default=7, help="timed calls of each, interleaved (default 7)")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads of each library that has them (default 2)")
    options = parser.parse_args()
    missing = [name for name in ("numba", "torch", "torchmetrics", "piq") if not installed(name)]
    if missing:
        print(f"not installed, left out: {', '.join(missing)}")
    print(f"Python {sys.version.split()[0]}, numpy {np.__version__}, {os.cpu_count()} CPUs, {options.threads} threads")
    for size in options.sizes:
        output, reference = photographs(size)
        print(f"\n{size:g} megapixels ({reference.shape[1]} x {reference.shape[0]}), medians of {options.repeats}")
        contestants = entries(output, reference, options.threads)
        measure(contestants, options.repeats)
        report(contestants, OWN if installed("numba") else "pixelgate/numpy")


if __name__ == "__main__":
    main()
