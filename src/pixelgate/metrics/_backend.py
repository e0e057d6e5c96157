"""Which code computes the pixel metrics: compiled kernels where numba is installed, numpy otherwise.

Both follow the same formulas and differ by round-off alone. The environment variable
``PIXELGATE_BACKEND`` (``numpy`` or ``numba``) forces one of them.
"""

from __future__ import annotations

import functools
import importlib
import os
from dataclasses import dataclass
from importlib.metadata import version
from types import ModuleType
from typing import Literal

from pixelgate.errors import MissingExtra, PixelgateError

ENVIRONMENT = "PIXELGATE_BACKEND"
BackendName = Literal["numpy", "numba"]


@dataclass(frozen=True)
class Backend:
    """The code in use.

    Attributes:
        name: ``numpy`` or ``numba``.
        versions: the libraries whose version may move the last digits.
    """

    name: BackendName
    versions: tuple[tuple[str, str], ...]

    @property
    def fingerprint(self) -> dict[str, str]:
        """Backend and library versions, for a result's record."""
        return {"backend": self.name, **dict(self.versions)}

    def kernels(self, numba: str, numpy: str) -> ModuleType:
        """The module of this package that holds the kernels, by its name for each backend."""
        return importlib.import_module(f"pixelgate.metrics.{numba if self.name == 'numba' else numpy}")


def backend() -> Backend:
    """The backend that the environment asks for, or else the fastest one installed.

    Raises:
        MissingExtra: numba is asked for and cannot be imported.
        PixelgateError: the environment variable holds another word.
    """
    asked = os.environ.get(ENVIRONMENT, "").strip().lower()
    if asked not in {"", "numpy", "numba"}:
        raise PixelgateError(f"{ENVIRONMENT} is {asked!r}; it must be 'numpy' or 'numba', or unset")
    return _backend(asked)


@functools.cache
def _backend(asked: str) -> Backend:
    if asked != "numpy":
        try:
            importlib.import_module("numba")
        except ImportError as error:
            # An installed numba that does not fit the installed numpy ends here too.
            if asked == "numba":
                raise MissingExtra(
                    f"{ENVIRONMENT}=numba needs numba: pip install 'pixelgate[fast]' ({error})"
                ) from error
        else:
            return Backend("numba", _versions("numba", "llvmlite"))
    return Backend("numpy", _versions("numpy"))


def _versions(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, version(name)) for name in names)
