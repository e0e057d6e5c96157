"""The group ``text``: how like its prompt a clip is, by ViCLIP.

The prediction of kind ``text`` is an npz file:

| key | shape | content |
| --- | --- | --- |
| ``video`` | (D,) | ViCLIP features of the clip, from its 8 middle frames |
| ``text`` | (D,) | ViCLIP features of the prompt |
| ``prompt`` | text, optional | the prompt that was used; it must be the caption |
| ``frame_indices`` | (n,) integers, optional | the frames that were used; they must be the middle ones |
| ``model`` | text, optional | which network and weights made it |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pixelgate.clips._given import caption_at, group_metrics, naming, reference, single_npz, texts
from pixelgate.clips.evaluator import ClipFiles, Evaluation
from pixelgate.errors import InputError, Problem
from pixelgate.io.captions import long_prompt
from pixelgate.io.features import FeatureFile, Field
from pixelgate.io.video import probe_video
from pixelgate.metrics._validate import check_params, positive
from pixelgate.metrics.consistency import text_video_cosine
from pixelgate.metrics.registry import Runtime
from pixelgate.metrics.vbench import middle_frames
from pixelgate.records import VideoRecord

FIELDS: Mapping[str, Field] = {
    "video": Field("real", ("D",)),
    "text": Field("real", ("D",)),
    "prompt": Field("text"),
    "frame_indices": Field("count", ("n",)),
    "model": Field("text"),
}


class TextEvaluator:
    """Text consistency from given features. See `pixelgate.clips.evaluator.Evaluator`."""

    group = "text"

    def needs(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        """Always ``text``."""
        return ("text",)

    def evaluate(
        self, files: ClipFiles, params: Mapping[str, Any], metrics: Sequence[str], runtime: Runtime
    ) -> Evaluation:
        """The cosine of the clip's and the prompt's features; the column ``reference`` is the captions file.

        Where ``files.predictions`` has ``text_reference``, the prompt's features are taken from that file and belong
        to the caption of the sample that the file is named after.

        Raises:
            InputError: as `pixelgate.io.features.FeatureFile` and `pixelgate.io.captions.read_captions`;
                ``missing-caption``, ``prompt-differs``, ``prediction-frames`` (not the middle frames),
                ``feature-shape`` (dimensions differ); the clip's own rules.
            ProtocolError: a parameter or metric that the group does not have.
        """
        wanted = int(positive("text", check_params("text", params, {"frames": 8}), "frames"))
        group_metrics("text", metrics, ("consistency",))
        path = single_npz(files, "text")
        shuffled = files.predictions.get("text_reference")
        text_path, owner = (shuffled[0], shuffled[0].stem) if shuffled else (path, files.sample)
        captions = reference(files, "captions file")
        caption = caption_at(captions, owner)
        with FeatureFile(path, FIELDS) as ours, FeatureFile(text_path, FIELDS) as theirs, naming(path):
            check_prompt(theirs, caption, captions)
            record = probe_video(files.generated, label=files.sample)
            indices = _check_frames(ours, record, wanted)
            value = text_video_cosine(ours.array("video"), theirs.array("text"))
            details = {"caption": caption, "caption_of": owner, "frame_indices": indices, **texts(ours, ["model"])}
        note = long_prompt(owner, caption)
        notes = () if note is None else ((note.rule, note.message),)
        return Evaluation(dict.fromkeys(metrics, value), record, details, notes=notes)

    def itself(self, files: ClipFiles) -> ClipFiles | None:
        """None: a prompt is no clip."""
        return None


def check_prompt(file: FeatureFile, caption: str, captions: Path) -> None:
    """Refuse features that were made with another text than the caption; a file without a prompt passes.

    Raises:
        InputError: rule ``prompt-differs``.
    """
    prompt = file.text("prompt")
    if prompt is not None and prompt != caption:
        found = f"was made with the prompt {prompt!r}; {captions} has {caption!r}."
        mend = "Compute the features of the caption, or give the captions that the clips were made from."
        raise InputError(Problem(str(file.path), "prompt-differs", found, mend))


def _check_frames(file: FeatureFile, record: VideoRecord, wanted: int) -> list[int]:
    """The middle frames, which a file that names its frames must have used."""
    indices = list(middle_frames(record.frames, wanted))
    if "frame_indices" in file.keys and (used := file.array("frame_indices").tolist()) != indices:
        found = f"was made from the frames {used}; the middle ones of a clip of {record.frames} frames are {indices}."
        mend = "Compute the features from this very clip's middle frames."
        raise InputError(Problem(str(file.path), "prediction-frames", found, mend))
    return indices


EVALUATOR = TextEvaluator()
