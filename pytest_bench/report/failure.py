"""The text of a failed case: every problem and every difference at once, in one table."""

from __future__ import annotations

from collections.abc import Mapping

from pixelgate.aggregate import Aggregate
from pixelgate.protocols import Protocol
from pixelgate.scores import CaseScores
from pytest_bench.golden import UPDATE, Difference, Verdict
from pytest_bench.options import Options

_NAMES_SHOWN = 10


def describe(
    scores: CaseScores,
    aggregates: Mapping[str, Aggregate],
    verdict: Verdict,
    protocol: Protocol,
    options: Options,
) -> str:
    """Why a case fails; empty where it passes.

    Golden numbers are no reason to fail while they are being updated, nor for a baseline that nobody wrote.
    """
    parts = []
    if scores.problems:
        count = len(scores.problems)
        parts.append(f"{count} problem{'s' if count > 1 else ''} with the files:")
        parts += [f"  {problem}" for problem in scores.problems]
    parts += _faults(scores, protocol, options)
    without = [(key, result.reason) for key, result in aggregates.items() if result.failed]
    if without and not scores.problems:
        parts += [f"{key} has no mean: {reason}{_reasons(scores, key)}" for key, reason in without]
    elif not options.update_golden and not scores.problems:
        parts += _golden(scores, verdict, protocol, options)
    return "\n".join(parts)


def _reasons(scores: CaseScores, metric: str) -> str:
    """Why the first samples have no value."""
    found = [f"{s.sample}: {reason}" for s in scores.samples if (reason := s.reasons.get(metric))]
    return f" ({'; '.join(found[:3])}{'; ...' if found[3:] else ''})" if found else ""


def _faults(scores: CaseScores, protocol: Protocol, options: Options) -> list[str]:
    """Deviations that are evidence of a fault in an output, unless the run allows them."""
    rules = protocol.faults - set(options.allow_deviation)
    found = [deviation for deviation in scores.deviations if deviation.rule in rules]
    mend = "Mend the outputs, or accept it with --bench-allow-deviation RULE (it stays a recorded deviation)."
    return [*(f"{item.subject}: {item.message} [{item.rule}]" for item in found), *([mend] if found else [])]


def _golden(scores: CaseScores, verdict: Verdict, protocol: Protocol, options: Options) -> list[str]:
    if verdict.status == "passed":
        return []
    if verdict.status in ("no-golden", "not-gated"):
        excused = scores.case.baseline or (verdict.status == "not-gated" and not options.require_golden)
        why = f"{verdict.problem}." if verdict.problem else "there are no golden numbers for this case."
        return [] if excused else [f"{why} {UPDATE}"]
    if verdict.problem:
        return [verdict.problem]
    return [*_headline(scores, verdict), *_table(verdict, protocol), UPDATE]


def _headline(scores: CaseScores, verdict: Verdict) -> list[str]:
    failed = sum(not difference.passed for difference in verdict.differences)
    lines = [f"{failed} of {len(verdict.differences)} metrics are not at their golden numbers ({verdict.file})"]
    changed = verdict.changed_outputs
    what = "clips, with their predictions," if scores.case.groups else "pictures"
    if changed:
        names = ", ".join(changed[:_NAMES_SHOWN]) + (" ..." if len(changed) > _NAMES_SHOWN else "")
        lines.append(
            f"outputs differ: {len(changed)} of {len(scores.samples)} {what} are not the ones that the golden "
            f"numbers were written from: {names}"
        )
    elif any(not difference.passed and not difference.why for difference in verdict.differences):
        lines.append(
            f"metric moved: the {what} are the ones that the golden numbers were written from, so the golden file, "
            "the metric or its libraries changed"
        )
    return lines


def _table(verdict: Verdict, protocol: Protocol) -> list[str]:
    head = ("metric", "got", "expected", "difference", "tolerance", "samples that moved most")
    rows = [head, *(_row(difference, protocol) for difference in verdict.differences if not difference.passed)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def _row(difference: Difference, protocol: Protocol) -> tuple[str, str, str, str, str, str]:
    got, expected = difference.got, difference.expected
    gap = "–" if got is None or expected is None else f"{got - expected:+.3g}"
    tolerance = "–" if difference.tolerance is None else f"{difference.tolerance:.3g}"
    moved = "; ".join(f"{sample} {old:.6g} {new - old:+.3g}" for sample, new, old in difference.worst)
    unmoved = "no sample moved: the golden value itself changed" if difference.recorded else "none is recorded"
    title = protocol.metric(difference.metric).title
    return (title, _number(got), _number(expected), gap, tolerance, difference.why or moved or unmoved)


def _number(value: float | None) -> str:
    return "–" if value is None else repr(value)
