"""``pixelgate hints curve``: score one method's ratio folders against ground truths; JSON alone on stdout."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pixelgate.commands.arguments import Commands, Parser, add_command, names, own_options, path, whole
from pixelgate.commands.console import Progress, print_errors, print_json
from pixelgate.commands.hints_files import check_picture, check_target, deviation_lines, note_lines
from pixelgate.errors import InputError

if TYPE_CHECKING:
    from pixelgate.aggregate import Bootstrap
    from pixelgate.curves import CurveAggregate
    from pixelgate.engine import Engine
    from pixelgate.pairing import Pairing
    from pixelgate.protocols import Protocol
    from pixelgate.records import Deviation, Note
    from pixelgate.scores import CaseScores

FORMAT = "pixelgate-curve/1"
PROTOCOL = "hintauc"
DEFAULT_METRICS = ("mse", "psnr", "ssim")
_ALL = "all"
# What the protocol's reporting checklist asks for and a run's manifest tells.
_OF_THE_RUN = ("hint_type", "hint_maps", "path_method", "tie_break")
_DETAILS = """\
PRED holds one folder per hint ratio, named 0.10, 10% or 10, and GT the ground truths: PRED/<ratio>/<id>.png and
GT/<id>.png. File sets, ratios, metric names and output files are checked before anything is scored. Where PRED has
the manifest of a run, the run's own names and ratios count. JSON is printed on stdout, and nothing else; warnings go
to stderr. Exit status 1 where a metric has no area."""


def add(commands: Commands) -> None:
    """Declare the action."""
    parser = add_command(
        commands,
        "curve",
        run,
        "score one method's outputs at every hint ratio, and integrate over the ratio",
        details=_DETAILS,
        examples=(
            "pixelgate hints curve pred gt --json result.json --plot curve.png",
            "pixelgate hints curve pred gt --metrics mse psnr ssim lpips --backend paper",
            "pixelgate hints curve pred gt --metrics all --device cuda --allow-missing",
        ),
    )
    parser.add_argument("predictions", type=path, metavar="PRED", help="folder with one folder per hint ratio")
    parser.add_argument("truths", type=path, metavar="GT", help="folder with the ground truths")
    _add_pairing(parser)
    _add_scoring(parser)
    _add_outputs(parser)
    kept = ("metrics", "backend", "device", "weights", "allow-missing", "resamples", "seed", "cache", "no-cache")
    own_options(parser, {key: f"--{key}" for key in kept})


def _add_pairing(parser: Parser) -> None:
    parser.add_argument(
        "--pairing",
        choices=("name", "sorted"),
        default="name",
        help="pair files by the name before the suffix (default), or by their place in sorted order",
    )
    parser.add_argument(
        "--allow-missing",
        action="store_true",
        help="score the images that all ratios have, and list the rest; a recorded deviation",
    )
    parser.add_argument("--ignore-manifest", action="store_true", help="take the files as they lie, not as recorded")
    parser.add_argument("--name", metavar="N", help="the method's name (default: PRED's last folder)")
    parser.add_argument(
        "--variant", metavar="NAME", help="hint type and line-art source, where PRED has several: scribble-xdog"
    )
    parser.add_argument(
        "--limit", type=whole(0), default=0, metavar="N", help="score the first N images only; 0 scores all (default)"
    )


def _add_scoring(parser: Parser) -> None:
    parser.add_argument(
        "--metrics",
        nargs="+",
        action="extend",
        metavar="ID",
        help=f"metrics to compute (default: {' '.join(DEFAULT_METRICS)}); all computes the protocol's seven",
    )
    parser.add_argument(
        "--backend",
        choices=("auto", "paper", "pillow"),
        default="auto",
        help="what resizes: paper is torchvision, pillow needs no torch (default: paper where it can run)",
    )
    parser.add_argument("--device", default="cpu", help="device of learned metrics: cpu, cuda or cuda:N (default: cpu)")
    parser.add_argument("--weights", metavar="PATH", help="file or folder with network weights, before other sources")
    parser.add_argument("--resamples", type=whole(1), metavar="N", help="bootstrap resamples (default: the protocol's)")
    parser.add_argument("--seed", type=whole(0), metavar="N", help="bootstrap seed (default: the protocol's)")
    store = parser.add_mutually_exclusive_group()
    store.add_argument(
        "--cache", type=path, metavar="DIR", help="the score cache's folder (default: $PIXELGATE_CACHE or the user's)"
    )
    store.add_argument("--no-cache", action="store_true", help="compute everything anew and keep nothing")


def _add_outputs(parser: Parser) -> None:
    parser.add_argument(
        "--meta",
        type=_pair,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="record this with the result, e.g. seed=0, split=test or checkpoint=FILE (hashed)",
    )
    parser.add_argument("--json", type=path, metavar="FILE", help="write the JSON to this file too")
    parser.add_argument("--plot", type=path, metavar="FILE", help="draw the curves with intervals, .png or .svg")
    parser.add_argument(
        "--csv",
        type=path,
        metavar="DIR",
        help="write per_ratio_summary.csv (means), areas.csv (per image) and scores.csv (per image and ratio) there",
    )


def _pair(text: str) -> tuple[str, str]:
    key, mark, value = text.partition("=")
    if not key or not mark:
        raise argparse.ArgumentTypeError(f"wanted KEY=VALUE; got {text!r}")
    return key, value


@dataclass(frozen=True)
class _Scored:
    """All of a run: what was paired, scored and integrated."""

    pairing: Pairing
    engine: Engine
    bootstrap: Bootstrap
    scores: Mapping[str, CaseScores]
    aggregates: Mapping[str, CurveAggregate]
    deviations: tuple[Deviation, ...]
    notes: tuple[Note, ...]
    meta: Mapping[str, str]

    @property
    def protocol(self) -> Protocol:
        return self.engine.protocol

    @property
    def oracle(self) -> bool:
        return self.pairing.manifest is not None and self.pairing.manifest.oracle


def run(args: argparse.Namespace) -> int:
    """Check, score, print and write; 1 where a metric has no area, else 0."""
    from pixelgate.pairing import Choices, pair_folders
    from pixelgate.protocols import choose_backend, load_protocol

    protocol = load_protocol(PROTOCOL)
    metrics = _metrics(args.metrics, protocol)
    _check_targets(args)
    if args.pairing == "sorted" and args.allow_missing:
        raise InputError(_no_places())
    protocol = choose_backend(protocol, args.backend)
    with Progress() as progress:
        progress.show("looking at the files", last=True)
        choices = Choices(
            args.pairing, args.allow_missing, not args.ignore_manifest, args.variant, args.limit, args.name
        )
        pairing = pair_folders(args.predictions, args.truths, protocol, choices)
        scored = _score(args, protocol, metrics, pairing, progress)
    print_errors(_warnings(scored))
    data = document(scored)
    print_json(data)
    _write(args, scored, data)
    gaps = {metric: one.reason for metric, one in scored.aggregates.items() if one.curve is None}
    print_errors(f"error: {metric} has no area: {reason}" for metric, reason in gaps.items())
    return 1 if gaps else 0


def _metrics(given: list[str] | None, protocol: Protocol) -> tuple[str, ...]:
    if given is None:
        return DEFAULT_METRICS
    asked = [name.lower() for name in names(given)] or [""]
    if _ALL in asked:
        return tuple(metric.id for metric in protocol.metrics)
    for name in asked:
        protocol.metric(name)
    return tuple(metric.id for metric in protocol.metrics if metric.id in asked)


def _check_targets(args: argparse.Namespace) -> None:
    if args.plot is not None:
        check_picture(args.plot, "--plot")
    if args.json is not None:
        check_target(args.json, "--json")
    if args.csv is not None:
        check_target(args.csv / "scores.csv", "--csv")


def _no_places() -> Any:
    from pixelgate.errors import Problem

    found = "--pairing sorted goes by place, and a missing file would shift all that follow it."
    return Problem("", "pairing", found, "With --allow-missing, pair by name.")


def _score(
    args: argparse.Namespace, protocol: Protocol, metrics: tuple[str, ...], pairing: Pairing, progress: Progress
) -> _Scored:
    from pixelgate.aggregate import bootstrap_settings
    from pixelgate.cache import ScoreCache, default_cache_folder
    from pixelgate.colorizer.record import stated
    from pixelgate.columns import Settings
    from pixelgate.curves import aggregate_curve, grid_deviation
    from pixelgate.engine import Engine
    from pixelgate.metrics.registry import Runtime
    from pixelgate.records import Deviation
    from pixelgate.scoring import score_cases

    store = ScoreCache(None if args.no_cache else args.cache or default_cache_folder())
    try:
        settings = Settings(metrics, Runtime(args.device, args.weights))
        engine = Engine(pairing.data, protocol, settings, store, progress.scoring)
        found = score_cases(pairing.group.cases, {pairing.group.track: engine})
    finally:
        store.close()
    problems = {problem for one in found for problem in one.problems if problem.rule not in pairing.tolerated}
    if problems:
        raise InputError(sorted(problems))
    scores = {one.case.id: replace(one, problems=()) for one in found}
    bootstrap, changed = bootstrap_settings(protocol, args.resamples, args.seed)
    deviations = [*pairing.deviations, *grid_deviation(pairing.group, protocol), *changed]
    if pairing.manifest is not None and pairing.manifest.oracle:
        message = "the method saw the ground truth; its numbers must not be compared with a real method's."
        deviations.append(Deviation(pairing.group.method, "oracle", message))
    deviations += dict.fromkeys(item for one in found for item in one.deviations)
    notes = [*pairing.notes, *dict.fromkeys(note for one in found for note in _placed(one))]
    aggregates = aggregate_curve(pairing.group, scores, bootstrap)
    recorded = pairing.manifest.meta if pairing.manifest is not None else {}
    meta = stated({**recorded, **dict(args.meta)})
    return _Scored(pairing, engine, bootstrap, scores, aggregates, tuple(deviations), tuple(notes), meta)


def _placed(scores: CaseScores) -> Iterable[Note]:
    """A case's notes; those on an output get the ratio's name, those on a ground truth are the same at all ratios."""
    truths = {f"{sample.sample}, reference" for sample in scores.samples}
    for note in scores.notes:
        yield note if note.subject in truths else replace(note, subject=f"{scores.case.slice}/{note.subject}")


def _warnings(scored: _Scored) -> list[str]:
    # That metrics were chosen is plain from the command; the JSON tells it.
    shown = [item for item in scored.deviations if item.rule != "metric-left-out"]
    return [f"warning: {line}" for line in [*deviation_lines(shown), *note_lines(scored.notes, "the JSON")]]


def document(scored: _Scored) -> dict[str, Any]:
    """The result in plain values: areas, means per ratio, curves with intervals, and how they were made."""
    from pixelgate.curves import curve_to_json
    from pixelgate.hints import alpha_dir_name

    group, manifest = scored.pairing.group, scored.pairing.manifest
    curves = {metric: one.curve for metric, one in scored.aggregates.items()}
    return {
        "format": FORMAT,
        "method": group.method,
        "ground_truth": str(scored.pairing.data.root),
        "variant": group.variant,
        "hint_type": manifest.hint_type if manifest is not None else None,
        "oracle": scored.oracle,
        "alphas": list(group.ratios),
        "n_images": len(scored.pairing.data.track.samples),
        "per_alpha": {
            alpha_dir_name(ratio): {key: one.points[place].mean if one else None for key, one in curves.items()}
            for place, ratio in enumerate(group.ratios)
        },
        "hint_auc": {metric: one.area.mean if one else None for metric, one in curves.items()},
        "curves": {metric: curve_to_json(one) for metric, one in scored.aggregates.items()},
        "images": list(scored.pairing.data.track.samples),
        "protocol": _record(scored),
        "deviations": [asdict(item) for item in scored.deviations],
        "notes": [asdict(item) for item in scored.notes],
    }


def _record(scored: _Scored) -> dict[str, Any]:
    from pixelgate.colorizer.record import CHECKLIST
    from pixelgate.hints import is_paper_grid
    from pixelgate.io.square import fingerprint
    from pixelgate.results import library_versions

    protocol, pairing = scored.protocol, scored.pairing
    run = dict(pairing.manifest.settings) if pairing.manifest is not None else {}
    known = {key for key, value in {**run, **scored.meta}.items() if value not in (None, "")}
    return {
        "id": protocol.id,
        "version": protocol.version,
        "params_sha256": protocol.params_hash,
        "paper_grid": is_paper_grid(pairing.group.ratios),
        "pairing": pairing.how,
        "metrics": list(scored.engine.metrics),
        "metrics_left_out": [metric.id for metric in protocol.metrics if metric.id not in scored.engine.metrics],
        "backend": {"name": protocol.backend, **fingerprint(protocol.backend)},  # type: ignore[arg-type]
        "metric_backends": {metric: dict(value) for metric, value in scored.engine.fingerprints.items()},
        "aggregation": "trapezoid over the ratios of the means over images",
        "interval": asdict(scored.bootstrap),
        "ground_truth_revision": pairing.data.revision,
        # What made the hints and the predictions is known only where a run left a manifest.
        "run": run or None,
        "meta": dict(scored.meta),
        "not_stated": [key for key in (*_OF_THE_RUN, *CHECKLIST) if key not in known],
        "versions": library_versions(),
    }


def _write(args: argparse.Namespace, scored: _Scored, data: Mapping[str, Any]) -> None:
    from pixelgate.curves import per_image_csv, per_ratio_csv
    from pixelgate.io.files import atomic_write
    from pixelgate.results import to_json

    if args.json is not None:
        atomic_write(args.json, to_json(data))
    if args.csv is not None:
        folder: Path = args.csv
        atomic_write(folder / "per_ratio_summary.csv", per_ratio_csv(scored.aggregates, scored.pairing.group.ratios))
        atomic_write(folder / "areas.csv", per_image_csv(scored.aggregates))
        atomic_write(folder / "scores.csv", _scores_csv(scored))
    curves = {metric: one.curve for metric, one in scored.aggregates.items() if one.curve is not None}
    if args.plot is not None and curves:
        from pixelgate.colorizer.plot import plot_curves

        label = scored.pairing.group.method
        plot_curves({label: curves}, args.plot, oracles=[label] if scored.oracle else [])


def _scores_csv(scored: _Scored) -> str:
    """One row per ratio and image; an empty cell is a value that could not be computed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    metrics: Sequence[str] = scored.engine.metrics
    writer.writerow(["ratio", "image", *metrics])
    for ratio, case in zip(scored.pairing.group.ratios, scored.pairing.group.cases, strict=True):
        for sample in scored.scores[case.id].samples:
            cells = ["" if (value := sample.values[metric]) is None else repr(value) for metric in metrics]
            writer.writerow([repr(ratio), sample.sample, *cells])
    return text.getvalue()
