"""Places of panes and labels, and the contact sheet, on panes of one colour."""

from __future__ import annotations

import numpy as np
import pytest
from show_tools import has_text

from pixelgate.clips._show_layout import BACKGROUND, GAP, TEXT, Layout, Show, tinted
from pixelgate.clips._show_sheet import ROWS, Sheet

LABELS = tuple(((words, TEXT),) for words in ("one", "two", "three"))


def flat(size, *levels):
    return [np.full((*size, 3), level, dtype=np.uint8) for level in levels]


def show(size, frames, labels=LABELS):
    return Show(labels, size, frames, 8.0, lambda: (flat(size, index % 256, 100, 200) for index in range(frames)))


def sheet_of(made):
    sheet = Sheet(made)
    for index, panes in enumerate(made.panes()):
        sheet.add(index, panes)
    return sheet, sheet.picture()


def test_panes_lie_side_by_side_under_their_labels():
    layout = Layout(LABELS, (60, 100), 12)
    assert layout.lefts == (0, 100 + GAP, 200 + 2 * GAP)
    assert (layout.width, layout.height) == (300 + 2 * GAP, layout.top + 60)
    whole = layout.compose(flat((60, 100), 10, 20, 30))
    for left, level in zip(layout.lefts, (10, 20, 30), strict=True):
        assert (whole[layout.top :, left : left + 100] == level).all()
        assert has_text(whole[: layout.top, left : left + 60])
    assert not has_text(whole[layout.top :, 100 : 100 + GAP])
    # The bar's edges are free: no letter is cut off.
    assert not has_text(whole[:1])
    assert not has_text(whole[layout.top - 1 : layout.top])


def test_a_wide_label_gets_its_room():
    long = (("a label that is much wider than its pane", TEXT), ("coloured", (255, 0, 0)))
    narrow, wide = (Layout((LABELS[0], second, LABELS[2]), (40, 50), 12) for second in (LABELS[1], long))
    assert narrow.width == 150 + 2 * GAP
    assert wide.width > 350
    start, end = 50 + GAP, wide.lefts[2] - GAP
    assert abs((wide.lefts[1] - start) - (end - wide.lefts[1] - 50)) <= 1
    bar = wide.bar
    assert has_text(bar[:, start : start + 20])
    assert has_text(bar[:, end - 20 : end])
    assert not has_text(bar[:, end - 3 : end + GAP])
    assert (bar[..., 0].astype(int) - bar[..., 1] > 150).any()


def test_labels_grow_with_the_text():
    small, large = (Layout(LABELS, (60, 400), height) for height in (11, 26))
    assert large.top > 2 * small.top - 4

    def rows(layout):
        return int((layout.bar != np.array(BACKGROUND)).any(axis=(1, 2)).sum())

    assert 6 <= rows(small) <= 11
    assert 1.8 * rows(small) < rows(large) <= 26


@pytest.mark.parametrize("size", [(31, 101), (32, 101), (31, 100)])
def test_odd_sizes_become_even_as_a_whole(size):
    layout = Layout(LABELS, size, 12)
    assert (layout.width % 2, layout.height % 2) == (0, 0)
    whole = layout.compose(flat(size, 1, 2, 3))
    assert whole.shape == (layout.height, layout.width, 3)
    assert (whole == 3).all(axis=2).sum() == size[0] * size[1]


def test_panes_of_another_size_or_number_are_refused():
    layout = Layout(LABELS, (60, 100), 12)
    with pytest.raises(ValueError, match="uint8"):
        layout.compose([*flat((60, 100), 1, 2), *flat((60, 99), 3)])
    with pytest.raises(ValueError, match="shorter"):
        layout.compose(flat((60, 100), 1, 2))


@pytest.mark.parametrize(
    ("frames", "wanted"), [(1, (0,)), (3, (0, 1, 2)), (6, range(6)), (49, (0, 10, 19, 29, 38, 48))]
)
def test_frames_of_the_sheet(frames, wanted):
    sheet, picture = sheet_of(show((40, 330), frames))
    assert sheet.indices == tuple(wanted)
    assert len(sheet.indices) <= ROWS
    top = picture.shape[0] - len(wanted) * (40 + GAP)
    for row, index in enumerate(wanted):
        start = top + row * (40 + GAP)
        assert (picture[start : start + 40, sheet.left : sheet.left + 330] == index).all()
        assert has_text(picture[start : start + 40, : sheet.left])


@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        ((704, 1216), (208, 360)),
        ((1216, 704), (300, 174)),
        ((96, 160), (192, 320)),
        ((200, 300), (200, 300)),
        ((2, 2), (320, 320)),
    ],
)
def test_sizes_on_the_sheet(size, wanted):
    sheet, picture = sheet_of(show(size, 2))
    assert sheet.pane == wanted
    top = picture.shape[0] - 2 * (wanted[0] + GAP)
    assert 20 <= top <= 30
    assert picture.shape[1] == sheet.left + 3 * wanted[1] + 2 * GAP
    assert (picture[top : top + wanted[0], -wanted[1] :] == 200).all()


def test_frame_numbers_have_room():
    sheet, picture = sheet_of(show((40, 330), 12_000))
    assert sheet.indices[-1] == 11_999
    assert not has_text(picture[:, :2])
    assert not has_text(picture[-40:, sheet.left - 2 : sheet.left])


def test_a_tint_is_half_the_colour():
    frame = np.array([[[0, 100, 255]], [[10, 20, 30]]], dtype=np.uint8)
    found = tinted(frame, np.array([[True], [False]]), (255, 64, 0))
    assert found.tolist() == [[[127, 82, 127]], [[10, 20, 30]]]
    assert frame[0, 0, 0] == 0
