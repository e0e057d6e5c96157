"""Curves as pictures."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from colorizer_tools import GRID, paste, samples
from PIL import Image

from pixelgate.colorizer import evaluate_colorizer, hint_fill_colorizer, plot_curves
from pixelgate.errors import InputError, MissingExtra
from pixelgate.stats import curve


@pytest.fixture(scope="module")
def results():
    def run(model, **options):
        return evaluate_colorizer(model, samples(3), alphas=GRID, metrics=("mse", "psnr"), backend="pillow", **options)

    return {"paste": run(paste), "fill": run(hint_fill_colorizer, oracle=True)}


@pytest.fixture(autouse=True)
def _matplotlib(request):
    if "without" not in request.node.name:
        pytest.importorskip("matplotlib")


def test_a_png_shows_lines_and_intervals(results, tmp_path):
    path = plot_curves(results, tmp_path / "new" / "curves.png", title="Curves")
    picture = np.asarray(Image.open(path).convert("RGB")).astype(int)
    assert picture.shape[1] > picture.shape[0] > 300
    for colour in ((0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00)):
        assert (np.abs(picture - colour).max(axis=2) < 8).sum() > 200
        # The band: the colour at 13 % over white.
        band = np.rint(0.13 * np.array(colour) + 0.87 * 255)
        assert (np.abs(picture - band).max(axis=2) < 6).sum() > 200


def test_an_svg_is_the_same_every_time(results, tmp_path):
    first = plot_curves(results, tmp_path / "one.svg").read_bytes()
    assert first == plot_curves(results, tmp_path / "two.svg").read_bytes()
    assert first.startswith(b"<?xml")
    assert b"fill (oracle)" in first
    assert b"paste (oracle)" not in first
    assert "MSE ↓".encode() in first
    assert "PSNR ↑ (dB)".encode() in first


def test_one_result_or_plain_curves_are_drawn_too(results, tmp_path):
    plot_curves(results["paste"], tmp_path / "one.svg")
    plain = {"a": {"mse": curve((0.0, 1.0), {"x": [0.2, 0.1]}), "own": curve((0.0, 1.0), {"x": [1.0, 2.0]})}}
    text = plot_curves(plain, tmp_path / "plain.svg", oracles=("a",)).read_text(encoding="utf-8")
    assert "a (oracle)" in text
    assert "own" in text


def test_a_wrong_suffix_or_nothing_to_draw_is_an_error(results, tmp_path):
    for path, what in ((tmp_path / "x.gif", results), (tmp_path / "x", results), (tmp_path / "x.png", {})):
        with pytest.raises(InputError):
            plot_curves(what, path)
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_extra_is_named(results, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"pixelgate\[plot\]"):
        plot_curves(results, tmp_path / "x.png")
