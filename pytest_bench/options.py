"""The plugin's options: command line over ini file over default, in one frozen dataclass.

Loaded with every pytest start, so it imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest


@dataclass(frozen=True)
class Options:
    """What a run was asked for. Each field is an option ``--bench-<field>`` and an ini key ``bench_<field>``."""

    outputs: Path | None
    data: tuple[Path, ...]
    track: tuple[str, ...]
    method: tuple[str, ...]
    ratio: tuple[str, ...]
    metrics: tuple[str, ...]
    meta: tuple[str, ...]
    device: str
    backend: str
    report: Path | None
    json: Path | None
    golden: Path | None
    update_golden: bool
    prune_golden: bool
    require_golden: bool
    cache: Path | None
    no_cache: bool
    allow_missing: bool
    allow_resize: bool
    weights: Path | None
    resamples: int | None
    seed: int | None
    conditions: tuple[str, ...]
    predictions: Path | None
    allow_deviation: tuple[str, ...]
    allow_pickle: bool
    depth_person_mask: Literal["auto", "always", "never"]
    person_mask_dilation: float | None
    vbench_dimensions: tuple[str, ...]
    lpips_net: Literal["alex", "vgg", "squeeze"]
    shuffle_refs: bool
    show_video: bool
    junit_properties: Literal["none", "scalar"]
    list: bool

    @property
    def filtered(self) -> bool:
        """Whether a filter leaves out part of the outputs."""
        return bool(self.track or self.method or self.ratio or self.metrics or self.vbench_dimensions)


Kind = Literal["path", "paths", "text", "texts", "names", "flag", "whole", "number", "choice"]


_NO_LIMIT = 2**63


@dataclass(frozen=True)
class _Spec:
    name: str
    kind: Kind
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    default: str = ""
    least: int = 0
    most: int = _NO_LIMIT

    @property
    def flag(self) -> str:
        return f"--bench-{self.name.replace('_', '-')}"

    @property
    def ini(self) -> str:
        return f"bench_{self.name}"


_SPECS = (
    _Spec(
        "outputs",
        "path",
        "folder of outputs to score: DIR/<method>/<track>/<id>.png, or clips with a manifest.json",
        "DIR",
    ),
    _Spec("data", "paths", "folder with a track's data or a track.yaml; may be repeated", "DIR"),
    _Spec(
        "track", "texts", "score this track only; may be repeated. With one track DIR may be one method's folder", "T"
    ),
    _Spec("method", "texts", "score this method only; may be repeated. Names the method of a single folder", "NAME"),
    _Spec("ratio", "texts", "score this slice (ratio or seed) only; may be repeated", "SLICE"),
    _Spec("metrics", "names", "compute these metrics only, comma-separated; may be repeated", "IDS"),
    _Spec("meta", "texts", "record KEY=VALUE with the run, e.g. seed=0 or checkpoint=FILE (hashed)", "KEY=VALUE"),
    _Spec("device", "text", "device of learned metrics: cpu, cuda or cuda:N (default: cpu)", "DEVICE", default="cpu"),
    _Spec(
        "backend",
        "text",
        "which of a protocol's backends computes: paper or pillow (default: auto)",
        "NAME",
        default="auto",
    ),
    _Spec("report", "path", "write report.json, junit.xml and per-method files into this folder", "DIR"),
    _Spec("json", "path", "write the JSON report to this file too", "FILE"),
    _Spec("golden", "path", "folder of golden numbers (default: golden/ in the root folder, if it exists)", "DIR"),
    _Spec("update_golden", "flag", "write this run's numbers as the golden ones; failed and partial cases never are"),
    _Spec("prune_golden", "flag", "after a full run, delete golden files whose method has no outputs any more"),
    _Spec("require_golden", "flag", "fail cases that have no golden numbers even where no golden folder exists"),
    _Spec("cache", "path", "folder of the score cache (default: $PIXELGATE_CACHE or the user's cache folder)", "DIR"),
    _Spec("no_cache", "flag", "compute everything anew and keep nothing"),
    _Spec("allow_missing", "flag", "score incomplete outputs over the samples that are there; a recorded deviation"),
    _Spec("allow_resize", "flag", "resize outputs of another size to the reference's; a recorded deviation"),
    _Spec("weights", "path", "file or folder with network weights, before every other source", "PATH"),
    _Spec(
        "resamples",
        "whole",
        "bootstrap resamples (default: the protocol's); a recorded deviation",
        "N",
        least=1,
        most=1_000_000,
    ),
    _Spec("seed", "whole", "bootstrap seed (default: the protocol's); a recorded deviation", "N"),
    _Spec(
        "conditions",
        "names",
        "conditions of a folder of generated clips, before those of its manifest.json: subject, depth, pose, "
        "inpainting, camera",
        "NAMES",
    ),
    _Spec(
        "predictions", "path", "folder of the networks' predictions of generated clips (default: beside them)", "DIR"
    ),
    _Spec(
        "allow_deviation", "names", "let deviations of these rules pass, e.g. frame-rate; they stay recorded", "RULES"
    ),
    _Spec("allow_pickle", "flag", "read keypoints from pickled arrays too, through a restricted reader"),
    _Spec(
        "depth_person_mask",
        "choice",
        "leave people out of the depth scores: auto (where depth and pose are conditions), always or never",
        choices=("auto", "always", "never"),
        default="auto",
    ),
    _Spec("person_mask_dilation", "number", "dilate people's masks by this part of the shorter side", "PART"),
    _Spec("vbench_dimensions", "names", "score these VBench dimensions only, e.g. subject_consistency", "NAMES"),
    _Spec(
        "lpips_net",
        "choice",
        "network of the inpainting group's LPIPS: alex, vgg or squeeze (default: alex)",
        choices=("alex", "vgg", "squeeze"),
        default="alex",
    ),
    _Spec("shuffle_refs", "flag", "hold each clip against another sample's reference: a chance level, never ranked"),
    _Spec("show_video", "flag", "write side-by-side clips and contact sheets of depth, pose and inpainting"),
    _Spec(
        "junit_properties",
        "choice",
        "put each case's mean values into the JUnit file: none or scalar (default: scalar)",
        choices=("none", "scalar"),
        default="scalar",
    ),
    _Spec("list", "flag", "score nothing; list what would be scored, what is missing and what is cached"),
)


def path_flags() -> frozenset[str]:
    """The options whose values are paths."""
    return frozenset(spec.flag for spec in _SPECS if spec.kind in ("path", "paths"))


def add_options(parser: pytest.Parser) -> None:
    """Declare every option and its ini key in one group."""
    group = parser.getgroup("pixelgate", "scoring outputs of image and video generators (pixelgate)")
    for spec in _SPECS:
        kwargs: dict[str, Any] = {"dest": f"bench_{spec.name}", "default": None, "help": spec.help}
        if spec.kind == "flag":
            kwargs["action"] = "store_true"
        elif spec.kind in ("paths", "texts", "names"):
            kwargs.update(action="append", metavar=spec.metavar)
        elif spec.kind == "choice":
            kwargs["choices"] = spec.choices
        else:
            kwargs["metavar"] = spec.metavar
        group.addoption(spec.flag, **kwargs)
        parser.addini(spec.ini, f"default of {spec.flag}", type=_ini_type(spec), default=None)


def _ini_type(spec: _Spec) -> Any:
    if spec.kind == "flag":
        return "bool"
    return "linelist" if spec.kind in ("paths", "texts", "names") else "string"


def read_options(config: pytest.Config) -> Options:
    """Gather the options of a run.

    Raises:
        pytest.UsageError: a value is of the wrong kind, or options contradict each other.
    """
    values: dict[str, Any] = {spec.name: _read(config, spec) for spec in _SPECS}
    if config.getoption("bench_cache", default=None):
        if config.getoption("bench_no_cache", default=None):
            raise pytest.UsageError("--bench-no-cache and --bench-cache contradict each other; give one of them")
        values["no_cache"] = False
    options = Options(**values)
    if options.prune_golden and options.filtered:
        raise pytest.UsageError("--bench-prune-golden needs a full run; leave out the filters (track, method, metrics)")
    return options


def _read(config: pytest.Config, spec: _Spec) -> Any:
    given = config.getoption(f"bench_{spec.name}", default=None)
    # Paths of the command line are relative to where it was typed, those of an ini file to that file.
    base = config.invocation_params.dir
    if given == "" or (isinstance(given, list) and "" in given):
        raise pytest.UsageError(f"{spec.flag} was given an empty value; leave the option out or give it one")
    if given is None:
        given = config.getini(spec.ini)
        base = config.inipath.parent if config.inipath else config.rootpath
    return _READERS[spec.kind](spec, given, base)


def _path(spec: _Spec, given: Any, base: Path) -> Path | None:
    return base / Path(given).expanduser() if given else None


def _paths(spec: _Spec, given: Any, base: Path) -> tuple[Path, ...]:
    return tuple(base / Path(entry).expanduser() for entry in given or ())


def _text(spec: _Spec, given: Any, base: Path) -> str:
    return str(given or spec.default)


def _texts(spec: _Spec, given: Any, base: Path) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(entry) for entry in given or ()))


def _names(spec: _Spec, given: Any, base: Path) -> tuple[str, ...]:
    names = (name.strip() for entry in given or () for name in str(entry).split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def _whole(spec: _Spec, given: Any, base: Path) -> int | None:
    if given in (None, ""):
        return None
    if not str(given).isdecimal() or not spec.least <= int(given) <= spec.most:
        most = f" and at most {spec.most}" if spec.most < _NO_LIMIT else ""
        raise pytest.UsageError(f"{spec.flag} needs a whole number of at least {spec.least}{most}; got {given!r}")
    return int(given)


def _number(spec: _Spec, given: Any, base: Path) -> float | None:
    if given in (None, ""):
        return None
    try:
        value = float(given)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise pytest.UsageError(f"{spec.flag} needs a number from 0 to 1; got {given!r}")
    return value


def _choice(spec: _Spec, given: Any, base: Path) -> str:
    value = given or spec.default
    if value not in spec.choices:
        raise pytest.UsageError(f"{spec.flag} is one of {', '.join(spec.choices)}; got {value!r}")
    return str(value)


_READERS: dict[Kind, Callable[[_Spec, Any, Path], Any]] = {
    "path": _path,
    "paths": _paths,
    "text": _text,
    "texts": _texts,
    "names": _names,
    "flag": lambda spec, given, base: bool(given),
    "whole": _whole,
    "number": _number,
    "choice": _choice,
}
