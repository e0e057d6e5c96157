"""Where the reference vectors lie, hashes as they are defined there, and strategies for small pictures."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

ORACLE = Path(__file__).parents[1] / "conformance" / "hintauc"
RATIOS = (0.0, 0.01, 0.03, 0.05, 0.10, 0.25, 0.50, 1.0)
BACKENDS = [
    pytest.param(
        "numba", marks=pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed")
    ),
    "numpy",
]


def vectors(name: str) -> dict[str, Any]:
    return json.loads((ORACLE / name).read_text(encoding="utf-8"))["images"]


def sha(array: np.ndarray, dtype: str) -> str:
    return hashlib.sha256(np.ascontiguousarray(array.astype(dtype)).tobytes()).hexdigest()


def canonical(labels: np.ndarray) -> np.ndarray:
    """Regions numbered by their first pixel in raster order."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    ranks = np.empty(first.size, dtype=np.int64)
    ranks[np.argsort(first)] = np.arange(first.size)
    return ranks[inverse].reshape(labels.shape)


def arrays(dtype: Any, elements: Any, *, most: int = 24, channels: int | None = None) -> st.SearchStrategy[np.ndarray]:
    sides = st.tuples(st.integers(1, most), st.integers(1, most))
    shapes = sides if channels is None else sides.map(lambda side: (*side, channels))
    return shapes.flatmap(lambda shape: hnp.arrays(dtype, shape, elements=elements))


def pictures(most: int = 24) -> st.SearchStrategy[np.ndarray]:
    """Small pictures: of any colours, and of few, which have many equal edges."""
    few = st.sampled_from([0, 100, 101, 255])
    return st.one_of(
        arrays(np.uint8, st.integers(0, 255), most=most, channels=3), arrays(np.uint8, few, most=most, channels=3)
    )


def label_maps(most: int = 24) -> st.SearchStrategy[np.ndarray]:
    """Maps of a few labels, each of which may lie in several places."""
    return arrays(np.int32, st.integers(0, 3), most=most)


def dense(labels: np.ndarray) -> np.ndarray:
    """Numbered from 0 without gaps."""
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape).astype(np.int32)
