"""Holding a run against golden numbers: each outcome, and what its message tells."""

from __future__ import annotations

import json
import re

import pytest
from bench_project import FAST, Project, load, nudge, outcomes, text_of
from PIL import Image

from pixelgate.case import Case
from pytest_bench.golden import GoldenFolders

UPDATE = "pytest --bench-update-golden"
CASE = ("-k", "test_case and warm", "--bench-report=report")


@pytest.fixture
def gated(project: Project) -> Project:
    """A project whose golden numbers are this run's."""
    assert project.run("--bench-update-golden", "-k", "test_case").ret == 0
    return project


def entry(project: Project, metric: str) -> dict:
    return json.loads(project.golden_file().read_text(encoding="utf-8"))["slices"]["full"]["metrics"][metric]


def message_of(project: Project) -> str:
    case = project.case("warm")
    assert case["outcome"] == "failed"
    return case["message"]


@pytest.mark.parametrize("metric", FAST.split(","))
def test_a_golden_digit_off_by_twice_the_tolerance_fails(gated: Project, metric: str) -> None:
    known = entry(gated, metric)
    gated.edit_golden(f"slices/full/metrics/{metric}/value", known["value"] + 2 * known["atol"])
    result = gated.run(*CASE)
    assert result.parseoutcomes() == outcomes(failed=1, deselected=29)
    text = message_of(gated)
    assert "1 of 5 metrics are not at their golden numbers" in text
    assert "metric moved" in text
    assert "outputs differ" not in text
    head, row = text.splitlines()[2:4]
    assert re.split(r"  +", head.strip())[:5] == ["metric", "got", "expected", "difference", "tolerance"]
    cells = re.split(r"  +", row.strip())
    assert float(cells[1]) == known["value"]
    assert float(cells[2]) == known["value"] + 2 * known["atol"]
    assert float(cells[3]) == pytest.approx(-2 * known["atol"], rel=0.1)
    assert float(cells[4]) == known["atol"]
    assert cells[5] == "no sample moved: the golden value itself changed"
    assert UPDATE in text


def test_a_golden_value_without_all_samples_is_not_said_to_have_changed(gated: Project) -> None:
    known = entry(gated, "ssim")
    gated.edit_golden("slices/full/metrics/ssim", {**known, "value": known["value"] + 1, "samples": {}})
    gated.run(*CASE)
    assert "none is recorded" in message_of(gated)


def test_samples_within_a_tenth_of_the_tolerance_did_not_move(gated: Project) -> None:
    known = entry(gated, "ssim")
    gated.edit_golden("slices/full/metrics/ssim/value", known["value"] + 1)
    gated.edit_golden("slices/full/metrics/ssim/samples/b", known["samples"]["b"] + known["atol"] / 20)
    gated.run(*CASE)
    assert "no sample moved: the golden value itself changed" in message_of(gated)
    gated.edit_golden("slices/full/metrics/ssim/samples/b", known["samples"]["b"] + known["atol"] / 5)
    gated.run(*CASE)
    assert "no sample moved" not in message_of(gated)


def test_half_a_tolerance_passes(gated: Project) -> None:
    known = entry(gated, "ssim")
    gated.edit_golden("slices/full/metrics/ssim/value", known["value"] + known["atol"] / 2)
    assert gated.run(*CASE).ret == 0
    assert gated.case("warm")["golden"]["status"] == "passed"


def test_a_moved_metric_names_the_samples_that_moved_most(gated: Project) -> None:
    known = entry(gated, "de00")
    gated.edit_golden("slices/full/metrics/de00/value", known["value"] + 1)
    gated.edit_golden("slices/full/metrics/de00/samples/b", known["samples"]["b"] + 3)
    gated.edit_golden("slices/full/metrics/de00/samples/c", known["samples"]["c"] + 0.5)
    gated.run(*CASE)
    row = next(line for line in message_of(gated).splitlines() if line.strip().startswith("ΔE00"))
    assert re.search(r"  b [\d.]+ -3; c [\d.]+ -0.5$", row)


