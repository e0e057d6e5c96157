from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from given_tools import VBENCH, refusal, values

from pixelgate.errors import InputError
from pixelgate.io.vbench_results import VBenchResults, frame_folder, path_id, read_results
from pixelgate.metrics.vbench import DIMENSIONS

WANTED = values("vbench")
TOLERANCE = WANTED["tolerance"]["default"]
SOUND = ("results_01_normal", "results_02_nan_empty_bools")
OLD = "results_03_old_sum_form"
NAMES = tuple(DIMENSIONS.values())


def write(path: Path, **dimensions: Any) -> Path:
    path.write_text(json.dumps(dimensions), encoding="utf-8")
    return path


def entries(results: dict[str, Any], folder: str = "/out/videos") -> list[dict[str, Any]]:
    return [{"video_path": f"{folder}/{name}", "video_results": value} for name, value in results.items()]


def dimension(results: dict[str, Any], aggregate: float | None = 0.5) -> list[Any]:
    return [aggregate, entries(results)]


def check(found: VBenchResults, wanted: dict[str, Any], ids: Sequence[str]) -> None:
    assert list(found.table) == list(ids) == list(wanted["table"])
    for sample, row in wanted["table"].items():
        for column, number in row.items():
            if number is None:
                assert found.table[sample][column] is None
                assert found.reasons[sample][column]
            else:
                assert found.table[sample][column] == pytest.approx(number, abs=TOLERANCE)
                assert column not in found.reasons[sample]
    for column, average in wanted["average"].items():
        ours = found.averages[column]
        assert ours.n == average["n"]
        assert ours.differs is average["differs_from_file"]
        for got, expected in ((ours.mean, average["mean"]), (ours.file_aggregate, average["file_aggregate_0_100"])):
            assert got == (expected if expected is None else pytest.approx(expected, abs=TOLERANCE))


@pytest.mark.parametrize("case", SOUND)
def test_import_oracle(case: str) -> None:
    wanted = WANTED["cases"][case]
    check(read_results([VBENCH / wanted["file"]]), wanted, wanted["expected_ids"])


def test_problems_oracle() -> None:
    assert len(WANTED["cases"][SOUND[1]]["expected_problems"]) == 3
    problems = read_results([VBENCH / WANTED["cases"][SOUND[1]]["file"]]).problems
    assert "overall_consistency: no videos" in problems
    assert "aesthetic_quality: the file's aggregate is NaN" in problems
    assert "aesthetic_quality: no number for 1 of the clips: 002" in problems
    assert "motion_smoothness: 1 of the clips are missing: 005" in problems
    assert any(text.startswith("motion_smoothness: the clips' mean is") for text in problems)
    assert any("weighs clips by their pairs" in text for text in problems if text.startswith("background_consistency"))
    assert not any(text.startswith(("subject_consistency", "imaging_quality", "dynamic_degree")) for text in problems)


def test_sums_of_old_versions_are_refused() -> None:
    wanted = WANTED["cases"][OLD]
    assert wanted["status"] == "error"
    with pytest.raises(InputError) as error:
        read_results([VBENCH / wanted["file"]])
    assert {problem.rule for problem in error.value.problems} == {"vbench-range"}
    assert len(error.value.problems) == 5
    assert all("sum over frames" in str(problem) for problem in error.value.problems)


def test_the_broken_dimension_can_be_left_out() -> None:
    wanted = WANTED["cases"][OLD]
    rest = [name for name in NAMES if name != "subject_consistency"]
    found = read_results([VBENCH / wanted["file"]], rest)
    check(found, wanted["if_only_that_dimension_is_left_out"], wanted["expected_ids"])
    assert found.reasons["001"]["SuC"] == "subject_consistency was left out"


def test_merging_by_dimension(tmp_path: Path) -> None:
    content = json.loads((VBENCH / WANTED["cases"][SOUND[0]]["file"]).read_text(encoding="utf-8"))
    files = [write(tmp_path / f"{name}_eval_results.json", **{name: content[name]}) for name in content]
    assert read_results(files) == read_results([VBENCH / WANTED["cases"][SOUND[0]]["file"]])


