"""The reference values of hintauc 0.3.3 and the predictions they were computed for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

HINTAUC = Path(__file__).parents[1] / "conformance" / "hintauc"
BACKENDS = {"torch": "paper", "pillow": "pillow"}


def read_png(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.array(image)


class Oracle:
    """``metrics.json``: values for predictions that formulas make from the inputs."""

    def __init__(self) -> None:
        self.results: dict[str, Any] = json.loads((HINTAUC / "metrics.json").read_text())
        self.images = sorted(self.results["images"])

    def picture(self, name: str) -> np.ndarray:
        return read_png(HINTAUC / "inputs" / f"{name}.png")

    def rows(self, image: str, backend: str) -> Iterator[tuple[str, np.ndarray, dict[str, float]]]:
        """Each prediction once: a name for messages, the picture, the values of that backend."""
        truth = self.picture(image)
        seen = set()
        for kind, entry in self.results["images"][image][backend].items():
            for ratio, values in entry["per_alpha"].items():
                wanted = entry["pred_rgb_sha256"][ratio]
                if wanted in seen:
                    continue
                seen.add(wanted)
                made = prediction(kind, float(ratio), truth)
                assert hashlib.sha256(made.tobytes()).hexdigest() == wanted, (image, kind, ratio)
                yield f"{image} {kind} {ratio}", made, values


def prediction(kind: str, ratio: float, truth: np.ndarray) -> np.ndarray:
    """The formulas of ``metrics.json``."""
    if kind == "blend":
        return np.rint(ratio * truth + (1 - ratio) * 128).astype(np.uint8)
    if kind == "noisy":
        noise = np.random.default_rng(round(ratio * 10000)).integers(-40, 41, truth.shape)
        return np.clip(truth.astype(np.int64) + noise, 0, 255).astype(np.uint8)
    return {"grey128": np.full_like(truth, 128), "identity": truth, "hshift2": np.roll(truth, 2, axis=1)}[kind]
