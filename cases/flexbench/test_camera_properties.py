"""What holds for the camera errors on paths made at random."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pose_camera_tools import path, rigid, rotation, scaled

from pixelgate.errors import ProtocolError
from pixelgate.metrics.camera import ERRORS, METRICS, NAMES, score_camera
from pixelgate.metrics.registry import Runtime, get_metric

quick = settings(max_examples=60, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def random_rotation(rng):
    return rotation(rng.normal(size=3), rng.uniform(0, math.pi))


@st.composite
def paths(draw, least=2, most=14, frames=None):
    """A path without any order: each pose turned and placed at random, in a world of its own."""
    rng = np.random.default_rng(draw(seeds))
    count = frames or draw(st.integers(least, most))
    reach = 10.0 ** draw(st.integers(-2, 3))
    poses = np.stack([rigid() for _ in range(count)])
    for pose in poses:
        pose[:3, :3] = random_rotation(rng)
        pose[:3, 3] = rng.normal(size=3) * reach
    return poses


@st.composite
def worlds(draw):
    """A rigid motion of the world frame."""
    rng = np.random.default_rng(draw(seeds))
    motion = rigid(shift=rng.normal(size=3) * 10)
    motion[:3, :3] = random_rotation(rng)
    return motion


def values(reference, generated, **options):
    score = score_camera(reference, generated, **options)
    return {name: measured.value for name, measured in score.values.items()}


def agree(first, second, names=NAMES, slack=1e-6):
    for name in names:
        assert first[name] == pytest.approx(second[name], rel=slack, abs=slack), name


SCALE_FREE = tuple(name for name in NAMES if "max_trans" not in name)


@quick
@given(paths(), paths(), worlds(), worlds())
def test_world_frames_do_not_matter(reference, generated, one, other):
    agree(values(reference, generated), values(one @ reference, other @ generated), slack=1e-5)


@quick
@given(paths(), paths(), st.floats(1e-2, 1e2), st.floats(1e-2, 1e2))
def test_scales_do_not_matter(reference, generated, one, other):
    first, second = values(reference, generated), values(scaled(reference, one), scaled(generated, other))
    agree(first, second, SCALE_FREE, slack=1e-5)
    assert second["ref_max_trans"] == pytest.approx(one * first["ref_max_trans"])
    assert second["gen_max_trans"] == pytest.approx(other * first["gen_max_trans"])


@quick
@given(paths(frames=9), paths(frames=9))
def test_errors_are_symmetric_and_chance_is_the_references(one, other):
    first, second = values(one, other), values(other, one)
    for error in ERRORS:
        assert first[error] == pytest.approx(second[error], rel=1e-12)
        assert first[f"{error}_per_frame"] == pytest.approx(second[f"{error}_per_frame"], rel=1e-12)
    assert first["ref_max_trans"] == second["gen_max_trans"]
    again = values(one, path(9))
    assert [again[f"{error}_chance"] for error in ERRORS] == [first[f"{error}_chance"] for error in ERRORS]


@quick
@given(paths())
def test_a_path_against_itself(poses):
    found = values(poses, poses)
    for error in ERRORS:
        assert abs(found[error]) <= METRICS[error].equal_slack
        assert found[f"{error}_rel"] == pytest.approx(0, abs=1e-9)


@quick
@given(paths(), st.integers(0, 20))
def test_a_still_camera_gets_chance(reference, more):
    """A generated path that never moves scores exactly what chance says, whatever its length or world."""
    frames = len(reference) + more
    still = np.broadcast_to(rigid((1, 2, 3), 0.5, (4, 5, 6)), (frames, 4, 4))
    score = score_camera(reference, still)
    found = {name: measured.value for name, measured in score.values.items()}
    for error in ERRORS:
        assert found[error] == pytest.approx(found[f"{error}_chance"], rel=1e-6, abs=1e-4)
        assert found[f"{error}_rel"] == pytest.approx(1, rel=1e-4)
    assert "gen:tiny_translation" in score.flags


@quick
@given(paths(frames=7), paths(frames=7), paths(frames=7))
def test_triangle_inequality(one, two, three):
    """Every error is a sum of distances, so a detour is never shorter."""
    for error in ERRORS:
        direct = values(one, three)[error]
        assert direct <= values(one, two)[error] + values(two, three)[error] + 1e-9


@quick
@given(paths(), paths())
def test_bounds(reference, generated):
    found = values(reference, generated)
    n = score_camera(reference, generated).n_scored
    assert n == min(len(reference), len(generated))
    assert 0 <= found["RotErr"] <= math.pi * (n - 1) + 1e-9
    assert 0 <= found["TransErr"] <= 2 * (n - 1) + 1e-9
    assert found["CamMC"] <= math.sqrt(12) * (n - 1) + 1e-9
    # The two parts of a pose's difference; an angle of a has a chord of 2 sqrt(2) sin(a / 2), at most sqrt(2) a.
    assert found["TransErr"] <= found["CamMC"] + 1e-9
    assert found["CamMC"] <= found["TransErr"] + math.sqrt(2) * found["RotErr"] + 1e-9
    for error in ERRORS:
        assert found[f"{error}_per_frame"] == pytest.approx(found[error] / n)
        assert found[f"{error}_rel"] == pytest.approx(found[error] / found[f"{error}_chance"])
        assert METRICS[f"{error}_per_frame"].low <= found[f"{error}_per_frame"] <= METRICS[f"{error}_per_frame"].high


@quick
@given(st.floats(-7, math.log10(math.pi)), seeds)
def test_angles_are_exact_from_tiny_to_half_a_turn(exponent, seed):
    """Two frames, of which the second is turned by a known angle."""
    angle, rng = 10.0**exponent, np.random.default_rng(seed)
    start, axis = random_rotation(rng), rng.normal(size=3)
    reference = np.stack([rigid(), rigid(shift=(1, 0, 0))])
    reference[:, :3, :3] = start
    generated = reference.copy()
    generated[1, :3, :3] = start @ rotation(axis, angle)
    assert values(reference, generated)["RotErr"] == pytest.approx(angle, rel=1e-6, abs=1e-14) or angle > 3.1
    assert values(reference, generated)["RotErr"] == pytest.approx(angle, abs=1e-6)


@quick
@given(paths(least=3), st.integers(2, 40))
def test_longer_paths_are_thinned(poses, count):
    """Both ends are kept; a path against its own thinned self has no error where no frame is lost."""
    places = np.rint(np.linspace(0, len(poses) - 1, count)).astype(int)
    longer = np.repeat(poses, 2, axis=0)
    assert values(longer, longer)["CamMC"] == pytest.approx(0, abs=1e-9)
    if count <= len(poses):
        thin = poses[places]
        scale = np.linalg.norm((np.linalg.inv(poses[0]) @ poses)[:, :3, 3], axis=1).max()
        thin_scale = np.linalg.norm((np.linalg.inv(thin[0]) @ thin)[:, :3, 3], axis=1).max()
        found = values(poses, thin)
        assert found["RotErr"] == pytest.approx(0, abs=1e-6)
        # The longer path is normalised before it is thinned.
        if scale == thin_scale:
            assert found["TransErr"] == pytest.approx(0, abs=1e-9)
        else:
            assert found["TransErr"] > 0


@quick
@given(paths(least=3), paths(least=3), st.booleans(), st.data())
def test_one_bad_pose_spoils_everything(reference, generated, first, data):
    sides = [reference.copy(), generated.copy()]
    bad = sides[0 if first else 1]
    frame = data.draw(st.integers(0, len(bad) - 1))
    kind = data.draw(st.sampled_from(["nan", "inf", "scale", "mirror", "shear", "row"]))
    if kind in ("nan", "inf"):
        place = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
        bad[frame][place] = float(kind)
    elif kind == "row":
        bad[frame, 3] = (0.1, 0, 0, 1)
    else:
        shape = {"scale": np.eye(3) * 1.01, "mirror": np.diag([1.0, 1, -1]), "shear": np.eye(3) + np.eye(3, k=1) * 0.01}
        bad[frame, :3, :3] = bad[frame, :3, :3] @ shape[kind]
    score = score_camera(*sides)
    flag = "non_finite" if kind in ("nan", "inf") else "non_rigid"
    assert f"{'ref' if first else 'gen'}:{flag}" in score.flags
    for measured in score.values.values():
        assert measured.value is None
        assert f"{'reference' if first else 'generated'}, frame {frame} " in measured.reason
    assert score.n_scored == 0


def test_determinant_of_one_and_no_rotation():
    for bad in (np.diag([2.0, 0.5, 1.0]), np.eye(3) + np.eye(3, k=2) * 0.5):
        poses = path(4)
        poses[2, :3, :3] = poses[2, :3, :3] @ bad
        assert np.linalg.det(poses[2, :3, :3]) == pytest.approx(1)
        assert score_camera(path(4), poses).flags == ("gen:non_rigid",)


def test_the_slack_is_the_protocols():
    poses = path(4)
    poses[2, :3, :3] *= 1.0002
    assert score_camera(poses, path(4)).flags == ()
    assert score_camera(poses, path(4), determinant_slack=1e-5).flags == ("ref:non_rigid",)


def test_translations_too_large_for_floats():
    poses = path(4)
    poses[2, :3, 3] = 1e200
    assert score_camera(path(4), poses).flags == ("gen:non_finite",)
    assert "too large" in score_camera(path(4), poses).values["TransErr"].reason


@pytest.mark.parametrize("frames", [(1, 5), (5, 1), (1, 1)])
def test_fewer_than_two_frames(frames):
    score = score_camera(path(frames[0]), path(frames[1]))
    wanted = {f"{side}:too_few_frames" for side, count in zip(("ref", "gen"), frames, strict=True) if count == 1}
    assert wanted <= set(score.flags)
    assert all(measured.value is None for measured in score.values.values())
    assert "fewer than two frames" in score.values["RotErr"].reason


def test_thresholds():
    tiny = scaled(path(8), 1e-7)
    assert score_camera(path(8), tiny).flags == ("gen:tiny_translation",)
    assert score_camera(tiny, tiny).flags == ("ref:tiny_translation", "gen:tiny_translation")
    assert score_camera(path(8), tiny, tiny_translation=1e-8).flags == ()
    turning = path(8)
    turning[:, :3, 3] = 0
    found = score_camera(turning, path(8)).values
    assert found["TransErr_rel"].value is None
    assert found["RotErr_rel"].value is not None
    assert score_camera(path(8), path(8), chance_floor=10).values["RotErr_rel"].value is None


@pytest.mark.parametrize("shape", [(0, 4, 4), (3, 4), (3, 3, 3), (3, 4, 3)])
def test_other_shapes(shape):
    with pytest.raises(ValueError, match="T x 4 x 4"):
        score_camera(np.zeros(shape), path(3))


def test_registered_with_directions_and_units():
    assert set(METRICS) == set(NAMES)
    for name in NAMES:
        metric = get_metric(f"camera_{name}")
        ranks_nothing = name.endswith(("_chance", "_max_trans"))
        assert metric.direction == ("none" if ranks_nothing else "lower"), name
        assert metric.unit == ("rad" if name in ("RotErr", "RotErr_per_frame", "RotErr_chance") else ""), name
        assert metric.group == "camera"
        assert metric.takes == "clip"
        assert "CamI2V" in metric.source
        with pytest.raises(ProtocolError):
            metric.bind({}, Runtime()).compare(None, None)
