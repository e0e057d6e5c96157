"""The items of a run: which there are, what they are called, and pytest's own ways of choosing some of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench_project import INVARIANTS, Project, node_ids, nudge, outcomes, picture, save, text_of

import pytest_bench


def expected_ids(*methods: str, track: str = "toy") -> list[str]:
    return [
        *(f"pixelgate/outputs.py::test_case[{method}/{track}/full]" for method in methods),
        *(f"pixelgate/protocol.py::test_files[{method}/{track}]" for method in methods),
        *(
            f"pixelgate/protocol.py::test_invariant[{method}/{track}/full/{name}]"
            for method in methods
            for name in INVARIANTS
        ),
        *(f"pixelgate/summary.py::test_summary[{method}/{track}]" for method in methods),
    ]


def break_method(project: Project, method: str = "cold") -> None:
    """Take one output away."""
    project.output("b", method).unlink()


def test_names_and_order(project: Project) -> None:
    result = project.run("--collect-only", "-q")
    assert node_ids(result) == expected_ids("cold", "identity", "warm")


def test_node_ids_name_no_place_of_this_machine(project: Project) -> None:
    result = project.run("--collect-only", "-q")
    text = "\n".join(node_ids(result))
    for place in (project.root, Path(pytest_bench.__file__).parent, "site-packages"):
        assert str(place) not in text
    assert text.isascii()


def test_node_ids_do_not_depend_on_where_the_run_is_started(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    here = node_ids(project.run("--collect-only", "-q"))
    elsewhere = project.pytester.mkdir("elsewhere")
    monkeypatch.chdir(elsewhere)
    there = project.pytester.runpytest_inprocess(
        "--collect-only", "-q", "--bench-outputs=../out", "--bench-data=../data"
    )
    assert node_ids(there) == here


def test_a_dry_run_scores_and_writes_nothing(project: Project) -> None:
    project.probe("note('calls', 'x')\nreturn Measurement(1.0)")
    result = project.run("--collect-only", "-q", "--bench-report=report", metrics=None)
    assert result.ret == 0
    assert project.lines("calls") == []
    assert not (project.root / "report").exists()
    assert "PSNR" not in text_of(result)


def test_several_tracks(project: Project) -> None:
    project.track("also", seed=50)
    project.method("warm", 3, track="also")
    ids = node_ids(project.run("--collect-only", "-q"))
    cases = [re.search(r"\[(.+)/full\]", name) for name in ids if "::test_case" in name]
    assert [case and case.group(1) for case in cases] == [
        *("cold/toy", "identity/also", "identity/toy", "warm/also", "warm/toy"),
    ]
    result = project.run()
    assert result.parseoutcomes() == outcomes(passed=50)
    result.stdout.fnmatch_lines(["track: also *n=3", "method*", "track: toy *n=3", "method*"])


def test_filters_repeat(project: Project) -> None:
    project.method("third", 1)
    ids = node_ids(project.run("--collect-only", "-q", "--bench-method=third", "--bench-method=warm"))
    assert ids == expected_ids("third", "warm")


def test_one_methods_own_folder(project: Project) -> None:
    args = ("--bench-outputs=out/warm/toy", "--bench-track=toy", "--collect-only", "-q")
    assert node_ids(project.run(*args)) == expected_ids("identity", "toy")
    assert node_ids(project.run(*args, "--bench-method=mine")) == expected_ids("identity", "mine")


def test_the_whole_run_passes(project: Project) -> None:
    result = project.run("-v")
    assert result.ret == 0
    assert result.parseoutcomes() == outcomes(passed=30)


def test_a_keyword_selects(project: Project) -> None:
    result = project.run("-k", "test_case and warm", "--bench-report=report")
    assert result.parseoutcomes() == outcomes(passed=1, deselected=29)
    report = project.report()
    assert [case["id"] for case in report["cases"]] == ["warm/toy/full"]
    assert report["not_selected"] == ["cold/toy/full", "identity/toy/full"]


def test_a_keyword_that_matches_nothing(project: Project) -> None:
    assert project.run("-k", "nothing_at_all").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_node_id_selects(project: Project) -> None:
    result = project.run("pixelgate/outputs.py::test_case[warm/toy/full]", "-v")
    assert result.parseoutcomes() == outcomes(passed=1, deselected=29)


@pytest.mark.parametrize(
    ("argument", "count"),
    [("pixelgate/summary.py", 3), ("pixelgate/protocol.py::test_files", 3), ("pixelgate", 30)],
)
def test_a_part_of_the_suite_selects(project: Project, argument: str, count: int) -> None:
    result = project.run(argument)
    assert result.parseoutcomes()["passed"] == count


def test_the_suite_asked_for_by_its_package(project: Project) -> None:
    assert project.run("--pyargs", "pytest_bench.suite").parseoutcomes() == outcomes(passed=30)


def test_deselecting_by_node_id(project: Project) -> None:
    result = project.run("--deselect=pixelgate/protocol.py")
    assert result.parseoutcomes() == outcomes(passed=6, deselected=24)


def test_stopping_at_the_first_failure(project: Project) -> None:
    break_method(project)
    result = project.run("-x", "--bench-report=report")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes() == outcomes(failed=1)
    report = project.report()
    assert project.case("cold")["outcome"] == "failed"
    assert project.case("warm")["outcome"] == "not-run"
    assert len(report["not_run"]) == 29
    assert "pixelgate/outputs.py::test_case[warm/toy/full]" in report["not_run"]
    result.stdout.fnmatch_lines(["warm*NOT-RUN*"])


def test_last_failed_runs_what_failed(project: Project) -> None:
    break_method(project)
    first = project.run()
    failed = first.parseoutcomes()["failed"]
    assert failed >= 3
    again = project.run("--lf")
    assert again.parseoutcomes()["failed"] == failed
    assert "passed" not in again.parseoutcomes()
    project.method("cold", -9)
    assert project.run("--lf").parseoutcomes()["passed"] == failed
    assert project.run("--lf").parseoutcomes() == outcomes(passed=30)


def test_last_failed_with_own_tests_that_failed_too(project: Project) -> None:
    project.pytester.makepyfile(test_own="def test_passes(): pass\n\ndef test_fails(): assert 0")
    break_method(project)
    args = ("test_own.py", "pixelgate")
    first = project.run(*args)
    again = project.run(*args, "--lf")
    assert again.parseoutcomes()["failed"] == first.parseoutcomes()["failed"] > 1
    assert "passed" not in again.parseoutcomes()


def test_failed_first(project: Project) -> None:
    project.output("b", "warm").unlink()
    project.run()
    again = project.run("--ff", "-v")
    first = next(line for line in again.outlines if "::" in line)
    assert "test_case[warm/toy/full] FAILED" in first


def test_own_tests_run_beside_the_suite_where_they_are_named(project: Project) -> None:
    project.pytester.makepyfile(test_own="def test_passes(): pass")
    assert project.run().parseoutcomes() == outcomes(passed=30)
    assert project.run("test_own.py").parseoutcomes() == outcomes(passed=31)
    assert project.run("test_own.py::test_passes").parseoutcomes() == outcomes(passed=31)
    assert project.run("test_own.py", "pixelgate/summary.py").parseoutcomes()["passed"] == 4


def test_own_tests_named_in_the_ini_file_do_not_join(project: Project) -> None:
    project.pytester.makepyfile(test_own="def test_fails(): assert 0")
    project.pytester.makeini("[pytest]\ntestpaths = test_own.py\naddopts = -ra --strict-markers --strict-config")
    assert project.run().parseoutcomes() == outcomes(passed=30)


@pytest.mark.parametrize("plugin", ["xdist", "cacheprovider", "junitxml", "terminal"])
def test_without_a_plugin_of_pytests_own(project: Project, plugin: str) -> None:
    nudge(project.output())
    result = project.run("-p", f"no:{plugin}", "--bench-report=report")
    assert result.ret == 0, text_of(result)
    assert "INTERNALERROR" not in text_of(result)
    assert project.report()["exit_status"] == 0
    assert len(project.report()["cases"]) == 3
    assert (project.root / "report" / "junit.xml").exists() == (plugin != "junitxml")


def test_names_that_are_hard_to_select(project: Project) -> None:
    for name in ("a+b", "v1.2_final", "10", "2"):
        project.method(name, 2)
    result = project.run("pixelgate/outputs.py::test_case[a+b/toy/full]", "pixelgate/outputs.py::test_case[2/toy/full]")
    assert result.parseoutcomes()["passed"] == 2


def test_an_outputs_folder_with_a_blank_and_an_umlaut(project: Project) -> None:
    folder = project.root / "meine Ausgaben ü"
    project.outputs.rename(folder)
    result = project.run(f"--bench-outputs={folder.name}")
    assert result.parseoutcomes() == outcomes(passed=30)


def test_an_outputs_folder_of_another_kind_beside_is_named(project: Project) -> None:
    (project.outputs / "notes").mkdir()
    (project.outputs / "notes" / "readme.txt").write_text("x", encoding="utf-8")
    save(project.outputs / ".hidden" / "toy" / "a.png", picture(2))
    result = project.run("--bench-report=report")
    assert result.ret == 0
    assert project.report()["ignored_folders"] == [".hidden", "notes"]
    assert "passed over, no pictures or hidden: .hidden, notes" in text_of(result)
