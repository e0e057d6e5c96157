"""The project in docs/extending.md, put together from its blocks and run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
from PIL import Image

DOCS = Path(__file__).parents[2] / "docs" / "extending.md"


def blocks():
    """File name -> content of the blocks that begin with a comment naming a file."""
    files: dict[str, str] = {}
    for body in re.findall(r"```(?:python|yaml)\n(# .*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL):
        name = body.split("\n", 1)[0].removeprefix("# ").split(",")[0]
        files[name] = files.get(name, "") + body
    return files


def test_the_example_runs(pytester):
    files = blocks()
    assert sorted(files) == ["conftest.py", "data/track.yaml", "mine.yaml"]
    for name, text in files.items():
        place = pytester.path / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(text, encoding="utf-8")
    for sample, error in (("a", 0), ("b", 51)):
        reference = np.full((12, 20, 3), 100, dtype=np.uint8)
        for folder, picture in (("data/gt", reference), ("outputs/my-method/my-track", reference + error)):
            place = pytester.path / folder / f"{sample}.png"
            place.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(picture.astype(np.uint8)).save(place)
    result = pytester.runpytest_subprocess(
        "--bench-outputs=outputs", "--bench-data=data", "--bench-json=report.json", "--bench-no-cache"
    )
    result.stdout.fnmatch_lines(["*track: my-track*protocol: mine*n=2", "method *MAE↓*", "my-method *0.1000 ± *"])
    assert result.ret == 0
    report = json.loads((pytester.path / "report.json").read_text(encoding="utf-8"))
    assert [sample["values"] for sample in report["cases"][0]["samples"]] == [{"mae": 0.0}, {"mae": 0.2}]
