"""The metrics on float pictures against the libraries that define them, where these are installed."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import pytest

from pixelgate.io.square import to_square
from pixelgate.metrics.unit_delta_e import unit_delta_e
from pixelgate.metrics.unit_error import unit_mae, unit_mse, unit_psnr
from pixelgate.metrics.unit_lpips import unit_lpips
from pixelgate.metrics.unit_ssim import C1, C2, unit_ssim_skimage, unit_ssim_torchmetrics

pytestmark = pytest.mark.usefixtures("kernels")


@pytest.fixture(scope="module")
def pairs(oracle):
    """A photograph, a drawing with flat areas and a flat picture, each with several predictions."""
    made = []
    for image in ("coffee128", "shapes120x200", "flat64"):
        for number, (_, prediction, _) in enumerate(oracle.rows(image, "torch")):
            if number % 5 == 0:
                made.append((to_square(prediction, "pillow"), to_square(oracle.picture(image), "pillow")))
        made.append((made[-1][1], made[-1][1]))
    return made


def tensors(torch, *pictures):
    return [torch.from_numpy(picture.copy()).permute(2, 0, 1).unsqueeze(0) for picture in pictures]


def test_torchmetrics(pairs, kernels):
    """Later releases than 1.4.0 also count the border; their map without it is still that of 1.4.0."""
    torch = pytest.importorskip("torch")
    functional = pytest.importorskip("torchmetrics.functional.image")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for output, reference in pairs if kernels == "numba" else pairs[::4]:
            inputs = tensors(torch, output, reference)
            measure = functional.structural_similarity_index_measure
            _, full = measure(*inputs, data_range=1.0, return_full_image=True)
            inner = full[0, :, 5:-5, 5:-5]
            got = unit_ssim_torchmetrics(output, reference)
            assert got == pytest.approx(float(inner.double().mean()), rel=0, abs=1e-6)
            if version("torchmetrics") == "1.4.0":
                assert got == pytest.approx(float(measure(*inputs, data_range=1.0)), rel=0, abs=1e-6)
    finally:
        torch.set_num_threads(threads)


def test_scikit_image(pairs):
    metrics = pytest.importorskip("skimage.metrics")
    for output, reference in pairs:
        wanted = metrics.structural_similarity(
            output,
            reference,
            channel_axis=2,
            data_range=1.0,
            gaussian_weights=True,
            sigma=1.5,
            use_sample_covariance=False,
        )
        assert unit_ssim_skimage(output, reference) == pytest.approx(float(wanted), rel=0, abs=1e-7)


def test_scikit_images_colour_difference(pairs):
    """In float64; from float32 pictures the library computes in float32."""
    color = pytest.importorskip("skimage.color")
    for output, reference in pairs:
        labs = [color.rgb2lab(picture.astype(np.float64)) for picture in (output, reference)]
        wanted = color.deltaE_ciede2000(*labs).mean()
        assert unit_delta_e(output, reference) == pytest.approx(wanted, rel=0, abs=1e-9)


def test_errors_in_plain_numpy(pairs):
    for output, reference in pairs:
        error = output.astype(np.float64) - reference
        assert unit_mse(output, reference) == pytest.approx((error**2).mean(), rel=1e-6, abs=1e-12)
        assert unit_mae(output, reference) == pytest.approx(np.abs(error).mean(), rel=1e-6, abs=1e-12)
        wanted = 10 * np.log10(1 / ((error**2).mean() + 1e-10))
        assert unit_psnr(output, reference) == pytest.approx(wanted, rel=0, abs=1e-5)


def test_lpips_package(pairs):
    torch = pytest.importorskip("torch")
    pytest.importorskip("lpips")
    from pixelgate.models import alexnet_weights, lpips_network

    # The package's own forward pass, on the network with the real weights.
    network = lpips_network.load_network(alexnet_weights.resolve(), "cpu")._network
    with torch.inference_mode():
        for output, reference in pairs[::6]:
            x, y = tensors(torch, output, reference)
            wanted = float(network(x * 2 - 1, y * 2 - 1))
            assert unit_lpips(output, reference) == pytest.approx(wanted, rel=1e-5, abs=1e-6)


def test_the_constants_are_float32():
    assert C1.dtype == C2.dtype == np.float32
