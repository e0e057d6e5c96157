"""``results.json`` and ``results.csv`` of a group: what is written, what is read, and what is refused."""

from __future__ import annotations

import json

import pytest
from tables_tools import read_json, rules, texts, write_group

from pixelgate.errors import InputError
from pixelgate.flexbench.results import Accounting, GroupResults, write_results
from pixelgate.flexbench.results_reading import read_results

ROWS = {"002": {"mae": 3.5, "rmse_linear": 1e-05}, "001": {"mae": 1 / 3, "rmse_linear": None}}


def ours() -> GroupResults:
    return GroupResults(
        "depth",
        ("mae", "rmse_linear"),
        ROWS,
        Accounting(("001", "002", "003", "004", "005"), ("003",), ("004",), {"005": "truncated"}, ("006",)),
        {"001": {"rmse_linear": "no valid pixels"}},
        {"id": "flexbench", "version": "1"},
    )


def test_what_is_written(tmp_path):
    write_results(tmp_path / "depth", ours())
    data = read_json(tmp_path / "depth" / "results.json")
    assert data["mean"] == {"mae": (3.5 + 1 / 3) / 2, "rmse_linear": 1e-05}
    assert data["per_sample"] == ROWS
    assert list(data["per_sample"]) == ["001", "002"]
    assert data["n"] == {"mae": 2, "rmse_linear": 1}
    assert data["expected"] == ["001", "002", "003", "004", "005"]
    assert (data["missing_reference"], data["missing_output"], data["extra"]) == (["003"], ["004"], ["006"])
    assert data["failed"] == {"005": "truncated"}
    assert data["unaccounted"] == []
    assert data["reasons"] == {"001": {"rmse_linear": "no valid pixels"}}
    text = (tmp_path / "depth" / "results.csv").read_text()
    assert text == (
        "sample_id,mae,rmse_linear\naverage,1.9166666666666667,1e-05\n001,0.3333333333333333,\n002,3.5,1e-05\n"
    )


def test_what_is_written_is_read_again(tmp_path):
    write_results(tmp_path / "depth", ours())
    back = read_results(tmp_path / "depth")
    assert (back.label, back.metrics, back.accounting) == (ours().label, ours().metrics, ours().accounting)
    assert {key: dict(row) for key, row in back.per_sample.items()} == ROWS
    assert (back.reasons, back.protocol, back.notes) == (ours().reasons, ours().protocol, ())


def test_the_csv_alone_holds_every_digit(tmp_path):
    write_results(tmp_path / "depth", ours())
    (tmp_path / "depth" / "results.json").unlink()
    back = read_results(tmp_path / "depth")
    assert {key: dict(row) for key, row in back.per_sample.items()} == ROWS
    assert back.mean("mae") == ours().mean("mae")
    assert back.notes == ()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_never_written(value, tmp_path):
    results = GroupResults("depth", ("mae",), {"001": {"mae": value}})
    with pytest.raises(InputError, match="mae of sample '001' is") as error:
        write_results(tmp_path, results)
    assert rules(error) == ["not-finite"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400])
def test_nan_of_others_is_missing_and_noted(word, tmp_path):
    (tmp_path / "results.json").write_text(
        f'{{"mean": {{"mae": {word}}}, "per_sample": {{"001": {{"mae": {word}}}, "002": {{"mae": 4}}}}}}'
    )
    read = read_results(tmp_path, "depth")
    assert read.value("001", "mae") is None
    assert read.mean("mae") == (4.0, 1)
    assert read.scored == ("002",)
    assert read.reasons == {"001": {"mae": "the file says NaN or infinity"}}
    (note,) = texts(read.notes, "nan-read-as-missing")
    assert "mae of 001" in note
    write_results(tmp_path / "again", read)
    assert read_json(tmp_path / "again" / "results.json")["per_sample"]["001"] == {"mae": None}


def test_a_mean_that_is_not_the_samples_mean_is_noted_and_not_used(tmp_path):
    (tmp_path / "results.json").write_text(
        '{"mean": {"mae": 5, "n": 2}, "per_sample": {"a": {"mae": 1}, "b": {"mae": 2}}}'
    )
    read = read_results(tmp_path, "depth")
    assert read.metrics == ("mae",)
    assert read.mean("mae") == (1.5, 2)
    assert "depth_mae: the file's own mean is 5; that of its 2 values is 1.5" in texts(read.notes, "mean-differs")[0]
    assert texts(read.notes, "mean-without-samples")[0].startswith("depth_n: ")


def test_flags_beside_the_numbers_are_left_out_with_a_note(tmp_path):
    rows = {"a": {"RotErr": 1.0, "degenerate": False, "why": "low parallax"}}
    read = read_results(write_group(tmp_path / "camera", rows))
    assert read.metrics == ("RotErr",)
    assert [note.split(":")[0] for note in texts(read.notes, "no-number")] == ["camera_degenerate", "camera_why"]


def test_an_empty_group_is_read_where_it_says_what_was_expected(tmp_path):
    read = read_results(write_group(tmp_path / "depth", {}, expected=["a", "b"], failed={"a": "empty clip"}))
    assert (read.scored, read.unaccounted) == ((), ("b",))


