"""``combined_results.csv`` and the accounting beside it."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables_tools import copy_config, read_json, rules, texts, write_group, write_run

from pixelgate.errors import InputError
from pixelgate.flexbench.combined import Combined, combine, combine_groups, combined_csv
from pixelgate.flexbench.layout_csv import guarded, number_text, plain
from pixelgate.flexbench.results import Accounting, GroupResults
from pixelgate.flexbench.runs import read_combined_csv, read_combined_json, read_run
from pixelgate.flexbench.table_columns import Column


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_groups_and_metrics_stand_in_their_order_and_unknown_ones_last(tmp_path):
    write_run(
        tmp_path,
        zebra={"a": {"stripes": 1.0}},
        vbench={"a": {"DD": 100.0, "SuC": 3.14159}},
        inpainting={"a": {"mae": 3.0, "psnr": 30.0, "own": 7.0}},
        aesthetics={"a": {"lpips": 0.5}},
        text={"a": {"consistency": 0.25}},
    )
    combined = combine(tmp_path)
    head = rows_of((tmp_path / "combined_results.csv").read_text())
    assert head[0] == ["", "text", "inpaint", "", "", "vbench", "", "aesthetics", "zebra"]
    heads = "sample_id|consistency ↑|psnr ↑|mae ↓|own|SuC ↑|DD ↑|lpips|stripes"
    assert head[1] == heads.split("|")
    assert head[3] == ["a", "0.2500", "30.0000", "3.0000", "7.0000", "3.14", "100.00", "0.5000", "1.0000"]
    unknown = [text.split(":")[0] for text in texts(combined.notes, "unknown-metric")]
    assert unknown == ["inpaint_own", "aesthetics_lpips", "zebra_stripes"]


def test_the_order_of_a_file_does_not_matter(tmp_path):
    write_run(tmp_path / "one", depth={"b": {"rmse_linear": 1.0, "mae": 2.0}, "a": {"mae": 0.1, "rmse_linear": 4.0}})
    write_run(tmp_path / "two", depth={"a": {"mae": 0.1, "rmse_linear": 4.0}, "b": {"mae": 2.0, "rmse_linear": 1.0}})
    combine(tmp_path / "one")
    combine(tmp_path / "two")
    for name in ("combined_results.csv", "combined_results.json"):
        assert (tmp_path / "one" / name).read_text() == (tmp_path / "two" / name).read_text()


def test_the_accounting(tmp_path):
    write_group(tmp_path / "text", {"a": {"consistency": 0.2}, "b": {"consistency": 0.4}, "c": {"consistency": 0.9}})
    write_group(
        tmp_path / "depth",
        {"a": {"mae": 1.0}, "b": {"mae": None}},
        expected=["a", "b", "c", "d", "e", "f"],
        missing_reference=["c"],
        missing_output=["d"],
        failed={"e": "truncated"},
        extra=["z"],
        reasons={"b": {"mae": "no valid pixels"}},
    )
    combined = combine(tmp_path, not_run={"pose": "there is no pose/ in the data set"})
    data = read_json(tmp_path / "combined_results.json")
    depth = data["groups"]["depth"]
    assert depth["expected"] == ["a", "b", "c", "d", "e", "f"]
    assert depth["scored"] == ["a"]
    assert (depth["missing_reference"], depth["missing_output"]) == (["c"], ["d"])
    assert (depth["failed"], depth["extra"], depth["unaccounted"]) == ({"e": "truncated"}, ["z"], ["f"])
    assert (depth["mean"], depth["n"], depth["reasons"]["b"]) == ({"mae": 1.0}, {"mae": 1}, {"mae": "no valid pixels"})
    assert data["groups"]["text"]["expected"] is None
    assert data["not_run"] == {"pose": "there is no pose/ in the data set"}
    common = {"samples": ["a"], "n": 1, "mean": {"text": {"consistency": 0.2}, "depth": {"mae": 1.0}}}
    assert data["common_subset"] == common
    assert "f" in texts(combined.notes, "unaccounted")[0]
    assert "depth: 1 of 6 samples have a value; without: b, c, d, e, f." in texts(combined.notes, "missing-samples")
    # An expected sample that nothing was computed of is seen in the table, too.
    assert [row[0] for row in rows_of((tmp_path / "combined_results.csv").read_text())[2:]] == ["average", *"abcdef"]


def test_rows_of_the_common_subset_on_request_only(tmp_path):
    folder = copy_config("lora-switch", tmp_path) / "seed_0" / "eval"
    combined = combine(folder)
    plain_rows = rows_of((folder / "combined_results.csv").read_text())
    assert combined.common == ("001", "002", "010")
    combine(folder, folder / "out", common_subset=True)
    rows = rows_of((folder / "out" / "combined_results.csv").read_text())
    assert [row[0] for row in rows[2:6]] == ["average", "n", "average (common)", "n (common)"]
    assert [*rows[:3], *rows[6:]] == plain_rows
    assert rows[3][1:4] == ["4", "3", "3"]
    assert set(rows[5][1:]) == {"3"}
    # text: mean of 001, 002 and 010 by hand from the file: 0.29814675, 0.20732667, 0.19766827
    assert rows[4][1] == "0.2344"
    assert rows[4][2:4] == rows[2][2:4]


def test_columns_without_any_value_do_not_empty_the_common_subset(tmp_path):
    write_run(tmp_path, camera={"a": {"RotErr": 1.0, "RotErr_rel": None}, "b": {"RotErr": 2.0, "RotErr_rel": None}})
    combined = combine(tmp_path)
    assert combined.common == ("a", "b")
    assert rows_of((tmp_path / "combined_results.csv").read_text())[2] == ["average", "1.5000", ""]


@pytest.mark.parametrize(
    ("build", "rule", "told"),
    [
        (lambda folder: None, "no-results", "is no folder"),
        (lambda folder: folder.mkdir(), "no-results", "holds no group's results"),
        (lambda folder: (folder / "video").mkdir(parents=True), "no-results", "holds no group's results"),
        (lambda folder: (folder / "depth").mkdir(parents=True), "no-results", "holds no results.json"),
        (
            lambda folder: write_run(folder, inpaint={"a": {"mae": 1}}, inpainting={"a": {"mae": 1}}),
            "group-twice",
            "inpaint is given twice",
        ),
    ],
)
def test_nothing_to_combine(build, rule, told, tmp_path):
    build(tmp_path / "eval")
    with pytest.raises(InputError, match=told) as error:
        combine(tmp_path / "eval")
    assert rules(error) == [rule]


def test_problems_of_all_groups_are_listed_and_nothing_is_written(tmp_path):
    write_run(tmp_path, text={"a": {"consistency": 0.1}}, depth={"a": {"mae": "x"}})
    (tmp_path / "pose").mkdir()
    with pytest.raises(InputError) as error:
        combine(tmp_path)
    assert rules(error) == ["results-value", "no-results"]
    assert not list(tmp_path.glob("combined*"))


def test_folders_that_are_no_groups_are_passed_over(tmp_path):
    write_run(tmp_path, depth={"a": {"mae": 1.0}})
    (tmp_path / "depth_person_masks" / "video").mkdir(parents=True)
    assert [group.label for group in combine(tmp_path).groups] == ["depth"]


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [(1e-05, 4, "0.0000"), (-1e-05, 4, "0.0000"), (-0.0, 2, "0.00"), (None, 4, ""), (1e6, 2, "1000000.00")],
)
def test_number_text(value, decimals, text):
    assert number_text(value, decimals) == text


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+1", "-1", "@x", "＝1", "'=1", "\t=1", "''-x"])
def test_names_that_a_spreadsheet_would_run_are_guarded(name):
    assert guarded(name) == "'" + name
    assert plain(guarded(name)) == name


@pytest.mark.parametrize("name", ["001", "a-b", "a=b", "'quoted'", "", "x@y", "(1)"])
def test_other_names_stay(name):
    assert guarded(name) == name == plain(name)


def test_a_dangerous_id_is_told_and_comes_back(tmp_path):
    write_run(tmp_path, depth={"=1+1": {"mae": 1.0}, "-cat": {"mae": 2.0}, "dog": {"mae": -3.0}})
    combined = combine(tmp_path)
    file = tmp_path / "combined_results.csv"
    assert [row[0] for row in rows_of(file.read_text())[3:]] == ["'-cat", "'=1+1", "dog"]
    assert rows_of(file.read_text())[5][1] == "-3.0000"
    assert len(texts(combined.notes, "spreadsheet-guard")) == 2
    assert read_combined_csv(file).samples == ("-cat", "=1+1", "dog")
    assert list(read_json(tmp_path / "combined_results.json")["groups"]["depth"]["per_sample"]) == [
        "-cat",
        "=1+1",
        "dog",
    ]


NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=6)
SCORES = st.one_of(st.none(), st.floats(-1e6, 1e6))


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(NAMES, st.tuples(SCORES, SCORES), min_size=1, max_size=6), st.booleans())
def test_any_ids_and_numbers_come_back_from_the_csv(table, common_subset):
    groups = [
        GroupResults("depth", ("mae",), {name: {"mae": one} for name, (one, _) in table.items()}),
        GroupResults("zoo", ("x",), {name: {"x": two} for name, (_, two) in table.items()}),
    ]
    combined = combine_groups(groups)
    text = combined_csv(combined, common_subset=common_subset)
    back = parsed(text)
    for name in combined.samples:
        for column in combined.columns:
            value, shown = combined.value(column, name), back.value(column, name)
            assert (shown is None) == (value is None)
            if value is not None:
                assert shown == pytest.approx(value, abs=0.50001e-4)


def parsed(text: str) -> Combined:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "combined_results.csv"
        file.write_bytes(text.encode())
        return read_combined_csv(file)


def test_samples_named_as_the_rows_above_them(tmp_path):
    names = ("average", "average (common)", "n", "n (common)", "mean (std)")
    write_run(tmp_path, depth={name: {"mae": float(place)} for place, name in enumerate(names)})
    for common_subset in (False, True):
        combine(tmp_path, tmp_path / "out", common_subset=common_subset)
        back = read_combined_csv(tmp_path / "out" / "combined_results.csv")
        assert back.samples == tuple(sorted(names))
        assert back.average(Column("depth", "mae")) == (2.0, 5)


def test_the_json_holds_the_table_in_full(tmp_path):
    folder = copy_config("lora-switch", tmp_path) / "seed_1" / "eval"
    combined = combine(folder, tmp_path / "kept", not_run={"pose": "no keypoints"})
    back = read_combined_json(tmp_path / "kept" / "combined_results.json")
    assert back.columns == combined.columns
    assert back.not_run == combined.not_run
    for column in combined.columns:
        assert back.average(column) == combined.average(column)
        for sample in combined.samples:
            assert back.value(column, sample) == combined.value(column, sample)
    assert combined_csv(back) == combined_csv(combined)


@pytest.mark.parametrize("wanted", ["results", "combined-json", "combined-csv"])
def test_a_run_is_read_from_the_fullest_source(wanted, tmp_path):
    folder = write_run(tmp_path / "eval", depth={"a": {"mae": 1 / 3}})
    combine(folder)
    if wanted != "results":
        (folder / "depth" / "results.json").unlink()
    if wanted == "combined-csv":
        (folder / "combined_results.json").unlink()
    run = read_run("seed_0", folder)
    assert run.source == wanted
    assert run.table.value(Column("depth", "mae"), "a") == (0.3333 if wanted == "combined-csv" else 1 / 3)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.3333", "0.3335"),
        ("a,0.3333", "a,"),
        ("a,0.3333", "b,0.3333"),
        ("mae", "rmse_linear"),
        ("a,0.3333\n", "a,0.3333\nb,1.0\n"),
    ],
)
@pytest.mark.parametrize("source", ["results", "combined-json"])
def test_a_table_of_another_run_beside_the_numbers_is_refused(old, new, source, tmp_path):
    folder = write_run(tmp_path / "eval", depth={"a": {"mae": 1 / 3}})
    combine(folder)
    if source == "combined-json":
        (folder / "depth" / "results.json").unlink()
    table = folder / "combined_results.csv"
    table.write_text(table.read_text().replace(old, new))
    with pytest.raises(InputError) as error:
        read_run("seed_0", folder)
    assert rules(error) == ["stale-table"]


TABLE = ",depth,\nsample_id,mae ↓,rmse_linear ↓\naverage,2.0,4.0\n001,1.0,3.0\n002,3.0,5.0\n"


@pytest.mark.parametrize(
    "text",
    [
        TABLE,
        TABLE.replace("\n", "\r\n"),
        "\ufeff" + TABLE,
        TABLE.replace(" ↓", ""),
        TABLE.replace("average,2.0,4.0\n", ""),
    ],
    ids=["lf", "crlf", "bom", "no arrows", "no average"],
)
def test_foreign_tables_are_read(text, tmp_path):
    (tmp_path / "t.csv").write_bytes(text.encode())
    combined = read_combined_csv(tmp_path / "t.csv")
    assert combined.samples == ("001", "002")
    assert combined.average(Column("depth", "rmse_linear")) == (4.0, 2)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (TABLE, "", "two header rows"),
        (TABLE, "001,1.0\n", "two header rows"),
        (",depth,", "sample_id,depth,", "two header rows"),
        (",depth,", ",depth", "2 and 3 cells"),
        (",depth,", ",,depth", "a column has no group"),
        ("rmse_linear ↓", "mae", "depth_mae stand twice"),
        ("001,1.0,3.0", "001,1.0", "line 4 has 2 cells; the header has 3"),
        ("001,1.0,3.0", "001;1.0;3.0", "line 4 has 1 cells"),
        ("001,1.0,3.0", '001,"1,0",3.0', "line 4, depth_mae: '1,0' is no number"),
        ("001,1.0,3.0", "001,x,y", "line 4, depth_rmse_linear: 'y' is no number"),
        ("002,", "001,", "line 5: the id '001' stands twice"),
        ("001,1.0,3.0\n002,3.0,5.0\n", "", "holds no sample"),
        ("001", '"001', "unexpected end"),
    ],
)
def test_wrong_tables_are_refused(old, new, told, tmp_path):
    (tmp_path / "t.csv").write_text(TABLE.replace(old, new))
    with pytest.raises(InputError, match=told.replace("(", r"\(")):
        read_combined_csv(tmp_path / "t.csv")


def test_nan_in_a_foreign_table_is_missing_and_noted(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE.replace("1.0", "nan").replace("5.0", "1e-05"))
    combined = read_combined_csv(tmp_path / "t.csv")
    assert combined.average(Column("depth", "mae")) == (3.0, 1)
    assert combined.value(Column("depth", "rmse_linear"), "002") == 1e-05
    assert "depth_mae of 001" in texts(combined.notes, "nan-read-as-missing")[0]


@pytest.mark.parametrize("text", ["{}", "[]", '{"groups": {}}', '{"groups": {"depth": {"mean": {}}}}', "{"])
def test_a_broken_combined_json(text, tmp_path):
    (tmp_path / "combined_results.json").write_text(text)
    with pytest.raises(InputError, match=r"combined_results\.json"):
        read_run("eval", tmp_path)


def test_accounting_of_groups_given_in_memory():
    group = GroupResults("depth", ("mae",), {}, Accounting(expected=("a", "b"), missing_output=("a",)))
    combined = combine_groups([group])
    assert combined.samples == ("a", "b")
    assert combined.scored == combined.common == ()
    assert group.unaccounted == ("b",)
    assert combined.average(Column("depth", "mae")) == (None, 0)
