"""Pixelgate: gate image and video generators on numbers, under fixed, published protocols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixelgate import metrics
    from pixelgate.scoring import score

__version__ = "0.1.0"
__all__ = ["__version__", "metrics", "score"]


def __getattr__(name: str) -> Any:
    # `score` brings pandas and `metrics` brings scipy: neither may load with the plugin's options.
    import importlib

    if name == "score":
        return importlib.import_module("pixelgate.scoring").score
    if name == "metrics":
        return importlib.import_module("pixelgate.metrics")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
