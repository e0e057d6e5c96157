"""A user's project in a temporary folder: a track of three small pairs, outputs of methods, and pytest runs on them."""

from __future__ import annotations

import json
import struct
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pixelgate.metrics import registry as metric_registry
from pixelgate.protocols import protocol as protocol_registry
from pixelgate.tracks import registry as track_registry

_REGISTERS = (
    (metric_registry, "_METRICS"),
    (protocol_registry, "_REGISTERED"),
    (track_registry, "_REGISTERED"),
)

SAMPLES = ("a", "b", "c")
HEIGHT, WIDTH = 40, 48

FAST = "psnr,ssim,de00,hcorr_gt,hcorr_style"
"""All of the protocol but its network, for runs that are about something else."""

INVARIANTS = (
    "perfect-output",
    "range",
    "mean-of-samples",
    "interval-holds-mean",
    "sample-count",
    "order-free",
    "repeatable",
)

_TRACK = """\
id: {track}
protocol: {protocol}
samples: "{{id}}.png"
columns: {{content: content, style: style, reference: gt}}
"""

# A plugin of the user's: the metric `probe` and the protocol `own`, which has PSNR and it.
_PROBE = '''
import os
import signal
from pathlib import Path

import numpy as np
import yaml

from pixelgate.metrics import Measurement, Metric
from pixelgate.metrics.registry import FunctionScorer
from pixelgate.protocols import load_protocol, parse_protocol

HERE = Path(__file__).parent


def note(name, text):
    """Add a line to a file; runs and workers share it."""
    with (HERE / name).open("a") as stream:
        stream.write(text + "\\n")


def prepare(reference):
{prepare}


def compare(output, prepared):
{compare}


def bind(params, runtime):
    return FunctionScorer(prepare, compare, {{"backend": "numpy"}})


FIELDS = {{
    "id": "probe", "title": "Probe", "unit": "", "low": 0.0, "high": 255.0, "direction": "lower", "perfect": 0.0,
    "version": "1", "min_side": 1, "source": "a test", "bind": bind, **{fields},
}}


def pytest_bench_register_metrics():
    return [Metric(**FIELDS)]


def pytest_bench_register_protocols():
    raw = dict(load_protocol("pstbench").raw)
    probe = {{"id": "probe", "metric": "probe", "title": "Probe", "against": "reference", "ranked": True,
             "decimals": 3, "params": {params}}}
    raw.update(id="own", title="A protocol of the user's", metrics=[raw["metrics"][0], probe])
    return [parse_protocol(yaml.safe_dump(raw), "own.yaml")]
'''

MEAN_DIFFERENCE = "return Measurement(float(np.abs(output.astype(float) - prepared).mean()))"


def picture(seed: int, height: int = HEIGHT, width: int = WIDTH) -> np.ndarray:
    """A smooth random picture."""
    small = np.random.default_rng(seed).integers(0, 256, (6, 6, 3), dtype=np.uint8)
    return np.asarray(Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC))


def load(path: Path) -> np.ndarray:
    with Image.open(path) as opened:
        return np.array(opened)


def save(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def nudge(path: Path) -> None:
    """Change one channel of one pixel by one level."""
    pixels = load(path)
    value = int(pixels[3, 5, 1])
    pixels[3, 5, 1] = value + 1 if value < 128 else value - 1
    save(path, pixels)


def png16(path: Path) -> None:
    """The same picture with 16 bits a channel, written by hand: Pillow cannot."""
    pixels = load(path).astype(">u2") * 257
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 16, 2, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )


