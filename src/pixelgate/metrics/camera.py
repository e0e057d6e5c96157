"""Camera fidelity: how far a generated clip's camera path is from its reference's.

Poses are camera to world. Each path is taken relative to its own first frame, so that the world frames of two
reconstructions cancel, and its translations are divided by its own largest one, as a monocular reconstruction has no
scale. Sums are over frames; the first contributes nothing to them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pixelgate.metrics._camera_flags import TOO_FEW, Findings, inspect
from pixelgate.metrics._clip import clip_metric
from pixelgate.metrics.registry import Measurement, Metric, Runtime

Poses = NDArray[np.float64]
"""A path: T x 4 x 4 or T x 3 x 4, camera to world."""

ERRORS = ("RotErr", "TransErr", "CamMC")
NAMES = (
    *ERRORS,
    *(f"{error}_per_frame" for error in ERRORS),
    *(f"{error}_chance" for error in ERRORS),
    *(f"{error}_rel" for error in ERRORS),
    "ref_max_trans",
    "gen_max_trans",
)
"""The group's metrics, without the group's name."""

_CHORD_ABOVE = 0.999
"""Above this cosine the arc cosine loses half of the digits."""


@dataclass(frozen=True)
class CameraScore:
    """Camera fidelity of one clip.

    Attributes:
        values: name -> its number, or None with the reason; one for each of `NAMES`.
        n_scored: frames compared; 0 where nothing could be.
        flags: what makes the clip degenerate, such as ``ref:tiny_translation``; empty for a sound one.
        remarks: for each flag, one phrase that says what was found.
        per_frame: error -> its part in each frame compared; empty where nothing could be.
    """

    values: Mapping[str, Measurement]
    n_scored: int
    flags: tuple[str, ...]
    remarks: tuple[str, ...]
    per_frame: Mapping[str, tuple[float, ...]]


def score_camera(
    reference: Poses,
    generated: Poses,
    *,
    scale_eps: float = 1e-9,
    chance_floor: float = 1e-5,
    tiny_translation: float = 1e-6,
    determinant_slack: float = 1e-3,
) -> CameraScore:
    """Compare two camera paths.

    RotErr is the sum of arccos((trace(R_ref' R_gen) - 1) / 2), TransErr that of |t_gen - t_ref|, CamMC that of the
    Frobenius norm of the difference of the 3 x 4 matrices. ``_per_frame`` is a sum over the number of frames,
    ``_chance`` what a camera that never moves gets against the same reference, ``_rel`` the sum over that. Paths of
    different lengths are brought to the shorter one, after normalisation, by taking frame round(linspace(0, L - 1, n))
    of each, halves to even. Angles near 0 are computed from the difference of the two rotations, which is the same in
    exact arithmetic: the arc cosine would make 3e-4 rad a frame of the rounding of float32.

    Args:
        reference: T x 4 x 4 or T x 3 x 4, camera to world.
        generated: the same; its length may differ.
        scale_eps: added to each path's largest translation before it divides.
        chance_floor: a chance below this, per frame, is taken for 0: no ratio to it.
        tiny_translation: a path whose largest translation is below this is flagged; it is scored all the same.
        determinant_slack: how far a rotation's determinant may be from 1, and R'R from the identity in any place.

    Returns:
        RotErr in radians; the others have no unit. All lower is better, 0 for equal paths; chance and largest
        translations rank nothing. Nothing is computed where a pose is not finite or no rigid motion, or where fewer
        than two frames can be compared.

    Raises:
        ValueError: an array has another shape, or no poses.

    Source: FlexBench evaluation document, after CamI2V (evaluation of camera poses; relative poses, each path
    normalised by its own largest translation) and CamCloneMaster (arXiv 2506.03140, section 5.1).
    """
    ref = inspect(_checked(reference), "ref", determinant_slack)
    gen = inspect(_checked(generated), "gen", determinant_slack)
    n = min(len(ref.poses), len(gen.poses))
    flags, remarks = _flags((ref, gen), tiny_translation)
    reason = ref.reason or gen.reason
    if reason is None and n < 2:
        reason = f"fewer than two frames to compare (reference {len(ref.poses)}, generated {len(gen.poses)})"
    if reason is not None:
        return CameraScore({name: Measurement(None, reason) for name in NAMES}, 0, flags, remarks, {})
    wanted, found = (_resampled(_scaled(side, scale_eps), n) for side in (ref, gen))
    values, per_frame = _values(wanted, found, chance_floor)
    values |= {"ref_max_trans": Measurement(ref.max_trans), "gen_max_trans": Measurement(gen.max_trans)}
    return CameraScore(values, n, flags, remarks, per_frame)


def _values(
    wanted: Poses, found: Poses, chance_floor: float
) -> tuple[dict[str, Measurement], dict[str, tuple[float, ...]]]:
    """The errors of n x 3 x 4 poses, each in its four kinds, and their parts in each frame."""
    n = len(wanted)
    still = np.broadcast_to(np.eye(4)[:3], wanted.shape)
    parts, chance = _errors(wanted, found), _errors(wanted, still)
    values: dict[str, Measurement] = {}
    for error in ERRORS:
        total, control = float(parts[error].sum()), float(chance[error].sum())
        values[error] = Measurement(total)
        values[f"{error}_per_frame"] = Measurement(total / n)
        values[f"{error}_chance"] = Measurement(control)
        values[f"{error}_rel"] = _ratio(total, control, n, chance_floor)
    return values, {error: tuple(part.tolist()) for error, part in parts.items()}


def _checked(poses: Poses) -> Poses:
    if poses.ndim != 3 or poses.shape[1:] not in ((4, 4), (3, 4)) or not len(poses):
        raise ValueError(f"a camera path is T x 4 x 4 or T x 3 x 4, not {poses.shape}")
    return np.asarray(poses, dtype=np.float64)


def _flags(sides: tuple[Findings, Findings], tiny: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    flags: list[str] = []
    remarks: list[str] = []
    for side in sides:
        if side.flag is not None and side.reason is not None:
            flags.append(f"{side.name}:{side.flag}")
            remarks.append(side.reason)
            continue
        if len(side.poses) < 2:
            flags.append(f"{side.name}:{TOO_FEW}")
            remarks.append(f"the {side.title} path has one pose only")
        if side.max_trans < tiny:
            flags.append(f"{side.name}:tiny_translation")
            remarks.append(
                f"the {side.title} camera moves {side.max_trans:.2g} at most, so its translation is noise or nothing"
            )
    return tuple(flags), tuple(remarks)


def _scaled(side: Findings, eps: float) -> Poses:
    scaled = side.relative[:, :3].copy()
    scaled[..., 3] /= side.max_trans + eps
    return scaled


def _resampled(poses: Poses, n: int) -> Poses:
    return poses[np.rint(np.linspace(0, len(poses) - 1, n)).astype(np.intp)]


def _errors(wanted: Poses, found: Poses) -> dict[str, NDArray[np.float64]]:
    """Each error's part in each frame, of n x 3 x 4 poses."""
    gap = found - wanted
    return {
        "RotErr": _angles(wanted[..., :3], found[..., :3]),
        "TransErr": np.linalg.norm(gap[..., 3], axis=-1),
        "CamMC": np.linalg.norm(gap, axis=(-2, -1)),
    }


def _angles(first: Poses, second: Poses) -> NDArray[np.float64]:
    """Radians between rotations, n x 3 x 3 each, 0 to pi."""
    cosine = (np.einsum("nij,nij->n", first, second) - 1.0) / 2.0
    chord = np.linalg.norm(second - first, axis=(-2, -1)) / (2.0 * math.sqrt(2.0))
    near = 2.0 * np.arcsin(np.minimum(chord, 1.0))
    angles: NDArray[np.float64] = np.where(cosine > _CHORD_ABOVE, near, np.arccos(np.clip(cosine, -1.0, 1.0)))
    return angles


def _ratio(total: float, control: float, n: int, floor: float) -> Measurement:
    if control / n < floor:
        return Measurement(None, f"the reference does not move in this way (chance {control / n:.2g} per frame)")
    return Measurement(total / control)


def _fingerprint(params: Mapping[str, Any], runtime: Runtime) -> Mapping[str, str]:
    return {"backend": "numpy", "numpy": np.__version__}


_SOURCE = "FlexBench evaluation document; CamI2V (arXiv 2410.15957), CamCloneMaster (arXiv 2506.03140)"
_TITLES = {"RotErr": "rotation error", "TransErr": "translation error", "CamMC": "camera motion error"}
_KINDS = {"": "summed over frames", "_per_frame": "per frame", "_chance": "of a still camera", "_rel": "over chance"}
_HIGH = {"RotErr_per_frame": math.pi, "TransErr_per_frame": 2.0}


def _metric(name: str, title: str, direction: Literal["lower", "none"], unit: str) -> Metric:
    return clip_metric(
        f"camera_{name}",
        title,
        group="camera",
        direction=direction,
        source=_SOURCE,
        fingerprint=_fingerprint,
        high=_HIGH.get(name, math.inf),
        unit=unit,
    )


METRICS: Mapping[str, Metric] = {
    **{
        f"{error}{kind}": _metric(
            f"{error}{kind}",
            f"{title}, {what}",
            "none" if kind == "_chance" else "lower",
            "rad" if error == "RotErr" and kind != "_rel" else "",
        )
        for error, title in _TITLES.items()
        for kind, what in _KINDS.items()
    },
    "ref_max_trans": _metric("ref_max_trans", "largest translation of the reference", "none", ""),
    "gen_max_trans": _metric("gen_max_trans", "largest translation of the generated clip", "none", ""),
}
"""The group's metrics by name."""