def test_one_level_of_one_channel_of_one_pixel_fails(gated: Project) -> None:
    nudge(gated.output("b"))
    gated.run(*CASE)
    text = message_of(gated)
    assert "outputs differ: 1 of 3 pictures" in text
    assert re.search(r"written from: b$", text, re.MULTILINE)
    assert "metric moved" not in text
    assert re.search(r"^ *PSNR .*  b [\d.]+ \S+$", text, re.MULTILINE)


def test_the_same_picture_compressed_anew_passes(gated: Project) -> None:
    file = gated.output("b")
    before = file.read_bytes()
    Image.fromarray(load(file)).save(file, compress_level=0)
    assert file.read_bytes() != before
    assert gated.run(*CASE).ret == 0
    assert gated.case("warm")["golden"]["changed_outputs"] == []


def test_another_picture_within_the_tolerance_passes_and_is_remarked(gated: Project) -> None:
    for metric in FAST.split(","):
        gated.edit_golden(f"slices/full/metrics/{metric}/atol", 1.0)
    nudge(gated.output("b"))
    result = gated.run(*CASE)
    assert result.ret == 0
    assert gated.case("warm")["golden"]["changed_outputs"] == ["b"]
    result.stdout.fnmatch_lines(["warm*outputs differ (1), numbers within tolerance"])


def test_without_a_golden_folder_a_case_is_scored_and_not_gated(project: Project) -> None:
    result = project.run(*CASE)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["warm*scored, not gated"])
    assert project.case("warm")["golden"]["status"] == "not-gated"


def test_a_golden_folder_without_the_case_fails_with_the_command(gated: Project) -> None:
    gated.golden_file().unlink()
    result = gated.run("-k", "test_case", "--bench-report=report")
    assert result.parseoutcomes() == outcomes(passed=2, failed=1, deselected=27)
    text = message_of(gated)
    assert "there are no golden numbers for this case" in text
    assert UPDATE in text
    assert gated.case("warm")["golden"]["status"] == "no-golden"


def test_a_golden_file_without_the_slice_fails(gated: Project) -> None:
    gated.edit_golden("slices", {})
    gated.run(*CASE)
    assert "there are no golden numbers for this case" in message_of(gated)


def test_a_golden_file_without_the_metric_fails(project: Project) -> None:
    project.run("--bench-update-golden", metrics="psnr")
    project.run(*CASE, metrics="psnr,ssim")
    text = message_of(project)
    assert "1 of 2 metrics" in text
    assert re.search(r"SSIM .*no golden number", text)


def test_an_empty_golden_folder_gates_too(project: Project) -> None:
    (project.root / "golden").mkdir()
    assert project.run(*CASE).ret == pytest.ExitCode.TESTS_FAILED
    assert UPDATE in message_of(project)


def test_golden_numbers_can_be_required(project: Project) -> None:
    result = project.run("--bench-require-golden", "-k", "test_case", "--bench-report=report")
    assert result.parseoutcomes() == outcomes(passed=1, failed=2, deselected=27)
    assert UPDATE in message_of(project)
    assert project.case("identity")["outcome"] == "passed", "nobody wrote the baseline's outputs"


def test_a_golden_folder_in_the_ini_file(project: Project) -> None:
    project.pytester.makeini("[pytest]\nbench_golden = numbers\naddopts = --bench-update-golden")
    project.run("-k", "test_case")
    assert (project.root / "numbers" / "pstbench" / "toy" / "warm.json").exists()


def test_numbers_for_other_parameters(gated: Project) -> None:
    gated.edit_golden("protocol/params_sha256", "0" * 64)
    gated.run(*CASE)
    text = message_of(gated)
    assert "are not for this run" in text
    assert "protocol parameters" in text
    assert "0" * 64 in text
    assert UPDATE in text


