"""What the depth tests share: the reference cases, small clips, and the definitions once more in slow, plain numpy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pixelgate.clips.evaluator import ClipFiles
from pixelgate.errors import InputError, Problem
from pixelgate.io.video_write import Encoding, write_video

ORACLE = Path(__file__).parent.parent / "conformance" / "flexbench" / "depth"
VALUES = json.loads((ORACLE / "values.json").read_text())
CASES = sorted(VALUES["cases"])
BACKENDS = ("numpy", "numba")


def use_backend(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if name == "numba":
        pytest.importorskip("numba")
    monkeypatch.setenv("PIXELGATE_BACKEND", name)


def tolerance(case: str, metric: str, wanted: float) -> float:
    """As values.json says; resized cases differ by float32 interpolation."""
    base = VALUES["tolerance"]["resized" if "other_resolution" in case else "default"]
    if metric == "i_rmse":
        return VALUES["tolerance"]["i_rmse_relative"] * abs(wanted)
    return min(base, 1e-5 * max(1.0, abs(wanted))) if "other_resolution" in case else base


def grey_clip(path: Path, frames: Any, fps: float = 8) -> Path:
    """A clip without loss; frames T x H x W (grey) or T x H x W x 3, uint8."""
    frames = np.asarray(frames, dtype=np.uint8)
    colour = np.repeat(frames[..., None], 3, axis=3) if frames.ndim == 3 else frames
    write_video(path, colour, fps, encoding=Encoding(lossless=True))
    return path


def some_clip(path: Path, length: int, height: int, width: int, fps: float = 8) -> Path:
    """Any clip of that many frames and that size."""
    return grey_clip(path, np.random.default_rng(0).integers(0, 256, (length, height, width)), fps)


def clip_files(
    folder: Path, prediction: Path, condition: Path, masks: Path | None = None, shape: Any = None, fps: float = 8
) -> ClipFiles:
    """A generated clip with its files; the clip is made with the given shape, T x H x W."""
    generated = some_clip(folder / "generated.mp4", *shape, fps=fps)
    predictions = {"depth": (prediction,), **({} if masks is None else {"person_masks": (masks,)})}
    return ClipFiles("sample", generated, {"reference": condition}, predictions)


@contextmanager
def problems(*rules: str) -> Iterator[list[Problem]]:
    """An `InputError` with exactly these rules; gives its problems."""
    found: list[Problem] = []
    with pytest.raises(InputError) as caught:
        yield found
    found.extend(caught.value.problems)
    assert sorted(problem.rule for problem in found) == sorted(rules)
    assert all(problem.found and problem.mend for problem in found)


def slow_scores(prediction: Any, condition: Any, excluded: Any = None) -> dict[str, Any] | None:
    """Fit and errors by numpy's own least squares and one formula after the other; None without a valid pixel."""
    p, g = (np.asarray(x, dtype=np.float64) for x in (prediction, condition))
    valid = np.isfinite(p) & (g != 0)
    if excluded is not None:
        valid &= ~excluded
    if not valid.any():
        return None
    x = np.stack([p[valid], np.ones(valid.sum())], axis=1)
    (scale, shift), _, rank, _ = np.linalg.lstsq(x, g[valid], rcond=None)
    frames = [(scale * p[t][v] + shift, g[t][v]) for t, v in enumerate(valid) if v.any()]
    cut = [(np.maximum(a, 1e-6), b) for a, b in frames]
    logs = [np.log(a) - np.log(b) for a, b in cut]

    def mean(values: Callable[..., Any], pairs: Any) -> float:
        return float(np.mean([values(a, b) for a, b in pairs]))

    found = {
        "mae": mean(lambda a, b: np.mean(abs(a - b)), frames),
        "rmse_linear": mean(lambda a, b: np.sqrt(np.mean((a - b) ** 2)), frames),
        "abs_relative_difference": mean(lambda a, b: np.mean(abs(a - b) / b), cut),
        "squared_relative_difference": mean(lambda a, b: np.mean((a - b) ** 2 / b), cut),
        "rmse_log": float(np.mean([np.sqrt(np.mean(d**2)) for d in logs])),
        "log10": float(np.mean(abs(np.concatenate(logs))) / np.log(10)),
        "i_rmse": mean(lambda a, b: np.sqrt(np.mean((1 / a - 1 / b) ** 2)), cut),
        "silog_rmse": 100 * float(np.sqrt(np.mean([np.var(d) for d in logs]))),
    }
    for k in (1, 2, 3):
        found[f"delta{k}_acc"] = mean(lambda a, b, k=k: np.mean(np.maximum(a / b, b / a) < 1.25**k), cut)
    return {"metrics": found, "scale": scale, "shift": shift, "rank": rank}
