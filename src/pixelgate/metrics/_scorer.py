"""The scorer that all pixel metrics share: two functions and the backend's fingerprint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pixelgate.metrics._backend import Backend, backend
from pixelgate.metrics.registry import Measurement, Picture


@dataclass(frozen=True)
class PixelScorer:
    """A `Scorer` that looks for its backend on first use and keeps it.

    Attributes:
        prepare_with: (backend, reference) -> the reference's side.
        compare_with: (backend, output, prepared) -> `Measurement`.
    """

    prepare_with: Callable[[Backend, Picture], Any]
    compare_with: Callable[[Backend, Picture, Any], Measurement]

    @cached_property
    def backend(self) -> Backend:
        """The backend that this scorer uses."""
        return backend()

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """See `Scorer.fingerprint`."""
        return self.backend.fingerprint

    def prepare(self, reference: Picture) -> Any:
        """See `Scorer.prepare`."""
        return self.prepare_with(self.backend, reference)

    def compare(self, output: Picture, prepared: Any) -> Measurement:
        """See `Scorer.compare`."""
        return self.compare_with(self.backend, output, prepared)

    def score(self, output: Picture, reference: Picture) -> float:
        """One pair at once; the pixel metrics have a value for every picture that they take."""
        value = self.compare(output, self.prepare(reference)).value
        assert value is not None
        return value
