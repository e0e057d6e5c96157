"""More camera paths, and their errors by plain loops over numbers.

Run by hand: ``python reference_more.py`` writes the paths and more.json beside this script. Nothing of the package is
imported; the formulas are those in values.json, "choices". Beside those cases there are: poses stored as (T,3,4), in
float32, of lengths for which halves must round to even, equal paths in float32, a sheared block whose determinant is 1,
a transposed matrix, and a path of one pose.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ERRORS = ("RotErr", "TransErr", "CamMC")


def pose(axis, angle, shift):
    x, y, z = (part / math.dist(axis, (0, 0, 0)) for part in axis)
    c, s = math.cos(angle), math.sin(angle)
    t = 1 - c
    return [
        [t * x * x + c, t * x * y - s * z, t * x * z + s * y, shift[0]],
        [t * x * y + s * z, t * y * y + c, t * y * z - s * x, shift[1]],
        [t * x * z - s * y, t * y * z + s * x, t * z * z + c, shift[2]],
        [0.0, 0.0, 0.0, 1.0],
    ]


def path(frames, axis, turn, shift, start):
    """Turns by ``turn`` in all while it moves along a bent line from a pose of its own."""
    made = []
    for index in range(frames):
        share = index / max(1, frames - 1)
        moved = [part * share + 0.3 * math.sin(4 * share + k) for k, part in enumerate(shift)]
        made.append(product(start, pose(axis, turn * share, moved)))
    return made


def product(first, second):
    return [[sum(first[i][k] * second[k][j] for k in range(4)) for j in range(4)] for i in range(4)]


def inverse(motion):
    """Of a rigid motion."""
    back = [[motion[j][i] for j in range(3)] for i in range(3)]
    shift = [-sum(back[i][k] * motion[k][3] for k in range(3)) for i in range(3)]
    return [[*back[i], shift[i]] for i in range(3)] + [[0.0, 0.0, 0.0, 1.0]]


def relative(poses):
    start = inverse(poses[0])
    return [product(start, one) for one in poses]


def length(one):
    return math.sqrt(sum(one[i][3] ** 2 for i in range(3)))


def normalised(poses):
    largest = max(length(one) for one in poses)
    return [[[*row[:3], row[3] / (largest + 1e-9)] for row in one[:3]] for one in poses], largest


def index(place, count, frames):
    """The frame nearest to the place; a half goes to the even one."""
    at = place * (frames - 1) / (count - 1)
    low = math.floor(at)
    rest = at - low
    if rest != 0.5:
        return low + (rest > 0.5)
    return low if low % 2 == 0 else low + 1


def errors(wanted, found):
    rot = trans = both = 0.0
    for first, second in zip(wanted, found, strict=True):
        trace = sum(first[i][j] * second[i][j] for i in range(3) for j in range(3))
        # The angle from both its sine and its cosine: exact everywhere.
        turn = [[sum(first[k][i] * second[k][j] for k in range(3)) for j in range(3)] for i in range(3)]
        sine = math.sqrt(
            (turn[2][1] - turn[1][2]) ** 2 + (turn[0][2] - turn[2][0]) ** 2 + (turn[1][0] - turn[0][1]) ** 2
        )
        rot += math.atan2(sine, trace - 1)
        gap = [[second[i][j] - first[i][j] for j in range(4)] for i in range(3)]
        trans += math.sqrt(sum(row[3] ** 2 for row in gap))
        both += math.sqrt(sum(value**2 for row in gap for value in row))
    return {"RotErr": rot, "TransErr": trans, "CamMC": both}


def score(reference, generated):
    """Of stored arrays, read as float64."""
    sides, largest = [], []
    for stored in (reference, generated):
        poses = [[*map(list, one[:3].astype(np.float64).tolist()), [0.0, 0.0, 0.0, 1.0]] for one in stored]
        scaled, most = normalised(relative(poses))
        sides.append(scaled)
        largest.append(most)
    n = min(map(len, sides))
    wanted, found = ([side[index(i, n, len(side))] for i in range(n)] for side in sides)
    still = [[[float(i == j) for j in range(4)] for i in range(3)] for _ in range(n)]
    values = {}
    totals, chance = errors(wanted, found), errors(wanted, still)
    for name in ERRORS:
        values[name] = totals[name]
        values[f"{name}_per_frame"] = totals[name] / n
        values[f"{name}_chance"] = chance[name]
        values[f"{name}_rel"] = None if chance[name] / n < 1e-5 else totals[name] / chance[name]
    return {**values, "ref_max_trans": largest[0], "gen_max_trans": largest[1], "n_scored": n}


def main():
    start, other = pose((1, 2, 3), 0.7, (4, -5, 6)), pose((-1, 0.5, 0), 2.1, (-3, 2, 9))
    long = np.array(path(6, (0, 1, 0.2), 0.8, (1, 0.5, -2), start))
    short = np.array(path(3, (0.1, 1, 0), 0.5, (2, 0, -3), other))
    wide = np.array(path(14, (0, 1, 0.2), 2.9, (1, 0.5, -2), start))
    narrow = np.array(path(6, (0.3, 1, 0), -2.5, (-2, 1, 3), other))
    sheared = long.copy()
    sheared[2:, :3, :3] = sheared[2:, :3, :3] @ np.array([[1, 0.3, 0], [0, 1, 0], [0, 0, 1.0]])
    pairs = {
        "11_halves_to_even": (long, short),
        "12_large_turns_3x4": (wide[:, :3], narrow[:, :3]),
        "13_equal_float32": (wide.astype(np.float32), wide.astype(np.float32)),
        "14_sheared": (long, sheared),
        "15_transposed": (np.swapaxes(long, 1, 2), long),
        "16_one_pose": (long, short[:1]),
    }
    missing = {
        "14_sheared": (["gen:non_rigid"], "rotation block is not a rotation"),
        "15_transposed": (["ref:non_rigid"], "last row is not 0 0 0 1"),
        "16_one_pose": (["gen:too_few_frames", "gen:tiny_translation"], "fewer than two frames"),
    }
    cases = {}
    for name, (reference, generated) in pairs.items():
        np.savez(HERE / f"{name}_ref.npz", cam_c2w=reference)
        np.savez(HERE / f"{name}_gen.npz", cam_c2w=generated)
        flags, reason = missing.get(name, ([], None))
        case = {
            "ref_file": f"{name}_ref.npz",
            "gen_file": f"{name}_gen.npz",
            "ref_frames": len(reference),
            "gen_frames": len(generated),
            "degenerate": bool(flags),
            "degenerate_reasons": flags,
            "metrics": None if reason else score(reference, generated),
        }
        cases[name] = {**case, "missing_reason": reason} if reason else case
    (HERE / "more.json").write_text(json.dumps({"cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    main()
