from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from given_tools import VBENCH, arrays, evaluate, moving, refusal, save, values, write_clip

from pixelgate.errors import InputError, ProtocolError
from pixelgate.io.video import read_video
from pixelgate.metrics.vbench import DIMENSIONS, dynamic_degree, flow_magnitude, interpolated_frames

FEATURES = values("clipfeat")
RESULTS = values("vbench")["cases"]
TOLERANCE = FEATURES["tolerance"]["default"]
ALL = tuple(DIMENSIONS)
COUNT = 9
SAMPLED = 3  # frames 0, 3 and 6 of 9 at 24 frames per second


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return write_clip(tmp_path / "001.mkv", moving(COUNT))


def content(path: Path, /, **changed: Any) -> dict[str, Any]:
    generator = np.random.default_rng(8)
    frames = read_video(path)[0]
    made: dict[str, Any] = {
        "dino": generator.normal(size=(COUNT, 16)).astype(np.float32) + 1,
        "clip": generator.normal(size=(COUNT, 16)).astype(np.float32) + 1,
        "aesthetic": generator.uniform(4, 7, COUNT),
        "musiq": generator.uniform(40, 80, COUNT),
        "viclip_video": generator.normal(size=16),
        "viclip_text": generator.normal(size=16),
        "interpolated": frames[1::2][: interpolated_frames(COUNT)],
        "flow": generator.normal(size=(SAMPLED - 1, 24, 32, 2)),
        "sampled_frames": SAMPLED,
        **changed,
    }
    return {key: value for key, value in made.items() if value is not None}


# Oracle through the evaluator


@pytest.mark.parametrize("case", sorted(FEATURES["cases"]))
def test_consistency_from_features(tmp_path: Path, case: str) -> None:
    wanted = FEATURES["cases"][case]
    data = arrays(wanted["file"])
    generated = write_clip(tmp_path / "001.mkv", moving(len(data["frames"])))
    prediction = save(tmp_path / "p.npz", dino=data["frames"], clip=-data["frames"])
    found = evaluate("vbench", generated, [prediction], ["SuC", "BC"])
    for metric in ("vbench_SuC", "vbench_BC"):
        if wanted["vbench_consistency"] is None:
            assert found.values[metric].reason == wanted["missing_reason"]
        else:
            assert found.values[metric].value == pytest.approx(100 * wanted["vbench_consistency"], abs=100 * TOLERANCE)
    assert found.details["SuC_pair_terms"] == pytest.approx(wanted.get("pair_terms", []), abs=TOLERANCE)


def test_aesthetic_from_features(tmp_path: Path) -> None:
    data = arrays("aesthetic.npz")
    generated = write_clip(tmp_path / "001.mkv", moving(len(data["features"])))
    whole = save(
        tmp_path / "a.npz",
        aesthetic_features=data["features"],
        aesthetic_weight=data["weight"],
        aesthetic_bias=data["bias"],
    )
    outputs = save(tmp_path / "b.npz", aesthetic=np.array(FEATURES["aesthetic"]["per_frame"]))
    for prediction in (whole, outputs):
        found = evaluate("vbench", generated, [prediction], ["AQ"]).values["vbench_AQ"].value
        assert found == pytest.approx(100 * FEATURES["aesthetic"]["score"], abs=100 * TOLERANCE)


@pytest.mark.parametrize("case", sorted(FEATURES["motion_smoothness"]))
def test_smoothness_of_a_decoded_clip(tmp_path: Path, case: str) -> None:
    wanted = FEATURES["motion_smoothness"][case]
    data = arrays(wanted["file"])
    generated = write_clip(tmp_path / "001.mkv", data["frames"])
    prediction = save(tmp_path / "p.npz", interpolated=data["interpolated"])
    found = evaluate("vbench", generated, [prediction], ["MS"])
    if wanted["score"] is None:
        assert found.values["vbench_MS"].reason == wanted["missing_reason"]
    else:
        assert found.values["vbench_MS"].value == pytest.approx(100 * wanted["score"], abs=100 * TOLERANCE)
        assert found.details["MS_per_frame_mae"] == pytest.approx(wanted["per_frame_mae"], abs=TOLERANCE)
    assert found.record.frames == len(data["frames"])


