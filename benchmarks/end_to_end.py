"""Time `pixelgate.score` over several methods beside separate calls of the reference libraries, in one process.

    python benchmarks/end_to_end.py --pairs 4 --methods 5 --megapixels 1

Prints, from interleaved rounds: LPIPS alone against one plain ``lpips`` call per output, all metrics against
scikit-image and plain ``lpips``, a second run from the cache against the first, and the peak memory of a run over few
and over many pairs, each in a process of its own. Nothing is asserted: read the ratios.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from lpips_speed import plain_lpips
from PIL import Image
from pixel_metrics import photographs

import pixelgate

TRACK = """\
id: bench
title: benchmark
protocol: pstbench
samples: "{id}.png"
columns: {content: "content/{id}.png", style: "style/{id}.png", reference: "gt/{id}.png"}
"""


def write_pairs(root: Path, pairs: int, methods: int, megapixels: float) -> None:
    """A track of real photographs under ``root/data`` and outputs that differ by method, under ``root/outputs``."""
    output, reference = photographs(megapixels)
    for pair in range(pairs):
        name = f"p{pair:03d}.png"
        shifted = np.roll(reference, 37 * pair, axis=1)
        for column, picture in (("content", np.roll(output, 37 * pair, axis=1)), ("style", output), ("gt", shifted)):
            save(root / "data" / column / name, picture)
        for method in range(methods):
            changed = np.clip(shifted.astype(int) + 5 * method + 3, 0, 255).astype(np.uint8)
            save(root / "outputs" / f"m{method}" / "bench" / name, changed)
    (root / "data" / "track.yaml").write_text(TRACK)


def save(path: Path, picture: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).save(path, compress_level=1)


def ours(root: Path, metrics: tuple[str, ...], cache: Path | bool = False) -> dict[tuple[str, str], dict[str, float]]:
    """Every score by `pixelgate.score`."""
    table = pixelgate.score(root / "outputs", data=root / "data", metrics=metrics, baseline=False, cache=cache)
    return {(row["method"], row["sample"]): row for row in table.to_dict("records")}


def theirs(root: Path, metrics: tuple[str, ...]) -> dict[tuple[str, str], dict[str, float]]:
    """Every score by one call of the reference library per metric and output, files read once per call."""
    plain = plain_lpips(None)
    scores = {}
    for method in sorted((root / "outputs").iterdir()):
        for file in sorted((method / "bench").iterdir()):
            output, reference = read(file), read(root / "data" / "gt" / file.name)
            row = {"lpips": plain(reference, [output])[0]}
            if metrics != ("lpips",):
                row |= skimage_scores(output, reference, read(root / "data" / "style" / file.name))
            scores[method.name, file.stem] = row
    return scores


def skimage_scores(output: np.ndarray, reference: np.ndarray, style: np.ndarray) -> dict[str, float]:
    """The pixel metrics by scikit-image's and numpy's own functions."""
    from skimage.color import deltaE_ciede2000, rgb2lab
    from skimage.metrics import peak_signal_noise_ratio, structural_similarity

    def correlation(left: np.ndarray, right: np.ndarray) -> float:
        pairs = [[np.histogram(p[..., c], 256, (0, 256))[0] for p in (left, right)] for c in range(3)]
        return float(np.mean([np.corrcoef(*pair)[0, 1] for pair in pairs]))

    return {
        "psnr": peak_signal_noise_ratio(reference, output, data_range=255),
        "ssim": structural_similarity(
            reference, output, channel_axis=-1, gaussian_weights=True, sigma=1.5,
            use_sample_covariance=False, data_range=255,
        ),
        "de00": float(deltaE_ciede2000(rgb2lab(reference), rgb2lab(output)).mean()),
        "hcorr_gt": correlation(output, reference),
        "hcorr_style": correlation(output, style),
    }  # fmt: skip


def read(file: Path) -> np.ndarray:
    return np.asarray(Image.open(file))


def timed(call: Callable[[], dict]) -> tuple[float, dict]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def compare(root: Path, title: str, metrics: tuple[str, ...], rounds: int) -> None:
    """Interleaved rounds of both ways; prints the ratio of medians and the largest difference per metric."""
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(rounds):
        spent, own = timed(lambda: ours(root, metrics))
        seconds["ours"].append(spent)
        spent, other = timed(lambda: theirs(root, metrics))
        seconds["theirs"].append(spent)
    ours_s, theirs_s = (statistics.median(seconds[name]) for name in ("ours", "theirs"))
    shared = next(iter(other.values())).keys() & next(iter(own.values())).keys()
    gaps = {name: max(abs(own[key][name] - other[key][name]) for key in own) for name in sorted(shared)}
    print(f"{title}: {theirs_s:.2f} s apart, {ours_s:.2f} s with pixelgate.score: {theirs_s / ours_s:.2f} times faster")
    print("  largest difference: " + ", ".join(f"{name} {gap:.2g}" for name, gap in gaps.items()))


def scoring_alone(root: Path, cache: Path) -> float:
    """Seconds that the engine spends on scoring all cases, with its metrics bound and its files found."""
    from pixelgate.cache import ScoreCache
    from pixelgate.columns import Settings
    from pixelgate.scoring import find_cases, make_engine, score_cases

    data = [root / "data"]
    store = ScoreCache(cache)
    engine = make_engine("bench", data, Settings(), store)
    cases, _ = find_cases(root / "outputs", data=data)
    spent, _ = timed(lambda: dict(enumerate(score_cases(cases, {"bench": engine}))))
    store.close()
    return spent


def compare_cache(root: Path) -> None:
    with tempfile.TemporaryDirectory() as cache:
        first = scoring_alone(root, Path(cache))
        again = statistics.median(scoring_alone(root, Path(cache)) for _ in range(3))
        whole = statistics.median(timed(lambda: ours(root, (), Path(cache)))[0] for _ in range(3))
    print(f"scoring from the cache: first run {first:.2f} s, second {again:.3f} s: {first / again:.0f} times less")
    print(f"  (the whole second call, with scanning, hashing the data set and the table: {whole:.3f} s)")


def peak_apart(pairs: int, methods: int, megapixels: float) -> float:
    """Peak memory in MB of a run over so many pairs, in a process of its own."""
    command = [sys.executable, __file__, "--child", str(pairs), str(methods), str(megapixels)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def child(pairs: int, methods: int, megapixels: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_pairs(Path(folder), pairs, methods, megapixels)
        ours(Path(folder), ())
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--methods", type=int, default=5)
    parser.add_argument("--megapixels", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        pairs, methods, megapixels = arguments.child
        child(int(pairs), int(methods), float(megapixels))
        return
    print(f"{arguments.methods} methods, {arguments.pairs} pairs of {arguments.megapixels} megapixels")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_pairs(root, 1, 1, 0.1)
        ours(root, ())  # compiles the kernels and loads the network
        write_pairs(root, arguments.pairs, arguments.methods, arguments.megapixels)
        compare(root, "LPIPS alone", ("lpips",), arguments.rounds)
        compare(root, "all metrics", (), arguments.rounds)
        compare_cache(root)
    few, many = arguments.pairs, 4 * arguments.pairs
    peaks = [peak_apart(count, 2, arguments.megapixels) for count in (few, many)]
    print(f"peak memory: {peaks[0]:.0f} MB over {few} pairs, {peaks[1]:.0f} MB over {many}")


if __name__ == "__main__":
    main()
