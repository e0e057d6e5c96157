from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from given_tools import arrays, evaluate, moving, refusal, save, values, write_clip
from PIL import Image

from pixelgate.clips.evaluator import ClipFiles, evaluator
from pixelgate.errors import InputError, ProtocolError

CASES = values("clipfeat")["cases"]
TOLERANCE = values("clipfeat")["tolerance"]["default"]
COUNT = 6


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return write_clip(tmp_path / "001.mkv", moving(COUNT))


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "subject" / "001.png"
    path.parent.mkdir()
    Image.new("RGB", (20, 30), (9, 90, 200)).save(path)
    return path


def features(**changed: Any) -> dict[str, Any]:
    generator = np.random.default_rng(5)
    content: dict[str, Any] = {
        "clip_frames": generator.normal(size=(COUNT, 8)).astype(np.float32),
        "clip_reference": generator.normal(size=8).astype(np.float32),
        "dino_frames": generator.normal(size=(COUNT, 12)).astype(np.float32),
        "dino_reference": generator.normal(size=12).astype(np.float32),
        "preprocess": "clip-official",
        **changed,
    }
    return {key: value for key, value in content.items() if value is not None}


def captions(folder: Path, **prompts: str) -> Path:
    path = folder / "captions.json"
    path.write_text(json.dumps({f"{sample}.mp4": prompt for sample, prompt in prompts.items()}), encoding="utf-8")
    return path


def text(**changed: Any) -> dict[str, Any]:
    generator = np.random.default_rng(6)
    content = {"video": generator.normal(size=16), "text": generator.normal(size=16), "prompt": "a dog", **changed}
    return {key: value for key, value in content.items() if value is not None}


# Subject


@pytest.mark.parametrize("case", sorted(CASES))
def test_subject_oracle(tmp_path: Path, picture: Path, case: str) -> None:
    data, wanted = arrays(CASES[case]["file"]), CASES[case]
    generated = write_clip(tmp_path / "001.mkv", moving(len(data["frames"])))
    prediction = save(
        tmp_path / "subject" / "001.npz",
        clip_frames=data["frames"],
        clip_reference=data["reference"],
        dino_frames=-data["frames"],
        dino_reference=data["reference"],
    )
    found = evaluate("subject", generated, [prediction], ["clip", "dino"], reference=picture)
    score = wanted["reference_consistency"]
    assert found.values["subject_clip"].value == pytest.approx(score, abs=TOLERANCE)
    assert found.values["subject_dino"].value == pytest.approx(-score, abs=TOLERANCE)
    assert found.details["clip_per_frame"] == pytest.approx(wanted["reference_cosine_per_frame"], abs=TOLERANCE)
    assert found.record.frames == len(data["frames"])


def test_subject_details(tmp_path: Path, clip: Path, picture: Path) -> None:
    prediction = save(tmp_path / "p.npz", **features(model="ViT-B/32, openai"))
    found = evaluate("subject", clip, [prediction], ["dino"], reference=picture)
    assert found.details["preprocess"] == "clip-official"
    assert found.details["model"] == "ViT-B/32, openai"
    assert {key: found.details["reference"][key] for key in ("file", "width", "height")} == {
        "file": "001.png",
        "width": 20,
        "height": 30,
    }
    assert "clip_per_frame" not in found.details
    assert found.notes == ()
    assert found.deviations == ()


def test_subject_without_preprocess_is_noted(tmp_path: Path, clip: Path, picture: Path) -> None:
    prediction = save(tmp_path / "p.npz", **features(preprocess=None))
    found = evaluate("subject", clip, [prediction], ["clip"], reference=picture)
    assert [rule for rule, _ in found.notes] == ["preprocess-unknown"]


@pytest.mark.parametrize("frames", [COUNT - 1, COUNT + 1])
def test_subject_of_another_clip(tmp_path: Path, clip: Path, picture: Path, frames: int) -> None:
    prediction = save(tmp_path / "p.npz", **features(clip_frames=np.ones((frames, 8))))
    with pytest.raises(InputError) as error:
        evaluate("subject", clip, [prediction], ["clip", "dino"], reference=picture)
    message = refusal(error, "prediction-length")
    assert f"of {frames} frames" in message
    assert f"has {COUNT}" in message
    assert evaluate("subject", clip, [prediction], ["dino"], reference=picture).values["subject_dino"].value is not None


