"""``<subfolder>_comparison.csv``: the best of every metric, and which configs may be compared."""

from __future__ import annotations

import pytest
from tables_tools import BY_HAND, SUBFOLDER, copy_config, read_json, rules, texts, write_group, write_run

from pixelgate.errors import InputError
from pixelgate.flexbench.configs import merge_configs
from pixelgate.flexbench.seeds import merge_seeds
from pixelgate.flexbench.table_columns import Column

ROT = Column("camera", "RotErr")


def config(base, name, rows, group="camera", seed=0):
    return write_run(base / name / "sd" / f"seed_{seed}" / "eval", **{group: rows})


def camera(**values):
    return {sample: {"RotErr": value} for sample, value in values.items()}


def marks(base):
    lines = (base / "sd_comparison.csv").read_text().splitlines()[2:]
    return {line.split(",")[0]: line.split(",")[1:] for line in lines}


@pytest.mark.parametrize(
    ("group", "metric", "best"),
    [
        ("camera", "RotErr", "small"),
        ("camera", "TransErr", "small"),
        ("camera", "CamMC", "small"),
        ("camera", "CamMC_per_frame", "small"),
        ("camera", "RotErr_rel", "small"),
        ("camera", "RotErr_chance", None),
        ("pose", "akd", "small"),
        ("pose", "pck@0.05", "large"),
        ("camera", "ref_max_trans", None),
        ("inpainting", "psnr", "large"),
        ("inpainting", "ssim", "large"),
        ("inpainting", "lpips", "small"),
        ("inpainting", "mse", "small"),
        ("depth", "delta1_acc", "large"),
        ("depth", "silog_rmse", "small"),
        ("depth", "made_up", None),
    ],
)
def test_the_mark_follows_the_direction_of_the_definition(group, metric, best, tmp_path):
    config(tmp_path, "small", {"a": {metric: 0.25}}, group)
    config(tmp_path, "large", {"a": {metric: 0.5}}, group)
    comparison = merge_configs(tmp_path, "sd", ["small", "large"])
    assert list(comparison.best.values()) == [(best,) if best else ()]
    assert marks(tmp_path) == {
        "small": ["0.2500*" if best == "small" else "0.2500"],
        "large": ["0.5000*" if best == "large" else "0.5000"],
    }


def test_all_of_a_tie_are_marked(tmp_path):
    config(tmp_path, "one", camera(a=0.3))
    config(tmp_path, "two", camera(a=0.1 + 0.2))
    for seed in range(3):
        config(tmp_path, "three", camera(a=0.3), seed=seed)
    config(tmp_path, "four", camera(a=0.4))
    comparison = merge_configs(tmp_path, "sd", ["one", "two", "three", "four"])
    assert comparison.best[ROT] == ("one", "two", "three")
    cells = {"one": ["0.3000*"], "two": ["0.3000*"], "three": ["0.3000 (0.0000)*"], "four": ["0.4000"]}
    assert marks(tmp_path) == cells


def test_unrounded_means_decide(tmp_path):
    config(tmp_path, "one", camera(a=0.30001))
    config(tmp_path, "two", camera(a=0.30002))
    merge_configs(tmp_path, "sd", ["two", "one"])
    assert list(marks(tmp_path).items()) == [("two", ["0.3000"]), ("one", ["0.3000*"])]


def test_the_only_config_with_a_value_is_not_the_best(tmp_path):
    config(tmp_path, "one", {"a": {"RotErr": 1.0, "TransErr": None}})
    config(tmp_path, "two", {"a": {"RotErr": 2.0, "TransErr": 5.0}})
    merge_configs(tmp_path, "sd", ["one", "two"])
    assert marks(tmp_path) == {"one": ["1.0000*", ""], "two": ["2.0000", "5.0000"]}


def test_configs_with_different_groups_are_told(tmp_path):
    config(tmp_path, "one", camera(a=1.0))
    config(tmp_path, "one", {"a": {"mae": 1.0}}, "depth")
    config(tmp_path, "two", camera(a=2.0))
    comparison = merge_configs(tmp_path, "sd", ["one", "two"])
    assert texts(comparison.notes, "missing-columns") == ["two: it has no depth_mae."]
    assert marks(tmp_path) == {"one": ["1.0000", "1.0000*"], "two": ["", "2.0000"]}


