"""Small pictures and functions that the tests of colourisers share."""

from __future__ import annotations

from pathlib import Path

import numpy as np

CONFORMANCE = Path(__file__).parents[1] / "conformance" / "hintauc"

GRID = (0.0, 0.5, 1.0)


def picture(seed=0, height=24, width=40):
    """Three flat areas in colours of the seed."""
    colours = np.random.default_rng(seed).integers(0, 256, size=(3, 3), dtype=np.uint8)
    ground_truth = np.empty((height, width, 3), dtype=np.uint8)
    ground_truth[:] = colours[0]
    ground_truth[2:20, 3:18] = colours[1]
    ground_truth[5:22, 22:38] = colours[2]
    return ground_truth


def line_art(height=24, width=40):
    art = np.full((height, width), 255, dtype=np.uint8)
    art[2:20, 3] = art[2, 3:18] = 0
    return art


def samples(count=2):
    return [(line_art(), picture(seed)) for seed in range(count)]


def paste(sample):
    """Hints on a grey canvas; what is not hinted stays grey."""
    output = np.full((*sample["line_art"].shape, 3), 200, dtype=np.uint8)
    hinted = sample["hint_mask"] > 0
    output[hinted] = sample["hint_color"][hinted]
    output[sample["line_art"] < 128] = 0
    return output


def rules(error):
    return sorted({problem.rule for problem in error.value.problems})
