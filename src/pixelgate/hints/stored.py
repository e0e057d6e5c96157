"""Hint maps as files: written as the reference names them, and read as the paper's loader reads them.

A set of maps is ``<stem>_<map><S>.png`` for the maps region, scribble_mask, scribble_col, flatten_img, dot_mask and
dot_col. The hints of one ratio are ``<stem>_<kind>_{col,mask}<S>_r<per cent>.png``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pixelgate.errors import InputError, Problem
from pixelgate.hints.ratios import check_alpha
from pixelgate.hints.regions import colour_ids, whole
from pixelgate.hints.result import KINDS, ORDERS, TIE_BREAKS, Hints, check_choice
from pixelgate.io.any_image import read_any
from pixelgate.io.files import atomic_write
from pixelgate.io.write import SIGNATURE, png_bytes, png_chunk, zlib_stored
from pixelgate.records import Note

MAPS = ("region", "scribble_mask", "scribble_col", "flatten_img", "dot_mask", "dot_col")

Picture = NDArray[np.uint8]


def save_maps(
    hints: Hints, stem: Path | str, *, ratios: Iterable[float] = (), kinds: Iterable[str] = KINDS
) -> tuple[Path, ...]:
    """Write the maps of one image as PNG files.

    Args:
        hints: the hints.
        stem: folder and beginning of the names, e.g. ``out/image``; missing folders are made.
        ratios: write the hints of these ratios too. A ratio of whole per cents is named as the reference does
            (``_r10``), another one with its decimals (``_r7.5``).
        kinds: of these kinds.

    Returns:
        The files written.

    Raises:
        InputError: rule ``not-writable``, or a ratio or a kind is wrong.
    """
    stem = Path(stem)
    maps = {
        "region": hints.region_map,
        "scribble_mask": hints.scribble_mask,
        "scribble_col": hints.scribble_color,
        "flatten_img": hints.flatten,
        "dot_mask": hints.dot_mask,
        "dot_col": hints.dot_color,
    }
    files = {f"{name}{hints.size}": picture for name, picture in maps.items()}
    chosen = tuple(kinds)
    for ratio in ratios:
        percent = f"{100 * check_alpha(ratio):.4f}".rstrip("0").rstrip(".")
        for kind in chosen:
            colour, mask = hints.at_ratio(ratio, kind)
            files[f"{kind}_col{hints.size}_r{percent}"] = colour
            files[f"{kind}_mask{hints.size}_r{percent}"] = mask
    written = []
    for name, picture in files.items():
        path = stem.parent / f"{stem.name}_{name}.png"
        atomic_write(path, png_bytes(picture) if picture.ndim == 3 else _grey_png(picture))
        written.append(path)
    return tuple(written)


def read_stored_maps(
    folder: Path | str, stem: str, size: int = 64, *, order: str = "size", tie_break: str = "stable"
) -> Hints:
    """Read the stored maps of one image.

    A region is what has one id in the region map, as the paper's loader takes it; its pieces are not parted. A region
    without a scribble is counted as failed: the files do not tell more.

    Args:
        folder: where the files lie.
        stem: the beginning of their names.
        size: the side of the maps in pixels, the number in their names.
        order, tie_break: see `Hints`.

    Raises:
        InputError: files are missing or unreadable, have another size, masks hold other values than 0 and 255, or two
            colours of the region map stand for one id; all files are looked at before it is raised.
    """
    check_choice("order", order, ORDERS)
    check_choice("tie-break", tie_break, TIE_BREAKS)
    files = {name: Path(folder) / f"{stem}_{name}{size}.png" for name in MAPS}
    maps, problems = _read(files, size)
    if problems:
        raise InputError(problems)
    regions = whole(colour_ids(maps["region"]))
    masks = {kind: maps[f"{kind}_mask"][..., 0] for kind in KINDS}
    colours = {kind: maps[f"{kind}_col"] * (masks[kind] > 0)[..., np.newaxis] for kind in KINDS}
    notes = [_stray(files[f"{kind}_col"]) for kind in KINDS if np.any(colours[kind] != maps[f"{kind}_col"])]
    bare = np.setdiff1d(np.arange(regions.ids.size), regions.labels[masks["scribble"] > 0])
    if bare.size:
        message = f"{bare.size} of {regions.ids.size} regions have no scribble."
        notes.append(Note(str(files["scribble_mask"]), "regions-failed", message))
    return Hints(
        labels=regions.labels,
        region_ids=regions.ids,
        areas=regions.areas,
        region_map=maps["region"],
        flatten=maps["flatten_img"],
        scribble_mask=np.ascontiguousarray(masks["scribble"]),
        dot_mask=np.ascontiguousarray(masks["dot"]),
        scribble_color=colours["scribble"],
        dot_color=colours["dot"],
        failed=regions.ids[bare],
        settings=(("maps", "stored"),),
        order=order,
        tie_break=tie_break,
        notes=tuple(notes),
    )


def _grey_png(mask: Picture) -> bytes:
    """Encode a mask as 8-bit grey PNG, uncompressed as our colour pictures are."""
    rows = np.zeros((mask.shape[0], mask.shape[1] + 1), dtype=np.uint8)
    rows[:, 1:] = mask
    header = struct.pack(">IIBBBBB", mask.shape[1], mask.shape[0], 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib_stored(rows.tobytes())), (b"IEND", b""))
    return SIGNATURE + b"".join(png_chunk(name, body) for name, body in chunks)


def _read(files: dict[str, Path], size: int) -> tuple[dict[str, Picture], list[Problem]]:
    maps: dict[str, Picture] = {}
    problems: list[Problem] = []
    for name, file in files.items():
        try:
            maps[name], _ = read_any(file)
        except InputError as error:
            problems.extend(error.problems)
            continue
        height, width, _ = maps[name].shape
        if (height, width) != (size, size):
            found = f"is {width} x {height} pixels (width x height), not {size} x {size}."
            problems.append(Problem(str(file), "hint-map-size", found, "Give the size that the maps were made with."))
        elif name.endswith("_mask") and not np.isin(maps[name], (0, 255)).all():
            problems.append(Problem(str(file), "hint-map-mask", "holds other values than 0 and 255.", _MAKE_AGAIN))
        elif name == "region" and _ambiguous(maps[name]):
            problems.append(
                Problem(str(file), "hint-map-region", "has two colours that stand for one id.", _MAKE_AGAIN)
            )
    return maps, problems


_MAKE_AGAIN = "Make the maps again from the image."


def _ambiguous(region_map: Picture) -> bool:
    colours = np.unique(region_map.reshape(-1, 3), axis=0)
    return bool(np.unique(colour_ids(colours)).size < len(colours))


def _stray(file: Path) -> Note:
    return Note(str(file), "hint-map-colour", "has colours where the mask has no hint; they were set to 0.")
