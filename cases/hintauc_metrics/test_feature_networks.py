"""OpenCLIP, DINOv2 and DreamSim: finding weights, loading, preprocessing, cosine; on small networks of random weights.

The published weights are not at hand here, so nothing is said about the published values. The networks have the
published architecture in small; what surrounds them is held to computations made here by other means.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pixelgate.errors import MissingExtra, ProtocolError, WeightsError
from pixelgate.metrics import features
from pixelgate.metrics.registry import Runtime, get_metric
from pixelgate.models import dinov2_network, dreamsim_network, feature_files, open_clip_network

CLIP_MEAN, CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
IDS = ("openclip", "dino", "dreamsim")


def picture(height: int = 300, width: int = 401, seed: int = 0) -> np.ndarray:
    """Smooth colours with some noise, of a size that no network has."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = [128 + 80 * np.sin(x / (20 + 9 * c + seed) + c) * np.cos(y / (31 - 4 * c)) for c in range(3)]
    return np.clip(np.stack(planes, axis=-1) + rng.normal(0, 12, (height, width, 3)), 0, 255).astype(np.uint8)


def shorter_side_then_centre(image: np.ndarray, side: int, crop: int, half: Any = round) -> np.ndarray:
    """Bicubic on 8-bit values to the shorter side, then the centre; float64 from 0 to 1.

    Where an odd number of pixels is left over, torchvision rounds half of them to even and transformers down.
    """
    height, width = image.shape[:2]
    size = (side, int(side * height / width)) if width <= height else (int(side * width / height), side)
    resized = np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BICUBIC))
    top, left = (half((resized.shape[axis] - crop) / 2) for axis in (0, 1))
    return resized[top : top + crop, left : left + crop] / 255.0


def as_signal(values: np.ndarray, mean: Any, std: Any) -> Any:
    import torch

    normalised = ((values - np.array(mean)) / np.array(std)).astype(np.float32)
    return torch.from_numpy(np.ascontiguousarray(normalised.transpose(2, 0, 1)))[None]


def angle(first: np.ndarray, second: np.ndarray) -> float:
    first, second = first.astype(np.float64), second.astype(np.float64)
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No cache of this machine is looked at and nothing is downloaded."""
    for name in ("PIXELGATE_CACHE", "HINTAUC_CACHE_DIR", "HF_HOME", "TORCH_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "nowhere" / name))
    monkeypatch.setenv("PIXELGATE_OFFLINE", "1")
    monkeypatch.setattr(features, "_networks", {})
    hub = sys.modules.get("huggingface_hub.constants")
    if hub is not None:
        monkeypatch.setattr(hub, "HF_HUB_CACHE", str(tmp_path / "nowhere" / "HF_HOME" / "hub"))


def quietly(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


# OpenCLIP


@pytest.fixture
def clip_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A two-layer ViT/32 with 224 pixels, and its text side, under a name of its own."""
    torch, open_clip = pytest.importorskip("torch"), quietly("open_clip")
    config = {
        "embed_dim": 24,
        "vision_cfg": {"image_size": 224, "layers": 2, "width": 64, "patch_size": 32},
        "text_cfg": {"context_length": 8, "vocab_size": 64, "width": 32, "heads": 2, "layers": 1},
    }
    (tmp_path / "tiny-ViT-B-32.json").write_text(json.dumps(config))
    open_clip.add_model_config(tmp_path / "tiny-ViT-B-32.json")
    monkeypatch.setattr(open_clip_network, "ARCHITECTURE", "tiny-ViT-B-32")
    torch.manual_seed(1)
    model = open_clip.create_model("tiny-ViT-B-32")
    file = tmp_path / "weights" / "openclip" / "open_clip_pytorch_model.bin"
    file.parent.mkdir(parents=True)
    torch.save(model.state_dict(), file)
    return file


