"""Time a Hint-AUC curve over eight ratios of 512-pixel PNG files beside hintauc, in one process.

    python benchmarks/curve_speed.py --images 4 --rounds 3

Both read the same files and compute the pixel metrics; rounds alternate. Prints the ratio of medians per backend and
the largest difference between the areas. Nothing is asserted. Needs hintauc 0.3.3 (``pip install --no-deps``).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

import pixelgate
from pixelgate.hints import PAPER_GRID, alpha_dir_name
from pixelgate.stats import area_under_curve

TRACK = 'id: bench\ntitle: benchmark\nprotocol: hintauc\nsamples: "{id}.png"\ncolumns: {reference: "gt/{id}.png"}\n'
SIDE = 512


def write(root: Path, images: int) -> None:
    """Ground truths cut from a real photograph, and predictions that come nearer with the ratio."""
    from skimage import data

    photograph = data.astronaut()
    rng = np.random.default_rng(0)
    for number in range(images):
        truth = np.roll(photograph, 61 * number, axis=1)[:SIDE, :SIDE]
        save(root / "data" / "gt" / f"{number:03d}.png", truth)
        for step, ratio in enumerate(PAPER_GRID):
            worse = truth.astype(int) + 32 - 4 * step + rng.integers(-4, 5, truth.shape)
            save(root / "out" / "m" / "bench" / alpha_dir_name(ratio) / f"{number:03d}.png", np.clip(worse, 0, 255))
    (root / "data" / "track.yaml").write_text(TRACK)


def save(path: Path, picture: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture.astype(np.uint8)).save(path, compress_level=1)


def ours(root: Path, metrics: tuple[str, ...], backend: str) -> dict[str, float]:
    """Areas by `pixelgate.score`, without a cache."""
    table = pixelgate.score(root / "out", data=root / "data", metrics=metrics, cache=False, backend=backend)
    means = table.groupby(table["slice"].astype(float))[list(metrics)].mean().sort_index()
    return {metric: area_under_curve(list(means.index), list(means[metric])) for metric in metrics}


def theirs(root: Path, metrics: tuple[str, ...], evaluator: object) -> dict[str, float]:
    """Areas by hintauc's own curve."""
    import hintauc

    folders = {ratio: str(root / "out" / "m" / "bench" / alpha_dir_name(ratio)) for ratio in PAPER_GRID}
    with open(os.devnull, "w") as quiet, contextlib.redirect_stdout(quiet):
        result = hintauc.evaluate_hint_curve(
            folders, str(root / "data" / "gt"), evaluator=evaluator, metrics=metrics, pairing="name"
        )
    return dict(result["hint_auc"])


def timed(call: Callable[[], dict[str, float]]) -> tuple[float, dict[str, float]]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def compare(root: Path, metrics: tuple[str, ...], images: int, rounds: int) -> None:
    import hintauc

    evaluator = hintauc.Evaluator(metrics=list(metrics), device="cpu")
    spent: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(rounds + 1):
        seconds, own = timed(lambda: ours(root, metrics, "paper"))
        spent["ours"].append(seconds)
        seconds, other = timed(lambda: theirs(root, metrics, evaluator))
        spent["theirs"].append(seconds)
    # The first round compiles kernels and loads libraries.
    per_pair = {
        name: 1000 * statistics.median(values[1:]) / (images * len(PAPER_GRID)) for name, values in spent.items()
    }
    gap = max(abs(own[metric] - other[metric]) for metric in metrics)
    ratio = per_pair["theirs"] / per_pair["ours"]
    print(f"{'+'.join(metrics)}: {per_pair['theirs']:.1f} ms a pair with hintauc, {per_pair['ours']:.1f} ms here: "
          f"{ratio:.1f} times faster; largest difference of the areas {gap:.2g}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), arguments.images)
        for metrics in (("mse", "psnr"), ("mse", "psnr", "ssim")):
            compare(Path(folder), metrics, arguments.images, arguments.rounds)


if __name__ == "__main__":
    main()
