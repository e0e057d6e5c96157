from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hint_tools import BACKENDS, ORACLE, RATIOS, pictures
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from pixelgate.errors import InputError, MissingExtra, PixelgateError
from pixelgate.hints import PAPER_GRID, Hints, filfinder, generate_hints
from pixelgate.hints.generate import mean_colours

KINDS = ("scribble", "dot")
SMALL = {"scale": 1.0, "min_size": 1, "sigma": 0.0}
"""Settings that leave many regions, with many ties."""


def maps(hints: Hints) -> list[np.ndarray]:
    return [
        hints.labels, hints.region_ids, hints.region_map, hints.flatten, hints.scribble_mask, hints.dot_mask,
        hints.scribble_color, hints.dot_color,
    ]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(pictures(), st.sampled_from(["size", "label"]), st.sampled_from(["stable", "default"]), st.integers(1, 40))
def test_nested_none_at_0_all_at_1(picture: np.ndarray, order: str, tie_break: str, size: int) -> None:
    hints = generate_hints(picture, size, order=order, tie_break=tie_break, **SMALL)
    for kind in KINDS:
        before = np.zeros((size, size), dtype=bool)
        for ratio in RATIOS:
            colour, mask = hints.at_ratio(ratio, kind)
            assert set(np.unique(mask)) <= {0, 255}
            assert not colour[mask == 0].any()
            assert not (before & (mask == 0)).any()
            kept = np.unique(hints.labels[mask > 0])
            assert kept.size == int(hints.n_regions * ratio)
            before = mask > 0
            if ratio == 0:
                assert not mask.any()
        full_colour, full_mask = hints.at_ratio(1, kind)
        assert np.array_equal(full_mask, hints.scribble_mask if kind == "scribble" else hints.dot_mask)
        assert np.array_equal(full_colour, hints.scribble_color if kind == "scribble" else hints.dot_color)


@settings(max_examples=40, deadline=None)
@given(pictures(), st.integers(1, 40))
def test_every_region_has_a_scribble_a_dot_on_it_and_its_mean_colour(picture: np.ndarray, size: int) -> None:
    hints = generate_hints(picture, size, **SMALL)
    assert hints.failed_regions == 0
    assert np.count_nonzero(hints.dot_mask) == hints.n_regions
    assert not ((hints.dot_mask > 0) & (hints.scribble_mask == 0)).any()
    assert np.unique(hints.labels[hints.scribble_mask > 0]).size == hints.n_regions
    assert np.array_equal(hints.scribble_color[hints.dot_mask > 0], hints.flatten[hints.dot_mask > 0])
    counts = hints.counts()
    assert counts["regions"] == counts["dots"] == hints.n_regions
    assert counts["regions_without_scribble"] == counts["regions_without_dot"] == 0


@settings(max_examples=30, deadline=None)
@given(pictures(), st.integers(1, 40))
def test_compiled_and_plain_are_one(picture: np.ndarray, size: int) -> None:
    pytest.importorskip("numba")
    results = []
    for name in ("numba", "numpy"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PIXELGATE_BACKEND", name)
            results.append(maps(generate_hints(picture, size, **SMALL)))
    for one, two in zip(*results, strict=True):
        assert np.array_equal(one, two)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (64, 64), (65, 3)])
