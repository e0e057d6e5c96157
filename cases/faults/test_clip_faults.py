"""Ten faults planted into the demo's runs: each turns the items that it concerns red, its cause named, and no other.

The clips are real footage. Six faults are found on decoded video: a dropped frame, swapped channels, a mix-up of
ranges, a turned clip, an inverted mask and a wrong frame rate.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pixelgate.io.video import read_video
from pixelgate.io.video_write import Encoding, write_video
from pixelgate.methods.demo_clips import write_runs
from pixelgate.tracks import load_track, locate
from pixelgate.tracks.demo_video import LOSSLESS

pytestmark = pytest.mark.slow

RUN = "demo-noisy"
SAMPLE = "bikes"
GROUPS = ("camera", "depth", "inpainting", "pose")

# All groups, without the network.
METRICS = "inpaint_psnr,inpaint_ssim,inpaint_mse,depth_mae,pose_akd,camera_RotErr,camera_TransErr"


def rewrite(change: Callable[[np.ndarray], np.ndarray], **options) -> Callable[[Path], None]:
    """Decode a clip, change its frames, and write them again, without loss unless told otherwise."""

    def plant(folder: Path) -> None:
        path = folder / "seed_0" / f"{SAMPLE}.mp4"
        frames, record = read_video(path)
        settings = {"fps": record.fps, "encoding": LOSSLESS, **options}
        write_video(path, change(frames), settings.pop("fps"), **settings)

    return plant


def drop_frame(folder: Path) -> None:
    """The generator lost frame 7; networks then saw a clip without it."""
    rewrite(lambda frames: np.delete(frames, 7, axis=0))(folder)
    predictions = folder / "seed_0" / "predictions"
    for kind in ("depth", "person_masks", "camera"):
        file = predictions / kind / f"{SAMPLE}.npz"
        with np.load(file) as arrays:
            kept = {key: np.delete(array, 7, axis=1 if key == "masks" else 0) for key, array in arrays.items()}
        np.savez(file, **kept)
    file = predictions / "pose" / f"{SAMPLE}_pose.npy"
    np.save(file, np.delete(np.load(file), 7, axis=0))


def double_rate(folder: Path) -> None:
    _, record = read_video(folder / "seed_0" / f"{SAMPLE}.mp4")
    rewrite(lambda frames: frames, fps=record.fps * 2)(folder)


def nan_pose(folder: Path) -> None:
    file = folder / "seed_0" / "predictions" / "camera" / f"{SAMPLE}.npz"
    with np.load(file) as arrays:
        poses = arrays["cam_c2w"].copy()
    poses[5, 1, 3] = np.nan
    np.savez(file, cam_c2w=poses)


def normalise_twice(folder: Path) -> None:
    frames, _ = read_video(folder / "seed_0" / f"{SAMPLE}.mp4")
    height, width = frames.shape[1:3]
    file = folder / "seed_0" / "predictions" / "pose" / f"{SAMPLE}_pose.npy"
    points = np.load(file)
    points[..., :2] /= (width * width, height * height)
    np.save(file, points)


def lose_sample(folder: Path) -> None:
    for seed in (0, 1):
        (folder / f"seed_{seed}" / f"{SAMPLE}.mp4").unlink()


def lose_sample_of_one_seed(folder: Path) -> None:
    (folder / "seed_1" / f"{SAMPLE}.mp4").unlink()


SQUEEZED = Encoding(crf=10, value_range="limited", tagged_range="full")


def case(group: str, seed: int = 0) -> str:
    return f"test_case {group}/seed-{seed}"


# What each fault does to a run, the items that it must turn red, and what these must say.
FAULTS: dict[str, tuple[Callable[[Path], None], set[str], str]] = {
    "dropped-frame": (drop_frame, {case("inpainting")}, r"frame.* 7.*\[dropped-frame\]"),
    "swapped-channels": (rewrite(lambda frames: frames[..., ::-1]), {case("inpainting")}, r"\[channels-swapped\]"),
    "range-mixup": (rewrite(lambda frames: frames, encoding=SQUEEZED), {case("inpainting")}, r"\[range-mixup\]"),
    "turned": (rewrite(lambda frames: np.rot90(frames, 2, axes=(1, 2))), {case("inpainting")}, r"180.*\[rotated\]"),
    "wrong-fps": (
        double_rate,
        {case("inpainting"), case("depth"), case("pose")},
        r"frames per second.*\[frame-rate\]",
    ),
    "camera-nan": (nan_pose, {case("camera")}, r"non-finite pose \(generated, frame 5"),
    "normalised-twice": (normalise_twice, {case("pose")}, r"\[keypoints-scale\]"),
    "missing-sample": (
        lose_sample,
        {case(group, seed) for group in GROUPS for seed in (0, 1)} | {f"test_files {group}" for group in GROUPS},
        rf"{SAMPLE}\.mp4: the output is missing",
    ),
    "seeds-differ": (
        lose_sample_of_one_seed,
        {case(group, 1) for group in GROUPS}
        | {f"{test} {group}" for group in GROUPS for test in ("test_files", "test_seeds")},
        rf"{SAMPLE}\.mp4: the output is missing|seed-1 lacks {SAMPLE}, which other seeds have",
    ),
}
# A fault that leaves a seed without a mean leaves the seeds without one.
ALSO_SEEDS = {"camera-nan": {"camera"}, "normalised-twice": {"pose"}, "missing-sample": set(GROUPS)}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clip-faults")


@pytest.fixture(scope="module")
def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "PIXELGATE_DATA": str(home / "data"), "PIXELGATE_CACHE": str(home / "scores")}


@pytest.fixture(scope="module")
def clean(home: Path, environment: dict[str, str]) -> Path:
    """The demo's run without a fault."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIXELGATE_DATA", environment["PIXELGATE_DATA"])
        locate(load_track("demo-video-inpainting"))
        write_runs(home / "made")
    return home / "made" / RUN