@pytest.mark.parametrize(
    ("text", "rule", "told"),
    [
        ('{"mean": {}, "per_sample": {"001": {"mae": 1}', "broken-json", "cannot be read as JSON"),
        ("", "broken-json", "cannot be read as JSON"),
        ("[" * 100_000, "broken-json", "nested too deeply"),
        ('{"mean": {}, "per_sample": {"001": {"mae": 1}, "001": {"mae": 2}}}', "broken-json", "'001' stands twice"),
        ('{"mean": {}, "per_sample": {"001": {"mae": 1, "mae": 1}}}', "broken-json", "'mae' stands twice"),
        ("[]", "results-layout", '"per_sample" and "mean"'),
        ('{"mean": {}}', "results-layout", '"per_sample" and "mean"'),
        ('{"per_sample": {"a": {"mae": 1}}, "mean": 3}', "results-layout", '"per_sample" and "mean"'),
        ('{"per_sample": {"a": 3}}', "results-layout", "sample 'a' is no object"),
        ('{"per_sample": {"": {"mae": 1}}}', "results-layout", "'' is no sample's id"),
        ('{"per_sample": {"a\\nb": {"mae": 1}}}', "results-layout", "is no sample's id"),
        ('{"mean": {}, "per_sample": {}}', "no-samples", "holds no sample"),
        ('{"mean": {}, "per_sample": {"a": {}}}', "no-samples", "holds no sample"),
        ('{"mean": {"mae": null}, "per_sample": {}}', "no-samples", "holds no sample"),
        ('{"per_sample": {"a": {"mae": "1.0"}}}', "results-value", "mae of sample 'a' is '1.0', no number"),
        ('{"per_sample": {"a": {"mae": true}}}', "results-value", "mae of sample 'a' is True, no number"),
        ('{"per_sample": {"a": {"x": 1}, "b": {"x": [1]}}}', "results-value", "x of sample 'b' is [1], no number"),
        ('{"per_sample": {"a": {"mae": -1e200}}}', "results-value", "is -1e+200, too large for any metric"),
        ('{"per_sample": {"a": {"mae": 1}}, "failed": ["b"]}', "results-layout", '"failed"'),
        ('{"per_sample": {"a": {"mae": 1}}, "expected": "a"}', "results-layout", '"expected"'),
        ('{"per_sample": {"a": {"mae": 1}}, "expected": ["a", "a"]}', "results-layout", "an id twice"),
        ('{"per_sample": {"a": {"mae": 1}}, "reasons": {"a": "x"}}', "results-layout", '"reasons"'),
        ('{"per_sample": {"a": {"mae": 1}}, "protocol": "flexbench"}', "results-layout", '"protocol"'),
    ],
)
def test_wrong_json_is_refused(text, rule, told, tmp_path):
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(InputError) as error:
        read_results(tmp_path, "depth")
    assert rules(error) == [rule]
    assert told in str(error.value)
    assert str(tmp_path / "results.json") in str(error.value)


def test_every_wrong_value_is_listed(tmp_path):
    write_group(tmp_path, {"a": {"mae": "x"}, "b": {"mae": [], "rmse_linear": {}}})
    with pytest.raises(InputError) as error:
        read_results(tmp_path, "depth")
    assert rules(error) == ["results-value"] * 3


def test_missing_files_and_folders(tmp_path):
    (tmp_path / "depth").mkdir()
    (tmp_path / "latin1").mkdir()
    (tmp_path / "latin1" / "results.json").write_bytes(b'{"mean": {}, "per_sample": {"\xe9": {"mae": 1}}}')
    (tmp_path / "folder" / "results.json").mkdir(parents=True)
    for name, rule, told in (
        ("depth", "no-results", "holds no results.json"),
        ("nothing", "no-results", "is no folder"),
        ("latin1", "broken-json", "is not UTF-8"),
        ("folder", "not-a-file", "is a folder"),
    ):
        with pytest.raises(InputError, match=told) as error:
            read_results(tmp_path / name)
        assert rules(error) == [rule]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "does not begin with sample_id"),
        ("001,1.0\n", "does not begin with sample_id"),
        ("sample_id,mae,mae\n001,1,2\n", "names a metric twice"),
        ("sample_id,mae\n001,1\n001,2\n", "line 3: an id twice"),
        ("sample_id,mae\n001,1,2\n", "line 2: another number of cells"),
        ('sample_id,mae\n001,"1,5"\n', "line 2: '1,5' is no number"),
        ("sample_id,mae\n001,1_0\n", "line 2: '1_0' is no number"),
        ('sample_id,mae\n001,"1\n', "line 2: unexpected end of data"),
    ],
)
def test_wrong_csv_is_refused(text, told, tmp_path):
    (tmp_path / "results.csv").write_text(text)
    with pytest.raises(InputError, match=told):
        read_results(tmp_path, "depth")


def test_csv_from_windows(tmp_path):
    (tmp_path / "results.csv").write_bytes(
        "\ufeffsample_id,mae ↓\r\naverage,nan\r\n001,2.5e-05\r\n010,NaN\r\n".encode()
    )
    read = read_results(tmp_path, "depth")
    assert read.metrics == ("mae",)
    assert {key: dict(row) for key, row in read.per_sample.items()} == {"001": {"mae": 2.5e-05}, "010": {"mae": None}}
    assert len(texts(read.notes, "nan-read-as-missing")) == 1


def test_ids_stay_text(tmp_path):
    rows = {name: {"mae": 1.0} for name in ("10", "9", "001", "1", "1e3", "-5")}
    read = read_results(write_group(tmp_path / "depth", rows))
    assert read.scored == ("-5", "001", "1", "10", "1e3", "9")
    write_results(tmp_path / "out", read)
    (tmp_path / "out" / "results.json").unlink()
    assert read_results(tmp_path / "out", "depth").scored == read.scored


def test_the_json_is_plain_even_for_numpy_numbers(tmp_path):
    numpy = pytest.importorskip("numpy")
    write_results(tmp_path, GroupResults("depth", ("mae",), {"a": {"mae": numpy.float32(0.5)}}))
    assert json.loads((tmp_path / "results.json").read_text())["per_sample"] == {"a": {"mae": 0.5}}
