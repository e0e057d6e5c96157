"""``pixelgate score``: score one method's folder, print the track's table, write the three result files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pixelgate.commands.arguments import (
    Commands,
    Parser,
    add_command,
    add_data,
    add_json,
    names,
    own_options,
    path,
    whole,
)
from pixelgate.commands.console import Progress, print_errors, print_json, print_lines
from pixelgate.errors import InputError, Problem

if TYPE_CHECKING:
    from pixelgate.aggregate import Aggregate, Bootstrap
    from pixelgate.case import Case
    from pixelgate.engine import Engine
    from pixelgate.scores import CaseScores

_FILES = "(metrics.csv, summary.json, run.json)"
_SHOWN = 10
_DETAILS = """\
DIR holds one PNG per sample, named <id>.png; every sample's output must be there. The protocol's baseline (for
PSTBench the Identity row) is computed too, where the track's content pictures are at hand."""


def add(commands: Commands) -> None:
    """Declare the subcommand."""
    parser = add_command(
        commands,
        "score",
        run,
        "score one method's folder of outputs and write its result files",
        details=_DETAILS,
        examples=(
            "pixelgate score --track pst50-paired --outputs path/to/outputs --name my-method",
            "pixelgate score --track my-photos --data my-photos --outputs outputs/my-method --metrics psnr,ssim",
        ),
    )
    parser.add_argument("--track", required=True, metavar="T", help="the track that the outputs belong to")
    parser.add_argument("--outputs", required=True, type=path, metavar="DIR", help="folder with the method's outputs")
    parser.add_argument("--name", dest="method", metavar="N", help="the method's name (default: the folder's)")
    add_data(parser)
    _add_scoring(parser)
    parser.add_argument(
        "--out",
        type=path,
        default=Path("results"),
        metavar="DIR",
        help="write DIR/<track>/<name>/metrics.csv, summary.json and run.json (default: results)",
    )
    add_json(parser)
    common = ("data", "track", "outputs", "metrics", "device", "weights", "allow-missing", "allow-resize")
    options = {key: f"--{key}" for key in (*common, "resamples", "seed", "cache", "no-cache")}
    own_options(parser, {**options, "method": "--name"})


def _add_scoring(parser: Parser) -> None:
    parser.add_argument(
        "--metrics",
        action="append",
        default=[],
        metavar="IDS",
        help="compute these metrics only, comma-separated; may be repeated; the others are a recorded deviation",
    )
    parser.add_argument("--device", default="cpu", help="device of learned metrics: cpu, cuda or cuda:N (default: cpu)")
    parser.add_argument("--weights", metavar="PATH", help="file or folder with network weights, before other sources")
    parser.add_argument(
        "--allow-missing",
        action="store_true",
        help="score incomplete outputs over the samples that are there; a recorded deviation",
    )
    parser.add_argument(
        "--allow-resize",
        action="store_true",
        help="resize outputs of another size to the reference's; a recorded deviation",
    )
    parser.add_argument(
        "--resamples",
        type=whole(1),
        metavar="N",
        help="bootstrap resamples (default: the protocol's); a recorded deviation",
    )
    parser.add_argument(
        "--seed", type=whole(0), metavar="N", help="bootstrap seed (default: the protocol's); a recorded deviation"
    )
    store = parser.add_mutually_exclusive_group()
    store.add_argument(
        "--cache",
        type=path,
        metavar="DIR",
        help="folder of the score cache (default: $PIXELGATE_CACHE or the user's cache folder)",
    )
    store.add_argument("--no-cache", action="store_true", help="compute everything anew and keep nothing")


@dataclass(frozen=True)
class _Result:
    """One row of the table: a scored case with this run's deviations, and the folder of its files."""

    scores: CaseScores
    aggregates: dict[str, Aggregate]
    folder: Path

    @property
    def method(self) -> str:
        return self.scores.case.method


@dataclass(frozen=True)
class _Job:
    """All that was scored: the rows, the baseline first, and why there is no baseline, where there is none."""

    engine: Engine
    bootstrap: Bootstrap
    device: str
    results: tuple[_Result, ...]
    baseline_missing: str

    def run_record(self, result: _Result) -> dict[str, Any]:
        from pixelgate.results import run_record

        data = self.engine.data
        repository = getattr(data.track.source, "repository", None)
        return run_record(
            result.scores,
            self.engine.protocol,
            data.revision,
            repository,
            self.bootstrap,
            self.device,
            result.scores.deviations,
        )

    def summary(self, result: _Result) -> dict[str, Any]:
        from pixelgate.results import summary

        return summary(result.scores, self.engine.protocol, result.aggregates)


def run(args: argparse.Namespace) -> int:
    """Score, write and print; 1 where a mean is missing, else 0."""
    from pixelgate.results import metrics_csv, write_results

    with Progress() as progress:
        job = _score(args, progress)
    for result in job.results:
        write_results(result.folder, metrics_csv(result.scores), job.summary(result), job.run_record(result))
    if args.json:
        print_json(_document(job))
    else:
        print_lines(_lines(job))
    gaps = [
        f"error: {result.method}: {aggregate.metric} has no mean: {aggregate.reason}"
        for result in job.results
        for aggregate in result.aggregates.values()
        if aggregate.failed
    ]
    print_errors(gaps)
    return 1 if gaps else 0


