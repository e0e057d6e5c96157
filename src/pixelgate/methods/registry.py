"""The methods that really run here: what they are, and running one on a pair of pictures."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, MissingExtra, PixelgateError, Problem

Picture = NDArray[np.uint8]
"""8-bit sRGB picture, height x width x 3."""


_EXTRA = "pip install 'pixelgate[demo]'"
# It asks for numpy 1 although it works with numpy 2, so no extra can name it beside the others.
_NUMPY_1 = "python-color-transfer"


class UndefinedResultError(ArithmeticError):
    """A method's function has no result for a pair; the message says why."""


@dataclass(frozen=True)
class Method:
    """A style transfer method that needs no network and runs in this process.

    Attributes:
        name: the name of its outputs' folder.
        title: its name in tables.
        code: where the code comes from.
        settings: how it is called.
        requires: (distribution, wanted version or None for any) pairs.
        function: (content, style) -> uint8 picture or float picture in [0, 1]; it may change its arguments,
            and raises `UndefinedResultError` where it has no result.
    """

    name: str
    title: str
    code: str
    settings: str
    requires: tuple[tuple[str, str | None], ...]
    function: Callable[[Picture, Picture], NDArray[np.generic]] = field(repr=False)

    def run(self, content: Picture, style: Picture) -> Picture:
        """Transfer the style's colours to the content.

        The pictures given are never changed: the method works on copies.

        Args:
            content: uint8, height x width x 3, sRGB.
            style: uint8, height x width x 3, sRGB; its size may differ.

        Returns:
            A new uint8 picture of the content's size, the same on every run.

        Raises:
            MissingExtra: a needed package is missing or has another version.
            InputError: rule ``method-undefined``, if the method has no finite result for these pictures,
                e.g. Reinhard's for a content of one colour.
            ValueError: a picture has another type or shape.
        """
        for role, picture in (("content", content), ("style", style)):
            if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or 0 in picture.shape:
                raise ValueError(f"{role}: wanted uint8, height x width x 3; got {picture.dtype}, {picture.shape}")
        self.check()
        # Packages divide by spreads that may be 0; what comes of it is checked below, not warned about.
        with np.errstate(all="ignore"):
            output = self._call(content.copy(), style.copy())
        if output.shape != content.shape:
            raise PixelgateError(f"{self.name}: made {output.shape} from a content of {content.shape}")
        return output

    @property
    def install(self) -> str:
        """The command that installs what the method needs."""
        for distribution, wanted in self.requires:
            if distribution == _NUMPY_1:
                return f"pip install --no-deps {distribution}=={wanted}"
        return _EXTRA

    def check(self) -> None:
        """Raise `MissingExtra` if a needed package is missing or has another version."""
        for distribution, wanted in self.requires:
            try:
                found = importlib.metadata.version(distribution)
            except importlib.metadata.PackageNotFoundError:
                found = None
            if found is None or wanted not in (None, found):
                need = distribution if wanted is None else f"{distribution} {wanted}"
                state = "is not installed" if found is None else f"is installed as {found}"
                raise MissingExtra(f"method {self.name!r} needs {need}, which {state}: run {self.install}")

    def _call(self, content: Picture, style: Picture) -> Picture:
        try:
            output = self.function(content, style)
        except ImportError as error:
            raise MissingExtra(f"method {self.name!r} cannot load its code ({error}): run {_EXTRA}") from error
        except (UndefinedResultError, np.linalg.LinAlgError) as error:
            raise self._undefined(str(error)) from None
        return np.ascontiguousarray(output) if output.dtype == np.uint8 else self._to_8_bits(output)

    def _to_8_bits(self, output: NDArray[np.generic]) -> Picture:
        if np.iscomplexobj(output) or not np.isfinite(output).all():
            raise self._undefined("its result holds values that are no finite real numbers")
        return np.rint(np.clip(output.astype(np.float64), 0.0, 1.0) * 255.0).astype(np.uint8)

    def _undefined(self, why: str) -> InputError:
        return InputError(
            Problem(
                "",
                "method-undefined",
                f"{self.title} has no result for this pair: {why}.",
                "Use a content with more than one colour, or another method.",
            )
        )


def get(name: str) -> Method:
    """Return the method of that name.

    Raises:
        PixelgateError: there is none; the message lists those known.
    """
    methods = all_methods()
    for method in methods:
        if method.name == name:
            return method
    known = ", ".join(method.name for method in methods)
    raise PixelgateError(f"no method {name!r} runs here; known: {known}")


def all_methods() -> tuple[Method, ...]:
    """Return every method that runs here, the baseline first. Nothing heavy is imported."""
    from pixelgate.methods.classical import METHODS  # late, since that module needs `Method`

    return METHODS
