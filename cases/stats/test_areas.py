"""Areas under curves, against the released per-ratio numbers of the paper's Table II."""

from __future__ import annotations

import csv
import json
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelgate.stats import area_under_curve, compare_areas, curve, over_sources

PUBLISHED = Path(__file__).parents[1] / "conformance" / "hintauc" / "published"
METRICS = ("mse", "psnr", "ssim", "lpips", "openclip", "dino", "dreamsim")
GRID = [0.0, 0.01, 0.03, 0.05, 0.10, 0.25, 0.50, 1.0]
VALUES = st.lists(st.floats(-1e3, 1e3), min_size=8, max_size=8)


def released_areas():
    """Metric -> one area per line-art source."""
    rows = list(csv.DictReader((PUBLISHED / "table2_detfill_scribble_paper_grid.csv").read_text().splitlines()))
    areas = defaultdict(list)
    for source in sorted({row["sketch"] for row in rows}):
        own = sorted((row for row in rows if row["sketch"] == source), key=lambda row: float(row["ratio"]))
        assert [float(row["ratio"]) for row in own] == GRID
        for metric in METRICS:
            areas[metric].append(area_under_curve(GRID, [float(row[metric]) for row in own]))
    return areas


def test_table_two_re_integrates_to_the_released_means_and_deviations():
    expected = json.loads((PUBLISHED / "table2_expected.json").read_text())
    for metric, areas in released_areas().items():
        summary = over_sources(areas)
        assert summary.n == 3
        assert summary.mean == pytest.approx(expected["mean"][metric], rel=0, abs=1e-12)
        assert summary.sd == pytest.approx(expected["sd"][metric], rel=0, abs=1e-12)
        if metric in expected["per_source_auc"]:
            assert areas == pytest.approx(expected["per_source_auc"][metric], rel=0, abs=1e-12)


def test_the_deviation_is_the_samples_and_not_the_populations():
    areas = released_areas()["psnr"]
    assert abs(over_sources(areas).sd - float(np.std(areas))) > 0.1


def test_the_size_sorted_study_re_integrates():
    rows = list(csv.DictReader((PUBLISHED / "seed_sort_n300.csv").read_text().splitlines()))
    area = area_under_curve([float(r["alpha_pct"]) / 100 for r in rows], [float(r["mse"]) for r in rows])
    assert area == pytest.approx(0.0118543, abs=5e-8)


@given(VALUES)
def test_the_area_lies_between_least_and_greatest_value(values):
    area = area_under_curve(GRID, values)
    slack = 1e-9 * max(1.0, max(map(abs, values)))
    assert min(values) - slack <= area <= max(values) + slack


@given(VALUES, VALUES)
def test_the_area_is_linear(left, right):
    both = area_under_curve(GRID, [a + b for a, b in zip(left, right, strict=True)])
    assert both == pytest.approx(area_under_curve(GRID, left) + area_under_curve(GRID, right), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([0.0], [1.0]),
        ([0.0, 1.0], [1.0]),
        ([0.0, 0.0], [1.0, 2.0]),
        ([1.0, 0.0], [1.0, 2.0]),
        ([0.0, 1.0], [1.0, math.nan]),
    ],
)
def test_what_has_no_area(x, y):
    with pytest.raises(ValueError, match=r"area|places"):
        area_under_curve(x, y)


def test_a_curve_has_means_areas_and_paired_intervals():
    rng = np.random.default_rng(3)
    values = {f"i{k}": rng.normal(size=8).tolist() for k in range(12)}
    got = curve(GRID, values)
    assert [point.mean for point in got.points] == pytest.approx(np.mean(list(values.values()), axis=0).tolist())
    assert got.area.mean == pytest.approx(area_under_curve(GRID, [point.mean for point in got.points]))
    assert got.area.low < got.area.mean < got.area.high
    rows = np.random.default_rng(0).integers(0, 12, size=(10_000, 12))
    own = np.array([got.areas[image] for image in sorted(values)])[rows].mean(axis=1)
    assert (got.area.low, got.area.high) == pytest.approx(tuple(np.percentile(own, [2.5, 97.5])))


def test_one_image_has_a_curve_and_no_interval():
    got = curve(GRID, {"a": [float(k) for k in range(8)]})
    assert got.area.half is None
    assert got.points[3].mean == 3.0


def test_values_that_do_not_fit_the_grid():
    with pytest.raises(ValueError, match="one value per image and ratio"):
        curve(GRID, {"a": [1.0, 2.0]})
    with pytest.raises(ValueError, match="one value per image and ratio"):
        curve(GRID, {})


def test_two_methods_compared_image_by_image():
    first = {f"i{k}": 1.0 + 0.1 * k for k in range(20)}
    worse = {name: value - 0.5 for name, value in first.items()}
    got = compare_areas(first, worse)
    assert got.difference.mean == pytest.approx(0.5)
    assert got.p_value < 1e-3
    assert compare_areas(first, first).p_value == 1.0
    with pytest.raises(ValueError, match="i3"):
        compare_areas(first, {name: value for name, value in worse.items() if name != "i3"})
