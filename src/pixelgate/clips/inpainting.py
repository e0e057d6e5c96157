"""Inpainting fidelity: how well a generated clip keeps the region that it was not asked to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from pixelgate.clips._given import group_metrics
from pixelgate.clips._inpainting_pass import COLUMNS, Pass, make_pass
from pixelgate.clips.evaluator import ClipFiles, Evaluation
from pixelgate.errors import InputError, Problem
from pixelgate.io.video import VideoReader, open_video
from pixelgate.metrics.inpainting import NAMES, Aggregate, FrameScores, aggregate
from pixelgate.metrics.lpips import MIN_SIDE as LPIPS_SIDE
from pixelgate.metrics.registry import Measurement, Runtime
from pixelgate.metrics.ssim import MIN_SIDE as SSIM_SIDE
from pixelgate.records import VideoRecord

GROUP = "inpainting"
PREFIX = "inpaint"

RATE_SLACK = 0.01
"""Share by which the frame rates of the generated clip and its reference may differ."""

_WANTED = {"reference": "clip to be kept outside the region", "mask": "mask, a clip that is white where to inpaint"}
Records = Mapping[str, VideoRecord]

ASPECT_SLACK = 0.03
"""By which part proportions may differ, for sizes rounded to whole blocks of pixels."""


@dataclass(frozen=True)
class InpaintingEvaluator:
    """Scores a generated clip against the columns ``reference`` and ``mask``, frame by frame.

    The mask is thresholded at its own size and then brought to the generated size, so that a pixel that a masked one
    touches is masked; the reference is resized to fill and cropped. Frames past the shortest of the three clips are not
    scored. Memory does not grow with the clips' length.

    Beside the scores, faults are looked for that no score names: rules ``frame-rate``, ``dropped-frame``,
    ``repeated-frame``, ``channels-swapped``, ``range-mixup``, ``rotated`` and ``mirrored`` among the deviations.
    """

    group: str = field(default=GROUP, init=False)

    def needs(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        """Nothing: pixels speak for themselves."""
        return ()

    def evaluate(
        self, files: ClipFiles, params: Mapping[str, Any], metrics: Sequence[str], runtime: Runtime
    ) -> Evaluation:
        """See `Evaluator.evaluate`.

        Raises:
            InputError: what `open_video` raises; ``missing-reference`` where a column is not there; ``mask-inverted``
                where the mask keeps nothing but the black box of the reference.
            ProtocolError: a parameter or a metric that the group does not have.
            MissingExtra, WeightsError: LPIPS is asked for and cannot run here.
        """
        names = group_metrics(PREFIX, metrics, NAMES)
        one_pass = make_pass(params, names, runtime)
        with ExitStack() as stack:
            clips = open_clips(files, stack)
            frames = one_pass.run(clips)
            records = {name: reader.record for name, reader in clips.items()}
        _refuse_mask(one_pass, records, files)
        found = aggregate(frames)
        return Evaluation(
            values={f"{PREFIX}_{name}": _measured(name, found, records["generated"]) for name in names},
            record=records["generated"],
            details=_details(frames, found, records, names),
            deviations=tuple(_deviations(records, one_pass, found.frames)),
            notes=tuple(_notes(records, found, one_pass, names)),
        )

    def itself(self, files: ClipFiles) -> ClipFiles | None:
        """The reference in the place of the generated clip."""
        reference = files.references.get("reference")
        return None if reference is None else replace(files, generated=reference)


EVALUATOR = InpaintingEvaluator()


def open_clips(files: ClipFiles, stack: ExitStack) -> dict[str, VideoReader]:
    """The three readers; every file that cannot be opened is listed."""
    clips: dict[str, VideoReader] = {}
    problems: list[Problem] = []
    paths = {**files.references, "generated": files.generated}
    for name in COLUMNS:
        path = paths.get(name)
        if path is None:
            found = f"the data set has no {_WANTED[name]}, for the sample {files.sample!r}."
            problems.append(Problem("", "missing-reference", found, f"Add it as the track's column {name!r}."))
            continue
        try:
            clips[name] = stack.enter_context(open_video(path))
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    return clips


def _refuse_mask(one_pass: Pass, records: Records, files: ClipFiles) -> None:
    path, mask, reference = str(files.references["mask"]), records["mask"], records["reference"]
    if _aspect_gap(mask, reference) > ASPECT_SLACK:
        found = f"is {mask.width} x {mask.height} pixels and its reference {reference.width} x {reference.height}"
        mend = "Make it at the reference's size: with other proportions it would mask another place."
        raise InputError(Problem(path, "mask-size", f"{found}.", mend))
    levels = one_pass.levels
    if levels.between > levels.white:
        found = "is grey or coloured where it is not black: more pixels are between black and white than white."
        raise InputError(Problem(path, "mask-levels", found, "Paint the region to inpaint white, 255 in all channels."))
    evidence = one_pass.diagnosis.inverted_mask()
    if evidence is not None:
        mend = "White is the region to inpaint and black is kept: invert the mask."
        raise InputError(Problem(path, "mask-inverted", f"{evidence}.", mend))


def _aspect_gap(first: VideoRecord, second: VideoRecord) -> float:
    return abs(first.width * second.height / (second.width * first.height) - 1.0)


def _measured(name: str, found: Aggregate, record: VideoRecord) -> Measurement:
    value = found.mean[name]
    return Measurement(value, None if value is not None else _reason(name, found, record))


def _reason(name: str, found: Aggregate, record: VideoRecord) -> str:
    if not found.frames_with_value["mse"]:
        return "every frame fully masked"
    smallest = {"ssim": SSIM_SIDE, "lpips": LPIPS_SIDE}[name]
    if min(record.width, record.height) < smallest:
        return f"a side is below {smallest} pixels"
    return "no frame has an 11 x 11 window that is wholly kept"


def _details(frames: Sequence[FrameScores], found: Aggregate, records: Records, names: Sequence[str]) -> dict[str, Any]:
    per_frame = {name: [getattr(frame, name) for frame in frames] for name in names}
    return {
        "frames_scored": found.frames,
        "frames_with_value": {name: found.frames_with_value[name] for name in names},
        "psnr_capped_frames": found.psnr_capped_frames,
        "ssim_windows": [frame.ssim_windows for frame in frames],
        "per_frame": per_frame,
        "lengths": {name: record.frames for name, record in records.items()},
        "sizes": {name: [record.height, record.width] for name, record in records.items()},
        "fps": {name: record.fps for name, record in records.items()},
    }


def _deviations(records: Records, one_pass: Pass, scored: int) -> Iterator[tuple[str, str]]:
    lengths = {name: records[name].frames for name in COLUMNS}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        yield "truncated", f"only the first {scored} frames were scored; the clips' lengths are: {told}"
    clip, reference = records["generated"].fps, records["reference"].fps
    if _differ(clip, reference) > RATE_SLACK:
        yield (
            "frame-rate",
            f"the generated clip has {clip:g} frames per second, its reference {reference:g}: frames of one index show "
            "different times",
        )
    yield from one_pass.diagnosis.findings(lengths["reference"] - lengths["generated"])


def _notes(records: Records, found: Aggregate, one_pass: Pass, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    clip, reference = records["generated"], records["reference"]
    if _aspect_gap(clip, reference) > ASPECT_SLACK:
        yield (
            "cropped",
            f"the reference of {reference.width} x {reference.height} pixels was cropped to the clip's proportions, "
            f"{clip.width} x {clip.height}",
        )
    if not one_pass.levels.white:
        yield "mask-empty", "the mask is black in every frame: the whole frame was scored"
    yield from _colour_notes(records["generated"], records["reference"])
    yield from _rate_notes(records)
    for name in ("reference", "mask"):
        for note in records[name].notes:
            if note.rule != "untagged-colour":
                yield note.rule, f"{name}: {note.message}"
    if found.psnr_capped_frames and "psnr" in names:
        yield "psnr-capped", f"{found.psnr_capped_frames} of {found.frames} frames are at the cap of PSNR"
    for name in names:
        without = found.frames - found.frames_with_value[name]
        if 0 < without < found.frames:
            yield "frames-without-value", f"{name}: {without} of {found.frames} frames have none and do not count"


def _colour_notes(clip: VideoRecord, reference: VideoRecord) -> Iterator[tuple[str, str]]:
    untagged = [any(note.rule == "untagged-colour" for note in record.notes) for record in (clip, reference)]
    if untagged[0] != untagged[1]:
        which = "generated clip" if untagged[0] else "reference"
        yield "untagged-colour-one-side", f"only the {which} does not say which colour matrix and value range it has"
    elif (clip.matrix, clip.range) != (reference.matrix, reference.range):
        yield (
            "colour-tags-differ",
            f"generated: matrix {clip.matrix}, range {clip.range}; reference: matrix {reference.matrix}, range "
            f"{reference.range}; each was honoured",
        )


def _rate_notes(records: Records) -> Iterator[tuple[str, str]]:
    clip, reference, mask = (records[name].fps for name in COLUMNS)
    if 1e-6 < _differ(clip, reference) <= RATE_SLACK:
        yield "fps-mismatch", f"the generated clip has {clip:.6g} frames per second, its reference {reference:.6g}"
    if _differ(mask, reference) > RATE_SLACK:
        yield (
            "mask-frame-rate",
            f"the mask has {mask:g} frames per second, the reference {reference:g}; frames are paired by index",
        )


def _differ(first: float | None, second: float | None) -> float:
    """By which share two rates differ; 0 where one is unknown."""
    return abs(first / second - 1.0) if first and second else 0.0