def test_openclip(clip_file):
    import torch

    first, second = picture(), picture(256, 200, seed=3)
    scorer = get_metric("openclip").bind({}, Runtime(weights=str(clip_file), threads=1))
    value = scorer.compare(first, scorer.prepare(second)).value
    model = quietly("open_clip").create_model("tiny-ViT-B-32").eval()
    model.load_state_dict(torch.load(clip_file, weights_only=True))
    vectors = []
    for image in (first, second):
        signal = as_signal(shorter_side_then_centre(image, 224, 224), CLIP_MEAN, CLIP_STD)
        with torch.no_grad():
            vectors.append(model.encode_image(signal)[0].numpy())
    assert value == pytest.approx((angle(*vectors) + 1) / 2, rel=0, abs=1e-6)
    assert 0 < value < 1 - 1e-4
    assert scorer.compare(second, scorer.prepare(second)).value == 1.0
    fingerprint = scorer.fingerprint
    assert fingerprint["weights_source"] == "explicit file"
    assert len(fingerprint["weights"]) == 64
    assert {"backend", "device", "open_clip_torch", "torchvision", "pillow"} <= set(fingerprint)


def test_the_published_openclip_is_the_one_asked_for():
    open_clip = quietly("open_clip")
    config = open_clip.pretrained.get_pretrained_cfg(open_clip_network.ARCHITECTURE, open_clip_network.TAG)
    assert config["hf_hub"].rstrip("/") == open_clip_network.HUB.repo
    assert (config["mean"], config["std"]) == (CLIP_MEAN, CLIP_STD)
    # What the library assumes for a plain file, which is how we load it.
    plain = open_clip.transform.PreprocessCfg()
    for key in ("mean", "std", "interpolation", "resize_mode"):
        assert getattr(plain, key) == config[key]
    assert open_clip.get_model_config("ViT-B-32")["vision_cfg"]["image_size"] == 224
    assert not open_clip.get_model_config("ViT-B-32").get("quick_gelu", False)


def test_openclip_of_another_shape_is_refused(clip_file, monkeypatch):
    monkeypatch.setattr(open_clip_network, "ARCHITECTURE", "ViT-B-32-256")
    scorer = get_metric("openclip").bind({}, Runtime(weights=str(clip_file)))
    with pytest.raises(WeightsError, match="not the weights of OpenCLIP"):
        scorer.prepare(picture(40, 50))


@pytest.mark.parametrize("given", ["file", "folder", "folder above"])
def test_openclip_file_or_folder(clip_file, given):
    path = {"file": clip_file, "folder": clip_file.parent, "folder above": clip_file.parents[1]}[given]
    found = open_clip_network.locate(str(path))
    assert found.folder / found.names[0] == clip_file


def test_the_digest_is_the_content(clip_file, tmp_path):
    other = tmp_path / "my weights.pt"
    other.write_bytes(clip_file.read_bytes())
    digests = [open_clip_network.locate(str(path)).digest for path in (clip_file, other)]
    assert digests[0] == digests[1]
    other.write_bytes(clip_file.read_bytes() + b"x")
    assert open_clip_network.locate(str(other)).digest != digests[0]


# DINOv2


@pytest.fixture
def dino_folder(tmp_path: Path) -> Path:
    """Three layers, patches of 14 pixels; the preprocessing's settings are the published ones."""
    torch, transformers = pytest.importorskip("torch"), quietly("transformers")
    torch.manual_seed(2)
    config = transformers.Dinov2Config(
        hidden_size=32, num_hidden_layers=3, num_attention_heads=4, image_size=518, patch_size=14
    )
    folder = tmp_path / "weights" / "dinov2-base"
    transformers.Dinov2Model(config).save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(
        json.dumps(
            {
                "crop_size": {"height": 224, "width": 224},
                "do_center_crop": True,
                "do_convert_rgb": True,
                "do_normalize": True,
                "do_rescale": True,
                "do_resize": True,
                "image_mean": IMAGENET_MEAN,
                "image_processor_type": "BitImageProcessor",
                "image_std": IMAGENET_STD,
                "resample": 3,
                "rescale_factor": 1 / 255,
                "size": {"shortest_edge": 256},
            }
        )
    )
    return folder


