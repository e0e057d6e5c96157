"""The record of an evaluation: every choice that decides a number, and whether they are the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pixelgate.colorizer.manifest import Manifest, Original
from pixelgate.colorizer.sample import CHANNEL_ORDERS, ColorizerError, Pair
from pixelgate.columns import Column, digest
from pixelgate.errors import Problem
from pixelgate.hints import KINDS, ORDERS, PAPER_GRID, PAPER_SIZE, PATH_METHODS, TIE_BREAKS, Hints, alpha_dir_name
from pixelgate.hints.dots import METHODS as DOT_METHODS
from pixelgate.hints.stored import MAPS
from pixelgate.io.files import sha256_file
from pixelgate.io.square import fingerprint
from pixelgate.protocols import Protocol, choose_backend, load_protocol
from pixelgate.results import library_versions

PROTOCOL = "hintauc"
CHECKLIST = ("checkpoint", "seed", "split", "line_art_source")
"""What the protocol's reporting checklist asks for beside the record, given as ``meta``."""


@dataclass(frozen=True)
class Choices:
    """What a run may choose of the hints.

    Attributes:
        alphas: checked ratios.
        hint_type, size, path_method, dot_method, tie_break, order: of the hints.
        oracle: whether the function sees the ground truth.
        channel_order: of the arrays that go in and out.
        stored_maps: folder of stored maps that are taken instead of new ones.
        meta: what the user says of the run.
    """

    alphas: tuple[float, ...]
    hint_type: str
    size: int
    path_method: str
    dot_method: str
    tie_break: str
    order: str
    oracle: bool
    channel_order: str
    stored_maps: Path | None = None
    meta: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Raise `ColorizerError`, rule ``colorizer-option``, with everything that is not known."""
        known = {
            "hint_type": KINDS,
            "path_method": PATH_METHODS,
            "dot_method": DOT_METHODS,
            "tie_break": TIE_BREAKS,
            "order": ORDERS,
            "channel_order": CHANNEL_ORDERS,
        }
        problems = [
            Problem("", "colorizer-option", f"{name}={getattr(self, name)!r} is not known.", f"Take {_or(words)}.")
            for name, words in known.items()
            if getattr(self, name) not in words
        ]
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            found = f"size={self.size!r} is no side of a hint map."
            problems.append(Problem("", "colorizer-option", found, "Give pixels, 1 or more; the paper's is 64."))
        if problems:
            raise ColorizerError(problems)

    def settings(self, model: str, pairs: Sequence[Pair]) -> dict[str, Any]:
        """What a manifest holds, in the reference library's words where it has one.

        Raises:
            InputError: a stored map is missing.
        """
        stored = self.stored_maps is not None
        return {
            "hint_type": self.hint_type,
            "hint_map_size": self.size,
            # How stored maps were made is not known here.
            "path_method": None if stored else self.path_method,
            "dot_method": None if stored else self.dot_method,
            "tie_break": self.tie_break,
            "order": self.order,
            "oracle": self.oracle,
            "channel_order": self.channel_order,
            "hint_maps": "stored" if stored else "generated",
            **({"hint_maps_sha256": self._maps_digest(pairs)} if stored else {}),
            "protocol": PROTOCOL,
            "pixelgate": library_versions()["pixelgate"],
            "model": model,
        }

    def _maps_digest(self, pairs: Sequence[Pair]) -> str:
        assert self.stored_maps is not None
        stems = [Path(pair.name).stem for pair in pairs]
        files = [self.stored_maps / f"{stem}_{name}{self.size}.png" for stem in stems for name in MAPS]
        return digest([sha256_file(file) for file in files])

    def manifest(self, pairs: Sequence[Pair], settings: Mapping[str, Any]) -> Manifest:
        """The manifest of a run that is about to start; every file is hashed."""
        originals = {}
        for pair in pairs:
            line_art, ground_truth = pair.digests()
            originals[pair.name] = Original(pair.source, ground_truth, line_art)
        dirs = {alpha_dir_name(alpha): alpha for alpha in self.alphas}
        return Manifest(dirs, originals, settings, self.meta)


def protocol_for(backend: str) -> Protocol:
    """The Hint-AUC protocol as one of its backends computes it.

    Args:
        backend: ``paper``, ``pillow``, or ``auto``: ``paper`` where torch and torchvision are installed.

    Raises:
        ProtocolError: there is no such backend.
        MissingExtra: ``paper`` without its packages.
    """
    return choose_backend(load_protocol(PROTOCOL), backend)


def stated(meta: Mapping[str, object]) -> dict[str, str]:
    """What the user says of a run, as text; a checkpoint that is a file becomes its name and SHA-256."""
    texts = {str(key): str(value) for key, value in meta.items()}
    checkpoint = Path(texts.get("checkpoint", ""))
    if checkpoint.is_file():
        texts["checkpoint"] = f"{checkpoint.name} sha256:{sha256_file(checkpoint)}"
    return texts


def record(
    rules: Protocol,
    columns: Sequence[Column],
    settings: Mapping[str, Any],
    alphas: Sequence[float],
    meta: Mapping[str, str],
) -> dict[str, Any]:
    """All that decides the numbers, in plain values.

    Args:
        rules: the protocol.
        columns: the metrics computed.
        settings: a manifest's settings.
        alphas: the grid.
        meta: what the user said of the run.
    """
    metrics = [column.entry.id for column in columns]
    departures = _departures(rules, metrics, settings, alphas)
    return {
        "protocol": rules.id,
        "version": rules.version,
        "params_hash": rules.params_hash,
        "paper_protocol": not departures,
        "departures": departures,
        "paper_grid": tuple(alphas) == PAPER_GRID,
        "alphas": list(alphas),
        **{key: value for key, value in settings.items() if key not in ("protocol", "pixelgate")},
        "metrics": metrics,
        "backend": {"name": rules.backend, **fingerprint(rules.backend)},  # type: ignore[arg-type]
        "metric_backends": {column.entry.id: dict(column.scorer.fingerprint) for column in columns},
        "aggregation": "trapezoid over the ratios of the means over images",
        "meta": dict(meta),
        "not_stated": [key for key in CHECKLIST if key not in meta],
        "versions": library_versions(),
    }


def hint_counts(counts: Mapping[str, Mapping[str, int]], bare: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The part of the record that tells of regions and hints.

    Args:
        counts: file name -> `region_counts`.
        bare: ratio's directory name -> images that keep no hint at that ratio, though it is above 0.
    """
    return {
        "regions": {name: dict(values) for name, values in counts.items()},
        "failed_regions": sum(values["failed_regions"] for values in counts.values()),
        "images_without_hints": {directory: list(names) for directory, names in bare.items() if names},
    }


