"""Help, usage, and what the command loads before it knows what to do."""

from __future__ import annotations

import argparse
import subprocess
import sys

import pytest

from pixelgate import __version__
from pixelgate.cli import build_parser
from pixelgate.clips.evaluator import GROUPS

HEAVY = ("torch", "lpips", "torchvision", "pandas", "numba", "skimage", "scipy", "huggingface_hub")
COMMANDS = (
    "score",
    "demo",
    "hints",
    "flexbench",
    "data",
    "weights",
    "tracks",
    "protocols",
    "metrics",
    "cache",
    "doctor",
)


def parsers(parser, path=()):
    """Every subcommand's parser by what is typed."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, own in action.choices.items():
                yield (*path, name), own
                yield from parsers(own, (*path, name))


ALL = dict(parsers(build_parser()))
LEAVES = {path: parser for path, parser in ALL.items() if not dict(parsers(parser))}


def test_the_commands_are_the_documented_ones():
    assert tuple(path[0] for path in ALL if len(path) == 1) == COMMANDS
    assert {path for path in ALL if len(path) == 2} == {
        *(("data", action) for action in ("fetch", "list", "verify")),
        *(("weights", action) for action in ("list", "fetch", "verify")),
        *(("cache", action) for action in ("info", "prune")),
        *(("hints", action) for action in ("generate", "curve", "plot", "demo")),
        *(("flexbench", action) for action in ("evaluate", "merge-seeds", "merge-configs", "person-masks", *GROUPS)),
    }


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_has_help_with_an_example_and_a_line_for_each_option(path, pixelgate):
    done = pixelgate(*path, "--help")
    assert (done.status, done.err) == (0, "")
    assert "examples:\n  pixelgate " + " ".join(path) in done.out
    for action in ALL[path]._actions:
        if not isinstance(action, argparse._SubParsersAction):
            assert action.help, action
            assert "\n" not in action.help
    assert max(map(len, done.out.splitlines())) <= 120


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_examples_are_command_lines_that_parse(path):
    examples = [line.strip() for line in LEAVES[path].epilog.splitlines()[1:]]
    assert examples
    for example in examples:
        words = example.split(" -- ")[0].split()
        assert words[0] == "pixelgate"
        assert callable(build_parser().parse_args(words[1:]).run), example


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_but_demo_can_answer_in_json(path):
    assert ("--json" in LEAVES[path]._option_string_actions) == (path != ("demo",))


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["score", "--help"], ["nonsense"]], ids=str)
def test_nothing_heavy_is_loaded(arguments):
    code = (
        "import sys; from pixelgate.cli import main; main(sys.argv[1:]);"
        f"sys.stderr.write('loaded: ' + ' '.join(name for name in {HEAVY!r} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60)
    assert done.stderr.splitlines()[-1].strip() == "loaded:"


def test_the_list_of_commands_keeps_each_on_its_line(pixelgate):
    lines = pixelgate("--help").out.splitlines()
    for name in COMMANDS:
        assert any(line.startswith(f"    {name} ") for line in lines), name


def test_version(pixelgate):
    assert pixelgate("--version").out == f"pixelgate {__version__}\n"


@pytest.mark.parametrize("arguments", [(), ("data",), ("weights",), ("cache",), ("hints",), ("flexbench",)], ids=str)
def test_an_incomplete_command_shows_its_help(arguments, pixelgate):
    done = pixelgate(*arguments)
    assert (done.status, done.out) == (2, "")
    assert "examples:" in done.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nonsense",), "invalid choice: 'nonsense'"),
        (("score", "--outputs", "x"), "the following arguments are required: --track"),
        (("score", "--track", "t", "--outputs", "x", "--seed", "-1"), "--seed"),
        (("score", "--track", "t", "--outputs", "x", "--resamples", "0"), "at least 1; got '0'"),
        (("score", "--track", "t", "--outputs", "x", "--cache", "c", "--no-cache"), "not allowed with"),
        (("score", "--track", "t", "--out", "x"), "--outputs"),
        (("score", "--track", "t", "--outputs", ""), "it is empty"),
        (("cache", "prune", "--older-than", "nan"), "number of days, 0 or more; got 'nan'"),
        (("tracks", "one", "two"), "unrecognized arguments: two"),
        (("demo", "-n", "2"), "unrecognized arguments: -n 2"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_usage_errors_are_told_like_all_others(arguments, told, pixelgate):
    done = pixelgate(*arguments)
    assert (done.status, done.out) == (2, "")
    errors = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert told in errors[0]
    assert errors[-1].startswith("error: see: pixelgate ")
