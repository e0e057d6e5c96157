"""Hooks with which other plugins and conftest files add to what Pixelgate knows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pixelgate.metrics import Metric
    from pixelgate.protocols import Protocol


def pytest_bench_register_metrics() -> Sequence[Metric]:  # type: ignore[empty-body]
    """Give further metrics, which protocols may then name; called once, only where outputs are scored."""


def pytest_bench_register_protocols() -> Sequence[Protocol | Path]:  # type: ignore[empty-body]
    """Give further protocols, or the paths of their YAML files."""


def pytest_bench_register_tracks() -> Sequence[Path]:  # type: ignore[empty-body]
    """Give the paths of further tracks' YAML files."""