def score(outputs: Path, environment: dict[str, str], *args: str) -> dict[str, dict[str, str]]:
    """Score runs with two workers; gives run -> item -> message of those that failed."""
    report = outputs.with_name(f"{outputs.name}-report.json")
    command = [sys.executable, "-m", "pytest", f"--bench-outputs={outputs}", f"--bench-json={report}"]
    command += [f"--bench-metrics={METRICS}", "-n", "2", "-q", "-p", "no:cacheprovider", "-k"]
    command += ["test_case or test_files or test_seeds", *args]
    done = subprocess.run(
        command, cwd=outputs.parent, env=environment, capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr
    document = json.loads(report.read_text(encoding="utf-8"))
    failed: dict[str, dict[str, str]] = {path.name: {} for path in outputs.iterdir()}
    for entry in document["cases"]:
        assert entry["outcome"] in ("passed", "failed"), entry
        if entry["outcome"] == "failed":
            group = entry["track"].rpartition("-")[2]
            failed[entry["method"]][f"test_case {group}/{entry['slice']}"] = entry["message"]
    for entry in document["checks"]:
        if entry["outcome"] == "failed":
            method, track = entry["subject"].split("/")
            failed[method][f"test_{entry['kind']} {track.rpartition('-')[2]}"] = entry["message"]
    return failed


@pytest.fixture(scope="module")
def failures(home: Path, clean: Path, environment: dict[str, str]) -> dict[str, dict[str, str]]:
    """One run over the clean folder and a copy of it for every fault."""
    outputs = home / "out"
    shutil.copytree(clean, outputs / "clean")
    for name, (plant, _, _) in FAULTS.items():
        plant(Path(shutil.copytree(clean, outputs / name)))
    return score(outputs, environment)


def test_the_run_is_green_without_a_fault(failures: dict[str, dict[str, str]]) -> None:
    assert failures["clean"] == {}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_turns_its_items_red_and_no_other(failures: dict[str, dict[str, str]], fault: str) -> None:
    _, expected, said = FAULTS[fault]
    found = failures[fault]
    seeds = {f"test_seeds {group}" for group in ALSO_SEEDS.get(fault, set())}
    assert set(found) == expected | seeds
    for item in expected:
        assert re.search(said, found[item], re.DOTALL), found[item]
        assert SAMPLE in found[item]


@pytest.mark.parametrize("inverted", [False, True])
def test_an_inverted_mask(home: Path, clean: Path, environment: dict[str, str], inverted: bool) -> None:
    place = home / f"mask-{inverted}"
    data = Path(shutil.copytree(home / "data" / "demo-video-1", place / "ds"))
    run = Path(shutil.copytree(clean, place / "out" / "m"))
    manifest = {"run": {"conditions": ["inpainting"], "seeds": [0, 1], "dataset_dir": "ds"}}
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    if inverted:
        mask = data / "inpainting" / "bbox" / f"{SAMPLE}.mp4"
        frames, record = read_video(mask)
        write_video(mask, 255 - frames, record.fps, encoding=LOSSLESS)
    found = score(place / "out", environment)["m"]
    if not inverted:
        assert found == {}
        return
    assert set(found) == {case("inpainting", 0), case("inpainting", 1), "test_seeds inpainting"}
    for item in (case("inpainting", 0), case("inpainting", 1)):
        assert re.search(r"\[mask-inverted\] White", found[item], re.DOTALL), found[item]
        assert f"bbox/{SAMPLE}.mp4" in found[item]
