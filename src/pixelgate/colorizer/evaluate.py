"""A Python function as the method: run it over the hint ratios and score what it gives.

House rule: pictures are RGB everywhere, as in the rest of this package. The reference library hands out BGR; its
functions run unchanged with ``channel_order="bgr"``, which turns every array that goes in and comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.colorizer.folder import RunFolder
from pixelgate.colorizer.record import Choices, hint_counts, protocol_for, record, region_counts, stated
from pixelgate.colorizer.result import ColorizerResult
from pixelgate.colorizer.sample import Colorizer, ColorizerError, Pair, PictureSource, Sample, pairs
from pixelgate.columns import Column, Settings, bind_columns
from pixelgate.errors import Problem
from pixelgate.hints import (
    PAPER_GRID,
    PAPER_SIZE,
    Hints,
    alpha_dir_name,
    check_alphas,
    generate_hints,
    read_stored_maps,
)
from pixelgate.metrics.registry import Runtime
from pixelgate.protocols import Protocol
from pixelgate.reading import Read
from pixelgate.records import ImageRecord, Note

Picture = NDArray[np.uint8]
Progress = Callable[[int, int, str], None]
"""Called with (predictions done, predictions in all, ``<ratio>/<name>``)."""


def evaluate_colorizer(
    model: Colorizer,
    samples: Iterable[tuple[PictureSource, PictureSource]],
    *,
    alphas: Iterable[float] = PAPER_GRID,
    hint_type: str = "scribble",
    metrics: Sequence[str] | None = None,
    backend: str = "auto",
    save_dir: Path | str | None = None,
    oracle: bool = False,
    size: int = PAPER_SIZE,
    path_method: str = "geodesic",
    dot_method: str = "medoid",
    tie_break: str = "stable",
    order: str = "size",
    stored_maps: Path | str | None = None,
    channel_order: str = "rgb",
    overwrite: bool = False,
    meta: Mapping[str, object] | None = None,
    runtime: Runtime | None = None,
    progress: Progress | None = None,
) -> ColorizerResult:
    """Run a colouriser on every sample at every hint ratio, and score it under the Hint-AUC protocol.

    Args:
        model: the function. It is called with a read-only mapping: ``line_art`` (uint8, H x W), ``hint_color`` (uint8,
            H x W x 3), ``hint_mask`` (uint8, H x W, 0 and 255), ``alpha``, ``hint_type``, ``index`` and ``name``, and
            nothing else; every array is a read-only copy made for this call. It returns uint8, H x W x 3.
        samples: (line art, ground truth): paths of pictures, or arrays as `pixelgate.io.any_image.as_rgb8` takes them.
            Line art becomes grey and is resized by area where its size is not the ground truth's.
        alphas: ratios, strictly increasing from 0 to 1; another grid than the paper's is recorded as such.
        hint_type: ``scribble`` or ``dot``.
        metrics: ids of the protocol's metrics; None computes all seven, an empty list none (with `save_dir`).
        backend: ``paper``, ``pillow``, or ``auto``: the first where torch and torchvision are installed.
        save_dir: keep the predictions here, one directory per ratio, with a manifest. An aborted run of the same
            samples and choices is taken up again; any other content is refused.
        oracle: also give ``ground_truth``, ``hints`` and ``n_regions``; the result is marked.
        size, path_method, dot_method, tie_break, order: see `pixelgate.hints.generate_hints`.
        stored_maps: folder with stored hint maps, ``<prediction's stem>_<map><size>.png``, instead of new ones.
        channel_order: ``rgb`` or ``bgr``, of all arrays given, handed out and taken back, those of an oracle's hints
            included; files and saved predictions are what they are.
        overwrite: remove an earlier run's predictions from `save_dir`.
        meta: what the reporting checklist asks for: ``checkpoint`` (a file is hashed), ``seed``, ``split``,
            ``line_art_source``, and what else should stand in the record.
        runtime: device, weights and threads of learned metrics.
        progress: see `Progress`.

    Raises:
        ColorizerError: samples, options, or what the function gave back (an `InputError` and a `ValueError`).
        InputError: a picture cannot be read, the ratios are wrong, or `save_dir` holds something else.
        ProtocolError, MissingExtra, WeightsError: a metric or backend cannot run here; before anything is computed.

    What the function raises comes through, with a note that names sample and ratio. Source: Hint-AUC (hintauc 0.3.3).
    """
    choices = Choices(
        alphas=check_alphas(alphas),
        hint_type=hint_type,
        size=size,
        path_method=path_method,
        dot_method=dot_method,
        tie_break=tie_break,
        order=order,
        oracle=oracle,
        channel_order=channel_order,
        stored_maps=None if stored_maps is None else Path(stored_maps),
        meta=stated(meta or {}),
    )
    choices.check()
    scoring = Scoring.start(backend, metrics, runtime)
    if save_dir is None and not scoring.columns:
        raise ColorizerError(_nothing_to_do())
    given = pairs(samples, channel_order)
    settings = choices.settings(model_name(model), given)
    folder = None
    if save_dir is not None:
        folder = RunFolder(save_dir, choices.manifest(given, settings), overwrite=overwrite)
    return _Run(model, choices, given, scoring, folder, progress).result(settings)


def model_name(model: object) -> str:
    """What a function calls itself, for the record: its qualified name, or its type's."""
    while isinstance(model, partial):
        model = model.func
    return str(getattr(model, "__qualname__", type(model).__qualname__))


