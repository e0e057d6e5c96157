"""The program in docs/hintauc-python.md, run as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

DOCS = Path(__file__).parents[2] / "docs" / "hintauc-python.md"


@pytest.mark.slow
def test_the_worked_example_runs(tmp_path):
    pytest.importorskip("skimage")
    pytest.importorskip("matplotlib")
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 5
    (tmp_path / "example.py").write_text("".join(blocks), encoding="utf-8")
    command = [sys.executable, "-W", "error", "example.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines[:3]] == ["mse", "psnr", "ssim"]
    assert "['checkpoint', 'seed', 'split']" in lines
    with Image.open(tmp_path / "curves.png") as picture:
        assert picture.width > 1000
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "curves.png", "curves.svg", "example.py", "outputs", "result.json"
    ]  # fmt: skip
