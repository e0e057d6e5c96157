"""Running methods over a track's samples into an outputs folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from pixelgate.errors import InputError, Problem
from pixelgate.io.png import read_png
from pixelgate.io.write import write_png
from pixelgate.methods.registry import Method, get

Progress = Callable[[int, int, str], None]
"""Called with (files written so far, files in all, what was written last)."""


def make_outputs(
    samples: Iterable[tuple[str, Path, Path]],
    methods: Sequence[str | Method],
    out_dir: Path,
    track_id: str,
    progress: Progress | None = None,
) -> None:
    """Run methods on every sample and write ``out_dir/<method>/<track_id>/<sample>.png``.

    Pictures are read under the PSTBench protocol's decoding rules for references, one sample at a time.
    Files are written atomically and existing ones are replaced; nothing else in the folder is touched.

    Args:
        samples: (id, content file, style file) of every sample.
        methods: names of methods that run here, or methods.
        out_dir: the outputs folder; it is made where it is missing.
        track_id: the track's id, a folder name.
        progress: see `Progress`.

    Raises:
        MissingExtra: a method's package is missing; raised before anything is written.
        InputError: a picture breaks a rule, or a method has no result for a sample.
    """
    chosen = [get(method) if isinstance(method, str) else method for method in methods]
    for method in chosen:
        method.check()
    pairs = list(samples)
    rules = _decoding_rules()
    done = 0
    for sample, content_path, style_path in pairs:
        content, _ = read_png(content_path, rules, role="reference", label=sample)
        style, _ = read_png(style_path, rules, role="reference", label=sample)
        for method in chosen:
            try:
                output = method.run(content, style)
            except InputError as error:
                raise InputError([_at(content_path, problem) for problem in error.problems]) from None
            write_png(out_dir / method.name / track_id / f"{sample}.png", output)
            done += 1
            if progress is not None:
                progress(done, len(pairs) * len(chosen), f"{method.name}/{track_id}/{sample}")


def _decoding_rules() -> dict[str, Any]:
    text = resources.files("pixelgate.protocols").joinpath("pstbench.yaml").read_text(encoding="utf-8")
    rules: dict[str, Any] = yaml.safe_load(text)["decoding"]
    return rules


def _at(path: Path, problem: Problem) -> Problem:
    return Problem(str(path), problem.rule, problem.found, problem.mend)
