"""LPIPS against values that the plain lpips package gave elsewhere (cases/conformance/pst/README.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pixelgate.metrics.lpips import LpipsScorer, lpips
from pixelgate.metrics.registry import Image

PAIRS = ("p-001", "p-002", "p-003")
METHODS = ("identity", "reinhard", "mkl", "idt", "histmatch")
TOLERANCE = 1e-5


def output_of(picture: Callable[[str], Image], pair: str, method: str) -> Image:
    return picture(f"content/{pair}.png" if method == "identity" else f"outputs/{method}/{pair}.png")


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("method", METHODS)
def test_equals_the_published_package(
    pair: str, method: str, picture: Callable[[str], Image], oracle: dict[str, Any]
) -> None:
    expected = oracle["pairs"][pair]["methods"][method]
    got = lpips(output_of(picture, pair, method), picture(f"gt/{pair}.png"))
    assert got == pytest.approx(expected["lpips_alex_v01_f32_cpu"], abs=TOLERANCE)
    assert got == pytest.approx(expected["lpips_alex_v01_f64"], abs=TOLERANCE)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("method", METHODS)
def test_inputs_in_0_to_1_lie_outside_the_tolerance(
    pair: str, method: str, picture: Callable[[str], Image], oracle: dict[str, Any]
) -> None:
    wrong = oracle["pairs"][pair]["methods"][method]["wrong_variants"]["lpips_input01"]
    assert abs(lpips(output_of(picture, pair, method), picture(f"gt/{pair}.png")) - wrong) > TOLERANCE


def test_swapped_channels_lie_outside_the_tolerance(picture: Callable[[str], Image], oracle: dict[str, Any]) -> None:
    expected = oracle["pairs"]["p-001"]["methods"]["identity"]["lpips_alex_v01_f32_cpu"]
    output, reference = picture("content/p-001.png"), picture("gt/p-001.png")
    assert abs(lpips(output[..., ::-1], reference[..., ::-1]) - expected) > TOLERANCE


def test_the_scorer_that_runs_use_gives_the_same_number(
    scorer: LpipsScorer, picture: Callable[[str], Image], oracle: dict[str, Any]
) -> None:
    prepared = scorer.prepare(picture("gt/p-003.png"))
    for method in METHODS:
        expected = oracle["pairs"]["p-003"]["methods"][method]["lpips_alex_v01_f32_cpu"]
        value = scorer.compare(output_of(picture, "p-003", method), prepared).value
        assert value == pytest.approx(expected, abs=TOLERANCE)
