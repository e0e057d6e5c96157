"""``seed_summary.csv``: which seeds are merged, over which samples, and what is refused."""

from __future__ import annotations

import json

import pytest
from tables_tools import copy_config, read_json, rules, texts, write_group, write_run

from pixelgate.errors import InputError
from pixelgate.flexbench.combined import combine
from pixelgate.flexbench.runs import read_runs
from pixelgate.flexbench.seeds import merge_seeds, summarise
from pixelgate.flexbench.table_columns import Column

MAE = Column("depth", "mae")
TEXT = Column("text", "consistency")


def seed(root, number, **groups):
    return write_run(root / f"seed_{number}" / "eval", **groups)


def depth(**values):
    return {sample: {"mae": value} for sample, value in values.items()}


def consistency(**values):
    return {sample: {"consistency": value} for sample, value in values.items()}


def test_by_hand(tmp_path):
    seed(tmp_path, 0, depth=depth(a=1.0, b=3.0))
    seed(tmp_path, 1, depth=depth(a=3.0, b=5.0))
    summary = merge_seeds(tmp_path)
    averages = summary.columns[MAE]
    assert averages.averages == {"seed_0": 2.0, "seed_1": 4.0}
    assert (averages.mean, averages.std, averages.n) == (3.0, pytest.approx(2**0.5), 2)
    text = ",depth\nmetric,mae ↓\nmean (std),3.0000 (1.4142)\nn,2\n"
    assert (tmp_path / "seed_summary.csv").read_bytes() == text.encode()
    data = read_json(tmp_path / "seed_summary.json")
    assert (data["seeds"], data["ddof"], data["samples"]) == (["seed_0", "seed_1"], 1, ["a", "b"])
    assert data["metrics"]["depth_mae"] == {
        "group": "depth",
        "metric": "mae",
        "direction": "lower",
        "mean": 3.0,
        "std": averages.std,
        "n": 2,
        "averages": {"seed_0": 2.0, "seed_1": 4.0},
        "samples": {"seed_0": 2, "seed_1": 2},
        "averaged_over": None,
    }


def test_seeds_are_ordered_by_number(tmp_path):
    for number in (10, 2, 1):
        seed(tmp_path, number, depth=depth(a=1.0))
    assert merge_seeds(tmp_path).seeds == ("seed_1", "seed_2", "seed_10")


def test_a_run_without_seeds_is_one_seed(tmp_path):
    write_run(tmp_path / "eval", depth=depth(a=1.0))
    summary = merge_seeds(tmp_path)
    assert (summary.seeds, summary.columns[MAE].n, summary.columns[MAE].std) == (("eval",), 1, None)
    assert "mean (std),1.0000\nn,1\n" in (tmp_path / "seed_summary.csv").read_text()


def test_a_column_without_a_value_in_one_seed(tmp_path):
    seed(tmp_path, 0, depth={"a": {"mae": 1.0, "rmse_linear": None}})
    seed(tmp_path, 1, depth={"a": {"mae": 2.0, "rmse_linear": 7.0}})
    seed(tmp_path, 2, depth={"a": {"mae": 3.0, "rmse_linear": 9.0}})
    averages = merge_seeds(tmp_path).columns[Column("depth", "rmse_linear")]
    assert (averages.mean, averages.n) == (8.0, 2)
    assert averages.averages["seed_0"] is None


def test_a_column_without_any_value(tmp_path):
    seed(tmp_path, 0, depth={"a": {"mae": 1.0, "rmse_linear": None}})
    merge_seeds(tmp_path)
    assert (tmp_path / "seed_summary.csv").read_text().splitlines()[2:] == ["mean (std),1.0000,", "n,1,0"]


def test_unrounded_numbers_are_merged(tmp_path):
    # Rounded to 4 decimals both seeds would be 0.0000, and the spread with them.
    seed(tmp_path, 0, text=consistency(a=0.00001))
    seed(tmp_path, 1, text=consistency(a=0.00003))
    for number in (0, 1):
        combine(tmp_path / f"seed_{number}" / "eval")
    assert merge_seeds(tmp_path).columns[TEXT].mean == pytest.approx(0.00002, rel=1e-12)
    for number in (0, 1):
        (tmp_path / f"seed_{number}" / "eval" / "text" / "results.json").unlink()
    summary = merge_seeds(tmp_path)
    assert set(summary.sources.values()) == {"combined-json"}
    assert summary.columns[TEXT].mean == pytest.approx(0.00002, rel=1e-12)
    assert texts(summary.notes, "rounded") == []


def test_seeds_with_different_samples_are_refused_with_both_names(tmp_path):
    seed(tmp_path, 0, depth=depth(a=1.0, b=3.0, c=8.0))
    seed(tmp_path, 1, depth=depth(a=3.0, c=5.0, d=1.0))
    with pytest.raises(InputError) as error:
        merge_seeds(tmp_path)
    assert rules(error) == ["seed-samples"] * 2
    assert "seed_0 lacks the sample d, which others have" in str(error.value)
    assert "seed_1 lacks the sample b, which others have" in str(error.value)
    assert "--allow-missing" in str(error.value)
    assert not (tmp_path / "seed_summary.csv").exists()


