"""``pixelgate cache``: what the score cache holds, and taking entries out of it."""

from __future__ import annotations

import argparse
import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pixelgate.commands.arguments import Commands, Parser, add_actions, add_command, add_json, days, own_options, path
from pixelgate.commands.console import print_json, print_lines, size_text
from pixelgate.errors import PixelgateError

if TYPE_CHECKING:
    from pixelgate.cache import CacheInfo, ScoreCache

_DAYS = 30.0


def add(commands: Commands) -> None:
    """Declare the subcommand."""
    examples = ("pixelgate cache info", "pixelgate cache prune --older-than 90", "pixelgate cache prune --all")
    parser = add_command(commands, "cache", None, "look into the score cache, or prune it", examples=examples)
    actions = add_actions(parser)
    info = add_command(actions, "info", run_info, "show where the cache is and what it holds", examples=examples[:1])
    _add_common(info)
    prune = add_command(
        actions,
        "prune",
        run_prune,
        "delete scores that were not used for a while",
        details="Scores are only computed again; result files and golden numbers are not touched.",
        examples=examples[1:],
    )
    which = prune.add_mutually_exclusive_group()
    which.add_argument(
        "--older-than",
        type=days,
        default=_DAYS,
        metavar="DAYS",
        help=f"delete what was last used longer ago than that (default: {_DAYS:g})",
    )
    which.add_argument("--all", action="store_true", help="delete everything")
    _add_common(prune)


def _add_common(parser: Parser) -> None:
    parser.add_argument(
        "--cache", type=path, metavar="DIR", help="the cache's folder (default: $PIXELGATE_CACHE or the user's)"
    )
    add_json(parser)
    own_options(parser, {"cache": "--cache"})


def run_info(args: argparse.Namespace) -> int:
    """Print where the cache is and what it holds."""
    folder = _folder(args)
    info = read_info(folder)
    if args.json:
        print_json({"folder": str(folder), "entries": info.entries, "bytes": info.size})
        return 0
    print_lines([f"folder:   {folder}", f"scores:   {info.entries}", f"size:     {size_text(info.size)}"])
    return 0


def run_prune(args: argparse.Namespace) -> int:
    """Delete entries and print how many."""
    folder = _folder(args)
    deleted = 0
    if folder.is_dir():
        with _opened(folder) as cache:
            # No entry is newer than the end of time, whatever this machine's clock said when it was written.
            deleted = cache.prune(-math.inf if args.all else args.older_than)
    left = read_info(folder)
    if args.json:
        print_json({"folder": str(folder), "deleted": deleted, "entries": left.entries, "bytes": left.size})
        return 0
    print_lines([f"{deleted} scores deleted, {left.entries} left ({size_text(left.size)}) in {folder}"])
    return 0


def read_info(folder: Path) -> CacheInfo:
    """What a cache holds; a folder that does not exist is not made for this.

    Raises:
        PixelgateError: the cache cannot be read.
    """
    from pixelgate.cache import CacheInfo

    if not folder.is_dir():
        return CacheInfo(folder, 0, 0)
    with _opened(folder) as cache:
        return cache.info()


@contextmanager
def _opened(folder: Path) -> Iterator[ScoreCache]:
    from pixelgate.cache import ScoreCache

    try:
        with closing(ScoreCache(folder)) as cache:
            yield cache
    except sqlite3.Error as error:
        mend = "Wait for other runs to end and try again, or delete the file."
        raise PixelgateError(f"{folder}: the score cache cannot be used: {error} [score-cache] {mend}") from None


def _folder(args: argparse.Namespace) -> Path:
    from pixelgate.cache import default_cache_folder

    folder: Path = args.cache or default_cache_folder()
    return folder
