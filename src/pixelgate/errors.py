"""What Pixelgate raises: one clear error that names the file, the rule and the mend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong with the input.

    Attributes:
        file: the file or folder, as the user would type it; empty where no single file is meant.
        rule: the short name of the broken rule, e.g. ``png-8-bit-rgb`` or ``missing-output``.
        found: what was found there, in one sentence.
        mend: what to do about it, in one sentence.
    """

    file: str
    rule: str
    found: str
    mend: str

    def __str__(self) -> str:
        where = f"{self.file}: " if self.file else ""
        return f"{where}{self.found} [{self.rule}] {self.mend}"


class PixelgateError(Exception):
    """Base of every error that Pixelgate raises for something its user can mend."""


class InputError(PixelgateError):
    """One or several inputs break the protocol's rules; all of them are listed at once."""

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class MissingExtra(PixelgateError):
    """An optional dependency is needed and not installed; the message holds the pip command."""


class WeightsError(PixelgateError):
    """A network's weights are missing or are not the expected ones."""


class ProtocolError(PixelgateError):
    """A protocol file or a parameter in it is wrong."""


class TrackError(PixelgateError):
    """A track is unknown, its definition is wrong, or its data are not at hand."""


class FetchError(PixelgateError):
    """A data set could not be fetched or does not verify."""
