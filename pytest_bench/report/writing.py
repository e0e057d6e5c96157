"""Writing the report's files: the JSON document, held against its schema, and each case's three files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pixelgate.curves import per_image_csv, per_ratio_csv
from pixelgate.flexbench.combined import combine_groups, write_combined
from pixelgate.flexbench.scored import group_results
from pixelgate.flexbench.table_columns import label_of
from pixelgate.io.files import atomic_write
from pixelgate.results import metrics_csv, summary, to_json, write_results
from pytest_bench.report.document import CaseResult, CurveResult, curve_document, run_json
from pytest_bench.session import Bench, case_folder


@cache
def schema() -> Mapping[str, Any]:
    """The JSON Schema of ``report.json``."""
    text = (resources.files("pytest_bench.report") / "schema.json").read_text(encoding="utf-8")
    loaded: Mapping[str, Any] = json.loads(text)
    return loaded


def write_all(
    config: pytest.Config,
    bench: Bench,
    cases: Sequence[CaseResult],
    curves: Sequence[CurveResult],
    document: Mapping[str, Any],
) -> list[str]:
    """Write all that the run was asked to write.

    Returns:
        The files, as they are shown to the user.

    Raises:
        InputError: a file cannot be written.
        jsonschema.ValidationError: the document breaks its own schema, which is a fault of this package.
    """
    text = to_json(document)
    # What is checked is what a reader will parse.
    jsonschema.validate(json.loads(text), schema())
    written: list[str] = []
    folder = bench.options.report
    if folder is not None:
        _write(folder / "report.json", text, written)
        scored = [result for result in cases if result.scores is not None]
        for result in scored:
            _write_case(folder, bench, result)
        for curve in curves:
            _write_curve(folder, bench, curve)
        written += _write_combined(folder, bench, cases)
        if junit := getattr(config.option, "xmlpath", None):
            written.append(str(junit))
        if scored:
            written.append(f"{folder / '<track>' / '<method>'} (metrics.csv, summary.json, run.json)")
    _add_junit_properties(config, document)
    if bench.options.json is not None:
        _write(bench.options.json, text, written)
    return written


def _write(file: Path, text: str, written: list[str]) -> None:
    atomic_write(file, text)
    written.append(str(file))


def _write_case(folder: Path, bench: Bench, result: CaseResult) -> None:
    assert result.scores is not None
    place = case_folder(folder, result.case)
    protocol = bench.discovery.protocols[result.case.track]
    content = summary(result.scores, protocol, result.aggregates)
    write_results(place, metrics_csv(result.scores), content, run_json(bench, result))


def _write_curve(folder: Path, bench: Bench, result: CurveResult) -> None:
    place = folder / result.group.track / result.group.method / result.group.variant
    atomic_write(place / "per_ratio_summary.csv", per_ratio_csv(result.aggregates, result.group.ratios))
    atomic_write(place / "areas.csv", per_image_csv(result.aggregates))
    atomic_write(place / "curve.json", to_json(curve_document(bench, result)))


def _write_combined(folder: Path, bench: Bench, cases: Sequence[CaseResult]) -> list[str]:
    """One table over all groups of each folder of generated clips and seed; a group without a valid mean is not run."""
    runs: dict[Path, list[CaseResult]] = {}
    for result in cases:
        if result.case.groups:
            place = folder / "combined" / result.case.method
            runs.setdefault(place / result.case.slice if result.case.slice != "full" else place, []).append(result)
    written: list[str] = []
    for place, members in runs.items():
        whole = [result for result in members if result.scores is not None and not result.scores.problems]
        lacking = {_label(bench, result): _why_left_out(result) for result in members if result not in whole}
        groups = [
            group_results(result.scores, bench.discovery.protocols[result.case.track])
            for result in whole
            if result.scores is not None
        ]
        if groups:
            table = combine_groups(groups, not_run=lacking)
            holes = any(table.average(column)[1] < len(table.samples) for column in table.columns)
            write_combined(place, table, common_subset=holes)
            written = [str(folder / "combined" / "<method>" / "combined_results.csv")]
    return written


def _label(bench: Bench, result: CaseResult) -> str:
    return label_of(bench.discovery.tracks[result.case.track].group)


def _why_left_out(result: CaseResult) -> str:
    if result.scores is None:
        return result.case.not_run or result.item.outcome
    return "; ".join(str(problem) for problem in result.scores.problems)


def _add_junit_properties(config: pytest.Config, document: Mapping[str, Any]) -> None:
    # The fixture that pytest offers for this is lost under xdist; its key is private, hence the guard.
    try:
        from _pytest.junitxml import xml_key
    except ImportError:
        return
    xml = config.stash.get(xml_key, None)
    if xml is None:
        return
    for track in document["tracks"]:
        name = track["track"]
        xml.add_global_property(f"{name}.protocol", track["protocol"]["id"])
        xml.add_global_property(f"{name}.params_sha256", track["protocol"]["params_sha256"])
        xml.add_global_property(f"{name}.dataset", track["dataset"]["revision"])