def test_flat_pictures_are_one_region(shape: tuple[int, int], backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIXELGATE_BACKEND", backend)
    hints = generate_hints(np.full((*shape, 3), (10, 200, 30), dtype=np.uint8))
    # Measured with hintauc 0.3.3: a flat picture has one region, whose scribble at 64 x 64 has 3 pixels.
    assert hints.n_regions == 1
    assert np.count_nonzero(hints.scribble_mask) == 3
    assert hints.dot_color[hints.dot_mask > 0].tolist() == [[10, 200, 30]]
    assert hints.empty_ratios() == (0.01, 0.03, 0.05, 0.10, 0.25, 0.50)
    assert [hints.kept(ratio) for ratio in PAPER_GRID] == [0] * 7 + [1]


def test_order_by_size_then_by_id_or_by_id_alone() -> None:
    numbers = np.array([[0, 0, 1, 2], [0, 0, 1, 2], [3, 3, 1, 2], [3, 3, 4, 5]])
    hints = generate_hints(np.zeros((4, 4, 3), dtype=np.uint8), 4, region_map=numbers)
    ids = [number * 1000003 % 255**3 for number in range(6)]
    by_size = sorted(range(6), key=lambda k: (-np.count_nonzero(numbers == k), ids[k]))
    assert hints.region_ids[hints.ranking].tolist() == [ids[k] for k in by_size]
    by_label = dataclasses.replace(hints, order="label")
    assert by_label.region_ids[by_label.ranking].tolist() == sorted(ids)


def test_the_scrambled_ids_decide_between_equal_areas() -> None:
    # Number 17 has a smaller id than number 1: 17 x 1000003 is the first product beyond 255^3.
    numbers = np.arange(18)[None]
    hints = generate_hints(np.zeros((1, 18, 3), dtype=np.uint8), 18, region_map=numbers)
    assert np.unique(hints.areas).size == 1
    _, mask = hints.at_ratio(2.5 / 18, "dot")
    assert sorted(np.unique(numbers[0][np.nonzero(mask.any(axis=0))])) == [0, 17]


def test_default_tie_break_is_numpys_own_sort() -> None:
    hints = generate_hints(np.zeros((20, 20, 3), dtype=np.uint8), 20, region_map=np.arange(400).reshape(20, 20) // 2)
    default = dataclasses.replace(hints, tie_break="default")
    assert np.array_equal(default.ranking, np.argsort(-hints.areas))
    assert np.array_equal(np.sort(default.ranking), np.arange(hints.n_regions))
    assert np.array_equal(hints.ranking, np.arange(hints.n_regions))


def test_resize_takes_a_side_or_height_and_width() -> None:
    hints = generate_hints(ORACLE / "inputs" / "tiny40x24.png")
    colour, mask = hints.at_ratio(1, "scribble", (128, 192))
    assert (colour.shape, mask.shape) == ((128, 192, 3), (128, 192))
    assert np.array_equal(mask[::2, ::3], hints.scribble_mask)
    assert np.array_equal(hints.at_ratio(1, "dot", 128)[1], hints.at_ratio(1, "dot", (128, 128))[1])
    for wrong in (0, (3,), (3, -1), (2.5, 3)):
        with pytest.raises(InputError, match="hint-size"):
            hints.at_ratio(1, "dot", wrong)  # type: ignore[arg-type]


def test_hints_that_resizing_loses_are_seen_in_the_mask() -> None:
    # Sampling 64 x 64 down to 40 x 24 keeps none of the three dots; hintauc 0.3.3 does the same.
    hints = generate_hints(ORACLE / "inputs" / "tiny40x24.png")
    assert not hints.at_ratio(1, "dot", (40, 24))[1].any()


@pytest.mark.parametrize("alpha", [-0.1, 1.01, float("nan"), "0.5", None, True])
def test_wrong_ratios(alpha: Any) -> None:
    hints = generate_hints(np.zeros((4, 4, 3), dtype=np.uint8), 8)
    with pytest.raises(InputError, match="ratio-range"):
        hints.at_ratio(alpha, "dot")


def test_wrong_kind() -> None:
    hints = generate_hints(np.zeros((4, 4, 3), dtype=np.uint8), 8)
    with pytest.raises(InputError, match=r"'line' is not known.*scribble, dot"):
        hints.at_ratio(0.5, "line")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "hint-size"),
        ({"size": 6.4}, "hint-size"),
        ({"segmenter": "watershed"}, "felzenszwalb, slic, quickshift"),
        ({"scales": 3}, "no option scales"),
        ({"scale": -1}, "scale is -1"),
        ({"path_method": "straight"}, "geodesic, filfinder"),
        ({"dot_method": "middle"}, "medoid, mean, nearest_mean"),
        ({"order": "colour"}, "size, label"),
        ({"tie_break": "random"}, "stable, default"),
        ({"region_map": np.zeros((2, 2))}, "region-map"),
        ({"region_map": np.zeros((2, 2, 4), dtype=np.uint8)}, "region-map"),
        ({"region_map": np.zeros((0, 2), dtype=int)}, "region-map"),
        ({"region_map": np.zeros((2, 2), dtype=int), "scale": 3}, "segmenter-option"),
    ],
)
def test_wrong_options_are_named(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        generate_hints(np.zeros((4, 4, 3), dtype=np.uint8), **options)


def test_files_and_arrays_that_are_no_pictures(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("no picture", encoding="utf-8")
    with pytest.raises(InputError, match=r"text\.png"):
        generate_hints(tmp_path / "text.png")
    with pytest.raises(InputError, match="not-a-file"):
        generate_hints(str(tmp_path / "missing.png"))
    with pytest.raises(InputError, match="array-empty"):
        generate_hints(np.zeros((0, 4, 3), dtype=np.uint8))


def test_a_picture_on_its_side_is_turned_upright(tmp_path: Path) -> None:
    pixels = np.zeros((20, 30, 3), dtype=np.uint8)
    pixels[:8, :8] = (250, 0, 0)
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(pixels).save(tmp_path / "turned.png", exif=exif)
    hints = generate_hints(tmp_path / "turned.png", **SMALL)
    upright = generate_hints(np.rot90(pixels, -1), **SMALL)
    for one, two in zip(maps(hints), maps(upright), strict=True):
        assert np.array_equal(one, two)
    assert [note.rule for note in hints.notes] == ["exif-applied"]


def test_means_are_cut_not_rounded() -> None:
    picture = np.array([[[0, 1, 254], [1, 2, 255]]], dtype=np.uint8)
    hints = generate_hints(picture, 2, region_map=np.zeros((1, 2), dtype=int))
    assert np.unique(hints.flatten.reshape(-1, 3), axis=0).tolist() == [[0, 1, 254]]
    assert mean_colours.__doc__


def test_a_region_map_may_be_a_file_of_any_size_and_colours(tmp_path: Path) -> None:
    colours = np.zeros((6, 9, 3), dtype=np.uint8)
    colours[:, 3:6], colours[:, 6:] = (0, 255, 0), (0, 0, 1)
    Image.fromarray(colours).save(tmp_path / "map.png")
    hints = generate_hints(np.zeros((50, 50, 3), dtype=np.uint8), 9, region_map=tmp_path / "map.png")
    # In BGR the colours are (0, 255, 0) and (1, 0, 0), which share an id, so all three are numbered anew.
    assert hints.ids[0, ::3].tolist() == [0, 1000003, 2000006]
    by_number = generate_hints(np.zeros((50, 50, 3), dtype=np.uint8), 9, region_map=np.array([[7, 8, 9]]))
    assert np.array_equal(hints.labels, by_number.labels)
    assert dict(hints.settings)["segmenter"] == "region map"


@pytest.mark.parametrize("segmenter", ["slic", "quickshift"])
def test_the_other_segmenters(segmenter: str) -> None:
    segmentation = pytest.importorskip("skimage.segmentation")
    picture = np.random.default_rng(1).integers(0, 256, (40, 50, 3), dtype=np.uint8).repeat(2, 0)[:40]
    hints = generate_hints(picture, 40, segmenter=segmenter)
    blue_first = picture[..., ::-1]
    if segmenter == "slic":
        labels = segmentation.slic(blue_first, n_segments=290, compactness=10, sigma=1, start_label=1)
    else:
        labels = segmentation.quickshift(blue_first / 255.0, kernel_size=3, max_dist=6, ratio=0.5)
    wanted = generate_hints(picture, 40, region_map=labels.astype(np.int64))
    assert hints.n_regions > 3
    assert np.array_equal(hints.ids, wanted.ids)
    with pytest.raises(InputError, match="segmenter-option"):
        generate_hints(picture, segmenter=segmenter, no_such_option=1)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    picture = np.zeros((9, 9, 3), dtype=np.uint8)
    monkeypatch.setitem(sys.modules, "skimage.segmentation", None)
    with pytest.raises(MissingExtra, match=r"pixelgate\[hints\]"):
        generate_hints(picture, segmenter="slic")
    monkeypatch.setitem(sys.modules, "fil_finder", None)
    with pytest.raises(MissingExtra, match=r"pixelgate\[filfinder\].*geodesic"):
        generate_hints(picture, path_method="filfinder")


def test_an_old_filfinder_is_refused_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filfinder, "version", lambda _: "1.7.2")
    if int(np.__version__.split(".")[0]) < 2:
        pytest.skip("FilFinder 1.7 runs with numpy 1")
    with pytest.raises(PixelgateError, match=r"1\.7\.2 cannot run with numpy"):
        generate_hints(np.zeros((9, 9, 3), dtype=np.uint8), path_method="filfinder")


class FakeFilaments:
    """Stands in for FilFinder: its longest path is the skeleton's thickened mask; on small masks it fails."""

    def __init__(self, image: np.ndarray, *, distance: float, mask: np.ndarray) -> None:
        if np.count_nonzero(mask) < 20:
            raise RuntimeError("no filaments")
        self.skeleton_longpath = mask > 0

    def __getattr__(self, name: str) -> Any:
        return lambda **_: None


class FakeUnits:
    pc = pix = 1


def test_regions_on_which_filfinder_fails_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filfinder, "_packages", lambda: (FakeFilaments, FakeUnits))
    numbers = np.zeros((20, 20), dtype=int)
    numbers[:2, :2] = 1
    hints = generate_hints(np.zeros((20, 20, 3), dtype=np.uint8), 20, region_map=numbers, path_method="filfinder")
    assert (hints.n_regions, hints.failed_regions, hints.failed.tolist()) == (2, 1, [1000003])
    assert [note.rule for note in hints.notes] == ["regions-failed"]
    assert "1 of 2 regions" in hints.notes[0].message
    assert not hints.scribble_mask[numbers == 1].any()
    assert hints.counts()["regions_without_dot"] == 1
    # The failed region still counts for the ratio, and the path that leaves its region is cut.
    assert hints.kept(0.5) == 1
    assert hints.empty_ratios() == (0.01, 0.03, 0.05, 0.10, 0.25)


def test_a_ratio_that_keeps_failed_regions_only_is_empty() -> None:
    hints = generate_hints(np.zeros((4, 4, 3), dtype=np.uint8), 4, region_map=np.array([[0, 1]]))
    bare = dataclasses.replace(hints, dot_mask=np.where(hints.labels == hints.ranking[0], 0, hints.dot_mask))
    assert 0.5 in bare.empty_ratios(kind="dot")
    assert 0.5 not in bare.empty_ratios(kind="scribble")


def test_heavy_packages_are_not_imported_before_they_are_needed() -> None:
    heavy = ("numba", "skimage", "cv2", "scipy.sparse", "fil_finder", "torch", "pandas")
    code = f"import sys, pixelgate.hints; print([name for name in {heavy!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