def test_numbers_for_another_revision_of_the_data(gated: Project) -> None:
    nudge(gated.data / "toy" / "style" / "a.png")
    gated.run(*CASE, metrics="psnr")
    text = message_of(gated)
    assert "data set revision: the golden numbers are for sha256:" in text
    assert UPDATE in text


def test_numbers_from_a_backend_with_a_named_tolerance(gated: Project) -> None:
    other = "numpy" if entry(gated, "psnr")["backend"] == "numba" else "numba"
    gated.edit_golden("slices/full/metrics/psnr/backend", other)
    gated.edit_golden("slices/full/metrics/ssim/backend", other)
    assert gated.run(*CASE).ret == 0
    gated.edit_golden("slices/full/metrics/ssim/value", entry(gated, "ssim")["value"] + 1e-6)
    gated.run(*CASE)
    assert "1 of 5 metrics" in message_of(gated)


def test_numbers_from_a_backend_that_no_tolerance_names(gated: Project) -> None:
    gated.edit_golden("slices/full/metrics/psnr/backend", "abacus")
    (gated.root / "golden" / "tolerances.toml").write_text('[psnr]\natol = 1e-10\nreason = "x"\n', encoding="utf-8")
    gated.run(*CASE)
    text = message_of(gated)
    assert re.search(r"the golden number is from backend abacus, this one from \w+, and no tolerance is named", text)


def test_a_wider_named_tolerance_holds_for_the_other_backend_only(gated: Project) -> None:
    ours = entry(gated, "psnr")["backend"]
    toml = f'[psnr]\natol = 1e-10\nreason = "x"\n[psnr.backends]\n{ours} = 1e-10\nabacus = 0.5\n'
    (gated.root / "golden" / "tolerances.toml").write_text(toml, encoding="utf-8")
    gated.edit_golden("slices/full/metrics/psnr/value", entry(gated, "psnr")["value"] + 0.3)
    assert gated.run(*CASE).ret != 0
    gated.edit_golden("slices/full/metrics/psnr/backend", "abacus")
    assert gated.run(*CASE).ret == 0
    gated.edit_golden("slices/full/metrics/psnr/value", entry(gated, "psnr")["value"] + 0.3)
    assert gated.run(*CASE).ret != 0


def test_a_mean_over_fewer_samples_does_not_meet_the_whole_ones(gated: Project) -> None:
    gated.output("b").unlink()
    gated.run(*CASE, "--bench-allow-missing")
    assert "the golden number is over 3 samples, this mean over 2" in message_of(gated)
    assert "metric moved" not in message_of(gated)


def test_all_that_moved_is_told_at_once(gated: Project) -> None:
    gated.method("warm", 6)
    gated.run(*CASE)
    text = message_of(gated)
    assert "5 of 5 metrics" in text
    assert "outputs differ: 3 of 3 pictures" in text
    for title in ("PSNR", "SSIM", "ΔE00", "H-Corr(gt)", "H-Corr(style)"):
        assert re.search(rf"^ *{re.escape(title)} ", text, re.MULTILINE)


BROKEN = {
    "not json": "{",
    "nan": '{"format": 1, "slices": {"full": {"outputs": {}, "metrics": {"psnr": {"value": NaN}}}}}',
    "infinity": '{"format": 1, "slices": {"full": {"outputs": {}, "metrics": {"psnr": {"value": Infinity}}}}}',
    "overflow": '{"format": 1, "slices": {"full": {"outputs": {}, "metrics": {"psnr": {"value": 1e999}}}}}',
    "empty": "",
    "a list": "[]",
    "another format": '{"format": 99, "slices": {}}',
    "no protocol": '{"format": 1, "slices": {"full": {"outputs": {}, "metrics": {}}}}',
    "a text for a number": None,
    "a null for a number": None,
    "no tolerance": None,
    "a tolerance below 0": None,
    "a truth value for a number": None,
    "an endless number": None,
    "a number that no float holds": None,
    "another method": None,
    "another track": None,
    "a key twice": None,
}


