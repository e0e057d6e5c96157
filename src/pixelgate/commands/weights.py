"""``pixelgate weights``: where AlexNet's weights, which LPIPS needs, are found, and getting them."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from pixelgate.commands.arguments import Commands, Parser, add_actions, add_command, add_json, own_options
from pixelgate.commands.console import Progress, aligned, print_errors, print_json, print_lines, size_text
from pixelgate.errors import PixelgateError

if TYPE_CHECKING:
    from pixelgate.models.alexnet_weights import SourceStatus

_NAME = "AlexNet (LPIPS)"


def add(commands: Commands) -> None:
    """Declare the subcommand."""
    examples = ("pixelgate weights list", "pixelgate weights fetch", "pixelgate weights verify --json")
    summary = "find, fetch or verify the weights that LPIPS needs"
    actions = add_actions(add_command(commands, "weights", None, summary, examples=examples))
    summary = "show what each source of weights holds, in the order they are tried"
    listing = add_command(actions, "list", run_list, summary, examples=examples[:1])
    fetch = add_command(
        actions,
        "fetch",
        run_fetch,
        "copy verified weights into the user's cache, downloading them if need be",
        examples=examples[1:2],
    )
    verify = add_command(
        actions,
        "verify",
        run_verify,
        "hold the weights and the linear heads against their digests",
        details="Exit status 1 where a source holds other weights, or none holds the right ones.",
        examples=(*examples[2:], "pixelgate weights verify --weights alexnet-owt-7be5be79.pth"),
    )
    for own in (listing, verify):
        _add_weights(own)
    for own in (listing, fetch, verify):
        add_json(own)


def _add_weights(parser: Parser) -> None:
    parser.add_argument("--weights", metavar="PATH", help="look at this file or folder alone")
    own_options(parser, {"weights": "--weights"})


def run_list(args: argparse.Namespace) -> int:
    """Print the status of every source."""
    from pixelgate.models.alexnet_weights import DIGEST, status

    sources = status(args.weights)
    if args.json:
        print_json({"network": "alexnet", "digest": DIGEST, "sources": [asdict(source) for source in sources]})
        return 0
    used = next((source for source in sources if source.verified), None)
    lines = [f"{_NAME}, digest {DIGEST[:16]}…, looked for in this order:", *source_lines(sources)]
    lines.append(f"used: {used.source}" if used else "used: none is here yet")
    lines += [] if used else advice()
    print_lines(lines)
    return 0


def run_fetch(args: argparse.Namespace) -> int:
    """Copy the weights into the cache."""
    from pixelgate.models.alexnet_weights import DIGEST, fetch

    with Progress() as progress:

        def told(done: int, total: int | None) -> None:
            of = f" of {size_text(total)}" if total else ""
            progress.show(f"{_NAME}: {size_text(done)}{of}", last=done == total)

        file = fetch(told)
    if args.json:
        print_json({"file": str(file), "digest": DIGEST, "bytes": file.stat().st_size})
        return 0
    print_lines([f"{_NAME}: verified, {size_text(file.stat().st_size)}, in {file}"])
    return 0


def run_verify(args: argparse.Namespace) -> int:
    """Hold all that is found against its digest; 1 where something is not right."""
    from pixelgate.models.alexnet_weights import DIGEST, status

    sources = status(args.weights)
    heads, heads_problem = _heads()
    verified = any(source.verified for source in sources)
    problems = [
        f"{source.location}: {source.message}. Remove it, or put the right file there."
        for source in sources
        if source.found and not source.verified
    ]
    problems += [] if verified else ["no source holds the expected weights", *advice()]
    problems += [heads_problem] if heads_problem else []
    if args.json:
        found = [asdict(source) for source in sources]
        print_json({"network": "alexnet", "digest": DIGEST, "sources": found, "heads": heads, "problems": problems})
    else:
        lines = [f"{source.source}: {source.location}: the expected weights" for source in sources if source.verified]
        print_lines([*lines, *([f"linear heads: {heads}: the expected ones"] if heads else [])])
        print_errors(f"error: {problem}" for problem in problems)
    return 1 if problems else 0


def _heads() -> tuple[str | None, str]:
    from pixelgate.models.lpips_network import check_package, heads_file

    try:
        check_package()
        return str(heads_file()), ""
    except PixelgateError as error:
        return None, str(error)


def source_lines(sources: list[SourceStatus]) -> list[str]:
    """One line for each source: whether it holds the weights, where, and why not."""
    return aligned([(f"  {source.source}", _mark(source), _where(source)) for source in sources])


def _mark(source: SourceStatus) -> str:
    if source.verified:
        return "verified"
    return "wrong" if source.found else "-"


def _where(source: SourceStatus) -> str:
    return source.location if source.verified else f"{source.location} ({source.message})"


def advice() -> list[str]:
    """The commands that get the weights."""
    from pixelgate.models.alexnet_weights import PIP_COMMAND

    return [f"get the weights with: {PIP_COMMAND}", "or with: pixelgate weights fetch"]
