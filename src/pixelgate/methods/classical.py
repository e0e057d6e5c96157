"""Five classical methods, called as the PSTBench table describes them.

All are deterministic: none draws random numbers. IDT, which is often run with random rotations, uses
the fixed list of rotations that its package holds for three channels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.methods.registry import Method, Picture, UndefinedResultError

_COLOR_MATCHER = (("color-matcher", "0.6.0"),)


def _identity(content: Picture, style: Picture) -> Picture:
    return content


def _color_matcher(content: Picture, style: Picture, method: str) -> NDArray[Any]:
    from color_matcher import ColorMatcher

    # Its Reinhard writes into both arguments (zeros become 1/255): these floats are nobody else's.
    output: NDArray[Any] = ColorMatcher().transfer(content / 255.0, style / 255.0, method=method)
    return output


def _reinhard(content: Picture, style: Picture) -> NDArray[Any]:
    # Its spread is 0 then, or whatever rounding makes of it, and the package divides by it.
    if (content == content[:1, :1]).all():
        raise UndefinedResultError("the content has one colour only, so its spread cannot be scaled")
    return _color_matcher(content, style, "reinhard")


def _mkl(content: Picture, style: Picture) -> NDArray[Any]:
    return _color_matcher(content, style, "mkl")


def _idt(content: Picture, style: Picture) -> NDArray[Any]:
    from python_color_transfer.color_transfer import ColorTransfer

    # The package works on blue-green-red arrays and cuts off to 8 bits instead of rounding; both are kept.
    bgr: NDArray[Any] = ColorTransfer().pdf_transfer(
        img_arr_in=np.ascontiguousarray(content[..., ::-1]),
        img_arr_ref=np.ascontiguousarray(style[..., ::-1]),
        regrain=False,
    )
    return bgr[..., ::-1]


def _histmatch(content: Picture, style: Picture) -> NDArray[Any]:
    from skimage.exposure import match_histograms

    output: NDArray[Any] = match_histograms(content / 255.0, style / 255.0, channel_axis=-1)
    return output


METHODS = (
    Method("identity", "Identity", "-", "The content picture, unchanged.", (), _identity),
    Method(
        "reinhard",
        "Reinhard",
        "PyPI color-matcher 0.6.0",
        'transfer(content, style, method="reinhard") on RGB in [0, 1], clipped, rounded to 8 bits.',
        _COLOR_MATCHER,
        _reinhard,
    ),
    Method(
        "mkl",
        "MKL",
        "PyPI color-matcher 0.6.0",
        'transfer(content, style, method="mkl") on RGB in [0, 1], clipped, rounded to 8 bits.',
        _COLOR_MATCHER,
        _mkl,
    ),
    Method(
        "idt",
        "IDT",
        "PyPI python-color-transfer 0.1.2a0",
        "pdf_transfer(regrain=False) on 8-bit BGR; the package's six fixed rotations, its result cut off to 8 bits.",
        (("python-color-transfer", "0.1.2a0"),),
        _idt,
    ),
    Method(
        "histmatch",
        "HistMatch",
        "PyPI scikit-image, skimage.exposure.match_histograms",
        "Each channel's histogram matched to the style's on RGB in [0, 1], rounded to 8 bits.",
        (("scikit-image", None),),
        _histmatch,
    ),
)
