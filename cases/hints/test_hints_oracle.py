"""Our hints against those that hintauc 0.3.3 made; regions come from our own segmenter, from the image file alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hint_tools import BACKENDS, ORACLE, canonical, sha, vectors

from pixelgate.hints import Hints, generate_hints
from pixelgate.hints.felzenszwalb import felzenszwalb
from pixelgate.io.any_image import read_any

NAMES = sorted(path.stem for path in (ORACLE / "inputs").glob("*.png"))
PORTABLE = sorted(name for name, entry in vectors("env_variation.json").items() if entry["portable"])


def image(name: str) -> Path:
    return ORACLE / "inputs" / f"{name}.png"


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PIXELGATE_BACKEND", request.param)
    return request.param


def check(hints: Hints, wanted: dict) -> None:
    assert hints.n_regions == wanted["n_regions"]
    assert hints.failed_regions == wanted["failed_regions"]
    assert sha(canonical(hints.labels), "<i4") == wanted["labels64_canonical_i4_sha256"]
    assert sha(hints.ids, "<i8") == wanted["ids64_i8_sha256"]
    assert sha(hints.region_map[..., ::-1], "u1") == wanted["region64_bgr_sha256"]
    assert sha(hints.flatten[..., ::-1], "u1") == wanted["flatten64_bgr_sha256"]
    assert table(hints) == wanted["regions_by_rank"]
    size = (wanted["height"], wanted["width"])
    for ratio, kinds in wanted["ratios"].items():
        assert hints.kept(float(ratio)) == kinds["n_keep"]
        for kind in ("scribble", "dot"):
            colour, mask = hints.at_ratio(float(ratio), kind)
            large_colour, large_mask = hints.at_ratio(float(ratio), kind, size)
            assert {
                "mask_px": np.count_nonzero(mask),
                "mask64_sha256": sha(mask, "u1"),
                "color64_bgr_sha256": sha(colour[..., ::-1], "u1"),
                "mask_up_px": np.count_nonzero(large_mask),
                "mask_up_sha256": sha(large_mask, "u1"),
                "color_up_bgr_sha256": sha(large_colour[..., ::-1], "u1"),
            } == kinds[kind], (ratio, kind)


def table(hints: Hints) -> list[list]:
    """Label, area, id, mean, dot and scribble pixels of each region, in the order in which they keep their hints."""
    rows = []
    labels = canonical(hints.labels)
    for region in hints.ranking.tolist():
        own = hints.labels == region
        dots = np.argwhere(own & (hints.dot_mask > 0))
        rows.append(
            [
                int(labels[own][0]),
                int(np.count_nonzero(own)),
                int(hints.region_ids[region]),
                hints.flatten[own][0, ::-1].tolist(),
                dots[0].tolist() if len(dots) else None,
                int(np.count_nonzero(own & (hints.scribble_mask > 0))),
            ]
        )
    return rows


@pytest.mark.parametrize("name", NAMES)
def test_hints_with_a_stable_sort(name: str, backend: str) -> None:
    check(generate_hints(image(name)), vectors("hints_stablesort.json")[name])


@pytest.mark.parametrize("name", PORTABLE)
def test_hints_of_the_unchanged_library_where_they_are_portable(name: str) -> None:
    check(generate_hints(image(name)), vectors("hints.json")[name])


@pytest.mark.parametrize("name", NAMES)
def test_full_resolution_regions(name: str, backend: str) -> None:
    wanted = vectors("hints_stablesort.json")[name]
    picture, _ = read_any(image(name))
    labels = felzenszwalb(np.ascontiguousarray(picture[..., ::-1]))
    assert labels.max() + 1 == wanted["fullres_n_labels"]
    assert np.array_equal(labels, canonical(labels))
    assert sha(labels, "<i4") == wanted["fullres_labels_canonical_i4_sha256"]


@pytest.mark.parametrize("name", NAMES)
def test_maps(name: str) -> None:
    hints = generate_hints(image(name))
    with np.load(ORACLE / "maps_stablesort" / f"{name}.npz") as maps:
        assert np.array_equal(canonical(hints.labels), maps["labels"])
        numbers = canonical(hints.labels).reshape(-1)[np.unique(hints.labels, return_index=True)[1]]
        assert maps["rank_of_label"][numbers[hints.ranking]].tolist() == list(range(hints.n_regions))
        assert np.array_equal(hints.ids, maps["ids"])
        assert np.array_equal(hints.scribble_mask, maps["scribble_mask"])
        assert np.array_equal(hints.dot_mask, maps["dot_mask"])
        assert np.array_equal(hints.flatten[..., ::-1], maps["flatten_bgr"])
        assert np.array_equal(hints.scribble_color[..., ::-1], maps["scribble_color_bgr"])
        assert np.array_equal(hints.dot_color[..., ::-1], maps["dot_color_bgr"])


def test_an_array_gives_what_its_file_gives() -> None:
    picture, _ = read_any(image("coffee128"))
    one, two = generate_hints(image("coffee128")), generate_hints(picture)
    assert np.array_equal(one.scribble_color, two.scribble_color)
    assert np.array_equal(one.ids, two.ids)


def test_red_and_blue_are_told_apart() -> None:
    # 'tiny40x24' has a red region (238, 10, 10) on the left and a green one on the right, by its table in BGR.
    hints = generate_hints(image("tiny40x24"))
    assert [10, 10, 238] in [row[3] for row in vectors("hints_stablesort.json")["tiny40x24"]["regions_by_rank"]]
    assert [238, 10, 10] in hints.flatten.reshape(-1, 3).tolist()


def test_the_vectors_differ_where_the_environment_matters() -> None:
    # Guards the test above: if these two were equal, the stable order would not be tested at all.
    stable, plain = vectors("hints_stablesort.json"), vectors("hints.json")
    assert stable["shapes120x200"]["ratios"] != plain["shapes120x200"]["ratios"]
