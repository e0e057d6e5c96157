"""``pixelgate doctor``: what is installed and found, and what to run next for what is missing."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from importlib import metadata
from typing import Any

from pixelgate.commands.arguments import Commands, add_command, add_data, add_json, own_options
from pixelgate.commands.cache import read_info
from pixelgate.commands.console import aligned, print_json, print_lines, size_text
from pixelgate.commands.data import status_json, statuses
from pixelgate.commands.demo import missing_methods
from pixelgate.commands.weights import advice, source_lines
from pixelgate.errors import PixelgateError

_PLUGIN = "bench_outputs"
# What a user gains by an extra that is not installed; other extras are for working on pixelgate itself.
_GAINS = {
    "data": "to fetch data sets",
    "fast": "for faster pixel metrics",
    "video": "to read clips",
    "xdist": "to score with several processes (pytest -n 2)",
}
_DETAILS = """\
Exit status 0 where the main job, pytest --bench-outputs=DIR, can run here with all metrics but those of large networks
(OpenCLIP, DINO, DreamSim), else 1. Nothing is downloaded."""


@dataclass
class _Findings:
    """What was found: the sections for scripts, their lines for people, and the next steps."""

    data: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    needed: list[str] = field(default_factory=list)
    optional: list[str] = field(default_factory=list)

    def section(self, title: str, lines: list[str]) -> None:
        self.lines += [f"{title}:", *(f"  {line}" for line in lines), ""]


def add(commands: Commands) -> None:
    """Declare the subcommand."""
    parser = add_command(
        commands,
        "doctor",
        run,
        "show what is installed and found here, and what to run next",
        details=_DETAILS,
        examples=("pixelgate doctor", "pixelgate doctor --json", "pixelgate doctor --data my-photos"),
    )
    add_data(parser)
    parser.add_argument("--weights", metavar="PATH", help="look for network weights in this file or folder alone")
    add_json(parser)
    own_options(parser, {"data": "--data", "weights": "--weights"})


def run(args: argparse.Namespace) -> int:
    """Look at everything and print it; 1 where the main job cannot run with all metrics."""
    found = _Findings()
    _look_at_packages(found)
    _look_at_extras(found)
    _look_at_weights(found, args)
    _look_at_metrics(found, args)
    _look_at_data(found, args)
    _look_at_cache(found)
    if args.json:
        steps = {"needed": found.needed, "optional": found.optional}
        print_json({"ready": not found.needed, **found.data, "next": steps})
    else:
        print_lines([*found.lines, *_next_lines(found)])
    return 1 if found.needed else 0


def _next_lines(found: _Findings) -> list[str]:
    if found.needed:
        lines = ["The main job cannot run with all metrics yet. Next:", *(f"  {step}" for step in found.needed)]
    else:
        lines = ["The main job can run with all metrics: pytest --bench-outputs=DIR"]
    return [*lines, *(["If you want:", *(f"  {step}" for step in found.optional)] if found.optional else [])]


def _look_at_packages(found: _Findings) -> None:
    from pixelgate.results import library_versions

    versions = library_versions()
    plugin = any(entry.name == _PLUGIN for entry in metadata.entry_points(group="pytest11"))
    found.data |= {"executable": sys.executable, "versions": versions, "plugin_registered": plugin}
    lines = aligned([*versions.items(), ("executable", sys.executable)])
    found.section("versions", [*lines, f"pytest plugin {'registered' if plugin else 'not registered'}"])
    if not plugin:
        found.needed.append("pip install --force-reinstall --no-deps pixelgate   (its pytest plugin is not registered)")
    if _installed("pytest-bench") is not None:
        found.needed.append(
            "pip uninstall pytest-bench   (an older package of another origin; its plugin and pixelgate's clash)"
        )


def _look_at_extras(found: _Findings) -> None:
    extras = _extras()
    found.data["extras"] = {name: {"installed": not missing, "missing": missing} for name, missing in extras.items()}
    rows = [(name, f"missing {', '.join(missing)}" if missing else "installed") for name, missing in extras.items()]
    found.section("extras", aligned(rows))
    for name, missing in extras.items():
        if missing and name in _GAINS:
            found.optional.append(f"pip install 'pixelgate[{name}]'   ({_GAINS[name]})")
    _, commands = missing_methods()
    found.optional += [f"{command}   (for the demo)" for command in commands]


def _extras() -> dict[str, list[str]]:
    """Extra -> its requirements that are not met, with what is installed of them."""
    from packaging.requirements import Requirement

    try:
        own = metadata.metadata("pixelgate")
    except metadata.PackageNotFoundError:
        return {}
    requirements = [Requirement(text) for text in metadata.requires("pixelgate") or []]
    return {
        extra: [
            _lacking(one)
            for one in requirements
            if one.marker and one.marker.evaluate({"extra": extra}) and not one.marker.evaluate({"extra": ""})
            if not _meets(one.name, str(one.specifier))
        ]
        for extra in own.get_all("Provides-Extra") or []
    }


def _meets(name: str, specifier: str) -> bool:
    from packaging.specifiers import SpecifierSet

    version = _installed(name)
    return version is not None and SpecifierSet(specifier).contains(version, prereleases=True)


def _lacking(requirement: Any) -> str:
    version = _installed(requirement.name)
    here = f" ({version} is here)" if version is not None else ""
    return f"{requirement.name}{requirement.specifier}{here}"


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _look_at_weights(found: _Findings, args: argparse.Namespace) -> None:
    from pixelgate.models.alexnet_weights import status

    sources = status(args.weights)
    found.data["weights"] = [asdict(source) for source in sources]
    found.section("weights of LPIPS, in the order they are tried", [line.strip() for line in source_lines(sources)])
    if not any(source.verified for source in sources):
        found.needed += advice()


def _look_at_metrics(found: _Findings, args: argparse.Namespace) -> None:
    from pixelgate.protocols import available_protocols, load_protocol

    rows: list[dict[str, Any]] = []
    for protocol in map(load_protocol, available_protocols()):
        for entry in protocol.metrics:
            rows.append({"protocol": protocol.id, "id": entry.id, **_backend(protocol, entry.id, found, args)})
    found.data["metrics"] = rows
    alike: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        # Of a problem its first line; the rest stands below, with what to do about it.
        words = row["problem"].splitlines()[0] if row["problem"] else _words(row["backend"])
        alike.setdefault((row["protocol"], words), []).append(row["id"])
    shown = [(protocol, _few(ids), words) for (protocol, words), ids in alike.items()]
    found.section("metrics, and what computes them", aligned(shown))
    for row in rows:
        problem = row["problem"]
        # Metrics of large networks are optional: runs leave them out with --bench-metrics.
        steps = found.optional if row["id"] in _LARGE_NETWORKS else found.needed
        if problem and problem != _NO_WEIGHTS and problem not in steps:
            steps.append(problem)


def _few(ids: list[str]) -> str:
    return ", ".join(ids) if len(ids) <= _SHOWN else f"{', '.join(ids[:2])} and {len(ids) - 2} more"


_SHOWN = 3
_LARGE_NETWORKS = ("openclip", "dino", "dreamsim")
_OFFLINE = "PIXELGATE_OFFLINE"
_NO_WEIGHTS = "cannot run: no weights"


def _backend(protocol: Any, metric_id: str, found: _Findings, args: argparse.Namespace) -> dict[str, Any]:
    from pixelgate.columns import Settings, bind_columns
    from pixelgate.metrics.registry import Runtime, get_metric

    # Binding LPIPS without weights would try to download them.
    learned = protocol.metric(metric_id).metric in ("lpips", "unit_lpips", "inpaint_lpips")
    if learned and not any(source["verified"] for source in found.data["weights"]):
        return {"backend": None, "problem": _missing_package() or _NO_WEIGHTS}
    try:
        with _offline():
            settings = Settings((metric_id,), Runtime(weights=args.weights))
            (column,) = bind_columns(protocol, settings, get_metric(protocol.metric(metric_id).metric).group)
    except PixelgateError as error:
        return {"backend": None, "problem": str(error)}
    return {"backend": dict(column.scorer.fingerprint), "problem": None}


@contextlib.contextmanager
def _offline() -> Iterator[None]:
    # The large networks' weights would be downloaded where they are missing.
    before = os.environ.get(_OFFLINE)
    os.environ[_OFFLINE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_OFFLINE]
        else:
            os.environ[_OFFLINE] = before


def _missing_package() -> str:
    from pixelgate.models.lpips_network import check_package

    try:
        check_package()
    except PixelgateError as error:
        return str(error)
    return ""


def _words(backend: dict[str, str]) -> str:
    # The digests are those of the sections above.
    shown = {key: value for key, value in backend.items() if key not in ("weights", "heads")}
    return ", ".join(value if key == "backend" else f"{key} {value}" for key, value in shown.items())


def _look_at_data(found: _Findings, args: argparse.Namespace) -> None:
    from pixelgate.tracks import data_home

    try:
        states = statuses(args.data)
    except PixelgateError as error:
        found.data["data"] = {"home": str(data_home()), "tracks": [], "problem": str(error)}
        found.section("data sets", str(error).splitlines())
        found.optional.append("mend the data sets; see: pixelgate data list")
        return
    found.data["data"] = {"home": str(data_home()), "tracks": [status_json(one) for one in states], "problem": None}
    rows = [(one.track.id, one.state, str(one.data.root) if one.data else "-") for one in states]
    found.section(f"data sets, in {data_home()}", aligned(rows))
    for one in states:
        if one.state in ("absent", "incomplete"):
            found.optional.append(f"{one.mend.removeprefix('Run: ')}   (track {one.track.id}: {one.state})")


def _look_at_cache(found: _Findings) -> None:
    from pixelgate.cache import default_cache_folder

    folder = default_cache_folder()
    try:
        info = read_info(folder)
    except PixelgateError as error:
        found.data["cache"] = {"folder": str(folder), "entries": None, "bytes": None, "problem": str(error)}
        found.section("score cache", [str(error)])
        found.needed.append(str(error))
        return
    found.data["cache"] = {"folder": str(folder), "entries": info.entries, "bytes": info.size, "problem": None}
    found.section("score cache", [f"{folder}: {info.entries} scores, {size_text(info.size)}"])
