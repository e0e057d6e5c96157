"""Setting up a run with outputs: registering other plugins' definitions, cases, golden folders, reporters."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from pixelgate.errors import PixelgateError
from pixelgate.metrics.registry import register
from pixelgate.protocols import register_protocol
from pixelgate.tracks import register_track
from pytest_bench import fixtures, golden, rootdir, runs
from pytest_bench.collector import PREFIX, SuiteCollection
from pytest_bench.discovery import Discovery, discover
from pytest_bench.golden import find_folders
from pytest_bench.options import Options
from pytest_bench.run import Run
from pytest_bench.session import BENCH, Bench, threads_per_worker


def configure(config: pytest.Config, options: Options) -> None:
    """Find the cases and register what the run needs.

    Raises:
        pytest.UsageError: no case can be found, or a definition is wrong.
    """
    if options.show_video and options.report is None:
        raise pytest.UsageError("--bench-show-video writes into the report's folder; name it with --bench-report=DIR")
    golden.forget()
    runs.forget()
    try:
        _register_definitions(config)
        discovery = discover(options)
    except PixelgateError as error:
        raise pytest.UsageError(str(error)) from None
    if not discovery.cases:
        raise pytest.UsageError(_no_case(options, discovery))
    if not discovery.running:
        reasons = "\n".join(f"{case.id}: {case.not_run}" for case in discovery.cases)
        raise pytest.UsageError(f"--bench-outputs: nothing in {options.outputs} can be scored [not-run]\n{reasons}")
    root = rootdir.golden_root(config)
    if not (options.list or config.option.collectonly or hasattr(config, "workerinput")):
        check_writable(options)
    folders = find_folders(options.golden, root, options.update_golden)
    if options.golden is None and (root / "golden").exists() and not (root / "golden").is_dir():
        raise pytest.UsageError(f"{root / 'golden'} is no folder; golden numbers lie in a folder of that name")
    if options.golden is not None and not options.golden.is_dir() and not options.update_golden:
        raise pytest.UsageError(
            f"--bench-golden: {options.golden} is not a folder; name one, or write it with --bench-update-golden"
        )
    config.stash[BENCH] = Bench(options, discovery, folders, threads_per_worker(_workers(config)))
    config.pluginmanager.register(fixtures, f"{PREFIX}-fixtures")
    config.pluginmanager.register(SuiteCollection(config), f"{PREFIX}-collection")
    config.pluginmanager.register(Run(config, config.stash[BENCH]), f"{PREFIX}-run")
    if hasattr(config, "workerinput"):
        _register_worker(config)
    elif not options.list:
        _register_controller(config, options)


def _register_definitions(config: pytest.Config) -> None:
    for metrics in config.hook.pytest_bench_register_metrics():
        for metric in metrics:
            register(metric)
    for protocols in config.hook.pytest_bench_register_protocols():
        for protocol in protocols:
            register_protocol(protocol)
    for tracks in config.hook.pytest_bench_register_tracks():
        for track in tracks:
            register_track(Path(track))


def check_writable(options: Options) -> None:
    """Find out before scoring whether the reports can be written.

    Raises:
        pytest.UsageError: a folder cannot be made or written into.
    """
    places = [options.report, options.json.parent if options.json else None]
    for place in (place for place in places if place is not None):
        probe = place / f".pixelgate-{os.getpid()}"
        try:
            place.mkdir(parents=True, exist_ok=True)
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise pytest.UsageError(
                f"{place}: reports cannot be written there: {error.strerror or error} [not-writable] "
                "Name another place with --bench-report or --bench-json."
            ) from None


def _no_case(options: Options, discovery: Discovery) -> str:
    filters = [*options.track, *options.method, *options.ratio]
    matched = f" that the filters {', '.join(filters)} leave" if filters else ""
    seen = f" Folders without pictures there: {', '.join(discovery.ignored)}." if discovery.ignored else ""
    return (
        f"--bench-outputs: {options.outputs} holds no outputs{matched}.{seen} "
        "Wanted: DIR/<method>/<track>/<id>.png, or one method's own folder with --bench-track T"
    )


def _workers(config: pytest.Config) -> int:
    workerinput = getattr(config, "workerinput", None)
    return int(workerinput["workercount"]) if workerinput is not None else 1


def _register_worker(config: pytest.Config) -> None:
    from pytest_bench.progress import WorkerProgress

    bench = config.stash[BENCH]
    bench.progress = WorkerProgress.of(config)


def _register_controller(config: pytest.Config, options: Options) -> None:
    from pytest_bench.progress import LocalProgress, Painter, Watcher, terminal
    from pytest_bench.report.controller import Controller

    bench = config.stash[BENCH]
    junit = config.pluginmanager.has_plugin("junitxml") and not config.option.collectonly
    if options.report is not None and junit:
        # The junitxml plugin reads this in its own pytest_configure, which runs after ours.
        config.option.xmlpath = config.option.xmlpath or str(options.report / "junit.xml")
    controller = Controller(config, bench)
    config.pluginmanager.register(controller, f"{PREFIX}-controller")
    stream = terminal()
    folder: Path | None = None
    if not getattr(config.option, "numprocesses", None):
        if stream is not None:
            bench.progress = LocalProgress(config, stream)
            config.pluginmanager.register(bench.progress, f"{PREFIX}-progress")
    elif stream is not None:
        folder = Path(tempfile.mkdtemp(prefix="pixelgate-progress-"))
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        config.pluginmanager.register(Watcher(folder, Painter(config, stream)), f"{PREFIX}-progress")
    if config.pluginmanager.has_plugin("xdist") or config.pluginmanager.has_plugin("xdist.plugin"):
        from pytest_bench.xdist import XdistHooks

        hooks = XdistHooks(config, controller, folder, options.device)
        config.pluginmanager.register(hooks, f"{PREFIX}-xdist")
