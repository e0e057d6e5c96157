"""The demo's golden numbers, computed a second time by other code: scikit-image, colour-science, numpy, plain lpips.

The pictures are built and the methods run anew, decoded by Pillow alone; nothing of the engine or of
`pixelgate.metrics` takes part. A golden number that only our own code gives would fail here.
"""

from __future__ import annotations

import json
from pathlib import Path

import colour
import numpy as np
import pytest
import torch
from PIL import Image
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from pixelgate.io.files import pixel_digest
from pixelgate.methods import all_methods, make_outputs
from pixelgate.tracks import load_track, locate

GOLDEN = Path(__file__).parents[2] / "golden" / "pstbench" / "demo-pst"
METHODS = ("histmatch", "identity", "idt", "mkl", "reinhard")
# IEC 61966-2-1, the four-digit matrix from linear sRGB to XYZ.
MATRIX = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demo's samples and its methods' outputs, on this machine."""
    folder = tmp_path_factory.mktemp("demo")
    samples = locate(load_track("demo-pst")).samples()
    make_outputs([(s.id, s.files["content"], s.files["style"]) for s in samples], all_methods(), folder, "demo-pst")
    return folder, samples


@pytest.fixture(scope="module")
def network():
    """The network as the package lpips builds it, with the verified backbone weights put in."""
    import warnings

    import lpips

    from pixelgate.models.alexnet_weights import resolve
    from pixelgate.models.weight_files import TORCH_INDICES

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = lpips.LPIPS(net="alex", version="0.1", pnet_rand=True, verbose=False).eval()
    for level, (index, (kernel, bias)) in enumerate(zip(TORCH_INDICES, resolve(None).layers, strict=True), start=1):
        layer = getattr(getattr(net.net, f"slice{level}"), str(index))
        layer.weight.data = torch.from_numpy(kernel.copy())
        layer.bias.data = torch.from_numpy(bias.copy())
    return net


def read(path):
    return np.asarray(Image.open(path).convert("RGB"))


def lab(picture):
    xyz = colour.models.eotf_sRGB(picture / 255.0) @ MATRIX.T
    ratios = xyz / MATRIX.sum(axis=1)
    f = np.where(ratios > 216 / 24389, np.cbrt(ratios), (24389 / 27 * ratios + 16) / 116)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


def mean_delta_e(output, reference):
    """Mean CIEDE2000 as Sharma, Wu and Dalal write it, with angles; colour-science must agree but for opposite hues.

    Dark colours can have exactly opposite hues, where the mean hue is (h1 + h2) / 2 and round-off sends a library to
    either side: scikit-image and colour-science differ there from each other too, by up to 3e-7 on these pictures.
    """
    pair = lab(reference), lab(output)
    mean = float(written_out(*pair).mean())
    assert float(colour.delta_E(*pair, method="CIE 2000").mean()) == pytest.approx(mean, rel=0, abs=1e-6)
    return mean


def written_out(lab1, lab2):
    (l1, a1, b1), (l2, a2, b2) = np.moveaxis(lab1, -1, 0), np.moveaxis(lab2, -1, 0)
    seventh = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    stretch = 1 + 0.5 * (1 - np.sqrt(seventh / (seventh + 25**7)))
    c1, c2 = np.hypot(stretch * a1, b1), np.hypot(stretch * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, stretch * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    grey = (c1 < 1e-9) | (c2 < 1e-9)
    far = np.abs(h1 - h2) > 180 + 1e-6
    step = np.where(grey, 0, h2 - h1 - np.where(far, 360 * np.sign(h2 - h1), 0))
    hue = np.where(grey, np.where(c1 < 1e-9, h2, h1), ((h1 + h2 + np.where(far, 360, 0)) / 2) % 360)
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    weight = 1 - 0.17 * cosine(hue - 30) + 0.24 * cosine(2 * hue)
    weight += 0.32 * cosine(3 * hue + 6) - 0.2 * cosine(4 * hue - 63)
    dl = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))
    dc = (c2 - c1) / (1 + 0.045 * chroma)
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(step) / 2) / (1 + 0.015 * chroma * weight)
    turn = np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2)))
    rotation = -2 * np.sqrt(chroma**7 / (chroma**7 + 25**7)) * np.sin(turn)
    return np.sqrt(np.maximum(dl**2 + dc**2 + dh**2 + rotation * dc * dh, 0))


def cosine(degrees):
    return np.cos(np.radians(degrees))


def correlation(left, right):
    pairs = [[np.bincount(p[..., c].ravel(), minlength=256) for p in (left, right)] for c in range(3)]
    return float(np.mean([np.corrcoef(*pair)[0, 1] for pair in pairs]))


def distance(network, output, reference):
    both = [torch.from_numpy(p.copy()).permute(2, 0, 1)[None].float() / 127.5 - 1 for p in (output, reference)]
    with torch.no_grad():
        return float(network(*both))


def independent(network, output, reference, style):
    return {
        "psnr": min(100.0, peak_signal_noise_ratio(reference, output, data_range=255)),
        "ssim": structural_similarity(
            reference,
            output,
            channel_axis=-1,
            gaussian_weights=True,
            sigma=1.5,
            use_sample_covariance=False,
            data_range=255,
        ),
        "de00": mean_delta_e(output, reference),
        "hcorr_gt": correlation(output, reference),
        "hcorr_style": correlation(output, style),
        "lpips": distance(network, output, reference),
    }


@pytest.mark.parametrize("method", METHODS)
def test_an_independent_computation_gives_the_golden_numbers(demo, network, method):
    folder, samples = demo
    golden = json.loads((GOLDEN / f"{method}.json").read_text(encoding="utf-8"))["slices"]["full"]
    rows = []
    for sample in samples:
        output = read(folder / method / "demo-pst" / f"{sample.id}.png")
        if pixel_digest(output) != golden["outputs"][sample.id]:
            pytest.fail(f"outputs differ: {method} makes another picture of {sample.id} on this machine")
        reference = read(sample.files["reference"])
        rows.append(independent(network, output, reference, read(sample.files["style"])))
    for metric, entry in golden["metrics"].items():
        tolerance = 1e-5 if metric == "lpips" else 1e-9
        values = [row[metric] for row in rows]
        assert values == pytest.approx(list(entry["samples"].values()), rel=0, abs=tolerance), metric
        assert np.mean(values) == pytest.approx(entry["value"], rel=0, abs=tolerance), metric


def test_every_method_of_the_demo_has_golden_numbers_for_every_metric():
    assert sorted(file.stem for file in GOLDEN.glob("*.json")) == sorted(METHODS)
    for file in GOLDEN.glob("*.json"):
        metrics = json.loads(file.read_text(encoding="utf-8"))["slices"]["full"]["metrics"]
        assert sorted(metrics) == ["de00", "hcorr_gt", "hcorr_style", "lpips", "psnr", "ssim"]
        assert all(entry["source"].startswith("scored and written by pixelgate") for entry in metrics.values())