@dataclass
class Scoring:
    """A run's metrics, bound, and the values computed so far.

    Attributes:
        rules: the protocol with its backend.
        columns: the metrics.
        values: metric id -> file name -> values in the order of the ratios.
        reasons: (metric id, file name, ratio's directory) -> why a value is None.
        notes: what the metrics noted.
    """

    rules: Protocol
    columns: list[Column]
    values: dict[str, dict[str, tuple[float | None, ...]]]
    reasons: dict[tuple[str, str, str], str] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    @classmethod
    def start(cls, backend: str, metrics: Sequence[str] | None, runtime: Runtime | None) -> Scoring:
        """Bind the metrics; `ProtocolError`, `MissingExtra` or `WeightsError` where one cannot run."""
        rules = protocol_for(backend)
        settings = Settings(tuple(metrics or ()), runtime or Runtime())
        columns = [] if metrics is not None and not metrics else bind_columns(rules, settings)
        return cls(rules, columns, {column.entry.id: {} for column in columns})

    def add(self, name: str, ground_truth: Read, predictions: Mapping[str, Picture]) -> None:
        """Score one sample's predictions.

        Args:
            name: its file name.
            ground_truth: what they are held against.
            predictions: ratio's directory -> uint8, height x width x 3, RGB.
        """
        reads = {directory: self.read(picture, ground_truth.record) for directory, picture in predictions.items()}
        for column in self.columns:
            prepared = column.prepare(ground_truth)
            row = []
            for directory, read in reads.items():
                measurement = column.compare(read, prepared)
                row.append(measurement.value)
                subject = f"{directory}/{name}, {column.entry.id}"
                self.notes += [Note(subject, rule, message) for rule, message in measurement.notes]
                if measurement.value is None:
                    self.reasons[column.entry.id, name, directory] = measurement.reason or "not computed"
            self.values[column.entry.id][name] = tuple(row)

    def read(self, picture: Picture, as_in: ImageRecord) -> Read:
        """A picture in memory, as metrics take it."""
        return Read(picture, as_in, backend=self.rules.backend, side=int(self.rules.size["side"]))


