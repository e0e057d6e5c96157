"""The masks of persons that depth leaves out, made on their own: to look at, and for tools that take them as they are.

Of each clip the masks of all persons are merged, holes filled and the result widened (`pixelgate.metrics.person_mask`),
at the masks' own size. The depth evaluator of this package takes the masks before these steps and does them itself.

Source: FlexBench evaluation document, the reusable masks, diagnostics and videos of depth_person_masks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate import __version__
from pixelgate.errors import InputError, Problem
from pixelgate.flexbench._mask_writing import FALLBACK_FPS, Sink, mask_array, mask_video, overlay_video
from pixelgate.io.depth import ARRAYS, VIDEOS
from pixelgate.io.files import atomic_write, sha256_file
from pixelgate.io.masks import MaskFile, open_masks
from pixelgate.metrics.person_mask import DILATION, PersonMask, dilation_radius, person_mask
from pixelgate.records import Note, VideoRecord

VIDEO_FOLDER = "video"

Progress = Callable[[int, int, str], None]
"""Told after each clip: how many are done, of how many, and the clip's id."""


@dataclass(frozen=True)
class MaskSettings:
    """What is done to the masks.

    Attributes:
        dilation: share of the shorter side by which masks are widened; 0 for not at all.
        holes: whether enclosed holes are filled.
        save_video: whether to write videos of the masks, and of the clips with them.
    """

    dilation: float = DILATION
    holes: bool = True
    save_video: bool = False


@dataclass(frozen=True)
class ClipMasks:
    """What was written for one clip.

    Attributes:
        sample: its id.
        files: the array (``mask``, bool, frames x height x width), the diagnostics and the videos.
        diagnostics: the content of the JSON file.
    """

    sample: str
    files: tuple[Path, ...]
    diagnostics: dict[str, Any]


@dataclass(frozen=True)
class MasksWritten:
    """What a run over a folder did.

    Attributes:
        clips: what was written, by id.
        problems: what is wrong with the clips that nothing was written for.
        notes: what a reader must know, such as a clip that is not there.
    """

    clips: tuple[ClipMasks, ...]
    problems: tuple[Problem, ...]
    notes: tuple[Note, ...]


def write_person_masks(
    instances: Path,
    output: Path,
    settings: MaskSettings = MaskSettings(),
    *,
    generated: Path | None = None,
    progress: Progress | None = None,
) -> MasksWritten:
    """Process the masks of all clips of a folder.

    Writes ``<id>.npz`` and ``<id>.json`` into `output` and, where videos are asked for, ``video/<id>_mask.mp4`` (white
    where masked) and, if the clip is there, ``video/<id>_overlay.mp4`` (the clip, masked pixels half red). A frame is
    held at a time. A clip with a problem does not keep the others from being written.

    Args:
        instances: holds ``<id>.npz``, ``.npy`` or a video for each clip, see `pixelgate.io.masks.open_masks`.
        output: another folder, made if it is not there; files of the same names are replaced.
        settings: what is done.
        generated: holds the clips, ``<id>.mp4`` or another video; their frames are compared with the masks' then.
        progress: called after each clip.

    Raises:
        InputError: about the whole run: ``not-a-folder``, ``no-masks``, ``duplicate-sample``, ``output-is-input``,
            ``person-mask-dilation``.
        MissingExtra: a video is to be read or written, and PyAV is not installed.
    """
    dilation_radius(settings.dilation, 1, 1)
    notes: list[Note] = []
    found = _instance_files(instances, notes)
    if output.exists() and output.resolve() == instances.resolve():
        mend = "Name another folder, so that the masks of each person are kept."
        raise InputError(Problem(str(output), "output-is-input", "is the folder that the masks are read from.", mend))
    clips = {} if generated is None else _by_stem(generated, VIDEOS)
    written: list[ClipMasks] = []
    problems: list[Problem] = []
    for done, (sample, path) in enumerate(found.items(), 1):
        clip = clips.get(sample)
        if generated is not None and clip is None:
            notes.append(Note(sample, "missing-output", f"{generated} has no clip of this id"))
        try:
            written.append(_Clip(sample, path, clip, output, settings, notes).write())
        except InputError as error:
            problems.extend(error.problems)
        if progress is not None:
            progress(done, len(found), sample)
    return MasksWritten(tuple(written), tuple(problems), tuple(notes))


def _instance_files(folder: Path, notes: list[Note]) -> dict[str, Path]:
    found = _by_stem(folder, (*ARRAYS, *VIDEOS))
    if not found:
        mend = f"Name the folder with <id>.npz for each clip, or {', '.join((*ARRAYS, *VIDEOS))}."
        raise InputError(Problem(str(folder), "no-masks", "holds no masks.", mend))
    others = sorted(path.name for path in _files(folder) if path not in found.values())
    if others:
        notes.append(Note(str(folder), "no-mask-file", f"not read: {', '.join(others)}"))
    return found


