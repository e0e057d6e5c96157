"""The plugin's entry point: its options, and the decision whether this run scores outputs.

Loaded with every pytest start, so everything else is imported only where ``--bench-outputs`` is given.
"""

from __future__ import annotations

import pytest

from pytest_bench.options import add_options, read_options


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks that other plugins may implement."""
    from pytest_bench import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Set up a run with outputs; without them the plugin stays out of the way."""
    options = read_options(config)
    if options.outputs is not None:
        from pytest_bench import setup

        setup.configure(config, options)
    elif options.list or options.update_golden or options.prune_golden or options.report or options.json:
        raise pytest.UsageError("this --bench option needs --bench-outputs=DIR, the folder of the outputs to score")


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Answer ``--bench-list`` without running anything."""
    if config.option.help or config.option.version or not read_options(config).list:
        return None
    from pytest_bench import listing

    return listing.main(config)
