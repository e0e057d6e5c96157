"""A track, its samples, and where their files lie."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from pixelgate.errors import Problem
from pixelgate.tracks.listing import Listing
from pixelgate.tracks.lock import Lock
from pixelgate.tracks.patterns import expand, folder_of, id_in, suffix_of
from pixelgate.tracks.revision import content_revision, pixel_revision

REFERENCE = "reference"
"""The column that every track has: what outputs are compared with."""


@dataclass(frozen=True)
class HubSource:
    """A data set in a repository of the Hugging Face Hub.

    Attributes:
        repository: ``organisation/name``.
        kind: the hub's repository type, ``dataset`` or ``model``.
        revision: the pinned commit, whole or its first digits; None where it is not known. Then the first
            fetch records the commit it got, and later ones are held to it.
        layouts: other places where the same columns may lie in the repository, tried after the track's own.
        shards: column -> image column of parquet shards, for a repository that holds those in place of files.
        licence: the data set's licence, as its publishers state it.
    """

    repository: str
    kind: str = "dataset"
    revision: str | None = None
    layouts: tuple[Mapping[str, str], ...] = ()
    shards: Mapping[str, str] = field(default_factory=dict)
    licence: str = ""

    @property
    def folder(self) -> str:
        """Name of the repository's folder in the data directory, ``organisation--name``."""
        return self.repository.replace("/", "--")

    @property
    def short_name(self) -> str:
        """Name of the repository without its organisation."""
        return self.repository.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class LocalSource:
    """The user's own folder: the one in which ``track.yaml`` lies."""

    folder: Path


@dataclass(frozen=True)
class BuiltSource:
    """Files that are made on this machine, from what is installed.

    Attributes:
        builder: ``module:function``; called with the folder to fill and ``progress=``.
        version: raised whenever the builder makes other files; it is part of the folder's name.
        extra: the optional dependency group that the builder needs.
    """

    builder: str
    version: str
    extra: str = ""


@dataclass(frozen=True)
class DatasetSource:
    """One condition's files in a data set's folder (see `pixelgate.tracks.dataset`).

    Attributes:
        group: the group of metrics that scores it.
        files: column -> the places where a sample's file may lie, tried in order; a place without ``{id}`` is one
            file for all samples.
        made: what builds the folder, for a data set that is made here; None for one that the user has.
        folder: name of the built folder in the data directory.
    """

    group: str
    files: Mapping[str, tuple[str, ...]]
    made: BuiltSource | None = None
    folder: str = ""


Source = HubSource | LocalSource | BuiltSource | DatasetSource


