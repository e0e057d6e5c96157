"""Data sets in FlexBench's layout: one folder per condition, one track for each of them.

The samples are what the data set names: the ids of ``captions.json`` and those of the condition's own files. A sample
whose reference is not there stays a sample, so that nothing leaves an average unseen.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pixelgate.errors import Problem, TrackError
from pixelgate.io.captions import read_captions
from pixelgate.tracks.listing import Listing
from pixelgate.tracks.owning import own_files
from pixelgate.tracks.patterns import folder_of, id_in, suffix_of
from pixelgate.tracks.reading import Faults, known_keys, text_at
from pixelgate.tracks.revision import content_revision
from pixelgate.tracks.track import REFERENCE, BuiltSource, DatasetSource, Sample, Track, TrackData

if TYPE_CHECKING:
    from collections.abc import Iterable

CAPTIONS = "captions.json"

_KEYS = ("dataset", "group", "files", "built", "folder", "version", "extra")


def read_dataset(raw: Mapping[str, Any], file: Path, faults: Faults) -> DatasetSource:
    """The ``source`` of a track's YAML that names a data set's layout; faults are noted."""
    known_keys(raw, _KEYS, "source.", faults)
    files = raw.get("files")
    if not isinstance(files, dict) or REFERENCE not in files:
        faults.add("source.files", "needs a mapping from columns to places, with a reference", "Write it so.")
        files = {}
    places = {key: (value,) if isinstance(value, str) else tuple(value) for key, value in files.items()}
    made = None
    if "built" in raw:
        made = BuiltSource(raw["built"], text_at(raw, "version", "source.", faults), raw.get("extra", ""))
    group = text_at(raw, "group", "source.", faults)
    return DatasetSource(group, places, made, text_at(raw, "folder", "source.", faults, default=""))


@dataclass(frozen=True)
class DatasetData(TrackData):
    """A condition's files in one folder. Made by `pixelgate.tracks.locate`, with the samples found filled in."""

    @property
    def source(self) -> DatasetSource:
        """The layout."""
        assert isinstance(self.track.source, DatasetSource)
        return self.track.source

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Every column of the layout; a sample may lack any of them."""
        return tuple(self.source.files)

    @cached_property
    def absent(self) -> str:
        """Why the group cannot be scored at all: its folder or file is not there. Empty where it is."""
        places = self.source.files[REFERENCE]
        if any("{id}" not in place and self._listing.has(place) for place in places):
            return ""
        if any(id_in(place, name) for place in places if "{id}" in place for name in self._names_in(place)):
            return ""
        return f"the data set has no reference for it: nothing fits {' or '.join(places)} in {self.root}"

    def samples(self) -> tuple[Sample, ...]:
        """The samples whose reference is there, with their files, sorted by id."""
        return self._samples

    @cached_property
    def _samples(self) -> tuple[Sample, ...]:
        found = {sample: self._files_of(sample) for sample in self.track.samples}
        return tuple(Sample(name, MappingProxyType(files)) for name, files in found.items() if not self._lacking(files))

    def _files_of(self, sample: str) -> dict[str, Path]:
        return {column: path for column in self.columns if (path := self._file(column, sample)) is not None}

    @cached_property
    def missing(self) -> Mapping[str, Problem]:
        """Sample id -> what is missing, for the samples that `samples` cannot give."""
        there = {sample.id for sample in self.samples()}
        return {sample: self._missing_reference(sample) for sample in self.track.samples if sample not in there}

    def files(self) -> list[str]:
        """Sorted relative names of the group's files, ``captions.json`` among them."""
        own = {path.relative_to(self.root).as_posix() for sample in self.samples() for path in sample.files.values()}
        return sorted(own | ({CAPTIONS} if self._listing.has(CAPTIONS) else set()))

    @cached_property
    def revision(self) -> str:
        """``sha256:`` over names and bytes of the group's files; of a data set made here over clips' decoded pixels.

        Another release of the encoder writes the same pixels in other bytes.
        """
        if self.track.made is None:
            return content_revision(self.root, self.files())
        from pixelgate.io.video import probe_video

        names = self.files()
        clips = {name: probe_video(self.root / name).pixels_sha256 for name in names if name.endswith(".mp4")}
        return content_revision(self.root, names, clips)

    def problems(self) -> list[Problem]:
        """Files that are there and cannot be read."""
        locked = [self.root / name for name in self.files() if not os.access(self.root / name, os.R_OK)]
        mend = "Check its rights."
        return [Problem(str(path), "not-readable", "cannot be read (permission denied).", mend) for path in locked]

    def ids(self) -> tuple[str, ...]:
        """The samples that the data set names, sorted."""
        captions = self._captions
        found = set(captions)
        for place in self.source.files[REFERENCE]:
            if "{id}" in place:
                found |= {self._own_id(name, captions) for name in self._names_in(place)} - {""}
        return tuple(sorted(found))

    def _own_id(self, name: str, captions: Mapping[str, str]) -> str:
        # 001_pose.npy is the file of 001, or of a clip that is itself called 001_pose; the captions decide, and
        # without them the longer suffix does.
        fitting = [sample for place in self.source.files[REFERENCE] if (sample := id_in(place, name))]
        named = [sample for sample in fitting if sample in captions]
        if name.endswith("_scores.npy"):
            return ""
        return (named or sorted(fitting, key=len) or [""])[0]

    @cached_property
    def _captions(self) -> Mapping[str, str]:
        return read_captions(self.root / CAPTIONS) if self._listing.has(CAPTIONS) else {}

    def _names_in(self, place: str) -> list[str]:
        return self._listing.files(folder_of(place), suffix_of(place))

    def _file(self, column: str, sample: str) -> Path | None:
        names = self._names_of(column, sample)
        return self.root / names[0] if len(names) == 1 else None

    def _names_of(self, column: str, sample: str) -> list[str]:
        """The files that may be a sample's in a column; one, or else it has none."""
        places = self.source.files[column]
        if any("{id}" not in place for place in places):
            return [place for place in places if sample in self._captions and self._listing.has(place)]
        return own_files(sample, places, self._listing.has, self.track.samples)

    def _lacking(self, files: Mapping[str, Path]) -> list[str]:
        return [column for column in self.columns if column not in files and column not in self.track.optional]

    def _missing_reference(self, sample: str) -> Problem:
        lacking = self._lacking(self._files_of(sample))
        if twice := list(dict.fromkeys(name for column in lacking for name in self._names_of(column, sample))):
            found = f"the sample {sample!r} has several files for one thing, or one that may be another's: "
            mend = "Keep the one that is meant, or give each sample its own."
            return Problem(str(self.root / twice[0]), "reference-twice", f"{found}{', '.join(twice)}.", mend)
        wanted = "; ".join(
            f"{column}: {' or '.join(place.replace('{id}', sample) for place in self.source.files[column])}"
            for column in lacking
        )
        return Problem(
            str(self.root / self.source.files[lacking[0]][0].replace("{id}", sample)),
            "missing-reference",
            f"the data set names the sample {sample!r} and lacks its {' and '.join(lacking)}.",
            f"Add it ({wanted}), or accept a mean over fewer samples with --bench-allow-missing.",
        )

    @cached_property
    def _listing(self) -> Listing:
        return Listing(self.root)


def holds_dataset(track: Track, place: Path) -> bool:
    """Whether a folder looks like the data set: it has captions or something of the track's own."""
    data = DatasetData(track, place)
    return place.is_dir() and (Listing(place).has(CAPTIONS) or not data.absent)


def dataset_in(track: Track, places: Iterable[Path]) -> DatasetData | None:
    """The data set in the first of the folders that holds it, with the samples that it names; None for other tracks."""
    if not isinstance(track.source, DatasetSource):
        return None
    for place in places:
        if holds_dataset(track, place):
            data = DatasetData(track, place.absolute())
            return DatasetData(replace(track, samples=data.ids()), data.root)
    return None


def no_dataset(track: Track, places: Iterable[Path]) -> TrackError:
    """The error where no data set was found."""
    looked = ", ".join(map(str, places)) or "no folder was named"
    return TrackError(
        f"track {track.id!r}: no data set is there (looked in: {looked}). Name its folder with --bench-data: the one "
        f"that holds {CAPTIONS} and the folders of the conditions."
    )
