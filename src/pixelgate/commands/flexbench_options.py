"""Options that `pixelgate flexbench evaluate` and the commands of the single evaluators share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pixelgate.commands.arguments import Parser, add_json, names, own_options, path, whole

if TYPE_CHECKING:
    from pixelgate.flexbench.choices import Choices

_PERSON_MASKS = ("auto", "always", "never")
_NETS = ("alex", "vgg", "squeeze")


def add_places(parser: Parser, *, output: str, dataset: str) -> None:
    """Add the options that name folders.

    Args:
        parser: where they are added.
        output: help of ``--output-dir``.
        dataset: help of ``--dataset-dir``.
    """
    parser.add_argument(
        "--generated-dir",
        type=path,
        required=True,
        metavar="DIR",
        help="the generated clips: <id>.mp4, or seed_<N>/<id>.mp4, with manifest.json if there is one",
    )
    parser.add_argument("--dataset-dir", type=path, metavar="DIR", help=f"{dataset} (default: as manifest.json says)")
    parser.add_argument(
        "--predictions",
        type=path,
        metavar="DIR",
        help="the networks' predictions: DIR/<kind>/<id>.npz (default: the folder predictions beside the clips)",
    )
    parser.add_argument("--output-dir", type=path, metavar="DIR", help=output)
    parser.add_argument(
        "--seed",
        type=whole(0),
        action="append",
        nargs="+",
        metavar="N",
        help="evaluate these seeds only; may be repeated",
    )


def add_scoring(parser: Parser) -> None:
    """Add what every group takes."""
    parser.add_argument(
        "--metrics",
        action="append",
        default=[],
        metavar="IDS",
        help="compute these metrics only, comma-separated, e.g. depth_mae; may be repeated",
    )
    parser.add_argument(
        "--allow-missing",
        action="store_true",
        help="average over the samples that are there; a recorded deviation, and the table gets every n",
    )
    parser.add_argument(
        "--allow-deviation",
        action="append",
        default=[],
        metavar="RULE",
        help="let faults of this rule pass, e.g. frame-rate; they stay recorded; may be repeated",
    )
    parser.add_argument(
        "--shuffle-refs",
        action="store_true",
        help="hold each clip against the next sample's reference: a chance level, no result",
    )
    parser.add_argument("--device", default="cpu", help="device of learned metrics: cpu, cuda or cuda:N (default: cpu)")
    parser.add_argument("--weights", metavar="PATH", help="file or folder with network weights, before other sources")
    store = parser.add_mutually_exclusive_group()
    store.add_argument(
        "--cache",
        type=path,
        metavar="DIR",
        help="folder of the score cache (default: $PIXELGATE_CACHE or the user's cache folder)",
    )
    store.add_argument("--no-cache", action="store_true", help="compute everything anew and keep nothing")
    add_json(parser)
    own_options(
        parser,
        {
            "data": "--dataset-dir",
            **{
                key: f"--{key}"
                for key in ("predictions", "metrics", "allow-missing", "allow-deviation", "allow-pickle")
            },
            **{key: f"--{key}" for key in ("device", "weights", "cache", "no-cache", "vbench-dimensions")},
        },
    )


def add_video(parser: Parser) -> None:
    """Add ``--show-video``."""
    parser.add_argument(
        "--show-video",
        action="store_true",
        help="write side-by-side clips of depth, pose and inpainting, each with a contact sheet, into show_video/",
    )


def add_depth(parser: Parser) -> None:
    """Add the options of the depth group."""
    parser.add_argument(
        "--depth-person-mask",
        choices=_PERSON_MASKS,
        help="leave people out of the depth scores: auto (where depth and pose are conditions), always or never",
    )
    parser.add_argument(
        "--person-mask-dilation",
        type=_part,
        metavar="X",
        help="dilate people's masks by this part of the shorter side (default: the protocol's 0.02)",
    )


def add_pickle(parser: Parser) -> None:
    """Add ``--allow-pickle``."""
    parser.add_argument(
        "--allow-pickle",
        action="store_true",
        help="read keypoints from pickled arrays too, through a restricted reader",
    )


def add_net(parser: Parser) -> None:
    """Add ``--lpips-net``."""
    parser.add_argument("--lpips-net", choices=_NETS, default="alex", help="network of LPIPS (default: alex)")


def add_dimensions(parser: Parser) -> None:
    """Add ``--vbench-dimensions``."""
    parser.add_argument(
        "--vbench-dimensions",
        action="append",
        default=[],
        metavar='"D1 D2"',
        help="score these VBench dimensions only, e.g. subject_consistency; may be repeated",
    )


def chosen(args: argparse.Namespace, **more: Any) -> Choices:
    """What the options chose; those that a command lacks keep their defaults.

    Args:
        args: the parsed arguments.
        more: further fields of `Choices`, before those.
    """
    from pixelgate.flexbench.choices import Choices

    given = vars(args)
    fields: dict[str, Any] = {
        "metrics": names(args.metrics),
        "vbench_dimensions": tuple(given.get("vbench_dimensions", ())),
        "depth_person_mask": given.get("depth_person_mask") or "auto",
        "person_mask_dilation": given.get("person_mask_dilation"),
        "lpips_net": given.get("lpips_net", "alex"),
        "allow_pickle": given.get("allow_pickle", False),
        "allow_missing": args.allow_missing,
        "allow_deviations": names(args.allow_deviation),
        "shuffle_refs": args.shuffle_refs,
        "device": args.device,
        "weights": args.weights,
    }
    return Choices(**{**fields, **more})


def seeds(args: argparse.Namespace) -> tuple[int, ...] | None:
    """The seeds that were named, each once; None for all."""
    return tuple(dict.fromkeys(seed for some in args.seed for seed in some)) if args.seed else None


def cache(args: argparse.Namespace) -> Any:
    """What `pixelgate.flexbench.evaluate` takes as its cache."""
    return False if args.no_cache else args.cache or True


def _part(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"wanted a number from 0 to 1; got {text!r}")
    return value
