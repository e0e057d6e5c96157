"""A crowd with ties, absent people and weak keypoints, and its scores by plain loops.

Run by hand: ``python reference_crowd.py`` writes the two files and crowd.json beside this script. Nothing of the
package is imported; the formulas are those in values.json, "choices".
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
FRAMES, PEOPLE, KEYPOINTS = 8, 5, 134
CONDITION_HW, GENERATED_HW = (480, 640), (704, 1216)


def make():
    rng = np.random.default_rng(20)
    unit = rng.uniform(0.1, 0.9, (FRAMES, PEOPLE, 1, 2)) + rng.normal(0, 0.06, (FRAMES, PEOPLE, KEYPOINTS, 2))
    condition = np.concatenate([unit, rng.uniform(0.0, 1.0, (FRAMES, PEOPLE, KEYPOINTS, 1))], axis=-1)
    generated = condition.copy()
    generated[..., :2] += rng.normal(0, 0.05, generated[..., :2].shape)
    generated[..., 2] = rng.uniform(0.0, 1.0, generated.shape[:3])
    generated = generated[:, rng.permutation(PEOPLE)]
    condition[1, 2:, :, 2] = 0.0  # two people left
    generated[2, :, :, 2] = 0.3  # nobody: 0.3 is not above 0.3
    condition[3, :, :18, 2] = 0.0  # nobody has a body
    condition[4, 1] = condition[4, 0]  # two people in one place: equal distances
    generated[4, 3] = generated[4, 0]
    generated[5, 0, :9, :2] = -1.0
    generated[5, 1, :5, 0] = np.nan
    condition[5, 2, :4, 2] = np.inf
    condition[..., :2] = np.where(condition[..., :2] == -1, -1, condition[..., :2] * CONDITION_HW[::-1])
    generated[..., :2] = np.where(generated[..., :2] == -1, -1, generated[..., :2] * GENERATED_HW[::-1])
    return condition, generated


def kept(person):
    """Indices of the body keypoints that count."""
    found = []
    for index in range(18):
        x, y, c = map(float, person[index])
        if all(map(math.isfinite, (x, y, c))) and not (x == -1 and y == -1) and c > 0.3:
            found.append(index)
    return found


def unit(person, index, size_hw):
    return person[index][0] / size_hw[1], person[index][1] / size_hw[0]


def centroid(person, size_hw):
    points = [unit(person, index, size_hw) for index in kept(person)]
    return math.fsum(x for x, _ in points) / len(points), math.fsum(y for _, y in points) / len(points)


def score(condition, generated):
    every, per_frame = [], []
    counts = dict.fromkeys(
        ("frames_with_ref_person", "frames_scored", "ref_persons", "gen_persons", "matched_persons", "ref_keypoints"), 0
    )
    for first, second in zip(condition, generated, strict=True):
        first, second = [p for p in first if kept(p)], [p for p in second if kept(p)]
        counts["ref_persons"] += len(first)
        counts["gen_persons"] += len(second)
        counts["frames_with_ref_person"] += bool(first)
        counts["ref_keypoints"] += sum(len(kept(p)) for p in first)
        ways = sorted(
            (math.dist(centroid(a, CONDITION_HW), centroid(b, GENERATED_HW)), i, j)
            for i, a in enumerate(first)
            for j, b in enumerate(second)
        )
        taken, here = ([], []), []
        for _, i, j in ways:
            if i in taken[0] or j in taken[1]:
                continue
            taken[0].append(i)
            taken[1].append(j)
            counts["matched_persons"] += 1
            for index in sorted(set(kept(first[i])) & set(kept(second[j]))):
                here.append(math.dist(unit(first[i], index, CONDITION_HW), unit(second[j], index, GENERATED_HW)))
        counts["frames_scored"] += bool(here)
        per_frame.append(math.fsum(here) / len(here) if here else None)
        every += here
    assert min(abs(value - limit) for value in every for limit in (0.05, 0.10)) > 1e-6
    coverage = {
        "ref_frames": len(condition),
        "gen_frames": len(generated),
        "frames_compared": len(condition),
        **counts,
        "scored_keypoints": len(every),
        "person_coverage": counts["matched_persons"] / counts["ref_persons"],
        "keypoint_coverage": len(every) / counts["ref_keypoints"],
    }
    metrics = {
        "AKD": math.fsum(every) / len(every),
        "PCK@0.05": sum(value <= 0.05 for value in every) / len(every),
        "PCK@0.10": sum(value <= 0.10 for value in every) / len(every),
    }
    return {"metrics": metrics, "coverage": coverage, "akd_per_frame": per_frame}


def main():
    condition, generated = make()
    np.save(HERE / "crowd_cond_pose.npy", condition)
    np.save(HERE / "crowd_gen_pose.npy", generated)
    case = {
        "condition_file": "crowd_cond_pose.npy",
        "generated_file": "crowd_gen_pose.npy",
        "needs_pickle": {"condition": False, "generated": False},
        "condition_size_hw": list(CONDITION_HW),
        "generated_size_hw": list(GENERATED_HW),
        **score(condition, generated),
    }
    (HERE / "crowd.json").write_text(json.dumps({"cases": {"crowd": case}}, indent=1) + "\n")


if __name__ == "__main__":
    main()
