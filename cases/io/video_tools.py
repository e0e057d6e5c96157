"""Clips that `VideoWriter` does not make: other codecs, several streams, changes within a clip."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

CONFORMANCE = Path(__file__).parent.parent / "conformance" / "flexbench" / "video"
RATE = Fraction(8)


def moving(count: int = 24, height: int = 96, width: int = 128) -> np.ndarray:
    """Blocks of random colours that move to the right."""
    rng = np.random.default_rng(count)
    base = rng.integers(0, 256, (height // 8, width // 8, 3), dtype=np.uint8).repeat(8, 0).repeat(8, 1)
    return np.stack([np.roll(base, 4 * index, axis=1) ^ np.uint8(index) for index in range(count)])


def encode(
    path: Path,
    frames: Iterable[np.ndarray],
    codec: str = "libx264",
    pixel_format: str = "yuv420p",
    *,
    pixels: str = "rgb24",
    container: dict[str, str] | None = None,
    streams: int = 1,
    context: dict[str, Any] | None = None,
    rotation: tuple[int, bool] | None = None,
    size: tuple[int, int] | None = None,
    **options: str,
) -> Path:
    """Encode frames (of FFmpeg's format `pixels`) with PyAV alone; further streams get inverted frames."""
    import av

    frames = list(frames)
    with av.open(str(path), "w", options=container or {}) as out:
        made = [out.add_stream(codec, rate=RATE, options=options) for _ in range(streams)]
        for stream in made:
            stream.height, stream.width = size or frames[0].shape[:2]
            stream.pix_fmt = pixel_format
            for name, value in (context or {}).items():
                setattr(stream.codec_context, name, value)
            if rotation is not None:
                stream.set_display_rotation(rotation[0], hflip=rotation[1])
        for index, frame in enumerate(frames):
            for place, stream in enumerate(made):
                picture = av.VideoFrame.from_ndarray(255 - frame if place else frame, format=pixels)
                picture = picture.reformat(format=pixel_format)
                picture.pts, picture.time_base = index, 1 / RATE
                for name in ("colorspace", "color_range", "color_trc"):
                    setattr(picture, name, (context or {}).get(name, getattr(picture, name)))
                out.mux(stream.encode(picture))
        for stream in made:
            out.mux(stream.encode(None))
    return path


def joined(path: Path, parts: Sequence[tuple[int, int, str]]) -> Path:
    """An AVI file of JPEG frames, three of each (height, width, pixel format)."""
    import av

    packets = []
    for place, (height, width, pixel_format) in enumerate(parts):
        context = av.CodecContext.create("mjpeg", "w")
        context.height, context.width, context.pix_fmt = height, width, pixel_format
        context.time_base, context.framerate = 1 / RATE, RATE
        for index in range(3):
            noise = np.random.default_rng(index).integers(0, 256, (height, width, 3), dtype=np.uint8)
            picture = av.VideoFrame.from_ndarray(noise, format="rgb24").reformat(format=pixel_format)
            picture.pts, picture.time_base = 3 * place + index, 1 / RATE
            packets += context.encode(picture)
        packets += context.encode(None)
    with av.open(str(path), "w") as out:
        stream = out.add_stream("mjpeg", rate=RATE)
        stream.height, stream.width, stream.pix_fmt = parts[0]
        for packet in packets:
            packet.stream = stream
            out.mux(packet)
    return path
