"""``pixelgate hints``: make hints, score curves over the hint ratio, draw them, and a demo of it all."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pixelgate.commands import hints_curve, hints_demo, hints_plot
from pixelgate.commands.arguments import Commands, Parser, add_actions, add_command, add_json, path, whole
from pixelgate.commands.console import Progress, aligned, print_errors, print_json, print_lines
from pixelgate.commands.hints_files import check_target, note_lines
from pixelgate.errors import InputError, Problem

if TYPE_CHECKING:
    from pixelgate.hints import Hints

# The words of `pixelgate.hints`, which is not imported before it is needed.
KINDS = ("scribble", "dot")
SEGMENTERS = ("felzenszwalb", "slic", "quickshift")
PATH_METHODS = ("geodesic", "filfinder")
DOT_METHODS = ("medoid", "mean", "nearest_mean")
TIE_BREAKS = ("stable", "default")
ORDERS = ("size", "label")
SIZE = 64

_PERCENT = re.compile(r"(\d+\.?\d*|\.\d+)%")
_GENERATE = """\
STEM is a folder and the beginning of the names: STEM_region64.png, STEM_scribble_mask64.png, STEM_scribble_col64.png,
STEM_flatten_img64.png, STEM_dot_mask64.png, STEM_dot_col64.png, and STEM_hints64.png, which shows regions, scribbles
and dots over the image. With --ratio also STEM_scribble_col64_r10.png and STEM_scribble_mask64_r10.png."""


def add(commands: Commands) -> None:
    """Declare the subcommand."""
    examples = (
        "pixelgate hints generate photo.png -o out/photo --ratio 0.10",
        "pixelgate hints curve pred gt --json result.json --plot curve.png",
        "pixelgate hints demo",
    )
    summary = "colour hints and Hint-AUC: make hints, score outputs over the hint ratio, draw curves"
    actions = add_actions(add_command(commands, "hints", None, summary, examples=examples))
    _add_generate(actions)
    hints_curve.add(actions)
    hints_plot.add(actions)
    hints_demo.add(actions)


def _add_generate(actions: Commands) -> None:
    parser = add_command(
        actions,
        "generate",
        run_generate,
        "make the hints of an image: regions, scribbles and dots",
        details=_GENERATE,
        examples=(
            "pixelgate hints generate photo.png -o out/photo",
            "pixelgate hints generate photo.png -o out/photo --ratio 0.05 0.10 25% --type dot",
        ),
    )
    parser.add_argument("image", type=path, metavar="IMAGE", help="the picture, of any kind that is read")
    parser.add_argument(
        "-o", "--output", required=True, metavar="STEM", help="folder and beginning of the files' names"
    )
    parser.add_argument(
        "--ratio",
        type=ratio,
        nargs="+",
        action="extend",
        default=[],
        metavar="R",
        help="write the hints that a ratio keeps too: 0 to 1, or per cent as in 10%%",
    )
    parser.add_argument(
        "--type", dest="kind", choices=KINDS, default=KINDS[0], help="hints of --ratio: scribble (default) or dot"
    )
    _add_making(parser)
    add_json(parser)


def _add_making(parser: Parser) -> None:
    parser.add_argument("--size", type=whole(1), default=SIZE, metavar="S", help="side of the maps (default: 64)")
    parser.add_argument(
        "--segmenter", choices=SEGMENTERS, default=SEGMENTERS[0], help="what makes the regions (default: felzenszwalb)"
    )
    parser.add_argument(
        "--region-map",
        type=path,
        metavar="FILE",
        help="a picture whose colours are the regions, in place of a segmenter",
    )
    parser.add_argument(
        "--path-method", choices=PATH_METHODS, default=PATH_METHODS[0], help="longest path (default: geodesic)"
    )
    parser.add_argument(
        "--dot-method", choices=DOT_METHODS, default=DOT_METHODS[0], help="place of the dot (default: medoid)"
    )
    parser.add_argument(
        "--tie-break", choices=TIE_BREAKS, default=TIE_BREAKS[0], help="order of equal areas (default: stable)"
    )
    parser.add_argument(
        "--order", choices=ORDERS, default=ORDERS[0], help="which regions keep their hints first (default: size)"
    )


def ratio(text: str) -> float:
    """A ratio from 0 to 1, or per cent with its sign; a bare number above 1 could be either and is refused."""
    percent = _PERCENT.fullmatch(text)
    try:
        value = float(percent[1]) / 100 if percent else float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"wanted a ratio from 0 to 1, or per cent such as 10%; got {text!r}")
    return value


def run_generate(args: argparse.Namespace) -> int:
    """Make the hints, write the maps and the picture, and say what there is and what is not."""
    from pixelgate.hints import generate_hints, hint_picture, save_maps
    from pixelgate.io.write import write_png

    stem = _stem(args.output)
    picture = stem.with_name(f"{stem.name}_hints{args.size}.png")
    check_target(picture, "-o")
    with Progress() as progress:
        progress.show(f"{args.image}: making hints", last=True)
        hints = generate_hints(
            args.image,
            args.size,
            segmenter=args.segmenter,
            region_map=args.region_map,
            path_method=args.path_method,
            dot_method=args.dot_method,
            order=args.order,
            tie_break=args.tie_break,
        )
    written = save_maps(hints, stem, ratios=dict.fromkeys(args.ratio), kinds=(args.kind,))
    write_png(picture, hint_picture(args.image, hints))
    found = _found(args, hints)
    print_errors(f"warning: {line}" for line in [*note_lines(hints.notes, "--json"), *_bare(args, hints)])
    if args.json:
        print_json({**found, "files": [str(file) for file in written], "picture": str(picture)})
    else:
        print_lines([*_lines(found), *(f"written: {file}" for file in written), f"picture: {picture}"])
    return 0


def _stem(text: str) -> Path:
    stem = Path(text).expanduser()
    if not text or text.endswith(("/", os.sep)) or not stem.name or stem.is_dir():
        found = "is a folder." if text else "it is empty."
        mend = "Give a folder and the beginning of the files' names, such as -o out/photo."
        raise InputError(Problem(text, "stem", found, mend))
    return stem


def _found(args: argparse.Namespace, hints: Hints) -> dict[str, Any]:
    from pixelgate.hints import PAPER_GRID

    return {
        "image": str(args.image),
        "size": hints.size,
        **hints.counts(),
        "ratios_without_hints": {kind: list(hints.empty_ratios(PAPER_GRID, kind)) for kind in KINDS},
        "kept": [
            {"ratio": one, "type": args.kind, "regions": hints.kept(one), "pixels": _pixels(hints, one, args.kind)}
            for one in dict.fromkeys(args.ratio)
        ],
        "settings": {**dict(hints.settings), "order": hints.order, "tie_break": hints.tie_break},
        "notes": [{"subject": note.subject, "rule": note.rule, "message": note.message} for note in hints.notes],
    }


def _pixels(hints: Hints, one: float, kind: str) -> int:
    return int((hints.at_ratio(one, kind)[1] > 0).sum())


def _bare(args: argparse.Namespace, hints: Hints) -> list[str]:
    asked = hints.empty_ratios(dict.fromkeys(args.ratio), args.kind)
    return [
        f"{args.image}: ratio {one:g} keeps no {args.kind}: {hints.kept(one)} of {hints.n_regions} regions [no-hints]"
        for one in asked
    ]


def _lines(found: dict[str, Any]) -> list[str]:
    rows = [
        ("image", found["image"]),
        ("regions", f"{found['regions']} on a map of {found['size']} x {found['size']} pixels"),
        ("failed regions", f"{found['failed_regions']}, in which no path was found"),
        ("scribbles", f"{found['scribble_pixels']} pixels, {found['regions_without_scribble']} regions without"),
        ("dots", f"{found['dots']}, {found['regions_without_dot']} regions without"),
        *(
            (f"no {kind} left at", f"{_ratios(empty)} (of the paper's ratios)")
            for kind, empty in found["ratios_without_hints"].items()
        ),
        *(
            (f"ratio {one['ratio']:g}", f"{one['regions']} regions keep theirs: {one['pixels']} {one['type']} pixels")
            for one in found["kept"]
        ),
    ]
    return aligned([(f"{name}:", text) for name, text in rows])


def _ratios(empty: Sequence[float]) -> str:
    return ", ".join(f"{one:g}" for one in empty) or "none"
