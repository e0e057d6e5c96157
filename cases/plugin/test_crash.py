"""A worker that dies in the middle of a run: what was lost is named, and a rerun goes on where it stopped."""

from __future__ import annotations

import hashlib

import jsonschema
import pytest
from bench_project import Project, load, outcomes, text_of

from pytest_bench.report.writing import schema

pytest.importorskip("xdist")

LOST = "pixelgate/outputs.py::test_case[warm/toy/full]"

DIE_ONCE = """
import hashlib
name = hashlib.sha256(output.tobytes()).hexdigest()
if name == {victim!r} and not (HERE / "died").exists():
    note("died", "here")
    {death}
note("calls", name)
return Measurement(1.0)
"""


def name_of(project: Project, sample: str) -> str:
    return hashlib.sha256(load(project.output(sample)).tobytes()).hexdigest()


def deadly(project: Project, death: str = "os._exit(1)") -> None:
    """The metric kills its process once, at the last sample of ``warm``."""
    project.probe(DIE_ONCE.format(victim=name_of(project, "c"), death=death))


@pytest.mark.slow
def test_the_lost_case_is_named_and_a_rerun_goes_on_from_the_cache(project: Project) -> None:
    deadly(project, "os.kill(os.getpid(), signal.SIGKILL)")
    first = project.run_apart("-n2", "-k", "test_case", "--bench-report=report", metrics=None)
    assert first.ret == pytest.ExitCode.TESTS_FAILED, text_of(first)
    assert first.parseoutcomes()["failed"] == 1
    assert "INTERNALERROR" not in text_of(first)
    report = project.report()
    jsonschema.validate(report, schema())
    assert report["lost"] == [LOST]
    assert report["exit_status"] == 1
    assert project.case("warm")["outcome"] == "lost"
    assert "crashed" in project.case("warm")["message"]
    assert project.case("warm")["summary"] is None
    assert {project.case(name)["outcome"] for name in ("cold", "identity")} == {"passed"}
    first.stdout.fnmatch_lines(["warm*LOST*"])
    assert not (project.root / "report" / "toy" / "warm").exists()

    done = len(project.lines("calls"))
    again = project.run_apart("-n2", "-k", "test_case", "--bench-report=report", metrics=None)
    assert again.parseoutcomes() == outcomes(passed=3)
    # The first sample was stored before the last one was begun; the other two methods are not computed again.
    assert set(project.lines("calls")[done:]) <= {name_of(project, "b"), name_of(project, "c")}
    assert project.lines("calls")[-1] == name_of(project, "c")
    assert project.report()["lost"] == []


def test_without_a_replacement_the_rest_is_listed_as_not_run(project: Project) -> None:
    deadly(project)
    result = project.run_apart(
        "-n1", "--max-worker-restart=0", "--bench-report=report", "--bench-update-golden", metrics=None
    )
    assert result.ret != 0
    report = project.report()
    jsonschema.validate(report, schema())
    assert report["lost"] == [LOST]
    assert "pixelgate/summary.py::test_summary[warm/toy]" in report["not_run"]
    assert report["exit_status"] != 0
    assert not project.golden_file("warm", "own").exists()
    assert "golden numbers not updated: warm/toy/full: not scored: lost" in text_of(result)


@pytest.mark.slow
def test_items_after_the_crash_run_on_a_new_worker(project: Project) -> None:
    deadly(project)
    result = project.run_apart("-n2", "--bench-report=report", metrics=None)
    report = project.report()
    assert report["lost"] == [LOST]
    assert report["not_run"] == []
    checks = {check["id"]: check["outcome"] for check in report["checks"]}
    assert checks["pixelgate/summary.py::test_summary[warm/toy]"] == "passed"
    assert result.parseoutcomes()["failed"] >= 1