def test_dino(dino_folder):
    import torch

    first, second = picture(), picture(256, 200, seed=3)
    scorer = get_metric("dino").bind({}, Runtime(weights=str(dino_folder), threads=1))
    value = scorer.compare(first, scorer.prepare(second)).value
    model = quietly("transformers").Dinov2Model.from_pretrained(dino_folder).eval()
    vectors = []
    for image in (first, second):
        signal = as_signal(shorter_side_then_centre(image, 256, 224, half=int), IMAGENET_MEAN, IMAGENET_STD)
        with torch.no_grad():
            tokens = model(pixel_values=signal).last_hidden_state[0].numpy()
        assert tokens.shape == (1 + 16 * 16, 32)
        vectors.append(tokens.mean(axis=0))
    assert value == pytest.approx((angle(*vectors) + 1) / 2, rel=0, abs=1e-6)
    # The class token counts: without it the value would be another.
    assert scorer.prepare(second) == pytest.approx(vectors[1], rel=0, abs=1e-5)
    assert scorer.compare(second, scorer.prepare(second)).value == 1.0
    assert scorer.fingerprint["weights_source"] == "explicit file"
    assert {"transformers", "pillow"} <= set(scorer.fingerprint)


def test_dino_needs_all_three_files(dino_folder):
    (dino_folder / "preprocessor_config.json").unlink()
    with pytest.raises(WeightsError, match=r"preprocessor_config\.json"):
        dinov2_network.locate(str(dino_folder))
    with pytest.raises(WeightsError, match=r"preprocessor_config\.json"):
        dinov2_network.locate(str(dino_folder / "model.safetensors"))


def test_dino_without_a_layer_is_refused(dino_folder):
    """transformers would fill the gap with random numbers."""
    safetensors = pytest.importorskip("safetensors.torch")
    state = safetensors.load_file(dino_folder / "model.safetensors")
    state.pop(next(name for name in state if "layer.1" in name))
    safetensors.save_file(state, dino_folder / "model.safetensors", metadata={"format": "pt"})
    scorer = get_metric("dino").bind({}, Runtime(weights=str(dino_folder)))
    with pytest.raises(WeightsError, match="they lack"):
        scorer.prepare(picture(40, 50))


# DreamSim


@pytest.fixture
def dreamsim_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package's own ensemble around three small ViTs, with an adapter of random weights as the package saves it."""
    torch, package = pytest.importorskip("torch"), quietly("dreamsim")
    del package
    from dreamsim.config import dreamsim_args
    from dreamsim.feature_extraction.extractor import ViTExtractor
    from dreamsim.feature_extraction.vision_transformer import VisionTransformer
    from dreamsim.model import PerceptualModel

    def tiny(model_type: str, load_dir: str = "") -> Any:
        torch.manual_seed(len(model_type))
        # Twelve blocks, because the class token is read from the twelfth.
        network = VisionTransformer(patch_size=16, embed_dim=24, depth=12, num_heads=2)
        return network, torch.randn(24, 16)

    monkeypatch.setattr(ViTExtractor, "create_model", staticmethod(tiny))
    folder = tmp_path / "weights" / "dreamsim"
    import peft

    settings = dreamsim_args["model_config"]["ensemble"]
    base = PerceptualModel(**settings, device="cpu", load_dir=str(folder), normalize_embeds=True)
    lora = peft.LoraConfig(r=2, lora_alpha=0.5, target_modules=["qkv"], lora_dropout=0.3, bias="none")
    model = peft.get_peft_model(base, lora)
    torch.manual_seed(5)
    for name, values in model.named_parameters():
        if "lora_" in name:
            values.data = torch.randn_like(values)
    model.save_pretrained(folder / "ensemble_lora")
    for group in dreamsim_network.FILES:
        file = folder / group[0]
        if "lora" not in group[0]:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(b"stands for the file")
    return folder


