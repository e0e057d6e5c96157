"""``pixelgate hints curve`` and ``plot``: areas of ratio folders, what is refused before scoring, and pictures."""

from __future__ import annotations

import csv
import json
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from pixelgate.colorizer.demo import GROUND_TRUTH, build, make_outputs
from pixelgate.commands.hints_plot import read_lines
from pixelgate.engine import Engine
from pixelgate.io.write import write_png
from pixelgate.stats import area_under_curve

GRID = ("0.00", "0.01", "0.03", "0.05", "0.10", "0.25", "0.50", "1.00")
NAMES = ("a", "b", "c")
# Of hintauc's repository, examples/expected_numbers.json at commit 81754bcd: case "demo", backend, with its tolerances.
PUBLISHED = {
    "paper": {"mse": 0.03588413433171809, "psnr": 15.902836266839547, "ssim": 0.7789746403694153},
    "pillow": {"mse": 0.03588413740508258, "psnr": 15.90283610360171, "ssim": 0.77901601344347},
}
TOLERANCES = {"mse": 2e-5, "psnr": 2e-3, "ssim": 2e-3}


def refuse(constant: str) -> None:
    raise AssertionError(f"JSON must not hold {constant}")


def save(file, values: np.ndarray) -> None:
    write_png(file, np.clip(values, 0, 255).astype(np.uint8))


def rows_of(file) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text().splitlines()))


def truth(place: int) -> np.ndarray:
    return np.random.default_rng(place).integers(40, 200, size=(20, 28, 3))


def put(file, place: int, brighter: int) -> None:
    save(file, truth(place) + brighter)


@pytest.fixture
def curve(home, pixelgate):
    """Three ground truths and a method that gets better with the ratio; and a caller whose stdout is read as JSON."""
    for place, name in enumerate(NAMES):
        put(home / "gt" / f"{name}.png", place, 0)
        for step, ratio in enumerate(GRID):
            put(home / "pred" / ratio / f"{name}.png", place, 40 - 5 * step)

    def call(*more: object, metrics: tuple[str, ...] = ("mse",)) -> SimpleNamespace:
        done = pixelgate(
            *("hints", "curve", "pred", "gt", "--backend", "pillow", "--resamples", 20),
            *(("--metrics", *metrics) if metrics else ()),
            *more,
        )
        data = json.loads(done.out, parse_constant=refuse) if done.out else None
        return SimpleNamespace(status=done.status, out=done.out, err=done.err, data=data)

    return call


@pytest.fixture
def no_scoring(monkeypatch):
    """Scoring anything is a failure."""

    def score(*_: object) -> None:
        raise AssertionError("something was scored")

    monkeypatch.setattr(Engine, "score", score)


def test_areas_means_and_intervals(curve):
    done = curve(metrics=())
    assert (done.status, done.data["n_images"], done.data["images"]) == (0, 3, list(NAMES))
    assert list(done.data["hint_auc"]) == ["mse", "psnr", "ssim"], "the seven only when asked"
    assert list(done.data["per_alpha"]) == list(GRID)
    for metric, area in done.data["hint_auc"].items():
        means = [done.data["per_alpha"][ratio][metric] for ratio in GRID]
        assert area == pytest.approx(area_under_curve([float(ratio) for ratio in GRID], means), rel=1e-12)
        found = done.data["curves"][metric]
        assert found["area"]["low"] <= area <= found["area"]["high"]
        assert np.mean(list(found["areas"].values())) == pytest.approx(area)
    record = done.data["protocol"]
    assert (record["backend"]["name"], record["pairing"], record["paper_grid"]) == ("pillow", "name", True)
    assert record["metrics_left_out"] == ["lpips", "openclip", "dino", "dreamsim"]
    assert {"hint_type", "hint_maps", "checkpoint", "split"} <= set(record["not_stated"])
    assert [line for line in done.err.splitlines() if "resamples" not in line] == []


def test_the_checklist_is_filled_in(curve, home):
    (home / "w.pt").write_bytes(b"weights")
    given = ("--meta", "hint_type=dot", "--meta", "seed=a=b", "--meta", "checkpoint=w.pt")
    record = curve(*given).data["protocol"]
    assert record["meta"]["seed"] == "a=b"
    assert record["meta"]["checkpoint"].startswith("w.pt sha256:")
    assert set(record["not_stated"]) == {"hint_maps", "path_method", "tie_break", "split", "line_art_source"}


