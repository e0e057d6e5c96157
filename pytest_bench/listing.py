"""``--bench-list``: what would be scored, what is missing and what is cached, without scoring anything."""

from __future__ import annotations

import pytest

from pixelgate.case import Case
from pixelgate.errors import PixelgateError
from pytest_bench.discovery import metrics_of
from pytest_bench.session import BENCH, Bench


def main(config: pytest.Config) -> int:
    """Print the list and return pytest's exit code."""
    config._do_configure()
    try:
        bench = config.stash[BENCH]
        for line in lines(bench):
            print(line)
        return int(pytest.ExitCode.OK)
    finally:
        config._ensure_unconfigure()


def lines(bench: Bench) -> list[str]:
    """The list's lines."""
    out = [f"outputs: {bench.options.outputs}"]
    out += [f"ignored, no pictures in it: {name}" for name in bench.discovery.ignored]
    try:
        bench.prepare()
    except PixelgateError as error:
        return [*out, *(f"  would be scored: {case.id}" for case in bench.discovery.cases), "", *_stop(error)]
    stops = []
    for track_id in sorted(bench.discovery.tracks):
        protocol, data = bench.discovery.protocols[track_id], bench.data(track_id)
        out += ["", f"track {track_id}: protocol {protocol.id}, data set {data.revision_short}, in {data.root}"]
        all_of_them = data.track.metrics or tuple(metric.id for metric in protocol.metrics)
        wanted = [name for name in metrics_of(bench.options, protocol) if name in all_of_them] or all_of_them
        out.append(f"  metrics: {', '.join(wanted)}")
        cases = [case for case in bench.discovery.cases if case.track == track_id]
        try:
            out += [line for case in cases for line in _case_lines(bench, case)]
        except PixelgateError as error:
            out += [f"  {case.id}" for case in cases]
            stops += [line for line in _stop(error) if line not in stops]
    return [*out, *stops]


def _case_lines(bench: Bench, case: Case) -> list[str]:
    if case.not_run:
        return [f"  {case.id}: not run: {case.not_run}"]
    cached, there = bench.engine(case.track).cached(case)
    wanted = len(bench.engine(case.track).samples)
    source = f" (computed from the track's {case.baseline})" if case.baseline else ""
    head = f"  {case.id}{source}: {there} of {wanted} outputs there, {cached} cached, {there - cached} to score"
    problems = dict.fromkeys([*bench.file_problems(case), *bench.engine(case.track).outlook(case)])
    return [head, *(f"    {problem}" for problem in problems)]


def _stop(error: PixelgateError) -> list[str]:
    return ["the run would stop at once:", *(f"  {line}" for line in str(error).splitlines())]
