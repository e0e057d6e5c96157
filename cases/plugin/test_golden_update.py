"""Writing golden numbers: on request alone, whole files, merged per key, never from a failed or partial case."""

from __future__ import annotations

import json

import pytest
from bench_project import FAST, SAMPLES, Project, nudge, outcomes, picture, save, text_of

METRICS = FAST.split(",")


def updated(project: Project, *args: str, metrics: str | None = FAST) -> pytest.RunResult:
    return project.run("--bench-update-golden", *args, metrics=metrics)


def numbers(project: Project, method: str = "warm") -> dict[str, float]:
    entry = json.loads(project.golden_file(method).read_text(encoding="utf-8"))["slices"]["full"]["metrics"]
    return {metric: entry[metric]["value"] for metric in entry}


def test_a_file_per_method(project: Project) -> None:
    result = updated(project, "--bench-report=report")
    assert result.ret == 0
    assert list(project.golden_texts()) == [f"pstbench/toy/{method}.json" for method in ("cold", "identity", "warm")]
    golden = json.loads(project.golden_file().read_text(encoding="utf-8"))
    case = project.case("warm")
    assert golden["protocol"] == case["run"]["protocol"]
    assert golden["dataset_revision"] == case["run"]["dataset"]["revision"]
    entry = golden["slices"]["full"]
    assert entry["outputs"] == case["run"]["outputs"]
    assert list(entry["metrics"]) == METRICS
    for metric, number in entry["metrics"].items():
        assert number["value"] == case["summary"]["metrics"][metric]["mean"]
        assert number["n"] == 3
        assert number["atol"] > 0
        assert number["backend"] in ("numba", "numpy")
        assert "pixelgate" in number["source"]
        assert list(number["samples"]) == list(SAMPLES)
    result.stdout.fnmatch_lines(["golden numbers written: *warm.json: full/psnr, full/ssim, *"])


def test_a_second_update_changes_nothing(project: Project) -> None:
    updated(project)
    before = project.golden_texts()
    dates = {path: path.stat().st_mtime_ns for path in (project.root / "golden").rglob("*.json")}
    result = updated(project)
    assert result.ret == 0
    assert project.golden_texts() == before
    assert {path: path.stat().st_mtime_ns for path in dates} == dates
    assert "golden numbers written" not in text_of(result)
    result.stdout.fnmatch_lines(["golden numbers unchanged: *warm.json"])


def test_an_older_date_alone_is_no_change(project: Project) -> None:
    updated(project)
    project.edit_golden("slices/full/metrics/psnr/source", "written long ago")
    before = project.golden_texts()
    updated(project)
    assert project.golden_texts() == before


def test_a_run_after_the_update_passes(project: Project) -> None:
    updated(project)
    result = project.run("--bench-report=report", "--bench-require-golden")
    assert result.parseoutcomes() == outcomes(passed=30)
    for case in project.report()["cases"]:
        assert case["golden"]["status"] == "passed"
        assert [difference["got"] for difference in case["golden"]["differences"]] == [
            difference["expected"] for difference in case["golden"]["differences"]
        ]
    assert "not gated" not in text_of(result)


def test_with_workers_the_files_are_the_same(project: Project) -> None:
    pytest.importorskip("xdist")
    updated(project)
    serial = project.golden_texts()
    (project.root / "golden").rename(project.root / "serial")
    result = project.run_apart("--bench-update-golden", "-n2")
    assert result.ret == 0
    assert project.golden_texts() == serial


def test_no_temporary_file_is_left(project: Project) -> None:
    updated(project)
    updated(project, "-k", "warm")
    names = [path.name for path in (project.root / "golden").rglob("*") if path.is_file()]
    assert sorted(names) == ["cold.json", "identity.json", "warm.json"]


def test_the_named_folder_is_written_to(project: Project) -> None:
    updated(project, "--bench-golden=numbers/mine")
    assert (project.root / "numbers" / "mine" / "pstbench" / "toy" / "warm.json").is_file()
    assert not (project.root / "golden").exists()


def test_nothing_is_written_without_the_option(project: Project) -> None:
    (project.root / "golden").mkdir()
    project.run("--bench-golden=golden")
    assert project.golden_texts() == {}


def test_a_selection_leaves_the_others_alone(project: Project) -> None:
    updated(project)
    before = project.golden_texts()
    project.method("warm", 7)
    updated(project, "-k", "warm")
    after = project.golden_texts()
    assert after.keys() == before.keys()
    assert {name for name in after if after[name] != before[name]} == {"pstbench/toy/warm.json"}


def test_other_slices_of_the_method_stay(project: Project) -> None:
    updated(project, "-k", "warm")
    known = json.loads(project.golden_file().read_text(encoding="utf-8"))["slices"]["full"]
    project.edit_golden("slices/0.10", known)
    project.method("warm", 7)
    updated(project, "-k", "warm")
    slices = json.loads(project.golden_file().read_text(encoding="utf-8"))["slices"]
    assert slices["0.10"] == known
    assert slices["full"] != known


def test_changed_outputs_are_written_and_named(project: Project) -> None:
    updated(project)
    before = numbers(project)
    project.method("warm", 7)
    result = updated(project)
    assert numbers(project)["psnr"] < before["psnr"]
    result.stdout.fnmatch_lines(["golden numbers written: *warm.json: full/psnr*"])
    assert result.ret == 0