def _by_stem(folder: Path, suffixes: tuple[str, ...]) -> dict[str, Path]:
    """The files of these kinds by their stems, sorted; two of one stem are an error."""
    if not folder.is_dir():
        found = "is no folder." if folder.exists() else "does not exist."
        raise InputError(Problem(str(folder), "not-a-folder", found, "Name a folder of files, one for each clip."))
    stems: dict[str, list[Path]] = {}
    for path in sorted(_files(folder)):
        if path.suffix.lower() in suffixes:
            stems.setdefault(path.stem, []).append(path)
    problems = [
        Problem(str(paths[1]), "duplicate-sample", f"is of the same id as {paths[0]}.", "Keep one of them.")
        for paths in stems.values()
        if len(paths) > 1
    ]
    if problems:
        raise InputError(problems)
    return {stem: paths[0] for stem, paths in stems.items()}


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))


@dataclass(frozen=True)
class _Clip:
    """One clip on its way from its masks to its files."""

    sample: str
    path: Path
    clip: Path | None
    output: Path
    settings: MaskSettings
    notes: list[Note]
    _frames: list[PersonMask] = field(default_factory=list)
    _persons: list[int] = field(default_factory=list)

    def write(self) -> ClipMasks:
        masks = open_masks(self.path)
        record = None if self.clip is None else self._checked_clip(self.clip, masks)
        fps = self._fps(masks, record)
        array, text = (self.output / f"{self.sample}{suffix}" for suffix in (".npz", ".json"))
        videos = self._videos(record)
        with ExitStack() as stack:
            sinks: list[Sink] = [stack.enter_context(mask_array(array, (masks.length, *masks.size)))]
            if "mask" in videos:
                sinks.append(stack.enter_context(mask_video(videos["mask"], fps)))
            if "overlay" in videos and self.clip is not None:
                sinks.append(stack.enter_context(overlay_video(videos["overlay"], fps, self.clip, masks.size)))
            for mask in self._processed(masks):
                for sink in sinks:
                    sink(mask)
        diagnostics = self._diagnostics(masks, record, fps if videos else None)
        atomic_write(text, json.dumps(diagnostics, indent=2, allow_nan=False) + "\n")
        return ClipMasks(self.sample, (array, text, *videos.values()), diagnostics)

    def _checked_clip(self, clip: Path, masks: MaskFile) -> VideoRecord:
        from pixelgate.io.video import probe_video

        record = probe_video(clip)
        if record.frames != masks.length:
            found = f"holds masks of {masks.length} frames; the clip {clip} has {record.frames}."
            mend = "Segment this very clip, every frame of it."
            raise InputError(Problem(str(self.path), "prediction-length", found, mend))
        if (record.height, record.width) != masks.size:
            message = (
                f"the masks are {masks.width} x {masks.height} pixels and the clip {record.width} x {record.height}; "
                "they were processed at their own size"
            )
            self.notes.append(Note(self.sample, "mask-size", message))
        return record

    def _fps(self, masks: MaskFile, record: VideoRecord | None) -> float:
        known = [source.fps for source in (record, masks.record) if source is not None and source.fps]
        return known[0] if known else FALLBACK_FPS

    def _videos(self, record: VideoRecord | None) -> dict[str, Path]:
        if not self.settings.save_video:
            return {}
        kinds = ("mask",) if record is None else ("mask", "overlay")
        return {kind: self.output / VIDEO_FOLDER / f"{self.sample}_{kind}.mp4" for kind in kinds}

    def _processed(self, masks: MaskFile) -> Iterator[NDArray[np.bool_]]:
        for persons in masks.frames():
            found = person_mask(persons, holes=self.settings.holes, dilation=self.settings.dilation)
            self._persons.append(int(persons.any(axis=(1, 2)).sum()))
            yield found.mask
            self._frames.append(_without_mask(found))

    def _diagnostics(self, masks: MaskFile, record: VideoRecord | None, fps: float | None) -> dict[str, Any]:
        areas = {f"area_{step}": [getattr(f, f"area_{step}") for f in self._frames] for step in _STEPS}
        empty = [index for index, frame in enumerate(self._frames) if frame.empty]
        return {
            "sample": self.sample,
            "frames": masks.length,
            "height": masks.height,
            "width": masks.width,
            "masks_per_frame": masks.persons,
            "fill_holes": self.settings.holes,
            "dilation": self.settings.dilation,
            "radius": self._frames[0].radius,
            "masks_not_empty": self._persons,
            **areas,
            "fraction": [area / (masks.height * masks.width) for area in areas["area_dilated"]],
            "frames_without_person": empty,
            "video_fps": fps,
            "source": {"file": str(self.path), "sha256": sha256_file(self.path)},
            "clip": None if record is None else _clip_data(record),
            "pixelgate": __version__,
        }


_STEPS = ("union", "filled", "dilated")


def _without_mask(found: PersonMask) -> PersonMask:
    """The counts alone, so that a long clip's masks do not stay in memory."""
    empty = np.zeros((0, 0), dtype=np.bool_)
    return PersonMask(empty, found.persons, found.area_union, found.area_filled, found.area_dilated, found.radius)


def _clip_data(record: VideoRecord) -> dict[str, Any]:
    return {
        "file": record.file,
        "sha256": record.sha256,
        "frames": record.frames,
        "height": record.height,
        "width": record.width,
        "fps": record.fps,
    }
