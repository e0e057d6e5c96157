"""Arrays read by several threads at once."""

from __future__ import annotations

import gc
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pixelgate.io.depth import open_depth
from pixelgate.io.features import FeatureFile, Field
from pixelgate.io.npy import read_npy
from pixelgate.io.trajectory import read_trajectory

READS = 60


@pytest.fixture
def _collected_at_every_step() -> Any:
    """Let threads change places wherever the garbage collector runs, as its callbacks and finalizers do."""

    def pause(phase: str, info: dict[str, int]) -> None:
        time.sleep(0)

    threshold = gc.get_threshold()
    gc.callbacks.append(pause)
    gc.set_threshold(20)
    yield
    gc.callbacks.remove(pause)
    gc.set_threshold(*threshold)


def features(path: Path) -> None:
    with FeatureFile(path, {"depth": Field("real", ("T", "H", "W"))}) as file:
        file.array("depth")


READERS = {
    "npy": (lambda p: read_npy(p / "a.npy")),
    "npz": (lambda p: open_depth(p / "a.npz")),
    "fortran": (lambda p: list(open_depth(p / "f.npz").frames())),
    "features": (lambda p: features(p / "a.npz")),
    "trajectory": (lambda p: read_trajectory(p / "t.npz")),
}


@pytest.mark.usefixtures("_collected_at_every_step")
@pytest.mark.parametrize("reader", READERS)
def test_a_sound_file_is_never_told_as_damaged(tmp_path: Path, reader: str) -> None:
    """Before Python 3.11.8 its parser, which NumPy uses, mixes threads up (python/cpython#106905)."""
    depth = np.zeros((2, 3, 4))
    np.save(tmp_path / "a.npy", depth)
    np.savez(tmp_path / "a.npz", depth=depth)
    np.savez(tmp_path / "f.npz", depth=np.asfortranarray(depth))
    np.savez(tmp_path / "t.npz", cam_c2w=np.tile(np.eye(4), (3, 1, 1)))
    read = READERS[reader]

    def many(_: int) -> None:
        for _ in range(READS):
            read(tmp_path)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(many, range(4)))
    finally:
        sys.setswitchinterval(interval)
