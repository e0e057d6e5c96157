"""What the tests of the engine share."""

from __future__ import annotations

import numpy as np
from PIL import Image

PIXEL_METRICS = ("psnr", "ssim", "de00", "hcorr_gt", "hcorr_style")


def save(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(path)
