"""Where the published methods come from: code, commit, weights and settings of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from pixelgate.errors import PixelgateError


@dataclass(frozen=True)
class Weights:
    """A file of network weights.

    Attributes:
        file: its name where it is published.
        sha256_prefix: the first 12 hex digits of its SHA-256.
        source: where it is published, if not in the code's repository.
    """

    file: str
    sha256_prefix: str
    source: str | None = None


@dataclass(frozen=True)
class PublishedMethod:
    """A method of the PSTBench paper and how it was run there.

    Attributes:
        name: short id, unique in the registry.
        title: its name in tables.
        results: the folder names under which its results are kept.
        code: a repository (``github.com/owner/name``), a package (``pypi:name``), or None.
        revision: the commit, or the package's version; None where none is stated.
        weights: all files of weights, empty for methods without a network.
        settings: how it was run.
        runs_here: whether `pixelgate.methods.get(name)` runs it.
        resized: whether its outputs are scored with resizing allowed.
    """

    name: str
    title: str
    results: tuple[str, ...]
    code: str | None
    revision: str | None
    weights: tuple[Weights, ...]
    settings: str
    runs_here: bool
    resized: bool


@cache
def published() -> tuple[PublishedMethod, ...]:
    """Return every published method, in the order of the paper's table.

    Raises:
        PixelgateError: the packaged registry is damaged.
    """
    text = resources.files("pixelgate.methods").joinpath("published.yaml").read_text(encoding="utf-8")
    try:
        return tuple(_method(entry) for entry in yaml.safe_load(text)["methods"])
    except (KeyError, TypeError, yaml.YAMLError) as error:
        raise PixelgateError(f"published.yaml is damaged ({error!r}); install pixelgate again") from error


def provenance(results_name: str) -> PublishedMethod | None:
    """Return the published method whose results are kept under that folder name, or None."""
    for method in published():
        if results_name in method.results:
            return method
    return None


def _method(entry: dict[str, Any]) -> PublishedMethod:
    return PublishedMethod(
        name=entry["name"],
        title=entry["title"],
        results=tuple(entry["results"]),
        code=entry["code"],
        revision=entry["revision"],
        weights=tuple(
            Weights(item["file"], item["sha256_prefix"], item.get("source")) for item in entry.get("weights", ())
        ),
        settings=" ".join(entry["settings"].split()),
        runs_here=entry.get("runs_here", False),
        resized=entry.get("resized", False),
    )
