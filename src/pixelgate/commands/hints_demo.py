"""``pixelgate hints demo``: the demo track ``demo-hints``, three methods' outputs, and pytest on them."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pixelgate.commands import demo
from pixelgate.commands.arguments import Commands, add_command, add_json, path
from pixelgate.commands.console import Progress, print_errors, print_json, print_lines
from pixelgate.errors import InputError

_OUT = Path("hints-demo") / "outputs"
_STDERR = 2
_DETAILS = """\
Draws an illustration and its line art, runs three small colourisers on it at every hint ratio, and starts pytest on
their outputs, with the options behind `--`. Nothing is downloaded, and every machine gets the same pictures. The exit
status is pytest's."""


def add(commands: Commands) -> None:
    """Declare the action."""
    parser = add_command(
        commands,
        "demo",
        run,
        "make the demo track demo-hints, run three methods on it, and score them with pytest",
        details=_DETAILS,
        examples=(
            "pixelgate hints demo",
            "pixelgate hints demo --out my-outputs -- -n 2",
            "pixelgate hints demo --json",
        ),
    )
    parser.usage = "pixelgate hints demo [-h] [--out DIR] [--report DIR] [--no-run] [--json] [-- PYTEST_OPTION ...]"
    parser.add_argument(
        "--out", type=path, default=_OUT, metavar="DIR", help=f"write the outputs here (default: {_OUT.as_posix()})"
    )
    parser.add_argument(
        "--report", type=path, metavar="DIR", help="write the report here (default: report beside the outputs)"
    )
    parser.add_argument("--no-run", action="store_true", help="only write the outputs; score nothing")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Write the outputs, and score them unless told not to."""
    from pixelgate.colorizer.demo import METHODS, TRACK

    report = args.report or args.out.parent / "report"
    command = [sys.executable, "-m", "pytest", f"--bench-outputs={args.out}", f"--bench-track={TRACK}"]
    command += [f"--bench-report={report}", *args.pytest_args]
    with Progress() as progress:
        root = _make(args.out, progress)
    tell = print_errors if args.json else print_lines
    methods = ", ".join(method.name for method in METHODS)
    tell(
        [
            f"pictures: {root}",
            f"outputs:  {args.out.as_posix()}/<method>/{TRACK}/<ratio>/<id>.png; {methods}",
            f"{'run' if args.no_run else 'running'}: {demo._shown(command)}",
        ]
    )
    file = None if args.no_run else report / "report.json"
    before = _stamp(file)
    status = 0 if args.no_run else _call(command, args.json)
    fresh = file if file is not None and _stamp(file) not in (None, before) else None
    if args.json:
        print_json({"outputs": str(args.out), "exit_status": status, **_results(fresh)})
    elif not args.no_run:
        print_lines(_whereabouts(args.out, fresh))
    return status


def _make(out: Path, progress: Progress) -> Path:
    from pixelgate.colorizer.demo import TRACK, make_outputs
    from pixelgate.tracks import load_track, locate

    data = locate(load_track(TRACK), progress=progress.making)
    if problems := data.problems():
        raise InputError(problems)
    make_outputs(out, data.root, progress=progress.making)
    return data.root


def _call(command: Sequence[str], quiet: bool) -> int:
    sys.stdout.flush()
    if not quiet:
        return demo._call(command)
    # stdout is for the JSON alone.
    return subprocess.run(command, stdout=_STDERR, check=False).returncode


def _stamp(file: Path | None) -> int | None:
    # A report of an earlier run must not be taken for this one's.
    return file.stat().st_mtime_ns if file is not None and file.is_file() else None


def _results(report: Path | None) -> dict[str, Any]:
    if report is None:
        return {"report": None, "hint_auc": {}}
    curves = json.loads(report.read_text(encoding="utf-8"))["curves"]
    areas = {
        curve["method"]: {metric: one["area"] and one["area"]["mean"] for metric, one in curve["metrics"].items()}
        for curve in curves
    }
    return {"report": str(report), "hint_auc": areas}


def _whereabouts(out: Path, report: Path | None) -> list[str]:
    lines = ["", f"outputs:  {out.as_posix()}"]
    if report is not None:
        lines.append(f"report:   {report.as_posix()}  (and, per method, per_ratio_summary.csv, areas.csv, curve.json)")
        lines.append(f"plot:     pixelgate hints plot {report.as_posix()} -o curves.png")
    return [*lines, "your own: pytest --bench-outputs=DIR, with DIR/<method>/<track>/<ratio>/<id>.png"]
