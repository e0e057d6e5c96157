"""The columns of FlexBench's tables: their groups, their order, their direction and their decimals.

A column is a group's label and a metric's name; ``<label>_<name>`` is the metric's id. Direction and arrow come from
the metric's definition and from nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pixelgate.clips.evaluator import GROUPS
from pixelgate.errors import ProtocolError
from pixelgate.metrics import Metric, get_metric
from pixelgate.protocols import load_protocol

PROTOCOL = "flexbench"

_SHORT = {"inpainting": "inpaint"}
_DECIMALS = 4
_VBENCH_DECIMALS = 2


def label_of(group: str) -> str:
    """A group's name in tables and in front of its metrics: the group's own name, but ``inpaint`` for inpainting."""
    return _SHORT.get(group, group)


LABELS = tuple(label_of(group) for group in GROUPS)
"""The known groups' labels in the order of the table."""


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        label: the group's label, such as ``inpaint``.
        metric: the metric's name within its group, such as ``lpips``.
    """

    label: str
    metric: str

    @property
    def id(self) -> str:
        """The metric's id, such as ``inpaint_lpips``."""
        return f"{self.label}_{self.metric}"

    @property
    def head(self) -> str:
        """The metric's name, with the arrow of its direction if it has one: ``lpips ↓``."""
        metric = _definition(self)
        return f"{self.metric} {metric.arrow}" if metric is not None and metric.arrow else self.metric

    @property
    def direction(self) -> Literal["higher", "lower", "none"] | None:
        """See `direction_of`."""
        return direction_of(self.label, self.metric)

    @property
    def decimals(self) -> int:
        """Digits shown: as the protocol says; where it does not know the metric 4, for VBench 2."""
        for entry in load_protocol(PROTOCOL).metrics:
            if entry.id == self.id:
                return entry.decimals
        return _VBENCH_DECIMALS if self.label == "vbench" else _DECIMALS


def direction_of(group: str, metric: str) -> Literal["higher", "lower", "none"] | None:
    """Which way a metric is better, by its definition.

    Args:
        group: the group or its label, ``inpainting`` or ``inpaint``.
        metric: the name within the group, such as ``RotErr``.

    Returns:
        ``higher``, ``lower``, or ``none`` for a number that ranks nothing, such as a chance level; None where no such
        metric is registered.
    """
    definition = _definition(Column(label_of(group), metric))
    return None if definition is None else definition.direction


def _definition(column: Column) -> Metric | None:
    try:
        return get_metric(column.id)
    except ProtocolError:
        return None


def group_order(label: str) -> tuple[int, str]:
    """Sort key of groups: the known ones as `LABELS` has them, others after them by the alphabet."""
    return (LABELS.index(label), "") if label in LABELS else (len(LABELS), label)


def in_order(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Columns as the tables show them, each once: by group, then as the protocol lists them, then as they came."""
    known = {entry.id: place for place, entry in enumerate(load_protocol(PROTOCOL).metrics)}
    distinct = dict.fromkeys(columns)
    return tuple(sorted(distinct, key=lambda column: (group_order(column.label), known.get(column.id, len(known)))))
