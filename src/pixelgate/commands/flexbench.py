"""``pixelgate flexbench``: runs of FlexBench evaluated, and their tables over seeds and over configs."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pixelgate.commands import flexbench_evaluate, flexbench_person_masks, flexbench_single
from pixelgate.commands.arguments import Commands, Parser, add_actions, add_command, add_json, path
from pixelgate.commands.console import aligned, print_errors, print_json, print_lines
from pixelgate.commands.hints_files import note_lines

if TYPE_CHECKING:
    from pixelgate.flexbench.configs import Comparison
    from pixelgate.flexbench.seeds import SeedSummary
    from pixelgate.records import Note

_SEEDS = """\
Reads seed_<N>/eval/ in DIR and writes seed_summary.csv and seed_summary.json there: "mean (std)" over the seeds'
averages, which are not rounded before, with the sample standard deviation (ddof 1), and n, the number of seeds."""

_CONFIGS = """\
Reads BASE/<config>/X/ and writes BASE/X_comparison.csv and BASE/X_comparison.json. The best of each metric is marked
with *, all of a tie, by the direction in the metric's definition."""

_ALLOW = "average over the samples that all have, where they differ (default: refuse)"


def add(commands: Commands) -> None:
    """Declare the subcommand."""
    examples = (
        "pixelgate flexbench evaluate --generated-dir results/lora-switch/subject_depth",
        "pixelgate flexbench merge-seeds --generated-dir results/lora-switch/subject_depth",
        "pixelgate flexbench merge-configs --subfolder subject_depth --configs lora-switch lora-union",
    )
    summary = "conditioned video: evaluate runs, and tables over seeds and configs"
    actions = add_actions(add_command(commands, "flexbench", None, summary, examples=examples))
    flexbench_evaluate.add(actions)
    _add_merge_seeds(actions)
    _add_merge_configs(actions)
    flexbench_single.add(actions)
    flexbench_person_masks.add(actions)


def _add_merge_seeds(actions: Commands) -> None:
    parser = add_command(
        actions,
        "merge-seeds",
        run_merge_seeds,
        "merge the seeds of a generation run into one summary",
        details=_SEEDS,
        examples=("pixelgate flexbench merge-seeds --generated-dir results/lora-switch/subject_depth",),
    )
    parser.add_argument(
        "--generated-dir", type=path, required=True, metavar="DIR", help="the folder that holds the seed_<N> folders"
    )
    _add_common(parser)


def _add_merge_configs(actions: Commands) -> None:
    parser = add_command(
        actions,
        "merge-configs",
        run_merge_configs,
        "compare configs, with the best of every metric marked",
        details=_CONFIGS,
        examples=(
            "pixelgate flexbench merge-configs --subfolder subject_depth --configs lora-switch lora-union",
            "pixelgate flexbench merge-configs --base-dir results --subfolder depth --configs a b c --allow-missing",
        ),
    )
    parser.add_argument(
        "--base-dir",
        type=path,
        default=Path(),
        metavar="BASE",
        help="the folder that holds the configs' folders (default: the current folder)",
    )
    parser.add_argument("--subfolder", required=True, metavar="X", help="the folder within each config to compare")
    parser.add_argument(
        "--configs",
        required=True,
        nargs="+",
        metavar="CONFIG",
        help="two or more folders of BASE, in the table's order",
    )
    _add_common(parser)


def _add_common(parser: Parser) -> None:
    parser.add_argument("--allow-missing", action="store_true", help=_ALLOW)
    add_json(parser)


def run_merge_seeds(args: argparse.Namespace) -> int:
    """Merge, write and show the summary, one line per metric."""
    from pixelgate.flexbench.seeds import SEED_CSV, SEED_JSON, merge_seeds, seed_data

    summary = merge_seeds(args.generated_dir, allow_missing=args.allow_missing)
    files = [args.generated_dir / name for name in (SEED_CSV, SEED_JSON)]
    _warn(summary.notes, SEED_JSON)
    if args.json:
        print_json({**seed_data(summary), "files": list(map(str, files))})
    else:
        print_lines([*_seed_lines(summary), *_written(files)])
    return 0


def run_merge_configs(args: argparse.Namespace) -> int:
    """Compare, write and show the comparison, one line per metric and one column per config."""
    from pixelgate.flexbench.configs import comparison_data, comparison_file, merge_configs

    comparison = merge_configs(args.base_dir, args.subfolder, args.configs, allow_missing=args.allow_missing)
    table = comparison_file(args.base_dir, args.subfolder)
    files = [table, table.with_suffix(".json")]
    _warn(comparison.notes, files[1].name)
    if args.json:
        print_json({**comparison_data(comparison), "files": list(map(str, files))})
    else:
        print_lines([*_config_lines(comparison), *_written(files)])
    return 0


def _seed_lines(summary: SeedSummary) -> list[str]:
    rows = [
        (column.label, column.head, averages.cell(column.decimals) or "–", str(averages.n))
        for column, averages in summary.columns.items()
    ]
    head = f"seeds: {', '.join(summary.seeds)}   samples: {len(summary.samples)}"
    return [head, *aligned([("group", "metric", "mean (std)", "n"), *_once(rows)])]


def _config_lines(comparison: Comparison) -> list[str]:
    configs = list(comparison.summaries)
    rows = [
        (column.label, column.head, *(comparison.cell(config, column) or "–" for config in configs))
        for column in comparison.columns
    ]
    counts = sorted({len(summary.samples) for summary in comparison.summaries.values() if summary.samples})
    told = " to ".join(map(str, counts[:1] + counts[1:][-1:])) or "not known"
    head = f"subfolder: {comparison.subfolder}   samples: {told}   * best"
    return [head, *aligned([("group", "metric", *configs), *_once(rows)])]


def _once(rows: Iterable[Sequence[str]]) -> list[Sequence[str]]:
    """Each group's name on its first line only."""
    shown: list[Sequence[str]] = []
    last = ""
    for group, *cells in rows:
        shown.append(("" if group == last else group, *cells))
        last = group
    return shown


def _written(files: Iterable[Path]) -> list[str]:
    return [f"written: {file}" for file in files]


def _warn(notes: Iterable[Note], file: str) -> None:
    print_errors(f"warning: {line}" for line in note_lines(notes, file))
