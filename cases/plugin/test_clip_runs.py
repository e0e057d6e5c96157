"""Folders of generated clips: groups, seeds, not-run groups, accounting, choices, golden numbers."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from bench_project import error_lines, outcomes, text_of, timeless
from clip_project import CLIP, INVARIANTS, SAMPLES, ClipProject, keypoints, trajectory


@pytest.fixture
def clips(pytester: pytest.Pytester) -> ClipProject:
    return ClipProject(pytester)


def test_one_folder_feeds_the_tracks_of_its_groups(clips: ClipProject) -> None:
    clips.run_folder()
    result = clips.run()
    # two groups with a case, the invariants, files and a summary each; text and vbench are not run
    assert result.parseoutcomes() == outcomes(passed=2 * (1 + INVARIANTS + 2), skipped=2), text_of(result)
    cases = clips.cases()
    assert list(cases) == [f"m/flexbench-{group}/full" for group in ("camera", "pose", "text", "vbench")]
    pose = cases["m/flexbench-pose/full"]["summary"]["metrics"]
    assert pose["pose_akd"]["mean"] == pytest.approx(2 / 128)
    assert pose["pose_pck@0.05"]["mean"] == 1
    assert cases["m/flexbench-camera/full"]["summary"]["metrics"]["camera_RotErr"]["direction"] == "lower"
    assert cases["m/flexbench-camera/full"]["summary"]["metrics"]["camera_RotErr_chance"]["direction"] == "none"
    record = cases["m/flexbench-pose/full"]["samples"][0]["output"]
    assert (record["frames"], record["fps"], record["matrix"], len(record["pts"])) == (12, 8.0, 6, 12)


def test_what_is_not_run_is_told_and_never_passes(clips: ClipProject) -> None:
    clips.run_folder()
    result = clips.run()
    text = cases_of(clips, "text")
    assert (text["outcome"], text["summary"]) == ("skipped", None)
    assert "no text predictions" in text["not_run"]
    result.stdout.fnmatch_lines(["not run: m: no text predictions are in *"])
    required = clips.run("--bench-require-golden")
    assert required.parseoutcomes()["failed"] >= 2
    assert "not run: no text predictions" in text_of(required)


def cases_of(clips: ClipProject, group: str, seed: str = "full") -> dict:
    return clips.cases()[f"m/flexbench-{group}/{seed}"]


def test_a_selected_group_without_references_is_not_run(clips: ClipProject) -> None:
    shutil.rmtree(clips.data / "camera")
    clips.run_folder()
    clips.run()
    camera = cases_of(clips, "camera")
    assert camera["outcome"] == "skipped"
    assert "the data set has no reference for it" in camera["not_run"]


def test_nothing_that_can_run_is_a_usage_error(clips: ClipProject) -> None:
    clips.run_folder(conditions=("depth",))
    result = clips.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "can be scored [not-run]" in error_lines(result)[0]


def test_conditions_and_data_can_come_from_options(clips: ClipProject) -> None:
    (clips.run_folder() / "manifest.json").unlink()
    result = clips.run("--bench-conditions=pose", "--bench-data=ds", outputs="out/m")
    assert result.parseoutcomes() == outcomes(passed=1 + INVARIANTS + 2, skipped=2), text_of(result)
    assert "flexbench-camera" not in text_of(result)
    unknown = clips.run("--bench-conditions=colour", "--bench-data=ds", outputs="out/m")
    assert "'colour' is no condition" in error_lines(unknown)[0]


def test_one_tracks_own_folder(clips: ClipProject) -> None:
    (clips.run_folder(seeds=(0, 1)) / "manifest.json").unlink()
    result = clips.run("--bench-track=flexbench-pose", "--bench-data=ds", outputs="out/m")
    assert result.ret == 0, text_of(result)
    assert list(clips.cases()) == ["m/flexbench-pose/seed-0", "m/flexbench-pose/seed-1"]


def test_method_track_seed_folders(clips: ClipProject) -> None:
    clips.clips(clips.out / "m" / "flexbench-pose" / "seed_3")
    clips.clips(clips.out / "m" / "flexbench-camera")
    result = clips.run("--bench-data=ds")
    assert result.ret == 0, text_of(result)
    assert list(clips.cases()) == ["m/flexbench-camera/full", "m/flexbench-pose/seed-3"]


def test_predictions_may_lie_elsewhere(clips: ClipProject) -> None:
    folder = clips.run_folder(seeds=(0, 1))
    for seed in (0, 1):
        (folder / f"seed_{seed}" / "predictions").rename(clips.root / f"p{seed}")
        (clips.root / "elsewhere").mkdir(exist_ok=True)
        (clips.root / f"p{seed}").rename(clips.root / "elsewhere" / f"seed_{seed}")
    result = clips.run("--bench-predictions=elsewhere")
    assert result.parseoutcomes()["passed"] > 30, text_of(result)


def test_seeds_are_summed_up(clips: ClipProject) -> None:
    clips.run_folder(seeds=(0, 1, 4))
    result = clips.run()
    assert result.ret == 0, text_of(result)
    pose = next(group for group in clips.report()["seeds"] if group["track"] == "flexbench-pose")
    assert pose["seeds"] == [0, 1, 4]
    means = [2 / 128, 3 / 128, 4 / 128]
    akd = pose["metrics"]["pose_akd"]
    assert (akd["mean"], akd["std"]) == (pytest.approx(np.mean(means)), pytest.approx(np.std(means, ddof=1)))
    assert (akd["n"], akd["ddof"], akd["samples"]) == (3, 1, [2, 2, 2])
    assert "mean ± standard deviation over n=3 seeds (ddof 1)" in text_of(result)


def test_seeds_with_other_samples_fail_and_are_named(clips: ClipProject) -> None:
    folder = clips.run_folder(seeds=(0, 1))
    (folder / "seed_1" / "002.mp4").unlink()
    result = clips.run()
    assert "seed-1 lacks 002, which other seeds have" in text_of(result)
    case = cases_of(clips, "pose", "seed-1")
    assert case["outcome"] == "failed"
    accounting = case["summary"]["accounting"]
    assert (accounting["expected"], accounting["scored"], accounting["missing_output"]) == (2, 1, ["002"])
    assert cases_of(clips, "pose", "seed-0")["outcome"] == "passed"
    allowed = clips.run("--bench-allow-missing")
    assert allowed.ret == 0, text_of(allowed)
    pose = next(group for group in clips.report()["seeds"] if group["track"] == "flexbench-pose")
    akd = pose["metrics"]["pose_akd"]
    assert (akd["samples"], akd["common"], pose["ranked"]) == ([2, 1], True, False)
    assert akd["mean"] == pytest.approx((2 / 128 + 3 / 128) / 2)
    assert "over the samples that every seed has" in text_of(allowed)


@pytest.mark.parametrize(
    ("harm", "rule", "key"),
    [
        (lambda c: (c.out / "m" / "001.mp4").unlink(), "missing-output", "missing_output"),
        (lambda c: (c.data / "pose" / "raw" / "001_pose.npy").unlink(), "missing-reference", "missing_reference"),
        (
            lambda c: (c.out / "m" / "predictions" / "pose" / "001_pose.npy").unlink(),
            "missing-prediction",
            "missing_prediction",
        ),
    ],
)
def test_nothing_leaves_an_average_unseen(clips: ClipProject, harm, rule: str, key: str) -> None:
    clips.run_folder(conditions=("pose",))
    harm(clips)
    result = clips.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    case = cases_of(clips, "pose")
    assert case["outcome"] == "failed"
    assert f"[{rule}]" in case["message"]
    assert case["summary"]["accounting"][key] == ["001"]
    assert case["summary"]["metrics"]["pose_akd"]["mean"] is None
    allowed = clips.run("--bench-allow-missing")
    assert allowed.ret == 0, text_of(allowed)
    case = cases_of(clips, "pose")
    assert case["summary"]["metrics"]["pose_akd"]["n"] == 1
    assert not case["ranked"]
    assert any(entry["rule"] == rule for entry in case["run"]["deviations"])
    assert f"2 expected, 1 scored; 1 {key.replace('_', ' ')}: 001" in text_of(allowed)


def test_an_extra_clip_is_named(clips: ClipProject) -> None:
    folder = clips.run_folder(conditions=("pose",))
    shutil.copy(CLIP, folder / "009.mp4")
    result = clips.run()
    assert "009.mp4: the clip is none of the track's 2 outputs" in text_of(result)
    assert cases_of(clips, "pose")["summary"]["accounting"]["extra"] == ["009.mp4"]
    assert clips.run("--bench-allow-missing").ret == 0


def test_a_listed_seed_without_its_folder_fails(clips: ClipProject) -> None:
    folder = clips.run_folder(seeds=(0, 1))
    shutil.rmtree(folder / "seed_1")
    result = clips.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "[missing-slice]" in text_of(result)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"run": {"conditions": ["colour"]}}', "'colour' is no condition"),
        ('{"run": {"conditions": ["pose"], "seeds": [0, 0]}}', "seeds names one twice"),
        ('{"run": {"conditions": ["pose"], "seeds": "0"}}', "seeds is a list of whole numbers"),
        ('{"run": {"conditions": ["pose"], "seeds": [0]}, "seeds": [1]}', "seeds is [1] and, under run, [0]"),
        ('{"run": {"conditions": ["pose"], "dataset_dir": 3}}', "dataset_dir is text"),
    ],
)
def test_a_wrong_manifest_is_a_usage_error(clips: ClipProject, text: str, said: str) -> None:
    (clips.run_folder() / "manifest.json").write_text(text, encoding="utf-8")
    result = clips.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert said in error_lines(result)[0]
    assert "manifest.json" in error_lines(result)[0]


def test_a_data_set_that_is_not_there(clips: ClipProject) -> None:
    clips.run_folder(dataset_dir="elsewhere")
    result = clips.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "--bench-data" in text_of(result)


def test_a_nan_in_a_trajectory_fails_its_case_alone_and_names_the_frame(clips: ClipProject) -> None:
    folder = clips.run_folder()
    poses = trajectory(0.7)
    poses[4, 0, 3] = np.nan
    np.savez(folder / "predictions" / "camera" / "001.npz", cam_c2w=poses)
    result = clips.run()
    camera = cases_of(clips, "camera")
    assert camera["outcome"] == "failed"
    assert "camera_RotErr has no mean: no value for 1 of 2 samples: 001 (001: " in camera["message"]
    assert "non-finite" in camera["message"]
    assert camera["summary"]["metrics"]["camera_RotErr"]["mean"] is None
    assert cases_of(clips, "pose")["outcome"] == "passed"
    allowed = clips.run("--bench-allow-missing")
    assert allowed.ret == 0, text_of(allowed)
    metric = cases_of(clips, "camera")["summary"]["metrics"]["camera_RotErr"]
    assert (metric["n"], metric["without"]) == (1, ["001"])
    assert any(entry["rule"] == "no-value" for entry in cases_of(clips, "camera")["run"]["deviations"])
    assert result.ret == 1


def test_a_ratio_that_is_undefined_is_counted_and_fails_nothing(clips: ClipProject) -> None:
    np.savez(clips.data / "camera" / "001.npz", cam_c2w=trajectory(0.5))  # turns nowhere: no chance level
    clips.run_folder(conditions=("camera",))
    result = clips.run()
    assert result.ret == 0, text_of(result)
    metric = cases_of(clips, "camera")["summary"]["metrics"]["camera_RotErr_rel"]
    assert (metric["n"], metric["without"]) == (1, ["001"])
    assert "over 1 alone: camera_RotErr_rel" in text_of(result)


def test_a_truncation_is_a_deviation_with_both_lengths(clips: ClipProject) -> None:
    np.save(clips.data / "pose" / "raw" / "001_pose.npy", keypoints(frames=9))
    clips.run_folder(conditions=("pose",))
    assert clips.run().ret == 0
    case = cases_of(clips, "pose")
    (deviation,) = [entry for entry in case["run"]["deviations"] if entry["rule"] == "truncated"]
    assert "9" in deviation["message"]
    assert "12" in deviation["message"]
    assert not case["ranked"]


def test_own_choices_are_deviations_and_never_golden(clips: ClipProject) -> None:
    clips.run_folder(conditions=("camera", "pose"))
    result = clips.run("--bench-shuffle-refs", "--bench-update-golden")
    refused = "golden numbers not updated: m/flexbench-pose/full: not the whole case: shuffled-references"
    assert refused in text_of(result)
    deviations = cases_of(clips, "pose")["run"]["deviations"]
    assert [entry["rule"] for entry in deviations] == ["shuffled-references"]
    assert "analytic" in cases_of(clips, "camera")["run"]["deviations"][0]["message"]


def test_shuffled_references_are_the_next_samples(clips: ClipProject) -> None:
    np.save(clips.data / "pose" / "raw" / "002_pose.npy", keypoints(6.0))
    clips.run_folder(conditions=("pose",))
    clips.run("--bench-shuffle-refs")
    values = {s["sample"]: s["values"]["pose_akd"] for s in cases_of(clips, "pose")["samples"]}
    assert values == {"001": pytest.approx(4 / 128), "002": pytest.approx(2 / 128)}


def test_metrics_and_dimensions_choose_groups(clips: ClipProject) -> None:
    clips.run_folder()
    clips.run("--bench-metrics=pose_akd")
    assert list(clips.cases()) == ["m/flexbench-pose/full"]
    assert list(cases_of(clips, "pose")["summary"]["metrics"]) == ["pose_akd"]
    wrong = clips.run("--bench-vbench-dimensions=motion")
    assert "'motion' is no VBench dimension" in text_of(wrong)


def test_golden_numbers_gate_clips(clips: ClipProject) -> None:
    folder = clips.run_folder(conditions=("pose",), seeds=(0, 1))
    written = clips.run("--bench-update-golden")
    assert written.ret == 0, text_of(written)
    golden = json.loads((clips.root / "golden" / "flexbench" / "flexbench-pose" / "m.json").read_text())
    assert sorted(golden["slices"]) == ["seed-0", "seed-1"]
    assert clips.run().ret == 0
    np.save(folder / "seed_1" / "predictions" / "pose" / "001_pose.npy", keypoints(3.5))
    failed = clips.run()
    assert failed.ret == pytest.ExitCode.TESTS_FAILED
    message = cases_of(clips, "pose", "seed-1")["message"]
    assert "outputs differ: 1 of 2" in message
    assert "akd" in message
    assert cases_of(clips, "pose", "seed-0")["outcome"] == "passed"


def test_workers_give_the_same_report(clips: ClipProject) -> None:
    clips.run_folder(seeds=(0, 1))
    serial = clips.run_apart()
    assert serial.ret == 0, text_of(serial)
    one = timeless(clips.report())
    shutil.rmtree(clips.root / "scores")
    parallel = clips.run_apart("-n", "2")
    assert parallel.ret == 0, text_of(parallel)
    assert timeless(clips.report()) == one


def test_a_second_run_reads_no_clip(clips: ClipProject, monkeypatch: pytest.MonkeyPatch) -> None:
    clips.run_folder()
    assert clips.run("-k", "test_case").ret == 0
    first = timeless(clips.report())
    monkeypatch.setattr("pixelgate.measuring.Clips.open", lambda *_: pytest.fail("a cached clip was read again"))
    assert clips.run("-k", "test_case").ret == 0
    assert timeless(clips.report()) == first


def test_ids_of_the_data_set_are_expected(clips: ClipProject) -> None:
    clips.captions({**dict.fromkeys(SAMPLES, "x"), "003": "a third clip"})
    clips.run_folder(conditions=("pose",))
    result = clips.run()
    accounting = cases_of(clips, "pose")["summary"]["accounting"]
    assert accounting["expected"] == 3
    assert "003" in {*accounting["missing_reference"], *accounting["missing_output"]}
    assert "[missing-reference]" in text_of(result)


def test_the_report_has_one_table_over_all_groups(clips: ClipProject) -> None:
    clips.run_folder(seeds=(0, 1))
    clips.run()
    table = (clips.root / "report" / "combined" / "m" / "seed-1" / "combined_results.csv").read_text(encoding="utf-8")
    heads, names, average, *rows = table.splitlines()
    assert heads.startswith(",pose,,,,,camera,")
    assert names.startswith("sample_id,akd ↓,pck@0.05 ↑,")
    assert average.startswith(f"average,{3 / 128:.4f},1.0000,")
    assert [row.split(",")[0] for row in rows] == list(SAMPLES)
    data = json.loads((clips.root / "report" / "combined" / "m" / "seed-1" / "combined_results.json").read_text())
    assert set(data["not_run"]) == {"text", "vbench"}


def test_side_by_side_clips_go_into_the_report(clips: ClipProject) -> None:
    clips.run_folder()
    result = clips.run("--bench-show-video", "-k", "test_case")
    assert result.ret == 0, text_of(result)
    sheets = cases_of(clips, "pose")["sheets"]
    assert sheets == [f"flexbench-pose/m/video/{sample}.png" for sample in SAMPLES]
    for sheet in sheets:
        assert (clips.root / "report" / sheet).is_file()
        assert (clips.root / "report" / sheet).with_suffix(".mp4").stat().st_size > 1000
    assert cases_of(clips, "camera")["sheets"] == []


def test_clips_to_look_at_need_a_report_folder(clips: ClipProject) -> None:
    clips.run_folder()
    result = clips.pytester.runpytest_inprocess("--bench-outputs=out", "--bench-show-video")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "--bench-report=DIR" in error_lines(result)[0]


def test_an_allowed_deviation_must_be_a_fault(clips: ClipProject) -> None:
    clips.run_folder()
    result = clips.run("--bench-allow-deviation=truncation")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "[allow-deviation]" in error_lines(result)[0]


def test_a_base_folder_with_configs_and_subfolders(clips: ClipProject) -> None:
    for config in ("a", "b"):
        folder = clips.run_folder(conditions=("pose",))
        (clips.root / "results" / config).mkdir(parents=True)
        shutil.move(folder, clips.root / "results" / config / "pose_only")
    result = clips.run(outputs="results")
    assert result.ret == 0, text_of(result)
    assert [name for name in clips.cases() if "pose/" in name] == [
        "a.pose_only/flexbench-pose/full",
        "b.pose_only/flexbench-pose/full",
    ]


def test_a_choice_is_not_held_against_golden_numbers(clips: ClipProject) -> None:
    clips.run_folder(conditions=("pose",))
    assert clips.run("--bench-update-golden").ret == 0
    np.save(clips.data / "pose" / "raw" / "002_pose.npy", keypoints(0.0))
    result = clips.run("--bench-shuffle-refs")
    assert result.ret == 0, text_of(result)
    assert "scored, not held against golden numbers: shuffled-references" in text_of(result)
    assert clips.run("--bench-shuffle-refs", "--bench-require-golden").ret == pytest.ExitCode.TESTS_FAILED


def test_a_smaller_mean_that_was_allowed_is_not_held_against_golden_numbers(clips: ClipProject) -> None:
    folder = clips.run_folder(conditions=("pose",))
    assert clips.run("--bench-update-golden").ret == 0
    (folder / "002.mp4").unlink()
    allowed = clips.run("--bench-allow-missing")
    assert allowed.ret == 0, text_of(allowed)
    assert "not held against golden numbers: missing-output" in text_of(allowed)


def test_the_list_tells_what_is_missing(clips: ClipProject) -> None:
    folder = clips.run_folder()
    (folder / "predictions" / "pose" / "001_pose.npy").unlink()
    text = text_of(clips.run("--bench-list"))
    assert "m/flexbench-text/full: not run: no text predictions" in text
    assert "there is no pose prediction of the clip '001'" in text
    assert "metrics: pose_akd, pose_pck@0.05" in text


def test_a_cached_note_names_no_other_folder(clips: ClipProject) -> None:
    still = np.tile(np.eye(4), (12, 1, 1))
    folder = clips.run_folder(conditions=("camera",))
    np.savez(folder / "predictions" / "camera" / "001.npz", cam_c2w=still)
    clips.run()
    shutil.copytree(folder, clips.out / "copy")
    clips.run()
    notes = clips.cases()["copy/flexbench-camera/full"]["run"]["notes"]
    assert any(note["rule"] == "degenerate" for note in notes)
    assert not any("out/m" in note["message"] for note in notes)


@pytest.mark.parametrize("text", ['{"run": {"conditions": ["pose"], "seeds": [0, 1, 7],}}', "", "[" * 100_000, "[]"])
def test_a_manifest_that_cannot_be_read_is_never_passed_over(clips: ClipProject, text: str) -> None:
    (clips.run_folder(seeds=(0, 1)) / "manifest.json").write_text(text, encoding="utf-8")
    for options in ((), ("--bench-conditions=pose",), ("--bench-track=flexbench-pose",)):
        result = clips.run("--bench-data=ds", *options, outputs="out/m")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert "[manifest]" in error_lines(result)[0], options


def test_a_manifest_may_have_a_byte_order_mark(clips: ClipProject) -> None:
    file = clips.run_folder() / "manifest.json"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert clips.run().ret == 0


def test_two_predictions_of_one_clip_are_refused(clips: ClipProject) -> None:
    folder = clips.run_folder(conditions=("pose",))
    np.save(folder / "predictions" / "pose" / "001.npy", keypoints())
    result = clips.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "has several pose predictions: 001.npy, 001_pose.npy. [prediction-twice]" in text_of(result)
    assert cases_of(clips, "pose")["summary"]["accounting"]["failed"] == {"001": "prediction-twice"}
