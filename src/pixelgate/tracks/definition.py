"""From a YAML file to a `Track`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pixelgate.tracks.dataset import read_dataset
from pixelgate.tracks.patterns import ID_RULE, folder_of, is_id, pattern_fault
from pixelgate.tracks.reading import Faults, known_keys, mapping_at, read_mapping, text_at
from pixelgate.tracks.samples import Samples, read_samples
from pixelgate.tracks.track import REFERENCE, BuiltSource, HubSource, LocalSource, Source, Track

_KEYS = ("id", "title", "protocol", "samples", "columns", "optional", "metrics", "source")
_HUB_KEYS = ("hub", "kind", "revision", "layouts", "shards", "licence")
_BUILT_KEYS = ("built", "version", "extra")


@dataclass
class _Draft:
    """What has been read so far; checked as a whole at the end."""

    raw: Mapping[str, Any]
    path: Path
    faults: Faults
    columns: dict[str, str] = field(default_factory=dict)


def read_track(path: Path) -> Track:
    """Read a track from its YAML.

    The keys are ``id``, ``protocol``, ``samples`` and ``columns``, and, where wanted, ``title``,
    ``optional``, ``metrics`` and ``source``. Without ``source`` the files lie in the folder of the YAML itself, and
    samples may be discovered there.

    Args:
        path: the file.

    Raises:
        TrackError: the file is not right. All faults are listed, each with the file, the key and the mend.
    """
    path = path.absolute()
    draft = _Draft(read_mapping(path), path, Faults(str(path)))
    known_keys(draft.raw, _KEYS, "", draft.faults)
    track_id = _read_id(draft)
    protocol = text_at(draft.raw, "protocol", "", draft.faults)
    title = text_at(draft.raw, "title", "", draft.faults, default=track_id)
    if isinstance(raw := draft.raw.get("source"), dict) and "dataset" in raw:
        return _dataset_track(draft, track_id, title or track_id, protocol, raw)
    source = _read_source(draft)
    draft.columns = _read_columns(draft)
    samples = _read_samples(draft, source)
    optional = _read_optional(draft)
    metrics = _read_metrics(draft)
    _check_protocol(draft, protocol, optional)
    draft.faults.check()
    return Track(
        id=track_id,
        title=title or track_id,
        protocol=protocol,
        samples=samples.ids,
        columns=draft.columns,
        source=source,
        optional=optional,
        metrics=metrics,
        numbers=samples.numbers,
        discovered=samples.discovered,
        file=path,
    )


def _dataset_track(draft: _Draft, track_id: str, title: str, protocol: str, raw: Mapping[str, Any]) -> Track:
    """A track over one condition of a data set; its samples are known when the data set's folder is."""
    source = read_dataset(raw, draft.path, draft.faults)
    draft.columns = {column: places[0] for column, places in source.files.items()}
    optional, metrics = _read_optional(draft), _read_metrics(draft)
    draft.faults.check()
    return Track(track_id, title, protocol, (), draft.columns, source, optional, metrics, file=draft.path)


def _read_id(draft: _Draft) -> str:
    track_id = text_at(draft.raw, "id", "", draft.faults)
    if track_id and not is_id(track_id):
        draft.faults.add("id", f"is {track_id!r}", f"Use {ID_RULE}; for instance 'my-photos'.", "track-id")
    return track_id


def _read_columns(draft: _Draft) -> dict[str, str]:
    columns = mapping_at(draft.raw, "columns", "", draft.faults)
    samples = draft.raw.get("samples")
    # `samples: "{id}.png"` names the files once; columns are then plain folders.
    if isinstance(samples, str) and "{" in samples:
        columns = {key: value if "{" in value else f"{value.rstrip('/')}/{samples}" for key, value in columns.items()}
    _check_patterns(columns, "columns", draft)
    if columns and REFERENCE not in columns:
        mend = f"Add {REFERENCE}: the file pattern of what outputs are compared with."
        draft.faults.add("columns", f"has no {REFERENCE!r}", mend)
    if len(set(columns.values())) < len(columns):
        draft.faults.add("columns", "gives two columns the same files", "Give each column its own folder or names.")
    return columns


def _check_patterns(columns: Mapping[str, str], where: str, draft: _Draft) -> None:
    for column, pattern in columns.items():
        if fault := pattern_fault(pattern):
            mend = "Write a pattern such as 'gt/{id}.png'."
            draft.faults.add(f"{where}.{column}", f"is {pattern!r}: it {fault}", mend)


def _read_samples(draft: _Draft, source: Source) -> Samples:
    reference = draft.columns.get(REFERENCE, "")
    if draft.faults.found and not isinstance(draft.raw.get("samples"), (list, dict)):
        return Samples(())  # Discovery needs usable columns; their faults are told first.
    local = source.folder if isinstance(source, LocalSource) else None
    samples = read_samples(draft.raw.get("samples"), reference, local, draft.faults)
    if samples.ids and not samples.numbers and any("{n" in pattern for pattern in draft.columns.values()):
        mend = "Number them, e.g. samples: {id: 'shot-{n:03d}', first: 1, last: 50}; or use {id} in the columns."
        draft.faults.add("samples", "have no numbers, and a column uses {n}", mend)
    return samples


def _read_metrics(draft: _Draft) -> tuple[str, ...]:
    value = draft.raw.get("metrics", [])
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        draft.faults.add(
            "metrics", f"must be a list of metric ids; it is {value!r}", "Write, e.g., metrics: [mse, psnr]."
        )
        return ()
    return tuple(value)