def test_the_common_subset_is_used_and_named_where_allowed(tmp_path):
    seed(tmp_path, 0, depth=depth(a=1.0, b=3.0, c=8.0))
    seed(tmp_path, 1, depth=depth(a=3.0, c=5.0, d=1.0))
    summary = merge_seeds(tmp_path, allow_missing=True)
    assert summary.samples == ("a", "c")
    assert summary.columns[MAE].averages == {"seed_0": 4.5, "seed_1": 4.0}
    assert texts(summary.notes, "common-subset") == [
        "depth_mae: averaged over the samples with a value in every run, 2 of 4; left out: b, d."
    ]
    data = read_json(tmp_path / "seed_summary.json")
    assert data["common_subset"] is True
    assert data["metrics"]["depth_mae"]["averaged_over"] == ["a", "c"]


def test_single_missing_values_are_noted_and_left_out_everywhere_where_allowed(tmp_path):
    seed(tmp_path, 0, text=consistency(a=0.1, b=0.2), depth=depth(a=1.0, b=None))
    seed(tmp_path, 1, text=consistency(a=0.3, b=0.4), depth=depth(a=3.0, b=5.0))
    summary = merge_seeds(tmp_path)
    assert summary.columns[MAE].averages == {"seed_0": 1.0, "seed_1": 4.0}
    assert texts(summary.notes, "missing-values") == ["seed_0: depth_mae: no value for b; averaged over the rest."]
    common = merge_seeds(tmp_path, allow_missing=True)
    assert common.columns[MAE].averages == {"seed_0": 1.0, "seed_1": 3.0}
    assert common.columns[TEXT] == summary.columns[TEXT]


@pytest.mark.parametrize(
    "told", [{"failed": {"b": "truncated"}}, {"missing_output": ["b"]}, {"missing_reference": ["b"]}, {}], ids=str
)
def test_a_sample_that_a_group_tells_as_lost_is_a_difference(told, tmp_path):
    for number in (0, 1):
        seed(tmp_path, number, text=consistency(a=0.1, b=0.2), depth=depth(a=1.0, b=2.0))
    write_group(tmp_path / "seed_1" / "eval" / "depth", depth(a=4.0), expected=["a", "b"], **told)
    with pytest.raises(InputError, match="seed_1 lacks the sample b in depth, which others have"):
        merge_seeds(tmp_path)
    assert merge_seeds(tmp_path, allow_missing=True).columns[MAE].averages == {"seed_0": 1.0, "seed_1": 4.0}


def test_a_sample_lost_in_every_seed_is_no_difference(tmp_path):
    for number in (0, 1):
        seed(tmp_path, number, text=consistency(a=0.1, b=0.2))
        folder = tmp_path / f"seed_{number}" / "eval" / "depth"
        write_group(folder, depth(a=1.0), expected=["a", "b"], failed={"b": "truncated"})
    assert merge_seeds(tmp_path).columns[MAE].n == 2


def test_no_common_sample(tmp_path):
    seed(tmp_path, 0, depth=depth(a=1.0))
    seed(tmp_path, 1, depth=depth(b=1.0))
    with pytest.raises(InputError, match="no sample that all runs have"):
        merge_seeds(tmp_path, allow_missing=True)


def test_seeds_with_different_groups(tmp_path):
    seed(tmp_path, 0, depth=depth(a=1.0), text=consistency(a=0.5))
    seed(tmp_path, 1, depth=depth(a=3.0))
    with pytest.raises(InputError, match="seed_1 has no text_consistency") as error:
        merge_seeds(tmp_path)
    assert rules(error) == ["seed-columns"]
    summary = merge_seeds(tmp_path, allow_missing=True)
    assert (summary.columns[TEXT].mean, summary.columns[TEXT].n) == (0.5, 1)
    assert texts(summary.notes, "missing-columns") == ["seed_1: it has no text_consistency."]


def manifest(root, seeds):
    root.mkdir(exist_ok=True)
    (root / "manifest.json").write_text(json.dumps({"run": {"conditions": ["depth"], "seeds": seeds}}))


def test_a_seed_of_the_manifest_that_is_not_there(tmp_path):
    manifest(tmp_path, [0, 1, 2])
    seed(tmp_path, 0, depth=depth(a=1.0))
    with pytest.raises(InputError, match="there is no seed_1, seed_2") as error:
        merge_seeds(tmp_path)
    assert rules(error) == ["missing-seed"]
    summary = merge_seeds(tmp_path, allow_missing=True)
    assert [note.subject for note in summary.notes if note.rule == "missing-seed"] == ["seed_1", "seed_2"]
    assert merge_seeds(tmp_path, seeds=[0]).seeds == ("seed_0",)


def test_a_seed_that_the_manifest_does_not_list(tmp_path):
    manifest(tmp_path, [0])
    seed(tmp_path, 0, depth=depth(a=1.0))
    seed(tmp_path, 7, depth=depth(a=1.0))
    with pytest.raises(InputError, match="seed_7 is there and none of the run's seeds") as error:
        merge_seeds(tmp_path, allow_missing=True)
    assert rules(error) == ["unlisted-seed"]