class Project:
    """A user's project folder and pytest runs in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.root = pytester.path
        self.outputs = self.root / "out"
        self.data = self.root / "data"

    def track(self, name: str = "toy", protocol: str = "pstbench", seed: int = 0) -> Path:
        """Write a track of three pairs."""
        folder = self.data / name
        for number, sample in enumerate(SAMPLES):
            for offset, column in enumerate(("content", "style", "gt")):
                save(folder / column / f"{sample}.png", picture(seed + 10 * number + offset))
        (folder / "track.yaml").write_text(_TRACK.format(track=name, protocol=protocol), encoding="utf-8")
        return folder

    def method(self, name: str = "warm", shift: int = 4, track: str = "toy") -> Path:
        """Write a method's outputs: the ground truth, a little too bright or too dark."""
        folder = self.outputs / name / track
        for file in sorted((self.data / track / "gt").glob("*.png")):
            save(folder / file.name, np.clip(load(file).astype(int) + shift, 0, 255).astype(np.uint8))
        return folder

    def output(self, sample: str = "b", method: str = "warm", track: str = "toy") -> Path:
        return self.outputs / method / track / f"{sample}.png"

    def conftest(self, text: str) -> None:
        (self.root / "conftest.py").write_text(text, encoding="utf-8")

    def probe(
        self, compare: str = MEAN_DIFFERENCE, *, prepare: str = "return reference", params: str = "{}", **fields: Any
    ) -> None:
        """Write a conftest file that registers the metric ``probe``, and let the track ``toy`` use it."""
        bodies = {"prepare": prepare, "compare": compare}
        indented = {key: "\n".join(f"    {line}" for line in body.splitlines()) for key, body in bodies.items()}
        self.conftest(_PROBE.format(**indented, fields=repr(fields), params=params))
        (self.data / "toy" / "track.yaml").write_text(_TRACK.format(track="toy", protocol="own"), encoding="utf-8")

    def lines(self, name: str) -> list[str]:
        """What the probe noted in a file."""
        file = self.root / name
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def arguments(self, *args: object, metrics: str | None = FAST) -> list[str]:
        own = ["--bench-outputs=out", "--bench-data=data", *([f"--bench-metrics={metrics}"] if metrics else [])]
        return [*own, *map(str, args)]

    def run(self, *args: object, metrics: str | None = FAST) -> pytest.RunResult:
        """Score the outputs in this process; what the run registers is gone afterwards."""
        with pytest.MonkeyPatch.context() as patch:
            for module, name in _REGISTERS:
                patch.setattr(module, name, dict(getattr(module, name)))
            return self.pytester.runpytest_inprocess(*self.arguments(*args, metrics=metrics))

    def run_apart(self, *args: object, metrics: str | None = FAST) -> pytest.RunResult:
        """Score the outputs in a process of its own, as runs with workers or networks need it."""
        return self.pytester.runpytest_subprocess(*self.arguments(*args, metrics=metrics), timeout=180)

    def read(self, name: str) -> dict[str, Any]:
        """A JSON file; a number that JSON does not have is an error."""

        def refuse(constant: str) -> None:
            raise ValueError(f"{constant} in {name}")

        text = (self.root / name).read_text(encoding="utf-8")
        loaded: dict[str, Any] = json.loads(text, parse_constant=refuse)
        return loaded

    def report(self, name: str = "report") -> dict[str, Any]:
        return self.read(f"{name}/report.json")

    def case(self, method: str = "warm", name: str = "report", track: str = "toy") -> dict[str, Any]:
        """One case of a written report."""
        return next(case for case in self.report(name)["cases"] if case["id"] == f"{method}/{track}/full")

    def golden_file(self, method: str = "warm", protocol: str = "pstbench", track: str = "toy") -> Path:
        return self.root / "golden" / protocol / track / f"{method}.json"

    def golden_texts(self) -> dict[str, str]:
        """Every file in the golden folder, by its name there."""
        folder = self.root / "golden"
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in files}

    def edit_golden(self, path: str, value: Any, method: str = "warm", protocol: str = "pstbench") -> None:
        """Change one entry of a golden file, named by its path, e.g. ``slices/full/metrics/psnr/value``."""
        file = self.golden_file(method, protocol)
        data = json.loads(file.read_text(encoding="utf-8"))
        *parents, last = path.split("/")
        place = data
        for key in parents:
            place = place[key]
        place[last] = value
        file.write_text(json.dumps(data), encoding="utf-8")


def needs_network() -> None:
    """Skip where LPIPS cannot run. Nothing is imported: torch does not survive that twice in one process."""
    for name in ("lpips", "torch"):
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


def outcomes(passed: int = 0, failed: int = 0, **more: int) -> dict[str, int]:
    """What `RunResult.parseoutcomes` gives for such a run."""
    counts = {"passed": passed, "failed": failed, **more}
    return {name: count for name, count in counts.items() if count}


def text_of(result: pytest.RunResult) -> str:
    """All that a run printed."""
    return "\n".join([*result.outlines, *result.errlines])


def error_lines(result: pytest.RunResult) -> list[str]:
    """The lines with which pytest reports a usage error."""
    return [line for line in [*result.outlines, *result.errlines] if line.startswith("ERROR: ")]


def node_ids(result: pytest.RunResult) -> list[str]:
    """The node ids that ``--collect-only -q`` printed."""
    return [line for line in result.outlines if "::" in line]


def timeless(value: Any) -> Any:
    """A report without what two equal runs may differ in."""
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if key not in ("created", "duration_s")}
    if isinstance(value, list):
        return [timeless(item) for item in value]
    return value
