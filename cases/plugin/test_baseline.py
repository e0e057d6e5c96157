"""The protocol's baseline row: the content pictures, unchanged."""

from __future__ import annotations

import shutil

import pytest
from bench_project import SAMPLES, Project, load, node_ids, outcomes, save, text_of

TABLE = ("-k", "test_case", "--bench-report=report")


def content_missing(project: Project) -> None:
    """A track that says that its content may be missing, and it is."""
    file = project.data / "toy" / "track.yaml"
    file.write_text(file.read_text(encoding="utf-8") + "optional: [content]\n", encoding="utf-8")
    shutil.rmtree(project.data / "toy" / "content")


def identity(project: Project, shift: int = 0) -> None:
    """Identity's outputs as somebody wrote them."""
    for sample in SAMPLES:
        pixels = load(project.data / "toy" / "content" / f"{sample}.png")
        save(project.output(sample, "identity"), pixels + shift if shift else pixels)


def test_it_is_computed_where_the_content_is_at_hand(project: Project) -> None:
    result = project.run(*TABLE)
    result.stdout.fnmatch_lines(["identity*±*computed from the track's content*"])
    assert project.case("identity")["run"]["baseline"] == "content"


def test_it_equals_identitys_own_outputs(project: Project) -> None:
    project.run(*TABLE)
    computed = project.case("identity")
    identity(project)
    result = project.run(*TABLE)
    written = project.case("identity")
    assert written["run"]["baseline"] is None
    assert written["summary"] == computed["summary"]
    assert "computed from" not in text_of(result)
    assert result.parseoutcomes() == outcomes(passed=3, deselected=27)


def test_outputs_that_were_written_are_the_ones_that_are_scored(project: Project) -> None:
    project.run(*TABLE)
    computed = project.case("identity")["summary"]["metrics"]["psnr"]["mean"]
    identity(project, shift=1)
    project.run(*TABLE)
    assert project.case("identity")["summary"]["metrics"]["psnr"]["mean"] != computed


def test_content_that_is_not_there_is_told(project: Project) -> None:
    content_missing(project)
    result = project.run(*TABLE)
    assert result.ret == 0
    assert [case["method"] for case in project.report()["cases"]] == ["cold", "warm"]
    line = next(line for line in result.outlines if line.startswith("identity"))
    assert "missing" in line
    assert "content" in line
    assert "filter" not in line


@pytest.mark.parametrize("selection", [["-k", "test_case and warm"], ["-k", "test_case", "--bench-method=warm"]])
def test_a_row_that_the_selection_leaves_out_is_told(project: Project, selection: list[str]) -> None:
    result = project.run(*selection)
    line = next(line for line in result.outlines if line.startswith("identity"))
    assert "missing" in line
    assert "leave it out" in line or "leaves it out" in line


def test_it_is_scored_alone_where_it_is_asked_for(project: Project) -> None:
    identity(project)
    ids = node_ids(project.run("--bench-method=identity", "--collect-only", "-q"))
    assert ids[0] == "pixelgate/outputs.py::test_case[identity/toy/full]"
    assert len(ids) == 10


def test_it_comes_first_in_the_table(project: Project) -> None:
    project.method("aaa", 2)
    result = project.run("-k", "test_case")
    rows = [line.split()[0] for line in result.outlines if "±" in line]
    assert rows == ["identity", "aaa", "cold", "warm"]


def test_it_is_never_required_to_have_golden_numbers(project: Project) -> None:
    (project.root / "golden").mkdir()
    project.run(*TABLE)
    assert project.case("identity")["outcome"] == "passed"
    assert project.case("warm")["outcome"] == "failed"


def test_it_is_gated_where_it_has_golden_numbers(project: Project) -> None:
    project.run("--bench-update-golden", "-k", "test_case")
    project.edit_golden("slices/full/metrics/psnr/value", 1.0, method="identity")
    project.run(*TABLE)
    assert project.case("identity")["outcome"] == "failed"
