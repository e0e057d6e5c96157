"""Evaluating a run from Python: groups, seeds, accounting, files, resuming, mistakes."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluate_tools import (
    CONFORMANCE,
    FRAMES,
    PIXELS,
    SAMPLES,
    camera,
    clip,
    copy,
    keypoints,
    make_dataset,
    make_run,
    oracle,
    save,
    save_npy,
)

from pixelgate.errors import InputError, ProtocolError
from pixelgate.flexbench import Choices, evaluate, evaluate_group, merge_configs, merge_seeds

FAST = ("camera", "pose")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("data") / "ds")


@pytest.fixture
def place(tmp_path: Path, dataset: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a data set of its own, ``ds``, and a cache of its own."""
    shutil.copytree(dataset, tmp_path / "ds")
    monkeypatch.setenv("PIXELGATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(file: Path) -> list[list[str]]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def refusal(rule: str, *arguments: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        evaluate(*arguments, **options)
    assert {problem.rule for problem in caught.value.problems} == {rule}, caught.value
    assert all(problem.mend for problem in caught.value.problems)
    return str(caught.value)


def test_all_seven_groups_of_a_folder(place: Path) -> None:
    found = evaluate(make_run(place / "gen"))
    assert not found.failed
    assert found.not_run == {}
    (run,) = found.runs
    assert [one.group for one in run.groups] == ["text", "subject", "depth", "pose", "camera", "inpainting", "vbench"]
    assert files_in(place / "gen" / "eval") == ["combined_results.csv", "combined_results.json"]
    table = rows(place / "gen" / "eval" / "combined_results.csv")
    assert [cell for cell in table[0] if cell] == ["text", "subject", "depth", "pose", "camera", "inpaint", "vbench"]
    assert [row[0] for row in table[1:]] == ["sample_id", "average", *SAMPLES]
    heads = dict(zip(zip(_filled(table[0]), table[1], strict=True), table[3], strict=True))
    wanted = oracle("inpaint")["cases"][SAMPLES["001"]]["mean"]
    for name, arrow in {
        "psnr": " ↑",
        "ssim": " ↑",
        "lpips": " ↓",
        "mse": " ↓",
        "mae": " ↓",
        "kept_fraction": "",
    }.items():
        assert float(heads["inpaint", name + arrow]) == pytest.approx(wanted[name], abs=2e-4), name
    published = oracle("vbench")["cases"]["results_01_normal"]["table"]["001"]
    assert {name: float(heads["vbench", f"{name} ↑"]) for name in published} == {
        name: pytest.approx(value, abs=0.005001) for name, value in published.items()
    }


def _filled(spans: list[str]) -> list[str]:
    labels, last = [], ""
    for span in spans:
        last = span or last
        labels.append(last)
    return labels


def test_the_bytes_of_the_table(place: Path) -> None:
    evaluate(make_run(place / "gen", ("pose",)), groups=("text", "pose"))
    # 4 of 160 pixels to the right; text is cos(atan(1/2)).
    assert (place / "gen" / "eval" / "combined_results.csv").read_bytes().decode() == (
        ",text,pose,,,,\n"
        "sample_id,consistency ↑,akd ↓,pck@0.05 ↑,pck@0.10 ↑,person_coverage ↑,keypoint_coverage ↑\n"
        "average,0.8944,0.0250,1.0000,1.0000,1.0000,1.0000\n"
        "001,0.8944,0.0250,1.0000,1.0000,1.0000,1.0000\n"
        "002,0.8944,0.0250,1.0000,1.0000,1.0000,1.0000\n"
        "003,0.8944,0.0250,1.0000,1.0000,1.0000,1.0000\n"
    )


def test_a_second_run_computes_nothing_and_says_the_same(place: Path) -> None:
    make_run(place / "gen", FAST)
    told: list[tuple[str, int, int, str]] = []
    first = evaluate("gen", progress=lambda *step: told.append(step))
    assert sorted({(case, sample) for case, _, _, sample in told}) == [
        (f"gen/flexbench-{group}/full", sample) for group in ("camera", "pose", "text", "vbench") for sample in SAMPLES
    ]
    assert [one.computed for one in first.runs[0].groups] == [3, 3, 3, 3]
    before = {name: (place / "gen" / "eval" / name).read_bytes() for name in files_in(place / "gen" / "eval")}
    told.clear()
    second = evaluate("gen", progress=lambda *step: told.append(step))
    assert told == []
    assert [one.computed for one in second.runs[0].groups] == [0, 0, 0, 0]
    assert before["combined_results.csv"] == (place / "gen" / "eval" / "combined_results.csv").read_bytes()
    (place / "gen" / "predictions" / "pose" / "002_pose.npy").unlink()
    save_npy(place / "gen" / "predictions" / "pose" / "002_pose.npy", keypoints(FRAMES["002"], 8.0))
    third = evaluate("gen")
    assert {one.group: one.computed for one in third.runs[0].groups if one.computed} == {"pose": 1}
    assert evaluate("gen", cache=False).runs[0].groups[0].computed == 3


def test_a_stopped_run_goes_on_where_it_stopped(place: Path) -> None:
    make_run(place / "gen", FAST)

    def stop(case: str, done: int, total: int, sample: str) -> None:
        if "pose" in case and done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate("gen", groups=("text", "pose"), progress=stop)
    assert not (place / "gen" / "eval").exists()
    found = evaluate("gen", groups=("text", "pose"))
    assert [one.computed for one in found.runs[0].groups] == [0, 1]


def test_seeds_and_their_summary(place: Path) -> None:
    for name in ("one", "two"):
        make_run(place / name / "cfg", ("camera",), seeds=(0, 1, 10), dataset="../../ds")
        found = evaluate(place / name / "cfg")
        assert [run.name for run in found.runs] == ["seed-0", "seed-1", "seed-10"]
        assert files_in(place / name / "cfg" / "seed_10" / "eval") == ["combined_results.csv", "combined_results.json"]
    assert not (place / "one" / "cfg" / "seed_summary.csv").exists()
    summary = merge_seeds(place / "one" / "cfg")
    means = {column.id: averages for column, averages in summary.columns.items()}
    assert means["text_consistency"].n == 3
    cosines = [1 / np.hypot(1, 0.5 + 0.1 * step) for step in range(3)]
    assert means["text_consistency"].mean == pytest.approx(np.mean(cosines))
    assert means["text_consistency"].std == pytest.approx(np.std(cosines, ddof=1))
    merge_configs(place, "cfg", ["one", "two"])
    assert (place / "cfg_comparison.csv").is_file()


def test_a_seeds_own_folder_is_that_seed_of_its_run(place: Path) -> None:
    make_run(place / "gen", ("camera",), seeds=(0, 1))
    found = evaluate("gen/seed_1")
    assert ([run.name for run in found.runs], found.runs[0].groups[0].case.slice) == (["seed-1"], "seed-1")
    assert not (place / "gen" / "seed_0" / "eval").exists()
    assert evaluate("gen", seeds=(1,)).runs[0].groups[0].computed == 0


def test_a_listed_seed_that_is_not_there_fails_and_gets_no_folder(place: Path) -> None:
    make_run(place / "gen", ("camera",), seeds=(0, 1))
    shutil.rmtree(place / "gen" / "seed_1")
    found = evaluate("gen")
    assert found.failed
    run = found.run("seed-1")
    assert {one.group: [p.rule for p in one.problems] for one in run.groups} == {
        group: ["missing-slice"] for group in ("text", "camera", "vbench")
    }
    assert run.groups[0].accounting["missing_output"] == list(SAMPLES)
    assert not (place / "gen" / "seed_1").exists()
    assert (place / "gen" / "seed_0" / "eval" / "combined_results.csv").is_file()


def test_what_is_not_run_is_told_and_fails_nothing(place: Path) -> None:
    make_run(place / "gen", FAST)
    shutil.rmtree(place / "ds" / "camera")
    shutil.rmtree(place / "gen" / "predictions" / "text")
    found = evaluate("gen")
    assert not found.failed
    assert list(found.not_run["full"]) == ["text", "camera"]
    assert "no text predictions are in" in found.not_run["full"]["text"]
    assert "the data set has no reference for it" in found.not_run["full"]["camera"]
    written = json.loads((place / "gen" / "eval" / "combined_results.json").read_text())
    assert list(written["not_run"]) == ["text", "camera"]
    assert list(written["groups"]) == ["pose", "vbench"]


HARM = {
    "missing-output": (lambda p: (p / "gen" / "002.mp4").unlink(), "missing_output"),
    "missing-reference": (lambda p: (p / "ds" / "pose" / "raw" / "002_pose.npy").unlink(), "missing_reference"),
    "missing-prediction": (lambda p: (p / "gen/predictions/pose/002_pose.npy").unlink(), "missing_prediction"),
}


@pytest.mark.parametrize("rule", HARM)
def test_a_lost_sample_keeps_its_group_out_of_the_table(place: Path, rule: str) -> None:
    make_run(place / "gen", FAST)
    evaluate("gen", verbose=True)
    harm, key = HARM[rule]
    harm(place)
    found = evaluate("gen", verbose=True)
    (pose,) = (one for one in found.runs[0].groups if one.group == "pose")
    assert (found.failed, pose.complete, [p.rule for p in pose.problems]) == (True, False, [rule])
    assert pose.accounting == {
        "expected": 3,
        "scored": 2,
        "missing_reference": [],
        "missing_output": [],
        "missing_prediction": [],
        "failed": {},
        "extra": [],
        key: ["002"],
    }
    folder = place / "gen" / "eval"
    assert not (folder / "pose").exists()
    written = json.loads((folder / "combined_results.json").read_text())
    assert "pose" not in written["groups"]
    assert written["incomplete"]["pose"]["problems"][0]["rule"] == rule
    assert "mean" not in written["incomplete"]["pose"]
    if rule == "missing-output":
        assert not (folder / "combined_results.csv").exists()
    else:
        assert "pose" not in rows(folder / "combined_results.csv")[0]


@pytest.mark.parametrize("rule", HARM)
def test_with_missing_samples_allowed_every_n_is_shown(place: Path, rule: str) -> None:
    make_run(place / "gen", FAST)
    HARM[rule][0](place)
    found = evaluate("gen", allow_missing=True)
    assert not found.failed
    table = rows(place / "gen" / "eval" / "combined_results.csv")
    assert [row[0] for row in table[2:6]] == ["average", "n", "average (common)", "n (common)"]
    pose = table[0].index("pose")
    assert table[3][pose] == table[5][pose] == table[5][1] == "2"
    assert table[3][1] == ("2" if rule == "missing-output" else "3")
    assert table[7][0] == "002"
    assert table[7][pose] == ""
    written = json.loads((place / "gen" / "eval" / "combined_results.json").read_text())
    assert any(note["rule"] == rule and note["subject"] == "002" for note in written["groups"]["pose"]["notes"])
    assert written["groups"]["pose"]["n"]["akd"] == 2


def test_an_extra_clip_fails_every_group(place: Path) -> None:
    make_run(place / "gen", FAST)
    copy(clip("001", "gen"), place / "gen" / "004.mp4")
    found = evaluate("gen")
    assert {one.group: one.accounting["extra"] for one in found.runs[0].groups} == {
        group: ["004.mp4"] for group in ("text", "pose", "camera", "vbench")
    }
    assert found.failed
    assert not evaluate("gen", allow_missing=True).failed


def test_a_damaged_clip_is_told_with_what_was_found(place: Path) -> None:
    make_run(place / "gen", FAST)
    data = (place / "gen" / "002.mp4").read_bytes()
    (place / "gen" / "002.mp4").write_bytes(data[: len(data) // 2])
    pose = evaluate("gen", allow_missing=True).runs[0].groups[1]
    assert pose.failed
    assert "[video-intact]" in pose.results.accounting.failed["002"]
    assert pose.results.accounting.failed["002"].startswith("002.mp4: ")


def test_a_sample_without_a_value_leaves_no_mean(place: Path) -> None:
    make_run(place / "gen", FAST)
    nobody = keypoints(FRAMES["002"])
    nobody[..., 2] = 0
    save_npy(place / "gen" / "predictions" / "pose" / "002_pose.npy", nobody)
    pose = evaluate("gen").runs[0].groups[1]
    assert (pose.failed, pose.complete) == (True, False)
    assert any(gap.startswith("pose_akd has no mean: no value for 1 of 3 samples: 002 (002: ") for gap in pose.gaps)
    found = evaluate("gen", allow_missing=True)
    assert not found.failed
    assert found.runs[0].groups[1].results.mean("akd")[1] == 2


def test_a_ratio_to_a_still_camera_may_have_no_value(place: Path) -> None:
    make_run(place / "gen", ("camera",))
    save(place / "ds" / "camera" / "002.npz", cam_c2w=np.tile(np.eye(4), (FRAMES["002"], 1, 1)))
    found = evaluate("gen")
    assert not found.failed
    camera_group = found.runs[0].groups[1]
    assert camera_group.results.mean("RotErr")[1] == 3
    assert camera_group.results.mean("RotErr_rel")[1] == 2
    table = rows(place / "gen" / "eval" / "combined_results.csv")
    counts = dict(zip(table[1], table[3], strict=True))
    assert (counts["sample_id"], counts["RotErr ↓"], counts["RotErr_rel ↓"]) == ("n", "3", "2")


def test_a_fault_fails_the_run_unless_it_is_allowed(place: Path) -> None:
    make_run(place / "gen", ("pose",))
    # The condition's clip of 001 at another rate: ten bit at 8, this one at its own.
    copy(CONFORMANCE / "video" / "vfr.mp4", place / "ds" / "pose" / "001.mp4")
    found = evaluate("gen")
    pose = found.runs[0].groups[1]
    assert (found.failed, pose.complete) == (True, True)
    assert [(fault.subject, fault.rule) for fault in pose.faults] == [("001", "frame-rate")]
    assert (place / "gen" / "eval" / "combined_results.csv").is_file()
    written = json.loads((place / "gen" / "eval" / "combined_results.json").read_text())
    assert written["faults"]["pose"][0]["rule"] == "frame-rate"
    allowed = evaluate("gen", allow_deviations=("frame-rate",))
    assert not allowed.failed
    assert any(d.rule == "frame-rate" for d in allowed.runs[0].groups[1].scores.deviations)


def test_earlier_results_are_replaced_whole(place: Path) -> None:
    make_run(place / "gen", FAST)
    evaluate("gen", verbose=True)
    folder = place / "gen" / "eval"
    assert files_in(folder) == [
        "camera/details.json",
        "camera/results.csv",
        "camera/results.json",
        "combined_results.csv",
        "combined_results.json",
        *(
            f"{group}/{name}"
            for group in ("pose", "text", "vbench")
            for name in ("details.json", "results.csv", "results.json")
        ),
    ]
    details = json.loads((folder / "pose" / "details.json").read_text())
    assert details["003"]["frames_compared"] == FRAMES["003"]
    (folder / "pose" / "notes.txt").write_text("mine")
    (folder / "inpaint").mkdir()
    (folder / "inpaint" / "results.json").write_text("{}")
    evaluate("gen", groups=("text",), verbose=True)
    assert files_in(folder) == [
        "combined_results.csv",
        "combined_results.json",
        "pose/notes.txt",
        "text/details.json",
        "text/results.csv",
        "text/results.json",
    ]
    assert not (folder / "inpaint").exists()
    evaluate("gen", groups=("text",))
    assert files_in(folder) == ["combined_results.csv", "combined_results.json", "pose/notes.txt"]


def test_verbose_folders_merge_to_the_same_summary(place: Path) -> None:
    make_run(place / "gen", ("camera",), seeds=(0, 1))
    evaluate("gen", verbose=True)
    kept = merge_seeds(place / "gen")
    evaluate("gen")
    assert merge_seeds(place / "gen").columns == kept.columns
    assert set(kept.sources.values()) == {"results"}


def test_an_output_folder(place: Path) -> None:
    make_run(place / "gen", ("camera",))
    make_run(place / "seeds", ("camera",), seeds=(0, 1))
    evaluate("gen", output_dir="out")
    assert files_in(place / "out") == ["combined_results.csv", "combined_results.json"]
    evaluate("seeds", output_dir="more")
    assert len(files_in(place / "more" / "seed_1" / "eval")) == 2
    assert merge_seeds(place / "more").seeds == ("seed_0", "seed_1")
    assert not (place / "gen" / "eval").exists()
    (place / "file").write_text("")
    assert "is no folder" in refusal("not-writable", "gen", output_dir="file/out")


def test_people_are_left_out_of_the_depth_where_depth_and_pose_are_conditions(place: Path) -> None:
    make_run(place / "both", ("depth", "pose"))
    make_run(place / "one", ("depth",))

    def depth_of(*arguments: Any, **options: Any) -> Any:
        return next(one for one in evaluate(*arguments, **options).runs[0].groups if one.group == "depth")

    masked, plain = depth_of("both"), depth_of("one")
    values = [one.results.mean("mae")[0] for one in (masked, plain)]
    assert values[0] != values[1]
    assert masked.scores.samples[0].details["excluded_fraction"] > 0
    assert depth_of("one", depth_person_mask="always").results.mean("mae")[0] == values[0]
    assert depth_of("both", depth_person_mask="never").results.mean("mae")[0] == values[1]
    wider = depth_of("both", person_mask_dilation=0.2)
    assert wider.scores.samples[0].details["excluded_fraction"] > masked.scores.samples[0].details["excluded_fraction"]
    assert [(d.subject, d.rule) for d in wider.scores.deviations if d.rule == "choice"] == [("depth", "choice")]
    # The single evaluator follows the run's conditions too.
    alone = evaluate_group("depth", "both", dataset_dir="ds/depth").runs[0].groups[0]
    assert alone.results.mean("mae")[0] == values[0]


def test_metrics_and_dimensions_can_be_chosen(place: Path) -> None:
    make_run(place / "gen", ("depth", "camera"))
    found = evaluate("gen", metrics=("depth_delta1_acc", "camera_RotErr"), depth_person_mask="never")
    assert {one.group: one.results.metrics for one in found.runs[0].groups} == {
        "depth": ("delta1_acc",),
        "camera": ("RotErr",),
    }
    found = evaluate("gen", groups=("vbench",), vbench_dimensions="dynamic_degree subject_consistency")
    assert found.runs[0].groups[0].results.metrics == ("SuC", "DD")
    assert "is no VBench dimension" in refusal("vbench-dimensions", "gen", vbench_dimensions=("beauty",))
    with pytest.raises(ProtocolError, match="depth_psnr"):
        evaluate("gen", metrics=("depth_psnr",))
    assert "none of the run's groups" in refusal("metrics", "gen", metrics=("pose_akd",))


def test_shuffled_references_are_a_chance_level(place: Path) -> None:
    make_run(place / "gen", ("pose",))
    save_npy(place / "ds" / "pose" / "raw" / "002_pose.npy", keypoints(FRAMES["002"], 20.0))
    plain = evaluate("gen", groups=("pose",))
    shuffled = evaluate("gen", groups=("pose",), shuffle_refs=True)
    values = [one.runs[0].groups[0].results.value("001", "akd") for one in (plain, shuffled)]
    # 4 pixels from its own condition, 16 from the next one's.
    assert values == [pytest.approx(4 / 160), pytest.approx(16 / 160)]
    assert any(d.rule == "shuffled-references" for d in shuffled.runs[0].groups[0].scores.deviations)


def test_pickled_keypoints_are_refused_unless_allowed(place: Path) -> None:
    make_run(place / "gen", ("pose",))
    points = np.empty(FRAMES["001"], dtype=object)
    points[:] = list(keypoints(FRAMES["001"], 4.0))
    np.save(place / "gen" / "predictions" / "pose" / "001_pose.npy", points, allow_pickle=True)
    assert evaluate("gen", groups=("pose",)).failed
    found = evaluate("gen", groups=("pose",), allow_pickle=True)
    assert not found.failed
    assert found.runs[0].groups[0].results.mean("akd")[0] == pytest.approx(4 / 160)


def test_predictions_may_lie_elsewhere(place: Path) -> None:
    make_run(place / "gen", ("camera",), seeds=(0, 1))
    for seed in (0, 1):
        (place / "elsewhere").mkdir(exist_ok=True)
        (place / "gen" / f"seed_{seed}" / "predictions").rename(place / "elsewhere" / f"seed_{seed}")
    refusal("not-run", "gen")
    assert not evaluate("gen", predictions="elsewhere").failed


def test_without_a_manifest_the_conditions_are_named(place: Path) -> None:
    (make_run(place / "gen") / "manifest.json").unlink()
    found = evaluate("gen", dataset_dir="ds", conditions=("pose",))
    assert [one.group for one in found.runs[0].groups] == ["text", "pose", "vbench"]
    found = evaluate("gen", dataset_dir="ds")
    assert [one.group for one in found.runs[0].groups] == ["text", "vbench"]
    assert "no manifest.json that names the data set" in refusal("dataset", "gen", conditions=("pose",))


def test_mistakes_are_one_clear_error_each(place: Path) -> None:
    make_run(place / "gen", FAST, seeds=(0, 1))
    (place / "empty").mkdir()
    assert "nowhere: does not exist." in refusal("generated-folder", "nowhere")
    assert "holds no generated clips" in refusal("no-clips", "empty", dataset_dir="ds")
    assert "ds2: does not exist." in refusal("dataset", "gen", dataset_dir="ds2")
    assert "is the folder of the generated clips" in refusal("dataset", "gen", dataset_dir="gen/seed_0")
    assert "'sound' is no group" in refusal("groups", "gen", groups=("sound",))
    assert "'sound' is no condition" in refusal("conditions", "gen", conditions=("sound",))
    assert "has no seed 7" in refusal("seeds", "gen", seeds=(0, 7))
    assert "does not exist" in refusal("predictions-folder", "gen", predictions="nowhere")
    assert "'alexnet'" in refusal("choice", "gen", lpips_net="alexnet")
    assert "'sometimes'" in refusal("choice", "gen", depth_person_mask="sometimes")
    assert "2.0" in refusal("choice", "gen", person_mask_dilation=2.0)
    assert "frame-rate" in refusal("allow-deviation", "gen", allow_deviations=("framerate",))
    (place / "gen" / "manifest.json").write_text('{"run": {"conditions": ["pose"], "dataset_dir": "gone"}}')
    assert "names the data set 'gone', which is not there" in refusal("dataset", "gen")


@pytest.mark.parametrize(
    ("group", "place_of", "options"),
    [
        ("text", "ds", {}),
        ("subject", "ds/subject", {}),
        ("depth", "ds/depth", {}),
        ("pose", "ds/pose/raw", {}),
        ("pose", "ds/pose", {}),
        ("camera", "ds/camera", {}),
        ("inpainting", "ds/inpainting", {"choices": Choices(metrics=tuple(PIXELS.split(",")))}),
        ("vbench", "ds", {}),
        ("camera", "flat", {}),
    ],
)
def test_an_evaluator_alone_gives_the_runs_numbers(place: Path, group: str, place_of: str, options: Any) -> None:
    make_run(place / "gen", ("depth", "pose", "camera", "subject", "inpainting"))
    shutil.copytree(place / "ds" / "camera", place / "flat")
    metrics = PIXELS.split(",") if group == "inpainting" else ()
    whole = evaluate("gen", groups=(group,), metrics=metrics).runs[0].groups[0]
    found = evaluate_group(group, "gen", dataset_dir=place_of, output_dir="out", **options)
    assert not found.failed
    assert found.runs[0].groups[0].results.per_sample == whole.results.per_sample
    assert files_in(place / "out") == ["details.json", "results.csv", "results.json"]
    written = json.loads((place / "out" / "results.json").read_text())
    assert written["mean"] == {name: whole.results.mean(name)[0] for name in whole.results.metrics}
    assert written["expected"] == list(SAMPLES)


def test_keypoints_by_any_name_take_their_sizes_from_a_folder(place: Path) -> None:
    make_run(place / "gen", ("pose",))
    whole = evaluate("gen", groups=("pose",)).runs[0].groups[0]
    (place / "points").mkdir()
    for sample, frames in FRAMES.items():
        save_npy(place / "points" / f"{sample}.npy", keypoints(frames))
    found = evaluate_group("pose", "gen", dataset_dir="points", size_dir="ds/pose", output_dir="out").runs[0].groups[0]
    assert found.results.per_sample == whole.results.per_sample
    assert not any(note.rule == "size-assumed" for note in found.scores.notes)
    bare = evaluate_group("pose", "gen", dataset_dir="points", output_dir="out").runs[0].groups[0]
    assert any(note.rule == "size-assumed" for note in bare.scores.notes)


def test_a_wrong_folder_of_references_is_not_run(place: Path) -> None:
    make_run(place / "gen", ("camera",))
    with pytest.raises(InputError, match="camera \\(full\\): the data set has no reference for it: nothing fits"):
        evaluate_group("camera", "gen", dataset_dir="ds/inpainting")
    # Another condition's files of the same kind are read, and refused.
    found = evaluate_group("camera", "gen", dataset_dir="ds/depth").runs[0].groups[0]
    assert {problem.rule for problem in found.problems} == {"trajectory-key"}


def test_a_failed_evaluator_leaves_no_old_results(place: Path) -> None:
    make_run(place / "gen", ("camera",))
    evaluate_group("camera", "gen")
    assert len(files_in(place / "gen" / "eval" / "camera")) == 3
    save(place / "gen" / "predictions" / "camera" / "002.npz", cam_c2w=camera(5))
    found = evaluate_group("camera", "gen")
    assert found.failed
    assert "[prediction-length]" in found.runs[0].groups[0].results.accounting.failed["002"]
    assert not (place / "gen" / "eval").exists() or files_in(place / "gen" / "eval") == []


def test_a_camera_case_of_the_reference_values(place: Path) -> None:
    import av

    wanted = oracle("camera")["cases"]["04_general_float32"]["metrics"]
    data, gen = place / "one", place / "run"
    copy(CONFORMANCE / "camera" / "04_general_float32_ref.npz", data / "camera" / "s.npz")
    copy(CONFORMANCE / "camera" / "04_general_float32_gen.npz", gen / "predictions" / "camera" / "s.npz")
    with av.open(str(gen / "s.mp4"), "w") as container:
        stream = container.add_stream("libx264", rate=8)
        stream.width = stream.height = 32
        for _ in range(49):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.zeros((32, 32, 3), np.uint8), format="rgb24")))
        container.mux(stream.encode())
    found = evaluate_group("camera", gen, dataset_dir=data).runs[0].groups[0]
    assert found.results.per_sample["s"] == {
        name: pytest.approx(value, rel=1e-6) for name, value in wanted.items() if name != "n_scored"
    }


