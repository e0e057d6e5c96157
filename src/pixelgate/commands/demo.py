"""``pixelgate demo``: the main job on the built-in track, from nothing but what is installed."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pixelgate.commands.arguments import Commands, add_command, path
from pixelgate.commands.console import Progress, print_lines
from pixelgate.errors import MissingExtra, PixelgateError

if TYPE_CHECKING:
    from pixelgate.tracks import TrackData

TRACK = "demo-pst"
_OUT = Path("demo") / "outputs"
_DETAILS = """\
Makes the track demo-pst from photographs that scikit-image ships, runs five classical methods on it, and starts
pytest on their outputs, with the options behind `--`. Nothing is downloaded but missing LPIPS weights.
The exit status is pytest's."""


def add(commands: Commands) -> None:
    """Declare the subcommand."""
    parser = add_command(
        commands,
        "demo",
        run,
        "make the demo track, run five methods on it, and score them with pytest",
        details=_DETAILS,
        examples=(
            "pixelgate demo",
            "pixelgate demo -- -n 2",
            "pixelgate demo -- --bench-metrics psnr,ssim,de00,hcorr_gt,hcorr_style",
            "pixelgate demo --no-run --out my-outputs",
        ),
    )
    parser.usage = "pixelgate demo [-h] [--out DIR] [--report DIR] [--no-run] [-- PYTEST_OPTION ...]"
    parser.add_argument(
        "--out", type=path, default=_OUT, metavar="DIR", help=f"write the outputs here (default: {_OUT.as_posix()})"
    )
    parser.add_argument(
        "--report", type=path, metavar="DIR", help="write the report here (default: report beside the outputs)"
    )
    parser.add_argument("--no-run", action="store_true", help="only write the outputs; score nothing")


def run(args: argparse.Namespace) -> int:
    """Write the outputs, and score them unless told not to."""
    from pixelgate.methods import all_methods

    report = args.report or args.out.parent / "report"
    command = [sys.executable, "-m", "pytest", f"--bench-outputs={args.out}", f"--bench-report={report}"]
    command += args.pytest_args
    with Progress() as progress:
        progress.show("looking for what the demo needs", last=True)
        _check_needs(args)
        data = _make(args.out, progress)
    methods = ", ".join(method.name for method in all_methods())
    print_lines(
        [
            f"pictures: {data.root}",
            f"outputs:  {args.out.as_posix()}/<method>/{TRACK}/<id>.png; {methods}",
            f"{'run' if args.no_run else 'running'}: {_shown(command)}",
        ]
    )
    if args.no_run:
        return 0
    sys.stdout.flush()
    status = _call(command)
    print_lines(_whereabouts(args, report, status))
    return status


def _whereabouts(args: argparse.Namespace, report: Path, status: int) -> list[str]:
    lines = ["", f"outputs:  {args.out.as_posix()}"]
    elsewhere = any(arg.startswith("--bench-report") for arg in args.pytest_args)
    # With another status pytest did not get as far as a report; one of an earlier run may lie there.
    if status in (0, 1) and not elsewhere and (report / "report.json").is_file():
        lines.append(f"report:   {report.as_posix()}  (report.json, junit.xml, {TRACK}/<method>/metrics.csv)")
    return [*lines, "your own: pytest --bench-outputs=DIR, with DIR/<method>/<track>/<id>.png"]


def _make(out: Path, progress: Progress) -> TrackData:
    from pixelgate.errors import InputError
    from pixelgate.methods import all_methods, make_outputs
    from pixelgate.tracks import load_track, locate

    data = locate(load_track(TRACK), progress=progress.making)
    if problems := data.problems():
        raise InputError(problems)
    samples = [(sample.id, sample.files["content"], sample.files["style"]) for sample in data.samples()]
    make_outputs(samples, [method.name for method in all_methods()], out, TRACK, progress.making)
    return data


def _check_needs(args: argparse.Namespace) -> None:
    """Raise one error with all that is missing, before anything is made."""
    messages, commands = missing_methods()
    if messages:
        messages += ["Get what the demo's methods need with:", *(f"  {command}" for command in commands)]
    if not args.no_run and not _chooses_metrics(args.pytest_args):
        messages += _missing_metrics()
    if messages:
        raise MissingExtra("\n".join(messages))


def missing_methods() -> tuple[list[str], list[str]]:
    """What the demo's methods lack here: the messages that say so, and the commands that get it."""
    from pixelgate.methods import all_methods

    messages: list[str] = []
    commands: dict[str, None] = {}
    for method in all_methods():
        try:
            method.check()
        except MissingExtra as error:
            messages.append(str(error))
            commands[method.install] = None
    return messages, list(commands)


def _missing_metrics() -> list[str]:
    from pixelgate.columns import Settings, bind_columns
    from pixelgate.protocols import load_protocol
    from pixelgate.tracks import load_track

    protocol = load_protocol(load_track(TRACK).protocol)
    missing: dict[str, None] = {}
    for metric in protocol.metrics:
        try:
            bind_columns(protocol, Settings((metric.id,)))
        except PixelgateError as error:
            missing.setdefault(str(error))
    return list(missing)


def _chooses_metrics(pytest_args: Sequence[str]) -> bool:
    # What such a run needs is pytest's to find out.
    return any(arg.startswith(("--bench-metrics", "--bench-weights")) for arg in pytest_args)


def _shown(command: Sequence[str]) -> str:
    return shlex.join(["python", *command[1:]])


def _call(command: Sequence[str]) -> int:
    interrupted = False
    with subprocess.Popen(command) as process:
        while True:
            try:
                status = process.wait()
                break
            except KeyboardInterrupt:
                # pytest got it too: it sums up what was scored, and then ends by itself.
                interrupted = True
    if interrupted:
        raise KeyboardInterrupt
    return status
