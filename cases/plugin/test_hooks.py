"""A conftest file adds a metric, a protocol and a track."""

from __future__ import annotations

import shutil

import pytest
from bench_project import MEAN_DIFFERENCE, Project, outcomes, text_of


def test_a_metric_and_a_protocol(project: Project) -> None:
    project.probe()
    result = project.run("--bench-report=report", metrics=None)
    assert result.parseoutcomes() == outcomes(passed=30)
    case = project.case("warm")
    assert case["run"]["protocol"]["id"] == "own"
    assert 3 < case["summary"]["metrics"]["probe"]["mean"] <= 4
    result.stdout.fnmatch_lines(["track: toy *protocol: own*", "method*PSNR↑*Probe↓"])


def test_with_workers(project: Project) -> None:
    pytest.importorskip("xdist")
    project.probe()
    result = project.run_apart("-n2", "-k", "test_case", metrics=None)
    assert result.parseoutcomes() == outcomes(passed=3), text_of(result)


def test_a_track_from_another_place(project: Project) -> None:
    elsewhere = project.root / "package" / "toy"
    shutil.move(project.data / "toy", elsewhere)
    project.conftest(
        """
        from pathlib import Path

        def pytest_bench_register_tracks():
            return [Path(__file__).parent / "package" / "toy" / "track.yaml"]
        """.replace("\n        ", "\n")
    )
    result = project.run("-k", "test_case")
    assert result.parseoutcomes() == outcomes(passed=3, deselected=27), text_of(result)


def test_a_protocol_as_a_file(project: Project) -> None:
    project.conftest(
        """
        from pathlib import Path
        import yaml
        from pixelgate.protocols import load_protocol

        def pytest_bench_register_protocols():
            file = Path(__file__).parent / "mine.yaml"
            raw = dict(load_protocol("pstbench").raw)
            file.write_text(yaml.safe_dump({**raw, "id": "mine", "metrics": raw["metrics"][:1]}))
            return [file]
        """.replace("\n        ", "\n")
    )
    file = project.data / "toy" / "track.yaml"
    file.write_text(file.read_text().replace("pstbench", "mine"))
    result = project.run("-k", "test_case", metrics=None)
    assert result.parseoutcomes() == outcomes(passed=3, deselected=27), text_of(result)


def test_without_outputs_nothing_is_asked_for(project: Project) -> None:
    project.conftest("def pytest_bench_register_metrics():\n    raise RuntimeError('asked for')\n")
    project.pytester.makepyfile("def test_it(): pass")
    assert project.pytester.runpytest_inprocess().parseoutcomes() == outcomes(passed=1)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            "from pixelgate.metrics import get_metric\nfrom dataclasses import replace\n"
            "def pytest_bench_register_metrics():\n    return [replace(get_metric('psnr'), version='9')]\n",
            "metric 'psnr' exists already with another definition",
        ),
        (
            "from pixelgate.protocols import load_protocol\n"
            "def pytest_bench_register_protocols():\n    return [load_protocol('pstbench')]\n",
            "protocol 'pstbench' exists already",
        ),
    ],
)
def test_a_name_that_is_taken(project: Project, text: str, part: str) -> None:
    project.conftest(text)
    result = project.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert part in text_of(result)
    assert "Traceback" not in text_of(result)


def test_a_protocol_with_a_metric_that_nobody_registered(project: Project) -> None:
    project.probe()
    text = (project.root / "conftest.py").read_text(encoding="utf-8")
    project.conftest(text.replace("return [Metric(**FIELDS)]", "return []"))
    result = project.run(metrics=None)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "unknown metric 'probe'; known: " in text_of(result)
    assert "Traceback" not in text_of(result)


def test_a_metric_that_is_defined_for_larger_pictures_only(project: Project) -> None:
    project.probe(MEAN_DIFFERENCE, min_side=64)
    project.run("-k", "test_case and warm", "--bench-report=report", metrics=None)
    message = project.case("warm")["message"]
    assert "48x40 pixels; Probe needs at least 64" in message
    assert "Traceback" not in message
    assert "engine.py" not in message
