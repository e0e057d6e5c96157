"""One method's ratio folders beside a folder of ground truths, paired without a track file.

The layout is the one of the reference library's users: ``PRED/<ratio>/<id>.png`` and ``GT/<id>.png``. Everything about
the files is looked at here, before anything is scored, and every name that does not fit is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pixelgate.case import Case
from pixelgate.colorizer.manifest import Manifest, check, check_ground_truths, read_manifest
from pixelgate.curves import CurveGroup
from pixelgate.errors import InputError, Problem
from pixelgate.hints.ratios import check_alphas
from pixelgate.outputs import check_files, find_outputs
from pixelgate.protocols import Protocol
from pixelgate.records import Deviation, Note
from pixelgate.slices import Slice, find_slices
from pixelgate.tracks import REFERENCE, LocalSource, Sample, Track, TrackData

PAIRINGS = ("name", "sorted")
_PASSED_OVER = frozenset({".bmp", ".gif", ".tif", ".tiff"})
_TOLERATED = frozenset({"missing-output", "extra-output"})


@dataclass(frozen=True)
class PairedData(TrackData):
    """A folder of ground truths as a track's files.

    Attributes:
        references: sample id -> its ground truth, of any of the protocol's suffixes.
    """

    references: Mapping[str, Path] = field(default_factory=dict)

    def samples(self) -> tuple[Sample, ...]:
        """See `TrackData.samples`."""
        return tuple(Sample(sample, {REFERENCE: self.references[sample]}) for sample in self.track.samples)

    def files(self) -> list[str]:
        """See `TrackData.files`."""
        return sorted(path.name for path in self.references.values())

    def problems(self) -> list[Problem]:
        """None: `pair_folders` has looked at the files."""
        return []


@dataclass(frozen=True, order=True)
class ExactGroup(CurveGroup):
    """A curve whose ratios are known beyond the digits of its folders' names.

    Attributes:
        exact: the ratios, increasing.
    """

    exact: tuple[float, ...] = ()

    @property
    def ratios(self) -> tuple[float, ...]:
        """The grid, increasing."""
        return self.exact


@dataclass(frozen=True)
class Choices:
    """How folders are paired.

    Attributes:
        pairing: ``name``: a prediction belongs to the ground truth with the same name before the suffix; ``sorted``:
            to the one at its place when both folders are sorted by name.
        allow_missing: take the images that all ratios have, and list the rest.
        use_manifest: follow the manifest of a run, where the predictions have one.
        variant: hint type and line-art source, where the folder holds several.
        limit: take the first so many images; 0 takes all.
        name: the method's name; None takes the folder's.
    """

    pairing: str = "name"
    allow_missing: bool = False
    use_manifest: bool = True
    variant: str | None = None
    limit: int = 0
    name: str | None = None


@dataclass(frozen=True)
class Pairing:
    """Predictions and ground truths, ready for the engine.

    Attributes:
        data: the ground truths.
        group: one case per ratio, by increasing ratio.
        how: ``name``, ``sorted`` or ``manifest``.
        manifest: the run's record, where it was followed.
        deviations: what is left out.
        notes: what else a reader must know.
    """

    data: PairedData
    group: ExactGroup
    how: str
    manifest: Manifest | None = None
    deviations: tuple[Deviation, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def tolerated(self) -> frozenset[str]:
        """Rules of the file checks whose findings are in `deviations` already."""
        return _TOLERATED if self.deviations else frozenset()


def pair_folders(predictions: Path, truths: Path, protocol: Protocol, choices: Choices | None = None) -> Pairing:
    """Pair one method's ratio folders with a folder of ground truths.

    Args:
        predictions: holds one folder per ratio, or DetFill's tree of one line-art source.
        truths: the folder of the ground truths.
        protocol: names the suffixes that are read.
        choices: how; by name and complete where it is None.

    Raises:
        InputError: a folder is missing or empty; ratios are doubled or do not span 0 to 1; file sets differ; a run is
            unfinished or its files were edited. All names are told at once.
    """
    chosen = choices or Choices()
    _check_folders(predictions, truths)
    manifest = read_manifest(predictions) if chosen.use_manifest else None
    slices = _slices(predictions, manifest, chosen.variant)
    _check_grid(predictions, slices)
    files, notes = _truth_files(truths, protocol.suffixes)
    if manifest is not None:
        references, problems = _recorded(manifest, predictions, truths, files)
        notes += [] if manifest.hashed else [_unhashed(predictions)]
    elif chosen.pairing == "sorted":
        references, problems, more = _by_order(slices, files, protocol.suffixes, truths)
        notes += more
    else:
        references, problems = _by_name(files)
    cases = _cases(chosen.name or predictions.resolve().name or "predictions", truths, slices)
    problems += _file_problems(cases, references, protocol.suffixes, recorded=manifest is not None)
    tolerated = _TOLERATED if chosen.allow_missing else frozenset()
    serious = {problem for problem in problems if problem.rule not in tolerated}
    if serious:
        raise InputError(sorted(serious))
    kept, left_out = _kept(references, cases, protocol.suffixes, problems, chosen.limit)
    if not kept:
        found = "no image has a prediction at every ratio."
        raise InputError(Problem(str(predictions), "nothing-to-score", found, "Write the missing predictions."))
    group = ExactGroup(cases[0].method, cases[0].track, slices[0].variant, cases, tuple(one.ratio for one in slices))
    data = _data(protocol, truths, cases[0].track, {sample: references[sample] for sample in kept})
    how = "manifest" if manifest is not None else chosen.pairing
    return Pairing(data, group, how, manifest, tuple(left_out), tuple(notes))


def _data(protocol: Protocol, truths: Path, name: str, references: Mapping[str, Path]) -> PairedData:
    # The pattern is not used: `PairedData` knows every file.
    track = Track(name, name, protocol.id, tuple(references), {REFERENCE: "{id}"}, LocalSource(truths))
    return PairedData(track, truths, references=references)


def _file_problems(
    cases: Sequence[Case], references: Mapping[str, Path], suffixes: Sequence[str], *, recorded: bool
) -> list[Problem]:
    if not references:
        return []
    problems = [problem for case in cases for problem in check_files(case, sorted(references), suffixes)]
    # What is missing or too much of a recorded run was told by its manifest.
    return [problem for problem in problems if not (recorded and problem.rule in _TOLERATED)]


def _check_folders(predictions: Path, truths: Path) -> None:
    problems = [
        Problem(str(folder), "folder", "is no folder." if folder.exists() else "does not exist.", f"Name the {what}.")
        for folder, what in (
            (predictions, "folder that holds one folder per hint ratio"),
            (truths, "folder of the ground truths"),
        )
        if not folder.is_dir()
    ]
    if problems:
        raise InputError(problems)


def _slices(predictions: Path, manifest: Manifest | None, variant: str | None) -> list[Slice]:
    if manifest is not None:
        return [Slice("", ratio, predictions / name) for name, ratio in manifest.dirs.items()]
    found, problems = find_slices(predictions)
    if problems:
        raise InputError(sorted(problems))
    variants = sorted({one.variant for one in found})
    if not found:
        mend = "Wanted: <ratio>/<id>.png, such as 0.10/cat.png or 10%/cat.png."
        raise InputError(Problem(str(predictions), "no-ratios", "no folder in it is named by a hint ratio.", mend))
    if variant is None and len(variants) == 1:
        return found
    if variant not in variants:
        told = f"has no {variant!r}, but" if variant is not None else "holds several curves:"
        shown = ", ".join(repr(name) for name in variants)
        mend = "Choose one with --variant, or score them all: pytest --bench-outputs=DIR"
        raise InputError(Problem(str(predictions), "variants", f"{told} {shown}.", mend))
    return [one for one in found if one.variant == variant]


def _check_grid(predictions: Path, slices: Sequence[Slice]) -> None:
    try:
        check_alphas([one.ratio for one in slices])
    except InputError as error:
        where = str(predictions)
        raise InputError([Problem(where, p.rule, p.found, p.mend) for p in error.problems]) from None


def _truth_files(truths: Path, suffixes: Sequence[str]) -> tuple[list[Path], list[Note]]:
    entries = sorted(entry for entry in truths.iterdir() if not entry.name.startswith(".") and not entry.is_dir())
    files = [entry for entry in entries if entry.suffix.lower() in suffixes]
    others = [entry.name for entry in entries if entry.suffix.lower() in _PASSED_OVER]
    if not files:
        found = f"holds no picture ({', '.join(suffixes)})."
        raise InputError(Problem(str(truths), "no-ground-truth", found, "Name the folder of the ground truths."))
    read = ", ".join(suffixes)
    notes = [Note(str(truths), "passed-over", f"not read, as only {read} are: {', '.join(others)}.")] if others else []
    return files, notes


def _by_name(files: Sequence[Path]) -> tuple[dict[str, Path], list[Problem]]:
    references: dict[str, Path] = {}
    problems = []
    for path in files:
        other = references.setdefault(path.stem, path)
        if other is not path:
            found = f"{other.name} and {path.name} would have the same prediction."
            problems.append(Problem(str(path), "ground-truth-twice", found, "Keep one of them."))
    return references, problems


def _by_order(
    slices: Sequence[Slice], files: Sequence[Path], suffixes: Sequence[str], truths: Path
) -> tuple[dict[str, Path], list[Problem], list[Note]]:
    names = {one.name: _stems(one.folder, suffixes) for one in slices}
    first, *others = names.items()
    problems = [
        Problem(
            str(one.folder),
            "other-names",
            f"its images are not those of {first[0]}: only one of them has {', '.join(sorted(odd))}.",
            "Pairing by order needs the same names at every ratio; complete them, or pair by name.",
        )
        for one, (_, own) in zip(slices[1:], others, strict=True)
        if (odd := set(own) ^ set(first[1]))
    ]
    if len(first[1]) != len(files):
        found = f"{len(files)} ground truths are there, and {len(first[1])} predictions at {first[0]}."
        problems.append(Problem(str(truths), "other-count", found, "Pairing by order needs as many of both."))
    if problems:
        return {}, problems, []
    pairs = dict(zip(first[1], files, strict=True))
    unlike = [f"{stem} with {path.name}" for stem, path in pairs.items() if stem != path.stem]
    notes = [Note("pairing", "paired-by-order", f"names differ: {', '.join(unlike)}.")] if unlike else []
    return pairs, [], notes


def _stems(folder: Path, suffixes: Sequence[str]) -> list[str]:
    entries = (entry for entry in folder.iterdir() if not entry.name.startswith(".") and not entry.is_dir())
    return [entry.stem for entry in sorted(entries) if entry.suffix.lower() in suffixes]


def _recorded(
    manifest: Manifest, predictions: Path, truths: Path, files: Sequence[Path]
) -> tuple[dict[str, Path], list[Problem]]:
    found: dict[str, Path] = {}
    for name, original in manifest.originals.items():
        same = [path for path in files if path.stem == Path(name).stem]
        named = [truths / Path(candidate).name for candidate in (original.source, name)]
        known = [path for path in named if path.is_file()] or (same if len(same) == 1 else [])
        if known:
            found[name] = known[0]
    problems = [*check(manifest, predictions), *check_ground_truths(manifest, found)]
    references = {Path(name).stem: path for name, path in found.items()}
    if len(references) < len(found):
        told = "two of its predictions differ in their suffix alone."
        problems.append(Problem(str(predictions), "prediction-twice", told, "Score the folder with --ignore-manifest."))
    return references, problems


def _unhashed(predictions: Path) -> Note:
    return Note(str(predictions), "no-hashes", "its manifest has no hashes, so edited files cannot be noticed.")


def _cases(method: str, truths: Path, slices: Sequence[Slice]) -> tuple[Case, ...]:
    track = truths.resolve().name or "images"
    folders = tuple(str(one.folder) for one in slices)
    return tuple(Case(method, track, one.name, one.folder, siblings=folders) for one in slices)


def _kept(
    references: Mapping[str, Path],
    cases: Sequence[Case],
    suffixes: Sequence[str],
    problems: Sequence[Problem],
    limit: int,
) -> tuple[list[str], list[Deviation]]:
    """The images that all ratios have, sorted, and what is left out."""
    lacking: dict[str, list[str]] = {sample: [] for sample in references}
    for case in cases:
        assert case.folder is not None
        for sample, names in find_outputs(case.folder, sorted(references), suffixes).items():
            if not names:
                lacking[sample].append(case.slice)
    left_out = [
        Deviation(sample, "missing-output", f"no prediction at {', '.join(ratios)}; left out at every ratio.")
        for sample, ratios in sorted(lacking.items())
        if ratios
    ]
    extra: dict[str, list[str]] = {}
    for path in (Path(problem.file) for problem in sorted(problems) if problem.rule == "extra-output"):
        extra.setdefault(path.name, []).append(path.parent.name)
    left_out += [
        Deviation(name, "extra-output", f"no ground truth for this prediction (at {', '.join(ratios)}); left out.")
        for name, ratios in sorted(extra.items())
    ]
    kept = [sample for sample in sorted(references) if not lacking[sample]]
    if limit and limit < len(kept):
        left_out.append(Deviation("images", "limit", f"only the first {limit} of {len(kept)} images are scored."))
        kept = kept[:limit]
    return kept, left_out
