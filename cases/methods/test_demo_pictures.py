"""The demo track's pictures: exact grades, true pairs, and a build that can be interrupted."""

from __future__ import annotations

import hashlib
import os

import numpy as np
import pytest
from PIL import Image

from pixelgate.errors import MissingExtra, TrackError
from pixelgate.io import files
from pixelgate.tracks import demo_pst
from pixelgate.tracks.demo_grades import Curve, Grade, saturation

KEEP = Grade(saturation(100), (Curve(), Curve(), Curve()))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = tmp_path_factory.mktemp("demo")
    steps = []
    demo_pst.build(root, lambda *step: steps.append(step))
    assert [step[0] for step in steps] == list(range(1, 31))
    assert {step[1] for step in steps} == {30}
    return root


def load(root, name):
    with Image.open(root / name) as image:
        return np.array(image)


def tree(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_the_neutral_grade_changes_nothing():
    levels = np.arange(256, dtype=np.uint8)
    cube = np.stack(np.meshgrid(levels[::5], levels[::3], levels[::15], indexing="ij"), axis=-1).reshape(52, -1, 3)
    assert np.array_equal(KEEP.apply(cube), cube)


def test_grey_stays_grey_without_saturation():
    picture = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    grey = Grade(saturation(0), (Curve(), Curve(), Curve())).apply(picture)
    assert (grey == grey[..., :1]).all()


def test_curve_ends_and_extremes():
    table = Curve(black=10, white=240, bend=0, contrast=0).table()
    assert (table[0], table[-1]) == (160, 3840)
    assert Curve(bend=20).table()[2040] == 2040 + 320
    bump = Curve(contrast=12).table() - np.arange(4081)
    assert (bump.max(), bump.min()) == (192, -192)


@pytest.mark.parametrize("name", sorted(demo_pst.GRADES))
def test_grades_agree_with_real_arithmetic(name):
    """The same grade in floating point: whole numbers differ by rounding only."""
    grade = demo_pst.GRADES[name]
    picture = np.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    mixed = np.clip(picture @ np.array(grade.matrix).T / 256, 0, 255) / 255
    curved = np.empty_like(mixed)
    for channel, curve in enumerate(grade.curves):
        x = mixed[..., channel]
        y = curve.black + x * (curve.white - curve.black) + 4 * curve.bend * x * (1 - x)
        curved[..., channel] = np.clip(y + 10.39 * curve.contrast * x * (1 - x) * (2 * x - 1), 0, 255)
    luma = curved @ np.array([54, 183, 19])[:, None] / 256 / 255
    exact = curved + np.array(grade.shadows) * (1 - luma) ** 2 + np.array(grade.highlights) * luma**2
    assert np.abs(grade.apply(picture) - np.clip(exact, 0, 255)).max() < 0.75


@pytest.mark.parametrize("name", sorted(demo_pst.GRADES))
def test_grades_change_colours_but_stay_photographic(name):
    ramp = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, axis=2)
    graded = demo_pst.GRADES[name].apply(ramp).astype(int)
    assert np.abs(graded - ramp).max() > 4
    assert (np.diff(graded, axis=1) >= 0).all(), "a tone curve must not turn back"


def test_pairs_are_true_pairs(built):
    assert len(demo_pst.PAIRS) == 10
    assert len({pair.grade for pair in demo_pst.PAIRS.values()}) == 10
    sizes = set()
    for sample, pair in demo_pst.PAIRS.items():
        content, style, gt = (load(built, f"{folder}/{sample}.png") for folder in demo_pst.FOLDERS)
        assert np.array_equal(demo_pst.GRADES[pair.grade].apply(content), gt)
        assert pair.content.source != pair.style.source
        assert content.shape == (pair.content.height, pair.content.width, 3)
        assert style.shape == (pair.style.height, pair.style.width, 3)
        assert content.shape != style.shape
        assert 100_000 <= content.shape[0] * content.shape[1] <= 300_000
        assert min(content.shape[:2] + style.shape[:2]) >= 64
        sizes.add(content.shape)
    assert len(sizes) == 10


def test_files_are_the_expected_ones(built):
    assert set(tree(built)) == set(demo_pst.EXPECTED)
    for name, digest in demo_pst.EXPECTED.items():
        assert files.pixel_digest(load(built, name)) == digest


def test_interrupted_build_is_finished_and_repaired(built, tmp_path, monkeypatch):
    written = []
    real = demo_pst.atomic_write

    def stop_at_the_seventh(path, data):
        if len(written) == 6:
            raise KeyboardInterrupt
        written.append(path)
        real(path, data)

    monkeypatch.setattr(demo_pst, "atomic_write", stop_at_the_seventh)
    with pytest.raises(KeyboardInterrupt):
        demo_pst.build(tmp_path)
    monkeypatch.setattr(demo_pst, "atomic_write", lambda path, data: (written.append(path), real(path, data)))
    written[5].write_bytes(b"half")
    stamp = os.stat(written[0]).st_mtime_ns
    demo_pst.build(tmp_path)
    assert tree(tmp_path) == tree(built)
    assert os.stat(written[0]).st_mtime_ns == stamp
    assert len(written) == 6 + 25


def test_other_photographs_are_told(tmp_path, monkeypatch):
    monkeypatch.setitem(demo_pst.SOURCES, "chelsea", hashlib.sha256(b"").hexdigest())
    with pytest.raises(TrackError, match=r"chelsea\.png holds another picture .* scikit-image"):
        demo_pst.build(tmp_path)
    assert tree(tmp_path) == {}


def test_missing_photographs_are_told(tmp_path, monkeypatch):
    monkeypatch.setitem(demo_pst.SOURCES, "nobody", "")
    with pytest.raises(TrackError, match=r"nobody\.png: does not exist.*scikit-image"):
        demo_pst.build(tmp_path)


def test_missing_package_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(demo_pst.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"pip install 'pixelgate\[demo\]'"):
        demo_pst.build(tmp_path)
