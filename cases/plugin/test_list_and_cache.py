"""The dry run, and the score cache: what is computed once is not computed again, and nothing stale is used."""

from __future__ import annotations

import sqlite3

import pytest
from bench_project import MEAN_DIFFERENCE, Project, load, nudge, outcomes, picture, save, text_of

COUNT = "note('calls', 'x')\n" + MEAN_DIFFERENCE
CASE = ("-k", "test_case")


@pytest.fixture
def counted(project: Project) -> Project:
    """A project whose metric counts its computations: three methods of three samples."""
    project.probe(COUNT)
    project.run(*CASE, metrics=None)
    assert calls(project) == 9
    return project


def calls(project: Project) -> int:
    """Computations since the last look."""
    count = len(project.lines("calls"))
    (project.root / "calls").unlink(missing_ok=True)
    return count


def test_a_rerun_computes_nothing(counted: Project) -> None:
    result = counted.run(*CASE, metrics=None)
    assert result.parseoutcomes() == outcomes(passed=3, deselected=27)
    assert calls(counted) == 0


def test_a_rerun_reports_the_same(counted: Project) -> None:
    counted.run(*CASE, "--bench-no-cache", "--bench-report=fresh", metrics=None)
    counted.run(*CASE, "--bench-report=cached", metrics=None)
    for method in ("cold", "identity", "warm"):
        fresh, cached = counted.case(method, "fresh"), counted.case(method, "cached")
        assert (fresh["samples"], fresh["summary"], fresh["run"]) == (
            cached["samples"],
            cached["summary"],
            cached["run"],
        )


def test_a_reference_is_worked_on_once_for_all_methods(project: Project) -> None:
    project.probe(prepare="note('prepared', 'x')\nreturn reference")
    project.run(*CASE, metrics=None)
    assert len(project.lines("prepared")) == 3


def test_one_changed_output_is_computed_alone(counted: Project) -> None:
    nudge(counted.output())
    counted.run(*CASE, metrics=None)
    assert calls(counted) == 1


def test_a_changed_reference_is_computed_for_all_methods(counted: Project) -> None:
    nudge(counted.data / "toy" / "gt" / "b.png")
    counted.run(*CASE, metrics=None)
    assert calls(counted) == 3


def test_a_file_that_is_merely_moved_is_not_computed_again(counted: Project) -> None:
    counted.outputs.rename(counted.root / "moved")
    counted.run("--bench-outputs=moved", *CASE, metrics=None)
    assert calls(counted) == 0


def test_an_output_that_is_replaced_by_a_copy_of_another_is_never_mistaken(counted: Project) -> None:
    counted.run(*CASE, "--bench-report=one", metrics=None)
    save(counted.output("a"), load(counted.output("b")))
    counted.run(*CASE, "--bench-report=two", metrics=None)
    assert calls(counted) == 1
    values = [counted.case("warm", name)["samples"][0]["values"]["probe"] for name in ("one", "two")]
    assert values[0] != values[1]


@pytest.mark.parametrize("change", [{"version": "2"}, {"params": "{'k': 1}"}], ids=["version", "parameters"])
def test_another_definition_is_computed_anew(counted: Project, change: dict[str, str]) -> None:
    counted.probe(COUNT, **change)
    counted.run(*CASE, metrics=None)
    assert calls(counted) == 9


def test_metrics_are_kept_one_by_one(counted: Project) -> None:
    counted.run(*CASE, metrics="probe")
    assert calls(counted) == 0
    nudge(counted.output())
    counted.run(*CASE, metrics="psnr")
    counted.run(*CASE, metrics=None)
    assert calls(counted) == 1


def test_no_cache_keeps_nothing(project: Project) -> None:
    project.probe(COUNT)
    for _ in range(2):
        project.run(*CASE, "--bench-no-cache", metrics=None)
        assert calls(project) == 9
    assert not (project.root / "scores").exists()


def test_the_named_folder_is_used(project: Project) -> None:
    project.run(*CASE, "--bench-cache=mine", metrics="psnr")
    assert list((project.root / "mine").iterdir())
    assert not (project.root / "scores").exists()


def test_the_cache_lies_apart_from_pytests_own(counted: Project) -> None:
    counted.run(*CASE, "--cache-clear", metrics=None)
    assert calls(counted) == 0


def damage(project: Project, how: str) -> None:
    (file,) = (project.root / "scores").glob("*.sqlite")
    for side in (project.root / "scores").glob("*.sqlite-*"):
        side.unlink()
    data = bytearray(file.read_bytes())
    if how == "another file":
        file.write_bytes(b"this is no data base " * 100)
    elif how == "torn pages":
        file.write_bytes(bytes(data[:1024]) + b"\x5a" * (len(data) - 1024))
    else:
        with sqlite3.connect(file) as connection:
            if how == "another table":
                connection.execute("DROP TABLE scores")
                connection.execute("CREATE TABLE scores (player TEXT, points INTEGER)")
            else:
                connection.execute("UPDATE scores SET value = substr(value, 1, 5)")
        connection.close()


