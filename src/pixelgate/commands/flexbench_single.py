"""``pixelgate flexbench depth``, ``pose``, ``camera`` …: each group's evaluator alone."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pixelgate.commands import flexbench_options as options
from pixelgate.commands.arguments import Commands, Parser, add_command, path
from pixelgate.commands.console import Progress, print_errors
from pixelgate.commands.flexbench_evaluate import tell
from pixelgate.errors import InputError, Problem

_DETAILS = """\
Writes results.json, results.csv and details.json into DIR/eval/{group}/, or into DIR/seed_<N>/eval/{group}/
for each seed, in place of those of an earlier run. Where a sample is missing or fails, nothing is written, every
problem is told, and the exit status is 1."""


@dataclass(frozen=True)
class _Single:
    """One group's command.

    Attributes:
        summary: one line.
        dataset: what ``--dataset-dir`` may name.
        add: adds its own options.
    """

    summary: str
    dataset: str
    add: tuple[Callable[[Parser], None], ...] = ()


def add(actions: Commands) -> None:
    """Declare one action per group."""
    for group, single in _SINGLES.items():
        parser = add_command(
            actions,
            group,
            partial(run, group),
            single.summary,
            details=_DETAILS.format(group=group),
            examples=(_example(group),),
        )
        options.add_places(
            parser,
            output=f"write here in place of DIR/eval/{group}; with seeds into seed_<N> of this folder",
            dataset=single.dataset,
        )
        for more in single.add:
            more(parser)
        options.add_scoring(parser)


def run(group: str, args: argparse.Namespace) -> int:
    """Evaluate one group, write and show; 1 where it failed or was not run, else 0."""
    from pixelgate.flexbench.evaluating import evaluate_group

    given = vars(args)
    with Progress() as progress:
        progress.show(f"{args.generated_dir}: reading files", last=True)
        found = evaluate_group(
            group,
            args.generated_dir,
            dataset_dir=_dataset(args),
            choices=options.chosen(args, **_places(args)),
            seeds=options.seeds(args),
            predictions=args.predictions,
            size_dir=given.get("cond_video_dir"),
            output_dir=args.output_dir,
            show_video=given.get("show_video", False),
            cache=options.cache(args),
            progress=progress.scoring,
        )
    status = tell(found, args, require_all=True)
    print_errors(stale_lines([one.output.parent for one in found.runs if one.files and args.output_dir is None]))
    return status


def stale_lines(folders: list[Path]) -> list[str]:
    """Warnings of combined tables that hold other numbers than the groups' files that now lie beside them."""
    from pixelgate.flexbench.combined import COMBINED_CSV
    from pixelgate.flexbench.runs import read_run

    lines = []
    for folder in folders:
        if (folder / COMBINED_CSV).exists():
            try:
                read_run(folder.parent.name, folder)
            except InputError as error:
                lines += [f"warning: {problem}" for problem in error.problems]
    return lines


def _dataset(args: argparse.Namespace) -> Path | None:
    named = [place for place in (args.dataset_dir, vars(args).get("subject_dir")) if place is not None]
    if len(named) > 1:
        mend = "Give one of them."
        raise InputError(Problem("", "dataset", "--dataset-dir and --subject-dir are both given.", mend))
    return named[0] if named else None


def _places(args: argparse.Namespace) -> dict[str, Any]:
    """Predictions that lie apart, and what follows from them."""
    given = vars(args)
    masks, results = given.get("exclude_mask_dir"), given.get("results") or ()
    if masks is not None:
        if not masks.is_dir():
            raise InputError(Problem(str(masks), "exclude-mask-dir", "is no folder.", "Name the folder of the masks."))
        if args.depth_person_mask == "never":
            mend = "Leave one of them out."
            found = "--exclude-mask-dir is given, and --depth-person-mask never."
            raise InputError(Problem("", "exclude-mask-dir", found, mend))
        return {"places": {"person_masks": (masks,)}, "depth_person_mask": "always"}
    absent = [file for file in results if not file.is_file()]
    if absent:
        mend = "Name the *_eval_results.json files of a VBench run."
        raise InputError([Problem(str(file), "not-a-file", "is no file.", mend) for file in absent])
    return {"places": {"vbench": tuple(results)}} if results else {}


def _add_masks(parser: Parser) -> None:
    parser.add_argument(
        "--exclude-mask-dir",
        type=path,
        metavar="DIR",
        help="masks of people, <id>.npz, .npy or .mp4, which are left out; the same as --depth-person-mask always",
    )


def _add_sizes(parser: Parser) -> None:
    parser.add_argument(
        "--cond-video-dir",
        type=path,
        metavar="DIR",
        help="clips <id>.mp4 in the size in which the condition's keypoints were found (default: the data set's)",
    )


def _add_subject_dir(parser: Parser) -> None:
    parser.add_argument("--subject-dir", type=path, metavar="DIR", help="the subjects' pictures; as --dataset-dir")


def _add_results(parser: Parser) -> None:
    parser.add_argument(
        "--results",
        type=path,
        nargs="+",
        metavar="FILE",
        help="import these *_eval_results.json of a VBench run, in place of the folder predictions/vbench",
    )


_WHOLE = "the data set's folder"

_SINGLES = {
    "text": _Single("prompt following: ViCLIP's similarity of prompt and clip", f"{_WHOLE}, with captions.json"),
    "subject": _Single(
        "likeness of the subject: CLIP and DINO", f"{_WHOLE}, or its subject folder", (_add_subject_dir,)
    ),
    "depth": _Single(
        "depth fidelity",
        f"{_WHOLE}, or its depth folder",
        (_add_masks, options.add_depth, options.add_video),
    ),
    "pose": _Single(
        "pose fidelity",
        f"{_WHOLE}, or its pose/raw folder",
        (_add_sizes, options.add_pickle, options.add_video),
    ),
    "camera": _Single("camera-trajectory adherence", f"{_WHOLE}, or its camera folder"),
    "inpainting": _Single(
        "fidelity outside the inpainted box",
        f"{_WHOLE}, or its inpainting folder",
        (options.add_net, options.add_video),
    ),
    "vbench": _Single(
        "VBench's dimensions, from features or from a VBench run's results",
        f"{_WHOLE}, with captions.json",
        (_add_results, options.add_dimensions),
    ),
}

_FOLDERS = {"subject": "/subject", "depth": "/depth", "pose": "/pose/raw", "camera": "/camera"}


def _example(group: str) -> str:
    folder = _FOLDERS.get(group, "/inpainting" if group == "inpainting" else "")
    return f"pixelgate flexbench {group} --generated-dir results/a --dataset-dir datasets/v0{folder}"
