"""Strict reading of a track's YAML: every fault is found, and named with file, key and mend."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pixelgate.errors import Problem, TrackError


@dataclass
class Faults:
    """Collects what is wrong with one file and raises it all at once."""

    file: str
    found: list[Problem] = field(default_factory=list)

    def add(self, key: str, text: str, mend: str, rule: str = "track-yaml") -> None:
        """Note one fault at a key."""
        self.found.append(Problem(self.file, rule, f"key '{key}' {text}" if key else text, mend))

    def check(self) -> None:
        """Raise a `TrackError` that lists every fault, if there is one."""
        if self.found:
            raise TrackError("\n".join(str(problem) for problem in self.found))


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, which also refuses a key that is given twice."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Hashable, Any]:
    loader.flatten_mapping(node)
    result: dict[Hashable, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, Hashable) or key in result:
            raise yaml.MarkedYAMLError(problem=f"key {key!r} is given twice", problem_mark=key_node.start_mark)
        result[key] = loader.construct_object(value_node, deep=True)
    return result


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def read_mapping(path: Path) -> dict[str, Any]:
    """The mapping at the top of a YAML file.

    Raises:
        TrackError: the file cannot be read, is not YAML, names a key twice, or holds no mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TrackError(f"{path}: cannot be read as UTF-8 text: {error}") from None
    try:
        # A subclass of SafeLoader: it makes plain values only.
        raw = yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise TrackError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(raw, dict):
        raise TrackError(f"{path}: a track is a mapping with the keys id, protocol, samples and columns")
    return {str(key): value for key, value in raw.items()}


def known_keys(raw: Mapping[Any, Any], allowed: Collection[str], where: str, faults: Faults) -> None:
    """Note every key that is not one of the allowed ones."""
    for key in raw:
        if key not in allowed:
            faults.add(f"{where}{key}", "is not known", f"Remove it; the keys here are: {', '.join(sorted(allowed))}.")


def text_at(raw: Mapping[Any, Any], key: str, where: str, faults: Faults, *, default: str | None = None) -> str:
    """The text at a key; a fault where it is missing (without a default), empty or no text."""
    value = raw.get(key, default)
    if isinstance(value, str) and (value.strip() or default is not None):
        return value.strip()
    if value is None:
        faults.add(where + key, "is missing", "Add it.")
    elif isinstance(value, str):
        faults.add(where + key, "is empty", "Fill it in.")
    else:
        faults.add(where + key, f"must be text; it is {value!r}", "Put it in quotes.")
    return ""


def mapping_at(raw: Mapping[Any, Any], key: str, where: str, faults: Faults) -> dict[str, str]:
    """The mapping of text to text at a key, in its order."""
    value = raw.get(key)
    if not isinstance(value, dict) or not value:
        faults.add(where + key, "must be a mapping such as {reference: 'gt/{id}.png'}", "Write it so.")
        return {}
    wrong = [name for name, item in value.items() if not isinstance(name, str) or not isinstance(item, str)]
    for name in wrong:
        faults.add(f"{where}{key}.{name}", f"must be text; it is {value[name]!r}", "Put it in quotes.")
    return {name: item for name, item in value.items() if name not in wrong}
