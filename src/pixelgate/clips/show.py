"""A clip side by side with what it was scored against, to look at: the fastest check of crop, masks and alignment.

What is shown comes from the functions that score: the same frames, geometry, masks, fit and matched people.

| group | panes |
| --- | --- |
| ``depth`` | generated RGB, condition depth, aligned extracted depth |
| ``pose`` | generated RGB, condition pose, extracted pose |
| ``inpainting`` | generated, reference, generated with the masked area grey |
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from PIL import Image

from pixelgate.clips._show_layout import Frame, Layout, Show
from pixelgate.clips._show_sheet import Sheet
from pixelgate.clips.evaluator import ClipFiles
from pixelgate.errors import InputError, Problem, ProtocolError
from pixelgate.io.files import atomic_write
from pixelgate.io.video_write import Encoding, VideoWriter

SHOWN_GROUPS = ("depth", "pose", "inpainting")
"""The groups that something can be shown of."""

TO_WATCH = Encoding(preset="veryfast")
"""H.264 that every player takes."""

_SMALLEST_TEXT, _LARGEST_TEXT = 11, 26


@dataclass(frozen=True)
class Shown:
    """What was written.

    Attributes:
        video: the panes side by side, under their labels.
        sheet: a PNG of a few frames; rows are time, columns are panes.
        frames: how many the clip has: those that were scored.
        fps: of the generated clip; 8 where that names no rate.
    """

    video: Path
    sheet: Path
    frames: int
    fps: float


def write_show(
    group: str, files: ClipFiles, params: Mapping[str, Any], target: Path, *, encoding: Encoding = TO_WATCH
) -> Shown:
    """Write a clip's panes as a video and as a contact sheet.

    One frame is held at a time. The same files give the same bytes, with the same libraries.

    Args:
        group: one of `SHOWN_GROUPS`.
        files: of the clip, as its group's evaluator takes them.
        params: the group's section of the protocol, with the run's own choices put in.
        target: the video's file, ending in .mp4, .mov or .mkv; the sheet lies beside it with the suffix .png. Existing
            files are replaced.
        encoding: of the video.

    Raises:
        InputError: what the group's evaluator raises for these files; ``show-target`` where the target is one of them;
            ``not-writable``.
        ProtocolError: a group that nothing is shown of, or a wrong parameter.
        MissingExtra: PyAV is not installed, or Pillow has no FreeType.
        ValueError: the target has another suffix.
    """
    if group not in SHOWN_GROUPS:
        raise ProtocolError(f"nothing is shown of the group {group!r}; groups with clips: {', '.join(SHOWN_GROUPS)}")
    target = Path(target)
    sheet_file = target.with_suffix(".png")
    _refuse_inputs(files, target, sheet_file)
    show: Show = import_module(f"pixelgate.clips._show_{group}").plan(files, params)
    layout = strip(show)
    sheet = Sheet(show)
    with VideoWriter(target, show.fps, encoding=encoding) as writer:
        for index, panes in enumerate(show.panes()):
            writer.write(layout.compose(panes))
            sheet.add(index, panes)
    atomic_write(sheet_file, _png(sheet.picture()))
    return Shown(target, sheet_file, writer.count, show.fps)


def strip(show: Show) -> Layout:
    """Where the panes lie in the frames of a comparison's video."""
    return Layout(show.labels, show.size, min(_LARGEST_TEXT, max(_SMALLEST_TEXT, show.size[0] // 24)))


def _refuse_inputs(files: ClipFiles, *targets: Path) -> None:
    predicted = (path for paths in files.predictions.values() for path in paths)
    read = {path.resolve() for path in (files.generated, *files.references.values(), *predicted)}
    taken = [target for target in targets if target.resolve() in read]
    if taken:
        found, mend = "would be replaced, and is read for the comparison.", "Write into a folder of its own."
        raise InputError([Problem(str(target), "show-target", found, mend) for target in taken])


def _png(picture: Frame) -> bytes:
    # Compressed, unlike what pixelgate.io.write makes: a report holds many sheets.
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "PNG", optimize=True)
    return stream.getvalue()