def test_configs_over_different_samples_are_refused(tmp_path):
    config(tmp_path, "one", camera(a=1.0, b=9.0))
    config(tmp_path, "two", camera(a=2.0, c=0.5))
    with pytest.raises(InputError) as error:
        merge_configs(tmp_path, "sd", ["one", "two"])
    assert rules(error) == ["config-samples"] * 2
    assert "one/seed_0 lacks the sample c" in str(error.value)
    assert "two/seed_0 lacks the sample b" in str(error.value)
    assert not (tmp_path / "sd_comparison.csv").exists()


def test_the_common_subset_is_averaged_again_where_allowed(tmp_path):
    config(tmp_path, "one", camera(a=1.0, b=9.0))
    config(tmp_path, "two", camera(a=2.0, c=0.5))
    comparison = merge_configs(tmp_path, "sd", ["one", "two"], allow_missing=True)
    assert marks(tmp_path) == {"one": ["1.0000*"], "two": ["2.0000"]}
    assert texts(comparison.notes, "common-subset")[0].endswith("1 of 3; left out: b, c.")
    assert read_json(tmp_path / "sd_comparison.json")["configs"]["one"]["samples"] == ["a"]


def test_seeds_of_one_config_over_different_samples_are_refused_too(tmp_path):
    config(tmp_path, "one", camera(a=1.0, b=9.0))
    config(tmp_path, "one", camera(a=1.0), seed=1)
    config(tmp_path, "two", camera(a=2.0, b=0.5))
    with pytest.raises(InputError, match="one/seed_1 lacks the sample b"):
        merge_configs(tmp_path, "sd", ["one", "two"])


def test_configs_scored_by_different_protocols(tmp_path):
    for name, version in (("one", "1"), ("two", "2")):
        folder = tmp_path / name / "sd" / "eval" / "camera"
        write_group(folder, camera(a=1.0), protocol={"id": "flexbench", "version": version})
    with pytest.raises(InputError, match="one/eval") as error:
        merge_configs(tmp_path, "sd", ["one", "two"])
    assert rules(error) == ["protocols-differ"]


@pytest.mark.parametrize(
    ("subfolder", "configs", "found"),
    [
        ("sd", [], [("configs", "0 config is given")]),
        ("sd", ["one"], [("configs", "1 config is given")]),
        ("sd", ["one", "one"], [("configs", "one is given twice")]),
        ("sd", ["one", "x", "y"], [("no-folder", "x/sd"), ("no-folder", "y/sd")]),
        ("other", ["one", "two"], [("no-folder", "one/other"), ("no-folder", "two/other")]),
        ("", ["one", "two"], [("subfolder", "''")]),
        ("../sd", ["one", "two"], [("subfolder", "'../sd'"), ("no-folder", ""), ("no-folder", "")]),
    ],
)
def test_wrong_names(subfolder, configs, found, tmp_path):
    config(tmp_path, "one", camera(a=1.0))
    config(tmp_path, "two", camera(a=1.0))
    with pytest.raises(InputError) as error:
        merge_configs(tmp_path, subfolder, configs)
    assert rules(error) == [rule for rule, _ in found]
    for problem, (_, told) in zip(error.value.problems, found, strict=True):
        assert told in str(problem).replace("\\", "/")


def test_an_empty_config_and_a_broken_one(tmp_path):
    config(tmp_path, "one", camera(a="x"))
    (tmp_path / "two" / "sd").mkdir(parents=True)
    with pytest.raises(InputError) as error:
        merge_configs(tmp_path, "sd", ["one", "two"])
    assert rules(error) == ["results-value", "no-runs"]


def test_a_config_name_that_a_spreadsheet_would_run(tmp_path):
    config(tmp_path, "=one", camera(a=1.0))
    config(tmp_path, "two", camera(a=2.0))
    comparison = merge_configs(tmp_path, "sd", ["=one", "two"])
    assert list(marks(tmp_path)) == ["'=one", "two"]
    assert len(texts(comparison.notes, "spreadsheet-guard")) == 1


def drop_runs(folder):
    for file in folder.rglob("results.json"):
        file.unlink()
    for entry in sorted(folder.rglob("*"), reverse=True):
        if entry.is_dir():
            entry.rmdir()


def merged(base, name, keep):
    """A config of which only the summary is left: its JSON, or its CSV alone."""
    folder = base / name / SUBFOLDER
    merge_seeds(folder)
    drop_runs(folder)
    (folder / ("seed_summary.csv" if keep == "json" else "seed_summary.json")).unlink()


