"""Expected values of cases that values.json lacks, by plain loops: frame sampling, large and odd flow fields, cosines.

Run it in this folder to write more.json again. It imports nothing from the package that the values are for.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent


def middle(frames: int, wanted: int) -> list[int]:
    """The middle of each interval between int(linspace(0, T, n + 1)); the last one again for clips that are shorter."""
    taken = min(frames, wanted)
    bounds = [int(bound) for bound in np.linspace(0, frames, taken + 1)]
    picked = []
    for interval in range(taken):
        first, last = bounds[interval], bounds[interval + 1] - 1
        picked.append((first + last) // 2)
    while len(picked) < wanted:
        picked.append(picked[-1])
    return picked


def half_even(value: float) -> int:
    low = math.floor(value)
    rest = value - low
    if rest == 0.5:
        return low if low % 2 == 0 else low + 1
    return low + 1 if rest > 0.5 else low


def sampled(frames: int, fps: float) -> int:
    step = half_even(fps / 8)
    if step < 1:
        step = 1
    count, index = 0, 0
    while index < frames:
        count, index = count + 1, index + step
    return count


def wave(height: int, width: int) -> list[list[list[float]]]:
    """A flow field that anybody can make again, in exact eighths: no random numbers, no round-off."""
    return [
        [[((7 * y + 3 * x) % 29) / 8, ((5 * y + 11 * x) % 23) / 8 - 1] for x in range(width)] for y in range(height)
    ]


def magnitude(flow: list[list[list[float]]]) -> float:
    lengths = sorted((math.sqrt(u * u + v * v) for row in flow for u, v in row), reverse=True)
    kept = lengths[: int(len(lengths) * 0.05)]
    return math.fsum(kept) / len(kept)


def cosine(first: list[float], second: list[float]) -> float:
    product = math.fsum(a * b for a, b in zip(first, second, strict=True))
    return product / math.sqrt(math.fsum(a * a for a in first) * math.fsum(b * b for b in second))


def vector(seed: int, length: int) -> list[float]:
    return [float((seed * (index + 3) * (index + 7)) % 41 - 20) for index in range(length)]


def consistency(rows: list[list[float]]) -> float:
    terms = []
    for index in range(1, len(rows)):
        before, first = cosine(rows[index - 1], rows[index]), cosine(rows[0], rows[index])
        terms.append((max(0.0, before) + max(0.0, first)) / 2)
    return math.fsum(terms) / len(terms)


def main() -> None:
    rates = [4, 7.5, 8, 12, 15, 20, 23.976, 24, 25, 28, 29.97, 30, 36, 44, 50, 60, 120]
    rows = [vector(seed, 17) for seed in (2, 3, 5, 7, 11, 13)]
    more: dict[str, Any] = {
        "middle_frames": {
            str(t): middle(t, 8) for t in (1, 2, 3, 7, 8, 9, 15, 16, 17, 25, 33, 48, 49, 81, 97, 121, 257)
        },
        "sampled_frames": [[t, fps, sampled(t, fps)] for t in (1, 2, 3, 9, 16, 17, 48, 49, 97, 121) for fps in rates],
        "needed_pairs": {str(n): half_even(4 * n / 16) for n in range(1, 41)},
        "flow_magnitude": {f"{h}x{w}": magnitude(wave(h, w)) for h, w in ((4, 5), (20, 1), (37, 53), (64, 48))},
        "text_cosine": [[one, two, cosine(vector(one, 17), vector(two, 17))] for one in (2, 3) for two in (5, 7, 19)],
        "consistency_seeds": [2, 3, 5, 7, 11, 13],
        "consistency": consistency(rows),
    }
    (HERE / "more.json").write_text(json.dumps(more, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
