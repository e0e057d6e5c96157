"""A data set of three samples and a run of generated clips, put together from the conformance files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pose_camera_tools import rigid

CONFORMANCE = Path(__file__).parents[1] / "conformance" / "flexbench"

SAMPLES = {"001": "01_normal", "002": "02_mask_touches_border", "003": "04_no_mask"}
"""Sample -> its clip among the inpainting cases; 160 x 96 at 8 frames per second."""

FRAMES = {"001": 12, "002": 12, "003": 6}
HEIGHT, WIDTH = 96, 160

CONDITIONS = ("subject", "depth", "pose", "inpainting", "camera")

PIXELS = "inpaint_psnr,inpaint_ssim,inpaint_mse,inpaint_mae"
"""The inpainting metrics that need no network."""


def oracle(section: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((CONFORMANCE / section / "values.json").read_text(encoding="utf-8"))
    return loaded


def clip(sample: str, role: str) -> Path:
    return CONFORMANCE / "inpaint" / f"{SAMPLES[sample]}_{role}.mp4"


def copy(source: Path, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    return target


def save(target: Path, **arrays: Any) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    np.savez(target, **arrays)
    return target


def save_npy(target: Path, array: Any) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    np.save(target, array)
    return target


def make_dataset(folder: Path) -> Path:
    """Captions and the references of all conditions."""
    folder.mkdir(parents=True, exist_ok=True)
    captions = {f"{sample}.mp4": f"a clip called {sample}" for sample in SAMPLES}
    (folder / "captions.json").write_text(json.dumps(captions), encoding="utf-8")
    for sample, frames in FRAMES.items():
        copy(clip(sample, "ref"), folder / "inpainting" / f"{sample}.mp4")
        copy(clip(sample, "mask"), folder / "inpainting" / "bbox" / f"{sample}.mp4")
        copy(clip(sample, "gen"), folder / "pose" / f"{sample}.mp4")
        save_npy(folder / "pose" / "raw" / f"{sample}_pose.npy", keypoints(frames))
        save(folder / "camera" / f"{sample}.npz", cam_c2w=camera(frames))
        save(folder / "depth" / f"{sample}.npz", depth=depth(frames))
        copy(CONFORMANCE.parent / "pst" / "gt" / "p-002.png", folder / "subject" / f"{sample}.png")
    return folder


def make_run(
    folder: Path, conditions: Sequence[str] = CONDITIONS, seeds: Sequence[int] = (), dataset: str = "../ds"
) -> Path:
    """A run with its manifest, clips and predictions; every seed is a little worse than the one before."""
    folder.mkdir(parents=True, exist_ok=True)
    run = {"conditions": list(conditions), "seeds": list(seeds), "dataset_dir": dataset}
    (folder / "manifest.json").write_text(json.dumps({"run": run}), encoding="utf-8")
    for step, place in enumerate([folder / f"seed_{seed}" for seed in seeds] or [folder]):
        make_clips(place, float(step))
    return folder


def make_clips(place: Path, worse: float = 0.0) -> None:
    """Clips and predictions of one seed."""
    predicted = place / "predictions"
    for sample, frames in FRAMES.items():
        copy(clip(sample, "gen"), place / f"{sample}.mp4")
        save(predicted / "depth" / f"{sample}.npz", depth=depth(frames, noise=2.0 + worse))
        save(predicted / "person_masks" / f"{sample}.npz", masks=person(frames))
        save_npy(predicted / "pose" / f"{sample}_pose.npy", keypoints(frames, shift=4.0 + worse))
        save(predicted / "camera" / f"{sample}.npz", cam_c2w=camera(frames, turn=0.3 + 0.1 * worse))
        save(predicted / "subject" / f"{sample}.npz", **subject(frames, worse))
        save(predicted / "text" / f"{sample}.npz", **text(worse))
    vbench(predicted / "vbench" / "run_eval_results.json")


def depth(frames: int, noise: float = 0.0, height: int = 24, width: int = 40) -> Any:
    rows, columns = np.mgrid[:height, :width]
    levels = 20 + 4.0 * rows + 2.0 * columns + np.arange(frames)[:, None, None]
    return levels + noise * np.random.default_rng(7).standard_normal(levels.shape)


def person(frames: int, height: int = 24, width: int = 40) -> Any:
    """One person, 1 x T x H x W."""
    masks = np.zeros((1, frames, height, width), dtype=bool)
    masks[:, :, 6:20, 10:18] = True
    return masks


def keypoints(frames: int, shift: float = 0.0) -> Any:
    """One person in pixels, all keypoints confident, moved to the right."""
    places = np.random.default_rng(5).uniform(0.2, 0.8, (134, 2)) * (WIDTH, HEIGHT)
    points = np.ones((frames, 1, 134, 3))
    points[..., :2] = places + np.arange(frames)[:, None, None, None] * 0.5
    points[..., 0] += shift
    return points


def camera(frames: int, turn: float = 0.2) -> Any:
    """A camera that moves sideways and forwards and turns about the vertical."""
    shares = np.linspace(0, 1, frames)
    return np.stack([rigid((0, 1, 0), turn * share, (share, 0, turn * share)) for share in shares])


def subject(frames: int, worse: float) -> dict[str, Any]:
    rng = np.random.default_rng(11)
    reference = rng.standard_normal(32)
    noise = (0.3 + 0.1 * worse) * rng.standard_normal((2, frames, 32))
    return {
        **{f"{network}_reference": reference for network in ("clip", "dino")},
        **{f"{network}_frames": reference + noise[k] for k, network in enumerate(("clip", "dino"))},
    }


def text(worse: float) -> dict[str, Any]:
    video = np.array([1.0, 0.5 + 0.1 * worse, 0.0])
    return {"video": video, "text": np.array([1.0, 0.0, 0.0])}


def vbench(target: Path) -> Path:
    """The conformance run's results of three of its clips, without its counts of frames, which these clips lack."""
    found = json.loads((CONFORMANCE / "vbench" / "results_01_normal_eval_results.json").read_text(encoding="utf-8"))
    kept = {}
    for name, (_, videos) in found.items():
        own = [{key: v[key] for key in ("video_path", "video_results")} for v in videos]
        own = [entry for entry in own if Path(entry["video_path"]).stem in SAMPLES]
        # VBench's aggregates are on 0 to 1, as all per-clip values are but those of imaging_quality.
        mean = sum(float(entry["video_results"]) for entry in own) / len(own)
        kept[name] = [mean / 100 if name == "imaging_quality" else mean, own]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(kept), encoding="utf-8")
    return target
