"""Without --bench-outputs the plugin adds nothing to other people's runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from bench_project import node_ids, outcomes, text_of

# What a plain run must not load: an import costs every pytest start in an environment with the plugin.
HEAVY = ("torch", "pandas", "numba", "scipy", "skimage", "lpips", "PIL", "jsonschema", "numpy")

TESTS = """
import pytest

def test_passes(): pass

def test_fails(): assert 0

@pytest.mark.parametrize("value", [1, 2])
def test_twice(value): pass

@pytest.mark.skip
def test_skips(): pass
"""


def modules_after(*args: str) -> tuple[int, set[str], str]:
    """Exit code, loaded modules and output of a pytest run in a fresh interpreter."""
    program = (
        "import json, sys, pytest\n"
        f"code = int(pytest.main({list(args)!r}))\n"
        "print('\\nMODULES', json.dumps([code, sorted(sys.modules)]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    text, _, tail = done.stdout.partition("\nMODULES ")
    code, modules = json.loads(tail)
    return code, set(modules), text


def run_twice(pytester: pytest.Pytester, *args: str) -> tuple[list[str], list[str], Any]:
    """The lines of a run with the plugin and without it, times and list of plugins taken out."""
    with_it = pytester.runpytest_inprocess(*args)
    without = pytester.runpytest_inprocess(*args, "-p", "no:bench_outputs")

    def plain(result: pytest.RunResult) -> list[str]:
        lines = [line for line in result.outlines if not line.startswith("plugins:")]
        return [re.sub(r"[\d.]+s\b", "", line) for line in lines]

    return plain(with_it), plain(without), with_it


def test_a_run_is_the_same_with_and_without_the_plugin(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    with_it, without, result = run_twice(pytester, "-v", "-ra")
    assert with_it == without
    assert result.parseoutcomes() == outcomes(passed=3, failed=1, skipped=1)


def test_the_same_items_are_collected(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    with_it, without, result = run_twice(pytester, "--collect-only", "-q")
    assert with_it == without
    assert len(node_ids(result)) == 5


def test_fixtures_and_markers_are_the_same(pytester: pytest.Pytester) -> None:
    for option in ("--fixtures", "--markers"):
        with_it, without, _ = run_twice(pytester, option)
        assert with_it == without


def test_a_users_own_fixture_may_be_called_bench(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def bench(): return 7

        def test_it(bench): assert bench == 7
        """
    )
    assert pytester.runpytest_inprocess().parseoutcomes() == outcomes(passed=1)


def test_an_empty_folder_stays_empty(pytester: pytest.Pytester) -> None:
    assert pytester.runpytest_inprocess().ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_the_suite_asked_for_by_name_is_one_skip_that_names_the_option(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--pyargs", "pytest_bench.suite", "-rs")
    assert result.parseoutcomes() == outcomes(skipped=1)
    assert result.ret == 0
    assert "--bench-outputs=DIR" in text_of(result)


def test_help_shows_every_option_in_one_group_and_loads_nothing_heavy() -> None:
    code, modules, text = modules_after("--help", "-p", "no:hypothesispytest", "-p", "no:anyio")
    assert code == 0
    assert modules.isdisjoint(HEAVY), sorted(modules & set(HEAVY))
    group = text.split("scoring outputs of image and video generators (pixelgate):")[1].split("\n\n")[0]
    shown = re.findall(r"^  (--bench-[a-z-]+)", group, re.MULTILINE)
    assert shown == re.findall(r"^  (--bench-[a-z-]+)", text, re.MULTILINE)
    assert set(shown) == {
        *("--bench-outputs", "--bench-data", "--bench-track", "--bench-method", "--bench-ratio", "--bench-metrics"),
        *("--bench-device", "--bench-report", "--bench-json", "--bench-golden", "--bench-update-golden"),
        *("--bench-backend", "--bench-meta"),
        *("--bench-prune-golden", "--bench-require-golden", "--bench-cache", "--bench-no-cache"),
        *("--bench-allow-missing", "--bench-allow-resize", "--bench-weights", "--bench-resamples", "--bench-seed"),
        *("--bench-conditions", "--bench-predictions", "--bench-allow-deviation", "--bench-allow-pickle"),
        *("--bench-depth-person-mask", "--bench-person-mask-dilation", "--bench-vbench-dimensions"),
        *("--bench-lpips-net", "--bench-shuffle-refs", "--bench-show-video"),
        *("--bench-junit-properties", "--bench-list"),
    }
    for option in shown:
        assert re.search(rf"^  bench_{option[8:].replace('-', '_')} \(", text, re.MULTILINE), f"no ini key of {option}"


def test_no_option_name_of_the_other_pytest_bench_is_taken(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        def pytest_addoption(parser):
            for name in ("--bench", "--bench-only", "--bench-disable-gc"):
                parser.addoption(name, action="store_true")
        """
    )
    pytester.makepyfile("def test_it(pytestconfig): assert pytestconfig.getoption('--bench')")
    result = pytester.runpytest_inprocess("--bench")
    assert result.parseoutcomes() == outcomes(passed=1)


def test_a_plain_run_loads_nothing_heavy(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): pass")
    code, modules, _ = modules_after("-p", "no:hypothesispytest", "-p", "no:anyio")
    assert code == 0
    assert modules.isdisjoint(HEAVY), sorted(modules & set(HEAVY))


@pytest.mark.parametrize(
    "option", ["--bench-update-golden", "--bench-prune-golden", "--bench-report=x", "--bench-list"]
)
def test_an_option_that_needs_outputs_says_so(pytester: pytest.Pytester, option: str) -> None:
    pytester.makepyfile("def test_it(): pass")
    result = pytester.runpytest_inprocess(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "needs --bench-outputs=DIR" in text_of(result)
    assert "Traceback" not in text_of(result)
