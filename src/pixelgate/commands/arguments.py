"""Declaring subcommands and the options that several of them share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
"""Where subcommands are added."""

Run = Callable[[argparse.Namespace], int]
"""Does a subcommand's work and returns the exit status."""


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps a subcommand's name and its help on one line."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26)

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if action.nargs == argparse.PARSER:
            # Before Python 3.12 the width of the first column leaves out that subcommands are indented.
            self._action_max_length += 2


class Parser(argparse.ArgumentParser):
    """An argument parser that takes whole option names only, and tells a mistake as every other error is told."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("allow_abbrev", False)
        options.setdefault("formatter_class", _Formatter)
        super().__init__(**options)

    def error(self, message: str) -> NoReturn:
        """Print the usage and the mistake on stderr, and leave with status 2."""
        self.print_usage(sys.stderr)
        self.exit(2, f"error: {message}\nerror: see: {self.prog} --help\n")


def add_command(
    commands: Commands, name: str, run: Run | None, summary: str, *, details: str = "", examples: tuple[str, ...]
) -> Parser:
    """Declare a subcommand.

    Args:
        commands: where it is added.
        name: what is typed.
        run: what it does; None for a command that only has subcommands of its own, and then prints its help.
        summary: one line for the list of commands.
        details: more for its own help.
        examples: command lines that are shown below the options.
    """
    epilog = "\n".join(["examples:", *(f"  {example}" for example in examples)])
    text = f"{summary[0].upper()}{summary[1:]}.\n{details and chr(10)}{details}"
    parser = commands.add_parser(name, help=summary, description=text.rstrip(), epilog=epilog)
    parser.set_defaults(run=run or _helper(parser))
    return parser


def add_actions(parser: Parser) -> Commands:
    """Give a subcommand subcommands of its own; without one of them its help is shown."""
    return parser.add_subparsers(title="actions", metavar="ACTION")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON alone on stdout, for scripts")


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add ``--data``."""
    parser.add_argument(
        "--data",
        type=path,
        action="append",
        default=[],
        metavar="DIR",
        help="folder with a track's data or a track.yaml; may be repeated",
    )


def own_options(parser: argparse.ArgumentParser, options: Mapping[str, str]) -> None:
    """Say what pytest's ``--bench-<name>`` is called in this command, so that errors name the option to use here."""
    parser.set_defaults(own_options=dict(options))


def path(text: str) -> Path:
    """A path; ``~`` is the home folder."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty; name a file or folder")
    return Path(text).expanduser()


def whole(least: int) -> Callable[[str], int]:
    """A reader of whole numbers of at least ``least``."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"wanted a whole number of at least {least}; got {text!r}")
        return int(text)

    return read


def days(text: str) -> float:
    """A number of days, 0 or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"wanted a number of days, 0 or more; got {text!r}")
    return value


def names(texts: list[str]) -> tuple[str, ...]:
    """The names in comma-separated lists, each once, in their order."""
    parts = (name.strip() for text in texts for name in text.split(","))
    return tuple(dict.fromkeys(name for name in parts if name))


def _helper(parser: Parser) -> Run:
    def show(args: argparse.Namespace) -> int:
        parser.print_help(sys.stderr)
        return 2

    return show
