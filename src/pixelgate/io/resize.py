"""The one resize that a protocol may allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pixelgate.errors import ProtocolError

_KERNELS = {"bicubic": Image.Resampling.BICUBIC}


def resize_to(image: NDArray[np.uint8], size: tuple[int, int], rules: Mapping[str, Any]) -> NDArray[np.uint8]:
    """Resize a decoded picture with Pillow, on its 8-bit RGB values.

    Args:
        image: uint8, height x width x 3, after colour conversion and orientation.
        size: the wanted (width, height) in pixels; the picture's own size gives its values back unchanged.
        rules: a protocol's ``size`` section; its ``resize`` names the kernel, today ``bicubic``.

    Returns:
        uint8, height x width x 3, write-protected.

    Raises:
        ProtocolError: if the kernel is missing or unknown.
        ValueError: if a side is below 1 pixel.
    """
    kernel = rules.get("resize")
    if kernel not in _KERNELS:
        known = ", ".join(sorted(_KERNELS))
        raise ProtocolError(f"size.resize: {kernel!r} is not a known kernel; known: {known}")
    width, height = size
    if width < 1 or height < 1:
        raise ValueError(f"cannot resize to {width} x {height} pixels")
    resized = np.array(Image.fromarray(image).resize((width, height), _KERNELS[kernel]), dtype=np.uint8)
    resized.flags.writeable = False
    return resized
