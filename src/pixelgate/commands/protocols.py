"""``pixelgate protocols``: which protocols there are, and every parameter of one."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pixelgate.commands.arguments import Commands, add_command, add_json
from pixelgate.commands.console import aligned, print_json, print_lines

if TYPE_CHECKING:
    from pixelgate.protocols import Protocol


def add(commands: Commands) -> None:
    """Declare the subcommand."""
    parser = add_command(
        commands,
        "protocols",
        run,
        "list the protocols, or show one",
        examples=("pixelgate protocols", "pixelgate protocols pstbench", "pixelgate protocols pstbench --json"),
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="show this protocol's metrics and every parameter")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list, or one protocol."""
    from pixelgate.protocols import available_protocols, load_protocol

    if args.name is not None:
        protocol = load_protocol(args.name)
        if args.json:
            print_json({**protocol.raw, "params_sha256": protocol.params_hash})
        else:
            print_lines(_details(protocol))
        return 0
    protocols = [load_protocol(name) for name in available_protocols()]
    if args.json:
        print_json({"protocols": [_line(protocol) for protocol in protocols]})
        return 0
    rows = [(p.id, p.version, _metric_names(p), p.raw["title"]) for p in protocols]
    print_lines(aligned([("protocol", "version", "metrics", "title"), *rows]))
    return 0


def _metric_names(protocol: Protocol) -> str:
    ids = [metric.id for metric in protocol.metrics]
    return ", ".join(ids) if len(ids) <= _SHOWN else f"{len(ids)}, in {len(protocol.groups) or 1} groups"


_SHOWN = 10


def _line(protocol: Protocol) -> dict[str, Any]:
    return {
        "id": protocol.id,
        "version": protocol.version,
        "title": protocol.raw["title"],
        "metrics": [metric.id for metric in protocol.metrics],
        "params_sha256": protocol.params_hash,
    }


def _details(protocol: Protocol) -> list[str]:
    heads = [
        ("protocol:", f"{protocol.id}, version {protocol.version}"),
        ("title:", protocol.raw["title"]),
        ("source:", protocol.raw.get("source", "-")),
        ("parameters:", f"sha256 {protocol.params_hash}"),
        ("columns:", ", ".join(protocol.raw["columns"])),
        ("invariants:", ", ".join(protocol.invariants)),
    ]
    rows = [
        (f"  {m.id}", m.metric, f"against {m.against}", "ranked" if m.ranked else "reported", _params(m.params))
        for m in protocol.metrics
    ]
    lines = [*aligned(heads), "metrics:", *aligned(rows)]
    for name in ("decoding", "size", "aggregation", "baseline"):
        value = protocol.raw.get(name)
        if value:
            lines += [f"{name}:", *_mapping(value, "  ")]
    return lines


def _params(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {_text(value)}" for key, value in params.items())


def _mapping(value: Mapping[str, Any], indent: str) -> list[str]:
    lines: list[str] = []
    for key, item in value.items():
        if isinstance(item, Mapping):
            lines += [f"{indent}{key}:", *_mapping(item, f"{indent}  ")]
        else:
            lines.append(f"{indent}{key}: {_text(item)}")
    return lines


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return value if isinstance(value, str) else json.dumps(value)