def test_a_failed_case_never_updates(project: Project) -> None:
    updated(project)
    before = project.golden_texts()
    project.output("b").unlink()
    project.method("cold", -8)
    result = updated(project)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    after = project.golden_texts()
    assert after["pstbench/toy/warm.json"] == before["pstbench/toy/warm.json"]
    assert after["pstbench/toy/cold.json"] != before["pstbench/toy/cold.json"]
    result.stdout.fnmatch_lines(["golden numbers not updated: warm/toy/full: failed: *"])


def test_a_case_whose_invariant_fails_never_updates(project: Project) -> None:
    project.probe(high=1.0)
    result = updated(project, metrics=None)
    assert not project.golden_file("warm", "own").exists()
    result.stdout.fnmatch_lines(["golden numbers not updated: warm/toy/full: failed: *range*"])


def test_a_partial_case_never_updates(project: Project) -> None:
    updated(project)
    before = project.golden_texts()
    project.output("b", "warm").unlink()
    save(project.output("c", "cold"), picture(77, 30, 60))
    result = updated(project, "--bench-allow-missing", "--bench-allow-resize")
    assert project.golden_texts() == before
    result.stdout.fnmatch_lines_random(
        [
            "golden numbers not updated: warm/toy/full: not the whole case: missing-output",
            "golden numbers not updated: cold/toy/full: not the whole case: resized",
        ]
    )


def test_other_resamples_change_no_mean_and_may_update(project: Project) -> None:
    updated(project)
    before = project.golden_texts()
    updated(project, "--bench-resamples=50", "--bench-seed=9")
    assert project.golden_texts() == before


def test_a_subset_of_metrics_is_merged(project: Project) -> None:
    updated(project, metrics="psnr,de00")
    assert list(numbers(project)) == ["psnr", "de00"]
    updated(project, metrics="ssim")
    assert set(numbers(project)) == {"psnr", "de00", "ssim"}
    assert project.run("--bench-report=report", metrics="psnr,ssim").ret == 0
    assert project.case("warm")["golden"]["status"] == "passed"


def test_a_subset_of_metrics_is_refused_where_the_outputs_differ(project: Project) -> None:
    updated(project)
    before = project.golden_texts()
    project.method("warm", 7)
    result = updated(project, metrics="psnr")
    assert project.golden_texts() == before
    result.stdout.fnmatch_lines(["golden numbers not updated: warm/toy/full: the outputs changed, and *ssim* stay*"])
    assert result.ret != 0, "a refused update is no success"


def test_numbers_under_other_rules_are_not_merged_with(project: Project) -> None:
    updated(project)
    project.edit_golden("protocol/params_sha256", "0" * 64)
    project.edit_golden("slices/other", {"metrics": {}, "outputs": {}})
    updated(project, metrics="psnr")
    golden = json.loads(project.golden_file().read_text(encoding="utf-8"))
    assert list(golden["slices"]) == ["full"]
    assert list(golden["slices"]["full"]["metrics"]) == ["psnr"]
    assert golden["protocol"]["params_sha256"] != "0" * 64


@pytest.fixture
def pruned(project: Project) -> Project:
    """A project with golden numbers of a method that is gone. Pruning takes no filter: the protocol is a quick one."""
    project.probe()
    project.method("third", 1)
    project.run("--bench-update-golden", metrics=None)
    assert project.golden_file("third", "own").exists()
    for sample in SAMPLES:
        project.output(sample, "third").unlink()
    project.output("a", "third").parent.rmdir()
    return project


def test_pruning_after_a_full_run(pruned: Project) -> None:
    result = pruned.run("--bench-prune-golden", metrics=None)
    assert result.ret == 0
    assert list(pruned.golden_texts()) == [f"own/toy/{method}.json" for method in ("cold", "identity", "warm")]
    result.stdout.fnmatch_lines(["golden numbers pruned: *third.json"])


@pytest.mark.parametrize("selection", [["-k", "warm"], ["--deselect=pixelgate/outputs.py::test_case[cold/toy/full]"]])
def test_no_pruning_after_a_selection(pruned: Project, selection: list[str]) -> None:
    result = pruned.run("--bench-prune-golden", *selection, metrics=None)
    assert pruned.golden_file("third", "own").exists()
    result.stdout.fnmatch_lines(["*not every case ran and passed*"])


def test_no_pruning_after_a_failure(pruned: Project) -> None:
    nudge(pruned.output())
    result = pruned.run("--bench-prune-golden", metrics=None)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert pruned.golden_file("third", "own").exists()


def test_pruning_leaves_other_tracks_alone(pruned: Project) -> None:
    other = pruned.golden_file("third", "own", track="another")
    other.parent.mkdir(parents=True)
    other.write_text("{}", encoding="utf-8")
    pruned.run("--bench-prune-golden", metrics=None)
    assert other.exists()
    assert not pruned.golden_file("third", "own").exists()


def test_a_folder_that_cannot_be_written_is_one_clear_line(project: Project) -> None:
    (project.root / "golden").mkdir()
    (project.root / "golden" / "pstbench").write_text("in the way", encoding="utf-8")
    result = updated(project)
    assert result.ret != 0
    assert "INTERNALERROR" not in text_of(result)
    assert "[not-writable]" in text_of(result)