def test_values_are_those_of_the_definition(curve):
    done = curve()
    expected = [np.square((40 - 5 * step) / 255) for step in range(len(GRID))]
    assert [done.data["per_alpha"][ratio]["mse"] for ratio in GRID] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("backend", PUBLISHED)
def test_the_demo_gives_the_published_numbers_through_its_manifest(backend, home, pixelgate):
    if backend == "paper":
        pytest.importorskip("torchvision")
    build(home / "track")
    make_outputs(home / "out", home / "track")
    (home / "out" / "hint-fill" / "demo-hints" / "notes.txt").write_text("not a picture")
    arguments = ("hints", "curve", "out/hint-fill/demo-hints", "track/gt", "--backend", backend)
    done = pixelgate(*arguments, "--name", "fill")
    data = json.loads(done.out, parse_constant=refuse)
    for metric, value in PUBLISHED[backend].items():
        assert data["hint_auc"][metric] == pytest.approx(value, abs=TOLERANCES[metric])
    assert (data["method"], data["hint_type"], data["oracle"]) == ("fill", "scribble", True)
    assert data["protocol"]["pairing"] == "manifest"
    assert data["protocol"]["run"]["tie_break"] == "stable"
    assert "warning: fill: the method saw the ground truth" in done.err


def test_a_run_whose_files_were_edited_is_refused(home, pixelgate, no_scoring):
    build(home / "track")
    make_outputs(home / "out", home / "track")
    run = home / "out" / "plain" / "demo-hints"
    put(run / "0.10" / "demo-hints.png", 1, 0)
    put(run / "0.25" / "other.png", 1, 0)
    (run / "0.50" / "demo-hints.png").unlink()
    put(home / "track" / GROUND_TRUTH, 1, 0)
    done = pixelgate("hints", "curve", run, "track/gt", "--backend", "pillow")
    assert (done.status, done.out) == (2, "")
    for rule in ("output-changed", "extra-output", "missing-output", "reference-changed"):
        assert f"[{rule}]" in done.err
    done = pixelgate("hints", "curve", run, "track/gt", "--backend", "pillow", "--ignore-manifest")
    assert "[missing-output]" in done.err
    assert "[output-changed]" not in done.err


def test_an_aborted_run_is_told(home, pixelgate):
    build(home / "track")
    make_outputs(home / "out", home / "track")
    file = home / "out" / "plain" / "demo-hints" / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "state": "running"}))
    done = pixelgate("hints", "curve", file.parent, "track/gt")
    assert done.status == 2
    assert "[unfinished-run]" in done.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--metrics", "mse", "fid"), "protocol 'hintauc' has no metric 'fid'; it has: mse, psnr"),
        (("--metrics", ","), "has no metric ''"),
        (("--json", "gt/a.png/r.json"), "gt/a.png is no folder. [not-writable] Name another place with --json."),
        (("--json", "gt"), "gt: is a folder."),
        (("--csv", "gt/a.png"), "gt/a.png is no folder"),
        (("--plot", "curve.pdf"), "curves cannot be drawn as .pdf. [plot-format]"),
        (("--plot", "gt/a.png/c.svg"), "[not-writable] Name another place with --plot."),
        (("--limit", "-1"), "argument --limit: wanted a whole number of at least 0"),
        (("--pairing", "sorted", "--allow-missing"), "a missing file would shift all that follow it"),
        (("--meta", "seed"), "wanted KEY=VALUE; got 'seed'"),
        (("--variant", "dot"), "pred: has no 'dot', but ''."),
        (("--cache", "c", "--no-cache"), "not allowed with"),
    ],
    ids=" ".join,
)
def test_mistakes_in_the_arguments_are_told_before_anything_is_scored(arguments, told, curve, no_scoring):
    done = curve(*arguments, metrics=())
    assert (done.status, done.out) == (2, "")
    assert told in done.err
    assert "Traceback" not in done.err


def without(ratio):
    return lambda home: (home / "pred" / ratio).rename(home / "elsewhere")


def doubled(home):
    (home / "pred" / "10%").mkdir()
    put(home / "pred" / "10%" / "a.png", 0, 0)


