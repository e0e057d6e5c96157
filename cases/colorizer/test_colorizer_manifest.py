"""Manifests on their own: the reference library's, broken ones, dangerous ones."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from colorizer_tools import paste, picture, rules, samples
from PIL import Image

from pixelgate.colorizer import check, check_layout, evaluate_colorizer, read_manifest, rescore
from pixelgate.errors import InputError

# What hintauc 0.3.3 writes for one PNG made from a JPEG ground truth, two ratios.
REFERENCE = {
    "protocol": "hint-auc/v1",
    "hintauc": "0.3.3",
    "hint_type": "scribble",
    "alphas": [0.0, 1.0],
    "dirs": {"0.00": 0.0, "1.00": 1.0},
    "names": ["g.png"],
    "sources": {"g.png": "g.bmp"},
    "n_images": 1,
    "oracle": True,
    "tie_break": "stable",
    "path_method": "geodesic",
    "dot_method": "medoid",
    "hint_map_size": 64,
    "note": "one directory per hint ratio",
}


@pytest.fixture
def reference(tmp_path):
    """A folder as the reference library leaves it."""
    for ratio in ("0.00", "1.00"):
        (tmp_path / ratio).mkdir()
        Image.fromarray(picture(1)).save(tmp_path / ratio / "g.png")
    (tmp_path / "gt").mkdir()
    Image.fromarray(picture(1)).save(tmp_path / "gt" / "g.bmp")
    (tmp_path / "manifest.json").write_text(json.dumps(REFERENCE))
    return tmp_path


def test_the_references_manifest_is_read(reference):
    manifest = read_manifest(reference)
    assert manifest.alphas == (0.0, 1.0)
    assert manifest.oracle
    assert not manifest.hashed
    assert check(manifest, reference) == []
    result = rescore(reference, reference / "gt", metrics=("mse",), backend="pillow")
    assert result.hint_auc == {"mse": 0.0}
    assert result.oracle
    assert "no-hashes" in [note.rule for note in result.notes]


def test_ours_has_the_references_keys(tmp_path):
    evaluate_colorizer(paste, samples(1), alphas=(0.0, 1.0), metrics=(), save_dir=tmp_path, backend="pillow")
    ours = json.loads((tmp_path / "manifest.json").read_text())
    own = {"hintauc", "note"}
    assert REFERENCE.keys() - ours.keys() == own
    for key in ("alphas", "dirs", "names", "sources", "n_images", "oracle", "hint_map_size"):
        assert type(ours[key]) is type(REFERENCE[key])


def test_no_manifest_is_none(tmp_path):
    assert read_manifest(tmp_path) is None
    for other in ({"name": "app"}, [1, 2], "text"):
        (tmp_path / "manifest.json").write_text(json.dumps(other))
        assert read_manifest(tmp_path) is None


@pytest.mark.parametrize(
    "change",
    [
        {"names": ["../g.png"]},
        {"names": ["a\\b.png"]},
        {"names": ["g.png", "g.png"]},
        {"names": 3},
        {"dirs": {"/etc": 0.0, "1.00": 1.0}},
        {"dirs": {"..": 0.0, "1.00": 1.0}},
        {"dirs": {"0.00": "x"}},
        {"dirs": {"0.00": 0.0}},
        {"alphas": [0.0, 0.9]},
        {"sha256": {"predictions": 3}},
        {"meta": [1]},
    ],
)
def test_a_broken_manifest_is_one_clear_error(reference, change):
    (reference / "manifest.json").write_text(json.dumps({**REFERENCE, **change}))
    with pytest.raises(InputError, match=r"manifest\.json") as error:
        read_manifest(reference)
    assert rules(error) == ["manifest-readable"]


def test_no_text_is_one_clear_error(tmp_path):
    for data in (b"", b"{", b"\xff\xfe"):
        (tmp_path / "manifest.json").write_bytes(data)
        with pytest.raises(InputError) as error:
            read_manifest(tmp_path)
        assert rules(error) == ["manifest-readable"]


def test_a_layout_check_opens_no_picture(reference):
    (reference / "0.00" / "g.png").write_bytes(b"no picture")
    assert check_layout(read_manifest(reference), reference) == []


def test_directories_that_are_no_ratios_are_not_the_runs_business(reference):
    (reference / "logs").mkdir()
    (reference / "2").mkdir()
    assert [(p.rule, p.file) for p in check(read_manifest(reference), reference)] == [
        ("extra-ratio", str(reference / "2"))
    ]


def test_reading_a_manifest_loads_nothing_heavy():
    heavy = ("torch", "lpips", "numba", "skimage", "pandas", "scipy", "matplotlib")
    script = f"import pixelgate.colorizer.manifest, sys; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr
