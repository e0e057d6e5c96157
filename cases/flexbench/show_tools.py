"""What the tests of comparisons share: writing one without loss, and cutting its panes out again."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
from PIL import Image

from pixelgate.clips._show_layout import BACKGROUND
from pixelgate.clips.show import strip, write_show
from pixelgate.io.video import read_video
from pixelgate.io.video_write import Encoding

CONFORMANCE = Path(__file__).parent.parent / "conformance" / "flexbench"
LOSSLESS = Encoding(lossless=True, preset="ultrafast")


def written(group, files, params, folder):
    """Write a comparison; gives what was written and its panes, panes x T x H x W x 3, as they lie in the video."""
    shown = write_show(group, files, params, folder / "shown" / "one.mp4", encoding=LOSSLESS)
    frames, record = read_video(shown.video)
    assert record.fps == shown.fps
    assert len(frames) == shown.frames
    show = import_module(f"pixelgate.clips._show_{group}").plan(files, params)
    layout = strip(show)
    assert frames.shape[1:] == (layout.height, layout.width, 3)
    rows = slice(layout.top, layout.top + show.size[0])
    return shown, np.stack([frames[:, rows, left : left + show.size[1]] for left in layout.lefts])


def picture(path):
    return np.asarray(Image.open(path).convert("RGB"))


def has_text(area):
    return bool((area != np.array(BACKGROUND, dtype=np.uint8)).any())


def left_behind(folder):
    """All files below a folder, hidden ones too."""
    return [path for path in folder.rglob("*") if path.is_file()]
