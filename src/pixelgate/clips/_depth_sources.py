"""The files that a clip's depth is scored from, opened together and walked frame by frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.clips.evaluator import ClipFiles
from pixelgate.errors import InputError, Problem
from pixelgate.io.depth import ARRAYS, DepthFile, open_depth
from pixelgate.io.files import sha256_file
from pixelgate.io.fill import FillGeometry, fill_coverage, fill_geometry, fill_resize
from pixelgate.io.masks import MaskFile, open_masks
from pixelgate.io.video import probe_video
from pixelgate.metrics.depth import Pair
from pixelgate.metrics.person_mask import PersonMask, person_mask
from pixelgate.records import VideoRecord

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class PersonFrame:
    """What `pixelgate.metrics.person_mask.PersonMask` says of one frame, without the mask."""

    persons: int
    area_union: int
    area_filled: int
    area_dilated: int
    radius: int


@dataclass(frozen=True)
class Sources:
    """The opened files of one clip.

    Attributes:
        record: of the generated clip.
        prediction, condition, masks: what is compared; masks None where persons are scored too.
        params: the group's parameters.
        persons: frame -> what was masked there; filled by `pairs`.
    """

    record: VideoRecord
    prediction: DepthFile
    condition: DepthFile
    masks: MaskFile | None
    params: Mapping[str, Any]
    persons: dict[int, PersonFrame] = field(default_factory=dict)

    @property
    def lengths(self) -> dict[str, int]:
        """Frames of each clip that is walked."""
        masks = {} if self.masks is None else {"person masks": self.masks.length}
        return {"prediction": self.prediction.length, "condition": self.condition.length, **masks}

    @property
    def frames(self) -> int:
        """How many frames are scored: as many as the shortest clip has."""
        return min(self.lengths.values())

    def pairs(self) -> Iterator[Pair]:
        """The frames to compare, from the start, at the prediction's size."""
        geometry = fill_geometry(self.condition.size, self.prediction.size)
        clips = zip(self.prediction.frames(), self.condition.frames(), self._excluded(), strict=False)
        for prediction, condition, excluded in clips:
            yield prediction, condition if geometry.unchanged else fill_resize(condition, geometry), excluded

    def unscored(self) -> Iterator[NDArray[Any]]:
        """The prediction's frames past the scored ones."""
        if self.prediction.length == self.frames:
            return iter(())
        return islice(self.prediction.frames(), self.frames, None)

    def _excluded(self) -> Iterator[Bools | None]:
        if self.masks is None:
            for _ in range(self.frames):
                yield None
            return
        geometry = fill_geometry(self.masks.size, self.prediction.size)
        for index, masks in enumerate(self.masks.frames()):
            found = self._processed(masks, geometry)
            self.persons[index] = PersonFrame(
                found.persons, found.area_union, found.area_filled, found.area_dilated, found.radius
            )
            yield found.mask

    def _processed(self, masks: Bools, geometry: FillGeometry) -> PersonMask:
        if not geometry.unchanged:
            resized = np.zeros((len(masks), geometry.target_height, geometry.target_width), dtype=np.bool_)
            for index, mask in enumerate(masks):
                resized[index] = fill_coverage(mask, geometry)
            masks = resized
        return person_mask(masks, holes=self.params["fill_holes"], dilation=self.params["person_mask_dilation"])


def open_sources(files: ClipFiles, params: Mapping[str, Any]) -> Sources:
    """Open what a clip is scored from; the generated clip is decoded once, for its record.

    Raises:
        InputError: all problems of all files; see `pixelgate.clips.depth.DepthEvaluator.evaluate`.
    """
    calls: dict[str, Callable[[], Any]] = {
        "record": partial(_record, files.generated),
        "prediction": lambda: open_depth(_predicted(files, "depth")),
        "condition": lambda: open_depth(_condition(files)),
    }
    if params["person_mask"]:
        calls["masks"] = lambda: open_masks(_predicted(files, "person_masks"))
    opened: dict[str, Any] = {}
    problems: list[Problem] = []
    for name, call in calls.items():
        try:
            opened[name] = call()
        except InputError as error:
            problems.extend(error.problems)
    if {"record", "prediction"} <= set(opened) and opened["record"].frames != opened["prediction"].length:
        problems.append(_other_length(opened["prediction"], opened["record"], files))
    if {"record", "masks"} <= set(opened) and opened["record"].frames != opened["masks"].length:
        problems.append(_other_masks(opened["masks"], opened["record"], files))
    if problems:
        raise InputError(problems)
    return Sources(opened["record"], opened["prediction"], opened["condition"], opened.get("masks"), params)


def _record(path: Path) -> VideoRecord:
    if path.suffix.lower() not in ARRAYS:
        return probe_video(path)
    # Only a condition that stands in for the clip, to be scored against itself, is an array.
    clip, digest = open_depth(path), sha256_file(path)
    return VideoRecord(str(path), digest, digest, clip.width, clip.height, frames=clip.length)


def _predicted(files: ClipFiles, kind: str) -> Path:
    paths = files.predictions.get(kind, ())
    if paths:
        return paths[0]
    found = f"has no prediction of the kind {kind}."
    raise InputError(
        Problem(files.sample, "missing-prediction", found, f"Put it into predictions/{kind}/ beside the clips.")
    )


def _condition(files: ClipFiles) -> Path:
    if "reference" in files.references:
        return files.references["reference"]
    found = "has no depth that it was conditioned on."
    raise InputError(Problem(files.sample, "missing-reference", found, "Put it into the data set's depth/ folder."))


def _other_masks(masks: MaskFile, record: VideoRecord, files: ClipFiles) -> Problem:
    found = f"holds masks of {masks.length} frames; the clip {files.generated} has {record.frames}."
    return Problem(str(masks.path), "prediction-length", found, "Segment people in this very clip, in every frame.")


def _other_length(prediction: DepthFile, record: VideoRecord, files: ClipFiles) -> Problem:
    found = f"holds the depth of {prediction.length} frames; the clip {files.generated} has {record.frames}."
    mend = "Predict depth again from this very clip, every frame of it."
    return Problem(str(prediction.path), "prediction-length", found, mend)
