"""Classical methods that run here, and where the published ones come from."""

from __future__ import annotations

from pixelgate.methods.outputs import make_outputs
from pixelgate.methods.published import PublishedMethod, provenance, published
from pixelgate.methods.registry import Method, all_methods, get

__all__ = ["Method", "PublishedMethod", "all_methods", "get", "make_outputs", "provenance", "published"]