@pytest.mark.slow
def test_dreamsim(dreamsim_folder, capsys):
    import torch

    hub = torch.hub.get_dir()
    first, second = picture(), picture(256, 200, seed=3)
    scorer = get_metric("dreamsim").bind({}, Runtime(weights=str(dreamsim_folder), threads=1))
    value = scorer.compare(first, scorer.prepare(second)).value
    assert capsys.readouterr().out == ""
    assert torch.hub.get_dir() == hub
    model, _ = dreamsim_network._load(dreamsim_folder, "cpu")
    signals = []
    for image in (first, second):
        resized = np.asarray(Image.fromarray(image).resize((224, 224), Image.Resampling.BICUBIC))
        signals.append(as_signal(resized / 255.0, (0, 0, 0), (1, 1, 1)))
    with torch.no_grad():
        wanted = float(model(*signals))
    assert value == pytest.approx(wanted, rel=0, abs=1e-6)
    assert value > 1e-4
    assert scorer.compare(second, scorer.prepare(second)).value == 0.0
    # The adapter is in use: the ensemble alone gives another distance.
    with torch.no_grad(), model.disable_adapter():
        assert abs(float(model(*signals)) - wanted) > 1e-5
    assert {"dreamsim", "peft", "timm"} <= set(scorer.fingerprint)


@pytest.mark.parametrize("group", dreamsim_network.FILES)
def test_dreamsim_lists_what_is_missing(tmp_path, group):
    quietly("dreamsim")
    for names in dreamsim_network.FILES:
        if names != group:
            (tmp_path / names[0]).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / names[0]).touch()
    with pytest.raises(WeightsError) as caught:
        dreamsim_network.locate(str(tmp_path))
    assert f"lacks {group[0]}" in str(caught.value)
    assert "--bench-weights" in str(caught.value)
    (tmp_path / group[0]).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / group[0]).touch()
    assert dreamsim_network.locate(str(tmp_path)).folder == tmp_path


def test_dreamsim_damaged_files(tmp_path):
    quietly("dreamsim")
    for names in dreamsim_network.FILES:
        (tmp_path / names[0]).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / names[0]).touch()
    scorer = get_metric("dreamsim").bind({}, Runtime(weights=str(tmp_path)))
    with pytest.raises(WeightsError, match="not the files of DreamSim"):
        scorer.prepare(picture(40, 50))


# What the three share


@pytest.mark.parametrize("metric", IDS)
def test_missing_weights_are_one_error_before_anything_runs(metric):
    definition = get_metric(metric)
    scorer = definition.bind({}, Runtime())
    with pytest.raises(WeightsError) as caught:
        _ = scorer.fingerprint
    message = str(caught.value)
    assert "were not found. Looked in:" in message
    assert "download: not tried: PIXELGATE_OFFLINE=1 is set" in message
    assert "hf download" in message or "from dreamsim import" in message
    with pytest.raises(WeightsError):
        scorer.prepare(picture(8, 8))


@pytest.mark.parametrize("metric", IDS)
def test_an_explicit_place_is_the_only_one(metric, tmp_path):
    scorer = get_metric(metric).bind({}, Runtime(weights=str(tmp_path / "absent")))
    with pytest.raises(WeightsError, match="explicit file") as caught:
        _ = scorer.fingerprint
    assert "cache" not in str(caught.value).split("Name a folder")[0]


def test_found_in_the_librarys_own_cache(clip_file, tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    root = tmp_path / "hub"
    snapshot = root / "models--laion--CLIP-ViT-B-32-laion2B-s34B-b79K" / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("a" * 40)
    os.link(clip_file, snapshot / clip_file.name)
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(root))
    monkeypatch.setattr(hub.file_download.constants, "HF_HUB_CACHE", str(root))
    found = open_clip_network.locate(None)
    assert found.source == "hugging face cache"
    assert found.digest == open_clip_network.locate(str(clip_file)).digest


