"""Decoded clips against the reference values of cases/conformance/flexbench/inpaint."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from inpainting_tools import EVERYTHING, ONE_THREAD, PIXELS, evaluate, oracle, oracle_files

from pixelgate.clips.inpainting import EVALUATOR
from pixelgate.io.video import read_video
from pixelgate.metrics.registry import Runtime

pytest.importorskip("av")

ORACLE = oracle()
CASES = ORACLE["cases"]
TOLERANCE = ORACLE["tolerance"]
RESIZED = {"06_other_resolution_down", "07_other_resolution_up_thin_mask"}


def tolerance(name, metric):
    if metric == "lpips":
        return TOLERANCE["lpips"]
    if name not in RESIZED or metric == "kept_fraction":
        return TOLERANCE["same_size"]
    return {"psnr": TOLERANCE["resized_psnr"], "ssim": TOLERANCE["resized_ssim"]}.get(
        metric, TOLERANCE["resized_mse_mae"]
    )


def same(found, wanted, slack):
    return found is None if wanted is None else found == pytest.approx(wanted, abs=slack)


@pytest.mark.parametrize("name", CASES)
def test_the_clips_decode_to_the_same_pixels(name):
    case = CASES[name]
    for column, decoded in case["decoded"].items():
        files = oracle_files(case)
        frames, _ = read_video(files.generated if column == "generated" else files.references[column])
        assert list(frames.shape) == decoded["shape"]
        assert hashlib.sha256(np.ascontiguousarray(frames).tobytes()).hexdigest() == decoded["rgb24_sha256"]


@pytest.mark.parametrize("name", CASES)
def test_means_and_frames_match(name):
    pytest.importorskip("lpips")
    case = CASES[name]
    found = evaluate(oracle_files(case), EVERYTHING)
    for metric, wanted in case["mean"].items():
        measured = found.values[f"inpaint_{metric}"]
        assert same(measured.value, wanted, tolerance(name, metric)), metric
        assert (measured.reason is None) == (wanted is not None)
        values = found.details["per_frame"][metric]
        assert len(values) == case["frames_scored"]
        for value, frame in zip(values, case["per_frame"], strict=True):
            assert same(value, frame[metric], tolerance(name, metric)), metric
    assert found.details["frames_scored"] == case["frames_scored"]
    assert found.details["psnr_capped_frames"] == case["psnr_capped_frames"]
    assert found.details["ssim_windows"] == [frame["ssim_windows"] for frame in case["per_frame"]]
    for metric, count in case["frames_with_value"].items():
        assert found.details["frames_with_value"][metric] == count
    if "missing_reason" in case:
        assert found.values["inpaint_mse"].reason == case["missing_reason"]


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_found_wrong_but_the_lengths(name):
    found = evaluate(oracle_files(CASES[name]))
    wanted = ["truncated"] if name == "05_frame_counts_12_vs_10" else []
    assert [rule for rule, _ in found.deviations] == wanted


@pytest.mark.parametrize("name", sorted(RESIZED))
def test_masking_what_is_blended_from_a_masked_pixel(name):
    wanted = CASES[name]["alternatives"]["mask_union_with_bilinear_support"]
    found = evaluate(oracle_files(CASES[name]), params={"mask_mapping": "union"})
    for metric, value in wanted.items():
        assert found.values[f"inpaint_{metric}"].value == pytest.approx(value, abs=tolerance(name, metric))


@pytest.mark.parametrize("name", ["01_normal", "06_other_resolution_down"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_neither_threads_nor_backend_move_the_numbers(name, backend, monkeypatch):
    if backend == "numba":
        pytest.importorskip("numba")
    monkeypatch.setenv("PIXELGATE_BACKEND", backend)
    alone, shared = (evaluate(oracle_files(CASES[name]), PIXELS, runtime=Runtime(threads=n)) for n in (1, 3))
    assert alone == shared
    for metric in ("psnr", "ssim", "mse", "mae"):
        wanted = CASES[name]["mean"][metric]
        assert alone.values[f"inpaint_{metric}"].value == pytest.approx(wanted, abs=tolerance(name, metric))


@pytest.mark.parametrize("name", [name for name in CASES if name != "03_whole_frame_masked"])
def test_a_reference_against_itself_is_perfect(name):
    pytest.importorskip("lpips")
    itself = EVALUATOR.itself(oracle_files(CASES[name]))
    found = EVALUATOR.evaluate(itself, {}, EVERYTHING, ONE_THREAD)
    perfect = {"psnr": 100.0, "ssim": 1.0, "lpips": 0.0, "mse": 0.0, "mae": 0.0}
    assert {metric: found.values[f"inpaint_{metric}"].value for metric in perfect} == perfect
    assert {rule for rule, _ in found.deviations} <= {"truncated"}