def test_subject_dimensions_differ(tmp_path: Path, clip: Path, picture: Path) -> None:
    prediction = save(tmp_path / "p.npz", **features(clip_reference=np.ones(9)))
    with pytest.raises(InputError) as error:
        evaluate("subject", clip, [prediction], ["clip"], reference=picture)
    assert str(prediction) in refusal(error, "feature-shape")


def test_subject_missing_key(tmp_path: Path, clip: Path, picture: Path) -> None:
    prediction = save(tmp_path / "p.npz", **features(dino_reference=None))
    with pytest.raises(InputError) as error:
        evaluate("subject", clip, [prediction], ["clip", "dino"], reference=picture)
    assert "dino_reference" in refusal(error, "prediction-keys")


def test_subject_zero_features_have_no_value(tmp_path: Path, clip: Path, picture: Path) -> None:
    prediction = save(tmp_path / "p.npz", **features(clip_reference=np.zeros(8)))
    found = evaluate("subject", clip, [prediction], ["clip"], reference=picture).values["subject_clip"]
    assert (found.value, found.reason) == (None, "the features of the reference are all zero")


def test_subject_nan_is_refused(tmp_path: Path, clip: Path, picture: Path) -> None:
    frames = np.ones((COUNT, 8))
    frames[3, 1] = np.nan
    with pytest.raises(InputError) as error:
        evaluate(
            "subject", clip, [save(tmp_path / "p.npz", **features(clip_frames=frames))], ["clip"], reference=picture
        )
    assert "[3, 1]" in refusal(error, "prediction-finite")


def test_subject_shuffled(tmp_path: Path, clip: Path, picture: Path) -> None:
    ours = save(tmp_path / "subject" / "001.npz", **features())
    other = np.random.default_rng(9).normal(size=8)
    theirs = save(tmp_path / "subject" / "002.npz", **features(clip_reference=other, clip_frames=np.ones((2, 8))))
    plain = evaluate("subject", clip, [ours], ["clip"], reference=picture)
    mixed = evaluate("subject", clip, [ours], ["clip"], reference=picture, shuffled=theirs)
    swapped = evaluate(
        "subject", clip, [save(tmp_path / "s.npz", **features(clip_reference=other))], ["clip"], reference=picture
    )
    assert mixed.values == swapped.values != plain.values
    assert mixed.details["reference_features"] == "002.npz"
    save(theirs, **features(preprocess="vbench"))
    with pytest.raises(InputError) as error:
        evaluate("subject", clip, [ours], ["clip"], reference=picture, shuffled=theirs)
    message = refusal(error, "preprocess-differs")
    assert "clip-official" in message
    assert "vbench" in message


def test_subject_reference_prepared_otherwise(tmp_path: Path, clip: Path, picture: Path) -> None:
    prediction = save(tmp_path / "p.npz", **features(preprocess_reference="vbench"))
    with pytest.raises(InputError) as error:
        evaluate("subject", clip, [prediction], ["clip"], reference=picture)
    refusal(error, "preprocess-differs")


def test_subject_picture_must_be_readable(tmp_path: Path, clip: Path, picture: Path) -> None:
    prediction = save(tmp_path / "p.npz", **features())
    picture.write_bytes(picture.read_bytes()[:40])
    with pytest.raises(InputError) as error:
        evaluate("subject", clip, [prediction], ["clip"], reference=picture)
    assert str(picture) in str(error.value)
    with pytest.raises(InputError) as error:
        evaluate("subject", clip, [prediction], ["clip"])
    refusal(error, "missing-reference")


def test_subject_alpha_is_noted(tmp_path: Path, clip: Path, picture: Path) -> None:
    Image.new("RGBA", (4, 4), (9, 90, 200, 100)).save(picture)
    found = evaluate("subject", clip, [save(tmp_path / "p.npz", **features())], ["clip"], reference=picture)
    assert "alpha-dropped" in [rule for rule, _ in found.notes]


# Text


@pytest.mark.parametrize("case", sorted(CASES))
def test_text_oracle(tmp_path: Path, clip: Path, case: str) -> None:
    data, wanted = arrays(CASES[case]["file"]), CASES[case]["reference_cosine_per_frame"][0]
    prediction = save(tmp_path / "001.npz", video=data["frames"][0], text=data["reference"])
    found = evaluate(
        "text", clip, [prediction], ["consistency"], reference=captions(tmp_path, **{"001": "a dog"}), frames=8
    )
    assert found.values["text_consistency"].value == pytest.approx(wanted, abs=TOLERANCE)
    assert found.details["caption"] == "a dog"
    assert found.details["frame_indices"] == [0, 1, 2, 3, 4, 5, 5, 5]