def _score(args: argparse.Namespace, progress: Progress) -> _Job:
    from pixelgate.cache import ScoreCache, default_cache_folder
    from pixelgate.scoring import find_cases, make_engine, score_cases, with_baselines

    case = _only(find_cases(args.outputs, args.track, args.method, args.data)[0], args.outputs)
    _check_writable(_folder(args.out, case))
    store = ScoreCache(None if args.no_cache else args.cache or default_cache_folder())
    try:
        engine = make_engine(case.track, args.data, _settings(args), store, progress.scoring)
        progress.show(f"{case.id}: reading files", last=True)
        engines = {case.track: engine}
        scored = score_cases(with_baselines([case], engines), engines)
    finally:
        store.close()
    own = next(scores for scores in scored if not scores.case.baseline)
    if own.problems:
        raise InputError(own.problems)
    return _job(args, engine, own, [scores for scores in scored if scores.case.baseline])


def _settings(args: argparse.Namespace) -> Any:
    from pixelgate.columns import Settings
    from pixelgate.metrics.registry import Runtime

    runtime = Runtime(args.device, args.weights)
    return Settings(names(args.metrics), runtime, args.allow_missing, args.allow_resize)


def _job(args: argparse.Namespace, engine: Engine, own: CaseScores, baselines: Sequence[CaseScores]) -> _Job:
    from pixelgate.aggregate import aggregate, bootstrap_settings

    bootstrap, deviations = bootstrap_settings(engine.protocol, args.resamples, args.seed)
    shown = [*(scores for scores in baselines if not scores.problems), own]
    results = tuple(
        _Result(
            replace(scores, deviations=(*scores.deviations, *deviations)),
            aggregate(scores, bootstrap),
            _folder(args.out, scores.case),
        )
        for scores in shown
    )
    return _Job(engine, bootstrap, args.device, results, _baseline_missing(engine, own, baselines))


def _only(cases: Sequence[Case], outputs: Path) -> Case:
    if len(cases) == 1:
        return cases[0]
    found = ", ".join(sorted({case.method for case in cases}))
    if len({case.method for case in cases}) == 1:
        slices = ", ".join(case.slice for case in cases)
        mend = f"Score them all: pytest --bench-outputs={outputs}; or name one slice's own folder."
        raise InputError(Problem(str(outputs), "one-slice", f"the method has several slices: {slices}.", mend))
    raise InputError(
        Problem(
            str(outputs),
            "one-method",
            f"outputs of several methods are there: {found}.",
            f"Choose one with --name, or score them all: pytest --bench-outputs={outputs}",
        )
    )


def _folder(out: Path, case: Case) -> Path:
    folder = out / case.track / case.method
    return folder if case.slice == "full" else folder / case.slice


def _check_writable(folder: Path) -> None:
    # Found out before an hour of scoring, not after it; nothing is made yet.
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        found = f"the results cannot be written there: {there} is {_fault(there)}."
        raise InputError(Problem(str(folder), "not-writable", found, "Name another folder with --out."))


def _fault(place: Path) -> str:
    return "write-protected" if place.is_dir() else "a file"


def _baseline_missing(engine: Engine, own: CaseScores, baselines: Sequence[CaseScores]) -> str:
    rule = engine.protocol.baseline
    if rule is None or own.case.method == rule["method"]:
        return ""
    method, column = rule["method"], rule["column"]
    broken = [problem for scores in baselines for problem in scores.problems]
    if broken:
        more = f" (and {len(broken) - 1} more)" if broken[1:] else ""
        return f"{method}: missing; the track's {column} pictures cannot be scored: {broken[0]}{more}"
    if not baselines:
        return f"{method}: missing; the track's {column} pictures are not at hand. {_get(engine, column)}"
    return ""


def _get(engine: Engine, column: str) -> str:
    from pixelgate.tracks import HubSource

    track = engine.data.track
    if isinstance(track.source, HubSource):
        return f"Get them with: pixelgate data fetch {track.id}"
    return f"Add the column {column} to {track.file or 'the track'}."


def _lines(job: _Job) -> list[str]:
    from pixelgate.tables import Row, count_text, listed, table, track_line

    engine = job.engine
    count = count_text(len(result.scores.samples) for result in job.results)
    lines = [track_line(engine.data.track.id, engine.protocol, engine.data.revision_short, count)]
    rows = [Row(_label(result), result.aggregates, _remarks(result)) for result in job.results]
    # A protocol over several groups of metrics has a table for each track's own.
    lines += table(engine.protocol, rows, engine.data.track.metrics if engine.protocol.groups else ())
    lines += [job.baseline_missing] if job.baseline_missing else []
    deviations = [(result.method, item) for result in job.results for item in result.scores.deviations]
    lines += listed("† deviations from the protocol (not ranked beside clean rows)", deviations, _SHOWN, "run.json")
    notes = [(result.method, item) for result in job.results for item in result.scores.notes]
    lines += listed("notes", notes, _SHOWN, "run.json")
    return [*lines, "", *(f"{result.folder.as_posix()}/  {_FILES}" for result in job.results)]


def _label(result: _Result) -> str:
    return f"{result.method} †" if result.scores.deviations else result.method


def _remarks(result: _Result) -> tuple[str, ...]:
    case = result.scores.case
    return (f"computed from the track's {case.baseline}",) if case.baseline else ()


def _document(job: _Job) -> dict[str, Any]:
    engine = job.engine
    protocol, data = engine.protocol, engine.data
    return {
        "track": data.track.id,
        "protocol": {"id": protocol.id, "version": protocol.version, "params_sha256": protocol.params_hash},
        "dataset": {"repository": getattr(data.track.source, "repository", None), "revision": data.revision},
        "interval": asdict(job.bootstrap),
        "results": [
            {
                "method": result.method,
                "baseline": result.scores.case.baseline or None,
                "clean": not result.scores.deviations,
                "folder": str(result.folder),
                "summary": job.summary(result),
                "run": job.run_record(result),
            }
            for result in job.results
        ],
        "baseline_missing": job.baseline_missing or None,
    }
