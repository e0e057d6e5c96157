"""The ``pixelgate`` command. Its subcommands are the modules of `pixelgate.commands`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from pixelgate import __version__
from pixelgate.commands import cache, data, demo, doctor, flexbench, hints, metrics, protocols, score, tracks, weights
from pixelgate.commands.arguments import Parser
from pixelgate.commands.console import error_lines, print_errors
from pixelgate.errors import PixelgateError

_DESCRIPTION = """\
Gate image and video generators on numbers: score folders of outputs under fixed, published protocols.

The main job is a pytest run:  pytest --bench-outputs=DIR
A first look, with nothing of your own:  pixelgate demo"""

_EPILOG = """\
exit status: 0 done; 1 a check did not hold (doctor, verify, demo) or a mean is missing (score);
2 an error, told on stderr; 130 interrupted

examples:
  pixelgate doctor
  pixelgate demo -- -n 2
  pixelgate score --track pst50-paired --outputs path/to/outputs --name my-method
  pixelgate score --help"""


def build_parser() -> Parser:
    """The parser of the whole command."""
    parser = Parser(prog="pixelgate", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"pixelgate {__version__}")
    parser.set_defaults(own_options={})
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for module in (score, demo, hints, flexbench, data, weights, tracks, protocols, metrics, cache, doctor):
        module.add(commands)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: the arguments; None takes the process's.

    Returns:
        The exit status: 0 done, 1 a check did not hold, 2 an error (told on stderr as ``error: …``), 130 interrupted.
    """
    _print_anything()
    parser = build_parser()
    try:
        args = _parse(parser, sys.argv[1:] if argv is None else argv)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 2
    if not hasattr(args, "run"):
        parser.print_help(sys.stderr)
        return 2
    return _run(args)


def _parse(parser: Parser, argv: Sequence[str]) -> argparse.Namespace:
    # All behind `--` is pytest's. It is cut off here: argparse's own rules for it differ between Python versions.
    ours, rest = list(argv), []
    if (ours[:1] == ["demo"] or ours[:2] == ["hints", "demo"]) and "--" in ours:
        cut = ours.index("--")
        ours, rest = ours[:cut], ours[cut + 1 :]
    args = parser.parse_args(ours)
    args.pytest_args = rest
    return args


def _run(args: argparse.Namespace) -> int:
    try:
        status = int(args.run(args))
        sys.stdout.flush()
        return status
    except PixelgateError as error:
        print_errors(error_lines(error, args.own_options))
    except BrokenPipeError:
        # The reader has gone, as `head` does; nothing may be written at the end of the process either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print_errors([f"error: {error.filename or 'the system'}: {error.strerror or error}"])
    except KeyboardInterrupt:
        print_errors(["error: interrupted"])
        return 130
    return 2


def _print_anything() -> None:
    """A stream whose encoding lacks a character (±, ↑, a file's name) prints an escape, and does not fail."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    raise SystemExit(main())