@dataclass(frozen=True)
class Track:
    """A data set view: samples, their files, its protocol.

    Attributes:
        id: name of the track, e.g. ``pst50-paired``.
        title: one line for people.
        protocol: id of the protocol that scores it.
        samples: sample ids, sorted; no two are equal when case is ignored.
        columns: column -> file pattern, relative to the data set's folder, with ``{id}`` or ``{n}``.
        source: where the files come from.
        optional: columns whose files may be missing as a whole, such as the content of a fetched track.
        metrics: the protocol's metrics that this track is scored with unless a run asks for others; empty for all.
        numbers: sample id -> the number that ``{n}`` stands for; empty where ids have none.
        discovered: whether the samples were read from the reference folder.
        file: the YAML that defines the track, for messages; None for one made in code.
    """

    id: str
    title: str
    protocol: str
    samples: tuple[str, ...]
    columns: Mapping[str, str]
    source: Source
    optional: frozenset[str] = frozenset()
    metrics: tuple[str, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    discovered: bool = False
    file: Path | None = field(default=None, compare=False)

    @property
    def group(self) -> str:
        """The group of metrics that scores it; empty for pictures."""
        return self.source.group if isinstance(self.source, DatasetSource) else ""

    @property
    def made(self) -> BuiltSource | None:
        """What makes the files here; None where they are fetched or the user's own."""
        source = self.source.made if isinstance(self.source, DatasetSource) else self.source
        return source if isinstance(source, BuiltSource) else None

    @property
    def layouts(self) -> tuple[Mapping[str, str], ...]:
        """Every way in which the files may be laid out, the track's own first."""
        more = self.source.layouts if isinstance(self.source, HubSource) else ()
        return (self.columns, *more)

    def names(self, layout: Mapping[str, str], column: str) -> dict[str, str]:
        """Sample id -> relative file name of a column in a layout, in the order of the samples."""
        return {sample: expand(layout[column], sample, self.numbers.get(sample)) for sample in self.samples}


@dataclass(frozen=True)
class Sample:
    """One sample and its files.

    Attributes:
        id: the sample's id; its output is ``<id>.png``.
        files: column -> absolute path. An optional column that is not at hand is left out.
    """

    id: str
    files: Mapping[str, Path]


@dataclass(frozen=True)
class TrackData:
    """A track and the folder that holds its files. Made by `pixelgate.tracks.locate`.

    Attributes:
        track: the track.
        root: absolute path of the folder.
        lock: what was fetched, for a fetched data set; None otherwise.
    """

    track: Track
    root: Path
    lock: Lock | None = None

    @cached_property
    def layout(self) -> Mapping[str, str]:
        """Column -> pattern of the layout in use: the one with most references at hand, the first of equals."""
        layouts = self.track.layouts
        if len(layouts) == 1:
            return layouts[0]
        counts = [sum(map(self._listing.has, self.track.names(one, REFERENCE).values())) for one in layouts]
        return layouts[counts.index(max(counts))]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns at hand: all but the optional ones of which there is no file."""
        return tuple(
            column
            for column in self.layout
            if column not in self.track.optional or any(map(self._listing.has, self._names(column).values()))
        )

    def samples(self) -> tuple[Sample, ...]:
        """Every sample with its files, sorted by id; nothing is left out because a file is missing."""
        names = {column: self._names(column) for column in self.columns}
        return tuple(
            Sample(sample, MappingProxyType({column: self.root / names[column][sample] for column in self.columns}))
            for sample in self.track.samples
        )

    @property
    def missing(self) -> Mapping[str, Problem]:
        """Sample id -> what of it is missing, for samples that `samples` cannot give; here `problems` names files."""
        return {}

    @property
    def group(self) -> str:
        """See `Track.group`."""
        return self.track.group

    def files(self) -> list[str]:
        """Sorted relative names of the track's files that are at hand."""
        return [name for name in self._all_names() if self._listing.has(name)]

    @cached_property
    def revision(self) -> str:
        """What the numbers were measured on.

        ``organisation/name@<commit>`` for a fetched data set whose files are all in its lock. Otherwise
        ``sha256:<64 hex digits>``: over the files' names and bytes, as `content_revision` defines it, or,
        for a track built here, over names and decoded pixels (`pixel_revision`), which stay the same
        when another library version compresses the same picture differently.
        """
        if self.lock is not None and not self._unlocked():
            return f"{self.lock.repository}@{self.lock.revision}"
        names = self.files()
        if isinstance(self.track.source, BuiltSource):
            return pixel_revision(self.root, names)
        return content_revision(self.root, names)

    @property
    def revision_short(self) -> str:
        """The revision for tables: seven digits of a commit, twelve of a content hash."""
        head, mark, commit = self.revision.partition("@")
        return f"{head}@{commit[:7]}" if mark else self.revision[: len("sha256:") + 12]

    def expected_sha256(self, path: Path) -> str | None:
        """The SHA-256 that the lock holds for one of the track's files; None where there is no lock."""
        if self.lock is None:
            return None
        entry = self.lock.files.get(path.relative_to(self.root).as_posix())
        return entry.sha256 if entry else None

    def problems(self) -> list[Problem]:
        """All that is wrong with the track's own files, sorted: missing, misnamed, locked, foreign, changed in size.

        File contents are not read; `pixelgate.tracks.fetch.verify` does that.
        """
        found = [self._missing(name) for name in self._all_names() if not self._listing.has(name)]
        found += [_locked(path) for name in self.files() if not os.access(path := self.root / name, os.R_OK)]
        if self.track.discovered:
            found += self._orphans()
        if self.lock is not None:
            found += self._changed()
        return sorted(found)

    @cached_property
    def _listing(self) -> Listing:
        return Listing(self.root)

    def _names(self, column: str) -> dict[str, str]:
        return self.track.names(self.layout, column)

    def _all_names(self) -> list[str]:
        return sorted({name for column in self.columns for name in self._names(column).values()})

    def _unlocked(self) -> list[str]:
        assert self.lock is not None
        return [name for name in self.files() if name not in self.lock.files]

    def _missing(self, name: str) -> Problem:
        path = self.root / name
        near = self._listing.other_case(name)
        if near:
            mend = f"Rename it to {Path(name).name!r}: names are exact, also on a disk that ignores case."
            return Problem(str(path), "name-case", f"the file is named {near!r}.", mend)
        kind = self._listing.kind(name)
        if kind == "folder":
            return Problem(str(path), "not-a-file", "a folder stands where a picture should.", "Remove the folder.")
        if kind == "other":
            return Problem(str(path), "not-a-file", "this is a link to nothing, or no plain file.", self._mend())
        return Problem(str(path), "missing-reference", "the track's own file is missing.", self._mend())

    def _mend(self) -> str:
        source = self.track.source
        if isinstance(source, HubSource):
            return f"Run: pixelgate data fetch {self.track.id}"
        if isinstance(source, BuiltSource):
            return f"Remove the folder {self.root}; it is built anew on the next run."
        return f"Add the file, or take the sample out of {self.track.file or 'track.yaml'}."

    def _orphans(self) -> list[Problem]:
        known = set(self.track.samples)
        found = []
        for column in self.columns:
            pattern = self.layout[column]
            if column == REFERENCE or "{id}" not in pattern:
                continue
            # A name that differs in case only is reported once, as the missing file that it is.
            wanted = {name.lower() for name in self._names(column).values()}
            for name in self._listing.files(folder_of(pattern), suffix_of(pattern)):
                path = f"{folder_of(pattern)}/{name}".removeprefix("/")
                if path.lower() in wanted:
                    continue
                sample = id_in(pattern, name)
                text = f"no reference has the id {sample!r}." if sample and sample not in known else "no sample has it."
                mend = f"Add its reference ({self.layout[REFERENCE]}), rename it, or move it away."
                found.append(Problem(str(self.root / path), "no-reference", text, mend))
        return found

    def _changed(self) -> list[Problem]:
        assert self.lock is not None
        mend = f"Run: pixelgate data fetch {self.track.id}"
        found = [
            Problem(str(self.root / name), "not-fetched", "the file is not in the lock file of what was fetched.", mend)
            for name in self._unlocked()
        ]
        for name in self._all_names():
            entry = self.lock.files.get(name)
            if entry and self._listing.has(name) and (size := (self.root / name).stat().st_size) != entry.size:
                text = f"the file has {size} bytes; {entry.size} were fetched."
                found.append(Problem(str(self.root / name), "changed-data", text, mend))
        return found


def _locked(path: Path) -> Problem:
    return Problem(str(path), "not-readable", "cannot be read (permission denied).", "Check its rights.")