def test_a_failed_download_is_the_same_one_error(monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.delenv("PIXELGATE_OFFLINE")

    def fail(*args: Any, **kwargs: Any) -> str:
        raise ConnectionError("no route to host\nand more")

    monkeypatch.setattr(hub, "hf_hub_download", fail)
    with pytest.raises(WeightsError, match=r"download: failed \(ConnectionError: no route to host\)"):
        feature_files.find(open_clip_network.HUB, None)


def test_a_download_takes_the_second_name_where_the_first_is_not_published(monkeypatch, tmp_path):
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.delenv("PIXELGATE_OFFLINE")

    def get(repo: str, name: str) -> str:
        if name.endswith(".safetensors"):
            raise hub.errors.EntryNotFoundError("404")
        (tmp_path / name).touch()
        return str(tmp_path / name)

    monkeypatch.setattr(hub, "hf_hub_download", get)
    found = feature_files.find(dinov2_network.HUB, None)
    assert found.names == ("config.json", "preprocessor_config.json", "pytorch_model.bin")
    assert found.source == "download"


@pytest.mark.parametrize(
    ("metric", "package", "extra"),
    [("openclip", "open_clip", "openclip"), ("dino", "transformers", "dino"), ("dreamsim", "peft", "dreamsim")],
)
def test_a_missing_package_names_the_command(monkeypatch, metric, package, extra):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else find(name))
    scorer = get_metric(metric).bind({}, Runtime())
    with pytest.raises(MissingExtra, match=rf"needs {package}: pip install 'pixelgate\[{extra}\]'"):
        _ = scorer.fingerprint
    assert get_metric(metric).extra == extra


@pytest.mark.parametrize("metric", IDS)
def test_parameters(metric):
    definition = get_metric(metric)
    with pytest.raises(ProtocolError):
        definition.bind({"model": "another"}, Runtime())
    with pytest.raises(ProtocolError):
        definition.bind({"unknown": 1}, Runtime())
    assert definition.takes == "rgb8"
    assert not definition.same_size
    assert (definition.perfect == definition.low) == (definition.direction == "lower")


def test_cosine_and_its_mappings():
    rng = np.random.default_rng(1)
    for scale in (1e-20, 1.0, 1e20):
        first, second = rng.normal(size=(2, 768)) * scale
        assert features.cosine(first, second) == pytest.approx(angle(first, second), abs=1e-12)
        assert features.cosine(first, first.copy()) == 1.0
        assert features.cosine(first, -first) == -1.0
        assert features.cosine(3 * first, second) == pytest.approx(features.cosine(first, second), abs=1e-12)
        assert features.similarity(first, second) == pytest.approx((angle(first, second) + 1) / 2, abs=1e-12)
        assert features.distance(first, second) == pytest.approx(1 - angle(first, second), abs=1e-12)
    assert (features.similarity(first, first), features.similarity(first, -first)) == (1.0, 0.0)
    assert (features.distance(first, first), features.distance(first, -first)) == (0.0, 2.0)
    assert np.isnan(features.cosine(first, np.zeros(768)))


def test_features_that_are_not_numbers_leave_a_reason():
    class Network:
        def features(self, image: np.ndarray, threads: int | None) -> np.ndarray:
            return np.full(4, np.nan) if image.any() else np.ones(4)

    for score in (features.similarity, features.distance):
        scorer = features.FeatureScorer("open_clip_network", "OpenClipNetwork", score, Runtime())
        scorer.__dict__["_network"] = Network()
        black = np.zeros((4, 4, 3), dtype=np.uint8)
        assert scorer.compare(black, scorer.prepare(black)).value in (0.0, 1.0)
        measured = scorer.compare(black + 1, scorer.prepare(black))
        assert measured.value is None
        assert "give nan" in measured.reason


def test_nothing_heavy_is_imported_before_it_is_needed():
    code = (
        "import sys; from pixelgate.metrics import get_metric, Runtime;"
        "[get_metric(i).bind({}, Runtime()) for i in ('openclip', 'dino', 'dreamsim', 'unit_lpips', 'unit_mse')];"
        "print([m for m in ('torch', 'numba', 'transformers', 'open_clip', 'dreamsim', 'PIL') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
