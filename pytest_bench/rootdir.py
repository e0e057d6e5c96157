"""What pytest takes for the project, where a path behind a blank has misled it.

Before a plugin's options are known, pytest takes ``DIR`` of ``--bench-outputs DIR`` for a test path. With a folder
outside the project it then looks for the project's ini file above both, and misses it. ``--bench-outputs=DIR`` has
no such effect.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from pytest_bench.options import path_flags

_INI = {
    "pytest.toml": "",
    ".pytest.toml": "",
    "pytest.ini": "",
    ".pytest.ini": "",
    "pyproject.toml": "[tool.pytest",
    "tox.ini": "[pytest]",
    "setup.cfg": "[tool:pytest]",
}


def golden_root(config: pytest.Config) -> Path:
    """The folder in which ``golden/`` is looked for: pytest's root folder, or the one of the call if it was misled.

    Raises:
        pytest.UsageError: the project's ini file was passed over because of a path behind a blank.
    """
    here = config.invocation_params.dir
    outside = [
        flag for flag, value in _behind_blanks(config) if not (here / value).resolve().is_relative_to(here.resolve())
    ]
    if not outside or here.resolve() == config.rootpath.resolve():
        return config.rootpath
    own = _ini_above(here)
    if own is not None and own != config.inipath:
        raise pytest.UsageError(
            f"{outside[0]} with a path behind a blank makes pytest pass over {own}; "
            f"write {outside[0]}=DIR, with an equals sign"
        )
    return here if config.inipath is None else config.rootpath


def _behind_blanks(config: pytest.Config) -> list[tuple[str, str]]:
    args = [str(arg) for arg in config.invocation_params.args]
    flags = path_flags()
    return [(flag, value) for flag, value in pairwise(args) if flag in flags]


def _inside(folder: Path, path: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _ini_above(folder: Path) -> Path | None:
    for place in (folder, *folder.parents):
        for name, mark in _INI.items():
            file = place / name
            if file.is_file() and mark in file.read_text(encoding="utf-8", errors="replace"):
                return file
    return None
