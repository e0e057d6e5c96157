"""``pixelgate flexbench person-masks``: the masks of persons that depth leaves out, and how they look."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from pixelgate.commands.arguments import Commands, add_command, add_json, path
from pixelgate.commands.console import Progress, aligned, print_errors, print_json, print_lines
from pixelgate.commands.hints_files import note_lines
from pixelgate.errors import InputError

if TYPE_CHECKING:
    from pixelgate.flexbench.person_masks import MasksWritten

_DETAILS = """\
Reads the masks of all persons of each clip, <id>.npz (masks, persons x frames x height x width, or mask, frames x
height x width), .npy or a video that is white where masked. Merges them per frame, fills enclosed holes, widens the
result by a disc, and writes <id>.npz (mask), <id>.json (areas after each step, frames without a person, sources) and
videos. Scoring depth needs none of it: it takes the masks of each person and does the same. A tool that is given these
files must not fill and widen them once more."""


def add(actions: Commands) -> None:
    """Declare the action."""
    parser = add_command(
        actions,
        "person-masks",
        run,
        "merge, fill and widen the masks of persons",
        details=_DETAILS,
        examples=(
            "pixelgate flexbench person-masks --instances sam3/ --output-dir eval/depth_person_masks",
            "pixelgate flexbench person-masks --instances sam3/ --output-dir masks --save-video --generated-dir clips",
        ),
    )
    parser.add_argument(
        "--instances", type=path, required=True, metavar="DIR", help="folder with masks, one file a clip"
    )
    parser.add_argument("--output-dir", type=path, required=True, metavar="DIR", help="folder to write into")
    parser.add_argument(
        "--person-mask-dilation",
        type=_share,
        default=0.02,
        metavar="SHARE",
        help="radius as a share of the shorter side; 0 for none (default: 0.02)",
    )
    parser.add_argument("--no-fill-holes", action="store_true", help="leave enclosed holes open")
    parser.add_argument("--save-video", action="store_true", help="write videos too, into DIR/video/")
    parser.add_argument(
        "--generated-dir", type=path, metavar="DIR", help="folder with the clips, for videos with the mask over them"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Process, write and show one line per clip; clips with a problem are told at the end."""
    from pixelgate.flexbench.person_masks import MaskSettings, write_person_masks

    settings = MaskSettings(args.person_mask_dilation, not args.no_fill_holes, args.save_video)
    with Progress() as progress:
        done = write_person_masks(
            args.instances,
            args.output_dir,
            settings,
            generated=args.generated_dir,
            progress=lambda count, total, name: progress.show(f"{count} of {total} clips, {name}", last=count == total),
        )
    print_errors(f"warning: {line}" for line in note_lines(done.notes, "what --json prints"))
    if args.json:
        print_json(_data(done))
    elif done.clips:
        print_lines(_lines(done, str(args.output_dir)))
    if done.problems:
        raise InputError(done.problems)
    return 0


def _lines(done: MasksWritten, folder: str) -> list[str]:
    rows = [("clip", "frames", "without person", "masked", "radius")]
    for clip in done.clips:
        found = clip.diagnostics
        masked = sum(found["fraction"]) / len(found["fraction"])
        empty = len(found["frames_without_person"])
        rows.append((clip.sample, str(found["frames"]), str(empty), f"{masked:.1%}", str(found["radius"])))
    files = sum(len(clip.files) for clip in done.clips)
    return [*aligned(rows), f"written: {files} files in {folder}"]


def _data(done: MasksWritten) -> dict[str, object]:
    return {
        "clips": {clip.sample: {**clip.diagnostics, "files": list(map(str, clip.files))} for clip in done.clips},
        "problems": [
            {"file": problem.file, "rule": problem.rule, "found": problem.found, "mend": problem.mend}
            for problem in done.problems
        ],
        "notes": [{"subject": note.subject, "rule": note.rule, "message": note.message} for note in done.notes],
    }


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"wanted a number of 0 or more, such as 0.02; got {text!r}")
    return value
