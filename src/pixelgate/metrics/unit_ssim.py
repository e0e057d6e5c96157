"""SSIM of resized float pictures in two definitions: torchmetrics 1.4.0's and scikit-image's, both in float32.

The formula is one (Wang et al. 2004, Gaussian window, sigma 1.5, 11 x 11 taps, K1 0.01, K2 0.03, data range 1, mean
where the whole window lies within the picture). In float32 its rounding shows: on flat areas a variance is the small
difference of two nearly equal numbers. Each definition is therefore computed in the order in which its library does.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.metrics._backend import Backend, backend
from pixelgate.metrics._bands import total
from pixelgate.metrics._scorer import PixelScorer
from pixelgate.metrics._unit import SOURCE, Unit, check_unit
from pixelgate.metrics._validate import check_params, check_same_size
from pixelgate.metrics.registry import Measurement, Metric, Runtime, register

RADIUS = 5
MIN_SIDE = 2 * RADIUS + 1
C1 = np.float32(0.01**2)
C2 = np.float32(0.03**2)

# exp(-x^2 / 4.5) for x = 0 to 5, divided by the sum of all eleven, to the last bit as torch computes it in float32;
# rounding the exact values gives up to 5 units in the last place less or more.
_TORCH_TAPS = (
    "0x1.1065600000000p-2",
    "0x1.b43c3e0000000p-3",
    "0x1.bff0fc0000000p-4",
    "0x1.26eb180000000p-5",
    "0x1.f1fdf80000000p-8",
    "0x1.0d95700000000p-10",
)
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Prepared:
    """The reference's side.

    Attributes:
        picture: the reference.
        means, squares: its means and those of its squares, rows x (3 columns) of the valid region.
    """

    picture: Unit
    means: Floats
    squares: Floats


def unit_ssim_torchmetrics(output: Unit, reference: Unit) -> float:
    """SSIM as torchmetrics 1.4.0 computes it in float32 with ``data_range=1.0``; higher is better.

    Variances are held at 0 or more and the covariance is not, so that equal pictures score below 1 where they are
    flat: a grey of level 213 all over gives 0.9967, the least of the 256 levels; photographs give 0.999 and more.
    The window's 121 products are added one after another, each by a fused multiply-add, as torch's convolution does
    on a CPU; the value is then the same on every machine.

    Args:
        output: float32, height x width x 3, RGB, values from 0 to 1, each side at least 11 pixels.
        reference: the same, of the same size.

    Returns:
        From -1 to 1.

    Raises:
        PictureError: another type, size or range, or NaN (an `InputError` and a `ValueError`).

    Source: Wang, Bovik, Sheikh, Simoncelli (2004) in the form of torchmetrics 1.4.0's
    ``structural_similarity_index_measure``, the paper's own; torchmetrics 1.8 and later also count the border and
    differ by up to 0.04.
    """
    first, second = (check_unit(p, n, min_side=MIN_SIDE) for p, n in ((output, "output"), (reference, "reference")))
    check_same_size(first, second.shape)
    return clamped(backend(), first, prepare_clamped(backend(), second))[0]


def unit_ssim_skimage(output: Unit, reference: Unit) -> float:
    """SSIM as scikit-image computes it from float32 pictures; higher is better, 1 for equal pictures, exactly.

    Args, Returns and errors as for `unit_ssim_torchmetrics`.

    Source: Wang et al. (2004) in the form of scikit-image's ``structural_similarity`` with ``channel_axis=2,
    data_range=1.0, gaussian_weights=True, sigma=1.5, use_sample_covariance=False``.
    """
    first, second = (check_unit(p, n, min_side=MIN_SIDE) for p, n in ((output, "output"), (reference, "reference")))
    check_same_size(first, second.shape)
    return _plain(backend(), first, _prepare_plain(backend(), second))


def prepare_clamped(backend: Backend, reference: Unit) -> Prepared:
    """The reference's side of torchmetrics' definition."""
    means = functools.partial(_means, backend, "fused_means", _fused_window())
    return Prepared(reference, means(reference), means(reference * reference))


def clamped(backend: Backend, output: Unit, reference: Prepared) -> tuple[float, float]:
    """Means of the SSIM map and of its contrast term alone, by torchmetrics' definition."""
    means = functools.partial(_means, backend, "fused_means", _fused_window())
    mx, xx, xy = means(output), means(output * output), means(output * reference.picture)
    sums, contrasts = np.empty(mx.shape[0]), np.empty(mx.shape[0])
    kernel = _kernels(backend).clamped_similarity
    kernel(mx, reference.means, xx, reference.squares, xy, C1, C2, sums, contrasts)
    similarity, contrast = (total(list(rows)) / mx.size for rows in (sums, contrasts))
    return min(1.0, max(-1.0, similarity)), contrast


