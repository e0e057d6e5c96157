"""LPIPS against its peers, side by side: time, ratio, largest difference and peak memory.

    python benchmarks/lpips_speed.py [--sizes 0.25 1 8] [--outputs 1 5] [--rounds 7] [--threads N]

One photograph of scikit-image's wheel, at each size, is the reference; its outputs are regraded and noisy copies.
All contenders run on the same AlexNet weights in one process, in turn, and the medians over the rounds are shown.
Peak memory is measured apart, in a process for each contender: what is added to the loaded network's.
Nothing is asserted: times belong to the machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pixelgate.metrics.lpips import METRIC
from pixelgate.metrics.registry import Image, Runtime
from pixelgate.models.alexnet_weights import resolve
from pixelgate.models.weight_files import TORCH_INDICES

Contender = Callable[[Image, Sequence[Image]], list[float]]
OURS, PLAIN = "pixelgate", "lpips, plain calls"


def photograph(megapixels: float) -> Image:
    from PIL import Image as Pillow
    from skimage import data

    picture = Pillow.fromarray(data.coffee())
    scale = (megapixels * 1e6 / (picture.width * picture.height)) ** 0.5
    size = (round(picture.width * scale), round(picture.height * scale))
    return np.asarray(picture.resize(size, Pillow.Resampling.LANCZOS))


def regraded(reference: Image, count: int) -> list[Image]:
    rng = np.random.default_rng(0)
    outputs = []
    for number in range(count):
        curve = 255 * (np.arange(256) / 255) ** (0.8 + 0.1 * number)
        noise = rng.integers(-6, 7, reference.shape, dtype=np.int16)
        outputs.append(np.clip(curve.astype(np.int16)[reference] + noise, 0, 255).astype(np.uint8))
    return outputs


def pixelgate_scorer(threads: int | None) -> Contender:
    scorer = METRIC.bind({"net": "alex", "version": "0.1", "pairs_per_call": 1}, Runtime(threads=threads))

    def run(reference: Image, outputs: Sequence[Image]) -> list[float]:
        prepared = scorer.prepare(reference)
        return [scorer.compare(output, prepared).value or 0.0 for output in outputs]

    return run


def plain_lpips(threads: int | None) -> Contender:
    import lpips

    with offline_torchvision():
        network = lpips.LPIPS(net="alex", version="0.1", verbose=False)
    return pairwise(network)


def torchmetrics_lpips(threads: int | None) -> Contender:
    from torchmetrics.image.lpip import LearnedPerceptualImagePatchSimilarity

    with offline_torchvision():
        return pairwise(LearnedPerceptualImagePatchSimilarity(net_type="alex"))


CONTENDERS: dict[str, Callable[[int | None], Contender]] = {
    OURS: pixelgate_scorer,
    PLAIN: plain_lpips,
    "torchmetrics": torchmetrics_lpips,
}
LEFT_OUT = {
    "piq": "its LPIPS runs on VGG16 only, another network with other values",
    "torchmetrics functional": "it builds the network anew at each call; the class above runs the same code",
}


def pairwise(network: Any) -> Contender:
    import torch

    def signal(image: Image) -> torch.Tensor:
        # Planar and contiguous, as the packages' own loaders make it.
        pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous().float()
        return pixels.div_(127.5).sub_(1.0)[None]

    def run(reference: Image, outputs: Sequence[Image]) -> list[float]:
        # inference_mode would break torchmetrics' state; no_grad costs the same here.
        with torch.no_grad():
            return [float(network(signal(output), signal(reference))) for output in outputs]

    return run


@contextmanager
def offline_torchvision() -> Iterator[None]:
    """Give the peers, which ask torchvision for its download, the weights that are here."""
    import torch
    import torchvision

    original = torchvision.models.alexnet
    layers = resolve().layers

    def alexnet(**_: Any) -> torch.nn.Module:
        network = original(weights=None)
        for index, (kernel, bias) in zip(TORCH_INDICES, layers, strict=True):
            network.features[index].weight.data = torch.from_numpy(kernel.copy())
            network.features[index].bias.data = torch.from_numpy(bias.copy())
        return network

    torchvision.models.alexnet = alexnet
    try:
        yield
    finally:
        torchvision.models.alexnet = original


def load(threads: int | None) -> dict[str, Contender]:
    loaded = {}
    for name, make in CONTENDERS.items():
        try:
            loaded[name] = make(threads)
        except ImportError as error:
            print(f"{name}: left out ({error})")
    return loaded


def measure(contenders: dict[str, Contender], megapixels: float, count: int, rounds: int) -> dict[str, tuple]:
    reference = photograph(megapixels)
    outputs = regraded(reference, count)
    values = {name: run(reference, outputs) for name, run in contenders.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            start = time.perf_counter()
            run(reference, outputs)
            times[name].append(time.perf_counter() - start)
    plain = values[PLAIN]
    return {
        name: (
            statistics.median(times[name]),
            max(abs(a - b) for a, b in zip(values[name], plain, strict=True)),
        )
        for name in contenders
    }


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def peak(name: str, megapixels: float, count: int, threads: int | None) -> float:
    """Megabytes that a run adds to a loaded network, sampled each millisecond."""
    run = CONTENDERS[name](threads)
    small = photograph(0.01)
    run(small, [small])
    reference = photograph(megapixels)
    outputs = regraded(reference, count)
    before, highest, done = resident(), resident(), threading.Event()

    def sample() -> None:
        nonlocal highest
        while not done.wait(0.001):
            highest = max(highest, resident())

    watcher = threading.Thread(target=sample)
    watcher.start()
    run(reference, outputs)
    done.set()
    watcher.join()
    return (highest - before) / 1e6


def peak_apart(name: str, megapixels: float, count: int, threads: int | None) -> str:
    if not Path("/proc/self/statm").exists():
        return "n/a"
    job = json.dumps([name, megapixels, count, threads])
    done = subprocess.run([sys.executable, __file__, "--peak", job], capture_output=True, text=True)
    return f"{float(done.stdout.split()[-1]):.0f}" if done.returncode == 0 else "failed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=float, nargs="+", default=[0.25, 1, 8], help="megapixels")
    parser.add_argument("--outputs", type=int, nargs="+", default=[1, 5], help="outputs scored against one reference")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.peak:
        print(peak(*json.loads(arguments.peak)))
        return

    import torch

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    contenders = load(arguments.threads)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, medians of the rounds, interleaved")
    for name, reason in LEFT_OUT.items():
        print(f"{name}: left out, {reason}")
    print(f"{'MP':>5} {'k':>2}  {'contender':<20} {'seconds':>8} {'plain/it':>8} {'max |diff|':>10} {'peak MB':>8}")
    for megapixels in arguments.sizes:
        for count in arguments.outputs:
            rounds = max(3, round(arguments.rounds / max(1, megapixels / 2)))
            results = measure(contenders, megapixels, count, rounds)
            for name, (seconds, difference) in results.items():
                # The number of outputs adds nothing to the peak, which costs a process to measure.
                wanted = count == max(arguments.outputs) and not arguments.no_memory
                memory = peak_apart(name, megapixels, count, arguments.threads) if wanted else "-"
                ratio = results[PLAIN][0] / seconds
                print(
                    f"{megapixels:>5g} {count:>2}  {name:<20} {seconds:>8.3f} {ratio:>8.2f} "
                    f"{difference:>10.1e} {memory:>8}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
