"""Kept runs: what is written, resumed, refused, overwritten and scored again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from colorizer_tools import GRID, line_art, paste, picture, rules, samples
from PIL import Image

from pixelgate.colorizer import ColorizerError, check, evaluate_colorizer, plain_colorizer, read_manifest, rescore
from pixelgate.errors import InputError
from pixelgate.io.any_image import read_any
from pixelgate.io.files import pixel_digest, sha256_file


class Counting:
    """A method that counts its calls, and may fail at one of them."""

    def __init__(self, fail_at=None):
        self.calls = []
        self.fail_at = fail_at

    def __call__(self, sample):
        if len(self.calls) == self.fail_at:
            raise RuntimeError("stopped")
        self.calls.append((sample["name"], sample["alpha"]))
        return paste(sample)


@pytest.fixture
def files(tmp_path):
    """Two samples as files; ground truths of two formats."""
    folder = tmp_path / "data"
    (folder / "gt").mkdir(parents=True)
    Image.fromarray(line_art()).save(folder / "art.png")
    Image.fromarray(picture(0)).save(folder / "gt" / "a.png")
    Image.fromarray(picture(1)).save(folder / "gt" / "b.bmp")
    return [(folder / "art.png", folder / "gt" / name) for name in ("a.png", "b.bmp")]


def run(model, given, folder, **options):
    options = {"alphas": GRID, "metrics": ("mse",), "backend": "pillow", **options}
    return evaluate_colorizer(model, given, save_dir=folder, **options)


def stopped(given, folder, at, **options):
    model = Counting(at)
    with pytest.raises(RuntimeError, match="stopped"):
        run(model, given, folder, **options)
    return model


def listing(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_run_writes_ratios_and_a_manifest(files, tmp_path):
    out = tmp_path / "out"
    result = run(paste, files, out, meta={"seed": "1"})
    expected = [f"{ratio}/{name}.png" for ratio in ("0.00", "0.50", "1.00") for name in "ab"]
    assert listing(out) == [*expected, "manifest.json"]
    assert result.save_dir == out
    manifest = read_manifest(out)
    assert manifest.state == "complete"
    assert manifest.alphas == GRID
    assert manifest.names == ("a.png", "b.png")
    assert [one.source for one in manifest.originals.values()] == ["a.png", "b.bmp"]
    for (_, truth), original in zip(files, manifest.originals.values(), strict=True):
        assert original.ground_truth == sha256_file(truth)
        assert original.pixels == pixel_digest(read_any(truth)[0])
    for directory, name in manifest.files():
        assert manifest.predictions[directory][name] == sha256_file(out / directory / name)
    assert manifest.meta == {"seed": "1"}
    assert not manifest.oracle
    assert manifest.hints["a.png"]["regions"] > 1
    assert check(manifest, out) == []


def test_the_saved_pictures_are_the_scored_ones(files, tmp_path):
    run(paste, files, tmp_path / "out")
    kept = {}

    def model(sample):
        kept[sample["name"], sample["alpha"]] = paste(sample)
        return kept[sample["name"], sample["alpha"]]

    run(model, files, tmp_path / "again")
    for (name, alpha), output in kept.items():
        assert np.array_equal(read_any(tmp_path / "out" / f"{alpha:.2f}" / name)[0], output)


def test_an_odd_ratio_is_kept_exactly(files, tmp_path):
    grid = (0.0, 1 / 3, 1.0)
    run(paste, files, tmp_path / "out", alphas=grid)
    manifest = read_manifest(tmp_path / "out")
    assert manifest.dirs == {"0.00": 0.0, "0.333333": 1 / 3, "1.00": 1.0}
    assert rescore(tmp_path / "out", files[0][1].parent, metrics=("mse",), backend="pillow").alphas == grid


@pytest.mark.parametrize("at", [0, 1, 4, 5])
def test_an_aborted_run_goes_on_where_it_stopped(files, tmp_path, at):
    out = tmp_path / "out"
    stopped(files, out, at)
    assert read_manifest(out).state == "running"
    assert [problem.rule for problem in check(read_manifest(out), out)] == ["unfinished-run"]
    written = {path: path.stat().st_mtime_ns for path in out.rglob("*.png")}
    assert len(written) == at
    model = Counting()
    result = run(model, files, out)
    assert len(model.calls) == 6 - at
    assert result.protocol["reused_predictions"] == at
    assert ("predictions-reused" in [note.rule for note in result.notes]) == bool(at)
    assert {path: path.stat().st_mtime_ns for path in written} == written
    assert result.values == run(Counting(), files, tmp_path / "whole").values
    assert read_manifest(out).to_json() == read_manifest(tmp_path / "whole").to_json()


def test_a_second_abort_loses_nothing(files, tmp_path):
    out = tmp_path / "out"
    stopped(files, out, 4)

    class StoppedByHand(Counting):
        def __call__(self, sample):
            raise KeyboardInterrupt

    StoppedByHand.__qualname__ = Counting.__qualname__
    with pytest.raises(KeyboardInterrupt):
        run(StoppedByHand(), files, out)
    model = Counting()
    run(model, files, out)
    assert len(model.calls) == 2


def test_an_abort_before_the_first_new_prediction_keeps_the_earlier_ones(files, tmp_path, monkeypatch):
    out = tmp_path / "out"
    stopped(files, out, 4)
    monkeypatch.setattr("pixelgate.colorizer.evaluate._Run._sample", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run(Counting(), files, out)
    monkeypatch.undo()
    model = Counting()
    run(model, files, out)
    assert len(model.calls) == 2


def test_a_killed_process_leaves_a_run_that_goes_on(tmp_path):
    # os._exit skips every handler, as a kill does; the manifest then knows of no prediction since its last write.
    script = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from colorizer_tools import GRID, paste, samples
from pixelgate.colorizer import evaluate_colorizer
calls = []
def model(sample):
    calls.append(0)
    if len(calls) == 5:
        os._exit(9)
    return paste(sample)
evaluate_colorizer(model, samples(), alphas=GRID, metrics=("mse",), backend="pillow", save_dir="out")
"""
    process = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, timeout=120)
    assert process.returncode == 9
    out = tmp_path / "out"
    assert len(list(out.rglob("*.png"))) == 4

    def model(sample):
        return paste(sample)

    model.__qualname__ = "model"
    result = run(model, samples(), out)
    assert result.values == run(model, samples(), tmp_path / "whole").values
    assert check(read_manifest(out), out) == []


