"""The record beside the pictures of one run: which ratios, names and sources it has, and each picture's hash.

``manifest.json`` lies in the folder that holds one directory per ratio. The reference library's own manifests have
the same keys for directories, names and sources, without hashes and state; they are read too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pixelgate.errors import InputError, Problem
from pixelgate.hints import RatioError, parse_ratio_name
from pixelgate.io.files import atomic_write, pixel_digest, sha256_file

FILE = "manifest.json"
FORMAT = "pixelgate-colorizer/1"

RUNNING, COMPLETE = "running", "complete"
_PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff")


@dataclass(frozen=True)
class Original:
    """What a prediction belongs to.

    Attributes:
        source: the ground truth's file name, or ``<array>``.
        ground_truth, line_art: SHA-256 of the files' bytes, or of an array's pixels; empty where it was not recorded.
        pixels: SHA-256 of the decoded ground truth (`pixel_digest`); empty until it was decoded.
    """

    source: str
    ground_truth: str = ""
    line_art: str = ""
    pixels: str = ""


@dataclass(frozen=True)
class Manifest:
    """One run's record.

    Attributes:
        dirs: directory name -> exact ratio, by rising ratio.
        originals: prediction's file name -> what it belongs to, in the run's order.
        settings: hint type, map size, path and dot method, tie-break, order, whether it is an oracle, ...
        meta: what the user said of the run: checkpoint, seed, split, line-art source.
        state: ``running`` until every prediction is there, then ``complete``.
        predictions: directory name -> file name -> SHA-256 of the file, of those written so far.
        hints: file name -> counts of regions and of failed regions.
        hashed: whether predictions have hashes; not so in a manifest of the reference library.
    """

    dirs: Mapping[str, float]
    originals: Mapping[str, Original]
    settings: Mapping[str, Any]
    meta: Mapping[str, str] = field(default_factory=dict)
    state: str = RUNNING
    predictions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    hints: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    hashed: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The predictions' file names, in the run's order."""
        return tuple(self.originals)

    @property
    def alphas(self) -> tuple[float, ...]:
        """The exact ratios, rising."""
        return tuple(self.dirs.values())

    @property
    def oracle(self) -> bool:
        """Whether the method saw the ground truth; such a run is never ranked beside a real one."""
        return bool(self.settings.get("oracle", False))

    @property
    def hint_type(self) -> str:
        """``scribble`` or ``dot``."""
        return str(self.settings.get("hint_type", ""))

    def files(self) -> Iterator[tuple[str, str]]:
        """Every (directory, file name) of the run."""
        return ((directory, name) for directory in self.dirs for name in self.originals)

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the keys of the reference library's manifests among them."""
        return {
            "format": FORMAT,
            "state": self.state,
            **self.settings,
            "alphas": list(self.alphas),
            "dirs": dict(self.dirs),
            "n_images": len(self.originals),
            "names": list(self.names),
            "sources": {name: original.source for name, original in self.originals.items()},
            "sha256": {
                "ground_truths": {name: original.ground_truth for name, original in self.originals.items()},
                "ground_truth_pixels": {name: o.pixels for name, o in self.originals.items() if o.pixels},
                "line_art": {name: original.line_art for name, original in self.originals.items()},
                "predictions": {directory: dict(files) for directory, files in self.predictions.items()},
            },
            "hints": {name: dict(counts) for name, counts in self.hints.items()},
            "meta": dict(self.meta),
        }


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write ``folder/manifest.json`` atomically; `InputError`, rule ``not-writable``, where that fails."""
    text = json.dumps(manifest.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
    atomic_write(folder / FILE, text + "\n")


def read_manifest(folder: Path | str) -> Manifest | None:
    """The manifest of a folder of predictions.

    Returns:
        The manifest; None where there is none, or where ``manifest.json`` is another program's.

    Raises:
        InputError: rule ``manifest-readable``: the file cannot be read, or it is one of ours and broken.
    """
    path = Path(folder) / FILE
    if not path.is_file():
        return None
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(_unreadable(path, f"it cannot be read as JSON ({error})")) from None
    if not isinstance(data, dict) or not {"dirs", "names", "alphas"} <= data.keys():
        return None
    try:
        return _parse(data)
    except (KeyError, TypeError, ValueError, AttributeError, RatioError) as error:
        raise InputError(_unreadable(path, f"it is broken ({type(error).__name__}: {error})")) from None


def check_layout(manifest: Manifest, folder: Path | str) -> list[Problem]:
    """Whether a folder holds the run's directories and files and no others; opens no picture.

    Args:
        manifest: the run's record.
        folder: where it lies.

    Returns:
        Rules ``unfinished-run``, ``missing-ratio``, ``extra-ratio``, ``missing-output``, ``extra-output``; sorted.
    """
    folder = Path(folder)
    problems = [] if manifest.state == COMPLETE else [_unfinished(manifest, folder)]
    on_disk = {entry.name for entry in folder.iterdir() if entry.is_dir() and _is_ratio(entry.name)}
    problems += [_extra_ratio(folder / name) for name in on_disk - manifest.dirs.keys()]
    for directory in manifest.dirs:
        place = folder / directory
        # What an unfinished run has not written yet is said once, above.
        expected = set(manifest.names) if manifest.state == COMPLETE else set(manifest.predictions.get(directory, {}))
        if expected and not place.is_dir():
            problems.append(_missing_ratio(place))
        elif place.is_dir():
            present = {entry.name for entry in place.iterdir() if entry.is_file() and _is_picture(entry.name)}
            problems += [_missing(place / name) for name in expected - present]
            problems += [_extra(place / name) for name in present - set(manifest.names)]
    return sorted(problems)


def check_predictions(manifest: Manifest, folder: Path | str) -> list[Problem]:
    """Whether the predictions at hand are the ones that the run wrote, byte by byte.

    Returns:
        Rule ``output-changed``, sorted; files that are missing are `check_layout`'s to find.
    """
    return sorted(
        _changed(path)
        for directory, files in manifest.predictions.items()
        for name, digest in files.items()
        if (path := Path(folder) / directory / name).is_file() and sha256_file(path) != digest
    )


def check_ground_truths(manifest: Manifest, files: Mapping[str, Path]) -> list[Problem]:
    """Whether ground truths are the ones that the run was made for; a file that was only compressed anew is the same.

    Args:
        manifest: the run's record.
        files: prediction's file name -> ground truth, of the predictions to be scored.

    Returns:
        Rules ``other-samples`` (names that only one side has) and ``reference-changed``, sorted.
    """
    problems = [_no_ground_truth(name) for name in manifest.names if name not in files]
    problems += [_no_prediction(name, path) for name, path in files.items() if name not in manifest.originals]
    for name in files.keys() & manifest.originals.keys():
        original = manifest.originals[name]
        if original.ground_truth and not _same_picture(original, files[name]):
            problems.append(_other_ground_truth(name, files[name]))
    return sorted(problems)


def check(manifest: Manifest, folder: Path | str) -> list[Problem]:
    """`check_layout` and `check_predictions`, sorted."""
    return sorted([*check_layout(manifest, folder), *check_predictions(manifest, folder)])


def ratio_directories(folder: Path) -> list[Path]:
    """The directories of a folder whose names read as ratios, sorted; none where the folder is missing."""
    if not folder.is_dir():
        return []
    return sorted(entry for entry in folder.iterdir() if entry.is_dir() and _is_ratio(entry.name))


def _parse(data: Mapping[str, Any]) -> Manifest:
    digests = data.get("sha256", {})
    counts = data.get("hints", {})
    if not isinstance(counts, dict) or not all(isinstance(entry, dict) for entry in counts.values()):
        raise ValueError("its hint counts are no mapping")
    if not isinstance(data.get("oracle", False), bool) or not isinstance(data.get("hint_type", ""), str):
        raise ValueError("its oracle mark or hint type has another form")
    dirs = {_plain_name(name): float(ratio) for name, ratio in data["dirs"].items()}
    names = [_plain_name(name) for name in data["names"]]
    if len(set(names)) != len(names) or sorted(dirs.values()) != [float(alpha) for alpha in data["alphas"]]:
        raise ValueError("its names or ratios contradict each other")
    truths, pixels, line_art = (digests.get(key, {}) for key in ("ground_truths", "ground_truth_pixels", "line_art"))
    originals = {
        name: Original(
            data.get("sources", {}).get(name, name), truths.get(name, ""), line_art.get(name, ""), pixels.get(name, "")
        )
        for name in names
    }
    ours = {"format", "state", "alphas", "dirs", "n_images", "names", "sources", "sha256", "hints", "meta"}
    return Manifest(
        dirs=dict(sorted(dirs.items(), key=lambda item: item[1])),
        originals=originals,
        settings={key: value for key, value in data.items() if key not in ours},
        meta={str(key): str(value) for key, value in data.get("meta", {}).items()},
        # The reference library writes its manifest at the end of a run only.
        state=str(data.get("state", COMPLETE)),
        predictions={_plain_name(name): dict(files) for name, files in digests.get("predictions", {}).items()},
        hints=counts,
        hashed="predictions" in digests,
    )


def _plain_name(name: Any) -> str:
    if not isinstance(name, str) or not name or name in (".", "..") or Path(name).name != name or "\\" in name:
        raise ValueError(f"{name!r} is no plain file name")
    return name


def _same_picture(original: Original, path: Path) -> bool:
    if sha256_file(path) == original.ground_truth:
        return True
    from pixelgate.io.any_image import read_any

    # An array's digest is over its pixels already.
    known = {original.ground_truth, original.pixels}
    return pixel_digest(read_any(path)[0]) in known


def _is_ratio(name: str) -> bool:
    try:
        return parse_ratio_name(name) is not None
    except RatioError:
        return True


def _is_picture(name: str) -> bool:
    return name.lower().endswith(_PICTURES) and not name.startswith(".")


def _unreadable(path: Path, found: str) -> Problem:
    return Problem(str(path), "manifest-readable", f"{found}.", "Restore it, or remove it to score the files as such.")


def _unfinished(manifest: Manifest, folder: Path) -> Problem:
    done = sum(len(files) for files in manifest.predictions.values())
    found = f"holds an unfinished run: {done} of {len(manifest.dirs) * len(manifest.originals)} predictions."
    return Problem(str(folder), "unfinished-run", found, "Run it again with the same arguments; it goes on from there.")


def _extra_ratio(path: Path) -> Problem:
    found = "this ratio directory is not in the run's manifest."
    return Problem(str(path), "extra-ratio", found, "Move it away, or write the run anew with overwrite=True.")


def _missing_ratio(path: Path) -> Problem:
    return Problem(str(path), "missing-ratio", "this ratio directory of the run is missing.", _RUN_AGAIN)


def _missing(path: Path) -> Problem:
    return Problem(str(path), "missing-output", "this prediction of the run is missing.", _RUN_AGAIN)


def _extra(path: Path) -> Problem:
    return Problem(str(path), "extra-output", "this picture is not in the run's manifest.", "Move it away.")


def _changed(path: Path) -> Problem:
    return Problem(str(path), "output-changed", "is not the file that the run wrote.", _RUN_AGAIN)


def _no_ground_truth(name: str) -> Problem:
    found = "this prediction has no ground truth here."
    return Problem(name, "other-samples", found, "Give the ground truths that the run was made for.")


def _no_prediction(name: str, path: Path) -> Problem:
    found = f"the run has no prediction for the ground truth {path}."
    return Problem(name, "other-samples", found, "Give the ground truths that the run was made for, and no others.")


def _other_ground_truth(name: str, path: Path) -> Problem:
    found = f"the ground truth of {name} is not the picture that the run was made for."
    return Problem(str(path), "reference-changed", found, "Restore it, or write the run anew with overwrite=True.")


_RUN_AGAIN = "Restore it, or write the run anew with overwrite=True."
