"""``pixelgate tracks``, ``protocols`` and ``metrics``."""

from __future__ import annotations

import pytest

from pixelgate.metrics import all_metrics, get_metric
from pixelgate.protocols import load_protocol
from pixelgate.tracks import available_tracks, load_track

CLIP_GROUPS = ["camera", "depth", "inpainting", "pose"]
BUILT_IN = sorted(
    [
        *["acetone-transfer", "demo-hints", "demo-pst", "pst50-paired", "pst50-paired-log"],
        *[f"demo-video-{group}" for group in CLIP_GROUPS],
        *[f"flexbench-{group}" for group in [*CLIP_GROUPS, "subject", "text", "vbench"]],
    ]
)


def first_words(text):
    return [line.split()[0] for line in text.splitlines()]


def test_tracks(pixelgate):
    done = pixelgate("tracks")
    assert (done.status, done.err) == (0, "")
    assert first_words(done.out) == ["track", *BUILT_IN]
    assert available_tracks() == BUILT_IN
    listed = {entry["track"]: entry for entry in pixelgate("tracks", "--json").data["tracks"]}
    assert list(listed) == BUILT_IN
    assert listed["pst50-paired"]["samples"] == 50
    assert listed["pst50-paired"]["state"] == "absent"
    assert listed["pst50-paired"]["protocol"] == "pstbench"
    assert listed["pst50-paired"]["mend"] == "Run: pixelgate data fetch pst50-paired"


def test_one_track(pixelgate):
    done = pixelgate("tracks", "pst50-paired")
    assert "samples:   50, pst50-001 to pst50-050" in done.out
    assert "kind hub, repository zrgong/PST50, repository_type dataset, revision 6ed86e3" in done.out
    data = pixelgate("tracks", "pst50-paired", "--json").data
    assert data["samples"] == list(load_track("pst50-paired").samples)
    assert data["source"]["repository"] == "zrgong/PST50"
    assert data["revision"] is None


def test_a_track_of_ones_own(pixelgate, photos):
    from pixelgate.tracks import locate

    assert pixelgate("tracks", "my-photos").status == 2
    data = pixelgate("tracks", "my-photos", "--data", photos.data, "--json").data
    assert data["samples"] == list(photos.ids)
    assert data["folder"] == str(photos.data)
    assert data["revision"] == locate(load_track("my-photos", [photos.data])).revision
    assert data["source"] == {"kind": "local", "folder": str(photos.data)}
    (photos.data / "style" / "harbour.png").unlink()
    broken = pixelgate("tracks", "my-photos", "--data", photos.data)
    assert "state:     incomplete" in broken.out
    assert "style/harbour.png: the track's own file is missing." in broken.out


def test_protocols(pixelgate):
    done = pixelgate("protocols")
    assert (done.status, done.err) == (0, "")
    assert first_words(done.out) == ["protocol", "flexbench", "hintauc", "pstbench"]
    flexbench, hintauc, pstbench = pixelgate("protocols", "--json").data["protocols"]
    assert {name.split("_")[0] for name in flexbench["metrics"]} == {
        *("text", "subject", "depth", "pose", "camera", "inpaint", "vbench")
    }
    assert hintauc["metrics"] == ["mse", "psnr", "ssim", "lpips", "openclip", "dino", "dreamsim"]
    assert pstbench["metrics"] == ["psnr", "ssim", "lpips", "de00", "hcorr_gt", "hcorr_style"]


def test_one_protocol(pixelgate):
    protocol = load_protocol("pstbench")
    done = pixelgate("protocols", "pstbench")
    for text in ("iec61966-2-1-4digit", "resamples: 10000", protocol.params_hash, "perfect-output", "method: identity"):
        assert text in done.out
    data = pixelgate("protocols", "pstbench", "--json").data
    assert data.pop("params_sha256") == protocol.params_hash
    assert data == protocol.raw


def test_metrics(pixelgate):
    done = pixelgate("metrics")
    assert (done.status, done.err) == (0, "")
    assert first_words(done.out) == ["metric", *(metric.id for metric in all_metrics())]
    listed = {entry["id"]: entry for entry in pixelgate("metrics", "--json").data["metrics"]}
    for metric in all_metrics():
        assert listed[metric.id]["direction"] == metric.direction
        assert listed[metric.id]["version"] == metric.version
    assert listed["lpips"]["range"] == [0.0, None], "no bound above"
    assert listed["ssim"]["range"] == [-1.0, 1.0]


@pytest.mark.parametrize(("name", "metric"), [("psnr", "psnr"), ("de00", "delta_e_2000"), ("lpips", "lpips")])
def test_one_metric_by_either_of_its_names(name, metric, pixelgate):
    known = get_metric(metric)
    done = pixelgate("metrics", name)
    assert f"metric:     {metric}, version {known.version}" in done.out
    assert f"{known.direction} is better" in done.out
    assert known.source in done.out
    data = pixelgate("metrics", name, "--json").data
    assert (data["id"], data["unit"], data["source"]) == (metric, known.unit, known.source)
    assert [use["protocol"] for use in data["protocols"]] == ["pstbench"]


def test_a_metric_with_two_places_in_a_protocol(pixelgate):
    uses = pixelgate("metrics", "hcorr_style", "--json").data["protocols"]
    assert [(use["id"], use["against"], use["ranked"]) for use in uses] == [
        ("hcorr_gt", "reference", True),
        ("hcorr_style", "style", False),
    ]


@pytest.mark.parametrize(
    ("command", "known"), [("tracks", "pst50-paired"), ("protocols", "pstbench"), ("metrics", "psnr")]
)
def test_unknown_names_list_the_known_ones(command, known, pixelgate):
    done = pixelgate(command, "nothing", "--json")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: unknown ")
    assert known in done.err
