"""One clip's row of the results of a VBench run."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pixelgate.clips._given import file_state
from pixelgate.clips.evaluator import ClipFiles
from pixelgate.errors import InputError, Problem
from pixelgate.io.vbench_results import VBenchResults, read_results
from pixelgate.io.video import probe_video
from pixelgate.metrics.registry import Measurement
from pixelgate.metrics.vbench import DIMENSIONS
from pixelgate.records import VideoRecord


def imported(
    files: ClipFiles, paths: tuple[Path, ...], wanted: Sequence[str]
) -> tuple[dict[str, Measurement], VideoRecord, dict[str, Any], list[tuple[str, str]]]:
    """The values of these columns, the clip's record, details and notes.

    Only the wanted dimensions are looked at. The files' problems are notes of every clip, the same for each.

    Raises:
        InputError: as `read_results`; ``missing-prediction`` (no row of this clip), ``prediction-length`` (background
            consistency compared another number of frames than the clip has).
    """
    record = probe_video(files.generated, label=files.sample)
    if not wanted:
        return {}, record, {"source": "vbench-results"}, []
    results = _results(paths, frozenset(DIMENSIONS[column] for column in wanted), tuple(map(file_state, paths)))
    names = ", ".join(map(str, paths))
    row = results.find(files.sample)
    if row is None:
        found = f"has no result of the clip {files.sample!r} (it has {len(results.table)} others)."
        mend = f"Run VBench on {files.generated.name} too, with the other clips."
        raise InputError(Problem(names, "missing-prediction", found, mend))
    pairs = results.pairs.get(row, record.frames - 1)
    if pairs != record.frames - 1:
        found = f"compares {pairs + 1} frames of {row!r}; the clip {record.file} has {record.frames}."
        raise InputError(Problem(names, "prediction-length", found, "Run VBench on this very clip."))
    values = {column: Measurement(results.table[row][column], results.reasons[row].get(column)) for column in wanted}
    details = {
        "source": "vbench-results",
        "files": [path.name for path in paths],
        "frames": record.frames,
        "id_in_files": row,
        "problems": list(results.problems),
        "averages": {column: asdict(results.averages[column]) for column in wanted},
        "unknown_dimensions": {name: plain(content) for name, content in results.unknown.items()},
    }
    return values, record, details, [("vbench-results", problem) for problem in results.problems]


def plain(content: Any) -> Any:
    """JSON's own types without NaN and infinity, which become the strings that VBench's files have for them."""
    if isinstance(content, dict):
        return {key: plain(value) for key, value in content.items()}
    if isinstance(content, list):
        return [plain(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return "NaN" if math.isnan(content) else "Infinity" if content > 0 else "-Infinity"
    return content


@functools.lru_cache(maxsize=8)
def _results(paths: tuple[Path, ...], dimensions: frozenset[str], state: tuple[tuple[int, int], ...]) -> VBenchResults:
    return read_results(paths, dimensions)
