"""``pixelgate flexbench person-masks``: the masks of persons on their own, with diagnostics and videos."""

from __future__ import annotations

import hashlib
import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from depth_tools import ORACLE, VALUES, clip_files, grey_clip, problems
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from show_tools import left_behind

from pixelgate.cli import main
from pixelgate.clips.depth import EVALUATOR
from pixelgate.flexbench.person_masks import MaskSettings, write_person_masks
from pixelgate.io.masks import luma_mask, open_masks
from pixelgate.io.video import read_video
from pixelgate.io.video_write import write_video
from pixelgate.metrics.person_mask import person_mask
from pixelgate.metrics.registry import Runtime

SMALL, LARGE = "person_small", "person_large"
STEPS = ("union", "filled", "dilated")


@pytest.fixture
def folder(tmp_path):
    """A folder with the instance masks of both reference cases, 3 frames each."""
    made = tmp_path / "instances"
    made.mkdir()
    for name in (SMALL, LARGE):
        shutil.copy(ORACLE / VALUES["person_mask"][name]["instances_file"], made / f"{name}.npz")
    return made


@pytest.fixture
def clips(tmp_path):
    """A folder with a clip of the large case's size, 12 frames a second."""
    made = tmp_path / "clips"
    made.mkdir()
    rows, columns = np.mgrid[:256, :352]
    frames = [np.stack([rows * 0.7, columns * 0.6, rows * 0 + 60 * t], axis=2).astype(np.uint8) for t in range(3)]
    write_video(made / f"{LARGE}.mp4", frames, 12)
    return made


@pytest.fixture
def command(capsys):
    def call(*arguments):
        capsys.readouterr()
        status = main(["flexbench", "person-masks", *map(str, arguments)])
        out, err = capsys.readouterr()
        return SimpleNamespace(status=status, out=out, err=err)

    return call


def masks_of(path):
    with np.load(path) as file:
        assert file.files == ["mask"]
        return file["mask"]


@pytest.mark.parametrize("name", [SMALL, LARGE])
def test_masks_and_areas_are_the_reference_ones(name, folder, tmp_path, command):
    done = command("--instances", folder, "--output-dir", tmp_path / "out")
    assert (done.status, done.err) == (0, "")
    wanted = VALUES["person_mask"][name]
    found = masks_of(tmp_path / "out" / f"{name}.npz")
    assert found.dtype == np.bool_
    assert np.array_equal(found, np.load(ORACLE / wanted["expected_file"])["dilated"])
    told = json.loads((tmp_path / "out" / f"{name}.json").read_text())
    assert {step: told[f"area_{step}"] for step in STEPS} == {step: wanted[f"area_{step}"] for step in STEPS}
    assert told["radius"] == wanted["radius"]
    assert told["fraction"] == [frame.mean() for frame in found]
    assert told["frames_without_person"] == [index for index in range(3) if wanted["area_union"][index] == 0]
    assert (told["frames"], told["height"], told["width"]) == found.shape
    source = folder / f"{name}.npz"
    assert told["source"] == {"file": str(source), "sha256": hashlib.sha256(source.read_bytes()).hexdigest()}
    assert told["clip"] is None
    instances = np.load(source)["masks"]
    assert told["masks_not_empty"] == instances.any(axis=(2, 3)).sum(axis=0).tolist()
    assert sorted(path.name for path in left_behind(tmp_path / "out")) == sorted(
        f"{case}{suffix}" for case in (SMALL, LARGE) for suffix in (".npz", ".json")
    )


def test_what_the_options_leave_out(folder, tmp_path, command):
    out = tmp_path / "out"
    options = "--instances", folder, "--output-dir", out
    expected = np.load(ORACLE / VALUES["person_mask"][LARGE]["expected_file"])
    assert command(*options, "--person-mask-dilation", "0").status == 0
    assert np.array_equal(masks_of(out / f"{LARGE}.npz"), expected["filled"])
    assert command(*options, "--person-mask-dilation", "0", "--no-fill-holes").status == 0
    assert np.array_equal(masks_of(out / f"{LARGE}.npz"), expected["union"])
    told = json.loads((out / f"{LARGE}.json").read_text())
    assert (told["radius"], told["dilation"], told["fill_holes"]) == (0, 0.0, False)
    assert command(*options, "--person-mask-dilation", "0.1").status == 0
    assert json.loads((out / f"{LARGE}.json").read_text())["radius"] == 26


