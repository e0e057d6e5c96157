from __future__ import annotations

from pathlib import Path

import pytest
from given_tools import refusal

from pixelgate.errors import InputError
from pixelgate.io.captions import caption_of, clip_id, long_prompt, read_captions


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "captions.json"
    path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    return path


def test_captions_by_id(tmp_path: Path) -> None:
    path = write(tmp_path, '{"b 1.mp4": " A dog. ", "a.v2.MP4": "Ein Hündchen \\u2713"}')
    prompts = read_captions(path)
    assert list(prompts.items()) == [("b 1", " A dog. "), ("a.v2", "Ein Hündchen ✓")]
    assert caption_of(path, prompts, "b 1") == " A dog. "


def test_byte_order_mark_is_no_harm(tmp_path: Path) -> None:
    assert read_captions(write(tmp_path, b'\xef\xbb\xbf{"a.mp4": "x"}')) == {"a": "x"}


def test_missing_caption(tmp_path: Path) -> None:
    path = write(tmp_path, '{"a.mp4": "x"}')
    with pytest.raises(InputError) as error:
        caption_of(path, read_captions(path), "b")
    assert "'b'" in refusal(error, "missing-caption")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"a.mp4": "x", "b.mp4": "y", "a.mp4": "x"}', "names 'a.mp4' twice"),
        ('{"a.mp4": "x", "a.mov": "y"}', "two names for the clip 'a'"),
        ('{"a.mp4": 3}', "a int as its prompt"),
        ('{"a.mp4": null}', "NoneType"),
        ('{"a.mp4": ["x"]}', "list"),
        ('{"a.mp4": ""}', "empty prompt"),
        ('{"a.mp4": " \\n"}', "empty prompt"),
        ('{"a.mp4": "\\ud83d"}', "surrogate"),
        ('{"a": "x"}', "does not end like a clip"),
        ('{"v1.5": "x"}', "does not end like a clip"),
        ('{".mp4": "x"}', "does not end like a clip"),
        ('{"clips/a.mp4": "x"}', "with a folder"),
        ('{"clips\\\\a.mp4": "x"}', "with a folder"),
        ("{}", "no caption"),
        ('["a.mp4"]', "holds a list"),
        ('{"a.mp4": NaN}', "NaN"),
        ('{"a.mp4": "x"', "no JSON"),
        ("", "no JSON"),
        (b'{"a.mp4": "\xe4"}', "not in UTF-8"),
        ("[" * 100000, "no JSON"),
    ],
)
def test_refused(tmp_path: Path, text: str | bytes, word: str) -> None:
    with pytest.raises(InputError) as error:
        read_captions(write(tmp_path, text))
    assert word in refusal(error, "captions")


def test_all_wrong_entries_are_listed(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_captions(write(tmp_path, '{"a.mp4": "", "b": "x", "c.mp4": "fine", "d.mp4": 1}'))
    assert len(error.value.problems) == 3


def test_no_file(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError) as error:
            read_captions(path)
        refusal(error, "not-a-file")


def test_long_prompts_are_noted() -> None:
    assert long_prompt("a", " ".join(["word"] * 24)) is None
    note = long_prompt("a", " ".join(["word"] * 25))
    assert note is not None
    assert (note.subject, note.rule) == ("a", "long-prompt")
    assert "25 words" in note.message
    assert "rough sign" in note.message


@pytest.mark.parametrize(
    ("name", "sample"),
    [("001.mp4", "001"), ("a.b.webm", "a.b"), ("001", None), ("a.txt", None), ("x_pose.GIF", "x_pose")],
)
def test_ids(name: str, sample: str | None) -> None:
    assert clip_id(name) == sample
