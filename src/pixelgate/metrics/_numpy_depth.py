"""Sums over the valid pixels of depth maps, one row at a time, in plain numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def moments_rows(p: Floats, g: Floats, valid: Bools, sums: Floats) -> None:
    """Per row: count, means of both, sum of the squared and of the mixed deviations from the row's means.

    Args:
        p, g: prediction and condition, height x width.
        valid: the pixels that count.
        sums: height x 5; zero on entry.
    """
    count = valid.sum(axis=1)
    means = [_kept(x, valid).sum(axis=1) / np.maximum(count, 1) for x in (p, g)]
    a, b = (_kept(x - mean[:, np.newaxis], valid) for x, mean in zip((p, g), means, strict=True))
    sums[:] = np.stack([count, *means, _product_sum(a, a), _product_sum(a, b)], axis=1)


def linear_rows(p: Floats, g: Floats, valid: Bools, scale: float, shift: float, sums: Floats) -> None:
    """Per row: sum of the absolute and of the squared differences of the aligned prediction.

    Args:
        p, g, valid: as in `moments_rows`.
        scale, shift: of the alignment.
        sums: height x 2.
    """
    difference = _kept(scale * p + shift - g, valid)
    sums[:] = np.stack([np.abs(difference).sum(axis=1), _product_sum(difference, difference)], axis=1)


def relative_rows(p: Floats, g: Floats, valid: Bools, scale: float, shift: float, floor: float, sums: Floats) -> None:
    """Per row, what ratios, logs and inverses need: see `RELATIVE` in `_depth_sums` for the order.

    Args:
        p, g, valid, scale, shift: as in `linear_rows`.
        floor: the aligned prediction is clipped here; above 0.
        sums: height x 11.
    """
    # Where a pixel does not count, both are 1: every term below is then 0 but for the counts.
    aligned = np.where(valid, scale * p + shift, 1.0)
    b = np.where(valid, g, 1.0)
    a = np.where(valid, np.maximum(aligned, floor), 1.0)
    difference, ratio = a - b, a / b
    larger = np.where(valid, np.maximum(ratio, b / a), np.inf)
    inverse, log = 1.0 / a - 1.0 / b, np.log(ratio)
    count = valid.sum(axis=1)
    mean = log.sum(axis=1) / np.maximum(count, 1)
    centred = _kept(log - mean[:, np.newaxis], valid)
    columns = [count, (np.abs(difference) / b).sum(axis=1), (difference * difference / b).sum(axis=1)]
    columns += [_product_sum(inverse, inverse), np.abs(log).sum(axis=1), mean, _product_sum(centred, centred)]
    columns += [(larger < 1.25**power).sum(axis=1) for power in (1, 2, 3)]
    sums[:] = np.stack([*columns, (valid & (aligned < floor)).sum(axis=1)], axis=1)


def _kept(values: Floats, kept: Bools) -> Floats:
    """Values that do not count are 0, whatever they were."""
    return np.where(kept, values, 0.0)


def _product_sum(x: Floats, y: Floats) -> Floats:
    products: Floats = np.einsum("ij,ij->i", x, y)
    return products
