"""Scoring from Python: a folder of outputs in, a tidy table out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from pixelgate.cache import ScoreCache, default_cache_folder
from pixelgate.case import Case
from pixelgate.columns import Settings
from pixelgate.engine import Engine, Progress
from pixelgate.errors import InputError, Problem, TrackError
from pixelgate.flexbench.folder import named_datasets, run_folder
from pixelgate.layout import add_baselines, scan, sliced_tracks
from pixelgate.metrics.registry import Runtime
from pixelgate.protocols import choose_backend, load_protocol
from pixelgate.scores import CaseScores
from pixelgate.tracks import available_tracks, load_track, locate

if TYPE_CHECKING:
    import pandas as pd


def score(
    outputs: str | PathLike[str],
    *,
    track: str | None = None,
    method: str | None = None,
    data: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    metrics: str | Sequence[str] = (),
    device: str = "cpu",
    weights: str | PathLike[str] | None = None,
    cache: str | PathLike[str] | bool = True,
    allow_missing: bool = False,
    allow_resize: bool = False,
    baseline: bool = True,
    backend: str = "auto",
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Score a folder of outputs under the protocol of their track.

    The same engine as ``pytest --bench-outputs`` and ``pixelgate score``: each reference is worked on once
    for all methods, and what the cache holds is not computed again.

    Args:
        outputs: ``<outputs>/<method>/<track>/<id>.png``, or, with `track`, one method's own folder.
        track: score this track only.
        method: score this method only; names the method of a single folder (default: the folder's name).
        data: folders with tracks' data or a ``track.yaml``.
        metrics: ids of the protocol's metrics to compute, or a single id; empty computes all.
        device: ``cpu``, ``cuda`` or ``cuda:N``, for learned metrics.
        weights: file or folder with network weights, before every other source.
        cache: True for the user's score cache, False for none, or a folder.
        allow_missing: score incomplete outputs over the samples that are there.
        allow_resize: resize outputs of another size to the reference's.
        baseline: add the protocol's baseline (the content pictures, unchanged) where nobody wrote it.
        backend: which of the protocol's backends computes; ``auto`` takes the published one where it can run.
        progress: called with (case id, samples done, samples in all, sample id).

    Returns:
        One row per (method, track, slice, sample), one column per metric, sorted. ``DataFrame.attrs`` holds,
        in plain types: ``tracks`` (protocol, parameter hash and data set revision by track), ``deviations``,
        ``notes`` and ``reasons`` (why a value is missing). A missing value also warns, since pandas leaves
        it out of means without a word.

    Raises:
        InputError: files break the protocol's rules; all problems are listed at once. Also where `outputs` is empty.
        TrackError: no such track, or its data are not at hand.
        MissingExtra, WeightsError: a metric cannot run here.
    """
    if not outputs:
        raise InputError(_no_outputs(outputs))
    chosen = (metrics,) if isinstance(metrics, str) and metrics else tuple(metrics)
    folders = [Path(folder) for folder in ([data] if isinstance(data, (str, PathLike)) else data)]
    settings = Settings(chosen, Runtime(device, str(weights) if weights else None), allow_missing, allow_resize)
    cases, own_folder = find_cases(Path(outputs), track, method, folders)
    folders = folders or named_datasets({run_folder(case) for case in cases if case.groups})
    store = ScoreCache(_cache_folder(cache))
    try:
        names = sorted({case.track for case in cases})
        engines = {name: make_engine(name, folders, settings, store, progress, backend) for name in names}
        if baseline:
            cases = with_baselines(cases, engines, () if own_folder or not method else (method,))
        scored = score_cases(cases, engines)
    finally:
        store.close()
    problems = [problem for scores in scored for problem in scores.problems]
    if problems:
        raise InputError(problems)
    return to_frame(scored, engines)


def score_cases(cases: Iterable[Case], engines: Mapping[str, Engine]) -> list[CaseScores]:
    """Score many cases, the methods of one track in one pass over its references."""
    scored = []
    waiting = sorted(cases)
    while waiting:
        case = waiting.pop(0)
        ahead = [other for other in waiting if other.track == case.track]
        scored.append(engines[case.track].score(case, ahead))
    return scored


