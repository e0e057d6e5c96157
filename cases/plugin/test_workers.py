"""Runs with pytest-xdist: the same items, numbers and files as a serial run."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest
from bench_project import Project, needs_network, outcomes, text_of, timeless

from pytest_bench.report.writing import schema

pytest.importorskip("xdist")

# Digest of AlexNet's convolutions as torchvision publishes them.
ALEXNET = "2b566cc3a4d6f0a7"


def junit(file: Path) -> list[tuple[str, list[tuple[str, str]]]]:
    """Names and properties of a JUnit file's cases, sorted, the suite's own properties first."""
    suite = ET.parse(file).getroot().find("testsuite")
    assert suite is not None
    cases = [suite, *suite.iter("testcase")]
    found = []
    for case in cases:
        properties = case.find("properties")
        pairs = [] if properties is None else [(p.get("name", ""), p.get("value", "")) for p in properties]
        found.append((case.get("classname", "") + "::" + case.get("name", ""), pairs))
    return sorted(found)


@pytest.mark.slow
def test_a_serial_and_a_parallel_run_report_the_same(project: Project) -> None:
    """With the network, each with a fresh cache: more threads or processes change no digit."""
    needs_network()
    serial = project.run_apart("--bench-report=serial", "--bench-cache=cache-1", metrics=None)
    parallel = project.run_apart("--bench-report=parallel", "--bench-cache=cache-2", "-n2", metrics=None)
    assert serial.parseoutcomes() == outcomes(passed=30), text_of(serial)
    assert parallel.parseoutcomes() == outcomes(passed=30), text_of(parallel)
    reports = [project.report(name) for name in ("serial", "parallel")]
    for report in reports:
        jsonschema.validate(report, schema())
        assert [len(case["samples"]) for case in report["cases"]] == [3, 3, 3]
        assert report["cases"][0]["summary"]["metrics"]["lpips"]["mean"] > 0
        assert report["cases"][0]["ranked"]
        backend = report["cases"][0]["run"]["backends"]["lpips"]
        assert backend["weights"].startswith(ALEXNET)
        assert backend["weights_source"]
    assert timeless(reports[0]) == timeless(reports[1])
    assert junit(project.root / "serial" / "junit.xml") == junit(project.root / "parallel" / "junit.xml")
    for file in sorted((project.root / "serial" / "toy").rglob("*.*")):
        other = project.root / "parallel" / file.relative_to(project.root / "serial")
        assert file.read_bytes() == other.read_bytes(), file
    tables = [[line for line in run.outlines if line.startswith(("track:", "cold", "warm"))] for run in (serial, parallel)]
    assert len(tables[0]) == 3
    assert tables[0] == tables[1]


def test_own_tests_beside_the_suite_and_last_failed_afterwards(project: Project) -> None:
    project.pytester.makepyfile(test_own="def test_passes(): pass\n\ndef test_fails(): assert 0")
    project.output("b", "cold").unlink()
    first = project.run_apart("test_own.py", "-n2")
    counts = first.parseoutcomes()
    assert counts["failed"] + counts["passed"] == 32
    again = project.run("test_own.py", "pixelgate", "--lf")
    assert again.parseoutcomes()["failed"] == counts["failed"]
    assert "passed" not in again.parseoutcomes()


def test_a_node_id_and_a_keyword_select(project: Project) -> None:
    result = project.run_apart("pixelgate/outputs.py", "-k", "warm or cold", "-n2", "--bench-report=report")
    assert result.parseoutcomes() == outcomes(passed=2)
    assert [case["id"] for case in project.report()["cases"]] == ["cold/toy/full", "warm/toy/full"]


def test_items_of_a_method_stay_on_one_worker(project: Project) -> None:
    """Each worker loads a reference and a network once; scattered items would score a case on both."""
    project.probe(f"note('calls', str(os.getpid()))\n{'return Measurement(1.0)'}")
    project.run_apart("-n2", "-k", "test_case or sample-count or test_summary", "--bench-no-cache", metrics=None)
    # Three cases of three samples; without a cache any repetition on another worker would show.
    assert len(project.lines("calls")) == 9


@pytest.mark.parametrize("dist", ["loadfile", "worksteal"])
def test_other_ways_to_distribute(project: Project, dist: str) -> None:
    result = project.run_apart("-n2", f"--dist={dist}", "-k", "warm and (test_case or sample-count)", "--bench-json=r.json")
    assert result.parseoutcomes() == outcomes(passed=2), text_of(result)
    assert project.read("r.json")["cases"][0]["outcome"] == "passed"


def test_workers_read_golden_numbers_while_nothing_writes_them(project: Project) -> None:
    project.run("--bench-update-golden")
    folder = project.root / "golden"
    before = project.golden_texts()
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        result = project.run_apart("-n2", "--bench-report=report")
    finally:
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert result.parseoutcomes() == outcomes(passed=30)
    assert {case["golden"]["status"] for case in project.report()["cases"]} == {"passed"}
    assert project.golden_texts() == before