def test_the_lines_and_the_json_of_the_command(folder, tmp_path, command):
    done = command("--instances", folder, "--output-dir", tmp_path / "out")
    large, small = (np.load(ORACLE / f"{name}_expected.npz")["dilated"].mean() for name in (LARGE, SMALL))
    assert done.out.splitlines() == [
        "clip          frames  without person  masked  radius",
        f"person_large  3       0               {large:.1%}   5",
        f"person_small  3       1               {small:.1%}   1",
        f"written: 4 files in {tmp_path / 'out'}",
    ]
    data = json.loads(command("--instances", folder, "--output-dir", tmp_path / "out", "--json").out)
    assert list(data["clips"]) == [LARGE, SMALL]
    assert data["problems"] == data["notes"] == []
    wanted = json.loads((tmp_path / "out" / f"{SMALL}.json").read_text())
    assert {**wanted, "files": data["clips"][SMALL]["files"]} == data["clips"][SMALL]


def test_videos_of_the_mask_and_over_the_clip(folder, clips, tmp_path, command):
    pytest.importorskip("av")
    out = tmp_path / "out"
    done = command("--instances", folder, "--output-dir", out, "--save-video", "--generated-dir", clips)
    assert done.status == 0
    assert done.err == f"warning: {SMALL}: {clips} has no clip of this id [missing-output]\n"
    names = sorted(path.name for path in (out / "video").iterdir())
    assert names == [f"{LARGE}_mask.mp4", f"{LARGE}_overlay.mp4", f"{SMALL}_mask.mp4"]
    mask = masks_of(out / f"{LARGE}.npz")
    shown, record = read_video(out / "video" / f"{LARGE}_mask.mp4")
    assert record.fps == 12
    assert np.array_equal(np.stack([luma_mask(frame) for frame in shown]), mask)
    assert read_video(out / "video" / f"{SMALL}_mask.mp4")[1].fps == 8
    clip, over = (read_video(path)[0].astype(int) for path in (clips / f"{LARGE}.mp4", out / "video" / names[1]))
    assert abs(over[~mask] - clip[~mask]).mean() < 2
    assert abs(over[mask] - (clip[mask] + np.array([255, 64, 64])) / 2).mean() < 4
    told = json.loads((out / f"{LARGE}.json").read_text())
    assert told["clip"]["frames"] == 3
    assert told["clip"]["sha256"] == hashlib.sha256((clips / f"{LARGE}.mp4").read_bytes()).hexdigest()
    assert told["video_fps"] == 12


def test_a_mask_of_another_size_is_brought_over_the_clip(folder, clips, tmp_path, command):
    pytest.importorskip("av")
    shutil.copy(clips / f"{LARGE}.mp4", clips / f"{SMALL}.mp4")
    out = tmp_path / "out"
    done = command("--instances", folder, "--output-dir", out, "--save-video", "--generated-dir", clips)
    assert done.status == 0
    assert f"{SMALL}: the masks are 80 x 60 pixels and the clip 352 x 256" in done.err
    over, clip = (
        read_video(p)[0].astype(int) for p in (out / "video" / f"{SMALL}_overlay.mp4", clips / f"{SMALL}.mp4")
    )
    # Scaled by 4.4 to 352 x 264, of which 4 rows are cut off at the top: the tinted share stays about the same.
    red = (over - clip)[..., 0] > 40
    assert red.mean(axis=(1, 2)) == pytest.approx(masks_of(out / f"{SMALL}.npz").mean(axis=(1, 2)), abs=0.03)


def test_masks_from_a_video(tmp_path, command):
    pytest.importorskip("av")
    white = np.zeros((4, 60, 80), dtype=np.uint8)
    white[1:, 20:40, 30:50] = 255
    (tmp_path / "in").mkdir()
    grey_clip(tmp_path / "in" / "one.mp4", white, fps=10)
    assert command("--instances", tmp_path / "in", "--output-dir", tmp_path / "out", "--save-video").status == 0
    found = masks_of(tmp_path / "out" / "one.npz")
    assert np.array_equal(found, np.stack([person_mask(frame > 127).mask for frame in white]))
    assert read_video(tmp_path / "out" / "video" / "one_mask.mp4")[1].fps == 10
    told = json.loads((tmp_path / "out" / "one.json").read_text())
    assert (told["frames_without_person"], told["masks_per_frame"]) == ([0], 1)


def test_areas_are_those_of_the_depth_evaluator(folder, tmp_path):
    rng = np.random.default_rng(0)
    for name in ("prediction", "condition"):
        np.savez(tmp_path / f"{name}.npz", depth=rng.integers(1, 255, (3, 256, 352)))
    files = clip_files(
        tmp_path, tmp_path / "prediction.npz", tmp_path / "condition.npz", folder / f"{LARGE}.npz", (3, 256, 352)
    )
    scored = EVALUATOR.evaluate(files, {"person_mask": True}, ["depth_mae"], Runtime()).details["person_mask"]
    done = write_person_masks(folder, tmp_path / "out")
    (told,) = (clip.diagnostics for clip in done.clips if clip.sample == LARGE)
    for step in STEPS:
        assert told[f"area_{step}"] == scored[f"area_{step}"]
    assert told["radius"] == scored["radius"]