@pytest.mark.parametrize("magnitudes", [False, True])
@pytest.mark.parametrize("case", sorted(FEATURES["dynamic_degree"]))
def test_dynamic_degree_of_a_clip(tmp_path: Path, case: str, magnitudes: bool) -> None:
    wanted = FEATURES["dynamic_degree"][case]
    flow, sampled = arrays(wanted["file"])["flow"], wanted["sampled_frames"]
    generated = write_clip(tmp_path / "001.mkv", moving(sampled * 2 - 1, 32, 40), fps=16)
    kept: dict[str, Any] = {"flow": flow}
    if magnitudes:
        lengths = np.array([flow_magnitude(pair) for pair in flow], dtype=np.float64)
        kept = {"flow_magnitude": lengths, "size": np.array([32, 40])}
    found = evaluate("vbench", generated, [save(tmp_path / "p.npz", sampled_frames=sampled, **kept)], ["DD"])
    assert found.values["vbench_DD"].value == (100.0 if wanted["dynamic"] else 0.0)
    decided = found.details["DD"]
    assert decided["needed_pairs"] == wanted["needed_pairs"]
    assert decided["pairs_above"] == wanted["pairs_above"]
    assert decided["threshold"] == wanted["threshold"]
    assert decided["sampling_step"] == 2
    assert [rule for rule, _ in found.values["vbench_DD"].notes] == (["two-sampled-frames"] if sampled == 2 else [])


@pytest.mark.parametrize("case", ["results_01_normal", "results_02_nan_empty_bools"])
def test_imported_rows(tmp_path: Path, case: str) -> None:
    source = VBENCH / RESULTS[case]["file"]
    pairs = {
        Path(video["video_path"].replace("\\", "/")).stem: video["cnt_per_video"]
        for video in json.loads(source.read_text(encoding="utf-8"))["background_consistency"][1]
    }
    for sample, row in RESULTS[case]["table"].items():
        generated = write_clip(tmp_path / f"{sample}.mkv", moving(pairs[sample] + 1, 8, 8))
        found = evaluate("vbench", generated, [source], ALL, dimensions=list(DIMENSIONS.values()))
        for column, number in row.items():
            assert found.values[f"vbench_{column}"].value == (
                number if number is None else pytest.approx(number, abs=1e-9)
            )
        assert found.details["averages"]["BC"]["differs"] is True
        assert found.details["files"] == [source.name]


# From features


def test_all_dimensions(tmp_path: Path, clip: Path) -> None:
    prediction = save(tmp_path / "p.npz", **content(clip, model="as published", prompt="a dog"))
    found = evaluate("vbench", clip, [prediction], ALL)
    assert all(value.value is not None for value in found.values.values())
    assert found.values["vbench_MS"].value == 100.0
    assert found.values["vbench_IQ"].value == pytest.approx(content(clip)["musiq"].mean())
    assert (found.details["model"], found.details["prompt"]) == ("as published", "a dog")
    assert found.record.frames == COUNT
    assert found.notes == ()


def test_what_is_not_there_has_no_value(tmp_path: Path, clip: Path) -> None:
    found = evaluate("vbench", clip, [save(tmp_path / "p.npz", model="none")], ALL)
    reasons = {metric: value.reason for metric, value in found.values.items()}
    assert reasons["vbench_SuC"] == "the prediction has no dino"
    assert reasons["vbench_DD"] == (
        "the prediction has no flow and sampled_frames or flow_magnitude and sampled_frames and size"
    )
    assert all(value.value is None for value in found.values.values())
    half = save(tmp_path / "h.npz", **content(clip, sampled_frames=None))
    assert evaluate("vbench", clip, [half], ["DD"]).values["vbench_DD"].value is None


@pytest.mark.parametrize("key", ["dino", "clip", "aesthetic", "musiq"])
def test_features_of_another_clip(tmp_path: Path, clip: Path, key: str) -> None:
    prediction = save(tmp_path / "p.npz", **content(clip, **{key: content(clip)[key][:-1]}))
    with pytest.raises(InputError) as error:
        evaluate("vbench", clip, [prediction], ALL)
    message = refusal(error, "prediction-length")
    assert f"'{key}' is of {COUNT - 1} frames" in message
    assert str(prediction) in message


@pytest.mark.parametrize("change", [-1, 1])
def test_interpolated_frames_of_another_clip(tmp_path: Path, clip: Path, change: int) -> None:
    wrong = moving(interpolated_frames(COUNT) + change)
    with pytest.raises(InputError) as error:
        evaluate("vbench", clip, [save(tmp_path / "p.npz", **content(clip, interpolated=wrong))], ALL)
    assert "needs 4" in refusal(error, "prediction-length")
    wrong = moving(interpolated_frames(COUNT), 32, 24)
    with pytest.raises(InputError) as error:
        evaluate("vbench", clip, [save(tmp_path / "p.npz", **content(clip, interpolated=wrong))], ALL)
    assert "24 x 32 pixels" in refusal(error, "prediction-shape")


