"""What networks predict from a clip, as files: the border between the networks and the numbers.

Whoever runs a network writes its prediction where `PredictionFolder` looks; evaluators read it from there. A source
that computes what is missing implements `PredictionSource` and writes the same files.

| kind | file of clip ``<id>.mp4`` | content |
| --- | --- | --- |
| ``depth`` | ``<id>.npz``, ``.npy``, ``.mp4``, ``<id>_depths.npz`` | ``depth`` (T,H,W), of any scale and shift |
| ``person_masks`` | ``<id>.npz``, ``.npy``, ``.mp4`` | ``masks`` (N,T,H,W) per person, or ``mask`` (T,H,W) of all |
| ``pose`` | ``<id>.npy``, ``<id>_pose.npy``; scores in ``<id>_scores.npy`` | see `pixelgate.io.keypoints` |
| ``camera`` | ``<id>.npz``, ``<id>_droid.npz``, ``<id>_sgd_cvd_hr.npz`` | ``cam_c2w`` (T,4,4), camera to world |
| ``subject`` | ``<id>.npz`` | ``clip_frames`` (T,D), ``clip_reference`` (D), ``dino_frames``, ``dino_reference`` |
| ``text`` | ``<id>.npz`` | ``video`` (D) and ``text`` (D), ViCLIP; ``prompt``, the text that was used |
| ``vbench`` | ``<id>.npz``, or ``*_eval_results.json`` of a VBench run | see `pixelgate.clips.vbench` |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from pixelgate.errors import InputError, Problem
from pixelgate.tracks.owning import own_files

FOLDER = "predictions"
"""Name of the folder beside the generated clips."""

NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "depth": ("{id}.npz", "{id}.npy", "{id}.mp4", "{id}_depths.npz"),
        "person_masks": ("{id}.npz", "{id}.npy", "{id}.mp4"),
        "pose": ("{id}.npy", "{id}_pose.npy"),
        "camera": ("{id}.npz", "{id}_droid.npz", "{id}_sgd_cvd_hr.npz"),
        "subject": ("{id}.npz",),
        "text": ("{id}.npz",),
        "vbench": ("{id}.npz",),
    }
)
"""Kind -> the names that a clip's prediction may have; the first that is there counts."""

VBENCH_RESULTS = "*_eval_results.json"

_MADE_BY = {
    "depth": "Video-Depth-Anything",
    "person_masks": "SAM 3.1, prompted with 'person'",
    "pose": "DWPose",
    "camera": "MegaSaM",
    "subject": "CLIP ViT-B/32 and DINO ViT-B/16",
    "text": "ViCLIP",
    "vbench": "VBench",
}


class PredictionSource(Protocol):
    """Where the predictions of generated clips come from."""

    def find(self, kind: str, sample: str, clip: Path) -> tuple[Path, ...]:
        """The files that hold a prediction.

        Args:
            kind: a key of `NAMES`.
            sample: the sample's id.
            clip: the generated clip.

        Raises:
            InputError: rule ``missing-prediction``; the mend says what makes it and where it belongs.
        """

    def has(self, kind: str) -> bool:
        """Whether any prediction of that kind is at hand or can be made."""


@dataclass(frozen=True)
class PredictionFolder:
    """Predictions on the disk, ``<root>/<kind>/``.

    Attributes:
        root: the folder; ``predictions`` beside the clips unless a run names another.
        places: kinds that lie elsewhere: one folder of files named as in ``<root>/<kind>/``, or the files themselves
            where they hold the prediction of every clip, as a VBench run's results do.
        samples: ids of all samples, to tell ``<id>_pose.npy`` from a clip that is itself called so.
    """

    root: Path
    places: Mapping[str, tuple[Path, ...]] = field(default_factory=dict, hash=False)
    samples: frozenset[str] = frozenset()

    def find(self, kind: str, sample: str, clip: Path) -> tuple[Path, ...]:
        """See `PredictionSource.find`."""
        if self._files(kind):
            return self._files(kind)
        folder = self._folder(kind)
        names = own_files(sample, NAMES[kind], lambda name: (folder / name).is_file(), self.samples)
        found = [folder / name for name in names]
        results = tuple(sorted(folder.glob(VBENCH_RESULTS))) if kind == "vbench" else ()
        if len(found) > 1 or (found and results):
            raise InputError(_twice(kind, sample, [*found, *results]))
        if found:
            scores = folder / f"{sample}_scores.npy"
            return (found[0], scores) if kind == "pose" and scores.is_file() else (found[0],)
        if results:
            return results
        raise InputError(self._missing(kind, sample))

    def has(self, kind: str) -> bool:
        """See `PredictionSource.has`."""
        if self._files(kind):
            return True
        folder = self._folder(kind)
        return folder.is_dir() and any(entry.is_file() for entry in folder.iterdir())

    def _files(self, kind: str) -> tuple[Path, ...]:
        places = self.places.get(kind, ())
        return () if len(places) == 1 and places[0].is_dir() else places

    def _folder(self, kind: str) -> Path:
        return self.places[kind][0] if self.places.get(kind) else self.root / kind

    def _missing(self, kind: str, sample: str) -> Problem:
        wanted = " or ".join(name.format(id=sample) for name in NAMES[kind])
        return Problem(
            str(self._folder(kind)),
            "missing-prediction",
            f"there is no {kind} prediction of the clip {sample!r}.",
            f"Run {_MADE_BY[kind]} on the clip and write {wanted} there.",
        )


def _twice(kind: str, sample: str, found: Sequence[Path]) -> Problem:
    names = list(dict.fromkeys(path.name for path in found))
    if len(names) == 1:
        text = f"{names[0]} may be the {kind} prediction of {sample!r} or of another clip."
        return Problem(str(found[0]), "prediction-twice", text, "Give both clips files of their own.")
    text = f"the clip {sample!r} has several {kind} predictions: {', '.join(names)}."
    return Problem(str(found[0].parent), "prediction-twice", text, "Keep the one that is meant.")
