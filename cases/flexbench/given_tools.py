"""Clips, features and result files that the tests of the given groups make."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pixelgate.clips.evaluator import ClipFiles, Evaluation, evaluator
from pixelgate.errors import InputError
from pixelgate.metrics.registry import Runtime

ORACLE = Path(__file__).parent.parent / "conformance" / "flexbench"
CLIPFEAT = ORACLE / "clipfeat"
VBENCH = ORACLE / "vbench"


def values(section: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ORACLE / section / "values.json").read_text(encoding="utf-8"))
    return content


def arrays(name: str) -> Mapping[str, NDArray[Any]]:
    with np.load(CLIPFEAT / name, allow_pickle=False) as file:
        return dict(file)


def moving(frames: int, height: int = 24, width: int = 32, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (frames, height, width, 3), dtype=np.uint8)


def write_clip(path: Path, frames: NDArray[np.uint8], fps: int = 24) -> Path:
    """Write a clip whose decoded frames are exactly these; a gif holds them in its palette's colours."""
    av = pytest.importorskip("av")
    codec, layout = {".mkv": ("ffv1", "bgr0"), ".mp4": ("libx264rgb", "rgb24"), ".gif": ("gif", "rgb8")}[path.suffix]
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=fps)
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = layout
        if codec == "libx264rgb":
            stream.options = {"qp": "0"}
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24").reformat(format=layout)))
        container.mux(stream.encode())
    return path


def save(path: Path, **content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **content)
    return path


def evaluate(
    group: str,
    generated: Path,
    predictions: Sequence[Path],
    metrics: Sequence[str],
    *,
    reference: Path | None = None,
    shuffled: Path | None = None,
    **params: Any,
) -> Evaluation:
    found = {group: tuple(predictions)}
    if shuffled is not None:
        found[f"{group}_reference"] = (shuffled,)
    references = {} if reference is None else {"reference": reference}
    files = ClipFiles(generated.stem, generated, references, found)
    asked = [f"{group}_{metric}" for metric in metrics]
    result = evaluator(group).evaluate(files, params, asked, Runtime())
    assert list(result.values) == asked
    assert all((value.value is None) == (value.reason is not None) for value in result.values.values())
    json.dumps(result.details, allow_nan=False)
    return result


def refusal(error: pytest.ExceptionInfo[InputError], rule: str) -> str:
    """The one problem's text, whose rule must be this one."""
    problems = error.value.problems
    assert [problem.rule for problem in problems] == [rule], problems
    assert problems[0].mend
    return str(problems[0])
