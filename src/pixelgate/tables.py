"""Tables as text, in the form that the field prints them."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pixelgate.aggregate import Aggregate
from pixelgate.metrics.registry import get_metric
from pixelgate.protocols import Protocol
from pixelgate.records import Deviation, Note

_ABSENT = "–"
_NAMED = 3


@dataclass(frozen=True)
class Row:
    """One method's row.

    Attributes:
        label: what stands in the first column.
        aggregates: metric id -> mean and interval; a metric that is absent was left out.
        remarks: short remarks after the numbers.
    """

    label: str
    aggregates: Mapping[str, Aggregate]
    remarks: tuple[str, ...] = ()


def number(aggregate: Aggregate | None, decimals: int) -> str:
    """``22.57 ± 1.19``; the mean alone for a single sample; a dash where there is no mean."""
    if aggregate is None or aggregate.interval is None:
        return _ABSENT
    interval = aggregate.interval
    mean = f"{interval.mean:.{decimals}f}"
    return mean if interval.half is None else f"{mean} ± {interval.half:.{decimals}f}"


def track_line(track: str, protocol: Protocol, dataset: str, n: str) -> str:
    """The line above a table: track, protocol, data set revision and number of samples."""
    return f"track: {track}   protocol: {protocol.id}   dataset: {dataset}   n={n}"


def table(protocol: Protocol, rows: Sequence[Row], of: Collection[str] = ()) -> list[str]:
    """A protocol's table, aligned, with an arrow in each head: ↑ higher is better, ↓ lower is.

    Args:
        protocol: the protocol.
        rows: the rows.
        of: the metrics to show, beside those that a row has; empty for all of the protocol's.

    Returns:
        The lines: a head, one per row, without trailing blanks.
    """
    there = {metric for row in rows for metric in row.aggregates}
    entries = [entry for entry in protocol.metrics if entry.table and (not of or entry.id in of or entry.id in there)]
    heads = ["method", *(f"{entry.title}{get_metric(entry.metric).arrow}" for entry in entries)]
    body = [[row.label, *(number(row.aggregates.get(entry.id), entry.decimals) for entry in entries)] for row in rows]
    widths = [max(_width(line[i]) for line in [heads, *body]) for i in range(len(heads))]
    lines = ["  ".join(_pad(cell, width) for cell, width in zip(line, widths, strict=True)) for line in [heads, *body]]
    remarks = ["", *("; ".join(row.remarks) for row in rows)]
    return [f"{line}  {remark}".rstrip() for line, remark in zip(lines, remarks, strict=True)]


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def count_text(counts: Iterable[int]) -> str:
    """The number of samples for the line above a table: ``50``, or ``49 to 50`` where rows differ."""
    known = sorted(set(counts))
    if not known:
        return "0"
    return str(known[0]) if len(known) == 1 else f"{known[0]} to {known[-1]}"


def listed(title: str, entries: Iterable[tuple[str, Deviation | Note]], shown: int, rest: str) -> list[str]:
    """Deviations or notes as lines below a table; none where there are none.

    Args:
        title: the line above them.
        entries: (method, deviation or note); what several methods or samples share word for word is told once.
        shown: at most so many of them.
        rest: where the others can be read.
    """
    methods: dict[Deviation | Note, dict[str, None]] = {}
    for method, item in entries:
        methods.setdefault(item, {})[method] = None
    subjects: dict[tuple[tuple[str, ...], str, str], list[str]] = {}
    for item, names in methods.items():
        subjects.setdefault((tuple(names), item.message, item.rule), []).append(item.subject)
    texts = [f"  {_all_of(who)}: {_named(of)}: {text} [{rule}]" for (who, text, rule), of in subjects.items()]
    more = len(texts) - shown
    last = [f"  and {more} more, all in {rest}"] if more > 0 else []
    return [f"{title}:", *texts[:shown], *last] if texts else []


def _named(subjects: Sequence[str]) -> str:
    more = len(subjects) - _NAMED
    return ", ".join(subjects[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _all_of(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names) if len(names) <= _NAMED else f"{len(names)} methods"
