"""The paper's own way to the longest path, through the package FilFinder.

It is slow, it breaks ties at random, and it fails on some regions. It is here for comparisons with hints that were
made with it; `pixelgate.hints.paths` is the default.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import warnings
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import MissingExtra, PixelgateError
from pixelgate.hints.paths import Paths
from pixelgate.hints.skeleton import skeletonize

_FIRST_FOR_NUMPY_2 = "1.8"
_DISTANCE_PC = 250
_FLATTEN_PERCENT = 85
_SHORTEST_PIXELS = 3


def filfinder_paths(labels: NDArray[np.int32]) -> Paths:
    """Find the longest path of each region's thickened skeleton.

    Args:
        labels: height x width, regions numbered from 0 to n - 1, each of them present.

    Returns:
        The paths, which may leave their regions by a pixel. A region on which FilFinder stops with an error fails; one
        whose path it prunes away has none, unless the region is one pixel: that pixel is then its path.

    Raises:
        MissingExtra: FilFinder is not installed.
        PixelgateError: the installed FilFinder cannot run with the installed numpy.
    """
    finder, units = _packages()
    skeletons = skeletonize(labels)
    count = int(labels.max()) + 1
    areas = np.bincount(labels.reshape(-1), minlength=count)
    regions, pixels, failed = [], [], []
    for region in range(count):
        own = labels == region
        try:
            path = np.flatnonzero(_longest(finder, units, own & skeletons))
        except Exception:  # FilFinder has no errors of its own; what it raises on a small shape is of many kinds
            failed.append(region)
            continue
        if areas[region] == 1 and not own.reshape(-1)[path].any():
            path = np.flatnonzero(own)
        regions.append(np.full(path.size, region, dtype=np.int64))
        pixels.append(path)
    empty = np.empty(0, dtype=np.int64)
    return Paths(np.concatenate([empty, *regions]), np.concatenate([empty, *pixels]), np.array(failed, dtype=np.int64))


def _longest(finder: Any, units: Any, skeleton: NDArray[np.bool_]) -> NDArray[Any]:
    from scipy.ndimage import binary_dilation

    mask = binary_dilation(skeleton, np.ones((3, 3), dtype=bool)).astype(np.uint8) * np.uint8(255)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        filaments = finder(mask, distance=_DISTANCE_PC * units.pc, mask=mask)
        filaments.preprocess_image(flatten_percent=_FLATTEN_PERCENT)
        filaments.create_mask(border_masking=True, verbose=False, use_existing_mask=True)
        filaments.medskel(verbose=False)
        shortest = _SHORTEST_PIXELS * units.pix
        filaments.analyze_skeletons(branch_thresh=shortest, skel_thresh=shortest, prune_criteria="length")
        longest: NDArray[Any] = np.asarray(filaments.skeleton_longpath)
    return longest


def _packages() -> tuple[Any, Any]:
    from packaging.version import Version

    try:
        found = version("fil_finder")
    except PackageNotFoundError:
        found = None
    if found and Version(found) < Version(_FIRST_FOR_NUMPY_2) and Version(np.__version__) >= Version("2"):
        raise PixelgateError(
            f"FilFinder {found} cannot run with numpy {np.__version__}: install fil_finder {_FIRST_FOR_NUMPY_2} or "
            "later, or take the path method 'geodesic'"
        )
    try:
        finder = importlib.import_module("fil_finder").FilFinder2D
        units = importlib.import_module("astropy.units")
    except ImportError as error:
        needs = "the path method 'filfinder' needs FilFinder: pip install 'pixelgate[filfinder]', or take 'geodesic'"
        raise MissingExtra(f"{needs} ({error})") from error
    except Exception as error:  # an old astropy asks numpy for what numpy no longer has
        raise PixelgateError(f"FilFinder cannot run here ({error!r}); take the path method 'geodesic'") from error
    return finder, units