def test_side_by_side_clips(place: Path) -> None:
    make_run(place / "gen", ("pose",))
    found = evaluate("gen", groups=("text", "pose"), show_video=True)
    shown = [f"show_video/pose/{sample}.{end}" for sample in SAMPLES for end in ("mp4", "png")]
    assert files_in(place / "gen" / "eval") == ["combined_results.csv", "combined_results.json", *shown]
    assert [str(file.relative_to("gen/eval")) for file in found.runs[0].files[2:]] == shown
    (place / "gen" / "eval" / "show_video" / "pose" / "mine.mp4").write_bytes(b"")
    evaluate("gen", groups=("text",))
    assert files_in(place / "gen" / "eval") == [
        "combined_results.csv",
        "combined_results.json",
        "show_video/pose/mine.mp4",
    ]
    evaluate_group("pose", "gen", output_dir="out", show_video=True)
    assert [name for name in files_in(place / "out") if "show_video" in name] == [
        f"show_video/{sample}.{end}" for sample in SAMPLES for end in ("mp4", "png")
    ]


@pytest.mark.slow
def test_the_plugin_says_the_same(place: Path) -> None:
    """Values, accounting and deviations of ``pytest --bench-outputs`` for the same folder."""
    make_run(place / "gen")
    (place / "gen" / "predictions" / "text" / "003.npz").unlink()
    own = ("inpaint_psnr,inpaint_ssim,inpaint_mse,inpaint_mae,text_consistency,subject_clip,depth_mae,pose_akd,"
           "camera_RotErr,camera_TransErr_rel,vbench_SuC,vbench_DD")  # fmt: skip
    found = evaluate("gen", metrics=own.split(","), allow_missing=True, cache=False)
    command = [sys.executable, "-m", "pytest", "--bench-outputs=gen", f"--bench-metrics={own}", "--bench-allow-missing"]
    command += [
        "--bench-json=report.json",
        "--bench-no-cache",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
    ]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    cases = {case["track"]: case for case in json.loads((place / "report.json").read_text())["cases"]}
    assert len(cases) == 7
    for one in found.runs[0].groups:
        case = cases[f"flexbench-{one.group}"]
        assert case["summary"]["accounting"] == one.accounting
        means = {key: value["mean"] for key, value in case["summary"]["metrics"].items()}
        label = one.results.label
        assert means == {
            f"{label}_{name}": pytest.approx(one.results.mean(name)[0], abs=1e-12) for name in one.results.metrics
        }
        values = {sample["sample"]: sample["values"] for sample in case["samples"]}
        assert values == {s.sample: dict(s.values) for s in one.scores.samples}


