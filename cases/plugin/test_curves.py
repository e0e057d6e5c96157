"""A track with hint ratios: one item per ratio, a curve item, areas, and what a missing picture does to them."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from bench_project import load, outcomes, picture, save, text_of

from pixelgate.stats import area_under_curve

GRID = ("0.00", "0.01", "0.03", "0.05", "0.10", "0.25", "0.50", "1.00")
METRICS = "--bench-metrics=mse,psnr,ssim"


@pytest.fixture
def ratios(pytester):
    """A folder with a track ``ink`` of two pictures and a method ``m`` that gets better with the ratio."""
    root = pytester.path
    for index, name in enumerate(("a", "b")):
        truth = picture(index).copy()
        save(root / "data" / "gt" / f"{name}.png", truth)
        for step, ratio in enumerate(GRID):
            worse = np.clip(truth.astype(int) + 40 - 5 * step, 0, 255).astype(np.uint8)
            save(root / "out" / "m" / "ink" / ratio / f"{name}.png", worse)
    (root / "data" / "track.yaml").write_text(
        'id: ink\nprotocol: hintauc\nsamples: "{id}.png"\ncolumns: {reference: "gt/{id}.png"}\n', encoding="utf-8"
    )

    def run(*args, apart=False, backend="pillow"):
        # The backend paper imports torch, which does not survive being imported twice in one process.
        start = pytester.runpytest_subprocess if apart or backend == "paper" else pytester.runpytest_inprocess
        own = ("--bench-outputs=out", "--bench-data=data", METRICS, "--bench-report=report")
        return start(*own, f"--bench-backend={backend}", *args)

    run.root = root
    run.report = lambda: json.loads((root / "report" / "report.json").read_text(encoding="utf-8"))
    return run


def test_areas_are_the_trapezoid_of_the_means(ratios):
    result = ratios()
    # per ratio: the case and eight invariants; per method: files, summary, curve
    assert result.parseoutcomes() == outcomes(passed=8 * 9 + 3), text_of(result)
    curve = ratios.report()["curves"][0]
    assert curve["id"] == "m/ink"
    assert curve["protocol_grid"]
    for metric in ("mse", "psnr", "ssim"):
        entry = curve["metrics"][metric]
        means = [point["mean"] for point in entry["points"]]
        assert entry["area"]["mean"] == pytest.approx(area_under_curve(curve["ratios"], means))
        assert sorted(entry["areas"]) == ["a", "b"]
        assert entry["area"]["low"] <= entry["area"]["mean"] <= entry["area"]["high"]
    rows = list(
        csv.DictReader((ratios.root / "report" / "ink" / "m" / "per_ratio_summary.csv").read_text().splitlines())
    )
    assert [row["ratio"] for row in rows] == ["0.0", "0.01", "0.03", "0.05", "0.1", "0.25", "0.5", "1.0"]
    assert float(rows[7]["mse"]) < float(rows[0]["mse"])
    assert any(line.startswith("area under the curve") for line in result.outlines)


def test_serial_and_parallel_curves_are_equal(ratios):
    ratios("--bench-no-cache")
    serial = ratios.report()["curves"]
    assert ratios("--bench-no-cache", "-n2", apart=True).ret == 0
    assert ratios.report()["curves"] == serial


def test_a_prediction_missing_at_one_ratio_is_named_and_leaves_no_area(ratios):
    (ratios.root / "out" / "m" / "ink" / "0.10" / "b.png").unlink()
    result = ratios()
    assert result.ret == 1
    assert "0.10/b.png: the output is missing" in text_of(result)
    assert ratios.report()["curves"][0]["metrics"]["psnr"]["area"] is None


def test_allowed_missing_takes_the_images_that_all_ratios_have(ratios):
    (ratios.root / "out" / "m" / "ink" / "0.10" / "b.png").unlink()
    result = ratios("--bench-allow-missing")
    assert result.ret == 0, text_of(result)
    curve = ratios.report()["curves"][0]
    assert not curve["ranked"]
    assert {point["n"] for point in curve["metrics"]["mse"]["points"]} == {1}
    deviations = [d for case in ratios.report()["cases"] for d in case["run"]["deviations"]]
    assert sum(d["rule"] == "missing-output" and d["subject"] == "b" for d in deviations) == 8


@pytest.mark.parametrize("gone", ["0.00", "1.00"])
def test_a_grid_that_does_not_span_is_refused_before_scoring(ratios, gone):
    folder = ratios.root / "out" / "m" / "ink" / gone
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    result = ratios()
    assert result.ret == 4
    assert not (ratios.root / "report").exists()


def test_another_grid_is_a_deviation(ratios):
    (ratios.root / "out" / "m" / "ink" / "0.25").rename(ratios.root / "out" / "m" / "ink" / "0.3")
    result = ratios()
    assert result.ret == 0, text_of(result)
    curve = ratios.report()["curves"][0]
    assert not curve["protocol_grid"]
    assert not curve["ranked"]


def test_single_ratios_make_no_curve(ratios):
    result = ratios("--bench-ratio=0.10")
    assert result.parseoutcomes() == outcomes(passed=9 + 2), text_of(result)
    assert ratios.report()["curves"] == []


def test_an_oracle_run_is_marked_and_not_ranked(ratios):
    manifest = {
        "hint_type": "scribble",
        "oracle": True,
        "alphas": [float(ratio) for ratio in GRID],
        "dirs": {ratio: float(ratio) for ratio in GRID},
        "names": ["a.png", "b.png"],
        "sources": {"a.png": "a.png", "b.png": "b.png"},
        "n_images": 2,
    }
    (ratios.root / "out" / "m" / "ink" / "manifest.json").write_text(json.dumps(manifest))
    result = ratios()
    assert result.ret == 0, text_of(result)
    assert not ratios.report()["curves"][0]["ranked"]
    assert "saw the ground truth" in text_of(result)
    assert ratios.report()["curves"][0]["checklist"]["hint_type"] == "scribble"


def test_the_checklist_names_what_is_missing(ratios):
    (ratios.root / "weights.pt").write_bytes(b"weights")
    (ratios.root / "out" / "m" / "ink" / "meta.yaml").write_text("split: test\n")
    result = ratios("--bench-meta", "seed=3", "--bench-meta", "checkpoint=weights.pt")
    curve = ratios.report()["curves"][0]
    assert curve["checklist"]["seed"] == "3"
    assert curve["checklist"]["split"] == "test"
    assert curve["checklist"]["checkpoint"].startswith("weights.pt sha256:")
    assert "hint_maps" in curve["checklist_missing"]
    assert "seed" not in curve["checklist_missing"]
    assert "hint_maps" in text_of(result)


def test_metadata_of_another_form_is_a_usage_error(ratios):
    result = ratios("--bench-meta", "seed")
    assert result.ret == 4
    assert "KEY=VALUE" in text_of(result)


def test_backends_are_recorded_and_never_mixed(ratios):
    assert ratios("--bench-update-golden").ret == 0
    assert ratios.report()["curves"][0]["backend"] == "pillow"
    assert ratios().ret == 0
    result = ratios(backend="paper")
    assert result.ret == 1
    assert "there are no golden numbers for this case" in text_of(result)
    assert ratios.report()["curves"][0]["backend"] == "paper"
    assert ratios("--bench-update-golden", backend="paper").ret == 0
    assert ratios(backend="paper").ret == 0
    assert ratios().ret == 0


def test_golden_numbers_of_the_published_backend_do_not_hold_for_another(ratios):
    assert ratios("--bench-update-golden", backend="paper").ret == 0
    result = ratios()
    assert result.ret == 1
    assert "no tolerance is named" in text_of(result)


def test_an_unknown_backend_is_a_usage_error(ratios):
    assert ratios(backend="cuda").ret == 4


def test_an_edited_prediction_moves_the_curve(ratios):
    assert ratios("--bench-update-golden").ret == 0
    file = ratios.root / "out" / "m" / "ink" / "0.50" / "a.png"
    save(file, np.clip(load(file).astype(int) + 20, 0, 255).astype(np.uint8))
    result = ratios()
    assert result.ret == 1
    assert "outputs differ" in text_of(result)


def test_line_art_sources_are_averaged(ratios):
    for ratio in GRID:
        folder = ratios.root / "out" / "m" / "ink" / ratio
        for source, change in (("xdog", 0), ("sketch", 3)):
            for file in folder.iterdir():
                pixels = np.clip(load(file).astype(int) - change, 0, 255).astype(np.uint8)
                save(folder.parent / f"scribble-{source}-{ratio}" / file.name, pixels)
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
    result = ratios()
    assert result.ret == 0, text_of(result)
    report = ratios.report()
    assert [curve["variant"] for curve in report["curves"]] == ["scribble-sketch", "scribble-xdog"]
    (row,) = report["over_sources"]
    assert row["sources"] == ["sketch", "xdog"]
    areas = [curve["metrics"]["psnr"]["area"]["mean"] for curve in report["curves"]]
    assert row["metrics"]["psnr"]["mean"] == pytest.approx(np.mean(areas))
    assert row["metrics"]["psnr"]["sd"] == pytest.approx(np.std(areas, ddof=1))
    assert "over 2 line-art sources" in text_of(result)


def test_an_edited_prediction_of_a_run_with_a_manifest_fails_its_case_and_leaves_no_area(ratios):
    from pixelgate.io.files import sha256_file

    run = ratios.root / "out" / "m" / "ink"
    hashes = {r: {f"{n}.png": sha256_file(run / r / f"{n}.png") for n in ("a", "b")} for r in GRID}
    manifest = {
        "format": "pixelgate-colorizer/1",
        "state": "complete",
        "hint_type": "scribble",
        "alphas": [float(ratio) for ratio in GRID],
        "dirs": {ratio: float(ratio) for ratio in GRID},
        "names": ["a.png", "b.png"],
        "sources": {"a.png": "a.png", "b.png": "b.png"},
        "n_images": 2,
        "sha256": {"predictions": hashes},
    }
    (run / "manifest.json").write_text(json.dumps(manifest))
    assert ratios().ret == 0
    save(run / "0.25" / "a.png", picture(7))
    result = ratios("-k", "test_case or test_curve")
    assert result.ret == 1
    assert ratios.report()["curves"][0]["metrics"]["mse"]["area"] is None
    failed = [case["slice"] for case in ratios.report()["cases"] if case["outcome"] == "failed"]
    assert failed == ["0.25"]


def test_sources_over_other_ratios_are_not_averaged(ratios):
    for ratio in GRID:
        folder = ratios.root / "out" / "m" / "ink" / ratio
        for source in ("xdog", "sketch"):
            if (source, ratio) != ("sketch", "0.05"):
                for file in folder.iterdir():
                    save(folder.parent / f"scribble-{source}-{ratio}" / file.name, load(file))
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
    assert ratios().ret == 0
    assert len(ratios.report()["curves"]) == 2
    assert ratios.report()["over_sources"] == []
    assert ratios.report()["curves"][0]["checklist"]["line_art_source"] == "sketch"