def to_frame(scored: Sequence[CaseScores], engines: dict[str, Engine]) -> pd.DataFrame:
    """Scores as a tidy table; see `score`."""
    import pandas as pd

    keys = ["method", "track", "slice", "sample"]
    rows = [
        {"method": s.case.method, "track": s.case.track, "slice": s.case.slice, "sample": x.sample, **x.values}
        for s in scored
        for x in s.samples
    ]
    metrics = list(dict.fromkeys(metric for scores in scored for metric in scores.metrics))
    frame = pd.DataFrame(rows, columns=[*keys, *metrics]).astype(dict.fromkeys(metrics, "float64"))
    reasons = {
        f"{scores.case.id}/{sample.sample}/{metric}": reason
        for scores in scored
        for sample in scores.samples
        for metric, reason in sample.reasons.items()
    }
    if reasons:
        warnings.warn(f"{len(reasons)} values could not be computed; see attrs['reasons']", stacklevel=3)
    frame.attrs = {
        "tracks": {name: _track_attrs(engine) for name, engine in engines.items()},
        "deviations": {scores.case.id: [asdict(item) for item in scores.deviations] for scores in scored},
        "notes": {scores.case.id: [asdict(item) for item in scores.notes] for scores in scored},
        "reasons": reasons,
    }
    return frame


def _track_attrs(engine: Engine) -> dict[str, str]:
    return {
        "protocol": engine.protocol.id,
        "params_sha256": engine.protocol.params_hash,
        "dataset": engine.data.revision,
    }


def find_cases(
    outputs: Path, track: str | None = None, method: str | None = None, data: Sequence[Path] = ()
) -> tuple[list[Case], bool]:
    """The cases in a folder of outputs, and whether the folder is one method's own.

    Args:
        outputs, track, method, data: as for `score`.

    Raises:
        InputError: the folder is missing, or names in it break the layout.
        TrackError: nothing is there to score.
    """
    known = available_tracks(data)
    found = scan(
        outputs,
        known,
        tracks=(track,) if track else (),
        methods=(method,) if method else (),
        sliced=sliced_tracks(known, data),
    )
    if not found.cases:
        raise TrackError(
            f"{outputs}: no outputs of {track or 'any known track'} are there. "
            "Wanted: <method>/<track>/<id>.png, or, with one track named, one method's own folder."
        )
    return list(found.cases), found.own_folder


def make_engine(
    track_id: str,
    data: Sequence[Path],
    settings: Settings,
    cache: ScoreCache,
    progress: Progress | None = None,
    backend: str = "auto",
) -> Engine:
    """The engine of a track: its files found (or built, for a track that is made here), its protocol loaded.

    Args:
        track_id: the track.
        data: folders with tracks' data or a ``track.yaml``.
        settings, cache, progress: as for `Engine`.
        backend: as for `score`.

    Raises:
        TrackError: no such track, or its data are not at hand.
        InputError, MissingExtra, WeightsError, ProtocolError: as `Engine`.
    """
    track = load_track(track_id, data)
    protocol = choose_backend(load_protocol(track.protocol), backend)
    return Engine(locate(track, data), protocol, settings, cache, progress)


def with_baselines(cases: Sequence[Case], engines: Mapping[str, Engine], methods: Sequence[str] = ()) -> list[Case]:
    """The cases, and the baseline of each track whose pictures for it are at hand and where nobody wrote it.

    Args:
        cases: cases found.
        engines: the engine of each of their tracks.
        methods: where any are named, a baseline that is none of them is not added.
    """
    protocols = {name: engine.protocol for name, engine in engines.items()}
    columns = {name: engine.data.columns for name, engine in engines.items()}
    return list(add_baselines(cases, protocols, columns, methods))


def _no_outputs(outputs: object) -> Problem:
    return Problem("", "outputs-folder", f"the argument outputs is {outputs!r}.", "Name the folder of your outputs.")


def _cache_folder(cache: str | PathLike[str] | bool) -> Path | None:
    if cache is True:
        return default_cache_folder()
    return Path(cache) if cache else None