@pytest.mark.parametrize(
    ("arrange", "told"),
    [
        (lambda home: (home / "gt").rename(home / "x"), ["gt: does not exist. [folder]"]),
        (lambda home: (home / "pred").rename(home / "x"), ["pred: does not exist. [folder]"]),
        (lambda home: [file.unlink() for file in (home / "gt").iterdir()], ["gt: holds no picture"]),
        (lambda home: [(home / "pred" / r).rename(home / f"x{r}") for r in GRID], ["[no-ratios]"]),
        (without("0.00"), ["pred: the grid runs from 0.01 to 1.0, not from 0 to 1. [ratio-grid]"]),
        (without("1.00"), ["the grid runs from 0.0 to 0.5"]),
        (doubled, ["are both the slice 0.10. [ratio-twice]"]),
        (lambda home: (home / "pred" / "0.50").rename(home / "pred" / "half"), ["[ratio-name]"]),
        (
            lambda home: [(home / "pred" / "0.10" / f"{name}.png").unlink() for name in "ac"],
            ["0.10/a.png: the output is missing", "0.10/c.png: the output is missing", "with --allow-missing"],
        ),
        (lambda home: put(home / "pred" / "0.03" / "d.png", 0, 0), ["0.03/d.png: the picture is none of", "3 outputs"]),
        (lambda home: (home / "pred" / "0.03" / "a.jpg").write_bytes(b"x"), ["has 2 outputs: a.png, a.jpg"]),
        (lambda home: (home / "gt" / "a.jpg").write_bytes(b"x"), ["[ground-truth-twice]"]),
        (lambda home: (home / "pred" / "manifest.json").write_text("{"), ["manifest.json: it cannot be read as JSON"]),
    ],
    ids=[
        *("no ground truths", "no predictions", "empty", "no ratios", "no 0", "no 1", "doubled", "no ratio's name"),
        *("missing", "extra", "two predictions", "two ground truths", "broken manifest"),
    ],
)
def test_mistakes_in_the_folders_are_told_before_anything_is_scored(arrange, told, curve, home, no_scoring):
    arrange(home)
    done = curve()
    assert (done.status, done.out) == (2, "")
    for text in told:
        assert text in done.err
    assert all(line.startswith("error: ") for line in done.err.splitlines())


def test_a_damaged_picture_is_no_traceback_and_gives_no_result(curve, home):
    file = home / "pred" / "0.10" / "b.png"
    file.write_bytes(file.read_bytes()[:300])
    (home / "gt" / "c.png").write_bytes(b"not a picture")
    done = curve("--json", "r.json")
    assert (done.status, done.out) == (2, "")
    assert sorted(line.split(": ")[1] for line in done.err.splitlines()) == ["gt/c.png", "pred/0.10/b.png"]
    assert not (home / "r.json").exists()


def test_allowed_missing_takes_the_images_of_all_ratios_and_lists_the_rest(curve, home):
    whole = curve().data
    (home / "pred" / "0.10" / "b.png").unlink()
    put(home / "pred" / "0.25" / "z.png", 0, 0)
    done = curve("--allow-missing")
    assert (done.status, done.data["images"]) == (0, ["a", "c"])
    assert {point["n"] for point in done.data["curves"]["mse"]["points"]} == {2}
    assert "warning: b: no prediction at 0.10; left out at every ratio. [missing-output]" in done.err
    assert "warning: z.png: no ground truth for this prediction (at 0.25); left out. [extra-output]" in done.err
    rules = {item["rule"] for item in done.data["deviations"]}
    assert {"missing-output", "extra-output"} <= rules
    same = [image["curves"]["mse"]["areas"]["a"] for image in (whole, done.data)]
    assert same[0] == same[1]


def test_nothing_common_is_an_error(curve, home, no_scoring):
    for name, ratio in zip(NAMES, GRID, strict=False):
        (home / "pred" / ratio / f"{name}.png").unlink()
    done = curve("--allow-missing")
    assert (done.status, done.out) == (2, "")
    assert "no image has a prediction at every ratio. [nothing-to-score]" in done.err


def test_the_first_images_only(curve):
    done = curve("--limit", 2)
    assert done.data["images"] == ["a", "b"]
    assert "warning: images: only the first 2 of 3 images are scored. [limit]" in done.err
    assert curve("--limit", 0).data["n_images"] == 3


