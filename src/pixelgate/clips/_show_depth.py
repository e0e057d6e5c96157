"""What is shown of a clip's depth: the clip, its condition, and the depth that was predicted from it, aligned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pixelgate.clips._depth_sources import Sources, open_sources
from pixelgate.clips._show_layout import FALLBACK_FPS, TEXT, Colour, Frame, Label, Show, grey_rgb, tinted
from pixelgate.clips.depth import DEFAULTS, EVALUATOR
from pixelgate.clips.evaluator import ClipFiles
from pixelgate.io.video import open_video
from pixelgate.metrics._depth_sums import _block, check_frame
from pixelgate.metrics.depth import Alignment, Pair, stream_scores

PERSON: Colour = (255, 64, 64)
INVALID: Colour = (64, 96, 255)


def plan(files: ClipFiles, params: Mapping[str, Any]) -> Show:
    """Generated RGB, condition depth and aligned extracted depth, at the size at which depth is scored.

    Depth is grey, the aligned one after the evaluator's own fit, rounded and clipped to 0 to 255. On both depth panes
    persons that were left out are tinted red, and other pixels that do not count blue. A generated clip of another size
    than its depth is stretched to it.

    Args:
        files: of the clip.
        params: as `pixelgate.clips.depth.DepthEvaluator.evaluate` takes them.

    Raises:
        InputError, ProtocolError: as that does.
    """
    EVALUATOR.needs(params)  # It checks them.
    chosen = {**DEFAULTS, **params}
    sources = open_sources(files, chosen)
    invalid = chosen["invalid"]
    alignment = stream_scores(sources.pairs, (), invalid=invalid, log_floor=chosen["log_floor"]).alignment
    return Show(
        labels=_labels(sources, alignment),
        size=sources.prediction.size,
        frames=sources.frames,
        fps=sources.record.fps or FALLBACK_FPS,
        panes=lambda: _panes(files, sources, alignment, invalid),
    )


def _labels(sources: Sources, alignment: Alignment) -> tuple[Label, ...]:
    persons: Label = () if sources.masks is None else (("persons", PERSON),)
    condition: Label = (("condition depth", TEXT), *persons, ("not valid", INVALID))
    unfitted: Label = (("no fit", PERSON),) if alignment.scale is None else ()
    return (("generated RGB", TEXT),), condition, (("aligned extracted depth", TEXT), *unfitted)


def _panes(
    files: ClipFiles, sources: Sources, alignment: Alignment, invalid: float | None
) -> Iterator[tuple[Frame, Frame, Frame]]:
    with open_video(files.generated) as reader:
        for pair, generated in zip(sources.pairs(), reader, strict=False):
            prediction, condition, _ = pair
            aligned = np.zeros(prediction.shape)
            if alignment.scale is not None and alignment.shift is not None:
                aligned = alignment.scale * prediction.astype(np.float64) + alignment.shift
            marks = _marks(pair, invalid)
            yield _stretched(generated, sources.prediction.size), _marked(condition, marks), _marked(aligned, marks)


def _marks(pair: Pair, invalid: float | None) -> list[tuple[NDArray[np.bool_], Colour]]:
    """What does not count in a frame, and in which colour it is shown."""
    frame = check_frame(*pair, invalid)
    _, _, valid, _ = _block(frame, slice(0, frame.p.shape[0]), False)
    if frame.excluded is None:
        return [(~valid, INVALID)]
    return [(frame.excluded, PERSON), (~valid & ~frame.excluded, INVALID)]


def _marked(depth: NDArray[Any], marks: list[tuple[NDArray[np.bool_], Colour]]) -> Frame:
    levels = np.nan_to_num(depth.astype(np.float64), nan=0.0, posinf=255.0, neginf=0.0)
    shown = grey_rgb(np.clip(np.rint(levels), 0, 255).astype(np.uint8))
    for mask, colour in marks:
        shown = tinted(shown, mask, colour)
    return shown


def _stretched(frame: Frame, size: tuple[int, int]) -> Frame:
    if frame.shape[:2] == size:
        return frame
    return np.asarray(Image.fromarray(frame).resize((size[1], size[0]), Image.Resampling.BILINEAR))
