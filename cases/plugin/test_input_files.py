"""Outputs that are not what the track asks for: all of it is listed at once, and nothing leaves a mean unseen."""

from __future__ import annotations

import os

import numpy as np
import pytest
from bench_project import HEIGHT, WIDTH, Project, load, outcomes, picture, png16, save, text_of
from PIL import Image

CASE = ("-k", "test_case and warm", "--bench-report=report")
FILES = ("-k", "warm and (test_case or test_files)", "--bench-report=report")


def remove(project: Project) -> None:
    project.output("b").unlink()


def add(project: Project) -> None:
    save(project.output("d"), picture(5))


def upper_case(project: Project) -> None:
    project.output("b").rename(project.output("b").with_name("B.PNG"))


def other_suffix_case(project: Project) -> None:
    project.output("b").rename(project.output("b").with_suffix(".PNG"))


def numbered(project: Project) -> None:
    project.output("b").rename(project.output("1"))


def folder(project: Project) -> None:
    project.output("b").unlink()
    project.output("b").mkdir()


def sixteen_bit(project: Project) -> None:
    png16(project.output("b"))


def jpeg(project: Project) -> None:
    Image.fromarray(load(project.output("b"))).save(project.output("b"), format="JPEG")


def wrong_size(project: Project) -> None:
    save(project.output("b"), picture(5, HEIGHT, WIDTH + 1))


def grey(project: Project) -> None:
    Image.fromarray(load(project.output("b"))[..., 0]).save(project.output("b"))