def test_pairing_by_order(curve, home):
    expected = curve().data["hint_auc"]
    for ratio in GRID:
        for name in NAMES:
            (home / "pred" / ratio / f"{name}.png").rename(home / "pred" / ratio / f"fake-{name}.png")
    assert "[missing-output]" in curve().err
    done = curve("--pairing", "sorted")
    assert done.data["hint_auc"] == expected
    assert "names differ: fake-a with a.png, fake-b with b.png, fake-c with c.png." in done.err
    (home / "pred" / "0.10" / "fake-b.png").rename(home / "pred" / "0.10" / "other.png")
    refused = curve("--pairing", "sorted")
    assert (refused.status, refused.out) == (2, "")
    assert "0.10: its images are not those of 0.00: only one of them has fake-b, other. [other-names]" in refused.err
    (home / "gt" / "c.png").unlink()
    assert "2 ground truths are there, and 3 predictions at 0.00. [other-count]" in curve("--pairing", "sorted").err


def test_a_ground_truth_may_have_another_suffix(curve, home):
    expected = curve().data["hint_auc"]["mse"]
    for name in NAMES:
        file = home / "gt" / f"{name}.png"
        with Image.open(file) as image:
            image.save(file.with_suffix(".webp"), lossless=True)
        file.unlink()
    (home / "gt" / "d.bmp").write_bytes(b"x")
    done = curve()
    assert done.data["hint_auc"]["mse"] == pytest.approx(expected, rel=1e-12)
    assert "warning: gt: not read, as only .png, .jpg, .jpeg, .webp are: d.bmp. [passed-over]" in done.err


def test_another_grid_and_what_was_converted_are_warnings_beside_valid_json(curve, home):
    for ratio in GRID[1:-2]:
        (home / "pred" / ratio).rename(home / ratio)
    for name in NAMES:
        file = home / "pred" / "0.50" / f"{name}.png"
        with Image.open(file) as image:
            clear = image.convert("RGBA")
        clear.putalpha(128)
        clear.save(file)
    (home / "pred" / "0.50").rename(home / "pred" / "50%")
    done = curve()
    assert (done.status, done.data["alphas"]) == (0, [0.0, 0.5, 1.0])
    assert not done.data["protocol"]["paper_grid"]
    assert "warning: pred/gt: the ratios 0, 0.5, 1 are not the protocol's grid [grid]" in done.err
    assert "warning: 0.50/a: 560 of its 560 pixels are not opaque" in done.err
    assert {note["rule"] for note in done.data["notes"]} == {"mode-converted", "alpha-dropped"}
    assert all(line.startswith("warning: ") for line in done.err.splitlines())


def test_ratios_are_exact_beyond_the_names_of_slices(curve, home):
    (home / "pred" / "0.25").rename(home / "pred" / "0.12345678")
    assert curve().data["alphas"][5] == 0.12345678


def test_variants_and_detfills_tree(curve, home):
    expected = curve().data["hint_auc"]
    for ratio in GRID:
        (home / "pred" / ratio).rename(home / f"flat-{ratio}")
        for source in ("xdog", "sketch"):
            (home / "pred" / "dot" / source / ratio).mkdir(parents=True)
        (home / f"flat-{ratio}").rename(home / "pred" / "dot" / "xdog" / ratio / "200")
        put(home / "pred" / "dot" / "sketch" / ratio / "a.png", 0, 0)
    refused = curve()
    assert refused.status == 2
    assert "pred: holds several curves: 'dot-sketch', 'dot-xdog'. [variants]" in refused.err
    done = curve("--variant", "dot-xdog")
    assert (done.data["hint_auc"], done.data["variant"]) == (expected, "dot-xdog")


def test_files(curve, home):
    done = curve("--json", "out/r.json", "--csv", "out", "--plot", "out/c.svg")
    assert json.loads((home / "out" / "r.json").read_text()) == done.data
    means = rows_of(home / "out" / "per_ratio_summary.csv")
    assert [float(row["mse"]) for row in means] == [row["mse"] for row in done.data["per_alpha"].values()]
    areas = {row["image"]: float(row["mse"]) for row in rows_of(home / "out" / "areas.csv")}
    assert areas == done.data["curves"]["mse"]["areas"]
    scores = rows_of(home / "out" / "scores.csv")
    assert [(row["ratio"], row["image"]) for row in scores[:4]] == [
        ("0.0", "a"),
        ("0.0", "b"),
        ("0.0", "c"),
        ("0.01", "a"),
    ]
    assert len(scores) == 24
    assert (home / "out" / "c.svg").read_text().startswith("<?xml")


