"""``pixelgate flexbench evaluate``: what it prints, its options, its exit status."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "flexbench"))
from evaluate_tools import FRAMES, SAMPLES, copy, keypoints, make_dataset, make_run, save_npy


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("data") / "ds")


@pytest.fixture
def place(home, dataset):
    """The folder of the command, with the data set ``ds`` and a run ``gen`` over the conditions camera and pose."""
    shutil.copytree(dataset, home / "ds")
    make_run(home / "gen", ("camera", "pose"))
    return home


def evaluate(pixelgate, *arguments):
    return pixelgate("flexbench", "evaluate", "--generated-dir", "gen", *arguments)


def test_the_table_and_the_accounting(place, pixelgate):
    done = evaluate(pixelgate)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == [
        f"generated: gen   data set: {Path.cwd()}/gen/../ds",
        "",
        "full: gen",
        "group   metric               mean    n",
        "text    consistency ↑        0.8944  3",
        "pose    akd ↓                0.0250  3",
        "        pck@0.05 ↑           1.0000  3",
        "        pck@0.10 ↑           1.0000  3",
        "        person_coverage ↑    1.0000  3",
        "        keypoint_coverage ↑  1.0000  3",
        "camera  RotErr ↓             0.5000  3",
        "        TransErr ↓           0.4701  3",
        "        CamMC ↓              0.8490  3",
        "        RotErr_rel ↓         0.5000  3",
        "        TransErr_rel ↓       0.0940  3",
        "        CamMC_rel ↓          0.1634  3",
        "vbench  SuC ↑                93.92   3",
        "        BC ↑                 96.30   3",
        "        AQ ↑                 54.99   3",
        "        IQ ↑                 65.07   3",
        "        OvC ↑                18.37   3",
        "        MS ↑                 98.36   3",
        "        DD ↑                 66.67   3",
        "group   expected  scored  missing reference  missing output  missing prediction  failed  extra",
        *(
            f"{group:<6}  3         3       0                  0               0                   0       0"
            for group in ("text", "pose", "camera", "vbench")
        ),
        "samples computed now: 12; taken from the score cache: 0",
        "written: gen/eval/combined_results.csv",
        "written: gen/eval/combined_results.json",
    ]
    again = evaluate(pixelgate)
    assert "samples computed now: 0; taken from the score cache: 12" in again.out.splitlines()
    assert "computed now: 12" in evaluate(pixelgate, "--no-cache").out
    assert "computed now: 12" in evaluate(pixelgate, "--cache", "other").out


def test_problems_are_all_told(place, pixelgate):
    (place / "gen" / "002.mp4").unlink()
    (place / "ds" / "camera" / "003.npz").unlink()
    done = evaluate(pixelgate)
    assert done.status == 1
    lines = done.out.splitlines()
    assert "camera  3         1       1                  1               0                   0       0" in lines
    assert "camera: missing reference: 003" in lines
    assert "pose: not in the table, since its means would not stand for all samples" in lines
    assert "written: gen/eval/combined_results.csv" not in lines
    errors = done.err.splitlines()
    assert len(errors) == 2
    assert errors[0].startswith("error: text, pose, camera, vbench: gen/002.mp4: the output is missing. [missing-outp")
    assert "[missing-reference]" in errors[1]
    assert "--allow-missing" in errors[1]
    assert "--bench" not in done.err
    allowed = evaluate(pixelgate, "--allow-missing")
    assert allowed.status == 0
    assert "camera  RotErr ↓             0.6000  1" in allowed.out.splitlines()
    assert "warning: camera: 003: the data set names the sample '003' and lacks its reference; means" in allowed.err


def test_what_failed_is_told_with_its_words(place, pixelgate):
    np.save(place / "gen" / "predictions" / "pose" / "002_pose.npy", np.zeros((4, 1, 134, 3)))
    done = evaluate(pixelgate)
    assert done.status == 1
    assert "pose: failed: 002: 002_pose.npy: has keypoints of 4 frames; the clip gen/002.mp4 has 12." in done.out
    assert "[prediction-length]" in done.err


def test_not_run_passes_unless_all_are_required(place, pixelgate):
    shutil.rmtree(place / "ds" / "camera")
    done = evaluate(pixelgate)
    assert (done.status, done.err) == (0, "")
    assert "not run: camera: the data set has no reference for it: nothing fits camera/{id}.npz" in done.out
    done = evaluate(pixelgate, "--require-all")
    assert done.status == 1
    assert "error: full: not run: camera: the data set has no reference" in done.err
    done = evaluate(pixelgate, "--json")
    assert list(done.data["runs"][0]["not_run"]) == ["camera"]
    assert done.data["failed"] is False


def test_nothing_that_can_run_is_an_error(place, pixelgate):
    shutil.rmtree(place / "gen" / "predictions")
    done = evaluate(pixelgate)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: gen: no group can be scored. text (full): no text predictions are in")


def test_json_alone_on_stdout(place, pixelgate):
    done = evaluate(pixelgate, "--json", "--allow-deviation", "frame-rate")
    assert done.status == 0
    (run,) = done.data["runs"]
    assert (run["slice"], run["output"], list(run["groups"])) == (
        "full",
        "gen/eval",
        ["text", "pose", "camera", "vbench"],
    )
    pose = run["groups"]["pose"]
    assert pose["mean"]["akd"] == pytest.approx(4 / 160)
    assert (pose["n"]["akd"], pose["expected"], pose["scored"]) == (3, list(SAMPLES), list(SAMPLES))
    assert (pose["complete"], pose["computed"], pose["problems"]) == (True, 3, [])
    assert pose["dataset_revision"].startswith("sha256:")
    assert run["files"] == ["gen/eval/combined_results.csv", "gen/eval/combined_results.json"]


def test_seeds_and_the_next_step(place, pixelgate):
    shutil.rmtree(place / "gen")
    make_run(place / "gen", ("camera",), seeds=(0, 1))
    (place / "gen" / "seed_1" / "003.mp4").unlink()
    done = evaluate(pixelgate)
    assert done.status == 1
    assert "seed-0: gen/seed_0" in done.out.splitlines()
    assert done.out.splitlines()[-1] == "merge the seeds: pixelgate flexbench merge-seeds --generated-dir gen"
    assert done.err.startswith("error: seed-1, text, camera, vbench: gen/seed_1/003.mp4: the output is missing.")
    assert not (place / "gen" / "seed_summary.csv").exists()
    done = evaluate(pixelgate, "--seed", "0", "--seed", "0")
    assert done.status == 0
    assert "merge" not in done.out
    evaluate(pixelgate, "--allow-missing")
    merged = pixelgate("flexbench", "merge-seeds", "--generated-dir", "gen", "--allow-missing")
    assert merged.status == 0
    assert "left out: 003" in merged.err


@pytest.mark.parametrize(
    ("selectors", "groups"),
    [
        (("--camera",), ["camera"]),
        (("--pose", "--camera"), ["pose", "camera"]),
        (("--subject-consistency",), ["subject"]),
        (("--depth",), ["depth"]),
        (("--inpainting", "--metrics", "inpaint_mse,text_consistency,vbench_DD"), ["inpainting"]),
        ((), []),
    ],
)
def test_selectors_without_a_manifest(place, pixelgate, selectors, groups):
    (place / "gen" / "manifest.json").unlink()
    done = evaluate(pixelgate, "--dataset-dir", "ds", "--json", *selectors)
    assert done.status == 0
    assert list(done.data["runs"][0]["groups"]) == ["text", *groups, "vbench"]


def test_the_other_options(place, pixelgate):
    make_run(place / "gen", ("depth", "pose"))
    points = np.empty(FRAMES["001"], dtype=object)
    points[:] = list(keypoints(FRAMES["001"], 4.0))
    np.save(place / "gen" / "predictions" / "pose" / "001_pose.npy", points, allow_pickle=True)
    assert evaluate(pixelgate).status == 1
    done = evaluate(
        pixelgate,
        *("--allow-pickle", "--person-mask-dilation", "0.1", "--vbench-dimensions", "motion_smoothness dynamic_degree"),
        *("--shuffle-refs", "--verbose", "--show-video", "--output-dir", "out", "--json", "--predictions"),
        "gen/predictions",
    )
    groups = done.data["runs"][0]["groups"]
    assert list(groups["vbench"]["mean"]) == ["MS", "DD"]
    assert groups["depth"]["protocol"]["choices"][0] == "person_mask_dilation 0.1 instead of the protocol's 0.02"
    assert "each clip was held against the next sample's reference" in done.err
    assert (place / "out" / "pose" / "results.json").is_file()
    assert not (place / "gen" / "eval" / "pose").exists()
    assert json.loads((place / "out" / "combined_results.json").read_text())["groups"]["depth"]["protocol"]["choices"]
    assert (place / "out" / "show_video" / "depth" / "001.mp4").is_file()
    never = evaluate(pixelgate, "--allow-pickle", "--depth-person-mask", "never", "--json")
    choices = never.data["runs"][0]["groups"]["depth"]["protocol"]["choices"]
    assert choices == ["person_mask False instead of the protocol's True"]


def test_another_network_needs_its_weights(place, pixelgate, no_weights):
    make_run(place / "gen", ("inpainting",))
    done = evaluate(pixelgate, "--lpips-net", "vgg")
    assert (done.status, done.out) == (2, "")
    assert "vgg" in done.err
    assert not (place / "gen" / "eval").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--dataset-dir", "nowhere"), "error: nowhere: does not exist. [dataset] Name the data set's folder"),
        (("--dataset-dir", "gen"), "is the folder of the generated clips"),
        (("--predictions", "nowhere"), "error: nowhere: does not exist. [predictions-folder]"),
        (("--seed", "4"), "the run has no seed 4. [seeds] Its seeds: none"),
        (("--seed", "x"), "wanted a whole number of at least 0; got 'x'"),
        (("--person-mask-dilation", "2"), "wanted a number from 0 to 1; got '2'"),
        (("--person-mask-dilation", "nan"), "wanted a number from 0 to 1; got 'nan'"),
        (("--depth-person-mask", "perhaps"), "invalid choice: 'perhaps'"),
        (("--lpips-net", "resnet"), "invalid choice: 'resnet'"),
        (("--vbench-dimensions", "beauty"), "'beauty' is no VBench dimension of this protocol."),
        (("--metrics", "psnr"), "psnr"),
        (("--allow-deviation", "framerate"), "'framerate' is no deviation that fails a run"),
        (("--cache", "x", "--no-cache"), "not allowed with argument"),
        (("--output-dir", "gen/001.mp4"), "results cannot be written there"),
        (("--colour",), "unrecognized arguments: --colour"),
    ],
)
def test_mistakes(place, pixelgate, arguments, told):
    done = evaluate(pixelgate, *arguments)
    assert (done.status, done.out) == (2, "")
    assert told in done.err
    assert "Traceback" not in done.err
    assert not (place / "gen" / "eval").exists()


def test_a_wrong_folder(place, pixelgate):
    done = pixelgate("flexbench", "evaluate", "--generated-dir", "nowhere")
    assert (done.status, done.err.splitlines()[0][:31]) == (2, "error: nowhere: does not exist.")
    done = pixelgate("flexbench", "evaluate")
    assert "required: --generated-dir" in done.err


def test_progress_names_every_clip(place, pixelgate, monkeypatch):
    from pixelgate.commands.console import Progress

    told = []
    monkeypatch.setattr(Progress, "show", lambda self, text, last=False: told.append(text))
    evaluate(pixelgate, "--pose")
    assert [text for text in told if "flexbench-pose" in text] == [
        f"gen/flexbench-pose/full: sample {index} of 3, {sample}" for index, sample in enumerate(SAMPLES, 1)
    ]


def test_one_fault_is_named_with_the_way_to_accept_it(place, pixelgate):
    from evaluate_tools import CONFORMANCE

    copy(CONFORMANCE / "video" / "vfr.mp4", place / "ds" / "pose" / "001.mp4")
    done = evaluate(pixelgate, "--pose")
    assert done.status == 1
    assert "error: pose: 001: the clip has 8 frames per second, its condition" in done.err
    assert "error: pose: mend the outputs, or accept it with --allow-deviation frame-rate" in done.err
    assert done.err.count("the clip has 8 frames per second") == 1
    done = evaluate(pixelgate, "--pose", "--allow-deviation", "frame-rate,rotated")
    assert done.status == 0
    assert "warning: pose: 001: the clip has 8 frames per second" in done.err


def test_a_metric_without_a_mean_is_named(place, pixelgate):
    nobody = keypoints(FRAMES["002"])
    nobody[..., 2] = 0
    save_npy(place / "gen" / "predictions" / "pose" / "002_pose.npy", nobody)
    done = evaluate(pixelgate, "--pose")
    assert done.status == 1
    assert "error: pose: pose_akd has no mean: no value for 1 of 3 samples: 002 (002: " in done.err
