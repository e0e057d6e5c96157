"""What evaluates a generated clip: one evaluator per group of metrics, all of a group's numbers in one pass.

An evaluator reads files and gives numbers. It runs no network: what a network predicts lies on the disk
(see `pixelgate.clips.predictions`), put there by whoever ran it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from pixelgate.errors import ProtocolError
from pixelgate.metrics.registry import Measurement, Runtime
from pixelgate.records import VideoRecord

GROUPS = ("text", "subject", "depth", "pose", "camera", "inpainting", "vbench")
"""The groups, in the order in which tables show them. Each is a module of this package with an ``EVALUATOR``."""

FEATURES_ONLY = frozenset({"text", "subject", "vbench"})
"""Groups whose references are no outputs of another kind: nothing can be scored against itself."""


@dataclass(frozen=True)
class ClipFiles:
    """The files that one generated clip is scored from.

    Attributes:
        sample: its id.
        generated: the generated clip.
        references: the track's files by column, such as ``reference``, ``mask`` or ``size``; a column that the
            data set does not have is absent.
        predictions: kind (see `pixelgate.clips.predictions`) -> the files that hold it for this clip. With shuffled
            references, ``<kind>_reference`` are the other sample's, for kinds that hold the reference's side too.
    """

    sample: str
    generated: Path
    references: Mapping[str, Path]
    predictions: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Evaluation:
    """What an evaluator found.

    Attributes:
        values: metric id (``<group>_<name>``) -> its number, or None with the reason; one for every metric that was
            asked for.
        record: how the generated clip was decoded.
        details: diagnostics in plain JSON types without NaN or infinity: per-frame values, counts, flags.
        deviations: (rule, message) of what this sample's scoring did that the protocol does not, such as a truncation
            to the shorter clip, with both lengths.
        notes: (rule, message) of what a reader must know, such as a degenerate trajectory.
    """

    values: Mapping[str, Measurement]
    record: VideoRecord
    details: Mapping[str, Any] = field(default_factory=dict)
    deviations: tuple[tuple[str, str], ...] = ()
    notes: tuple[tuple[str, str], ...] = ()


class Evaluator(Protocol):
    """Computes one group's metrics."""

    @property
    def group(self) -> str:
        """One of `GROUPS`."""

    def needs(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        """The kinds of predictions that it reads under these parameters."""

    def evaluate(
        self, files: ClipFiles, params: Mapping[str, Any], metrics: Sequence[str], runtime: Runtime
    ) -> Evaluation:
        """Score one clip.

        Args:
            files: what to read.
            params: the group's section of the protocol file, with the run's own choices put in.
            metrics: ids of the metrics to compute, of this group.
            runtime: device, weights and threads.

        Raises:
            InputError: a file breaks a rule; all problems are listed, each with file, rule and mend. A number that
                cannot be computed from sound files is no error but a None with its reason.
        """

    def itself(self, files: ClipFiles) -> ClipFiles | None:
        """The files that score a reference against itself, which must give every metric's best.

        None where the group has no such thing.
        """


def evaluator(group: str) -> Evaluator:
    """The evaluator of a group.

    Raises:
        ProtocolError: there is no such group.
    """
    if group not in GROUPS:
        raise ProtocolError(f"unknown group {group!r}; known: {', '.join(GROUPS)}")
    found: Evaluator = import_module(f"pixelgate.clips.{group}").EVALUATOR
    return found