def spoil(project: Project, how: str) -> None:
    text = BROKEN[how]
    if text is not None:
        project.golden_file().write_text(text, encoding="utf-8")
        return
    if how.startswith("another "):
        project.edit_golden(how.removeprefix("another "), "cold")
        return
    if how == "a key twice":
        text = project.golden_file().read_text(encoding="utf-8")
        project.golden_file().write_text(text.replace('"atol":', '"atol": 9.0, "atol":', 1), encoding="utf-8")
        return
    metric = entry(project, "psnr")
    if how == "no tolerance":
        del metric["atol"]
    elif how == "a tolerance below 0":
        metric["atol"] = -1e-10
    else:
        metric["value"] = {
            "a text for a number": "high",
            "a null for a number": None,
            "a truth value for a number": True,
            "an endless number": float("inf"),
            "a number that no float holds": 10**400,
        }[how]
    project.edit_golden("slices/full/metrics/psnr", metric)


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_golden_file_is_one_clear_error(gated: Project, how: str) -> None:
    spoil(gated, how)
    result = gated.run("-k", "test_case", "--bench-report=report")
    text = text_of(result)
    assert result.ret == pytest.ExitCode.TESTS_FAILED, text
    assert result.parseoutcomes() == outcomes(passed=2, failed=1, deselected=27)
    assert "Traceback" not in text
    assert "pytest_bench/session.py" not in text
    message = message_of(gated)
    assert "warm.json: not a golden file: " in message
    assert "[golden-format]" in message
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize("how", ["not json", "nan", "no protocol"])
def test_a_broken_golden_file_is_not_updated(gated: Project, how: str) -> None:
    spoil(gated, how)
    before = gated.golden_file().read_text(encoding="utf-8")
    gated.method("cold", -5)
    result = gated.run("--bench-update-golden", "-k", "test_case")
    text = text_of(result)
    assert "INTERNALERROR" not in text
    assert result.ret != 0
    assert gated.golden_file().read_text(encoding="utf-8") == before
    assert "not a golden file" in text
    result.stdout.fnmatch_lines(["golden numbers written: *cold.json*"])


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[psnr", "not valid TOML"),
        ("psnr = 1e-9", "psnr needs"),
        ('[psnr]\natol = "x"', "psnr needs"),
        ("[psnr]\natol = inf", "psnr needs"),
        ("[psnr]\natol = true", "psnr needs"),
        ("[psnr]\natol = 1e-9\nbackends = 3", "psnr needs"),
    ],
)
def test_a_broken_tolerance_file_ends_the_run_at_once(gated: Project, text: str, part: str) -> None:
    (gated.root / "golden" / "tolerances.toml").write_text(text, encoding="utf-8")
    result = gated.run(*CASE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"tolerances.toml: {part}" in text_of(result)
    assert "Traceback" not in text_of(result)


def test_golden_numbers_changed_between_two_runs_of_one_process(gated: Project) -> None:
    """Nothing of an earlier run is remembered, as in a notebook that calls pytest.main twice."""
    assert gated.run(*CASE).ret == 0
    gated.edit_golden("slices/full/metrics/psnr/value", 1.0)
    assert gated.run(*CASE).ret != 0


def test_the_users_own_folder_goes_before_the_shipped_numbers(gated: Project) -> None:
    shipped, own = gated.root / "golden", gated.root / "mine"
    case = Case("warm", "toy")
    assert GoldenFolders(None, shipped).find("pstbench", case) == gated.golden_file()
    assert GoldenFolders(own, shipped).find("pstbench", case) == gated.golden_file()
    file = own / "pstbench" / "toy" / "warm.json"
    file.parent.mkdir(parents=True)
    file.write_text("{}", encoding="utf-8")
    assert GoldenFolders(own, shipped).find("pstbench", case) == file
    assert GoldenFolders(own, shipped).find("pstbench", Case("hot", "toy")) is None