@pytest.mark.parametrize("dropped", [("plain",), ("plain", "tuned")], ids="-".join)
def test_kept_summaries_give_the_same_table(dropped, tmp_path):
    for name in BY_HAND:
        copy_config(name, tmp_path)
    merge_configs(tmp_path, SUBFOLDER, BY_HAND)
    table = tmp_path / f"{SUBFOLDER}_comparison.csv"
    wanted = table.read_bytes()
    for name in dropped:
        merged(tmp_path, name, "json")
    comparison = merge_configs(tmp_path, SUBFOLDER, BY_HAND)
    assert table.read_bytes() == wanted
    assert texts(comparison.notes, "rounded") == []


def test_a_rounded_summary_is_told(tmp_path):
    for name in BY_HAND:
        copy_config(name, tmp_path)
    merge_configs(tmp_path, SUBFOLDER, BY_HAND)
    table = tmp_path / f"{SUBFOLDER}_comparison.csv"
    wanted = table.read_bytes()
    merged(tmp_path, "plain", "csv")
    comparison = merge_configs(tmp_path, SUBFOLDER, BY_HAND)
    assert table.read_bytes() == wanted
    (note,) = texts(comparison.notes, "rounded")
    assert note.startswith("plain/seed_summary.csv: ")
    assert "which samples they are over is not known" in note


def test_a_summary_over_other_samples_is_refused_and_cannot_be_averaged_again(tmp_path):
    config(tmp_path, "one", camera(a=1.0, b=9.0))
    config(tmp_path, "two", camera(a=2.0))
    merge_seeds(tmp_path / "one" / "sd")
    drop_runs(tmp_path / "one" / "sd")
    for allow_missing in (False, True):
        with pytest.raises(InputError, match="they differ in b") as error:
            merge_configs(tmp_path, "sd", ["one", "two"], allow_missing=allow_missing)
        assert rules(error) == ["config-samples"]


def test_a_summary_of_a_common_subset_is_refused(tmp_path):
    config(tmp_path, "one", camera(a=1.0, b=9.0))
    config(tmp_path, "one", camera(a=1.0), seed=1)
    config(tmp_path, "two", camera(a=2.0))
    merge_seeds(tmp_path / "one" / "sd", allow_missing=True)
    drop_runs(tmp_path / "one" / "sd")
    with pytest.raises(InputError, match="no values per sample") as error:
        merge_configs(tmp_path, "sd", ["one", "two"])
    assert rules(error) == ["config-samples"]


SUMMARY = ",camera\nmetric,RotErr ↓\nmean (std),1.5000 (0.1000)\nn,3\n"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("mean (std)", "average", "has no row 'mean (std)'"),
        ("1.5000 (0.1000)", "1.5000 (0.1", "is no mean and standard deviation"),
        ("1.5000 (0.1000)", "nan (0.1)", "is no mean and standard deviation"),
        ("1.5000 (0.1000)", "(0.1)", "is no mean and standard deviation"),
        ("1.5000 (0.1000)", "good", "'good' is no number"),
        ("n,3", "n,three", "its n is 'three'"),
        (SUMMARY, "", "two header rows"),
    ],
)
def test_a_broken_summary_table(old, new, told, tmp_path):
    config(tmp_path, "two", camera(a=2.0))
    (tmp_path / "one" / "sd").mkdir(parents=True)
    (tmp_path / "one" / "sd" / "seed_summary.csv").write_text(SUMMARY.replace(old, new))
    with pytest.raises(InputError, match=told.replace("(", r"\(").replace(")", r"\)")):
        merge_configs(tmp_path, "sd", ["one", "two"])


def test_a_foreign_summary_table_is_read(tmp_path):
    config(tmp_path, "two", camera(a=2.0))
    (tmp_path / "one" / "sd").mkdir(parents=True)
    text = SUMMARY.replace("n,3\n", "").replace("\n", "\r\n")
    (tmp_path / "one" / "sd" / "seed_summary.csv").write_bytes(text.encode())
    merge_configs(tmp_path, "sd", ["one", "two"])
    assert marks(tmp_path) == {"one": ["1.5000 (0.1000)*"], "two": ["2.0000"]}


@pytest.mark.parametrize("text", ["{", "[]", '{"metrics": {}}', '{"metrics": {"x": 3}, "seeds": []}'])
def test_a_broken_summary_file(text, tmp_path):
    config(tmp_path, "two", camera(a=2.0))
    (tmp_path / "one" / "sd").mkdir(parents=True)
    (tmp_path / "one" / "sd" / "seed_summary.json").write_text(text)
    with pytest.raises(InputError, match=r"seed_summary\.json"):
        merge_configs(tmp_path, "sd", ["one", "two"])