def test_a_wrong_frame_rate_shows(tmp_path: Path) -> None:
    frames = moving(COUNT)
    right, wrong = write_clip(tmp_path / "a" / "001.mkv", frames), write_clip(tmp_path / "b" / "001.mkv", frames, fps=8)
    prediction = save(tmp_path / "p.npz", **content(right))
    assert evaluate("vbench", right, [prediction], ["DD"]).values["vbench_DD"].value is not None
    with pytest.raises(InputError) as error:
        evaluate("vbench", wrong, [prediction], ["DD"])
    message = refusal(error, "fps")
    assert "3 sampled frames" in message
    assert "8 frames per second gives 9" in message
    assert evaluate("vbench", wrong, [prediction], ["SuC"]).values["vbench_SuC"].value is not None


def test_flow_of_another_clip(tmp_path: Path, clip: Path) -> None:
    for flow, rule in (
        (np.zeros((SAMPLED, 24, 32, 2)), "prediction-length"),
        (np.zeros((SAMPLED - 1, 32, 24, 2)), "prediction-shape"),
    ):
        with pytest.raises(InputError) as error:
            evaluate("vbench", clip, [save(tmp_path / "p.npz", **content(clip, flow=flow))], ["DD"])
        refusal(error, rule)
    lengths = {"flow": None, "flow_magnitude": np.zeros(SAMPLED - 1)}
    prediction = save(tmp_path / "p.npz", **content(clip, size=np.array([32, 24]), **lengths))
    with pytest.raises(InputError) as error:
        evaluate("vbench", clip, [prediction], ["DD"])
    refusal(error, "prediction-shape")


def test_flow_may_be_padded_as_raft_needs_it(tmp_path: Path) -> None:
    generated = write_clip(tmp_path / "001.mkv", moving(COUNT, 20, 30))
    flow = np.random.default_rng(1).normal(0, 0.23, size=(SAMPLED - 1, 24, 32, 2))
    found = evaluate("vbench", generated, [save(tmp_path / "p.npz", flow=flow, sampled_frames=SAMPLED)], ["DD"])
    lengths = np.array([flow_magnitude(pair) for pair in flow])
    wanted = dynamic_degree(lengths, SAMPLED, (20, 30))  # the threshold is the clip's own
    assert found.details["DD"]["threshold"] == wanted.threshold == 6 * 20 / 256
    assert found.values["vbench_DD"].value == 100.0 * wanted.dynamic


def test_a_dimension_in_two_ways(tmp_path: Path, clip: Path) -> None:
    twice = content(clip, flow_magnitude=np.zeros(SAMPLED - 1), size=np.array([24, 32]))
    with pytest.raises(InputError) as error:
        evaluate("vbench", clip, [save(tmp_path / "p.npz", **twice)], ["DD"])
    assert "two ways" in refusal(error, "prediction-keys")


def test_numbers_off_the_scale_have_no_value(tmp_path: Path, clip: Path) -> None:
    prediction = save(tmp_path / "p.npz", **content(clip, aesthetic=np.full(COUNT, 54.0), musiq=np.full(COUNT, 161.0)))
    found = evaluate("vbench", clip, [prediction], ["AQ", "IQ"])
    assert "outside" in (found.values["vbench_AQ"].reason or "")
    assert "outside" in (found.values["vbench_IQ"].reason or "")


def test_zero_features(tmp_path: Path, clip: Path) -> None:
    dino = content(clip)["dino"]
    dino[4] = 0
    head = {"aesthetic": None, "aesthetic_features": dino, "aesthetic_weight": np.ones(16), "aesthetic_bias": 1.0}
    prediction = save(tmp_path / "p.npz", **content(clip, dino=dino, viclip_text=np.zeros(16), **head))
    found = evaluate("vbench", clip, [prediction], ["SuC", "AQ", "OvC"]).values
    assert found["vbench_SuC"].reason == found["vbench_AQ"].reason == "the features of frame 4 are all zero"
    assert found["vbench_OvC"].reason == "the features of the text are all zero"


def test_one_frame(tmp_path: Path) -> None:
    generated = write_clip(tmp_path / "001.mkv", moving(1))
    data = {"dino": np.ones((1, 4)), "clip": np.ones((1, 4)), "interpolated": moving(1)[:0], "sampled_frames": 1}
    prediction = save(tmp_path / "p.npz", flow=np.zeros((0, 24, 32, 2)), **data)
    found = evaluate("vbench", generated, [prediction], ["SuC", "BC", "MS", "DD"])
    assert [value.value for value in found.values.values()] == [None, None, None, 0.0]
    assert [rule for rule, _ in found.notes] == ["single-frame"]


