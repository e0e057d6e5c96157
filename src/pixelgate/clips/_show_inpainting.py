"""What is shown of an inpainted clip: the clip, its reference, and the clip with what was scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.clips._inpainting_pass import COLUMNS, above, filled_reference, make_pass
from pixelgate.clips._show_layout import FALLBACK_FPS, TEXT, Frame, Label, Show
from pixelgate.clips.evaluator import ClipFiles
from pixelgate.clips.inpainting import open_clips
from pixelgate.errors import InputError, Problem
from pixelgate.io.video import probe_video
from pixelgate.metrics.registry import Runtime
from pixelgate.records import VideoRecord

MASKED = 128
"""Grey level of pixels that are not scored."""

_LABELS: tuple[Label, ...] = (
    (("generated", TEXT),),
    (("reference", TEXT),),
    (("generated, scored region", TEXT), ("masked", (MASKED, MASKED, MASKED))),
)


def plan(files: ClipFiles, params: Mapping[str, Any]) -> Show:
    """Generated, reference and generated with the masked area grey, at the generated size.

    The reference is shown as it is scored, resized to fill and cropped, but rounded. The kept pixels of the third pane
    are the generated clip's own.

    Args:
        files: of the clip.
        params: as `pixelgate.clips.inpainting.InpaintingEvaluator.evaluate` takes them.

    Raises:
        InputError: what can be read of the files breaks a rule; all problems are listed.
        ProtocolError: a parameter that the group does not have.
    """
    make_pass(params, (), Runtime())
    records = _records(files)
    generated = records["generated"]
    return Show(
        labels=_LABELS,
        size=(generated.height, generated.width),
        frames=min(record.frames for record in records.values()),
        fps=generated.fps or FALLBACK_FPS,
        panes=lambda: _panes(files, params),
    )


def _records(files: ClipFiles) -> dict[str, VideoRecord]:
    with ExitStack() as stack:
        open_clips(files, stack)
    records: dict[str, VideoRecord] = {}
    problems: list[Problem] = []
    paths = {**files.references, "generated": files.generated}
    for name in COLUMNS:
        try:
            records[name] = probe_video(paths[name])
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    return records


def _panes(files: ClipFiles, params: Mapping[str, Any]) -> Iterator[tuple[Frame, Frame, Frame]]:
    one_pass = make_pass(params, (), Runtime())
    with ExitStack() as stack:
        clips = open_clips(files, stack)
        for generated, reference, mask in zip(*(clips[name] for name in COLUMNS), strict=False):
            size = generated.shape[0], generated.shape[1]
            kept = one_pass.region_of(above(mask, one_pass.threshold), size).keep
            scored = np.where(kept[:, :, np.newaxis], generated, np.uint8(MASKED))
            yield generated, _rounded(filled_reference(reference, size)), scored


def _rounded(frame: NDArray[Any]) -> Frame:
    if frame.dtype == np.uint8:
        return frame
    levels: Frame = np.clip(np.rint(frame), 0, 255).astype(np.uint8)
    return levels
