"""A Python function as the method: evaluation over the hint ratios, kept runs, baselines, curves as pictures."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixelgate.colorizer.baseline import hint_fill_colorizer, plain_colorizer, spread_colorizer
    from pixelgate.colorizer.canny import canny_line_art
    from pixelgate.colorizer.evaluate import evaluate_colorizer
    from pixelgate.colorizer.manifest import (
        Manifest,
        check,
        check_ground_truths,
        check_layout,
        check_predictions,
        read_manifest,
    )
    from pixelgate.colorizer.plot import plot_curves
    from pixelgate.colorizer.rescoring import rescore
    from pixelgate.colorizer.result import ColorizerResult
    from pixelgate.colorizer.sample import ColorizerError

__all__ = [
    "ColorizerError",
    "ColorizerResult",
    "Manifest",
    "canny_line_art",
    "check",
    "check_ground_truths",
    "check_layout",
    "check_predictions",
    "evaluate_colorizer",
    "hint_fill_colorizer",
    "plain_colorizer",
    "plot_curves",
    "read_manifest",
    "rescore",
    "spread_colorizer",
]

# A scan of folders reads manifests: it must not load what scores and draws.
_MODULES = {
    "baseline": ("hint_fill_colorizer", "plain_colorizer", "spread_colorizer"),
    "canny": ("canny_line_art",),
    "evaluate": ("evaluate_colorizer",),
    "manifest": (
        "Manifest",
        "check",
        "check_ground_truths",
        "check_layout",
        "check_predictions",
        "read_manifest",
    ),
    "plot": ("plot_curves",),
    "rescoring": ("rescore",),
    "result": ("ColorizerResult",),
    "sample": ("ColorizerError",),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
