"""A case: what one test item scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

FULL = "full"


@dataclass(frozen=True, order=True)
class Case:
    """One (method, track, slice): what a test item scores.

    Attributes:
        method: what made the outputs; a folder name.
        track: id of the track.
        slice: the third axis, ``full`` where a protocol has none.
        folder: where the outputs lie; None for a baseline.
        baseline: the track's column that stands in for outputs, e.g. ``content`` for an Identity row that
            nobody had to write; empty for real outputs.
        siblings: the folders of all slices of the same curve, this one's among them; empty where a track has none.
        groups: the groups of metrics that the run of this clip folder was made for; empty for pictures.
        predictions: folder of the clips' predictions; empty for the one beside the clips.
        not_run: why the case cannot be scored at all, so that it is told and never passes; empty otherwise.
    """

    method: str
    track: str
    slice: str = FULL
    folder: Path | None = field(default=None, compare=False)
    baseline: str = ""
    siblings: tuple[str, ...] = field(default=(), compare=False)
    groups: tuple[str, ...] = field(default=(), compare=False)
    predictions: str = field(default="", compare=False)
    not_run: str = field(default="", compare=False)

    @property
    def id(self) -> str:
        """``method/track/slice``."""
        return f"{self.method}/{self.track}/{self.slice}"