def test_every_wrong_file_is_told_and_the_others_are_written(folder, tmp_path, command):
    (folder / "a.npz").write_bytes(b"no archive")
    np.savez(folder / "b.npz", masks=np.full((2, 3, 8, 8), 7))
    grades = np.zeros((3, 8, 8), dtype=np.uint8)
    grades[2] = 9
    np.savez(folder / "c.npz", mask=grades)
    np.save(folder / "d.npy", np.zeros((8, 8), dtype=bool))
    (folder / "readme.txt").write_text("masks")
    done = command("--instances", folder, "--output-dir", tmp_path / "out", "--json", "--save-video")
    assert done.status == 2
    errors = [line for line in done.err.splitlines() if line.startswith("error:")]
    assert [line.split(": ")[1] for line in errors] == [
        str(folder / name) for name in ("a.npz", "b.npz", "c.npz", "d.npy")
    ]
    for line, rule in zip(errors, ("npy-format", "mask-values", "mask-values", "mask-shape"), strict=True):
        assert f"[{rule}]" in line
    assert f"warning: {folder}: not read: readme.txt [no-mask-file]" in done.err
    data = json.loads(done.out)
    assert [problem["rule"] for problem in data["problems"]] == [
        "npy-format",
        "mask-values",
        "mask-values",
        "mask-shape",
    ]
    assert list(data["clips"]) == [LARGE, SMALL]
    # Nothing is left of those that failed half way.
    assert {path.name.split(".")[0].removesuffix("_mask") for path in left_behind(tmp_path / "out")} == {LARGE, SMALL}


def test_masks_of_another_number_of_frames_than_the_clip(folder, clips, tmp_path, command):
    pytest.importorskip("av")
    write_video(clips / f"{SMALL}.mp4", np.zeros((4, 60, 80, 3), dtype=np.uint8), 8)
    done = command("--instances", folder, "--output-dir", tmp_path / "out", "--generated-dir", clips)
    assert done.status == 2
    assert f"holds masks of 3 frames; the clip {clips / f'{SMALL}.mp4'} has 4. [prediction-length]" in done.err
    assert not (tmp_path / "out" / f"{SMALL}.npz").exists()


def test_runs_that_cannot_begin(folder, tmp_path, command):
    (tmp_path / "empty").mkdir()
    out = tmp_path / "out"
    for arguments, rule in (
        ((tmp_path / "none", out), "not-a-folder"),
        ((tmp_path / "empty", out), "no-masks"),
        ((folder, folder), "output-is-input"),
    ):
        with problems(rule):
            write_person_masks(*arguments)
    with problems("person-mask-dilation"):
        write_person_masks(folder, out, MaskSettings(dilation=-0.1))
    with problems("not-a-folder"):
        write_person_masks(folder, out, generated=tmp_path / "none")
    shutil.copy(folder / f"{SMALL}.npz", folder / f"{SMALL}.npy")
    with problems("duplicate-sample"):
        write_person_masks(folder, out)
    assert not out.exists()
    done = command("--instances", folder, "--output-dir", out, "--person-mask-dilation", "nan")
    assert done.status == 2
    assert "wanted a number of 0 or more" in done.err


def test_a_folder_that_cannot_be_written(folder, tmp_path, command):
    (tmp_path / "out").write_text("a file")
    done = command("--instances", folder, "--output-dir", tmp_path / "out")
    assert done.status == 2
    assert "[not-writable]" in done.err
    assert (tmp_path / "out").read_text() == "a file"


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 4), st.integers(1, 5), st.integers(1, 12), st.integers(1, 12), st.data())
def test_any_masks_in_any_order_of_persons(tmp_path, persons, frames, height, width, data):
    seed = data.draw(st.integers(0, 2**32 - 1))
    masks = np.random.default_rng(seed).random((persons, frames, height, width)) < 0.2
    order = data.draw(st.permutations(range(persons)))
    written = []
    for name, stack in (("one", masks), ("two", masks[list(order)])):
        (tmp_path / name).mkdir(exist_ok=True)
        np.savez(tmp_path / name / "clip.npz", masks=stack)
        write_person_masks(tmp_path / name, tmp_path / "out" / name)
        written.append((tmp_path / "out" / name / "clip.npz").read_bytes())
    assert written[0] == written[1]
    found = masks_of(tmp_path / "out" / "one" / "clip.npz")
    assert np.array_equal(found, np.stack([person_mask(masks[:, t]).mask for t in range(frames)]))
    # The file is one that masks are read from, a frame at a time.
    again = np.stack([frame[0] for frame in open_masks(tmp_path / "out" / "one" / "clip.npz").frames()])
    assert np.array_equal(again, found)
