"""Statistics over samples: bootstrap intervals."""

from __future__ import annotations

from pixelgate.stats.bootstrap import Interval, bootstrap_interval

__all__ = ["Interval", "bootstrap_interval"]
