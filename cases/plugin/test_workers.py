"""Runs with pytest-xdist: the same items, numbers and files as a serial run."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest
from bench_project import Project, needs_network, nudge, outcomes, png16, text_of, timeless

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


FAULTY = {
    "pixel": "outputs differ: 1 of 3 pictures are not the ones that the golden numbers were written from: b",
    "digit": "metric moved",
    "removed": "b.png: the output is missing.",
    "deep": "b.png",
}


@pytest.fixture
def faulty(project: Project) -> Project:
    """Golden numbers of all metrics, and then a different fault in each of four methods' outputs."""
    needs_network()
    for shift, name in enumerate(FAULTY):
        project.method(name, 2 + shift)
    made = project.run_apart("--bench-update-golden", "-k", "test_case", metrics=None)
    assert made.ret == 0, text_of(made)
    nudge(project.output("b", "pixel"))
    project.output("b", "removed").unlink()
    png16(project.output("b", "deep"))
    known = project.read("golden/pstbench/toy/digit.json")["slices"]["full"]["metrics"]["lpips"]
    project.edit_golden("slices/full/metrics/lpips/value", known["value"] + 2 * known["atol"], method="digit")
    return project


@pytest.mark.slow
def test_a_serial_and_a_parallel_run_report_the_same(faulty: Project) -> None:
    """With the network, each with a fresh cache: more threads or processes change no digit and hide no fault."""
    for name, *more in (("serial",), ("parallel", "-n2")):
        result = faulty.run_apart(f"--bench-report={name}", f"--bench-cache=cache-{name}", *more, metrics=None)
        assert result.ret == pytest.ExitCode.TESTS_FAILED, text_of(result)
        report = faulty.report(name)
        jsonschema.validate(report, schema())
        failed = {case["method"]: case["message"] for case in report["cases"] if case["outcome"] != "passed"}
        assert failed.keys() == FAULTY.keys()
        for method, part in FAULTY.items():
            assert part in failed[method]
        assert "16" in failed["deep"]
        assert "1 of 6 metrics" in failed["digit"]
        clean = faulty.case("warm", name)
        assert clean["ranked"]
        assert clean["golden"]["status"] == "passed"
        assert clean["summary"]["metrics"]["lpips"]["mean"] > 0
        backend = clean["run"]["backends"]["lpips"]
        assert backend["weights"].startswith(ALEXNET)
        assert backend["weights_source"]
    assert timeless(faulty.report("serial")) == timeless(faulty.report("parallel"))
    assert junit(faulty.root / "serial" / "junit.xml") == junit(faulty.root / "parallel" / "junit.xml")
    for file in sorted((faulty.root / "serial" / "toy").rglob("*.*")):
        other = faulty.root / "parallel" / file.relative_to(faulty.root / "serial")
        assert file.read_bytes() == other.read_bytes(), file


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
    ids = ("pixelgate/outputs.py::test_case[warm/toy/full]", "pixelgate/summary.py")
    result = project.run_apart(*ids, "-k", "warm or cold", "-n2", "--bench-report=report")
    assert result.parseoutcomes() == outcomes(passed=3)
    report = project.report()
    assert [case["id"] for case in report["cases"]] == ["warm/toy/full"]
    assert [check["subject"] for check in report["checks"]] == ["cold/toy", "warm/toy"]


def test_items_of_a_method_stay_on_one_worker(project: Project) -> None:
    """Each worker loads a reference and a network once; scattered items would score a case on both."""
    project.probe(f"note('calls', str(os.getpid()))\n{'return Measurement(1.0)'}")
    project.run_apart("-n2", "-k", "test_case or sample-count or test_summary", "--bench-no-cache", metrics=None)
    # Three cases of three samples; without a cache any repetition on another worker would show.
    assert len(project.lines("calls")) == 9


@pytest.mark.parametrize("dist", ["loadfile", "worksteal"])
def test_other_ways_to_distribute(project: Project, dist: str) -> None:
    result = project.run_apart(
        "-n2", f"--dist={dist}", "-k", "warm and (test_case or sample-count)", "--bench-json=r.json"
    )
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