def test_a_metric_without_an_area_is_status_1(curve, monkeypatch):
    from pixelgate.columns import Column
    from pixelgate.metrics.registry import Measurement

    monkeypatch.setattr(Column, "compare", lambda *_: Measurement(None, "no value today"))
    done = curve("--no-cache")
    assert (done.status, done.data["hint_auc"], done.data["per_alpha"]["0.10"]) == (1, {"mse": None}, {"mse": None})
    assert done.err.splitlines()[-1] == "error: mse has no area: no value for a at 0.00"


def test_metrics_that_lack_weights_stop_before_scoring(curve, no_scoring, no_weights):
    done = curve(metrics=("mse,LPIPS",))
    assert (done.status, done.out) == (2, "")
    assert "AlexNet" in done.err


def test_plot_of_several_results(curve, home, pixelgate):
    curve("--json", "ours.json", "--name", "ours")
    result = json.loads((home / "ours.json").read_text())
    points = result["curves"]["mse"]["points"]
    reference = {"per_alpha": {"0.0": {"mse": 0.03, "psnr": 12.0}, "1.0": {"mse": 0.01, "psnr": 20.0}}, "protocol": {}}
    evaluated = {**{key: result[key] for key in ("per_alpha", "alphas", "protocol")}, "oracle": True}
    evaluated["intervals"] = {"mse": {"area": {"low": 0, "high": 1}, "0.00": {"low": 0, "high": 1}}}
    report = {"curves": [{"id": "m/t", "ratios": [0, 1], "metrics": {"mse": {**result["curves"]["mse"]}}}]}
    for name, data in (("theirs", reference), ("evaluated", evaluated), ("report", report)):
        (home / f"{name}.json").write_text(json.dumps(data))
    files = ("ours.json", "theirs.json", "evaluated.json", "report.json")
    done = pixelgate("hints", "plot", *files, "-o", "c.png", "--json")
    assert done.data["curves"] == {"ours": ["mse"], "theirs": ["mse", "psnr"], "evaluated": ["mse"], "m/t": ["mse"]}
    assert done.data["oracles"] == ["evaluated"]
    assert "warning: ours: has no curve of psnr [no-curve]" in done.err
    with Image.open(home / "c.png") as image:
        assert image.width > image.height > 300
    assert pixelgate("hints", "plot", "ours.json", "-o", "c.svg").out.endswith("picture: c.svg\n")
    (line,) = read_lines(home / "ours.json")
    assert [(p.mean, p.low, p.high) for p in line.curves["mse"].points] == [
        (point["mean"], point["low"], point["high"]) for point in points
    ]
    (line,) = read_lines(home / "theirs.json")
    assert line.curves["psnr"].area.mean == 16.0


def test_plot_mistakes(curve, home, pixelgate):
    curve("--json", "r.json")
    for name, text in (("bad", "["), ("empty", "{}"), ("broken", '{"per_alpha": {"x": {}}}'), ("list", "[1]")):
        (home / f"{name}.json").write_text(text)
    for arguments, told in (
        (("nowhere.json", "-o", "c.png"), "nowhere.json: cannot be read as JSON (No such file or directory)"),
        (("bad.json", "-o", "c.png"), "bad.json: cannot be read as JSON"),
        (("empty.json", "-o", "c.png"), "empty.json: holds no curves"),
        (("list.json", "-o", "c.png"), "list.json: holds no curves"),
        (("broken.json", "-o", "c.png"), "broken.json: is broken (ValueError"),
        (("r.json", "-o", "c.jpg"), "[plot-format]"),
        (("r.json", "r.json", "-o", "c.png"), "several curves are named pred."),
        (("r.json", "-o", "c.png", "--label", "a", "--label", "b"), "2 names are given for 1 curves: pred."),
        (
            ("r.json", "-o", "c.png", "--metrics", "ssim"),
            "no result has a curve of ssim. [plot-metrics] There are: mse.",
        ),
    ):
        done = pixelgate("hints", "plot", *arguments)
        assert (done.status, done.out) == (2, "")
        assert told in done.err
    assert not (home / "c.png").exists()
