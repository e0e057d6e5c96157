"""What a run over generated clips may choose; everything else is the protocol's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pixelgate.columns import Settings
from pixelgate.errors import InputError, Problem
from pixelgate.metrics.registry import Runtime, get_metric
from pixelgate.protocols import Protocol
from pixelgate.tracks import Track

PERSON_MASKS = ("auto", "always", "never")
"""When people are left out of the depth scores; ``auto``: where depth and pose are both conditions of the run."""

LPIPS_NETS = ("alex", "vgg", "squeeze")
"""Networks of the inpainting group's LPIPS."""


@dataclass(frozen=True)
class Choices:
    """A run's own choices; all but the last three are recorded as deviations where they change anything.

    Attributes:
        metrics: ids of the protocol's metrics to compute; empty for the tracks' own.
        vbench_dimensions: VBench's names of the dimensions to score; empty for all.
        depth_person_mask: one of `PERSON_MASKS`.
        person_mask_dilation: by which part of the shorter side masks of people are dilated; None for the protocol's.
        lpips_net: one of `LPIPS_NETS`.
        allow_pickle: read keypoints from pickled arrays too, through a restricted reader.
        allow_missing: average over the samples that are there.
        allow_deviations: rules of faults that do not fail a run.
        shuffle_refs: hold each clip against the next sample's reference: a chance level.
        places: kind of prediction -> where it lies instead; see `pixelgate.clips.predictions.PredictionFolder`.
        device, weights: of learned metrics.
    """

    metrics: tuple[str, ...] = ()
    vbench_dimensions: tuple[str, ...] = ()
    depth_person_mask: str = "auto"
    person_mask_dilation: float | None = None
    lpips_net: str = "alex"
    allow_pickle: bool = False
    allow_missing: bool = False
    allow_deviations: tuple[str, ...] = ()
    shuffle_refs: bool = False
    places: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    device: str = "cpu"
    weights: str | None = None

    def __post_init__(self) -> None:
        """Refuse values that no protocol has.

        Raises:
            InputError: rule ``choice``.
        """
        dilation = self.person_mask_dilation
        wrong = [
            ("depth_person_mask", self.depth_person_mask, PERSON_MASKS),
            ("lpips_net", self.lpips_net, LPIPS_NETS),
        ]
        problems = [
            Problem("", "choice", f"{name} is {value!r}.", f"Choose of {', '.join(known)}.")
            for name, value, known in wrong
            if value not in known
        ]
        if dilation is not None and not 0 <= dilation <= 1:
            mend = "Give a part of the shorter side, from 0 to 1."
            problems.append(Problem("", "choice", f"person_mask_dilation is {dilation!r}.", mend))
        if problems:
            raise InputError(problems)

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """Group -> the parameters of its evaluator that the run sets; see `pixelgate.columns.Settings.choices`."""
        depth: dict[str, Any] = {"person_mask": self.depth_person_mask}
        if self.person_mask_dilation is not None:
            depth["person_mask_dilation"] = self.person_mask_dilation
        return {
            "depth": depth,
            "pose": {"allow_pickle": self.allow_pickle},
            "inpainting": {"lpips": {"net": self.lpips_net}},
        }

    def settings(self, track: Track, protocol: Protocol) -> Settings:
        """What the engine of a track is told.

        Raises:
            ProtocolError, InputError: as `group_metrics`.
        """
        return Settings(
            metrics=group_metrics(track, protocol, self.metrics, self.vbench_dimensions),
            runtime=Runtime(self.device, self.weights),
            allow_missing=self.allow_missing,
            choices=self.parameters,
            shuffle_references=self.shuffle_refs,
            predictions=self.places,
        )

    def leaves_out(self, track: Track, protocol: Protocol) -> bool:
        """Whether metrics are named, and none of them is of the track's group.

        Raises:
            ProtocolError, InputError: as `group_metrics`.
        """
        left = group_metrics(track, protocol, self.metrics, self.vbench_dimensions)
        return bool(self.metrics) and not left

    def check_rules(self, protocol: Protocol) -> None:
        """Refuse allowed deviations that are no fault of the protocol.

        Raises:
            InputError: rule ``allow-deviation``.
        """
        unknown = [rule for rule in self.allow_deviations if rule not in protocol.faults]
        if unknown:
            found = f"{unknown[0]!r} is no deviation that fails a run of the protocol {protocol.id}."
            mend = f"Choose of {', '.join(sorted(protocol.faults))}."
            raise InputError(Problem("", "allow-deviation", found, mend))


def group_metrics(
    track: Track, protocol: Protocol, metrics: Sequence[str], dimensions: Sequence[str] = ()
) -> tuple[str, ...]:
    """The metrics of a track's group that a run names; empty where it names none of them.

    Args:
        track: a track over clips.
        protocol: its protocol.
        metrics: ids of the protocol's metrics.
        dimensions: VBench's names of dimensions, several in one text with blanks between them or not; they go before
            ``metrics`` in VBench's group.

    Raises:
        ProtocolError: a metric is unknown.
        InputError: rule ``vbench-dimensions``: a dimension is unknown.
    """
    chosen = tuple(name for name in metrics if get_metric(protocol.metric(name).metric).group == track.group)
    wanted = [name for entry in dimensions for name in entry.replace(",", " ").split()]
    if track.group != "vbench" or not wanted:
        return chosen
    known: list[str] = list(protocol.groups["vbench"]["dimensions"])
    # Tables head the columns with short names; they are taken too.
    short = {metric.partition("_")[2]: name for name, metric in zip(known, track.metrics, strict=True)}
    wanted = [short.get(name, name) for name in wanted]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        found = f"{unknown[0]!r} is no VBench dimension of this protocol."
        raise InputError(Problem("", "vbench-dimensions", found, f"Choose of {', '.join(known)}."))
    return tuple(name for dimension, name in zip(known, track.metrics, strict=True) if dimension in wanted)
