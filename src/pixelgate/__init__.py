"""Pixelgate: gate image and video generators on numbers, under fixed, published protocols."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixelgate import metrics
    from pixelgate.colorizer import evaluate_colorizer, hint_fill_colorizer, plot_curves
    from pixelgate.hints import alpha_dir_name, check_alphas, generate_hints
    from pixelgate.scoring import score

__version__ = "0.1.0"
__all__ = [
    "__version__",
    "alpha_dir_name",
    "check_alphas",
    "evaluate_colorizer",
    "generate_hints",
    "hint_fill_colorizer",
    "metrics",
    "plot_curves",
    "score",
]

# Each brings array libraries or pandas, which may not load with the plugin's options.
_LAZY = {
    "alpha_dir_name": "pixelgate.hints",
    "check_alphas": "pixelgate.hints",
    "evaluate_colorizer": "pixelgate.colorizer",
    "generate_hints": "pixelgate.hints",
    "hint_fill_colorizer": "pixelgate.colorizer",
    "plot_curves": "pixelgate.colorizer",
    "score": "pixelgate.scoring",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    if name == "metrics":
        return importlib.import_module("pixelgate.metrics")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
