"""A path behind a blank, which pytest takes for a test path, must not switch the gate off."""

from __future__ import annotations

import shutil

import pytest
from bench_project import FAST, Project, text_of


@pytest.fixture
def elsewhere(project: Project):
    """The project's outputs, moved out of it."""
    project.run("--bench-update-golden")
    place = project.root.parent / f"{project.root.name}-elsewhere"
    shutil.move(str(project.outputs), str(place))
    yield place
    shutil.rmtree(place)


def run(project: Project, *outputs: str):
    return project.pytester.runpytest_subprocess(
        *outputs, "--bench-data=data", f"--bench-metrics={FAST}", "-k", "test_case"
    )


def test_a_passed_over_ini_file_is_a_usage_error(project: Project, elsewhere) -> None:
    (project.root / "pytest.ini").write_text("[pytest]\nbench_require_golden = true\n")
    result = run(project, "--bench-outputs", str(elsewhere))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "--bench-outputs=DIR, with an equals sign" in text_of(result)
    assert run(project, f"--bench-outputs={elsewhere}").ret == 0


def test_both_spellings_find_the_projects_golden_numbers(project: Project, elsewhere) -> None:
    project.edit_golden("slices/full/metrics/psnr/value", 1.0)
    assert run(project, f"--bench-outputs={elsewhere}").ret == 1
    result = run(project, "--bench-outputs", str(elsewhere))
    assert result.ret == 1
    assert "metric moved" in text_of(result)


def test_an_ini_key_leaves_the_projects_own_tests_in(project: Project) -> None:
    project.pytester.makepyfile(test_own="def test_own(): assert 0")
    (project.root / "pytest.ini").write_text("[pytest]\nbench_outputs = out\nbench_data = data\n")
    result = project.pytester.runpytest_subprocess(f"--bench-metrics={FAST}", "-k", "test_case or test_own")
    assert result.parseoutcomes()["failed"] == 1
    assert result.parseoutcomes()["passed"] >= 1


@pytest.mark.parametrize("option", ["--bench-outputs=", "--bench-report=", "--bench-metrics="])
def test_an_empty_value_is_a_usage_error(project: Project, option: str) -> None:
    result = project.run(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "empty value" in text_of(result)


def test_a_gated_method_without_outputs_is_named(project: Project) -> None:
    project.run("--bench-update-golden")
    shutil.rmtree(project.outputs / "warm")
    result = project.run("--bench-report=report")
    assert "golden numbers without outputs: " in text_of(result)
    assert any(file.endswith("warm.json") for file in project.report()["golden_without_outputs"])
    assert project.run("--bench-require-golden").ret == 1


def test_a_fixture_of_the_users_named_bench_does_no_harm(project: Project) -> None:
    project.conftest("import pytest\n\n@pytest.fixture\ndef bench():\n    return 1\n")
    assert project.run("-k", "test_case").ret == 0


def test_golden_as_a_file_is_a_usage_error(project: Project) -> None:
    (project.root / "golden").write_text("x")
    assert project.run().ret == pytest.ExitCode.USAGE_ERROR
