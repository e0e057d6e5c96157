"""Scoring the pictures of an earlier run again, from its folder and its manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pixelgate.colorizer.evaluate import Progress, Scoring
from pixelgate.colorizer.manifest import FILE, Manifest, check, check_ground_truths, read_manifest
from pixelgate.colorizer.record import hint_counts, record
from pixelgate.colorizer.result import ColorizerResult
from pixelgate.colorizer.sample import ColorizerError
from pixelgate.errors import InputError, Problem
from pixelgate.io.any_image import read_any
from pixelgate.metrics.registry import Runtime
from pixelgate.records import Note


def rescore(
    save_dir: Path | str,
    ground_truths: Path | str | Mapping[str, Path],
    *,
    metrics: Sequence[str] | None = None,
    backend: str = "auto",
    runtime: Runtime | None = None,
    progress: Progress | None = None,
) -> ColorizerResult:
    """Score a finished run's predictions again; the function is not called.

    Args:
        save_dir: the folder that `evaluate_colorizer` wrote, or one of the reference library's with its manifest.
        ground_truths: the folder of the ground truths, or prediction's file name -> ground truth. In a folder a ground
            truth is looked for under its recorded name, then under the prediction's.
        metrics, backend, runtime, progress: as for `evaluate_colorizer`.

    Raises:
        InputError: there is no manifest, the run is unfinished, or files are missing, foreign or not the recorded
            ones; everything at once.
        ProtocolError, MissingExtra, WeightsError: as for `evaluate_colorizer`.
    """
    folder = Path(save_dir)
    scoring = Scoring.start(backend, metrics, runtime)
    manifest = read_manifest(folder) if folder.is_dir() else None
    if manifest is None:
        found = "there is no manifest of a run here."
        raise ColorizerError(Problem(str(folder / FILE), "no-manifest", found, "Name a folder that a run wrote."))
    files = _ground_truths(manifest, ground_truths)
    problems = [*check(manifest, folder), *check_ground_truths(manifest, files)]
    if problems:
        raise InputError(sorted(problems))
    notes = [] if manifest.hashed else [_unhashed(folder)]
    for place, name in enumerate(manifest.names):
        truth, read_record = read_any(files[name], label=name)
        notes += read_record.notes
        predictions = {}
        for directory in manifest.dirs:
            predictions[directory], own = read_any(folder / directory / name, label=f"{directory}/{name}")
            notes += own.notes
        scoring.add(name, scoring.read(truth, read_record), predictions)
        if progress is not None:
            progress((place + 1) * len(manifest.dirs), len(manifest.names) * len(manifest.dirs), name)
    return _result(manifest, folder, scoring, notes)


def _result(manifest: Manifest, folder: Path, scoring: Scoring, notes: list[Note]) -> ColorizerResult:
    settings: dict[str, Any] = {"oracle": False, **manifest.settings}
    how = record(scoring.rules, scoring.columns, settings, manifest.alphas, manifest.meta)
    reused = len(manifest.names) * len(manifest.dirs)
    return ColorizerResult(
        manifest.hint_type,
        manifest.alphas,
        manifest.names,
        scoring.values,
        scoring.reasons,
        {**how, "hints": hint_counts(manifest.hints, {}), "reused_predictions": reused},
        (*notes, *scoring.notes),
        folder,
    )


def _ground_truths(manifest: Manifest, given: Path | str | Mapping[str, Path]) -> dict[str, Path]:
    if isinstance(given, Mapping):
        return {name: Path(path) for name, path in given.items()}
    folder = Path(given)
    found = {}
    for name, original in manifest.originals.items():
        for candidate in (original.source, name):
            if (folder / candidate).is_file():
                found[name] = folder / candidate
                break
    return found


def _unhashed(folder: Path) -> Note:
    message = "its manifest has no hashes, so edited files could not be noticed."
    return Note(str(folder), "no-hashes", message)
