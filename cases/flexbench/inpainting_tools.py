"""What the tests of inpainting fidelity share: the reference cases, and small clips made from a photograph."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image

from pixelgate.clips.evaluator import ClipFiles
from pixelgate.clips.inpainting import EVALUATOR
from pixelgate.io.video_write import Encoding, VideoWriter
from pixelgate.metrics.registry import Runtime

CONFORMANCE = Path(__file__).parent.parent / "conformance"
INPAINT = CONFORMANCE / "flexbench" / "inpaint"
PIXELS = ("inpaint_psnr", "inpaint_ssim", "inpaint_mse", "inpaint_mae", "inpaint_kept_fraction")
EVERYTHING = (*PIXELS, "inpaint_lpips")
ONE_THREAD = Runtime(threads=1)
LOSSLESS = Encoding(lossless=True, preset="ultrafast")
LOSSY = Encoding(crf=20, preset="ultrafast")


def oracle():
    return json.loads((INPAINT / "values.json").read_text())


def oracle_files(case):
    references = {"reference": INPAINT / case["reference_file"], "mask": INPAINT / case["mask_file"]}
    return ClipFiles("clip", INPAINT / case["generated_file"], references)


def photograph():
    with Image.open(CONFORMANCE / "pst" / "content" / "p-002.png") as opened:
        return np.asarray(opened.convert("RGB"))


def pan(frames=12, height=96, width=144, step=(1, 3), start=(40, 10)):
    """A camera that moves over a photograph of 200 x 200 pixels."""
    picture = photograph()
    corners = ((start[0] + step[0] * i, start[1] + step[1] * i) for i in range(frames))
    clip = [picture[top : top + height, left : left + width].copy() for top, left in corners]
    assert all(frame.shape == (height, width, 3) for frame in clip)
    return clip


def boxes(frames=12, height=96, width=144, step=1):
    """Masks with a box that moves by `step` columns a frame."""
    masks = np.zeros((frames, height, width), dtype=bool)
    for index, mask in enumerate(masks):
        left = width // 4 + step * index
        mask[height // 4 : height // 4 + height // 3, left : left + width // 3] = True
    return list(masks)


def filled(clip, masks, level=0):
    """The clip with its boxes filled."""
    return [np.where(mask[..., np.newaxis], np.uint8(level), frame) for frame, mask in zip(clip, masks, strict=True)]


def noisy(clip, sigma=3.0, seed=0):
    rng = np.random.default_rng(seed)
    return [eight_bits(frame + rng.normal(0, sigma, frame.shape)) for frame in clip]


def eight_bits(values):
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def write(path, frames, fps=24, encoding=LOSSY):
    with VideoWriter(path, fps, encoding=encoding) as writer:
        for frame in frames:
            writer.write(
                frame if frame.ndim == 3 else np.repeat(frame[..., np.newaxis], 3, axis=2).astype(np.uint8) * 255
            )
    return path


def write_files(
    folder, generated, reference, masks, *, fps=24, reference_fps=24, encoding=LOSSY, reference_encoding=LOSSY
):
    """Three clips of a sample."""
    references = {
        "reference": write(folder / "reference.mp4", reference, reference_fps, reference_encoding),
        "mask": write(folder / "mask.mp4", masks, reference_fps, LOSSY),
    }
    return ClipFiles("clip", write(folder / "generated.mp4", generated, fps, encoding), references)


def evaluate(files, metrics=PIXELS, params=None, runtime=ONE_THREAD):
    return EVALUATOR.evaluate(files, params or {}, metrics, runtime)


def rules(findings):
    return [rule for rule, _ in findings]