def _prepare_plain(backend: Backend, reference: Unit) -> Prepared:
    means = functools.partial(_means, backend, "separable_means", _separable_window())
    return Prepared(reference, means(reference), means(reference * reference))


def _plain(backend: Backend, output: Unit, reference: Prepared) -> float:
    means = functools.partial(_means, backend, "separable_means", _separable_window())
    mx, xx, xy = means(output), means(output * output), means(output * reference.picture)
    sums = np.empty((mx.shape[0], 3))
    kernel = _kernels(backend).plain_similarity
    kernel(mx, reference.means, xx, reference.squares, xy, C1, C2, sums)
    # scikit-image keeps each channel's mean, and the mean of the three, in float32.
    channels = np.array([total(list(column)) / (mx.size // 3) for column in sums.T], dtype=np.float32)
    return min(1.0, max(-1.0, float(channels.mean())))


def _means(backend: Backend, kernel: str, window: NDArray[Any], picture: Unit) -> Floats:
    height, width, _ = picture.shape
    out = np.empty((height - 2 * RADIUS, 3 * (width - 2 * RADIUS)), dtype=np.float32)
    getattr(_kernels(backend), kernel)(picture.reshape(height, -1), window, out)
    return out


def _kernels(backend: Backend) -> Any:
    return backend.kernels("_numba_unit_ssim", "_numpy_unit_ssim")


@functools.cache
def _fused_window() -> Floats:
    half = [float.fromhex(tap) for tap in _TORCH_TAPS]
    line = np.array([*half[:0:-1], *half], dtype=np.float32)
    return np.outer(line, line)


@functools.cache
def _separable_window() -> NDArray[np.float64]:
    taps = np.arange(-RADIUS, RADIUS + 1)
    weights = np.exp(-0.5 / 1.5**2 * taps**2)
    normalised: NDArray[np.float64] = weights / weights.sum()
    return normalised


def _bind_torchmetrics(params: Mapping[str, Any], runtime: Runtime) -> PixelScorer:
    check_params("unit_ssim_torchmetrics", params, {})

    def prepare(backend: Backend, reference: Unit) -> Prepared:
        return prepare_clamped(backend, check_unit(reference, "reference", min_side=MIN_SIDE))

    def compare(backend: Backend, output: Unit, reference: Prepared) -> Measurement:
        output = check_unit(output, "output", min_side=MIN_SIDE)
        check_same_size(output, reference.picture.shape)
        return Measurement(clamped(backend, output, reference)[0])

    return PixelScorer(prepare, compare)


def _bind_skimage(params: Mapping[str, Any], runtime: Runtime) -> PixelScorer:
    check_params("unit_ssim_skimage", params, {})

    def prepare(backend: Backend, reference: Unit) -> Prepared:
        return _prepare_plain(backend, check_unit(reference, "reference", min_side=MIN_SIDE))

    def compare(backend: Backend, output: Unit, reference: Prepared) -> Measurement:
        output = check_unit(output, "output", min_side=MIN_SIDE)
        check_same_size(output, reference.picture.shape)
        return Measurement(_plain(backend, output, reference))

    return PixelScorer(prepare, compare)


TORCHMETRICS = register(
    Metric(
        id="unit_ssim_torchmetrics",
        title="SSIM",
        unit="",
        low=-1.0,
        high=1.0,
        direction="higher",
        perfect=1.0,
        version="1",
        min_side=MIN_SIDE,
        source=f"Wang et al. 2004 as torchmetrics 1.4.0 computes it in float32; {SOURCE}",
        bind=_bind_torchmetrics,
        takes="unit",
        equal_slack=5e-3,
    )
)

SKIMAGE = register(
    Metric(
        id="unit_ssim_skimage",
        title="SSIM",
        unit="",
        low=-1.0,
        high=1.0,
        direction="higher",
        perfect=1.0,
        version="1",
        min_side=MIN_SIDE,
        source=f"Wang et al. 2004 as scikit-image computes it from float32; {SOURCE}, pillow backend",
        bind=_bind_skimage,
        takes="unit",
    )
)