def cut_short(project: Project) -> None:
    data = project.output("b").read_bytes()
    project.output("b").write_bytes(data[: len(data) // 2])


def empty(project: Project) -> None:
    project.output("b").write_bytes(b"")


def slice_folder(project: Project) -> None:
    save(project.output("b").parent / "0.10" / "b.png", picture(5))


BROKEN = {
    remove: ("b.png", "[missing-output]", "--bench-allow-missing"),
    add: ("d.png", "[extra-output]"),
    upper_case: ("b.png", "B.PNG", "[missing-output]", "[extra-output]", "Is it 'B.PNG' under another name?"),
    other_suffix_case: ("b.png", "b.PNG", "Is it 'b.PNG' under another name?"),
    numbered: ("b.png", "1.png", "[missing-output]", "[extra-output]"),
    folder: ("b.png", "[not-a-file]", "a folder stands where an output picture should"),
    sixteen_bit: ("b.png", "16"),
    jpeg: ("b.png", "JPEG"),
    wrong_size: ("b.png", "49x40", "48x40", "[size]", "--bench-allow-resize"),
    grey: ("b.png",),
    cut_short: ("b.png",),
    empty: ("b.png",),
    slice_folder: ("0.10", "[stray-folder]"),
}


@pytest.mark.parametrize("spoil", BROKEN, ids=lambda spoil: spoil.__name__)
def test_one_wrong_thing(project: Project, spoil) -> None:
    spoil(project)
    result = project.run(*FILES)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    case = project.case("warm")
    assert case["outcome"] == "failed"
    assert "Traceback" not in case["message"]
    for part in BROKEN[spoil]:
        assert part in case["message"]
    assert {metric["mean"] for metric in case["summary"]["metrics"].values()} == {None}
    assert not case["ranked"]
    result.stdout.fnmatch_lines(["warm*–*–*–*FAILED*"])
    # What can be seen without reading a picture is the business of the cheap item too.
    named = any(rule in case["message"] for rule in ("-output]", "[not-a-file]", "[stray-folder]"))
    assert project.report()["checks"][0]["outcome"] == ("failed" if named else "passed")


def test_all_at_once(project: Project) -> None:
    """A track of more samples, so that each can be wrong in its own way."""
    track = project.data / "toy"
    for number, sample in enumerate("defgh"):
        for column in ("content", "style", "gt"):
            save(track / column / f"{sample}.png", picture(100 + number))
    project.method("warm", 4)
    project.method("cold", -9)
    project.output("a").unlink()
    save(project.output("x"), picture(5))
    project.output("b").rename(project.output("B"))
    png16(project.output("c"))
    Image.fromarray(load(project.output("d"))).save(project.output("d"), format="JPEG")
    save(project.output("e"), picture(5, HEIGHT - 2, WIDTH))
    project.output("f").unlink()
    project.output("f").mkdir()
    project.output("g").write_bytes(b"no picture")
    result = project.run(*CASE)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    message = project.case("warm")["message"]
    assert message.splitlines()[0] == "9 problems with the files:"
    for name in ("a", "b", "B", "x", "c", "d", "e", "f", "g"):
        lines = [line for line in message.splitlines() if f"/{name}.png: " in line]
        assert len(lines) == 1, (name, message)
    assert "/h.png" not in message
    assert len(project.case("warm")["run"]["problems"]) == 9
    assert project.run("-k", "test_case and cold").ret == 0


def test_a_file_that_cannot_be_read(project: Project) -> None:
    project.output("b").unlink()
    project.output("b").symlink_to(project.output("b"))  # a link to itself; rights do not stop every user
    result = project.run(*CASE)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    message = project.case("warm")["message"]
    assert "Traceback" not in message
    assert "b.png" in message


def test_a_reference_that_cannot_be_decoded_is_not_the_methods_fault(project: Project) -> None:
    (project.data / "toy" / "gt" / "b.png").write_bytes(b"no picture")
    result = project.run("-k", "test_case", "--bench-report=report")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    text = text_of(result)
    assert "INTERNALERROR" not in text
    for case in project.report()["cases"]:
        assert "gt/b.png" in case["message"]
        assert "Traceback" not in case["message"]
        assert "engine.py" not in case["message"]


def test_hidden_and_other_files_are_ignored(project: Project) -> None:
    folder = project.output("b").parent
    (folder / "._b.png").write_bytes(b"\0\5\x16\7")
    (folder / ".DS_Store").write_bytes(b"x")
    (folder / "Thumbs.db").write_bytes(b"x")
    (folder / "log.txt").write_text("x", encoding="utf-8")
    (folder / "logs").mkdir()
    assert project.run("-k", "warm").parseoutcomes() == outcomes(passed=10, deselected=20)


def test_links_are_followed(project: Project) -> None:
    real = project.root / "elsewhere"
    project.output("b").parent.rename(real)
    (project.outputs / "warm" / "toy").symlink_to(real, target_is_directory=True)
    file = project.root / "b-of-warm.png"
    (real / "b.png").rename(file)
    (real / "b.png").symlink_to(file)
    result = project.run("-k", "warm", "--bench-report=report")
    assert result.parseoutcomes() == outcomes(passed=10, deselected=20)
    os.unlink(file)
    assert project.run(*CASE).ret == pytest.ExitCode.TESTS_FAILED
    assert "this is a link to nothing" in project.case("warm")["message"]
    assert project.run("--bench-allow-missing", *CASE).ret == pytest.ExitCode.TESTS_FAILED


def test_allowing_missing_outputs(project: Project) -> None:
    remove(project)
    result = project.run("--bench-allow-missing", "--bench-report=report", "-k", "warm or (test_case and cold)")
    assert result.parseoutcomes() == outcomes(passed=11, deselected=19)
    case = project.case("warm")
    assert (case["summary"]["n"], case["summary"]["expected_n"]) == (2, 3)
    values = [sample["values"]["psnr"] for sample in case["samples"]]
    assert case["summary"]["metrics"]["psnr"]["mean"] == pytest.approx(sum(values) / 2)
    deviations = {deviation["rule"]: deviation for deviation in case["run"]["deviations"]}
    assert deviations["missing-output"]["subject"] == "b"
    assert not case["ranked"]
    result.stdout.fnmatch_lines(["track: *n=2 to 3", "*deviations from the protocol*", "*b: the output is missing*"])


def test_allowing_missing_outputs_allows_nothing_else(project: Project) -> None:
    upper_case(project)
    project.run("--bench-allow-missing", *CASE)
    message = project.case("warm")["message"]
    assert "B.PNG" in message
    assert "[extra-output]" in message


def test_no_output_at_all_is_never_allowed(project: Project) -> None:
    for sample in "abc":
        project.output(sample).unlink()
    result = project.run("--bench-allow-missing", *CASE)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "no sample was scored" in project.case("warm")["message"]


def test_allowing_another_size(project: Project) -> None:
    wrong_size(project)
    result = project.run("--bench-allow-resize", "--bench-report=report", "-k", "warm or (test_case and cold)")
    assert result.parseoutcomes() == outcomes(passed=11, deselected=19)
    case = project.case("warm")
    assert case["samples"][1]["resized_from"] == [WIDTH + 1, HEIGHT]
    assert [d["subject"] for d in case["run"]["deviations"] if d["rule"] == "resized"] == ["b"]
    assert not case["ranked"]
    result.stdout.fnmatch_lines(["*b: resized from 49x40 pixels to the reference's size*"])


def test_allowing_another_size_changes_nothing_for_the_right_size(project: Project) -> None:
    project.run(*CASE, "--bench-no-cache")
    before = project.case("warm")
    project.run(*CASE, "--bench-no-cache", "--bench-allow-resize")
    after = project.case("warm")
    assert after["samples"] == before["samples"]
    assert after["run"]["deviations"] == before["run"]["deviations"]


def test_rows_with_deviations_are_marked_and_come_last(project: Project) -> None:
    """Under all of a protocol's metrics: leaving some out is a deviation of its own."""
    project.probe()
    project.method("best", 1)
    project.output("b", "best").unlink()
    result = project.run("--bench-allow-missing", "-k", "test_case", "--bench-report=report", metrics=None)
    rows = [line.split("  ")[0].strip() for line in result.outlines if "±" in line]
    assert rows == ["identity", "cold", "warm", "best †"]
    assert {case["method"]: case["ranked"] for case in project.report()["cases"]} == {
        **{"best": False, "cold": True, "identity": True, "warm": True}
    }


def test_an_output_that_equals_its_reference(project: Project) -> None:
    for sample in "abc":
        save(project.output(sample), load(project.data / "toy" / "gt" / f"{sample}.png"))
    assert project.run("-k", "warm", "--bench-report=report").ret == 0
    means = {key: metric["mean"] for key, metric in project.case("warm")["summary"]["metrics"].items()}
    assert {key: means[key] for key in ("psnr", "ssim", "de00", "hcorr_gt")} == {
        **{"psnr": 100.0, "ssim": 1.0, "de00": 0.0, "hcorr_gt": 1.0}
    }


def test_constant_and_saturated_outputs(project: Project) -> None:
    for sample, level in zip("abc", (0, 128, 255), strict=True):
        save(project.output(sample), np.full((HEIGHT, WIDTH, 3), level, np.uint8))
    result = project.run("-k", "warm", "--bench-report=report")
    assert result.ret == 0, text_of(result)
    assert all(value is not None for sample in project.case("warm")["samples"] for value in sample["values"].values())
