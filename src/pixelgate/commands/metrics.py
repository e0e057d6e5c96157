"""``pixelgate metrics``: which metrics there are, and the definition of one."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from pixelgate.commands.arguments import Commands, add_command, add_json
from pixelgate.commands.console import aligned, print_json, print_lines
from pixelgate.errors import ProtocolError

if TYPE_CHECKING:
    from pixelgate.metrics.registry import Metric

_INFINITE = "infinity"


def add(commands: Commands) -> None:
    """Declare the subcommand."""
    parser = add_command(
        commands,
        "metrics",
        run,
        "list the metrics, or show one's unit, range, direction, version and source",
        details="In JSON a bound of a range is null where there is none.",
        examples=("pixelgate metrics", "pixelgate metrics lpips", "pixelgate metrics de00 --json"),
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="show this metric: its own id, or its id in a protocol")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list, or one metric."""
    from pixelgate.metrics import all_metrics

    if args.name is not None:
        data = _details(_find(args.name))
        if args.json:
            print_json(data)
        else:
            print_lines(_detail_lines(data))
        return 0
    found = [_details(metric) for metric in all_metrics()]
    if args.json:
        print_json({"metrics": found})
        return 0
    rows = [(d["id"], d["title"], d["unit"] or "-", _range(d), d["direction"], _uses(d["protocols"])) for d in found]
    print_lines(aligned([("metric", "title", "unit", "range", "better", "in protocols as"), *rows]))
    return 0


def _find(name: str) -> Metric:
    from pixelgate.metrics import all_metrics, get_metric

    known = {metric.id for metric in all_metrics()}
    if name in known:
        return get_metric(name)
    aliases = {use["id"]: metric for metric in known for use in _protocols(metric)}
    if name in aliases:
        return get_metric(aliases[name])
    raise ProtocolError(f"unknown metric {name!r}; known: {', '.join(sorted({*known, *aliases}))}")


def _details(metric: Metric) -> dict[str, Any]:
    return {
        "id": metric.id,
        "title": metric.title,
        "unit": metric.unit,
        "range": [_bound(metric.low), _bound(metric.high)],
        "direction": metric.direction,
        "group": metric.group,
        "perfect": metric.perfect,
        "version": metric.version,
        "min_side": metric.min_side,
        "same_size": metric.same_size,
        "extra": metric.extra,
        "source": metric.source,
        "protocols": _protocols(metric.id),
    }


def _bound(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _protocols(metric_id: str) -> list[dict[str, Any]]:
    from pixelgate.protocols import available_protocols, load_protocol

    return [
        {"protocol": protocol, "id": entry.id, "against": entry.against, "ranked": entry.ranked, "params": entry.params}
        for protocol in available_protocols()
        for entry in load_protocol(protocol).metrics
        if entry.metric == metric_id
    ]


def _range(data: dict[str, Any]) -> str:
    low, high = data["range"]
    return f"{f'-{_INFINITE}' if low is None else f'{low:g}'} to {_INFINITE if high is None else f'{high:g}'}"


def _uses(protocols: list[dict[str, Any]]) -> str:
    return ", ".join(f"{use['protocol']}: {use['id']}" for use in protocols) or "-"


def _detail_lines(data: dict[str, Any]) -> list[str]:
    size = "the same size as its reference" if data["same_size"] else "any size"
    takes = f"at least {data['min_side']} pixels on each side, {size}"
    direction = "none: it ranks nothing" if data["direction"] == "none" else f"{data['direction']} is better"
    rows = [
        ("metric:", f"{data['id']}, version {data['version']}"),
        ("title:", data["title"]),
        ("unit:", data["unit"] or "none, a pure number"),
        ("range:", _range(data)),
        ("direction:", direction),
        ("perfect:", f"{data['perfect']:g}, for an output that equals its reference"),
        ("clips:", f"with the group {data['group']}") if data["group"] else ("pictures:", takes),
        ("needs:", f"pip install 'pixelgate[{data['extra']}]'" if data["extra"] else "nothing beside pixelgate"),
        ("source:", data["source"]),
        *(("protocol:", _use(use)) for use in data["protocols"]),
    ]
    return aligned(rows)


def _use(use: dict[str, Any]) -> str:
    params = ", ".join(f"{key} {value}" for key, value in use["params"].items())
    rank = "ranked" if use["ranked"] else "reported only"
    return f"{use['protocol']}: {use['id']}, against {use['against']}, {rank}{'; ' if params else ''}{params}"
