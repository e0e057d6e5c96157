"""`pixelgate.score`: the numbers, what a rerun costs, and what is refused."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from engine_tools import PIXEL_METRICS, save
from PIL import Image

import pixelgate
from pixelgate.errors import InputError, ProtocolError, TrackError
from pixelgate.metrics import Measurement, Runtime, get_metric
from pixelgate.protocols import load_protocol


def score(place, **kwargs):
    kwargs.setdefault("metrics", PIXEL_METRICS)
    kwargs.setdefault("cache", False)
    return pixelgate.score(place.outputs, data=place.data, **kwargs)


def test_all_metrics_match_the_reference_values(photographs):
    table = score(photographs, metrics=())
    assert len(table) == 15
    names = {
        "psnr": "psnr",
        "ssim": "ssim",
        "de00": "de00_M4_rows",
        "hcorr_gt": "hcorr_gt",
        "hcorr_style": "hcorr_style",
    }
    for row in table.to_dict("records"):
        expected = photographs.expected[row["sample"]]["methods"][row["method"]]
        for column, name in names.items():
            assert row[column] == pytest.approx(expected[name], rel=0, abs=1e-9), (row["sample"], row["method"], column)
        assert row["lpips"] == pytest.approx(expected["lpips_alex_v01_f32_cpu"], rel=0, abs=1e-5)


def test_the_table_is_tidy_and_says_where_it_comes_from(small):
    table = score(small)
    assert list(table.columns) == ["method", "track", "slice", "sample", *PIXEL_METRICS]
    assert list(table["method"].unique()) == ["identity", "one", "two"]
    assert list(table[table["method"] == "one"]["sample"]) == ["s0", "s1", "s2", "s3"]
    track = table.attrs["tracks"]["small"]
    assert track["protocol"] == "pstbench"
    assert len(track["params_sha256"]) == 64
    assert track["dataset"].startswith("sha256:")
    json.dumps(table.attrs, allow_nan=False)


def test_one_methods_own_folder(small):
    table = pixelgate.score(
        small.outputs / "one" / "small", track="small", method="mine", data=small.data, metrics=["psnr"], cache=False
    )
    assert set(table["method"]) == {"identity", "mine"}


def test_without_baseline(small):
    assert set(score(small, baseline=False)["method"]) == {"one", "two"}


def test_a_real_identity_folder_is_used(small):
    for index in range(4):
        save(small.outputs / "identity" / "small" / f"s{index}.png", np.full((40, 48, 3), 9))
    table = score(small, metrics=["psnr"])
    assert (table[table["method"] == "identity"]["psnr"] < 20).all()


@pytest.fixture
def calls(monkeypatch):
    """Counts how often each metric prepares a reference and compares an output."""
    from pixelgate import columns

    counted = Counter()
    real = columns.bind_columns

    def binding(protocol, settings, group):
        bound = real(protocol, settings, group)
        for column in bound:
            column.scorer = Counting(column.scorer, column.entry.id, counted)
        return bound

    monkeypatch.setattr("pixelgate.engine.bind_columns", binding)
    return counted


class Counting:
    def __init__(self, scorer, name, counted):
        self.scorer, self.name, self.counted = scorer, name, counted
        self.fingerprint = scorer.fingerprint

    def prepare(self, reference):
        self.counted["prepare", self.name] += 1
        return self.scorer.prepare(reference)

    def compare(self, output, prepared):
        self.counted["compare", self.name] += 1
        return self.scorer.compare(output, prepared)


def test_each_reference_is_prepared_once_for_all_methods(small, calls):
    score(small)
    assert all(calls["prepare", metric] == 4 for metric in PIXEL_METRICS), calls
    assert all(calls["compare", metric] == 12 for metric in PIXEL_METRICS), calls


def test_a_rerun_computes_nothing_and_gives_the_same_table(small, calls, tmp_path):
    first = score(small, cache=tmp_path / "cache")
    calls.clear()
    second = score(small, cache=tmp_path / "cache")
    assert not calls
    assert first.equals(second)


def test_a_changed_output_alone_is_computed_anew(small, calls, tmp_path):
    score(small, cache=tmp_path / "cache")
    calls.clear()
    picture = small.outputs / "one" / "small" / "s2.png"
    pixels = np.array(Image.open(picture)).astype(int)
    pixels[0, 0, 0] ^= 1
    save(picture, pixels)
    score(small, cache=tmp_path / "cache")
    assert set(calls.values()) == {1}


def test_a_changed_style_touches_the_metric_that_uses_it_alone(small, calls, tmp_path):
    score(small, cache=tmp_path / "cache")
    calls.clear()
    save(small.data / "style" / "s1.png", np.full((20, 20, 3), 70))
    score(small, cache=tmp_path / "cache")
    assert {name for kind, name in calls if kind == "compare"} == {"hcorr_style"}


def test_a_metric_added_later_is_all_that_is_computed(small, calls, tmp_path):
    score(small, cache=tmp_path / "cache", metrics=["psnr"])
    calls.clear()
    score(small, cache=tmp_path / "cache", metrics=["psnr", "ssim"])
    assert {name for _, name in calls} == {"ssim"}


def test_all_problems_are_listed_at_once(small):
    (small.outputs / "one" / "small" / "s0.png").unlink()
    save(small.outputs / "one" / "small" / "s9.png", np.zeros((40, 48, 3)))
    save(small.outputs / "two" / "small" / "s1.png", np.zeros((41, 48, 3)))
    (small.outputs / "two" / "small" / "s2.png").write_bytes(b"")
    with pytest.raises(InputError) as caught:
        score(small)
    assert {problem.rule for problem in caught.value.problems} == {
        "missing-output",
        "extra-output",
        "size",
        "empty-file",
    }


def test_allowed_missing_outputs_are_deviations(small):
    (small.outputs / "one" / "small" / "s0.png").unlink()
    table = score(small, allow_missing=True)
    assert len(table[table["method"] == "one"]) == 3
    assert [d["rule"] for d in table.attrs["deviations"]["one/small/full"] if d["subject"] == "s0"] == [
        "missing-output"
    ]


def test_allowed_resizes_are_deviations_and_pillows_bicubic(small):
    picture = small.outputs / "one" / "small" / "s0.png"
    larger = Image.open(picture).resize((96, 80), Image.Resampling.NEAREST)
    larger.save(picture)
    table = score(small, allow_resize=True, metrics=["psnr"])
    deviation = next(d for d in table.attrs["deviations"]["one/small/full"] if d["rule"] == "resized")
    assert "96x80" in deviation["message"]
    expected = np.array(larger.resize((48, 40), Image.Resampling.BICUBIC)).astype(float)
    reference = np.array(Image.open(small.data / "gt" / "s0.png")).astype(float)
    got = table[(table["method"] == "one") & (table["sample"] == "s0")]["psnr"].item()
    assert got == pytest.approx(10 * np.log10(65025 / ((expected - reference) ** 2).mean()), abs=1e-9)


def test_an_allowed_resize_does_not_leak_into_a_strict_rerun(small, tmp_path):
    picture = small.outputs / "one" / "small" / "s0.png"
    Image.open(picture).resize((96, 80)).save(picture)
    score(small, allow_resize=True, cache=tmp_path / "cache")
    with pytest.raises(InputError, match="96x80"):
        score(small, cache=tmp_path / "cache")


def test_a_reference_below_the_smallest_size_names_metric_and_size(small):
    for folder in (small.data / "gt", small.outputs / "one" / "small"):
        save(folder / "s0.png", np.zeros((10, 48, 3)))
    with pytest.raises(InputError, match=r"48x10.*at least 11"):
        score(small)


def test_a_value_that_is_no_number_is_missing_with_its_reason(small, monkeypatch):
    params = load_protocol("pstbench").metric("psnr").params
    scorer = get_metric("psnr").bind(params, Runtime())
    monkeypatch.setattr(type(scorer), "compare", lambda self, output, prepared: Measurement(float("nan")))
    with pytest.warns(UserWarning, match="could not be computed"):
        table = score(small, metrics=["psnr"])
    assert table["psnr"].isna().all()
    assert "nan" in table.attrs["reasons"]["one/small/full/s0/psnr"]


def test_progress_names_case_and_sample(small):
    seen = []
    score(small, progress=lambda *args: seen.append(args))
    assert seen[0] == ("identity/small/full", 0, 4, "s0")
    assert [args[3] for args in seen] == ["s0", "s1", "s2", "s3"]


def test_unknown_names(small):
    with pytest.raises(ProtocolError, match="hcorr_gt"):
        score(small, metrics=["psnrr"])
    with pytest.raises(InputError, match="small"):
        score(small, track="smal")
    with pytest.raises(TrackError, match="no outputs"):
        score(small, method="three")
