"""Import of the results of a VBench run: ``<name>_eval_results.json``, one file or several.

A file holds ``{dimension: [aggregate, [{"video_path": ..., "video_results": ...}, ...]]}``. Traps that this module
handles: imaging quality is 0 to 100 per video and 0 to 1 as an aggregate; old versions stored a sum over frames;
a run without a video writes the bare token NaN; aggregates are pooled by pairs of frames in some dimensions; clips
read as folders of frames lose their suffix, and ``videos`` and blanks in their path are replaced.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pixelgate.errors import InputError, Problem
from pixelgate.io.captions import clip_id
from pixelgate.io.strict_json import load_json
from pixelgate.metrics.vbench import DIMENSIONS, ROUNDING_SHARE, published

_COLUMNS: Mapping[str, str] = {dimension: column for column, dimension in DIMENSIONS.items()}
_MEND = "Give the *_eval_results.json that VBench wrote, unchanged."
_SAME = 1e-6
"""On 0 to 100: aggregates nearer than this to the plain mean do not differ; VBench's own sums round at 1e-12."""


@dataclass(frozen=True)
class Average:
    """One dimension's mean over clips.

    Attributes:
        mean: the plain mean of the clips' values, 0 to 100 (overall consistency from -100); None without a value.
        n: clips with a value.
        file_aggregate: what the file says, on the same scale; None where it says NaN or nothing.
        differs: whether both are there and differ.
    """

    mean: float | None
    n: int
    file_aggregate: float | None
    differs: bool


@dataclass(frozen=True)
class VBenchResults:
    """What one or several result files say.

    Attributes:
        table: id -> column (SuC, BC, AQ, IQ, OvC, MS, DD) -> the value, 0 to 100, overall consistency from -100;
            None where there is none. Ids are sorted.
        reasons: id -> column -> why the value is None.
        averages: column -> its mean, beside the file's own aggregate.
        problems: what a reader must know, one sentence each, beginning with the dimension.
        unknown: dimensions that are not of the seven, verbatim: name -> [aggregate, list of videos].
        frame_folders: ids of clips that VBench read as folders of frames, as they stand in the paths.
        pairs: id -> the pairs of frames that background consistency compared, one fewer than frames; where stated.
    """

    table: Mapping[str, Mapping[str, float | None]]
    reasons: Mapping[str, Mapping[str, str]]
    averages: Mapping[str, Average]
    problems: tuple[str, ...] = ()
    unknown: Mapping[str, Any] = field(default_factory=dict)
    frame_folders: frozenset[str] = frozenset()
    pairs: Mapping[str, int] = field(default_factory=dict)

    def find(self, sample: str) -> str | None:
        """The table's id of a sample, which is another one where VBench read a folder of frames; None without."""
        if sample in self.table:
            return sample
        name = frame_folder(sample)
        return name if name in self.frame_folders and name in self.table else None


