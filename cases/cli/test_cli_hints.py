"""``pixelgate hints generate`` and ``demo``: the hints of an image as files, and a run that needs nothing."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from pixelgate import hints as api
from pixelgate.commands import hints as command
from pixelgate.hints.dots import METHODS as DOT_METHODS
from pixelgate.io.write import write_png

# Of hintauc's repository, examples/expected_numbers.json at commit 81754bcd: case "demo", pillow, with its tolerances.
PUBLISHED = {"mse": (0.03588413740508258, 2e-5), "psnr": (15.90283610360171, 2e-3), "ssim": (0.77901601344347, 2e-3)}


def save(file, values: np.ndarray) -> None:
    write_png(file, values.astype(np.uint8))


@pytest.fixture
def photo(home):
    """A picture of four flat quarters, one of them parted by a line, with noise on top."""
    values = np.full((96, 128, 3), 230)
    values[:48, :64] = (200, 60, 50)
    values[48:, 64:] = (40, 90, 180)
    values[20:24, 70:120] = (30, 30, 30)
    save(home / "photo.png", values)
    return home / "photo.png"


def test_generate_writes_maps_and_picture(photo, home, pixelgate):
    done = pixelgate("hints", "generate", photo, "-o", "out/p", "--ratio", "0.25", "7.5%", "--json")
    expected = api.generate_hints(photo)
    assert (done.status, done.data["regions"], done.data["failed_regions"]) == (0, expected.n_regions, 0)
    maps = ("region", "scribble_mask", "scribble_col", "flatten_img", "dot_mask", "dot_col")
    names = [f"p_{name}64.png" for name in maps]
    names += [f"p_scribble_{what}64_r{percent}.png" for percent in ("25", "7.5") for what in ("col", "mask")]
    assert sorted(file.name for file in (home / "out").iterdir()) == sorted([*names, "p_hints64.png"])
    assert done.data["files"] == [f"out/{name}" for name in names]
    stored = api.read_stored_maps(home / "out", "p")
    assert np.array_equal(stored.scribble_color, expected.scribble_color)
    with Image.open(home / "out" / "p_scribble_mask64_r25.png") as image:
        assert np.array_equal(np.asarray(image), expected.at_ratio(0.25, "scribble")[1])
    with Image.open(home / done.data["picture"]) as image:
        assert np.array_equal(np.asarray(image), api.hint_picture(photo, expected))
    assert done.data["settings"]["tie_break"] == "stable"
    assert done.data["settings"]["path_method"] == "geodesic"


def test_generate_tells_what_keeps_no_hint(photo, pixelgate):
    done = pixelgate("hints", "generate", photo, "-o", "p", "--ratio", "0.05", "1", "--type", "dot")
    regions = api.generate_hints(photo).n_regions
    assert 10 < regions < 20
    assert f"warning: {photo}: ratio 0.05 keeps no dot: 0 of {regions} regions [no-hints]\n" == done.err
    lines = dict(line.split(":", 1) for line in done.out.splitlines() if not line.startswith("written"))
    assert lines["regions"].split()[0] == str(regions)
    assert lines["no scribble left at"].strip().startswith("0.01, 0.03, 0.05 (of")
    assert lines["ratio 1"].strip() == f"{regions} regions keep theirs: {regions} dot pixels"
    assert lines["failed regions"].strip().startswith("0")


def test_generate_passes_its_options_on(photo, home, pixelgate):
    save(home / "map.png", np.repeat(np.arange(8)[:, None, None] * 30, 8, axis=1) + np.zeros(3, dtype=int))
    options = ("--size", 16, "--dot-method", "nearest_mean", "--tie-break", "default", "--order", "label")
    done = pixelgate("hints", "generate", photo, "-o", "p", *options, "--region-map", "map.png", "--json")
    assert (done.data["regions"], done.data["size"]) == (8, 16)
    assert done.data["settings"] == {
        "segmenter": "region map",
        "path_method": "geodesic",
        "dot_method": "nearest_mean",
        "maps": "generated",
        "order": "label",
        "tie_break": "default",
    }
    assert (home / "p_region16.png").is_file()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nowhere.png", "-o", "p"), "error: nowhere.png: does not exist. [not-a-file]"),
        (("photo.png", "-o", "p", "--ratio", "1.5"), "wanted a ratio from 0 to 1, or per cent such as 10%; got '1.5'"),
        (("photo.png", "-o", "p", "--ratio", "nan"), "got 'nan'"),
        (("photo.png", "-o", "p", "--ratio", "101%"), "got '101%'"),
        (("photo.png", "-o", "p", "--size", "0"), "at least 1; got '0'"),
        (("photo.png", "-o", "photo.png/p"), "photo.png is no folder. [not-writable] Name another place with -o."),
        (("photo.png", "-o", "out/"), "out/: is a folder. [stem]"),
        (("photo.png", "-o", ""), "it is empty. [stem]"),
        (("photo.png", "-o", "p", "--segmenter", "sam"), "invalid choice: 'sam'"),
        (("photo.png",), "the following arguments are required: -o/--output"),
    ],
    ids=" ".join,
)
def test_generate_mistakes(arguments, told, photo, home, pixelgate):
    before = sorted(home.iterdir())
    done = pixelgate("hints", "generate", *arguments)
    assert (done.status, done.out) == (2, "")
    assert told in done.err
    assert sorted(home.iterdir()) == before, "nothing is written"


def test_the_words_are_those_of_the_library():
    words = (command.KINDS, command.SEGMENTERS, command.PATH_METHODS, command.DOT_METHODS)
    assert words == (api.KINDS, api.SEGMENTERS, api.PATH_METHODS, DOT_METHODS)
    assert (command.TIE_BREAKS, command.ORDERS, command.SIZE) == (api.TIE_BREAKS, api.ORDERS, api.PAPER_SIZE)


@pytest.fixture
def calls(monkeypatch, home):
    """The command lines that would start pytest; each writes a report and ends with status 1."""
    seen = []

    def start(command_line, *_):
        seen.append(command_line)
        curve = {"method": "plain", "metrics": {"mse": {"area": {"mean": 0.25}}, "psnr": {"area": None}}}
        (home / "hints-demo" / "report").mkdir(exist_ok=True)
        (home / "hints-demo" / "report" / "report.json").write_text(json.dumps({"curves": [curve]}))
        return 1

    monkeypatch.setattr(command.hints_demo, "_call", start)
    return seen


def test_the_demo_writes_outputs_and_starts_pytest(pixelgate, home, calls):
    done = pixelgate("hints", "demo", "--", "-n", "2")
    assert done.status == 1, "pytest's own"
    expected = ["--bench-outputs=hints-demo/outputs", "--bench-track=demo-hints", "--bench-report=hints-demo/report"]
    assert calls == [[sys.executable, "-m", "pytest", *expected, "-n", "2"]]
    assert len(list((home / "hints-demo" / "outputs").rglob("*.png"))) == 3 * 8
    assert "running: python -m pytest --bench-outputs=hints-demo/outputs" in done.out
    assert "report:   hints-demo/report/report.json" in done.out


def test_the_demo_in_json(pixelgate, home, calls):
    done = pixelgate("hints", "demo", "--json")
    assert done.data["hint_auc"] == {"plain": {"mse": 0.25, "psnr": None}}
    assert (done.data["exit_status"], done.data["report"]) == (1, "hints-demo/report/report.json")
    assert "running:" in done.err
    calls.clear()
    done = pixelgate("hints", "demo", "--json", "--no-run")
    assert (done.status, done.data["report"], calls) == (0, None, []), "a report of an earlier run is not this one's"


@pytest.mark.slow
def test_the_whole_demo_gives_the_published_numbers(home):
    options = ("--", "-q", "-p", "no:cacheprovider", "--bench-backend=pillow")
    run = [sys.executable, "-m", "pixelgate.cli", "hints", "demo", "--json", *options]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, cwd=home)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    for metric, (value, tolerance) in PUBLISHED.items():
        assert data["hint_auc"]["hint-fill"][metric] == pytest.approx(value, abs=tolerance)
    assert set(data["hint_auc"]) == {"hint-fill", "hint-spread", "plain"}