@pytest.mark.parametrize(
    ("build", "rule", "told"),
    [
        (lambda root: None, "no-folder", "is no folder"),
        (lambda root: root.mkdir(), "no-runs", "holds no seed_<N> folder and no eval"),
        (lambda root: (root / "seed_x").mkdir(parents=True), "no-runs", "holds no seed_<N> folder"),
        (lambda root: (root / "seed_0").mkdir(parents=True), "no-results", "is no folder"),
        (lambda root: (root / "seed_0" / "eval").mkdir(parents=True), "no-results", "holds no group's results and no"),
        (lambda root: [(root / name).mkdir(parents=True) for name in ("seed_1", "seed_01")], "seed-twice", "same seed"),
        (lambda root: (root.mkdir(), (root / "eval").write_text("")), "no-runs", "holds no seed_<N> folder"),
    ],
)
def test_nothing_to_merge(build, rule, told, tmp_path):
    build(tmp_path / "run")
    with pytest.raises(InputError, match=told) as error:
        merge_seeds(tmp_path / "run")
    assert rules(error) == [rule]


def test_problems_of_all_seeds_are_listed(tmp_path):
    for number in (0, 1):
        seed(tmp_path, number, depth=depth(a="x"))
    (tmp_path / "seed_2").mkdir()
    with pytest.raises(InputError) as error:
        merge_seeds(tmp_path)
    assert rules(error) == ["results-value", "results-value", "no-results"]


def test_seeds_scored_by_different_protocols(tmp_path):
    for number, version in ((0, "1"), (1, "2")):
        folder = tmp_path / f"seed_{number}" / "eval" / "depth"
        write_group(folder, depth(a=1.0), protocol={"id": "flexbench", "version": version, "device": f"cuda:{number}"})
    with pytest.raises(InputError, match=r'seed_0: \{"id": "flexbench"') as error:
        merge_seeds(tmp_path, allow_missing=True)
    assert rules(error) == ["protocols-differ"]
    write_group(tmp_path / "seed_1" / "eval" / "depth", depth(a=1.0), protocol={"id": "flexbench", "version": "1"})
    assert merge_seeds(tmp_path).columns[MAE].n == 2


def test_ids_that_look_like_numbers_stay_text(tmp_path):
    seed(tmp_path, 0, depth={"001": {"mae": 1.0}, "10": {"mae": 1.0}, "9": {"mae": 1.0}})
    seed(tmp_path, 1, depth={"1": {"mae": 1.0}, "10": {"mae": 1.0}, "9": {"mae": 1.0}})
    with pytest.raises(InputError, match="seed_0 lacks the sample 1, which others have"):
        merge_seeds(tmp_path)
    assert merge_seeds(tmp_path, allow_missing=True).samples == ("10", "9")


def test_merging_again_gives_the_same_files(tmp_path):
    folder = copy_config("lora-switch", tmp_path)
    merge_seeds(folder)
    first = [(folder / name).read_bytes() for name in ("seed_summary.csv", "seed_summary.json")]
    merge_seeds(folder)
    assert [(folder / name).read_bytes() for name in ("seed_summary.csv", "seed_summary.json")] == first


def test_the_order_of_seeds_does_not_matter(tmp_path):
    runs = read_runs(copy_config("lora-switch", tmp_path))
    from pixelgate.flexbench.common_samples import choose_subset

    names = {str(run.folder): run.name for run in runs}
    subset = choose_subset(runs, names, "seed-samples", allow_missing=False)
    one, other = summarise(runs, subset), summarise(runs[::-1], subset)
    assert list(one.columns) == list(other.columns)
    for column, averages in one.columns.items():
        assert (averages.mean, averages.n) == (other.columns[column].mean, other.columns[column].n)
        assert averages.std == other.columns[column].std


def test_a_run_without_a_complete_group_names_it(tmp_path):
    (tmp_path / "seed_0" / "eval").mkdir(parents=True)
    told = {"groups": {}, "incomplete": {"pose": {"reason": "missing-output"}}}
    (tmp_path / "seed_0" / "eval" / "combined_results.json").write_text(json.dumps(told))
    with pytest.raises(InputError, match="no group of that run is complete: pose") as error:
        merge_seeds(tmp_path)
    assert rules(error) == ["incomplete"]


def test_seeds_with_other_choices_are_refused(tmp_path):
    for number, choices in ((0, ["lpips.net vgg"]), (1, [])):
        folder = seed(tmp_path, number, depth=depth(a=1.0)) or tmp_path / f"seed_{number}" / "eval"
        file = folder / "depth" / "results.json"
        data = read_json(file)
        protocol = {"id": "flexbench", "version": "1", "params_sha256": "0"}
        data["protocol"] = {**protocol, "choices": choices} if choices else protocol
        file.write_text(json.dumps(data))
    with pytest.raises(InputError) as error:
        merge_seeds(tmp_path)
    assert rules(error) == ["protocols-differ"]