def test_a_dimension_twice(tmp_path: Path) -> None:
    first = write(tmp_path / "a.json", motion_smoothness=dimension({"a.mp4": 0.5}), color=[1, []])
    second = write(tmp_path / "b.json", motion_smoothness=dimension({"b.mp4": 0.5}))
    third = write(tmp_path / "c.json", color=[1, []])
    for other in (second, third):
        with pytest.raises(InputError) as error:
            read_results([first, other])
        assert str(other) in refusal(error, "vbench-dimension")
    twice = tmp_path / "d.json"
    twice.write_text('{"color": [1, []], "color": [1, []]}', encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_results([twice])
    assert "'color' twice" in refusal(error, "vbench-file")


def test_unknown_dimensions_are_kept_and_named(tmp_path: Path) -> None:
    kept = [0.3, [{"video_path": "x/a.mp4", "video_results": [1, {"odd": None}]}]]
    path = write(tmp_path / "a.json", color=kept, motion_smoothness=dimension({"a.mp4": 0.5}))
    found = read_results([path])
    assert found.unknown == {"color": kept}
    assert "color: no dimension of this table; kept as it is" in found.problems
    assert "subject_consistency: not in the files" in found.problems
    assert found.reasons["a"]["SuC"] == "VBench's subject_consistency is not in the result files"


@pytest.mark.parametrize(
    ("path", "sample", "suffixed"),
    [
        ("/data/out/videos/001.mp4", "001", True),
        ("C:\\out\\videos\\a b.v2.MP4", "a b.v2", True),
        ("videos\\x/y.webm", "y", True),
        ("001.mp4", "001", True),
        ("/data/out/frames/a_dog", "a_dog", False),
        ("/data/out/frames/v1.5/", "v1.5", False),
    ],
)
def test_ids_of_paths(path: str, sample: str, suffixed: bool) -> None:
    assert path_id(path) == (sample, suffixed)


def test_clips_read_as_folders_of_frames(tmp_path: Path) -> None:
    assert frame_folder("my videos 1") == "my_frames_1"
    frames = [0.5, [{"video_path": "C:\\out\\frames\\a_dog", "video_results": 0.25}]]
    alone = read_results([write(tmp_path / "a.json", motion_smoothness=frames)])
    assert list(alone.table) == ["a_dog"]
    assert (alone.find("a dog"), alone.find("a_dog"), alone.find("a cat")) == ("a_dog", "a_dog", None)
    named = write(tmp_path / "b.json", subject_consistency=dimension({"a dog.mp4": 0.75}))
    both = read_results([tmp_path / "a.json", named])
    assert list(both.table) == ["a dog"]
    assert (both.table["a dog"]["MS"], both.table["a dog"]["SuC"]) == (25.0, 75.0)
    # A clip's own name with a suffix stands for no other clip.
    assert (
        read_results([write(tmp_path / "c.json", motion_smoothness=dimension({"a_dog.mp4": 0.5}))]).find("a dog")
        is None
    )


def test_frames_that_may_be_two_clips(tmp_path: Path) -> None:
    frames = [0.5, [{"video_path": "/frames/a_b_c", "video_results": 0.25}]]
    path = write(
        tmp_path / "a.json",
        motion_smoothness=frames,
        subject_consistency=dimension({"a b_c.mp4": 0.5, "a_b c.mp4": 0.5}),
    )
    with pytest.raises(InputError) as error:
        read_results([path])
    assert "'a b_c' or 'a_b c'" in refusal(error, "vbench-id")


def test_a_clip_twice(tmp_path: Path) -> None:
    videos = entries({"a.mp4": 0.5}) + entries({"a.mp4": 0.6}, "C:\\elsewhere")
    with pytest.raises(InputError) as error:
        read_results([write(tmp_path / "a.json", motion_smoothness=[0.5, videos])])
    assert "'a'" in refusal(error, "vbench-id")
    frames = [{"video_path": "/frames/a_b", "video_results": 0.25}, *entries({"a b.mp4": 0.5})]
    with pytest.raises(InputError) as error:
        read_results([write(tmp_path / "a.json", motion_smoothness=[0.5, frames])])
    assert "'a b'" in refusal(error, "vbench-id")


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("overall_consistency", 323.0, "vbench-range"),
        ("overall_consistency", -26, "vbench-range"),
        ("subject_consistency", 1.001, "vbench-range"),
        ("background_consistency", -0.1, "vbench-range"),
        ("aesthetic_quality", 5.4, "vbench-range"),
        ("motion_smoothness", 98.0, "vbench-range"),
        ("imaging_quality", 161.0, "vbench-range"),
        ("dynamic_degree", 0.5, "vbench-range"),
        ("dynamic_degree", 2, "vbench-range"),
        ("motion_smoothness", True, "vbench-value"),
        ("motion_smoothness", "0.5", "vbench-value"),
        ("motion_smoothness", [0.5], "vbench-value"),
        ("motion_smoothness", math.inf, "vbench-value"),
        ("motion_smoothness", 10**400, "vbench-value"),
    ],
)
def test_numbers_of_another_scale(tmp_path: Path, name: str, value: Any, rule: str) -> None:
    with pytest.raises(InputError) as error:
        read_results([write(tmp_path / "a.json", **{name: dimension({"a.mp4": value})})])
    assert name in refusal(error, rule)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("overall_consistency", -0.2, -20.0),
        ("subject_consistency", 1 + 1e-6, 100.0),
        ("dynamic_degree", True, 100.0),
        ("dynamic_degree", 0.0, 0.0),
        ("imaging_quality", 55.5, 55.5),
        ("motion_smoothness", 1, 100.0),
    ],
)
def test_scales(tmp_path: Path, name: str, value: Any, shown: float) -> None:
    found = read_results([write(tmp_path / "a.json", **{name: dimension({"a.mp4": value})})])
    column = next(column for column, known in DIMENSIONS.items() if known == name)
    assert found.table["a"][column] == shown