@pytest.mark.parametrize("how", ["another file", "torn pages", "another table"])
def test_a_damaged_cache_is_one_clear_error(counted: Project, how: str) -> None:
    damage(counted, how)
    result = counted.run(*CASE, metrics=None)
    text = text_of(result)
    assert result.ret != 0
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    assert text.count("scores.sqlite: the score cache cannot be used") == 1
    assert "--bench-no-cache" in text
    assert "/cache.py:" not in text
    assert counted.run(*CASE, "--bench-no-cache", metrics=None).ret == 0


def test_damaged_entries_are_computed_anew(counted: Project) -> None:
    damage(counted, "cut values")
    assert counted.run(*CASE, metrics=None).ret == 0
    assert calls(counted) == 9
    assert counted.run(*CASE, metrics=None).ret == 0
    assert calls(counted) == 0


def test_a_cache_folder_that_cannot_be_made(project: Project) -> None:
    (project.root / "in-the-way").write_text("", encoding="utf-8")
    result = project.run(*CASE, "--bench-cache=in-the-way/cache", metrics="psnr")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "[score-cache]" in text_of(result)
    assert "Traceback" not in text_of(result)


class TestList:
    def test_what_would_be_scored(self, project: Project) -> None:
        project.probe(COUNT)
        result = project.run("--bench-list", metrics=None)
        assert result.ret == 0
        result.stdout.fnmatch_lines(
            [
                "outputs: *out",
                "track toy: protocol own, data set sha256:*",
                "*metrics: psnr, probe",
                "*cold/toy/full: 3 of 3 outputs there, 0 cached, 3 to score",
                "*identity/toy/full (computed from the track's content): 3 of 3 outputs there, *",
                "*warm/toy/full: 3 of 3 outputs there, 0 cached, 3 to score",
            ]
        )
        assert calls(project) == 0
        assert "test session starts" not in text_of(result)

    def test_what_is_cached(self, counted: Project) -> None:
        nudge(counted.output())
        result = counted.run("--bench-list", metrics=None)
        result.stdout.fnmatch_lines(
            ["*cold/toy/full: *3 cached, 0 to score", "*warm/toy/full: 3 of 3 outputs there, 2 cached, 1 to score"]
        )
        assert calls(counted) == 0

    def test_what_is_missing(self, project: Project) -> None:
        project.output("b").unlink()
        save(project.output("x"), picture(1))
        result = project.run("--bench-list")
        result.stdout.fnmatch_lines(["*warm/toy/full: 2 of 3 outputs*", "*b.png: the output is missing*", "*x.png: *"])
        assert result.ret == 0

    def test_what_would_stop_the_run(self, project: Project) -> None:
        (project.data / "toy" / "gt" / "b.png").unlink()
        (project.data / "toy" / "track.yaml").write_text(
            (project.data / "toy" / "track.yaml")
            .read_text()
            .replace('"{id}.png"', '["a", "b", "c"]')
            .replace(
                "{content: content, style: style, reference: gt}",
                "{content: 'content/{id}.png', style: 'style/{id}.png', reference: 'gt/{id}.png'}",
            )
        )
        result = project.run("--bench-list")
        result.stdout.fnmatch_lines(["*warm/toy/full*", "the run would stop at once:", "*gt/b.png*missing-reference*"])

    def test_with_filters(self, project: Project) -> None:
        result = project.run("--bench-list", "--bench-method=warm")
        assert "warm/toy/full" in text_of(result)
        assert "cold" not in text_of(result)

    def test_an_ini_key(self, project: Project) -> None:
        project.pytester.makeini("[pytest]\nbench_list = true")
        result = project.run()
        result.stdout.fnmatch_lines(["*warm/toy/full: 3 of 3 outputs there*"])
        assert "passed" not in text_of(result)

    def test_nothing_is_written(self, project: Project) -> None:
        before = {path for path in project.root.rglob("*") if "scores" not in path.parts}
        project.run("--bench-list", "--bench-report=report")
        assert {path for path in project.root.rglob("*") if "scores" not in path.parts} == before

    def test_a_wrong_folder_is_a_usage_error(self, project: Project) -> None:
        result = project.run("--bench-list", "--bench-outputs=nowhere")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert "does not exist" in text_of(result)
        assert "Traceback" not in text_of(result)

    @pytest.mark.parametrize("args", [["-p", "no:terminal"], ["-p", "no:xdist"], ["-n2"], ["-q"]], ids=" ".join)
    def test_with_other_options(self, project: Project, args: list[str]) -> None:
        result = project.run("--bench-list", *args)
        assert result.ret == 0
        assert "warm/toy/full: 3 of 3 outputs there" in text_of(result)
        assert "Traceback" not in text_of(result)
