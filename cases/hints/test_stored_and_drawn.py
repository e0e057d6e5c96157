from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from hint_tools import ORACLE, RATIOS
from PIL import Image

from pixelgate.errors import InputError
from pixelgate.hints import Hints, generate_hints, hint_picture, read_stored_maps, save_maps

IMAGE = ORACLE / "inputs" / "shapes120x200.png"
NAMES = ("region", "scribble_mask", "scribble_col", "flatten_img", "dot_mask", "dot_col")


@pytest.fixture(scope="module")
def hints() -> Hints:
    return generate_hints(IMAGE)


@pytest.fixture
def stored(hints: Hints, tmp_path: Path) -> Path:
    save_maps(hints, tmp_path / "maps" / "a")
    return tmp_path / "maps"


def test_maps_that_were_written_are_read_back(hints: Hints, stored: Path) -> None:
    back = read_stored_maps(stored, "a")
    assert sorted(path.name for path in stored.iterdir()) == sorted(f"a_{name}64.png" for name in NAMES)
    assert (back.n_regions, back.failed_regions, back.notes) == (hints.n_regions, 0, ())
    assert np.array_equal(back.ids, hints.ids)
    assert np.array_equal(back.flatten, hints.flatten)
    for ratio in RATIOS:
        for kind in ("scribble", "dot"):
            for one, two in zip(back.at_ratio(ratio, kind, 256), hints.at_ratio(ratio, kind, 256), strict=True):
                assert np.array_equal(one, two)
    by_label = read_stored_maps(stored, "a", order="label", tie_break="default")
    assert np.array_equal(by_label.ranking, np.arange(hints.n_regions))


def test_files_are_as_the_reference_writes_them(hints: Hints, stored: Path) -> None:
    with Image.open(stored / "a_region64.png") as region:
        assert region.mode == "RGB"
        # Digits of the id, blue first: what OpenCV reads as its first channel is the most significant one.
        red, green, blue = np.moveaxis(np.asarray(region).astype(np.int64), -1, 0)
    assert np.array_equal((blue * 255 + green) * 255 + red, hints.ids)
    with Image.open(stored / "a_dot_mask64.png") as mask:
        assert mask.mode == "L"
        assert np.array_equal(np.asarray(mask), hints.dot_mask)


def test_single_ratios_are_written_with_their_decimals(hints: Hints, tmp_path: Path) -> None:
    files = save_maps(hints, tmp_path / "b", ratios=(0.1, 0.075), kinds=("scribble",))
    assert {path.name for path in files[6:]} == {
        "b_scribble_col64_r10.png",
        "b_scribble_mask64_r10.png",
        "b_scribble_col64_r7.5.png",
        "b_scribble_mask64_r7.5.png",
    }
    with Image.open(tmp_path / "b_scribble_col64_r10.png") as colour:
        assert np.array_equal(np.asarray(colour), hints.at_ratio(0.1, "scribble")[0])
    with pytest.raises(InputError, match="ratio-range"):
        save_maps(hints, tmp_path / "c", ratios=(1.5,))
    assert not list(tmp_path.glob("c*"))


def test_writing_where_nothing_can_be_written(hints: Hints, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="not-writable"):
        save_maps(hints, tmp_path / "file" / "a")


def test_missing_files_are_all_named(stored: Path) -> None:
    (stored / "a_dot_col64.png").unlink()
    (stored / "a_region64.png").unlink()
    with pytest.raises(InputError) as raised:
        read_stored_maps(stored, "a")
    assert [Path(problem.file).name for problem in raised.value.problems] == ["a_region64.png", "a_dot_col64.png"]


def test_maps_of_another_size(stored: Path) -> None:
    for path in stored.iterdir():
        shutil.copy(path, path.with_name(path.name.replace("64", "32")))
    with pytest.raises(InputError, match="64 x 64") as raised:
        read_stored_maps(stored, "a", 32)
    assert len(raised.value.problems) == 6


def replace(path: Path, change) -> None:
    with Image.open(path) as image:
        pixels = np.array(image)
    change(pixels)
    Image.fromarray(pixels).save(path)


def test_masks_with_other_values(stored: Path) -> None:
    replace(stored / "a_scribble_mask64.png", lambda pixels: pixels.__setitem__((0, 0), 7))
    with pytest.raises(InputError, match="hint-map-mask"):
        read_stored_maps(stored, "a")


def test_region_colours_that_share_an_id(stored: Path) -> None:
    def change(pixels: np.ndarray) -> None:
        pixels[0, 0], pixels[0, 1] = (0, 255, 0), (0, 0, 1)

    replace(stored / "a_region64.png", change)
    with pytest.raises(InputError, match="hint-map-region"):
        read_stored_maps(stored, "a")


def test_colours_beside_the_mask_and_regions_without_scribble_are_noted(hints: Hints, stored: Path) -> None:
    place = tuple(np.argwhere(hints.scribble_mask == 0)[0])
    replace(stored / "a_scribble_col64.png", lambda pixels: pixels.__setitem__(place, (9, 9, 9)))
    region = hints.labels == hints.ranking[0]
    replace(stored / "a_scribble_mask64.png", lambda pixels: pixels.__setitem__(region, 0))
    back = read_stored_maps(stored, "a")
    assert [note.rule for note in back.notes] == ["hint-map-colour", "regions-failed"]
    assert not back.scribble_color[place].any()
    assert back.failed.tolist() == [hints.region_ids[hints.ranking[0]]]
    assert back.n_regions == hints.n_regions


def test_pieces_of_one_id_stay_one_region(stored: Path) -> None:
    def change(pixels: np.ndarray) -> None:
        pixels[:] = 0
        pixels[:, 20:40] = (5, 0, 0)

    replace(stored / "a_region64.png", change)
    assert read_stored_maps(stored, "a").n_regions == 2


@pytest.mark.parametrize("name", ["shapes120x200", "tiny40x24"])
def test_the_picture_shows_hints_in_their_colours(name: str) -> None:
    file = ORACLE / "inputs" / f"{name}.png"
    hints = generate_hints(file)
    picture = hint_picture(file, hints)
    with Image.open(file) as image:
        width, height = image.size
    assert picture.dtype == np.uint8
    assert max(picture.shape[:2]) == 1024
    assert picture.shape[1] / picture.shape[0] == pytest.approx(width / height, rel=0.01)
    for row, column in np.argwhere(hints.dot_mask > 0):
        y, x = int((row + 0.5) * picture.shape[0] / 64), int((column + 0.5) * picture.shape[1] / 64)
        shown, wanted = picture[y, x].astype(int), hints.dot_color[row, column].astype(int)
        # Dots of neighbouring regions may cover each other; their own colour is near then.
        if np.count_nonzero(hints.dot_mask[max(0, row - 2) : row + 3, max(0, column - 2) : column + 3]) == 1:
            assert np.abs(shown - wanted).max() <= 3


def test_the_picture_differs_where_there_are_borders_and_is_faded_elsewhere() -> None:
    grey = np.full((64, 64, 3), 100, dtype=np.uint8)
    numbers = np.zeros((64, 64), dtype=int)
    numbers[:, 32:] = 1
    picture = hint_picture(grey, generate_hints(grey, region_map=numbers))
    assert picture[5, 5].tolist() == [185, 185, 185]  # 100 + 0.55 x 155
    assert (picture[5, 510:515] < 150).any()
    assert (picture[5, 400:500] == 185).all()
