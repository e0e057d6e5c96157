from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelgate.hints.ratios import (
    PAPER_GRID,
    RatioError,
    alpha_dir_name,
    check_alphas,
    is_paper_grid,
    parse_ratio_name,
    read_ratio_names,
)


@pytest.mark.parametrize(
    ("alpha", "name"),
    [(0, "0.00"), (0.01, "0.01"), (0.1, "0.10"), (0.075, "0.075"), (1 / 3, "0.333333"), (0.001, "0.001"), (1, "1.00")],
)
def test_directory_names(alpha: float, name: str) -> None:
    # The names that hintauc 0.3.3 gives.
    assert alpha_dir_name(alpha) == name


@pytest.mark.parametrize("alpha", [-1e-9, 1.0001, float("nan"), float("inf"), "0.1", None, True, 1j])
def test_what_is_no_ratio_has_no_name(alpha: object) -> None:
    with pytest.raises(RatioError, match="ratio-range"):
        alpha_dir_name(alpha)  # type: ignore[arg-type]


@given(st.integers(0, 10**6))
def test_names_are_read_as_what_they_were_written_for(millionths: int) -> None:
    ratio = millionths / 10**6
    assert parse_ratio_name(alpha_dir_name(ratio)) == pytest.approx(ratio, abs=1e-9)
    assert alpha_dir_name(parse_ratio_name(alpha_dir_name(ratio)) or 0.0) == alpha_dir_name(ratio)
    assert parse_ratio_name(f"{100 * ratio:.4f}%") == pytest.approx(ratio, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "ratio"),
    [("10", 0.1), ("10%", 0.1), ("0.10", 0.1), ("1", 1.0), ("1%", 0.01), ("2", 0.02), ("100", 1.0), ("1e-2", 0.01),
     ("0", 0.0), ("0%", 0.0), (".5", 0.5), ("5.", 0.05), ("33.333333%", 0.33333333), ("100%", 1.0)],
)  # fmt: skip
def test_reading_names(name: str, ratio: float) -> None:
    assert parse_ratio_name(name) == ratio


@pytest.mark.parametrize("name", ["", "gt", "ratio_0.10", "0,1", "0.1 ", "1_0", "%", "10%%", "0x1", "seed_3", "١"])
def test_names_that_are_no_numbers_are_left_out(name: str) -> None:
    assert parse_ratio_name(name) is None


@pytest.mark.parametrize("name", ["-0.1", "-5%", "101", "100.5%", "nan", "inf", "-inf", "NaN", "infinity"])
def test_numbers_that_are_no_ratios(name: str) -> None:
    with pytest.raises(RatioError, match="ratio-name"):
        parse_ratio_name(name)


def test_a_folder_of_names() -> None:
    assert read_ratio_names(["1.00", "gt", "0.10", "0.00", "5%"]) == {0.0: "0.00", 0.05: "5%", 0.1: "0.10", 1.0: "1.00"}
    assert list(read_ratio_names(["1.00", "0.5", "0"])) == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("pair", [("0.1", "0.10"), ("0.10", "10%"), ("10", "10%"), ("1", "100")])
def test_two_names_for_one_ratio(pair: tuple[str, str]) -> None:
    with pytest.raises(RatioError, match="same ratio"):
        read_ratio_names(["0.00", *pair])


def test_all_wrong_names_are_listed_and_the_trap_of_a_bare_1_is_told() -> None:
    with pytest.raises(RatioError) as raised:
        read_ratio_names(["0", "1", "100", "nan", "-3", "0.5", "50%"])
    assert len(raised.value.problems) == 4
    assert "stands for 100 %" in str(raised.value)


def test_grids() -> None:
    assert check_alphas(PAPER_GRID) == PAPER_GRID
    assert check_alphas([0, 1]) == (0.0, 1.0)
    assert check_alphas([0.1, 0.2], full_range=False) == (0.1, 0.2)
    assert is_paper_grid([0, 0.01, 0.03, 0.05, 0.1, 0.25, 0.5, 1])
    assert not is_paper_grid([0, 0.5, 1])


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ([], "0 ratios"),
        ([1.0], "1 ratio"),
        ([0, 0.5], "not from 0 to 1"),
        ([0.1, 1], "not from 0 to 1"),
        ([0, 0.5, 0.5, 1], "follows"),
        ([0, 0.5, 0.3, 1], "0.3 follows 0.5"),
        ([0, 0.1, 0.1 + 1e-8, 1], "same directory name 0.10"),
        ([0, float("nan"), 1], "nan"),
        ([0, "0.5", 1], "'0.5'"),
        ([0, 1, 2], "2 is not a number from 0 to 1"),
    ],
)
def test_wrong_grids(grid: list, message: str) -> None:
    with pytest.raises(RatioError, match=message):
        check_alphas(grid)
    with pytest.raises(ValueError, match=message):
        check_alphas(grid)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_a_grid_is_taken_if_and_only_if_it_is_in_order(grid: list[float]) -> None:
    names = [f"{alpha:.6f}" for alpha in grid]
    good = all(one < two for one, two in itertools.pairwise(names)) and grid[0] == 0 and grid[-1] == 1
    if good:
        assert check_alphas(grid) == tuple(grid)
    else:
        with pytest.raises(RatioError):
            check_alphas(grid)
