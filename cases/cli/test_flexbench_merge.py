"""``pixelgate flexbench merge-seeds`` and ``merge-configs``."""

from __future__ import annotations

import importlib
import json

import pytest

for family in ("camera", "consistency", "depth", "inpainting", "pose", "vbench"):
    importlib.import_module(f"pixelgate.metrics.{family}")


@pytest.fixture
def results(home):
    """Two configs with ``sd/seed_<N>/eval/<group>/results.json``: ``one`` with two seeds, ``two`` with one."""
    scores = {
        ("one", 0): {"a": (0.2, 1.0), "b": (0.4, 3.0)},
        ("one", 1): {"a": (0.3, 3.0), "b": (0.5, 5.0)},
        ("two", 0): {"a": (0.5, 4.0), "b": (0.5, 4.0)},
    }
    for (config, seed), rows in scores.items():
        for group, metric, place in (("text", "consistency", 0), ("camera", "RotErr", 1)):
            folder = home / "results" / config / "sd" / f"seed_{seed}" / "eval" / group
            folder.mkdir(parents=True)
            per_sample = {sample: {metric: row[place]} for sample, row in rows.items()}
            (folder / "results.json").write_text(json.dumps({"mean": {}, "per_sample": per_sample}))
    return home / "results"


def drop_sample(results, config, seed, sample="b"):
    for group in ("text", "camera"):
        file = results / config / "sd" / f"seed_{seed}" / "eval" / group / "results.json"
        data = json.loads(file.read_text())
        del data["per_sample"][sample]
        file.write_text(json.dumps(data))


def test_merge_seeds(results, pixelgate):
    done = pixelgate("flexbench", "merge-seeds", "--generated-dir", "results/one/sd")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == [
        "seeds: seed_0, seed_1   samples: 2",
        "group   metric         mean (std)       n",
        "text    consistency ↑  0.3500 (0.0707)  2",
        "camera  RotErr ↓       3.0000 (1.4142)  2",
        "written: results/one/sd/seed_summary.csv",
        "written: results/one/sd/seed_summary.json",
    ]
    assert (results / "one" / "sd" / "seed_summary.csv").read_text().endswith("\nn,2,2\n")


def test_merge_seeds_as_json(results, pixelgate):
    done = pixelgate("flexbench", "merge-seeds", "--generated-dir", results / "one" / "sd", "--json")
    assert done.data["metrics"]["camera_RotErr"]["mean"] == 3.0
    assert done.data["files"] == [str(results / "one" / "sd" / f"seed_summary.{suffix}") for suffix in ("csv", "json")]


def test_merge_seeds_over_different_samples(results, pixelgate):
    drop_sample(results, "one", 1)
    done = pixelgate("flexbench", "merge-seeds", "--generated-dir", "results/one/sd")
    assert (done.status, done.out) == (2, "")
    assert "seed_1 lacks the sample b, which others have. [seed-samples]" in done.err
    assert "--allow-missing" in done.err
    done = pixelgate("flexbench", "merge-seeds", "--generated-dir", "results/one/sd", "--allow-missing")
    assert done.status == 0
    assert "warning: text_consistency, camera_RotErr: averaged over the samples" in done.err
    assert "1 of 2; left out: b. [common-subset]" in done.err
    assert "samples: 1" in done.out


def test_merge_configs(results, pixelgate):
    done = pixelgate(
        *("flexbench", "merge-configs", "--base-dir", "results", "--subfolder", "sd", "--configs", "one", "two")
    )
    assert done.status == 0
    assert done.out.splitlines() == [
        "subfolder: sd   samples: 2   * best",
        "group   metric         one               two",
        "text    consistency ↑  0.3500 (0.0707)   0.5000*",
        "camera  RotErr ↓       3.0000 (1.4142)*  4.0000",
        "written: results/sd_comparison.csv",
        "written: results/sd_comparison.json",
    ]
    assert "different numbers of seeds: one 2, two 1. [seed-counts]" in done.err
    assert (results / "sd_comparison.csv").read_text().splitlines()[3] == "two,0.5000*,4.0000"


def test_the_base_folder_is_the_current_one(results, pixelgate, monkeypatch):
    monkeypatch.chdir(results)
    done = pixelgate("flexbench", "merge-configs", "--subfolder", "sd", "--configs", "two", "one", "--json")
    assert done.data["metrics"]["camera_RotErr"]["best"] == ["one"]
    assert list(done.data["configs"]) == ["two", "one"]
    assert done.data["files"] == ["sd_comparison.csv", "sd_comparison.json"]
    assert (results / "sd_comparison.csv").is_file()


def test_merge_configs_over_different_samples(results, pixelgate):
    drop_sample(results, "two", 0)
    arguments = ("flexbench", "merge-configs", "--base-dir", "results", "--subfolder", "sd", "--configs", "one", "two")
    done = pixelgate(*arguments)
    assert (done.status, done.out) == (2, "")
    assert "two/seed_0 lacks the sample b" in done.err
    done = pixelgate(*arguments, "--allow-missing")
    assert done.status == 0
    assert "camera  RotErr ↓       2.0000 (1.4142)*  4.0000" in done.out.splitlines()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("merge-seeds", "--generated-dir", "nowhere"), "error: nowhere: is no folder. [no-folder]"),
        (("merge-configs", "--subfolder", "sd", "--configs", "one", "two"), "error: one/sd: is no folder. [no-folder]"),
        (("merge-configs", "--subfolder", "sd", "--configs", "one"), "Give two or more configs"),
        (("merge-configs", "--subfolder", "sd"), "required: --configs"),
        (("merge-seeds",), "required: --generated-dir"),
    ],
)
def test_mistakes(arguments, told, pixelgate):
    done = pixelgate("flexbench", *arguments)
    assert (done.status, done.out) == (2, "")
    assert told in done.err
