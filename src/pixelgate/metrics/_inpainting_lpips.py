"""LPIPS outside the inpainted region: the masked pixels of both frames are filled with one grey."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem
from pixelgate.metrics._inpainting_params import FILL, PEAK, checked
from pixelgate.metrics.lpips import MIN_SIDE, LpipsScorer
from pixelgate.metrics.registry import Image, Runtime

if TYPE_CHECKING:
    from pixelgate.models.lpips_clips import ClipLpips

Floats = NDArray[np.float32]
_BATCH_PIXELS = 1 << 18
"""Frames go through the network together up to so many pixels; a larger batch is no faster on a CPU."""


def lpips_fingerprint(params: Mapping[str, Any], runtime: Runtime) -> Mapping[str, str]:
    """What decides LPIPS beside the frames: versions, device, the network's name and its weights' digests.

    Args:
        params: the group's section of a protocol; ``lpips.net`` names the network.
        runtime: device, weights and threads.

    Raises:
        MissingExtra, WeightsError, InputError: the network cannot run here.
    """
    net = checked(params)["lpips"]["net"]
    if net == "alex":
        return {"net": net, **LpipsScorer(runtime).fingerprint}
    from pixelgate.models.lpips_clips import fingerprint

    return fingerprint(net, runtime)


class FrameBatches:
    """LPIPS of a clip's frames, given one by one and computed several at a time.

    Small frames share a pass through the network; the distances come out in the order in which frames went in.

    Args:
        net: ``alex``, ``vgg`` or ``squeeze``.
        runtime: device, weights and threads.
    """

    def __init__(self, net: str, runtime: Runtime) -> None:
        self._net = net
        self._runtime = runtime
        self._waiting: list[tuple[Floats, Floats]] = []
        self._places: list[int] = []
        self.distances: list[float | None] = []

    def add(self, generated: Image, reference: NDArray[Any], keep: NDArray[np.bool_]) -> None:
        """Take one frame.

        Args:
            generated: uint8, height x width x 3.
            reference: uint8 or float32, 0 to 255, the same shape.
            keep: bool, height x width. A frame without a kept pixel or with a side below 31 pixels has no distance.
        """
        self.distances.append(None)
        if min(keep.shape) < MIN_SIDE or not keep.any():
            return
        self._places.append(len(self.distances) - 1)
        self._waiting.append((filled(generated, keep), filled(reference, keep)))
        if len(self._waiting) * keep.size >= _BATCH_PIXELS:
            self.flush()

    def flush(self) -> None:
        """Compute what waits."""
        if not self._waiting:
            return
        outputs, references = (np.stack(side) for side in zip(*self._waiting, strict=True))
        values = self._network.distances(outputs, references, self._runtime.threads)
        for place, value in zip(self._places, values, strict=True):
            self.distances[place] = _finite(value)
        self._waiting.clear()
        self._places.clear()

    @functools.cached_property
    def _network(self) -> ClipLpips:
        from pixelgate.models.lpips_clips import load

        return load(self._net, self._runtime)


def filled(frame: NDArray[Any], keep: NDArray[np.bool_]) -> Floats:
    """The frame from 0 to 1, float32, with 0.5 where it is masked: grey 127.5, which LPIPS takes as 0."""
    unit: Floats = np.divide(frame, np.float32(PEAK), dtype=np.float32)
    unit[~keep] = FILL / PEAK
    return unit


def masked_lpips(
    generated: Image,
    reference: NDArray[Any],
    keep: NDArray[np.bool_],
    *,
    net: str = "alex",
    device: str = "cpu",
    weights: str | None = None,
) -> float | None:
    """LPIPS of one frame with the masked area of both sides filled with grey 127.5; lower is better.

    LPIPS looks at patches and cannot be restricted to a set of pixels. The filled area is alike on both sides and adds
    next to nothing, but stays in the average: a larger masked area gives a smaller distance.

    Args:
        generated: uint8, height x width x 3, both sides at least 31 pixels.
        reference: uint8 or float32, 0 to 255, the same shape.
        keep: bool, height x width.
        net: ``alex``, ``vgg`` or ``squeeze``.
        device: ``cpu``, ``cuda`` or ``cuda:N``.
        weights: a file or folder with the network's weights.

    Returns:
        From 0 upwards; None without a kept pixel.

    Raises:
        InputError: a side is below 31 pixels.
        MissingExtra, WeightsError, ProtocolError: the network cannot run here.

    Source: the FlexBench evaluation document; Zhang et al., CVPR 2018; package lpips 0.1.4, version 0.1.
    """
    if min(keep.shape) < MIN_SIDE:
        found = f"the frame is {keep.shape[1]} x {keep.shape[0]} pixels"
        raise InputError(Problem("", "picture-too-small", found, f"LPIPS needs {MIN_SIDE} pixels a side."))
    checked({"lpips": {"net": net}})
    batch = FrameBatches(net, Runtime(device=device, weights=weights))
    batch.add(generated, reference, keep)
    batch.flush()
    return batch.distances[0]


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise InputError(Problem("", "lpips", f"the network gave {value}.", "Check the weights and the device."))
    return value