def test_imaging_quality_that_was_rescaled_already(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", imaging_quality=dimension({"a.mp4": 0.55, "b.mp4": 0.66}))
    assert any("rescaled already?" in problem for problem in read_results([path]).problems)


def test_null_and_nan_are_missing(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.json", motion_smoothness=dimension({"a.mp4": None, "b.mp4": math.nan, "c.mp4": 0.5}, None)
    )
    found = read_results([path])
    assert found.reasons["a"]["MS"] == "VBench's motion_smoothness is null"
    assert found.reasons["b"]["MS"] == "VBench's motion_smoothness is NaN"
    assert (found.averages["MS"].mean, found.averages["MS"].n) == (50.0, 1)
    assert found.averages["MS"].file_aggregate is None


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ("[]", "vbench-file"),
        ("{}", "vbench-file"),
        ("nonsense", "vbench-file"),
        ('{"motion_smoothness": 0.5}', "vbench-file"),
        ('{"motion_smoothness": [0.5]}', "vbench-file"),
        ('{"motion_smoothness": [0.5, [0.5]]}', "vbench-file"),
        ('{"motion_smoothness": [0.5, [{"video_results": 0.5}]]}', "vbench-file"),
        ('{"motion_smoothness": [0.5, [{"video_path": "a.mp4"}]]}', "vbench-file"),
        ('{"motion_smoothness": [0.5, [{"video_path": "", "video_results": 0.5}]]}', "vbench-file"),
        ('{"motion_smoothness": ["x", []]}', "vbench-value"),
        ('{"motion_smoothness": [Infinity, []]}', "vbench-value"),
        ('{"motion_smoothness": [NaN, []], "dynamic_degree": [NaN, []]}', "vbench-empty"),
        ('{"color": [0.5, []]}', "vbench-empty"),
    ],
)
def test_no_result_file(tmp_path: Path, content: str, rule: str) -> None:
    path = tmp_path / "a_eval_results.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_results([path])
    assert str(path) in refusal(error, rule)


def test_the_list_of_videos_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "results_full_info.json"
    path.write_text('[{"prompt_en": "a dog", "dimension": ["color"], "video_list": []}]', encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_results([path])
    assert "full_info" in refusal(error, "vbench-file")


def test_no_files() -> None:
    with pytest.raises(InputError) as error:
        read_results([])
    refusal(error, "vbench-file")
