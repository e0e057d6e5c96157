"""Tracks: one YAML each; samples, references, data set and revision; fetching and checking.

Importing this package loads no network client and no array library: discovery uses it.
"""

from __future__ import annotations

from pixelgate.tracks.dataset import DatasetData
from pixelgate.tracks.definition import read_track
from pixelgate.tracks.places import DATA_VARIABLE, data_home, locate
from pixelgate.tracks.registry import TRACK_FILE, available_tracks, load_track, register_track
from pixelgate.tracks.track import (
    REFERENCE,
    BuiltSource,
    DatasetSource,
    HubSource,
    LocalSource,
    Sample,
    Track,
    TrackData,
)

__all__ = [
    "DATA_VARIABLE",
    "REFERENCE",
    "TRACK_FILE",
    "BuiltSource",
    "DatasetData",
    "DatasetSource",
    "HubSource",
    "LocalSource",
    "Sample",
    "Track",
    "TrackData",
    "available_tracks",
    "data_home",
    "load_track",
    "locate",
    "read_track",
    "register_track",
]
