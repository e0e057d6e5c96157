"""A protocol: the versioned set of rules and parameters that decide a number."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import yaml

from pixelgate.errors import ProtocolError

# What a reader sees but no number depends on; it stays out of the parameter hash.
_WORDS = frozenset({"title", "source", "decimals"})

_REQUIRED = ("id", "version", "title", "columns", "decoding", "size", "metrics", "aggregation", "invariants")


@dataclass(frozen=True)
class ProtocolMetric:
    """One column of a protocol's table.

    Attributes:
        id: the column's name, e.g. ``hcorr_style``.
        metric: the registered metric that computes it, e.g. ``histogram_correlation``.
        title: the head of the column.
        against: the track's column that the output is compared with.
        ranked: whether methods are ranked by it; otherwise it is reported only.
        decimals: digits shown in tables; files hold the full number.
        params: the parameters that decide the number.
        undefined: ``fails`` where a sample without a value fails its case; ``counted`` where it is left out of the
            mean, with n and its reason told.
        table: whether tables show it; files always do.
    """

    id: str
    metric: str
    title: str
    against: str
    ranked: bool
    decimals: int
    params: Mapping[str, Any] = field(hash=False)
    undefined: Literal["fails", "counted"] = "fails"
    table: bool = True


@dataclass(frozen=True)
class Protocol:
    """A protocol as read from its YAML.

    Attributes:
        raw: the whole file; parameters are read from here and nowhere else.
        metrics: the table's columns in order.
        backend: the one of the protocol's backends that computes this run; empty where it has none.
    """

    raw: Mapping[str, Any] = field(hash=False)
    metrics: tuple[ProtocolMetric, ...]
    backend: str = ""

    @property
    def id(self) -> str:
        """Name of the protocol, e.g. ``pstbench``."""
        return str(self.raw["id"])

    @property
    def version(self) -> str:
        """Version of the protocol file."""
        return str(self.raw["version"])

    @property
    def decoding(self) -> Mapping[str, Any]:
        """How pictures are read."""
        return self._mapping("decoding")

    @property
    def size(self) -> Mapping[str, Any]:
        """What size outputs have and how they are resized where that is allowed; with the backend, if there is one."""
        size = self._mapping("size")
        return {**size, "backend": self.backend} if self.backend else size

    @property
    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        """Group -> the parameters of its evaluator, for protocols that score clips; empty for the others."""
        groups: Mapping[str, Mapping[str, Any]] = self.raw.get("groups", {})
        return groups

    @property
    def faults(self) -> frozenset[str]:
        """Rules of deviations that are evidence of a fault in an output and fail its case unless a run allows them."""
        return frozenset(self.raw.get("faults", ()))

    @property
    def excusable(self) -> frozenset[str]:
        """Rules of problems that a run may allow as missing; each is then a deviation."""
        return frozenset(self.raw.get("excusable", ("missing-output",)))

    @property
    def backends(self) -> tuple[str, ...]:
        """The backends that may compute a run, the published one first; empty where there is no choice."""
        return tuple(self.raw.get("backends", ()))

    @property
    def slices(self) -> Mapping[str, Any] | None:
        """The third axis: its kind and its grid; None where a case is scored as a whole."""
        return self.raw.get("slices")

    def with_backend(self, backend: str) -> Protocol:
        """The protocol as one of its backends computes it. The parameter hash covers all of them and stays.

        Raises:
            ProtocolError: there is no such backend.
        """
        if backend not in self.backends:
            known = ", ".join(self.backends) or "none: this protocol leaves no choice"
            raise ProtocolError(f"protocol {self.id!r} has no backend {backend!r}; known: {known}")
        return parse_entries(self.raw, f"{self.id}.yaml", backend)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What the names of outputs may end in."""
        return tuple(self.decoding.get("suffixes", (".png",)))

    @property
    def aggregation(self) -> Mapping[str, Any]:
        """Centre, order and interval."""
        return self._mapping("aggregation")

    @property
    def invariants(self) -> tuple[str, ...]:
        """Names of the invariants that every run is held against."""
        return tuple(self.raw["invariants"])

    @property
    def baseline(self) -> Mapping[str, Any] | None:
        """The method that every table shows and the track's column that it copies, if the protocol has one."""
        return self.raw.get("baseline")

    @cached_property
    def params_hash(self) -> str:
        """SHA-256 over all that decides a number: the file without titles, sources and decimals, as sorted JSON."""
        text = json.dumps(_without_words(self.raw), sort_keys=True, ensure_ascii=False, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def metric(self, metric_id: str) -> ProtocolMetric:
        """The column of that id; `ProtocolError` names the known ones otherwise."""
        for metric in self.metrics:
            if metric.id == metric_id:
                return metric
        known = ", ".join(metric.id for metric in self.metrics)
        raise ProtocolError(f"protocol {self.id!r} has no metric {metric_id!r}; it has: {known}")

    def _mapping(self, key: str) -> Mapping[str, Any]:
        value: Mapping[str, Any] = self.raw[key]
        return value


def _without_words(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_words(item) for key, item in value.items() if key not in _WORDS}
    if isinstance(value, list):
        return [_without_words(item) for item in value]
    return value


def parse_protocol(text: str, origin: str) -> Protocol:
    """Read a protocol from YAML text.

    Args:
        text: the YAML.
        origin: file name, for messages.

    Raises:
        ProtocolError: not YAML, a missing key, or a metric that is not fully described.
    """
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ProtocolError(f"{origin}: not valid YAML: {error}") from None
    if not isinstance(raw, dict):
        raise ProtocolError(f"{origin}: a protocol is a mapping with the keys {', '.join(_REQUIRED)}")
    missing = [key for key in _REQUIRED if key not in raw]
    if missing:
        raise ProtocolError(f"{origin}: the key(s) {', '.join(missing)} are missing; pstbench.yaml is a full example")
    return parse_entries(raw, origin, next(iter(raw.get("backends", ())), ""))


def parse_entries(raw: Mapping[str, Any], origin: str, backend: str) -> Protocol:
    """A protocol from its parsed YAML, as one of its backends computes it."""
    metrics = tuple(_parse_metric(entry, raw["columns"], origin, backend) for entry in raw["metrics"])
    ids = [metric.id for metric in metrics]
    if not ids or len(set(ids)) != len(ids):
        raise ProtocolError(f"{origin}: metrics need at least one entry and distinct ids; got {ids}")
    return Protocol(raw=raw, metrics=metrics, backend=backend)


def _parse_metric(entry: Any, columns: list[str], origin: str, backend: str) -> ProtocolMetric:
    keys = ("id", "metric", "title", "against", "ranked", "decimals", "params")
    spare = {"undefined", "table"}
    if not isinstance(entry, dict) or sorted(entry.keys() - spare) != sorted(keys):
        raise ProtocolError(f"{origin}: each metric needs exactly the keys {', '.join(keys)}; got {entry!r}")
    if entry.get("undefined", "fails") not in ("fails", "counted") or not isinstance(entry.get("table", True), bool):
        raise ProtocolError(f"{origin}: metric {entry['id']!r}: undefined is fails or counted, table true or false")
    if entry["against"] not in columns:
        raise ProtocolError(
            f"{origin}: metric {entry['id']!r} compares with {entry['against']!r}, "
            f"which is none of the columns {', '.join(columns)}"
        )
    metric = entry["metric"]
    if isinstance(metric, dict):
        if backend not in metric:
            raise ProtocolError(f"{origin}: metric {entry['id']!r} names no computation for the backend {backend!r}")
        metric = metric[backend]
    return ProtocolMetric(**{**entry, "metric": metric})


_REGISTERED: dict[str, Protocol] = {}


def register_protocol(protocol: Protocol | Path) -> Protocol:
    """Add a protocol, or the YAML file of one; an id can be taken once only."""
    if isinstance(protocol, Path):
        protocol = parse_protocol(protocol.read_text(encoding="utf-8"), str(protocol))
    known = _REGISTERED.get(protocol.id)
    if (known is not None and known != protocol) or (known is None and protocol.id in _built_in()):
        raise ProtocolError(f"protocol {protocol.id!r} exists already; give yours another id")
    _REGISTERED[protocol.id] = protocol
    return protocol


def available_protocols() -> list[str]:
    """Ids of the built-in and the registered protocols, sorted."""
    return sorted({*_built_in(), *_REGISTERED})


def load_protocol(protocol_id: str) -> Protocol:
    """The protocol of that id.

    Raises:
        ProtocolError: no protocol has that id.
    """
    if protocol_id in _REGISTERED:
        return _REGISTERED[protocol_id]
    if protocol_id not in _built_in():
        raise ProtocolError(f"unknown protocol {protocol_id!r}; known: {', '.join(available_protocols())}")
    return _load_built_in(protocol_id)


@cache
def _load_built_in(protocol_id: str) -> Protocol:
    file = resources.files("pixelgate.protocols") / f"{protocol_id}.yaml"
    return parse_protocol(file.read_text(encoding="utf-8"), f"{protocol_id}.yaml")


@cache
def _built_in() -> frozenset[str]:
    folder = resources.files("pixelgate.protocols")
    return frozenset(e.name.removesuffix(".yaml") for e in folder.iterdir() if e.name.endswith(".yaml"))