@dataclass
class _Dimension:
    """One dimension while it is read: id -> value on VBench's scale, None with a reason."""

    name: str
    file: str
    aggregate: float | None = None
    values: dict[str, float | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    pooled: dict[str, tuple[float, float]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def column(self) -> str:
        return _COLUMNS[self.name]

    def rename(self, folder: str, sample: str) -> None:
        self.folders.discard(folder)
        for entries in (self.values, self.reasons, self.pooled):
            if folder in entries:
                entries[sample] = entries.pop(folder)  # type: ignore[assignment]

    def refuse(self, rule: str, found: str, mend: str = _MEND) -> None:
        self.problems.append(Problem(self.file, rule, f"{self.name}: {found}", mend))


def read_results(paths: Sequence[Path], dimensions: Collection[str] | None = None) -> VBenchResults:
    """Read the result files of a VBench run and merge them by dimension.

    Args:
        paths: ``*_eval_results.json`` files, at least one.
        dimensions: VBench's names of the dimensions to read; all of the seven if None. The others' content is not
            looked at, so that a broken one can be left out.

    Returns:
        Values on 0 to 100. Booleans of dynamic degree become 0 and 100. NaN and null are missing values, with a reason.

    Raises:
        InputError: all problems at once. ``not-a-file``, ``not-readable``; ``vbench-file`` (no such file's structure),
            ``vbench-dimension`` (a dimension in two files, or twice), ``vbench-id`` (a clip twice in a dimension, or a
            folder of frames that may be two clips), ``vbench-value`` (no number, or infinite), ``vbench-range``
            (outside the dimension's scale, such as the sums of old versions and cosines beyond 1), ``vbench-empty``
            (no clip).
    """
    asked = set(DIMENSIONS.values()) if dimensions is None else set(dimensions)
    found: dict[str, _Dimension] = {}
    seen: set[str] = set()
    unknown: dict[str, Any] = {}
    problems: list[Problem] = []
    for path in paths:
        for name, content in _content(path).items():
            if name in seen:
                text = f"{name}: stands in another of the files too."
                problems.append(Problem(str(path), "vbench-dimension", text, "Give each dimension once."))
                continue
            seen.add(name)
            if name not in _COLUMNS:
                unknown[name] = content
            elif name in asked:
                found[name] = dimension = _read_dimension(name, str(path), content)
                problems += dimension.problems
    _unite_ids(list(found.values()), problems)
    if not paths:
        problems.append(Problem("", "vbench-file", "no result file was given.", _MEND))
    elif not problems and not any(dimension.values for dimension in found.values()):
        text = "holds no clip in the dimensions asked for: the run found no video, or was of the wrong mode."
        problems.append(Problem(", ".join(map(str, paths)), "vbench-empty", text, "Run VBench again on the clips."))
    if problems:
        raise InputError(problems)
    return _assemble(found, asked, unknown)


def frame_folder(sample: str) -> str:
    """What is left of a clip's name in ``video_path`` where VBench was told to read frames."""
    return sample.replace("videos", "frames").replace(" ", "_")


def path_id(video_path: str) -> tuple[str, bool]:
    """The id in a ``video_path``, and whether it has a clip's suffix; folders end with / or with a backslash."""
    name = video_path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    known = clip_id(name)
    return (name, False) if known is None else (known, True)


def _content(path: Path) -> dict[str, Any]:
    content = load_json(path, "vbench-file", _MEND, constant=float)
    if isinstance(content, list):
        found = "holds a list: it is the list of videos of a run (*_full_info.json), not its results."
        raise InputError(Problem(str(path), "vbench-file", found, _MEND))
    if not isinstance(content, dict) or not content:
        raise InputError(Problem(str(path), "vbench-file", "holds no object of dimensions.", _MEND))
    return content


def _read_dimension(name: str, file: str, content: Any) -> _Dimension:
    dimension = _Dimension(name, file)
    if not isinstance(content, list) or len(content) != 2 or not isinstance(content[1], list):
        dimension.refuse("vbench-file", "is not [aggregate, list of videos].")
        return dimension
    aggregate, videos = content
    number = _number(aggregate)
    if aggregate is None or (number is not None and math.isnan(number)):
        dimension.remarks.append(f"the file's aggregate is {'null' if aggregate is None else 'NaN'}")
    elif number is None or math.isinf(number):
        dimension.refuse("vbench-value", f"its aggregate is {_short(aggregate)}, no finite number.")
    else:
        dimension.aggregate = 100.0 * number
    for video in videos:
        _read_video(dimension, video)
    _remark_scale(dimension)
    return dimension


def _read_video(dimension: _Dimension, video: Any) -> None:
    path = video.get("video_path") if isinstance(video, dict) else None
    if not isinstance(path, str) or not path_id(path)[0] or "video_results" not in video:
        dimension.refuse("vbench-file", "an entry has no video_path or no video_results.")
        return
    sample, suffixed = path_id(path)
    if sample in dimension.values:
        dimension.refuse("vbench-id", f"the clip {sample!r} stands there twice.", "Evaluate each clip once.")
        return
    if not suffixed:
        dimension.folders.add(sample)
    dimension.values[sample] = _value(dimension, sample, video["video_results"])
    total, pairs = _number(video.get("video_sim")), _number(video.get("cnt_per_video"))
    if total is not None and pairs is not None and math.isfinite(total + pairs):
        dimension.pooled[sample] = (total, pairs)


def _number(raw: Any) -> float | None:
    """A number of a JSON file as a float, infinite where it is too large for one; None for anything else."""
    if not isinstance(raw, int | float):
        return None
    try:
        return float(raw)
    except OverflowError:
        return math.inf


def _short(raw: Any) -> str:
    text = repr(raw)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _value(dimension: _Dimension, sample: str, raw: Any) -> float | None:
    """A clip's value on 0 to 100; None, with a reason or a problem, where there is none."""
    number = _number(raw)
    if raw is None or (number is not None and math.isnan(number)):
        dimension.reasons[sample] = f"VBench's {dimension.name} is {'null' if raw is None else 'NaN'}"
        return None
    if number is None or math.isinf(number) or (isinstance(raw, bool) and dimension.column != "DD"):
        dimension.refuse("vbench-value", f"the result of {sample!r} is {_short(raw)}, no number of its scale.")
        return None
    if dimension.column == "DD" and number not in (0.0, 1.0):
        dimension.refuse("vbench-range", f"the result of {sample!r} is {_short(raw)}; it must be true or false.")
        return None
    shown = published(dimension.column, number)
    if shown.value is None:
        why, mend = shown.reason or "", "Run the dimension again with a VBench whose results are whole."
        if dimension.column in ("SuC", "BC", "MS") and number > 1:
            why += "; old versions of VBench stored a sum over frames, which is no percentage"
            mend = "Run the dimension again with a current VBench, or leave it out."
        dimension.refuse("vbench-range", f"the result of {sample!r}: {why}.", mend)
    return shown.value


def _remark_scale(dimension: _Dimension) -> None:
    known = [value for value in dimension.values.values() if value is not None]
    if dimension.column == "IQ" and known and max(known) <= 1.0 + ROUNDING_SHARE:
        dimension.remarks.append("no result is above 1, though VBench writes 0 to 100 here: rescaled already?")


def _unite_ids(dimensions: Sequence[_Dimension], problems: list[Problem]) -> None:
    """Give a clip that was read as a folder of frames in one dimension the id that it has in the others."""
    named = {sample for dimension in dimensions for sample in dimension.values if sample not in dimension.folders}
    by_folder: dict[str, list[str]] = {}
    for sample in sorted(named):
        by_folder.setdefault(frame_folder(sample), []).append(sample)
    for dimension in dimensions:
        for folder in sorted(dimension.folders):
            owners = [folder] if folder in named else by_folder.get(folder, [])
            if len(owners) > 1:
                found = f"{dimension.name}: the frames {folder!r} may be of {' or '.join(map(repr, owners))}."
                mend = "Rename the clips so that they differ in more than blanks."
                problems.append(Problem(dimension.file, "vbench-id", found, mend))
            elif owners and owners[0] in dimension.values and owners[0] != folder:
                found = f"{dimension.name}: {owners[0]!r} stands there twice, once as the frames {folder!r}."
                problems.append(Problem(dimension.file, "vbench-id", found, "Evaluate each clip once."))
            elif owners:
                dimension.rename(folder, owners[0])


def _assemble(found: Mapping[str, _Dimension], asked: Collection[str], unknown: Mapping[str, Any]) -> VBenchResults:
    samples = sorted({sample for dimension in found.values() for sample in dimension.values})
    table: dict[str, dict[str, float | None]] = {sample: {} for sample in samples}
    reasons: dict[str, dict[str, str]] = {sample: {} for sample in samples}
    averages: dict[str, Average] = {}
    problems: list[str] = []
    for column, name in DIMENSIONS.items():
        dimension = found.get(name)
        for sample in samples:
            table[sample][column] = value = dimension.values.get(sample) if dimension else None
            if value is None:
                reasons[sample][column] = _reason(dimension, name, name in asked, sample)
        averages[column] = _average(dimension)
        if dimension is not None:
            problems += [f"{name}: {remark}" for remark in _remarks(dimension, averages[column], samples)]
        elif name in asked:
            problems.append(f"{name}: not in the files")
    problems += [f"{name}: no dimension of this table; kept as it is" for name in unknown]
    folders = frozenset(sample for dimension in found.values() for sample in dimension.folders)
    background = found.get(DIMENSIONS["BC"])
    pairs = {sample: round(count) for sample, (_, count) in background.pooled.items()} if background else {}
    return VBenchResults(table, reasons, averages, tuple(problems), dict(unknown), folders, pairs)


def _reason(dimension: _Dimension | None, name: str, asked: bool, sample: str) -> str:
    if dimension is None:
        return f"VBench's {name} is not in the result files" if asked else f"{name} was left out"
    return dimension.reasons.get(sample, f"VBench's {name} has no result of this clip")


def _average(dimension: _Dimension | None) -> Average:
    if dimension is None:
        return Average(None, 0, None, False)
    values = [value for value in dimension.values.values() if value is not None]
    mean = math.fsum(values) / len(values) if values else None
    aggregate = dimension.aggregate
    differs = mean is not None and aggregate is not None and abs(mean - aggregate) > _SAME
    return Average(mean, len(values), aggregate, differs)


def _remarks(dimension: _Dimension, average: Average, samples: Sequence[str]) -> list[str]:
    if not dimension.values:
        return ["no videos", *dimension.remarks]
    remarks = list(dimension.remarks)
    if dimension.reasons:
        remarks.append(f"no number for {len(dimension.reasons)} of the clips: {', '.join(sorted(dimension.reasons))}")
    absent = [sample for sample in samples if sample not in dimension.values]
    if absent:
        remarks.append(f"{len(absent)} of the clips are missing: {', '.join(absent)}")
    if average.differs:
        pooled = [math.fsum(column) for column in zip(*dimension.pooled.values(), strict=True)] or [0.0, 0.0]
        by_pairs = pooled[1] > 0 and abs(100.0 * pooled[0] / pooled[1] - (average.file_aggregate or 0.0)) <= _SAME
        why = "; the file weighs clips by their pairs of frames" if by_pairs else ""
        remarks.append(f"the clips' mean is {average.mean:.6f}, the file's aggregate {average.file_aggregate:.6f}{why}")
    return remarks