def _read_optional(draft: _Draft) -> frozenset[str]:
    value = draft.raw.get("optional", [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        draft.faults.add("optional", f"must be a list of columns; it is {value!r}", "Write, e.g., optional: [content].")
        return frozenset()
    for name in value:
        if name not in draft.columns:
            draft.faults.add("optional", f"names {name!r}, which is no column", "Take it out, or add the column.")
    return frozenset(value)


def _read_source(draft: _Draft) -> Source:
    raw = draft.raw.get("source")
    if raw is None:
        return LocalSource(draft.path.parent)
    if isinstance(raw, dict) and "hub" in raw:
        return _read_hub(raw, draft)
    if isinstance(raw, dict) and "built" in raw:
        return _read_built(raw, draft)
    mend = "Leave it out for your own folder; or give {hub: organisation/name} or {built: 'module:function'}."
    draft.faults.add("source", f"is {raw!r}", mend)
    return LocalSource(draft.path.parent)


def _read_hub(raw: Mapping[str, Any], draft: _Draft) -> HubSource:
    faults, where = draft.faults, "source."
    known_keys(raw, _HUB_KEYS, where, faults)
    repository = text_at(raw, "hub", where, faults)
    if repository and (repository.count("/") != 1 or not all(map(is_id, repository.split("/")))):
        faults.add("source.hub", f"is {repository!r}", "Write organisation/name.")
    revision = raw.get("revision")
    if revision is not None and not _is_commit(revision):
        mend = "Give 7 to 40 lower-case hex digits in quotes, or leave it out."
        faults.add("source.revision", f"is {revision!r}", mend)
    kind = text_at(raw, "kind", where, faults, default="dataset")
    if kind not in ("dataset", "model"):
        faults.add("source.kind", f"is {kind!r}", "Write dataset or model.")
    layouts = raw.get("layouts", [])
    if not isinstance(layouts, list) or not all(isinstance(layout, dict) for layout in layouts):
        faults.add("source.layouts", "must be a list of mappings from column to pattern", "Write it so.")
        layouts = []
    for number, layout in enumerate(layouts):
        _check_layout(layout, f"source.layouts[{number}]", draft)
    shards = mapping_at(raw, "shards", where, faults) if "shards" in raw else {}
    licence = text_at(raw, "licence", where, faults, default="")
    return HubSource(repository, kind, revision, tuple(layouts), shards, licence)


def _check_layout(layout: Mapping[str, Any], where: str, draft: _Draft) -> None:
    columns = draft.raw.get("columns")
    if not isinstance(columns, dict) or set(layout) != set(columns):
        draft.faults.add(where, "has other columns than the track", "Give a pattern for each of the track's columns.")
    elif not all(isinstance(pattern, str) for pattern in layout.values()):
        draft.faults.add(where, "must map columns to patterns", "Write patterns such as 'gt/{n}.png' in quotes.")
    else:
        _check_patterns(layout, where, draft)


def _is_commit(value: Any) -> bool:
    return isinstance(value, str) and 7 <= len(value) <= 40 and set(value) <= set("0123456789abcdef")


def _read_built(raw: Mapping[str, Any], draft: _Draft) -> BuiltSource:
    known_keys(raw, _BUILT_KEYS, "source.", draft.faults)
    builder = text_at(raw, "built", "source.", draft.faults)
    if builder and builder.count(":") != 1:
        draft.faults.add("source.built", f"is {builder!r}", "Write module:function.")
    version = text_at(raw, "version", "source.", draft.faults)
    if version and not is_id(version):
        draft.faults.add("source.version", f"is {version!r}", f"Use {ID_RULE}.")
    return BuiltSource(builder, version, text_at(raw, "extra", "source.", draft.faults, default=""))


def _check_protocol(draft: _Draft, protocol: str, optional: frozenset[str]) -> None:
    """A column that the protocol does not know is a typing mistake: nothing would ever read it."""
    from pixelgate.errors import ProtocolError
    from pixelgate.protocols import load_protocol

    if not protocol:
        return
    try:
        loaded = load_protocol(protocol)
    except ProtocolError as error:
        draft.faults.add("protocol", f"is {protocol!r}: {error}", "Name one that `pixelgate protocols` lists.")
        return
    known = list(loaded.raw["columns"])
    compared = {metric.against for metric in loaded.metrics}
    for column in sorted(optional & {REFERENCE, *compared}):
        mend = "Take it out, or choose another protocol."
        draft.faults.add("optional", f"names {column!r}, which outputs are compared with under {protocol!r}", mend)
    for column in draft.columns:
        if column not in known:
            mend = f"Rename or remove it; the protocol's columns are: {', '.join(known)}."
            draft.faults.add(f"columns.{column}", f"is no column of the protocol {protocol!r}", mend)
    for column in known:
        if draft.columns and column not in draft.columns and column != REFERENCE:
            spare = "" if column in compared else f" (and list it under optional if you have no {column})"
            mend = f"Add it under columns, e.g. {column}: '{_example(draft.columns, column)}'{spare}."
            draft.faults.add("columns", f"lacks {column!r}, which the protocol {protocol!r} uses", mend)


def _example(columns: Mapping[str, str], column: str) -> str:
    pattern = columns.get(REFERENCE, "gt/{id}.png")
    last = pattern.rsplit("/", 1)[-1]
    return f"{column}/{last}" if folder_of(pattern) else f"{column}-{last}"
