"""Tables as text, in the form that the field prints them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pixelgate.aggregate import Aggregate
from pixelgate.metrics.registry import get_metric
from pixelgate.protocols import Protocol

_ABSENT = "–"


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


def table(protocol: Protocol, rows: Sequence[Row]) -> list[str]:
    """A protocol's table, aligned, with an arrow in each head: ↑ higher is better, ↓ lower is.

    Returns:
        The lines: a head, one per row, without trailing blanks.
    """
    heads = ["method", *(f"{entry.title}{get_metric(entry.metric).arrow}" for entry in protocol.metrics)]
    body = [
        [row.label, *(number(row.aggregates.get(entry.id), entry.decimals) for entry in protocol.metrics)]
        for row in rows
    ]
    widths = [max(_width(line[i]) for line in [heads, *body]) for i in range(len(heads))]
    lines = ["  ".join(_pad(cell, width) for cell, width in zip(line, widths, strict=True)) for line in [heads, *body]]
    remarks = ["", *("; ".join(row.remarks) for row in rows)]
    return [f"{line}  {remark}".rstrip() for line, remark in zip(lines, remarks, strict=True)]


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
