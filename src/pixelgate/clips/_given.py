"""What the evaluators that read given features share: their files, and errors that name them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pixelgate.clips.evaluator import ClipFiles
from pixelgate.errors import InputError, Problem, ProtocolError
from pixelgate.io.captions import caption_of, read_captions
from pixelgate.io.features import FeatureFile
from pixelgate.metrics.consistency import FeatureError
from pixelgate.records import VideoRecord


def reference(files: ClipFiles, what: str) -> Path:
    """The file of the column ``reference``; `InputError` ``missing-reference`` without it."""
    if "reference" not in files.references:
        found = f"the data set has no {what} for the clip {files.sample!r}."
        raise InputError(Problem("", "missing-reference", found, f"Add the {what} to the data set."))
    return files.references["reference"]


def prediction(files: ClipFiles, kind: str) -> tuple[Path, ...]:
    """The files of a kind, at least one; `InputError` ``missing-prediction`` without."""
    paths = tuple(files.predictions.get(kind, ()))
    if not paths:
        found = f"there is no {kind} prediction of the clip {files.sample!r}."
        raise InputError(Problem(str(files.generated), "missing-prediction", found, "Name the folder that has it."))
    return paths


def single_npz(files: ClipFiles, kind: str) -> Path:
    """The one npz file of a kind; `InputError` ``prediction-kind`` for anything else."""
    paths = prediction(files, kind)
    if len(paths) == 1 and paths[0].suffix.lower() == ".npz":
        return paths[0]
    found = f"is no npz file, or one of {len(paths)} files, for the clip {files.sample!r}."
    raise InputError(Problem(str(paths[0]), "prediction-kind", found, f"Give one npz file of the kind {kind}."))


def length_problems(file: FeatureFile, keys: Sequence[str], record: VideoRecord) -> list[Problem]:
    """A problem for every one of these arrays whose first axis is not as long as the clip."""
    return [
        Problem(
            str(file.path),
            "prediction-length",
            f"{key!r} is of {file.shape(key)[0]} frames; the clip {record.file} has {record.frames}.",
            "Compute the prediction from this very clip, from all of its frames.",
        )
        for key in keys
        if key in file.keys and file.shape(key)[0] != record.frames
    ]


def group_metrics(group: str, metrics: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The names of these metrics without the group; `ProtocolError` where the group has no such metric."""
    names = tuple(metric.removeprefix(f"{group}_") for metric in metrics)
    unknown = [metric for metric, name in zip(metrics, names, strict=True) if name not in known or metric == name]
    if unknown:
        has = ", ".join(f"{group}_{name}" for name in known)
        raise ProtocolError(f"the group {group!r} has no metric {', '.join(map(repr, unknown))}; it has: {has}")
    return names


def texts(file: FeatureFile, keys: Sequence[str]) -> Mapping[str, Any]:
    """The strings of a file by key, for the details; a key that is not there is left out."""
    return {key: text for key in keys if (text := file.text(key)) is not None}


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn a `FeatureError`, which knows no file, into an `InputError` that names this one."""
    try:
        yield
    except FeatureError as error:
        raise InputError(
            [Problem(str(path), problem.rule, problem.found, problem.mend) for problem in error.problems]
        ) from None


def file_state(path: Path) -> tuple[int, int]:
    """Size and time of a file, by which what was read of it can be kept while it stays as it is."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0  # reading it says what is wrong
    return status.st_size, status.st_mtime_ns


def caption_at(captions: Path, sample: str) -> str:
    """A clip's prompt in ``captions.json``, which is read once for all clips.

    Raises:
        InputError: as `pixelgate.io.captions.read_captions`; ``missing-caption``.
    """
    return caption_of(captions, dict(_captions(captions, file_state(captions))), sample)


@functools.lru_cache(maxsize=8)
def _captions(path: Path, state: tuple[int, int]) -> dict[str, str]:
    return read_captions(path)
