"""The worked example in docs/tracks.md, as a user would follow it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from PIL import Image

from pixelgate.tracks import load_track, locate

DOCS = Path(__file__).parents[2] / "docs" / "tracks.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", DOCS.read_text(encoding="utf-8"), flags=re.S | re.M)


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The folder of the worked example, made from the page."""
    tree = next(block for block in blocks("text") if "my-photos/" in block)
    root = tmp_path / "my-photos"
    for folder, first, second in re.findall(r"^  (\w+)/ +(\S+\.png)  (\S+\.png)", tree, flags=re.M):
        for name in (first, second):
            path = root / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (32, 31), (len(folder), len(name), 9)).save(path)
    (root / "track.yaml").write_text(next(block for block in blocks("yaml") if "my-photos" in block), encoding="utf-8")
    return root


def test_worked_example(example: Path) -> None:
    data = locate(load_track("my-photos", [example]), [example])
    assert data.problems() == []
    assert data.track.title == "My own photographs"
    assert [sample.id for sample in data.samples()] == ["harbour", "street-2"]
    assert data.samples()[1].files == {
        "content": example / "content/street-2.png",
        "style": example / "style/street-2.png",
        "reference": example / "gt/street-2.png",
    }


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="the command is GNU's")
def test_revision_command_gives_the_revision(example: Path) -> None:
    command = next(block for block in blocks("console") if "sha256sum" in block)
    ran = subprocess.run(["sh", "-ec", command], cwd=example.parent, capture_output=True, text=True, check=True)
    revision = locate(load_track("my-photos", [example])).revision
    assert revision == f"sha256:{ran.stdout.split()[0]}"


def test_other_forms_are_readable_too(example: Path, tmp_path: Path) -> None:
    forms = next(block for block in blocks("yaml") if "harbour" in block).splitlines()
    patterns = next(block for block in blocks("yaml") if block.startswith("columns:"))
    assert len(forms) == 3
    listed = f"id: listed\nprotocol: pstbench\n{forms[1]}\ncolumns: {{content: 'content/{{id}}.png', "
    (example / "track.yaml").write_text(listed + "style: 'style/{id}.png', reference: 'gt/{id}.png'}\n")
    assert load_track("listed", [example]).samples == ("harbour", "street-2")
    ranged = tmp_path / "ranged.yaml"
    ranged.write_text(f"id: ranged\nprotocol: pstbench\n{forms[2]}\n{patterns}")
    track = load_track("ranged", [ranged])
    assert (track.samples[0], track.samples[-1], len(track.samples)) == ("shot-001", "shot-050", 50)
    assert track.names(track.columns, "style")["shot-007"] == "paired_style/tar7.png"
