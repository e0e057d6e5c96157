"""``pixelgate flexbench evaluate``: all groups of a run, and their combined table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pixelgate.commands import flexbench_options as options
from pixelgate.commands.arguments import Commands, add_command, names
from pixelgate.commands.console import Progress, print_errors, print_json, print_lines

if TYPE_CHECKING:
    from pixelgate.flexbench.evaluated import Evaluated

_DETAILS = """\
Scores the clips in DIR against their data set and writes combined_results.csv and combined_results.json into
DIR/eval/, or DIR/seed_<N>/eval/ for each seed; what an earlier evaluation left there is replaced whole. Which groups
run follows manifest.json or the selectors; text and VBench always belong to a run. Networks are not run here: their
predictions are read from the folder predictions beside the clips.

A group in which a sample is missing or fails is in no table: its mean would not stand for all samples. Every problem is
told, and the exit status is 1. A group without references or predictions is 'not run'."""

_SELECTORS = {
    "--subject-consistency": "subject",
    "--depth": "depth",
    "--pose": "pose",
    "--inpainting": "inpainting",
    "--camera": "camera",
}


def add(actions: Commands) -> None:
    """Declare the action."""
    parser = add_command(
        actions,
        "evaluate",
        run,
        "evaluate a run: all groups of its conditions, in one table",
        details=_DETAILS,
        examples=(
            "pixelgate flexbench evaluate --generated-dir results/ltx-2/subject_depth",
            "pixelgate flexbench evaluate --generated-dir results/a --dataset-dir datasets/v0/subject_depth --depth",
        ),
    )
    options.add_places(
        parser,
        output="write here in place of DIR/eval; with seeds into seed_<N>/eval of this folder",
        dataset="the data set: the folder of captions.json and the conditions' folders",
    )
    for flag, group in _SELECTORS.items():
        parser.add_argument(
            flag,
            dest="conditions",
            action="append_const",
            const=group,
            default=[],
            help=f"evaluate the {group} group; with any of these, the manifest's conditions are not asked",
        )
    options.add_depth(parser)
    options.add_dimensions(parser)
    options.add_net(parser)
    options.add_pickle(parser)
    options.add_video(parser)
    parser.add_argument("--verbose", action="store_true", help="keep every group's own results beside the table")
    parser.add_argument("--require-all", action="store_true", help="fail where a group was not run, too")
    options.add_scoring(parser)


def run(args: argparse.Namespace) -> int:
    """Evaluate, write and show; 1 where a group failed, else 0."""
    from pixelgate.flexbench.evaluating import evaluate

    with Progress() as progress:
        progress.show(f"{args.generated_dir}: reading files", last=True)
        found = evaluate(
            args.generated_dir,
            dataset_dir=args.dataset_dir,
            conditions=args.conditions,
            seeds=options.seeds(args),
            predictions=args.predictions,
            output_dir=args.output_dir,
            allow_missing=args.allow_missing,
            allow_deviations=names(args.allow_deviation),
            allow_pickle=args.allow_pickle,
            depth_person_mask=args.depth_person_mask or "auto",
            person_mask_dilation=args.person_mask_dilation,
            vbench_dimensions=args.vbench_dimensions,
            metrics=names(args.metrics),
            lpips_net=args.lpips_net,
            shuffle_refs=args.shuffle_refs,
            show_video=args.show_video,
            verbose=args.verbose,
            device=args.device,
            weights=args.weights,
            cache=options.cache(args),
            progress=progress.scoring,
        )
    return tell(found, args, require_all=args.require_all, next_step=_next_step(found))


def tell(found: Evaluated, args: argparse.Namespace, *, require_all: bool, next_step: str = "") -> int:
    """Show an evaluation, and give the exit status: 1 where a group failed, or was not run and had to be, else 0."""
    from pixelgate.commands.flexbench_lines import fault_lines, result_lines

    if args.json:
        print_json(found.to_json())
    else:
        print_lines([*result_lines(found), *([next_step] if next_step else [])])
    print_errors(fault_lines(found, args.own_options))
    missed = require_all and bool(found.not_run)
    if missed:
        print_errors(
            f"error: {name}: not run: {group}: {why}"
            for name, reasons in found.not_run.items()
            for group, why in reasons.items()
        )
    return 1 if found.failed or missed else 0


def _next_step(found: Evaluated) -> str:
    """How to merge the seeds, where there are several."""
    if len(found.runs) < 2:
        return ""
    return f"\nmerge the seeds: pixelgate flexbench merge-seeds --generated-dir {found.generated}"
