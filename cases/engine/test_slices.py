"""Ratio folders: how they are named, what is refused, and which cases come of them."""

from __future__ import annotations

import pytest
from engine_tools import save
from PIL import Image

from pixelgate.errors import InputError
from pixelgate.layout import scan
from pixelgate.slices import find_slices, slice_name, split_name

PICTURE = Image.new("RGB", (8, 8), (9, 9, 9))


def fill(root, *folders):
    for folder in folders:
        (root / folder).mkdir(parents=True)
        PICTURE.save(root / folder / "a.png")


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("0.10", "0.10"),
        ("10%", "0.10"),
        ("10", "0.10"),
        ("1", "1.00"),
        ("1e-2", "0.01"),
        ("0.075", "0.075"),
        ("scribble-xdog-0.10", "scribble-xdog-0.10"),
        ("scribble/xdog/25%", "scribble-xdog-0.25"),
        ("scribble/xdog/0.25/200", "scribble-xdog-0.25"),
    ],
)
def test_names_and_levels(tmp_path, folder, name):
    fill(tmp_path, folder)
    slices, problems = find_slices(tmp_path)
    assert not problems
    assert [one.name for one in slices] == [name]
    assert slice_name(*split_name(name)) == name


@pytest.mark.parametrize("pair", [("0.1", "0.10"), ("0.10", "10%"), ("1", "100%"), ("dot/0.50", "dot-50%")])
def test_one_ratio_twice_is_refused(tmp_path, pair):
    fill(tmp_path, *pair)
    _, problems = find_slices(tmp_path)
    assert [problem.rule for problem in problems] == ["ratio-twice"]
    assert pair[0] in problems[0].found


@pytest.mark.parametrize("folder", ["extra", "0.1x", "scribble-xdog"])
def test_pictures_under_no_ratio_are_refused_and_not_ignored(tmp_path, folder):
    fill(tmp_path, "0.00", folder)
    slices, problems = find_slices(tmp_path)
    assert [one.name for one in slices] == ["0.00"]
    assert [problem.rule for problem in problems] == ["ratio-name"]


def test_numbers_that_are_no_ratio_are_refused(tmp_path):
    fill(tmp_path, "0.00", "120%")
    _, problems = find_slices(tmp_path)
    assert len(problems) == 1
    assert "120%" in str(problems[0])


def test_a_scan_gives_one_case_per_ratio_with_its_siblings(tmp_path):
    fill(tmp_path / "m" / "t", "0.00", "0.50", "1.00")
    fill(tmp_path / "n" / "t", "dot-a-0.00", "dot-b-0.00")
    cases = scan(tmp_path, ["t"], sliced={"t": "hint-ratio"}).cases
    assert [case.id for case in cases] == [
        "m/t/0.00", "m/t/0.50", "m/t/1.00", "n/t/dot-a-0.00", "n/t/dot-b-0.00",
    ]  # fmt: skip
    assert len(cases[0].siblings) == 3
    assert [len(case.siblings) for case in cases[3:]] == [1, 1]


def test_one_methods_own_folder_of_ratios(tmp_path):
    fill(tmp_path / "mine", "0.00", "1.00")
    found = scan(tmp_path / "mine", ["t"], tracks=["t"], sliced={"t": "hint-ratio"})
    assert found.own_folder
    assert [case.id for case in found.cases] == ["mine/t/0.00", "mine/t/1.00"]


def test_a_scan_lists_all_problems(tmp_path):
    fill(tmp_path / "m" / "t", "0.1", "0.10", "odd")
    with pytest.raises(InputError) as caught:
        scan(tmp_path, ["t"], sliced={"t": "hint-ratio"})
    assert {problem.rule for problem in caught.value.problems} == {"ratio-twice", "ratio-name"}


def test_outputs_may_have_any_of_the_protocols_suffixes(tmp_path):
    import numpy as np

    import pixelgate

    rng = np.random.default_rng(0)
    picture = rng.integers(0, 256, (40, 40, 3))
    save(tmp_path / "data" / "gt" / "a.png", picture)
    (tmp_path / "data" / "track.yaml").write_text(
        'id: t\ntitle: t\nprotocol: hintauc\nsamples: "{id}.png"\ncolumns: {reference: "gt/{id}.png"}\n'
    )
    for ratio in ("0.00", "1.00"):
        save(tmp_path / "out" / "m" / "t" / ratio / "a.webp", picture)
    table = pixelgate.score(tmp_path / "out", data=tmp_path / "data", metrics=["mse"], cache=False)
    assert list(table["slice"]) == ["0.00", "1.00"]
    save(tmp_path / "out" / "m" / "t" / "1.00" / "a.jpg", picture)
    with pytest.raises(InputError, match="2 outputs"):
        pixelgate.score(tmp_path / "out", data=tmp_path / "data", metrics=["mse"], cache=False)
