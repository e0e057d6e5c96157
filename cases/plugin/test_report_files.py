"""The files of a report: JSON, JUnit XML, and each case's three."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest
from bench_project import FAST, SAMPLES, Project, outcomes, text_of

from pixelgate.protocols import load_protocol
from pixelgate.tracks import load_track, locate
from pytest_bench.report.writing import schema

METRICS = FAST.split(",")


def properties(element: ET.Element) -> dict[str, str]:
    found = element.find("properties")
    return {} if found is None else {p.get("name", ""): p.get("value", "") for p in found}


def junit(file: Path) -> tuple[ET.Element, dict[str, ET.Element]]:
    suite = ET.parse(file).getroot().find("testsuite")
    assert suite is not None
    return suite, {f"{case.get('classname')}::{case.get('name')}": case for case in suite.iter("testcase")}


def test_the_json_report_says_what_was_measured_and_on_what(project: Project) -> None:
    project.run("--bench-report=report")
    report = project.report()
    jsonschema.validate(report, schema())
    protocol = load_protocol("pstbench")
    revision = locate(load_track("toy", [project.data]), [project.data]).revision
    (track,) = report["tracks"]
    assert track["dataset"] == {"repository": None, "revision": revision}
    assert track["protocol"] == {"id": "pstbench", "version": "1", "params_sha256": protocol.params_hash}
    assert track["samples"] == 3
    assert [metric["id"] for metric in track["metrics"]] == [metric.id for metric in protocol.metrics]
    assert [case["id"] for case in report["cases"]] == [f"{m}/toy/full" for m in ("cold", "identity", "warm")]
    case = project.case("warm")
    assert case["outcome"] == "passed"
    assert case["golden"]["status"] == "not-gated"
    assert [sample["sample"] for sample in case["samples"]] == list(SAMPLES)
    for metric in METRICS:
        values = [sample["values"][metric] for sample in case["samples"]]
        assert case["summary"]["metrics"][metric]["mean"] == pytest.approx(sum(values) / 3, abs=1e-12)
    assert len(report["checks"]) == 27
    assert {check["kind"] for check in report["checks"]} == {"files", "invariant", "summary"}


def test_the_schema_is_closed_and_valid(project: Project) -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    project.run("--bench-report=report", "-k", "test_case and warm")
    report = project.report()
    report["cases"][0]["surprise"] = 1
    with pytest.raises(jsonschema.ValidationError, match="surprise"):
        jsonschema.validate(report, schema())


def test_each_case_has_three_files(project: Project) -> None:
    project.run("--bench-report=report", "-k", "test_case")
    for method in ("cold", "identity", "warm"):
        folder = project.root / "report" / "toy" / method
        assert sorted(path.name for path in folder.iterdir()) == ["metrics.csv", "run.json", "summary.json"]
    case = project.case("warm")
    with (project.root / "report" / "toy" / "warm" / "metrics.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["pair_id"] for row in rows] == list(SAMPLES)
    for row, sample in zip(rows, case["samples"], strict=True):
        assert {metric: float(row[metric]) for metric in METRICS} == sample["values"]
    assert project.read("report/toy/warm/summary.json") == case["summary"]
    assert project.read("report/toy/warm/run.json") == case["run"]


def test_the_run_record_is_complete(project: Project) -> None:
    project.run("--bench-report=report", "-k", "test_case and warm")
    run = project.read("report/toy/warm/run.json")
    assert run["protocol"]["params_sha256"] == load_protocol("pstbench").params_hash
    assert run["dataset"]["revision"].startswith("sha256:")
    assert run["interval"] == {"resamples": 10_000, "seed": 0, "confidence": 0.95}
    assert run["device"] == "cpu"
    assert run["metrics"] == METRICS
    assert run["metrics_left_out"] == ["lpips"]
    assert [deviation["rule"] for deviation in run["deviations"]] == ["metric-left-out"]
    assert {"python", "pixelgate", "numpy", "pytest"} <= run["versions"].keys()
    assert set(run["backends"]) == set(METRICS)
    assert all("backend" in backend for backend in run["backends"].values())
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in run["outputs"].values())


def test_json_alone(project: Project) -> None:
    project.run("--bench-json=made/for/this/run.json", "-k", "test_case")
    jsonschema.validate(project.read("made/for/this/run.json"), schema())
    assert not (project.root / "report").exists()


def test_nothing_is_written_unasked(project: Project) -> None:
    before = {path.name for path in project.root.iterdir()}
    project.run()
    assert {path.name for path in project.root.iterdir()} - before == {"scores", ".pytest_cache"}


def test_junit_is_written_where_no_file_was_asked_for(project: Project) -> None:
    project.run("--bench-report=report")
    suite, cases = junit(project.root / "report" / "junit.xml")
    assert suite.get("tests") == "30"
    assert len(cases) == 30
    assert properties(suite) == {
        "toy.protocol": "pstbench",
        "toy.params_sha256": load_protocol("pstbench").params_hash,
        "toy.dataset": project.report()["tracks"][0]["dataset"]["revision"],
    }


def test_junit_goes_where_it_was_asked_for(project: Project) -> None:
    project.run("--bench-report=report", "--junitxml=mine.xml", "-k", "test_case")
    assert not (project.root / "report" / "junit.xml").exists()
    suite, cases = junit(project.root / "mine.xml")
    assert len(cases) == 3
    assert "toy.protocol" in properties(suite)


def test_junit_without_a_report_folder(project: Project) -> None:
    project.run("--junitxml=mine.xml", "-k", "test_case")
    suite, cases = junit(project.root / "mine.xml")
    assert len(cases) == 3
    assert properties(suite)["toy.protocol"] == "pstbench"


def test_junit_holds_each_cases_means(project: Project) -> None:
    project.run("--bench-report=report", "-k", "test_case and warm")
    _, cases = junit(project.root / "report" / "junit.xml")
    (case,) = cases.values()
    summary = project.case("warm")["summary"]
    means = {metric: repr(summary["metrics"][metric]["mean"]) for metric in METRICS}
    assert properties(case) == {**means, "n": "3", "golden": "not-gated"}


def test_junit_without_properties(project: Project) -> None:
    project.run("--bench-report=report", "--bench-junit-properties=none", "-k", "test_case and warm")
    _, cases = junit(project.root / "report" / "junit.xml")
    assert [properties(case) for case in cases.values()] == [{}]


def test_a_failed_cases_message_is_in_json_and_junit(project: Project) -> None:
    project.output("b").unlink()
    project.run("--bench-report=report", "-k", "test_case")
    case = project.case("warm")
    assert case["outcome"] == "failed"
    assert "missing-output" in case["message"]
    assert case["summary"]["metrics"]["psnr"]["mean"] is None
    assert case["summary"]["metrics"]["psnr"]["reason"] == "1 problem(s) with the case's files"
    assert case["run"]["missing"] == ["b"]
    _, cases = junit(project.root / "report" / "junit.xml")
    texts = [failure.text or "" for element in cases.values() for failure in element.iter("failure")]
    assert len(texts) == 1
    assert "missing-output" in texts[0]


def test_the_table(project: Project) -> None:
    result = project.run("--bench-report=report")
    summary = project.case("warm")["summary"]["metrics"]

    def cell(metric: str, decimals: int) -> str:
        return f"{summary[metric]['mean']:.{decimals}f} ± {summary[metric]['half_width']:.{decimals}f}"

    revision = project.report()["tracks"][0]["dataset"]["revision"]
    result.stdout.fnmatch_lines(
        [
            f"track: toy   protocol: pstbench   dataset: {revision[:19]}   n=3",
            "method *PSNR↑ *SSIM↑ *LPIPS↓ *ΔE00↓ *H-Corr(gt)↑ *H-Corr(style)↑",
            f"warm † *{cell('psnr', 2)} *{cell('ssim', 4)} *– *{cell('de00', 2)} *{cell('hcorr_gt', 4)} *",
            "*lpips: the run was asked to leave this metric out*",
        ]
    )
    assert result.parseoutcomes() == outcomes(passed=30)


def test_reports_are_replaced_whole(project: Project) -> None:
    project.run("--bench-report=report", "-k", "test_case")
    first = project.report()
    project.run("--bench-report=report", "-k", "test_case and warm")
    assert len(project.report()["cases"]) == 1 < len(first["cases"])
    assert not [path for path in (project.root / "report").rglob("*") if path.name.startswith(".")]


@pytest.mark.parametrize("option", ["--bench-report=in-the-way", "--bench-json=in-the-way/report.json"])
def test_a_report_that_cannot_be_written_is_told_before_anything_is_scored(project: Project, option: str) -> None:
    (project.root / "in-the-way").write_text("", encoding="utf-8")
    result = project.run(option, "-k", "test_case")
    text = text_of(result)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "INTERNALERROR" not in text
    assert "[not-writable]" in text


def test_an_item_that_ran_twice(project: Project) -> None:
    """As plugins do that repeat failed items: the last attempt counts, and how often it ran is on record."""
    project.conftest(
        "from _pytest.runner import runtestprotocol\n"
        "def pytest_runtest_protocol(item, nextitem):\n"
        "    for attempt in range(2):\n"
        "        for report in runtestprotocol(item, log=False, nextitem=nextitem):\n"
        "            item.ihook.pytest_runtest_logreport(report=report)\n"
        "    return True\n"
    )
    project.run("-k", "test_case and warm", "--bench-report=report")
    case = project.case("warm")
    assert (case["outcome"], case["attempts"]) == ("passed", 2)
    assert len(case["samples"]) == 3
