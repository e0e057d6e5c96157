"""Felzenszwalb and Huttenlocher's segmentation with a stable edge order, the same on every machine.

Definition: P. Felzenszwalb and D. Huttenlocher, "Efficient Graph-Based Image Segmentation", IJCV 59 (2004), with
the choices of scikit-image: Gaussian smoothing first, eight neighbours, Euclidean colour distance, thresholds in
single precision, and a second pass that joins what is smaller than ``min_size``.

scikit-image sorts the edges with an unstable sort, so its edges of equal cost come in an order that depends on the
numpy build and on the processor, and its regions with it. Here equal edges keep the order in which they are listed:
first all edges to the right, then down, down right and down left, each in raster order. Every operation before the
sort is one rounded floating-point operation in a fixed order, so that the costs are portable too.
"""

from __future__ import annotations

import importlib
from decimal import Decimal
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem
from pixelgate.metrics._backend import backend

SCALE = 100.0
SIGMA = 0.5
MIN_SIZE = 100

_LARGEST_PICTURE = 2**29 - 1
"""Edges are numbered with 32 bits, four a pixel."""


def felzenszwalb(
    picture: NDArray[np.uint8], *, scale: float = SCALE, sigma: float = SIGMA, min_size: int = MIN_SIZE
) -> NDArray[np.int32]:
    """Segment a picture into regions of similar colour.

    Args:
        picture: uint8, height x width x 3. The order of the channels decides the order in which three squares are
            summed, hence which nearly equal edges come first; the reference of Hint-AUC has blue first.
        scale: larger makes larger regions; in levels of 0 to 255, as scikit-image takes it.
        sigma: standard deviation of the smoothing in pixels; 0 leaves it out.
        min_size: regions of fewer pixels are joined with a neighbour.

    Returns:
        int32, height x width: labels 0 to K - 1 in the order of each region's first pixel in raster order.

    Raises:
        InputError: a parameter is out of range, or the picture has no pixels or more than 2^29 - 1.
        MissingExtra, PixelgateError: ``PIXELGATE_BACKEND`` asks for what is not there.
    """
    _check(picture, scale, sigma, min_size)
    blurred = np.ascontiguousarray(picture)
    roots: NDArray[np.int32] = _kernels().segment(blurred, gaussian_weights(sigma), float(scale) / 255.0, int(min_size))
    return _number(roots).reshape(picture.shape[:2])


def gaussian_weights(sigma: float) -> NDArray[np.float64]:
    """One half of the smoothing kernel, as scipy cuts and normalises it, with correctly rounded exponentials.

    Args:
        sigma: standard deviation in pixels, 0 or more.

    Returns:
        float64: the weight at distance 0, 1, ..., int(4 sigma + 0.5). One weight of 1 for ``sigma`` 0.
    """
    radius = int(4.0 * sigma + 0.5)
    if sigma <= 1e-15 or radius == 0:
        return np.ones(1)
    # A processor's own exp may differ in the last digit from another's; that of Decimal is rounded correctly.
    exponents = [-0.5 / (sigma * sigma) * distance**2 for distance in range(radius + 1)]
    half = [float(Decimal(exponent).exp()) for exponent in exponents]
    weights: NDArray[np.float64] = np.array(half) / np.sum(np.array(half[:0:-1] + half))
    return weights


def _kernels() -> ModuleType:
    name = "_numba_felzenszwalb" if backend().name == "numba" else "_numpy_felzenszwalb"
    return importlib.import_module(f"pixelgate.hints.{name}")


def _number(roots: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number the regions by their root, which is their first pixel."""
    is_root = roots == np.arange(roots.size, dtype=np.int32)
    numbers = np.cumsum(is_root, dtype=np.int32) - np.int32(1)
    labels: NDArray[np.int32] = numbers[roots]
    return labels


def _check(picture: NDArray[np.uint8], scale: float, sigma: float, min_size: int) -> None:
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        raise ValueError(f"a picture is uint8, height x width x 3; got {picture.dtype}, shape {picture.shape}")
    problems = []
    pixels = picture.shape[0] * picture.shape[1]
    if not 0 < pixels <= _LARGEST_PICTURE:
        found = f"the picture has {pixels} pixels; the segmentation takes 1 to {_LARGEST_PICTURE}."
        problems.append(Problem("", "segmenter-size", found, "Give a picture of that size."))
    for name, value, least in (("scale", scale, 0.0), ("sigma", sigma, 0.0), ("min_size", min_size, 0.0)):
        whole = name != "min_size" or float(value).is_integer()
        if not (np.isfinite(value) and value >= least and whole):
            kind = "a whole number" if name == "min_size" else "a number"
            found = f"felzenszwalb's {name} is {value!r}; it must be {kind}, 0 or more."
            problems.append(Problem("", "segmenter-option", found, "Leave it out for the paper's value."))
    if problems:
        raise InputError(problems)