def test_an_edited_or_removed_prediction_is_made_again_and_said(files, tmp_path):
    out = tmp_path / "out"
    stopped(files, out, 4)
    Image.fromarray(picture(9)).save(out / "0.50" / "a.png")
    (out / "0.00" / "a.png").unlink()
    model = Counting()
    result = run(model, files, out)
    assert model.calls[:2] == [("a.png", 0.0), ("a.png", 0.5)]
    changed = [note.subject for note in result.notes if note.rule == "prediction-changed"]
    assert changed == ["0.00/a.png", "0.50/a.png"]
    assert result.values == run(Counting(), files, tmp_path / "whole").values


@pytest.mark.parametrize(
    "change",
    [
        {"alphas": (0.0, 1.0)},
        {"hint_type": "dot"},
        {"size": 32},
        {"dot_method": "mean"},
        {"order": "label"},
        {"tie_break": "default"},
        {"oracle": True},
        {"channel_order": "bgr"},
        {"meta": {"seed": "2"}},
    ],
)
def test_another_run_is_refused(files, tmp_path, change):
    out = tmp_path / "out"
    stopped(files, out, 2, meta={"seed": "1"})
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(ColorizerError, match="overwrite=True") as error:
        run(pytest.fail, files, out, **{"meta": {"seed": "1"}, **change})
    assert rules(error) == ["another-run"]
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_other_samples_are_refused(files, tmp_path):
    out = tmp_path / "out"
    stopped(files, out, 2)
    art, truth = files[1]
    Image.fromarray(picture(7)).save(truth)
    with pytest.raises(ColorizerError, match=r"another ground truth for b\.png"):
        run(Counting(), files, out)
    Image.fromarray(picture(1)).save(truth)
    Image.fromarray(255 - line_art()).save(art)
    with pytest.raises(ColorizerError, match=r"another line art for a\.png, b\.png"):
        run(Counting(), files, out)
    with pytest.raises(ColorizerError, match="2 samples and not these 1"):
        run(Counting(), files[:1], out)


def test_another_function_is_refused(files, tmp_path):
    stopped(files, tmp_path / "out", 2)
    with pytest.raises(ColorizerError, match="model 'Counting' and not 'plain_colorizer'"):
        run(plain_colorizer, files, tmp_path / "out")


def test_a_finished_run_is_refused_and_replaced_only_when_told(files, tmp_path):
    out = tmp_path / "out"
    run(paste, files, out)
    with pytest.raises(ColorizerError, match="rescore") as error:
        run(paste, files, out)
    assert rules(error) == ["finished-run"]
    result = run(plain_colorizer, files[:1], out, alphas=(0.0, 1.0), overwrite=True)
    assert listing(out) == ["0.00/a.png", "1.00/a.png", "manifest.json"]
    assert result.protocol["reused_predictions"] == 0


def test_ratio_directories_without_a_manifest_are_refused(files, tmp_path):
    out = tmp_path / "out"
    (out / "10%").mkdir(parents=True)
    Image.fromarray(picture()).save(out / "10%" / "a.png")
    with pytest.raises(ColorizerError) as error:
        run(paste, files, out)
    assert rules(error) == ["unknown-pictures"]
    run(paste, files, out, overwrite=True)
    assert not (out / "10%").exists()