def test_long_clips_are_noted(tmp_path: Path) -> None:
    prediction = save(tmp_path / "p.npz", model="x")
    for frames, rules in ((6, []), (7, ["long-clip"])):  # 5 s and 6 s at one frame per second
        generated = write_clip(tmp_path / f"{frames}.mkv", moving(frames, 8, 8), fps=1)
        assert [rule for rule, _ in evaluate("vbench", generated, [prediction], ["SuC"]).notes] == rules


def test_gif_has_no_motion_dimensions(tmp_path: Path) -> None:
    generated = write_clip(tmp_path / "001.gif", moving(COUNT), fps=10)
    prediction = save(tmp_path / "p.npz", **content(generated))
    found = evaluate("vbench", generated, [prediction], ALL).values
    assert "gif" in (found["vbench_MS"].reason or "")
    assert "gif" in (found["vbench_DD"].reason or "")
    assert found["vbench_SuC"].value is not None


def test_dimensions_left_out(tmp_path: Path, clip: Path) -> None:
    prediction = save(tmp_path / "p.npz", **content(clip))
    found = evaluate("vbench", clip, [prediction], ["SuC", "IQ"], dimensions=["imaging_quality"])
    assert found.values["vbench_SuC"].reason == "subject_consistency was left out"
    assert found.values["vbench_IQ"].value is not None
    with pytest.raises(ProtocolError, match="'object_class'"):
        evaluate("vbench", clip, [prediction], ["SuC"], dimensions=["object_class"])


# From results


def results(path: Path, **dimensions: dict[str, Any]) -> Path:
    made = {
        name: [0.5, [{"video_path": f"/v/{video}", "video_results": value} for video, value in videos.items()]]
        for name, videos in dimensions.items()
    }
    path.write_text(json.dumps(made), encoding="utf-8")
    return path


def test_a_clip_without_a_row(tmp_path: Path, clip: Path) -> None:
    path = results(tmp_path / "r_eval_results.json", motion_smoothness={"002.mp4": 0.5})
    with pytest.raises(InputError) as error:
        evaluate("vbench", clip, [path], ["MS"])
    assert "'001'" in refusal(error, "missing-prediction")


def test_results_of_several_files(tmp_path: Path, clip: Path) -> None:
    first = results(
        tmp_path / "a_eval_results.json", motion_smoothness={"001.mp4": 0.5}, color={"001.mp4": float("nan")}
    )
    second = results(tmp_path / "b_eval_results.json", dynamic_degree={"001.mp4": True})
    found = evaluate("vbench", clip, [first, second], ["MS", "DD", "SuC"])
    assert [value.value for value in found.values.values()] == [50.0, 100.0, None]
    assert found.values["vbench_SuC"].reason == "VBench's subject_consistency is not in the result files"
    assert found.details["unknown_dimensions"]["color"][1][0]["video_results"] == "NaN"


def test_results_of_another_length(tmp_path: Path, clip: Path) -> None:
    videos = [{"video_path": "001.mp4", "video_results": 0.5, "video_sim": 3.5, "cnt_per_video": 7}]
    path = tmp_path / "r_eval_results.json"
    path.write_text(json.dumps({"background_consistency": [0.5, videos]}), encoding="utf-8")
    with pytest.raises(InputError) as error:
        evaluate("vbench", clip, [path], ["BC"])
    message = refusal(error, "prediction-length")
    assert "8 frames" in message
    assert f"has {COUNT}" in message


def test_old_sums_stop_only_who_asks_for_them(tmp_path: Path) -> None:
    source = VBENCH / RESULTS["results_03_old_sum_form"]["file"]
    generated = write_clip(tmp_path / "001.mkv", moving(COUNT))
    with pytest.raises(InputError, match="sum over frames"):
        evaluate("vbench", generated, [source], ["SuC", "MS"])
    rest = [name for name in DIMENSIONS.values() if name != "subject_consistency"]
    found = evaluate("vbench", generated, [source], ["SuC", "MS"], dimensions=rest).values
    wanted = RESULTS["results_03_old_sum_form"]["if_only_that_dimension_is_left_out"]["table"]["001"]
    assert found["vbench_MS"].value == pytest.approx(wanted["MS"], abs=1e-9)
    assert found["vbench_SuC"].value is None


def test_changed_results_are_read_again(tmp_path: Path, clip: Path) -> None:
    path = results(tmp_path / "r_eval_results.json", motion_smoothness={"001.mp4": 0.5})
    assert evaluate("vbench", clip, [path], ["MS"]).values["vbench_MS"].value == 50.0
    results(path, motion_smoothness={"001.mp4": 0.8125})
    assert evaluate("vbench", clip, [path], ["MS"]).values["vbench_MS"].value == 81.25