@dataclass
class _Run:
    """One evaluation, sample by sample; one sample's pictures are held at a time."""

    model: Colorizer
    choices: Choices
    pairs: tuple[Pair, ...]
    scoring: Scoring
    folder: RunFolder | None
    progress: Progress | None
    notes: list[Note] = field(default_factory=list)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    bare: dict[str, list[str]] = field(default_factory=dict)

    def result(self, settings: Mapping[str, Any]) -> ColorizerResult:
        """Run all samples; the folder's manifest is left as far as the run came, however it ends."""
        try:
            for index, pair in enumerate(self.pairs):
                self._sample(index, pair)
        except BaseException:
            if self.folder is not None:
                self.folder.write()
            raise
        reused = 0
        if self.folder is not None:
            self.folder.finish()
            reused = self.folder.reused
            self.notes += self.folder.notes
            self.notes += [_reused(self.folder)] if reused else []
        how = record(self.scoring.rules, self.scoring.columns, settings, self.choices.alphas, self.choices.meta)
        return ColorizerResult(
            self.choices.hint_type,
            self.choices.alphas,
            tuple(pair.name for pair in self.pairs),
            self.scoring.values,
            self.scoring.reasons,
            {**how, "hints": hint_counts(self.counts, self.bare), "reused_predictions": reused},
            (*self.notes, *self.scoring.notes),
            self.folder.folder if self.folder is not None else None,
        )

    def _sample(self, index: int, pair: Pair) -> None:
        ground_truth, read_record = pair.read_ground_truth()
        line_art, notes = pair.read_line_art(*ground_truth.shape[:2])
        hints = self._hints(pair, ground_truth)
        self.notes += [*read_record.notes, *notes]
        self.notes += [Note(pair.name, note.rule, note.message) for note in hints.notes]
        self.counts[pair.name] = region_counts(hints)
        for alpha in hints.empty_ratios(self.choices.alphas, self.choices.hint_type):
            self.bare.setdefault(alpha_dir_name(alpha), []).append(pair.name)
        if self.folder is not None:
            self.folder.describe(pair.name, read_record.pixels_sha256, self.counts[pair.name])
        sample = Sample(index, pair, line_art, ground_truth, hints)
        predictions = {alpha_dir_name(alpha): self._prediction(sample, alpha) for alpha in self.choices.alphas}
        self.scoring.add(pair.name, self.scoring.read(ground_truth, read_record), predictions)

    def _hints(self, pair: Pair, ground_truth: Picture) -> Hints:
        choices = self.choices
        orders = {"order": choices.order, "tie_break": choices.tie_break}
        if choices.stored_maps is not None:
            return read_stored_maps(choices.stored_maps, Path(pair.name).stem, choices.size, **orders)
        return generate_hints(
            ground_truth, choices.size, path_method=choices.path_method, dot_method=choices.dot_method, **orders
        )

    def _prediction(self, sample: Sample, alpha: float) -> Picture:
        directory, name = alpha_dir_name(alpha), sample.pair.name
        picture = self.folder.saved(directory, name) if self.folder is not None else None
        if picture is None:
            picture = self._call(sample, alpha)
            if self.folder is not None:
                self.folder.put(directory, name, picture)
        if self.progress is not None:
            place = self.choices.alphas.index(alpha) + 1
            steps = len(self.choices.alphas)
            self.progress(sample.index * steps + place, len(self.pairs) * steps, f"{directory}/{name}")
        return picture

    def _call(self, sample: Sample, alpha: float) -> Picture:
        try:
            output = self.model(sample.view(alpha, self.choices.hint_type, self.choices.oracle))
        except Exception as error:
            error.add_note(f"in sample {sample.pair.name} at ratio {alpha_dir_name(alpha)}")
            raise
        return sample.checked(output, alpha)


def _reused(folder: RunFolder) -> Note:
    message = (
        f"{folder.reused} predictions were taken from an earlier, aborted run; the function was not called for them."
    )
    return Note(str(folder.folder), "predictions-reused", message)


def _nothing_to_do() -> Problem:
    return Problem("", "nothing-to-do", "no metric is asked for and no save_dir is given.", "Give one of them.")
