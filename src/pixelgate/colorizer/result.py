"""What an evaluation gives: values per image, means and areas with intervals, and the record of how they were made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pixelgate.hints import alpha_dir_name
from pixelgate.records import Note
from pixelgate.stats.bootstrap import Interval
from pixelgate.stats.curves import Curve, curve


@dataclass(frozen=True, eq=False)
class ColorizerResult:
    """The scores of one colouriser over the hint ratios.

    Attributes:
        hint_type: ``scribble`` or ``dot``.
        alphas: the ratios, rising from 0 to 1.
        names: the predictions' file names, in the order of the samples.
        values: metric id -> file name -> one value per ratio; None where it could not be computed.
        reasons: (metric id, file name, ratio's directory name) -> why a value is None.
        protocol: how the numbers were made: grid, hints, metrics, backend, versions, oracle; plain values.
        notes: what a reader must know: pictures converted, hints that failed, predictions taken from an earlier run.
        save_dir: where the predictions lie; None where they were not kept.
        resamples, seed, confidence: of the bootstrap over images.
    """

    hint_type: str
    alphas: tuple[float, ...]
    names: tuple[str, ...]
    values: Mapping[str, Mapping[str, tuple[float | None, ...]]]
    reasons: Mapping[tuple[str, str, str], str]
    protocol: Mapping[str, Any]
    notes: tuple[Note, ...] = ()
    save_dir: Path | None = None
    resamples: int = field(default=10_000, repr=False)
    seed: int = field(default=0, repr=False)
    confidence: float = field(default=0.95, repr=False)

    @property
    def n_images(self) -> int:
        """Number of samples."""
        return len(self.names)

    @property
    def oracle(self) -> bool:
        """Whether the function saw the ground truth; such scores are not comparable with a real method's."""
        return bool(self.protocol["oracle"])

    @cached_property
    def curves(self) -> Mapping[str, Curve]:
        """Metric id -> means and area with bootstrap intervals over images; without metrics that lack a value."""
        settings = {"resamples": self.resamples, "seed": self.seed, "confidence": self.confidence}
        return {
            metric: curve(self.alphas, complete, **settings)  # type: ignore[arg-type]
            for metric, images in self.values.items()
            if (complete := _complete(images)) is not None
        }

    @cached_property
    def per_alpha(self) -> Mapping[float, Mapping[str, float | None]]:
        """Ratio -> metric id -> mean over the images; None where an image has no value."""
        return {
            alpha: {metric: _mean([row[place] for row in images.values()]) for metric, images in self.values.items()}
            for place, alpha in enumerate(self.alphas)
        }

    @cached_property
    def hint_auc(self) -> Mapping[str, float | None]:
        """Metric id -> area under the means over the ratios; None where an image has no value at some ratio."""
        return {metric: c.area.mean if (c := self.curves.get(metric)) else None for metric in self.values}

    def to_json(self) -> dict[str, Any]:
        """Plain values without NaN or infinity; ratios are named as their directories are."""
        dirs = [alpha_dir_name(alpha) for alpha in self.alphas]
        return {
            "hint_type": self.hint_type,
            "oracle": self.oracle,
            "alphas": list(self.alphas),
            "n_images": self.n_images,
            "names": list(self.names),
            "per_alpha": {name: dict(self.per_alpha[a]) for name, a in zip(dirs, self.alphas, strict=True)},
            "hint_auc": dict(self.hint_auc),
            "intervals": {metric: _intervals(c, dirs) for metric, c in self.curves.items()},
            "images": {metric: _images(rows, self.curves.get(metric)) for metric, rows in self.values.items()},
            "missing": [
                {"metric": metric, "name": name, "ratio": ratio, "reason": reason}
                for (metric, name, ratio), reason in self.reasons.items()
            ],
            "protocol": dict(self.protocol),
            "notes": [{"subject": n.subject, "rule": n.rule, "message": n.message} for n in self.notes],
            "save_dir": str(self.save_dir) if self.save_dir else None,
        }


def _complete(images: Mapping[str, tuple[float | None, ...]]) -> dict[str, list[float]] | None:
    rows = {name: [value for value in row if value is not None] for name, row in images.items()}
    whole = bool(rows) and all(len(rows[name]) == len(row) for name, row in images.items())
    return rows if whole else None


def _mean(values: list[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return math.fsum(numbers) / len(numbers) if numbers and len(numbers) == len(values) else None


def _intervals(one: Curve, dirs: list[str]) -> dict[str, Any]:
    return {"area": _bounds(one.area), **{name: _bounds(p) for name, p in zip(dirs, one.points, strict=True)}}


def _bounds(interval: Interval) -> dict[str, float | None]:
    return {"low": interval.low, "high": interval.high}


def _images(rows: Mapping[str, tuple[float | None, ...]], one: Curve | None) -> dict[str, Any]:
    return {name: {"values": list(row), "area": one.areas[name] if one else None} for name, row in rows.items()}
