"""LPIPS outside the box: the grey fill, batches of frames, and networks whose weights are not at hand."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest
from inpainting_tools import boxes, noisy, pan

from pixelgate.errors import InputError, ProtocolError, WeightsError
from pixelgate.metrics import get_metric, lpips
from pixelgate.metrics.inpainting import FrameBatches, masked_lpips
from pixelgate.metrics.registry import Runtime

pytest.importorskip("lpips")

from pixelgate.models import lpips_clips

ONE = Runtime(threads=1)


@pytest.fixture
def frames():
    clip = pan(5)
    return noisy(clip, 12), clip, [~mask for mask in boxes(5)]


def whole(frame):
    return np.ones(frame.shape[:2], dtype=bool)


def test_without_a_mask_it_is_the_plain_distance(frames):
    generated, reference, _ = frames
    wanted = lpips(generated[0], reference[0])
    assert masked_lpips(generated[0], reference[0], whole(reference[0])) == pytest.approx(wanted, abs=1e-6)
    floats = reference[0].astype(np.float32)
    assert masked_lpips(generated[0], floats, whole(floats)) == pytest.approx(wanted, abs=1e-6)


def test_the_masked_area_is_grey_on_both_sides(frames):
    generated, reference, keep = (side[0] for side in frames)
    grey = [np.where(keep[..., np.newaxis], frame, np.uint8(127)) for frame in (generated, reference)]
    found = masked_lpips(generated, reference, keep)
    assert found == pytest.approx(lpips(*grey), abs=2e-4)
    assert found < masked_lpips(generated, reference, whole(reference))


def test_masked_pixels_never_matter(frames):
    generated, reference, keep = (side[0] for side in frames)
    wanted = masked_lpips(generated, reference, keep)
    changed, other = generated.copy(), reference.astype(np.float32)
    changed[~keep], other[~keep] = 0, np.nan
    assert masked_lpips(changed, other, keep) == wanted


def test_equal_frames_are_at_no_distance_in_any_batch(frames):
    _, reference, keep = frames
    batch = FrameBatches("alex", ONE)
    for frame, kept in zip(reference, keep, strict=True):
        batch.add(frame, frame.astype(np.float32), kept)
    batch.flush()
    assert batch.distances == [0.0] * 5


def test_batches_give_each_frame_its_own_distance(frames, monkeypatch):
    generated, reference, keep = frames
    keep[2] = np.zeros_like(keep[2])
    apart = [masked_lpips(*frame) for frame in zip(generated, reference, keep, strict=True)]
    calls = []
    real = lpips_clips.ClipLpips.distances
    monkeypatch.setattr(
        lpips_clips.ClipLpips, "distances", lambda self, x, *rest: calls.append(len(x)) or real(self, x, *rest)
    )
    monkeypatch.setattr("pixelgate.metrics._inpainting_lpips._BATCH_PIXELS", 3 * keep[0].size)
    batch = FrameBatches("alex", ONE)
    for frame in zip(generated, reference, keep, strict=True):
        batch.add(*frame)
    batch.flush()
    assert calls == [3, 1]
    assert batch.distances[2] is None
    assert apart[2] is None
    for found, wanted in zip(batch.distances, apart, strict=True):
        assert wanted is None or found == pytest.approx(wanted, abs=1e-6)


def test_small_frames_have_no_distance():
    frame = np.zeros((30, 40, 3), dtype=np.uint8)
    batch = FrameBatches("alex", ONE)
    batch.add(frame, frame, whole(frame))
    batch.flush()
    assert batch.distances == [None]
    with pytest.raises(InputError, match="31 pixels"):
        masked_lpips(frame, frame, whole(frame))


@pytest.mark.parametrize("net", ["vgg", "squeeze"])
def test_another_network_says_what_is_missing(net, frames, monkeypatch, tmp_path):
    monkeypatch.setattr(lpips_clips.alexnet_weights, "hub_folder", lambda: tmp_path)
    generated, reference, keep = (side[0] for side in frames)
    trunk = lpips_clips.TRUNKS[net]
    for call in (
        lambda: masked_lpips(generated, reference, keep, net=net),
        lambda: get_metric("inpaint_lpips").bind({"lpips": {"net": net}}, Runtime()).fingerprint,
    ):
        with pytest.raises(WeightsError) as caught:
            call()
        assert f"https://download.pytorch.org/models/{trunk.file}" in str(caught.value)
        assert str(tmp_path / "checkpoints" / trunk.file) in str(caught.value)


def test_another_file_under_the_right_name_is_refused(tmp_path, frames):
    (tmp_path / lpips_clips.TRUNKS["vgg"].file).write_bytes(b"other weights")
    with pytest.raises(WeightsError, match="SHA-256 begins 397923af"):
        masked_lpips(*(side[0] for side in frames), net="vgg", weights=str(tmp_path))


def test_an_unknown_network_is_refused(frames):
    with pytest.raises(ProtocolError, match="resnet"):
        masked_lpips(*(side[0] for side in frames), net="resnet")


@pytest.fixture(params=["squeeze", pytest.param("vgg", marks=pytest.mark.slow)])
def stand_in(request, tmp_path, monkeypatch):
    """A network of the right shape with random weights, and the file that would hold torchvision's."""
    import warnings

    import lpips as package
    import torch
    import torchvision

    net = request.param
    torch.manual_seed(0)
    made = {"vgg": torchvision.models.vgg16, "squeeze": torchvision.models.squeezenet1_1}[net](weights=None)
    state = {name: value for name, value in made.state_dict().items() if name.startswith("features.")}
    path = tmp_path / "made.pth"
    torch.save(state, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    known = lpips_clips.TRUNKS[net]
    renamed = path.rename(tmp_path / f"made-{digest[:8]}.pth")
    own = lpips_clips.Trunk(renamed.name, known.megabytes, known.heads_digest)
    monkeypatch.setattr(lpips_clips, "TRUNKS", {**lpips_clips.TRUNKS, net: own})
    monkeypatch.setattr(lpips_clips, "_networks", {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = package.LPIPS(net=net, version="0.1", pretrained=True, pnet_rand=True, verbose=False).eval()
    for name, value in peer.net.named_parameters():
        value.data.copy_(state["features." + name.partition(".")[2]])
    return SimpleNamespace(net=net, folder=str(tmp_path), peer=peer, digest=digest)


def test_another_network_is_loaded_where_its_file_is(stand_in, frames):
    import torch

    generated, reference, _ = (side[0][:64, :64] for side in frames)
    found = masked_lpips(generated, reference, whole(reference), net=stand_in.net, weights=stand_in.folder)
    tensors = (torch.from_numpy(frame / 127.5 - 1).permute(2, 0, 1)[None].float() for frame in (generated, reference))
    with torch.inference_mode():
        wanted = float(stand_in.peer(*tensors))
    assert found == pytest.approx(wanted, rel=1e-4)
    fingerprint = lpips_clips.fingerprint(stand_in.net, Runtime(weights=stand_in.folder))
    assert (fingerprint["net"], fingerprint["weights"]) == (stand_in.net, stand_in.digest)
