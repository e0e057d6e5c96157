"""The pixel metrics against numbers from scikit-image, colour-science and numpy on real photographs.

Tolerance 1e-9 throughout. Each common mistake lies further off than that on every photograph, but for
SSIM on floats in 0 to 1 with data range 1, which is the same number.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from pixelgate.metrics.delta_e import delta_e_2000, delta_e_2000_lab
from pixelgate.metrics.histogram import histogram_correlation
from pixelgate.metrics.psnr import psnr
from pixelgate.metrics.ssim import ssim

pytestmark = pytest.mark.usefixtures("backend")

TOLERANCE = 1e-9
FAMILIES = {"ssim": "ssim", "psnr": "psnr", "de": "de00_M4_rows", "hcorr": "hcorr_gt"}


def scores(output, reference, style):
    return {
        "psnr": psnr(output, reference),
        "ssim": ssim(output, reference),
        "de00_M4_rows": delta_e_2000(output, reference),
        "hcorr_gt": histogram_correlation(output, reference),
        "hcorr_style": histogram_correlation(output, style),
    }


def test_whole_pictures(pst):
    seen = 0
    for pair, method, expected in pst.pairs():
        got = scores(pst.output(method, pair), pst.picture(f"gt/{pair}"), pst.picture(f"style/{pair}"))
        for name, value in got.items():
            assert value == pytest.approx(expected[name], rel=0, abs=TOLERANCE), (pair, method, name)
        seen += 1
    assert seen == 15


def test_colour_science_agrees(pst):
    for pair, method, expected in pst.pairs():
        got = delta_e_2000(pst.output(method, pair), pst.picture(f"gt/{pair}"))
        assert got == pytest.approx(expected["de00_colour_M4_rows"], rel=0, abs=TOLERANCE)


@pytest.mark.parametrize(("matrix", "column"), [("srgb-6digit", "de00_M6_rows"), ("srgb-7digit", "de00_M7_rows")])
def test_other_matrices(pst, matrix, column):
    for pair, method, expected in pst.pairs():
        got = delta_e_2000(pst.output(method, pair), pst.picture(f"gt/{pair}"), matrix=matrix)
        assert got == pytest.approx(expected[column], rel=0, abs=TOLERANCE)
        assert abs(expected[column] - expected["de00_M4_rows"]) > TOLERANCE, "the matrix must be named"


def test_tiles(pst):
    tiles = pst.results["tile_stats"]["tiles"]
    assert len(tiles) == 18
    for name, tile in tiles.items():
        pair = name.split("/")[0]
        part = slice(*tile["y"]), slice(*tile["x"])
        reference, style = pst.picture(f"gt/{pair}")[part], pst.picture(f"style/{pair}")
        for method, expected in tile["m"].items():
            got = scores(pst.output(method, pair)[part], reference, style)
            for metric, value in got.items():
                assert value == pytest.approx(expected[metric], rel=0, abs=TOLERANCE), (name, method, metric)


def test_common_mistakes_lie_outside_the_tolerance(pst):
    seen = set()
    for pair, method, expected in pst.pairs():
        got = scores(pst.output(method, pair), pst.picture(f"gt/{pair}"), pst.picture(f"style/{pair}"))
        for variant, wrong in expected["wrong_variants"].items():
            family = variant.split("_")[0].rstrip("0126789")
            if family == "lpips":
                continue
            right = got[FAMILIES[family]]
            inside = abs(wrong - right) <= TOLERANCE
            assert inside == (variant == "ssim_float01_dr1"), (pair, method, variant)
            seen.add(variant)
    assert len(seen) == 14


@pytest.fixture(scope="module")
def sharma():
    path = Path(__file__).parent.parent / "conformance" / "sharma34.csv"
    with path.open(newline="") as lines:
        rows = [[float(value) for value in row.values()] for row in csv.DictReader(lines)]
    table = np.array(rows)
    assert table.shape == (34, 10)
    return table


@pytest.mark.parametrize("swap", [False, True], ids=["as-printed", "swapped"])
def test_sharma_published_pairs(sharma, swap):
    """Published with four decimals, so half a unit of the last one is the tolerance."""
    first, second = sharma[:, 1:4], sharma[:, 4:7]
    got = delta_e_2000_lab(second, first) if swap else delta_e_2000_lab(first, second)
    np.testing.assert_allclose(got, sharma[:, 7], rtol=0, atol=5e-5)


def test_sharma_pairs_against_two_libraries(sharma):
    got = delta_e_2000_lab(sharma[:, 1:4], sharma[:, 4:7])
    np.testing.assert_allclose(got, sharma[:, 8], rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(got, sharma[:, 9], rtol=0, atol=TOLERANCE)


def test_sharma_pairs_tell_wrong_formulas_apart(sharma):
    """The table must be able to fail: the plain mean of hues and the plain Lab distance do not pass it."""
    plain = np.sqrt(((sharma[:, 1:4] - sharma[:, 4:7]) ** 2).sum(axis=1))
    assert np.abs(plain - sharma[:, 7]).max() > 1
    other = delta_e_2000_lab(sharma[:, 1:4], sharma[:, 4:7], kl=2.0)
    assert np.abs(other - sharma[:, 7]).max() > 1
