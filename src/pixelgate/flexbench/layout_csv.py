"""The CSV form of FlexBench's tables: two header rows, one label and a row of cells after them.

The first header row holds each group's label once, above its first column; the second holds the name of the first
column and the metrics with their arrows. Comma, LF, UTF-8 without a byte order mark; an empty cell is a missing value.

A spreadsheet runs a cell as a formula if it begins with ``=``, ``+``, ``-`` or ``@``. Labels come from file and folder
names, which may come from a stranger: such a label is written with an apostrophe in front, and loses it when it is
read here again. Numbers are never touched, and JSON files hold every label as it is.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pixelgate.errors import InputError, Problem
from pixelgate.flexbench.averages import LARGEST
from pixelgate.flexbench.json_files import read_text
from pixelgate.flexbench.table_columns import Column

RULE = "table-layout"
MEND = "Give a table as `pixelgate flexbench` or FlexBench's own tool writes it: comma-separated, two header rows."

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NO_NUMBER = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_DANGEROUS = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_GUARDED = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")
_ARROW = re.compile(r"(.*\S)\s*[↑↓]\s*")


@dataclass(frozen=True)
class CsvRow:
    """One row below the header.

    Attributes:
        line: its number in the file, from 1.
        label: its first cell.
        cells: the others, one per column.
    """

    line: int
    label: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class CsvTable:
    """A table as read: its columns and its rows, in the file's order."""

    columns: tuple[Column, ...]
    rows: tuple[CsvRow, ...]


def number_text(value: float | None, decimals: int) -> str:
    """A value with fixed decimals; empty where there is none; never a minus sign before a zero."""
    if value is None:
        return ""
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def guarded(label: str) -> str:
    """A label as a spreadsheet may see it: with an apostrophe in front where it would be run as a formula."""
    return f"'{label}" if is_dangerous(label) else label


def is_dangerous(label: str) -> bool:
    """Whether `guarded` changes a label."""
    return _DANGEROUS.match(label) is not None


def plain(cell: str) -> str:
    """What `guarded` was given."""
    return cell[1:] if _GUARDED.match(cell) else cell


def table_csv(first: str, columns: Sequence[Column], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """The text of a table.

    Args:
        first: head of the first column, such as ``sample_id``.
        columns: the columns in their order.
        rows: (label, cells), one cell per column.
    """
    labels = [column.label for column in columns]
    spans = ["" if place and labels[place - 1] == label else label for place, label in enumerate(labels)]
    head = [["", *map(guarded, spans)], [first, *(guarded(column.head) for column in columns)]]
    return rows_csv([*head, *([guarded(label), *cells] for label, cells in rows)])


def rows_csv(rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells as CSV with LF line ends."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def read_rows(path: Path, mend: str = MEND) -> list[tuple[int, list[str]]]:
    """The rows of a CSV file that are not empty, with their line numbers; LF or CRLF, a byte order mark or none.

    Raises:
        InputError: it cannot be read, or is no CSV (rule ``table-layout``).
    """
    text = read_text(path, RULE, mend)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        return [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise InputError(Problem(str(path), RULE, f"line {reader.line_num}: {error}.", mend)) from None


def read_table(path: Path, mend: str = MEND) -> CsvTable:
    """Read a table with two header rows.

    Raises:
        InputError: rule ``table-layout``: no header rows, a column without group or twice, a row with too many or too
            few cells; all problems are listed.
    """
    rows = read_rows(path, mend)
    if len(rows) < 2 or rows[0][1][0] != "" or len(rows[0][1]) < 2:
        raise InputError(Problem(str(path), RULE, "does not begin with two header rows.", mend))
    columns = _columns(path, rows[0][1], rows[1][1], mend)
    wrong = [
        Problem(str(path), RULE, f"line {line} has {len(row)} cells; the header has {len(columns) + 1}.", mend)
        for line, row in rows[2:]
        if len(row) != len(columns) + 1
    ]
    if wrong:
        raise InputError(wrong)
    return CsvTable(columns, tuple(CsvRow(line, plain(row[0]), tuple(row[1:])) for line, row in rows[2:]))


def _columns(path: Path, spans: list[str], heads: list[str], mend: str) -> tuple[Column, ...]:
    if len(spans) != len(heads):
        found = f"its header rows have {len(spans)} and {len(heads)} cells."
        raise InputError(Problem(str(path), RULE, found, mend))
    columns, label = [], ""
    for span, head in zip(spans[1:], heads[1:], strict=True):
        label = plain(span.strip()) or label
        columns.append(Column(label, metric_name(head)))
    if not all(column.label and column.metric for column in columns):
        raise InputError(Problem(str(path), RULE, "a column has no group or no name.", mend))
    twice = sorted({column.id for column in columns if columns.count(column) > 1})
    if twice:
        raise InputError(Problem(str(path), RULE, f"the column(s) {', '.join(twice)} stand twice.", mend))
    return tuple(columns)


def metric_name(head: str) -> str:
    """A metric's name from the head of its column: without guard and arrow."""
    name = plain(head.strip())
    arrow = _ARROW.fullmatch(name)
    return arrow[1] if arrow else name


def parse_number(cell: str) -> float | None:
    """The number in a cell; None for an empty cell; NaN where the cell says NaN or infinity.

    Raises:
        ValueError: anything else, such as a decimal comma or a number that no metric gives.
    """
    text = cell.strip()
    if not text:
        return None
    if _NO_NUMBER.fullmatch(text):
        return math.nan
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{cell!r} is no number")
    value = float(text)
    if LARGEST < abs(value) < math.inf:
        raise ValueError(f"{cell!r} is too large for any metric")
    return value if math.isfinite(value) else math.nan
