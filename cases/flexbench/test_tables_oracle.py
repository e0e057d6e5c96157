"""FlexBench's tables against the reference tables, byte for byte, and their numbers in full."""

from __future__ import annotations

import json

import pytest
from tables_tools import BY_HAND, PUBLISHED, SUBFOLDER, TABLES, copy_config, read_json, root_of

from pixelgate.flexbench.combined import combine
from pixelgate.flexbench.configs import merge_configs
from pixelgate.flexbench.seeds import merge_seeds
from pixelgate.flexbench.table_columns import direction_of

VALUES = json.loads((TABLES / "values.json").read_text())["cases"]
WORDS = {"up": "higher", "down": "lower", "none": "none"}
SEEDS = [(config, seed.name) for config in (*PUBLISHED, *BY_HAND) for seed in sorted(root_of(config).glob("seed_*"))]


@pytest.mark.parametrize(("config", "seed"), SEEDS)
def test_the_combined_table(config, seed, tmp_path):
    folder = copy_config(config, tmp_path) / seed / "eval"
    combined = combine(folder)
    wanted = (root_of(config) / seed / "expected_combined_results.csv").read_bytes()
    assert (folder / "combined_results.csv").read_bytes() == wanted
    assert combined.samples == tuple(line.split(",")[0] for line in wanted.decode().splitlines()[3:])


@pytest.mark.parametrize("config", [*PUBLISHED, *BY_HAND])
def test_the_seed_summary(config, tmp_path):
    folder = copy_config(config, tmp_path)
    merge_seeds(folder)
    assert (folder / "seed_summary.csv").read_bytes() == (root_of(config) / "expected_seed_summary.csv").read_bytes()


@pytest.mark.parametrize("configs", [PUBLISHED, BY_HAND], ids="-".join)
def test_the_comparison(configs, tmp_path):
    for config in configs:
        copy_config(config, tmp_path)
    merge_configs(tmp_path, SUBFOLDER, configs)
    wanted = root_of(configs[0]).parent / "expected_comparison.csv"
    assert (tmp_path / f"{SUBFOLDER}_comparison.csv").read_bytes() == wanted.read_bytes()


@pytest.mark.parametrize("config", PUBLISHED)
def test_the_summary_holds_the_reference_numbers_in_full(config, tmp_path):
    folder = copy_config(config, tmp_path)
    merge_seeds(folder)
    data = read_json(folder / "seed_summary.json")
    assert data["ddof"] == 1
    assert list(data["metrics"]) == list(VALUES["directions"])
    for metric, wanted in VALUES["seed_summary"][config].items():
        got = data["metrics"][metric]
        assert got["mean"] == pytest.approx(wanted["mean"], rel=1e-12, abs=0)
        assert got["n"] == wanted["n"]
        if wanted["std"] is None:
            assert got["std"] is None
        else:
            assert got["std"] == pytest.approx(wanted["std"], rel=1e-12, abs=0)


@pytest.mark.parametrize("config", ["lora-switch", "lora-direct-merge"])
def test_rounded_tables_alone_give_the_rounded_numbers_and_a_note(config, tmp_path):
    folder = tmp_path / config
    for seed in root_of(config).glob("seed_*"):
        (folder / seed.name / "eval").mkdir(parents=True)
        table = (seed / "expected_combined_results.csv").read_bytes()
        (folder / seed.name / "eval" / "combined_results.csv").write_bytes(table)
    summary = merge_seeds(folder)
    assert set(summary.sources.values()) == {"combined-csv"}
    assert sum(note.rule == "rounded" for note in summary.notes) == 3
    # The reference merges the rounded averages; ours are taken over the rounded samples. Both are rounded at the same
    # digit, so they lie within half of it of each other.
    for column, averages in summary.columns.items():
        wanted = VALUES["seed_summary_from_rounded_csv"][config][column.id]
        assert averages.mean == pytest.approx(wanted["mean"], abs=10.0**-column.decimals)
        assert averages.n == wanted["n"]


def test_the_comparison_holds_the_best_in_full(tmp_path):
    for config in PUBLISHED:
        copy_config(config, tmp_path)
    merge_configs(tmp_path, SUBFOLDER, PUBLISHED)
    data = read_json(tmp_path / f"{SUBFOLDER}_comparison.json")
    assert {metric: one["best"] for metric, one in data["metrics"].items()} == VALUES["best"]
    for config in PUBLISHED:
        for metric, wanted in VALUES["seed_summary"][config].items():
            got = data["metrics"][metric]["configs"][config]
            assert got["mean"] == pytest.approx(wanted["mean"], rel=1e-12, abs=0)


def test_directions_are_those_of_the_reference():
    got = {metric: direction_of(*metric.split("_", 1)) for metric in VALUES["directions"]}
    assert got == {metric: WORDS[word] for metric, word in VALUES["directions"].items()}


@pytest.mark.parametrize(
    ("group", "metric", "direction"),
    [
        ("pose", "akd", "lower"),
        ("depth", "mae", "lower"),
        ("depth", "rmse_linear", "lower"),
        ("inpainting", "lpips", "lower"),
        ("inpaint", "mse", "lower"),
        ("inpaint", "mae", "lower"),
        ("camera", "TransErr_rel", "lower"),
        ("camera", "CamMC_per_frame", "lower"),
        ("camera", "CamMC_chance", "none"),
        ("camera", "no_such_metric", None),
        ("aesthetics", "lpips", None),
    ],
)
def test_direction(group, metric, direction):
    assert direction_of(group, metric) == direction
