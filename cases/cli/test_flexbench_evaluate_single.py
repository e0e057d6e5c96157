"""``pixelgate flexbench depth``, ``pose`` …: each evaluator alone."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "flexbench"))
from evaluate_tools import SAMPLES, make_dataset, make_run, oracle, vbench


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("data") / "ds")


@pytest.fixture
def place(home, dataset):
    shutil.copytree(dataset, home / "ds")
    (make_run(home / "gen") / "manifest.json").unlink()
    return home


def results(folder):
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("group", "options", "metric"),
    [
        ("text", ("--dataset-dir", "ds"), "consistency"),
        ("subject", ("--subject-dir", "ds/subject"), "clip"),
        ("subject", ("--dataset-dir", "ds"), "dino"),
        ("depth", ("--dataset-dir", "ds/depth"), "mae"),
        ("pose", ("--dataset-dir", "ds/pose/raw", "--cond-video-dir", "ds/pose"), "akd"),
        ("camera", ("--dataset-dir", "ds/camera"), "RotErr"),
        ("inpainting", ("--dataset-dir", "ds/inpainting", "--metrics", "inpaint_mse"), "mse"),
        ("vbench", ("--dataset-dir", "ds"), "SuC"),
    ],
)
def test_each_group(place, pixelgate, group, options, metric):
    done = pixelgate("flexbench", group, "--generated-dir", "gen", *options, "--output-dir", "out")
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    assert f"{group:<{max(5, len(group))}}  3         3       0                  0" in done.out
    assert "written: out/results.csv" in lines
    mean, table = results(place / "out")["mean"][metric], (place / "out" / "results.csv").read_text().splitlines()
    head = table[0].split(",")
    assert (head[0], table[1].split(",")[0]) == ("sample_id", "average")
    assert float(table[1].split(",")[head.index(metric)]) == mean
    assert [row.split(",")[0] for row in table[2:]] == list(SAMPLES)
    assert not (place / "gen" / "eval").exists()


def test_results_go_beside_the_clips(place, pixelgate):
    done = pixelgate("flexbench", "camera", "--generated-dir", "gen", "--dataset-dir", "ds")
    assert (done.status, done.err) == (0, "")
    assert results(place / "gen" / "eval" / "camera")["n"]["RotErr"] == 3


def test_seeds_have_their_own_folders(place, pixelgate):
    make_run(place / "seeds", ("camera",), seeds=(0, 3))
    done = pixelgate("flexbench", "camera", "--generated-dir", "seeds", "--output-dir", "out")
    assert done.status == 0
    assert [results(place / "out" / f"seed_{seed}")["mean"]["RotErr"] for seed in (0, 3)] == [
        pytest.approx(0.5),
        pytest.approx(1.0),
    ]
    done = pixelgate("flexbench", "camera", "--generated-dir", "seeds", "--seed", "3")
    assert (place / "seeds" / "seed_3" / "eval" / "camera" / "results.json").is_file()
    assert not (place / "seeds" / "seed_0" / "eval").exists()


def test_masks_of_people_from_a_folder(place, pixelgate):
    (place / "gen" / "predictions" / "person_masks").rename(place / "masks")
    command = ("flexbench", "depth", "--generated-dir", "gen", "--dataset-dir", "ds/depth", "--output-dir")
    plain = pixelgate(*command, "out/plain", "--json").data["runs"][0]["groups"]["depth"]
    done = pixelgate(*command, "out/masked", "--exclude-mask-dir", "masks", "--show-video", "--json")
    assert done.status == 0
    masked = done.data["runs"][0]["groups"]["depth"]
    assert masked["mean"]["mae"] != plain["mean"]["mae"]
    assert masked["protocol"]["choices"] == ["person_mask True instead of the protocol's False"]
    assert (place / "out" / "masked" / "show_video" / "003.png").is_file()
    (place / "masks" / "002.npz").unlink()
    done = pixelgate(*command, "out/masked", "--exclude-mask-dir", "masks")
    assert done.status == 1
    assert (
        "error: depth: masks: there is no person_masks prediction of the clip '002'. [missing-prediction]" in done.err
    )
    assert not (place / "out" / "masked").exists()
    done = pixelgate(*command, "out/masked", "--exclude-mask-dir", "nowhere")
    assert (done.status, done.err.splitlines()[0]) == (
        2,
        "error: nowhere: is no folder. [exclude-mask-dir] Name the folder of the masks.",
    )
    done = pixelgate(*command, "out/x", "--exclude-mask-dir", "masks", "--depth-person-mask", "never")
    assert "--exclude-mask-dir is given, and --depth-person-mask never." in done.err


def test_vbench_results_of_a_run_are_imported(place, pixelgate):
    shutil.rmtree(place / "gen" / "predictions")
    file = vbench(place / "elsewhere" / "results_2026_eval_results.json")
    command = ("flexbench", "vbench", "--generated-dir", "gen", "--dataset-dir", "ds", "--output-dir", "out")
    done = pixelgate(*command, "--results", file, "--json")
    assert done.status == 0, done.err
    wanted = oracle("vbench")["cases"]["results_01_normal"]["table"]
    assert results(place / "out")["per_sample"] == {
        sample: {name: pytest.approx(value) for name, value in wanted[sample].items()} for sample in SAMPLES
    }
    done = pixelgate(*command, "--results", file, "--vbench-dimensions", "dynamic_degree", "--json")
    assert results(place / "out")["mean"] == {"DD": pytest.approx(200 / 3)}
    # A run over other clips: the sample without a row has failed, and its words say so.
    content = json.loads(file.read_text())
    for _, videos in content.values():
        del videos[1]
    file.write_text(json.dumps(content))
    done = pixelgate(*command, "--results", file)
    assert done.status == 1
    assert "has no result of the clip '002' (it has 2 others). [missing-prediction]" in done.err
    assert "vbench: missing prediction: 002" in done.out.splitlines()
    done = pixelgate(*command, "--results", "gone_eval_results.json")
    assert (done.status, done.err.splitlines()[0][:51]) == (2, "error: gone_eval_results.json: is no file. [not-a-f")


def test_a_group_that_cannot_run_is_an_error(place, pixelgate):
    shutil.rmtree(place / "gen" / "predictions" / "pose")
    done = pixelgate("flexbench", "pose", "--generated-dir", "gen", "--dataset-dir", "ds")
    assert (done.status, done.out) == (2, "")
    assert "no group can be scored. pose (full): no pose predictions are in" in done.err
    done = pixelgate("flexbench", "camera", "--generated-dir", "gen", "--dataset-dir", "ds/inpainting")
    assert "the data set has no reference for it" in done.err


def test_numbers_that_no_longer_fit_the_combined_table_are_told(place, pixelgate):
    command = ("--generated-dir", "gen", "--dataset-dir", "ds")
    assert pixelgate("flexbench", "evaluate", *command, "--camera", "--verbose").status == 0
    done = pixelgate("flexbench", "camera", *command)
    assert (done.status, done.err) == (0, "")
    done = pixelgate("flexbench", "camera", *command, "--metrics", "camera_RotErr")
    assert done.status == 0
    assert "warning: gen/eval/combined_results.csv: camera_" in done.err
    assert "[stale-table]" in done.err


@pytest.mark.parametrize(
    ("group", "arguments", "told"),
    [
        ("subject", ("--dataset-dir", "ds", "--subject-dir", "ds"), "--dataset-dir and --subject-dir are both given."),
        ("pose", ("--dataset-dir", "ds/pose/raw", "--cond-video-dir", "no"), "error: no: does not exist. [dataset]"),
        ("depth", (), "has no manifest.json that names the data set"),
        ("depth", ("--lpips-net", "vgg"), "unrecognized arguments: --lpips-net vgg"),
        ("camera", ("--dataset-dir", "ds", "--metrics", "depth_mae"), "the metrics asked for are of none of the run's"),
    ],
)
def test_mistakes(place, pixelgate, group, arguments, told):
    done = pixelgate("flexbench", group, "--generated-dir", "gen", *arguments)
    assert (done.status, done.out) == (2, "")
    assert told in done.err


@pytest.mark.parametrize("group", ["text", "subject", "depth", "pose", "camera", "inpainting", "vbench"])
def test_help(pixelgate, group):
    done = pixelgate("flexbench", group, "--help")
    assert done.status == 0
    assert f"DIR/eval/{group}/" in done.out
