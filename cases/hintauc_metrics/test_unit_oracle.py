"""Every value of ``metrics.json``, which hintauc 0.3.3 computed, from the pictures alone."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hintauc_reference import BACKENDS, HINTAUC, read_png

from pixelgate.io.square import to_square
from pixelgate.metrics.registry import Runtime, get_metric

# Largest difference from the reference's values. Those of the first three are what two installations of the
# reference differ by (conformance/hintauc/README.md); SSIM is round-off of one float32 mean. hintauc computes the
# colour difference in float32, with powers whose last bit depends on the processor; in float64 scikit-image agrees
# with us to 1e-9 (test_unit_libraries.py).
TOLERANCE = {"mse": 9e-8, "mae": 9e-8, "psnr": 1.2e-6, "ssim": 5e-7, "ms_ssim": 1e-6, "deltae": 2e-5}
METRICS = {
    "mse": "unit_mse",
    "mae": "unit_mae",
    "psnr": "unit_psnr",
    "ms_ssim": "unit_ms_ssim",
    "deltae": "unit_delta_e",
}
SSIM = {"torch": "unit_ssim_torchmetrics", "pillow": "unit_ssim_skimage"}
RATIOS = [0.0, 0.01, 0.03, 0.05, 0.10, 0.25, 0.50, 1.0]


def scorers(backend, names):
    ids = {name: METRICS.get(name, SSIM[backend]) for name in names}
    return {name: get_metric(metric_id).bind({}, Runtime(threads=1)) for name, metric_id in ids.items()}


def differences(oracle, image, backend, names=None):
    """(prediction, metric, got, wanted) for every row."""
    with_truth = to_square(oracle.picture(image), BACKENDS[backend])
    bound = scorers(backend, names or ({*METRICS, "ssim"} - ({"ms_ssim"} if backend == "pillow" else set())))
    prepared = {name: scorer.prepare(with_truth) for name, scorer in bound.items()}
    for row, made, values in oracle.rows(image, backend):
        square = to_square(made, BACKENDS[backend])
        assert names or set(values) == set(bound)
        for name, scorer in bound.items():
            yield row, name, scorer.compare(square, prepared[name]).value, values[name]


@pytest.mark.parametrize("backend", ["torch", "pillow"])
@pytest.mark.parametrize(
    "image", ["astronaut192", "coffee128", "flat64", "noise96", "rects128", "shapes120x200", "tiny40x24"]
)
def test_every_value(oracle, monkeypatch, image, backend):
    pytest.importorskip("numba")
    monkeypatch.setenv("PIXELGATE_BACKEND", "numba")
    assert image in oracle.images
    assert len(oracle.images) == 7
    wrong = [row for row in differences(oracle, image, backend) if not abs(row[2] - row[3]) <= TOLERANCE[row[1]]]
    assert not wrong


@pytest.mark.parametrize("backend", ["torch", "pillow"])
def test_ssim_without_numba(oracle, monkeypatch, backend):
    """The plain kernels on the picture where round-off shows most."""
    monkeypatch.setenv("PIXELGATE_BACKEND", "numpy")
    rows = list(differences(oracle, "flat64", backend, {"ssim"}))
    assert len(rows) == 16  # of one flat colour, a shift makes the same picture
    assert max(abs(got - wanted) for _, _, got, wanted in rows) <= TOLERANCE["ssim"]


def test_scikit_images_ssim_to_the_bit(oracle, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setenv("PIXELGATE_BACKEND", "numba")
    for image in ("shapes120x200", "coffee128"):
        assert all(got == wanted for _, _, got, wanted in differences(oracle, image, "pillow", {"ssim"}))


def test_equal_pictures_score_as_the_reference_says(oracle, monkeypatch):
    """Below 1 on flat areas under torchmetrics, exactly 1 under scikit-image."""
    pytest.importorskip("numba")
    monkeypatch.setenv("PIXELGATE_BACKEND", "numba")
    least = 1.0
    for image in oracle.images:
        for backend, wanted in (("torch", None), ("pillow", 1.0)):
            square = to_square(oracle.picture(image), BACKENDS[backend])
            scorer = scorers(backend, ["ssim"])["ssim"]
            got = scorer.compare(square, scorer.prepare(square)).value
            published = oracle.results["images"][image][backend]["identity"]["per_alpha"]["0.00"]["ssim"]
            assert got == pytest.approx(published, rel=0, abs=5e-7)
            if wanted is not None:
                assert got == wanted
            else:
                definition = get_metric("unit_ssim_torchmetrics")
                assert definition.perfect - definition.equal_slack <= got <= definition.perfect
                least = min(least, got)
    assert least == pytest.approx(0.9990570545196533, rel=0, abs=5e-7)  # the reference's, for shapes120x200


def test_set_means_and_areas_follow_from_the_rows(oracle):
    """The published means are plain means, the areas trapezoids: what the curves are made of."""
    for backend in BACKENDS:
        for kind, entry in oracle.results["set_mean"][backend].items():
            for name in entry["hint_auc"]:
                curve = []
                for ratio in entry["per_alpha"]:
                    values = [
                        oracle.results["images"][image][backend][kind]["per_alpha"][ratio][name]
                        for image in oracle.images
                    ]
                    curve.append(float(np.mean(values)))
                    assert curve[-1] == pytest.approx(entry["per_alpha"][ratio][name], rel=1e-12)
                assert [float(ratio) for ratio in entry["per_alpha"]] == RATIOS
                assert np.trapezoid(curve, RATIOS) == pytest.approx(entry["hint_auc"][name], rel=1e-12)


# end_to_end.json, from the stored maps: no hint is generated here.


def kept_mask(maps, kind, ratio):
    ranks = maps["rank_of_label"]
    kept = ranks[maps["labels"]] < int(len(ranks) * ratio)
    return np.where(kept, maps[f"{kind}_mask"], 0)


def upsampled(values, shape):
    rows, columns = (np.arange(size) * 64 // size for size in shape)
    return values[rows[:, None], columns]


def colorized(method, maps, kind, ratio, line_art):
    mask64 = kept_mask(maps, kind, ratio)
    mask = upsampled(mask64, line_art.shape)
    canvas = np.full((*line_art.shape, 3), 200 if method == "hint_paste_toy" else 235, dtype=np.uint8)
    if method == "hint_paste_toy":
        color = upsampled(np.where(mask64[..., None] > 0, maps[f"{kind}_color_bgr"], 0), line_art.shape)
        canvas[mask > 0] = color[mask > 0]
        canvas[line_art < 128] = 0
        return canvas[..., ::-1]
    labels = upsampled(maps["labels"], line_art.shape)
    filled = np.isin(labels, np.unique(labels[mask > 0]))
    canvas[filled] = upsampled(maps["flatten_bgr"], line_art.shape)[filled]
    lit = np.clip(canvas.astype(np.float64) * (line_art[..., None] / 255.0), 0, 255).astype(np.uint8)
    return lit[..., ::-1]


@pytest.mark.parametrize("backend", ["torch", "pillow"])
@pytest.mark.parametrize("kind", ["scribble", "dot"])
@pytest.mark.parametrize("method", ["hint_paste_toy", "hint_fill_oracle"])
def test_end_to_end(oracle, monkeypatch, backend, kind, method):
    pytest.importorskip("numba")
    monkeypatch.setenv("PIXELGATE_BACKEND", "numba")
    wanted = json.loads((HINTAUC / "end_to_end.json").read_text())[f"{backend}/{kind}/{method}"]
    assert wanted["names"] == [f"{image}.png" for image in oracle.images]
    bound = scorers(backend, ["mse", "psnr", "ssim"])
    got = {ratio: {name: [] for name in bound} for ratio in RATIOS}
    for image in oracle.images:
        truth = to_square(oracle.picture(image), BACKENDS[backend])
        line_art = read_png(HINTAUC / "line_art" / f"{image}.png")
        with np.load(HINTAUC / "maps" / f"{image}.npz") as stored:
            maps = dict(stored)
        prepared = {name: scorer.prepare(truth) for name, scorer in bound.items()}
        for ratio in RATIOS:
            made = np.ascontiguousarray(colorized(method, maps, kind, ratio, line_art))
            square = to_square(made, BACKENDS[backend])
            for name, scorer in bound.items():
                got[ratio][name].append(scorer.compare(square, prepared[name]).value)
    for name in bound:
        curve = [math.fsum(got[ratio][name]) / len(oracle.images) for ratio in RATIOS]
        published = [wanted["per_alpha"][f"{ratio:.2f}"][name] for ratio in RATIOS]
        assert curve == pytest.approx(published, rel=0, abs=TOLERANCE[name])
        area = float(np.trapezoid(curve, RATIOS))
        assert area == pytest.approx(wanted["hint_auc"][name], rel=0, abs=TOLERANCE[name])
