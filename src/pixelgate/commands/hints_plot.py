"""``pixelgate hints plot``: curves of several results in one picture."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pixelgate.commands.arguments import Commands, add_command, add_json, names, path
from pixelgate.commands.console import print_errors, print_json, print_lines
from pixelgate.commands.hints_files import check_picture
from pixelgate.errors import InputError, Problem

if TYPE_CHECKING:
    from pixelgate.stats import Curve, Interval

_DETAILS = """\
RESULT is a file of `pixelgate hints curve --json`, of pytest --bench-report (report.json, curve.json), of
evaluate_colorizer (its to_json), or of the reference library. One panel per metric, one line per method; intervals
are drawn where a result has them. A method that saw the ground truth is dashed and marked."""


@dataclass(frozen=True)
class _Line:
    """One method: its label, its curves, and whether it saw the ground truth."""

    label: str
    curves: Mapping[str, Curve]
    oracle: bool


def add(commands: Commands) -> None:
    """Declare the action."""
    parser = add_command(
        commands,
        "plot",
        run,
        "draw the curves of one or several results",
        details=_DETAILS,
        examples=(
            "pixelgate hints plot ours.json theirs.json -o curves.svg",
            "pixelgate hints plot ours.json theirs.json --label ours --label theirs --metrics psnr -o psnr.png",
        ),
    )
    parser.add_argument("results", type=path, nargs="+", metavar="RESULT", help="JSON file with curves")
    parser.add_argument(
        "-o", "--output", required=True, type=path, metavar="FILE", help="the picture to write, .png or .svg"
    )
    parser.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="NAME",
        help="a method's name in the picture; once for each line, in the order of the files",
    )
    parser.add_argument(
        "--metrics", action="append", default=[], metavar="IDS", help="draw these metrics only, comma-separated"
    )
    parser.add_argument("--title", default="", metavar="TEXT", help="a line above the panels")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Read, draw and say what was drawn."""
    from pixelgate.colorizer.plot import plot_curves

    check_picture(args.output, "-o")
    lines = _labelled([line for file in args.results for line in read_lines(file)], args.label)
    chosen = names(args.metrics)
    lines, absent = _of_metrics(lines, chosen)
    print_errors(f"warning: {label}: has no curve of {metric} [no-curve]" for label, metric in absent)
    results = {line.label: line.curves for line in lines}
    oracles = [line.label for line in lines if line.oracle]
    plot_curves(results, args.output, title=args.title, oracles=oracles)
    shown = {label: list(curves) for label, curves in results.items()}
    if args.json:
        print_json({"file": str(args.output), "curves": shown, "oracles": oracles})
    else:
        print_lines([*(f"{label}: {', '.join(curves)}" for label, curves in shown.items()), f"picture: {args.output}"])
    return 0


def _labelled(lines: list[_Line], labels: list[str]) -> list[_Line]:
    if labels and len(labels) != len(lines):
        found = f"{len(labels)} names are given for {len(lines)} curves: {', '.join(line.label for line in lines)}."
        raise InputError(Problem("", "labels", found, "Give one --label for each, or none."))
    named = lines
    if labels:
        named = [_Line(label, line.curves, line.oracle) for label, line in zip(labels, lines, strict=True)]
    twice = sorted({line.label for line in named if [other.label for other in named].count(line.label) > 1})
    if twice:
        found = f"several curves are named {', '.join(twice)}."
        raise InputError(
            Problem("", "labels", found, "Give each its own name with --label, in the order of the files.")
        )
    return named


def _of_metrics(lines: list[_Line], chosen: tuple[str, ...]) -> tuple[list[_Line], list[tuple[str, str]]]:
    known = dict.fromkeys(metric for line in lines for metric in line.curves)
    unknown = [metric for metric in chosen if metric not in known]
    if unknown:
        found = f"no result has a curve of {', '.join(unknown)}."
        raise InputError(Problem("", "plot-metrics", found, f"There are: {', '.join(known)}."))
    wanted = chosen or tuple(known)
    kept = [
        _Line(line.label, {metric: line.curves[metric] for metric in wanted if metric in line.curves}, line.oracle)
        for line in lines
    ]
    return kept, [(line.label, metric) for line in kept for metric in wanted if metric not in line.curves]


def read_lines(file: Path) -> list[_Line]:
    """The curves in a result file.

    Raises:
        InputError: rule ``result-file``: it cannot be read, or holds no curves.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(_no_result(file, f"cannot be read as JSON ({reason})")) from None
    try:
        lines = _lines(data, file.stem)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(_no_result(file, f"is broken ({type(error).__name__}: {error})")) from None
    if not any(line.curves for line in lines):
        raise InputError(_no_result(file, "holds no curves"))
    return lines


def _no_result(file: Path, found: str) -> Problem:
    return Problem(str(file), "result-file", f"{found}.", "Name a result file; see: pixelgate hints plot --help")


def _lines(data: Any, stem: str) -> list[_Line]:
    if not isinstance(data, dict):
        return []
    curves = data.get("curves")
    if isinstance(curves, list):
        return [line for one in curves for line in _lines(one, stem)]
    if isinstance(curves, dict):
        return [_Line(str(data["method"]), _stored(curves), bool(data.get("oracle")))]
    if "metrics" in data and "ratios" in data:
        oracle = str(data.get("checklist", {}).get("oracle")) == "True"
        return [_Line(str(data["id"]), _stored(data["metrics"]), oracle)]
    if "per_alpha" in data:
        protocol = data.get("protocol", {})
        return [_Line(stem, _from_means(data), bool(data.get("oracle") or protocol.get("oracle")))]
    return []


def _stored(curves: Mapping[str, Any]) -> dict[str, Curve]:
    from pixelgate.stats import Curve

    return {
        metric: Curve(
            tuple(float(point["ratio"]) for point in one["points"]),
            tuple(_interval(point) for point in one["points"]),
            _interval(one["area"]),
            one.get("areas", {}),
        )
        for metric, one in curves.items()
        if one["area"] is not None
    }


def _from_means(data: Mapping[str, Any]) -> dict[str, Curve]:
    """Curves of a result that has means by ratio, with intervals beside them or without."""
    from pixelgate.stats import Curve, area_under_curve

    rows = sorted((float(name), name, means) for name, means in data["per_alpha"].items())
    ratios = tuple(ratio for ratio, _, _ in rows)
    curves = {}
    for metric in dict.fromkeys(metric for _, _, means in rows for metric in means):
        means = [row[metric] for _, _, row in rows]
        if any(mean is None for mean in means):
            continue
        bounds = data.get("intervals", {}).get(metric, {})
        points = tuple(
            _interval({"mean": mean, **bounds.get(name, {})}) for mean, (_, name, _) in zip(means, rows, strict=True)
        )
        area = _interval({"mean": area_under_curve(ratios, means), **bounds.get("area", {})})
        curves[metric] = Curve(ratios, points, area, {})
    return curves


def _interval(point: Mapping[str, Any]) -> Interval:
    from pixelgate.stats import Interval

    low, high = point.get("low"), point.get("high")
    # How the bounds were drawn is of no use to a picture.
    return Interval(float(point["mean"]), low, high, point.get("half"), int(point.get("n") or 0), 0, 0, 0.0)