def region_counts(hints: Hints) -> dict[str, int]:
    """How many regions an image has, and in how many no path was found."""
    return {"regions": hints.n_regions, "failed_regions": hints.failed_regions}


def _departures(
    rules: Protocol, metrics: Sequence[str], settings: Mapping[str, Any], alphas: Sequence[float]
) -> list[str]:
    """Where a run differs from the paper's; tables may be compared only where this is empty."""
    found = []
    if tuple(alphas) != PAPER_GRID:
        found.append("the ratios are not the paper's")
    if settings.get("hint_maps") != "stored":
        # Hints made anew differ from the stored maps by more than their paths: IoU 0.32 to 0.64 by the authors' count.
        found.append("the hints were made anew and are not the paper's stored maps")
        if settings.get("dot_method") != "medoid":
            found.append(f"dot_method is {settings.get('dot_method')!r}")
    paper = {"hint_map_size": PAPER_SIZE, "order": "size"}
    found += [f"{key} is {settings.get(key)!r}" for key, value in paper.items() if settings.get(key) != value]
    if settings.get("oracle"):
        found.append("the method is an oracle: it sees the ground truth")
    if rules.backend != "paper":
        found.append(f"the backend is {rules.backend!r}")
    left_out = [metric.id for metric in rules.metrics if metric.id not in metrics]
    if left_out:
        found.append(f"left out: {', '.join(left_out)}")
    return found


def _or(words: Sequence[str]) -> str:
    return " or ".join(repr(word) for word in words)