def test_overwriting_removes_nothing_that_is_not_a_prediction(files, tmp_path):
    out = tmp_path / "out"
    run(paste, files, out)
    (out / "notes.txt").write_text("mine")
    run(paste, files, out, overwrite=True)
    assert (out / "notes.txt").read_text() == "mine"
    (out / "0.50" / "thesis.tex").write_text("mine")
    before = listing(out)
    with pytest.raises(InputError) as error:
        run(pytest.fail, files, out, overwrite=True)
    assert rules(error) == ["other-files"]
    assert listing(out) == before


def test_another_programs_manifest_is_left_alone(files, tmp_path):
    (tmp_path / "manifest.json").write_text('{"name": "web app"}')
    for overwrite in (False, True):
        with pytest.raises(InputError) as error:
            run(pytest.fail, files, tmp_path, overwrite=overwrite)
        assert rules(error) == ["unknown-manifest"]
    assert json.loads((tmp_path / "manifest.json").read_text()) == {"name": "web app"}


def test_a_broken_manifest_is_an_error_and_can_be_overwritten(files, tmp_path):
    out = tmp_path / "out"
    run(paste, files, out)
    (out / "manifest.json").write_text('{"dirs": {"0.00"')
    with pytest.raises(InputError) as error:
        run(pytest.fail, files, out)
    assert rules(error) == ["manifest-readable"]
    run(paste, files, out, overwrite=True)
    assert read_manifest(out).state == "complete"


def test_a_folder_that_cannot_be_written_is_an_error_before_the_function_runs(files, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as error:
        run(pytest.fail, files, tmp_path / "file" / "out")
    assert rules(error) == ["not-writable"]


def test_a_run_may_keep_pictures_only(files, tmp_path):
    result = run(paste, files, tmp_path / "out", metrics=())
    assert result.hint_auc == {}
    assert read_manifest(tmp_path / "out").state == "complete"


def test_a_rescore_gives_the_same_values(files, tmp_path):
    out = tmp_path / "out"
    first = run(paste, files, out, oracle=True, metrics=("mse", "ssim"))
    again = rescore(out, files[0][1].parent, metrics=("mse", "ssim"), backend="pillow")
    assert again.values == first.values
    assert again.names == first.names
    assert again.oracle
    assert again.protocol["hints"]["regions"] == first.protocol["hints"]["regions"]
    # Names may also be given one by one.
    assert rescore(out, {"a.png": files[0][1], "b.png": files[1][1]}, metrics=("mse",), backend="pillow").n_images == 2


def test_a_rescore_notices_all_that_changed(files, tmp_path):
    out, folder = tmp_path / "out", files[0][1].parent
    run(paste, files, out)
    Image.fromarray(picture(9)).save(out / "0.50" / "a.png")
    (out / "1.00" / "b.png").unlink()
    shutil.copytree(out / "0.00", out / "0.25")
    shutil.copy(out / "0.00" / "a.png", out / "0.00" / "c.png")
    Image.fromarray(picture(8)).save(folder / "b.bmp")
    with pytest.raises(InputError) as error:
        rescore(out, folder, metrics=("mse",), backend="pillow")
    found = {(Path(problem.file).relative_to(tmp_path).as_posix(), problem.rule) for problem in error.value.problems}
    assert found == {
        ("out/0.50/a.png", "output-changed"),
        ("out/1.00/b.png", "missing-output"),
        ("out/0.25", "extra-ratio"),
        ("out/0.00/c.png", "extra-output"),
        ("data/gt/b.bmp", "reference-changed"),
    }


def test_a_ground_truth_that_was_only_compressed_anew_is_the_same(files, tmp_path):
    out, folder = tmp_path / "out", files[0][1].parent
    first = run(paste, files, out)
    Image.fromarray(picture(0)).save(folder / "a.png", compress_level=0)
    assert rescore(out, folder, metrics=("mse",), backend="pillow").values == first.values


def test_arrays_are_rescored_from_files_of_the_same_pixels(tmp_path):
    first = run(paste, samples(), tmp_path / "out")
    (tmp_path / "gt").mkdir()
    for name, (_, truth) in zip(first.names, samples(), strict=True):
        Image.fromarray(truth).save(tmp_path / "gt" / name)
    assert rescore(tmp_path / "out", tmp_path / "gt", metrics=("mse",), backend="pillow").values == first.values


def test_a_rescore_needs_a_finished_run(files, tmp_path):
    stopped(files, tmp_path / "out", 2)
    with pytest.raises(InputError) as error:
        rescore(tmp_path / "out", files[0][1].parent, metrics=("mse",), backend="pillow")
    assert rules(error) == ["unfinished-run"]
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError) as error:
            rescore(folder, files[0][1].parent, metrics=("mse",), backend="pillow")
        assert rules(error) == ["no-manifest"]


def test_a_missing_ground_truth_is_named(files, tmp_path):
    run(paste, files, tmp_path / "out")
    files[1][1].unlink()
    with pytest.raises(InputError, match=r"b\.png") as error:
        rescore(tmp_path / "out", files[0][1].parent, metrics=("mse",), backend="pillow")
    assert rules(error) == ["other-samples"]
