"""The demo track's pictures and outputs."""

from __future__ import annotations

import numpy as np
import pytest

from pixelgate.colorizer import check, demo, read_manifest
from pixelgate.errors import TrackError
from pixelgate.hints import PAPER_GRID, alpha_dir_name
from pixelgate.io.any_image import read_any
from pixelgate.io.files import pixel_digest


def test_the_illustration_is_the_published_one():
    picture = demo.demo_picture()
    assert picture.shape == (128, 128, 3)
    # Colours as published, BGR.
    for (row, column), colour in (
        ((20, 20), (94, 121, 171)),
        ((100, 40), (181, 203, 31)),
        ((50, 100), (45, 187, 189)),
        ((0, 0), (235, 235, 235)),
    ):
        assert tuple(picture[row, column][::-1]) == colour
    assert demo.demo_picture(64).shape == (64, 64, 3)


def test_a_build_writes_the_expected_files(tmp_path):
    told = []
    demo.build(tmp_path, progress=lambda *args: told.append(args))
    assert told == [(1, 2, demo.GROUND_TRUTH), (2, 2, demo.LINE_ART)]
    for name, digest in demo.EXPECTED.items():
        assert pixel_digest(read_any(tmp_path / name)[0]) == digest
    assert np.array_equal(read_any(tmp_path / demo.GROUND_TRUTH)[0], demo.demo_picture())


def test_another_picture_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setitem(demo.EXPECTED, demo.LINE_ART, "0" * 64)
    with pytest.raises(TrackError, match="line_art"):
        demo.build(tmp_path)


def test_outputs_have_the_plugins_layout(tmp_path):
    demo.build(tmp_path / "track")
    told = []
    folders = demo.make_outputs(tmp_path / "out", tmp_path / "track", progress=lambda *args: told.append(args))
    assert [folder.relative_to(tmp_path / "out").as_posix() for folder in folders] == [
        "hint-fill/demo-hints",
        "hint-spread/demo-hints",
        "plain/demo-hints",
    ]
    assert told[-1] == (24, 24, "plain/demo-hints/1.00/demo-hints.png")
    for method, folder in zip(demo.METHODS, folders, strict=True):
        manifest = read_manifest(folder)
        assert manifest.oracle == (method.name == "hint-fill")
        assert manifest.alphas == PAPER_GRID
        assert check(manifest, folder) == []
    outputs = {folder.parent.name: read_any(folder / "1.00" / "demo-hints.png")[0] for folder in folders}
    assert len({picture.tobytes() for picture in outputs.values()}) == 3
    # Made anew without complaint.
    demo.make_outputs(tmp_path / "out", tmp_path / "track")
    assert sorted(entry.name for entry in folders[0].iterdir()) == [*map(alpha_dir_name, PAPER_GRID), "manifest.json"]