def test_the_package_loads_nothing_before_it_is_asked() -> None:
    code = (
        "import sys, pixelgate.flexbench.folder, pixelgate.layout\n"
        "assert 'pixelgate.flexbench.evaluating' not in sys.modules\n"
        "from pixelgate.flexbench import combine, evaluate, merge_configs, merge_seeds\n"
        "import pixelgate.flexbench.evaluating, pixelgate.flexbench\n"
        "assert pixelgate.flexbench.evaluate is evaluate and callable(evaluate)\n"
        "assert not {'torch', 'numba', 'av', 'skimage'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_what_cannot_be_shown_fails_the_run_after_its_results(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pixelgate.clips import show
    from pixelgate.errors import Problem

    def refuse(group: str, files: Any, params: Any, target: Path) -> None:
        raise InputError(Problem(str(target), "not-writable", "cannot be written.", "Check the space."))

    monkeypatch.setattr(show, "write_show", refuse)
    make_run(place / "gen", ("pose",))
    found = evaluate("gen", groups=("pose",), show_video=True)
    assert found.failed
    assert [text.split(": ")[:2] for text in found.runs[0].not_shown] == [
        ["pose", f"{sample} cannot be shown"] for sample in SAMPLES
    ]
    assert (place / "gen" / "eval" / "combined_results.csv").is_file()


def test_a_seed_without_predictions_fails_where_another_has_them(place: Path) -> None:
    make_run(place / "gen", ("pose", "camera"), seeds=(0, 1))
    shutil.rmtree(place / "gen" / "seed_1" / "predictions" / "pose")
    for seed in (0, 1):
        shutil.rmtree(place / "gen" / f"seed_{seed}" / "predictions" / "camera")
    found = evaluate("gen")
    assert {name: list(reasons) for name, reasons in found.not_run.items()} == {
        "seed-0": ["camera"],
        "seed-1": ["camera"],
    }
    pose = found.run("seed-1").groups[1]
    assert pose.failed
    assert pose.accounting["missing_prediction"] == list(SAMPLES)
    assert not found.run("seed-0").groups[1].failed
    shutil.rmtree(place / "gen" / "seed_1")
    assert list(evaluate("gen").not_run) == ["seed-0"]
