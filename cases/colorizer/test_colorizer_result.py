"""Results: means, areas, intervals, values that could not be computed, JSON."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from colorizer_tools import GRID, paste, samples

from pixelgate.colorizer import evaluate_colorizer, hint_fill_colorizer, plain_colorizer, spread_colorizer
from pixelgate.colorizer.result import ColorizerResult
from pixelgate.metrics.registry import Measurement
from pixelgate.stats import area_under_curve


@pytest.fixture(scope="module")
def result():
    return evaluate_colorizer(
        hint_fill_colorizer, samples(4), alphas=GRID, metrics=("mse", "psnr"), backend="pillow", oracle=True
    )


def test_means_and_areas_are_those_of_the_images(result):
    for metric in ("mse", "psnr"):
        table = np.array([result.values[metric][name] for name in result.names])
        means = [result.per_alpha[alpha][metric] for alpha in GRID]
        assert means == pytest.approx(table.mean(axis=0))
        assert result.hint_auc[metric] == pytest.approx(area_under_curve(GRID, means))
        assert min(means) <= result.hint_auc[metric] <= max(means)
        areas = result.curves[metric].areas
        assert areas == {
            name: pytest.approx(area_under_curve(GRID, result.values[metric][name])) for name in result.names
        }


def test_intervals_hold_the_means(result):
    for one in result.curves.values():
        for interval in (one.area, *one.points):
            assert interval.n == 4
            assert interval.low <= interval.mean <= interval.high


def test_json_is_plain_and_whole(result):
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert data["per_alpha"]["0.50"]["mse"] == result.per_alpha[0.5]["mse"]
    assert data["hint_auc"] == result.hint_auc
    assert data["intervals"]["mse"]["area"]["low"] == result.curves["mse"].area.low
    assert data["images"]["mse"]["000002.png"]["values"] == list(result.values["mse"]["000002.png"])
    assert data["images"]["mse"]["000002.png"]["area"] == result.curves["mse"].areas["000002.png"]
    assert data["protocol"]["hints"]["regions"].keys() == set(result.names)


def test_a_value_that_could_not_be_computed_is_null_with_its_reason(monkeypatch):
    real = evaluate_colorizer.__globals__["bind_columns"]

    def bind(rules, settings):
        columns = real(rules, settings)
        scorer = columns[0].scorer
        given = iter([math.nan])

        def compare(output, prepared):
            return Measurement(next(given, None) or scorer.compare(output, prepared).value)

        columns[0].scorer = SimpleNamespace(prepare=scorer.prepare, compare=compare, fingerprint=scorer.fingerprint)
        return columns

    monkeypatch.setattr("pixelgate.colorizer.evaluate.bind_columns", bind)
    result = evaluate_colorizer(paste, samples(2), alphas=GRID, metrics=("mse", "psnr"), backend="pillow")
    assert result.values["mse"]["000000.png"][0] is None
    assert result.reasons == {("mse", "000000.png", "0.00"): "the metric gave nan"}
    assert result.per_alpha[0.0]["mse"] is None
    assert result.per_alpha[0.5]["mse"] is not None
    assert result.hint_auc["mse"] is None
    assert result.hint_auc["psnr"] is not None
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert data["missing"] == [
        {"metric": "mse", "name": "000000.png", "ratio": "0.00", "reason": "the metric gave nan"}
    ]
    assert data["images"]["mse"]["000000.png"]["area"] is None


def test_one_image_has_no_interval():
    result = ColorizerResult("dot", (0.0, 1.0), ("a.png",), {"mse": {"a.png": (0.2, 0.1)}}, {}, {"oracle": False})
    assert result.hint_auc == {"mse": pytest.approx(0.15)}
    assert result.to_json()["intervals"]["mse"]["area"] == {"low": None, "high": None}


def test_the_plain_baseline_is_flat_and_the_others_improve():
    rows = {}
    for model in (plain_colorizer, spread_colorizer, hint_fill_colorizer):
        result = evaluate_colorizer(model, samples(3), alphas=GRID, metrics=("mse",), backend="pillow", oracle=True)
        rows[model] = [result.per_alpha[alpha]["mse"] for alpha in GRID]
    assert len(set(rows[plain_colorizer])) == 1
    for model in (spread_colorizer, hint_fill_colorizer):
        assert rows[model][0] == rows[plain_colorizer][0]
        assert rows[model][2] < rows[model][1] <= rows[model][0]


def test_spread_hints_stop_at_dark_lines():
    art = np.full((9, 9), 255, dtype=np.uint8)
    art[:, 4] = 0
    mask, colour = np.zeros((9, 9), dtype=np.uint8), np.zeros((9, 9, 3), dtype=np.uint8)
    mask[4, 0] = mask[4, 8] = 255
    colour[4, 0], colour[4, 8] = (250, 10, 20), (30, 40, 50)
    output = spread_colorizer({"line_art": art, "hint_mask": mask, "hint_color": colour})
    assert (output[:, :4] == (250, 10, 20)).all()
    assert (output[:, 4] == 0).all()
    assert (output[:, 5:] == (30, 40, 50)).all()