def test_text_prompt_must_be_the_caption(tmp_path: Path, clip: Path) -> None:
    prediction = save(tmp_path / "001.npz", **text())
    assert evaluate("text", clip, [prediction], ["consistency"], reference=captions(tmp_path, **{"001": "a dog"}))
    with pytest.raises(InputError) as error:
        evaluate("text", clip, [prediction], ["consistency"], reference=captions(tmp_path, **{"001": "a dog."}))
    message = refusal(error, "prompt-differs")
    assert "'a dog'" in message
    assert "'a dog.'" in message


def test_text_missing_caption(tmp_path: Path, clip: Path) -> None:
    prediction = save(tmp_path / "001.npz", **text())
    with pytest.raises(InputError) as error:
        evaluate("text", clip, [prediction], ["consistency"], reference=captions(tmp_path, **{"002": "a dog"}))
    assert "'001'" in refusal(error, "missing-caption")


def test_text_long_prompt_is_noted(tmp_path: Path, clip: Path) -> None:
    prompt = "very " * 30 + "long"
    prediction = save(tmp_path / "001.npz", **text(prompt=prompt))
    found = evaluate("text", clip, [prediction], ["consistency"], reference=captions(tmp_path, **{"001": prompt}))
    assert [rule for rule, _ in found.notes] == ["long-prompt"]


def test_text_frames_must_be_the_middle_ones(tmp_path: Path, clip: Path) -> None:
    reference = captions(tmp_path, **{"001": "a dog"})
    right, wrong = [0, 1, 2, 3, 4, 5, 5, 5], list(range(8))
    evaluate(
        "text", clip, [save(tmp_path / "1.npz", **text(frame_indices=right))], ["consistency"], reference=reference
    )
    with pytest.raises(InputError) as error:
        evaluate(
            "text", clip, [save(tmp_path / "2.npz", **text(frame_indices=wrong))], ["consistency"], reference=reference
        )
    assert "6 frames" in refusal(error, "prediction-frames")


def test_text_shuffled(tmp_path: Path, clip: Path) -> None:
    reference = captions(tmp_path, **{"001": "a dog", "002": "a cat"})
    ours = save(tmp_path / "001.npz", **text())
    other = np.random.default_rng(3).normal(size=16)
    theirs = save(tmp_path / "002.npz", **text(text=other, prompt="a cat"))
    found = evaluate("text", clip, [ours], ["consistency"], reference=reference, shuffled=theirs)
    direct = evaluate(
        "text", clip, [save(tmp_path / "d.npz", **text(text=other))], ["consistency"], reference=reference
    )
    assert found.values == direct.values
    assert (found.details["caption"], found.details["caption_of"]) == ("a cat", "002")


@pytest.mark.parametrize(("group", "metric"), [("subject", "clip"), ("text", "consistency"), ("vbench", "SuC")])
def test_prediction_files(tmp_path: Path, clip: Path, picture: Path, group: str, metric: str) -> None:
    reference = captions(tmp_path, **{"001": "a dog"}) if group == "text" else picture
    with pytest.raises(InputError) as error:
        evaluate(group, clip, [], [metric], reference=reference)
    refusal(error, "missing-prediction")
    for files in ([clip], [tmp_path / "a.npz", tmp_path / "b.npz"]):
        with pytest.raises(InputError) as error:
            evaluate(group, clip, files, [metric], reference=reference)
        refusal(error, "prediction-kind")


@pytest.mark.parametrize(("group", "metric"), [("subject", "clip"), ("text", "consistency"), ("vbench", "SuC")])
def test_groups(group: str, metric: str) -> None:
    known = evaluator(group)
    files = ClipFiles("001", Path("001.mp4"), {})
    assert known.group == group
    assert known.needs({}) == (group,)
    assert known.itself(files) is None
    with pytest.raises(ProtocolError, match="no parameter"):
        evaluate(group, Path("001.mp4"), [Path("001.npz")], [metric], speed=3)
    with pytest.raises(ProtocolError, match="no metric"):
        evaluate(group, Path("001.mp4"), [Path("001.npz")], [f"{metric}x"])
