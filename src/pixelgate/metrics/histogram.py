"""Correlation of the colour histograms of two 8-bit pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.metrics._backend import Backend
from pixelgate.metrics._scorer import PixelScorer
from pixelgate.metrics._validate import check_params, check_picture, fixed
from pixelgate.metrics.registry import Image, Measurement, Metric, Runtime, register

BINS = 256
FLAT_RULE = "equal-1-else-0"
CHANNELS = ("red", "green", "blue")

Counts = NDArray[np.int64]


def histogram_correlation(output: Image, reference: Image) -> float:
    """Mean over the channels of the Pearson correlation of their 256-bin histograms; higher is better.

    A flat histogram, in which all 256 levels are equally frequent, has no correlation; such a channel
    counts as 1 where both pictures have it and as 0 where one does. The bound scorer notes it.

    Args:
        output: uint8, height x width x 3, 8-bit sRGB.
        reference: the same; its size may differ, because the correlation does not depend on the counts' scale.

    Returns:
        From -1 to 1; 1 for equal histograms.

    Raises:
        PictureError: not 8-bit RGB pictures (an `InputError` and a `ValueError`).

    Source: Pearson's r over the 256 levels of each channel, in float64, centred before the products.
    """
    return bind({}, Runtime()).score(output, reference)


def bind(params: Mapping[str, Any], runtime: Runtime) -> PixelScorer:
    """A scorer for a protocol's parameters ``bins`` (256) and ``flat``; `ProtocolError` for others."""
    params = check_params("histogram_correlation", params, {"bins": BINS, "flat": FLAT_RULE})
    fixed("histogram_correlation", params, "bins", BINS)
    fixed("histogram_correlation", params, "flat", FLAT_RULE)
    return PixelScorer(_prepare, _compare)


def _prepare(backend: Backend, reference: Image) -> Counts:
    return _counts(backend, check_picture(reference, "reference"))


def _compare(backend: Backend, output: Image, reference: Counts) -> Measurement:
    counts = _counts(backend, check_picture(output, "output"))
    scores: list[float] = []
    notes: list[tuple[str, str]] = []
    for name, own, other in zip(CHANNELS, counts, reference, strict=True):
        score, note = _correlation(name, own, other)
        scores.append(score)
        notes.extend(("flat-histogram", text) for text in note)
    return Measurement(math.fsum(scores) / len(scores), notes=tuple(notes))


def _counts(backend: Backend, picture: Image) -> Counts:
    counts = np.zeros((3, BINS), dtype=np.int64)
    backend.kernels("_numba_counts", "_numpy_counts").channel_counts(picture, counts)
    return counts


def _correlation(name: str, output: Counts, reference: Counts) -> tuple[float, list[str]]:
    flat = [side for side, counts in (("output", output), ("reference", reference)) if counts.min() == counts.max()]
    if flat:
        score = 1.0 if len(flat) == 2 else 0.0
        return score, [f"the {name} histogram of the {' and the '.join(flat)} is flat; the channel counts as {score}"]
    p, q = output - output.mean(), reference - reference.mean()
    r = float(np.sum(p * q) / math.sqrt(np.sum(p * p) * np.sum(q * q)))
    # Round-off may pass the bounds by an ulp.
    return min(1.0, max(-1.0, r)), []


METRIC = register(
    Metric(
        id="histogram_correlation",
        title="H-Corr",
        unit="",
        low=-1.0,
        high=1.0,
        direction="higher",
        perfect=1.0,
        version="1",
        min_side=1,
        same_size=False,
        source="Pearson correlation of 256-bin histograms, mean over the three channels",
        bind=bind,
    )
)
