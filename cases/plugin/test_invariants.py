"""Each invariant fails where it should, shown with a metric that breaks it."""

from __future__ import annotations

import jsonschema
import pytest
from bench_project import INVARIANTS, MEAN_DIFFERENCE, Project, load, outcomes, text_of

from pixelgate import aggregate, invariants
from pixelgate.aggregate import Bootstrap
from pixelgate.cache import ScoreCache
from pixelgate.case import Case
from pixelgate.columns import Settings
from pixelgate.engine import Engine
from pixelgate.errors import ProtocolError
from pixelgate.invariants import Subject, check_invariant
from pixelgate.protocols import load_protocol
from pixelgate.tracks import load_track, locate
from pytest_bench.report.writing import schema

RANDOM = "return Measurement(float(np.random.default_rng().random()))"


def broken_invariants(project: Project, *args: str) -> tuple[dict[str, str], pytest.RunResult]:
    """The invariants of ``warm`` that failed, with their messages, and the run."""
    result = project.run("-k", "warm", "--bench-report=report", *args, metrics=None)
    assert "INTERNALERROR" not in text_of(result)
    report = project.report()
    jsonschema.validate(report, schema())
    checks = [check for check in report["checks"] if check["kind"] == "invariant"]
    assert [check["subject"].split("/")[-1] for check in checks] == sorted(INVARIANTS)
    return {c["subject"].split("/")[-1]: c["message"] for c in checks if c["outcome"] == "failed"}, result


def test_a_sound_metric_breaks_none(project: Project) -> None:
    project.probe()
    broken, result = broken_invariants(project)
    assert broken == {}
    assert result.parseoutcomes() == outcomes(passed=10, deselected=20)


def test_repeatable(project: Project) -> None:
    project.probe(RANDOM)
    broken, _ = broken_invariants(project)
    assert "repeatable" in broken
    assert "probe is 0." in broken["repeatable"]
    assert "psnr" not in broken["repeatable"]
    assert "warm/toy/full: the invariant 'repeatable' does not hold" in broken["repeatable"]


def test_repeatable_within_the_metrics_own_noise(project: Project) -> None:
    project.probe(f"{MEAN_DIFFERENCE[:-1]} + 1e-4 * np.random.default_rng().random())", noise=1e-3)
    broken, _ = broken_invariants(project)
    assert "repeatable" not in broken


def test_perfect_output(project: Project) -> None:
    project.probe("return Measurement(1.0)")
    broken, _ = broken_invariants(project)
    assert set(broken) == {"perfect-output"}
    assert "against itself: probe is 1.0 and not 0.0" in broken["perfect-output"]


def test_perfect_output_of_outputs_that_equal_their_reference(project: Project) -> None:
    """A metric that is right on the smallest sample and wrong on another."""
    for sample in "abc":
        project.output(sample).write_bytes((project.data / "toy" / "gt" / f"{sample}.png").read_bytes())
    wrong = load(project.data / "toy" / "gt" / "c.png")[0, 0].tolist()
    project.probe(f"return Measurement(0.5 if output[0, 0].tolist() == {wrong} else 0.0)")
    broken, _ = broken_invariants(project)
    assert "c (output equals reference): probe is 0.5" in broken["perfect-output"]


def test_range(project: Project) -> None:
    project.probe(high=2.0)
    broken, _ = broken_invariants(project)
    assert set(broken) == {"range"}
    assert "outside 0.0 to 2.0" in broken["range"]
    for sample in "abc":
        assert f"{sample}: probe is" in broken["range"]


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_value_that_is_no_number(project: Project, value: str) -> None:
    """It becomes null with its reason, the case fails, and the JSON stays JSON."""
    project.probe(f"return Measurement(float({value!r}) if output.mean() > prepared.mean() else 0.0)")
    broken, result = broken_invariants(project)
    assert "range" in broken
    assert f"the metric gave {value}" in broken["range"]
    case = project.case("warm")
    assert case["outcome"] == "failed"
    assert "Probe has no mean" in case["message"] or "probe has no mean" in case["message"]
    assert {sample["values"]["probe"] for sample in case["samples"]} == {None}
    assert {sample["reasons"]["probe"] for sample in case["samples"]} == {f"the metric gave {value}"}
    assert case["summary"]["metrics"]["probe"]["mean"] is None
    assert "no value for 3 of 3 samples: a, b, c" in case["summary"]["metrics"]["probe"]["reason"]
    assert case["summary"]["metrics"]["psnr"]["mean"] > 0
    csv = (project.root / "report" / "toy" / "warm" / "metrics.csv").read_text(encoding="utf-8")
    assert [line.split(",")[2] for line in csv.splitlines()[1:]] == ["", "", ""]
    result.stdout.fnmatch_lines(["warm*±*–*FAILED*"])
    texts = [path.read_text(encoding="utf-8") for path in (project.root / "report").rglob("*.json")]
    assert not any(word in text for text in texts for word in ("NaN", "Infinity"))


def test_one_value_that_is_missing_leaves_no_mean(project: Project) -> None:
    project.probe(
        "return Measurement(None, 'too dark') if output.mean() < LIMIT else Measurement(0.0)".replace("LIMIT", "1e9")
    )
    broken, _ = broken_invariants(project)
    assert "a: probe has no value: too dark" in broken["range"]
    assert "too dark" in str(project.case("warm")["samples"])


def test_sample_count(project: Project) -> None:
    project.probe()
    project.output("b").unlink()
    broken, _ = broken_invariants(project)
    assert set(broken) == {"sample-count"}
    assert "2 of the track's 3 samples were scored; without a score: b" in broken["sample-count"]
    broken, _ = broken_invariants(project, "--bench-allow-missing")
    assert broken == {}


def test_nothing_was_scored(project: Project) -> None:
    project.probe()
    for sample in "abc":
        project.output(sample).unlink()
    broken, _ = broken_invariants(project)
    assert set(broken) == set(INVARIANTS)
    assert "no sample was scored" in broken["order-free"]


def test_a_metric_that_raises_is_told_with_its_place(project: Project) -> None:
    project.probe("raise ValueError('the lens cap is on')")
    result = project.run("-k", "test_case", "--bench-report=report", metrics=None)
    assert result.parseoutcomes() == outcomes(failed=3, deselected=27)
    text = text_of(result)
    assert "the lens cap is on" in text
    assert "conftest.py" in text
    assert "INTERNALERROR" not in text
    jsonschema.validate(project.report(), schema())
    assert project.case("warm")["summary"] is None


class TestOnScores:
    """Invariants that no metric can break, held against scores and means that were tampered with."""

    @pytest.fixture
    def subject(self, project: Project) -> Subject:

        track = load_track("toy", [project.data])
        settings = Settings(("psnr", "ssim"))
        engine = Engine(locate(track, [project.data]), load_protocol("pstbench"), settings, ScoreCache(None))
        case = Case("warm", "toy", folder=project.outputs / "warm" / "toy")
        return Subject(engine.score(case), engine, Bootstrap(1000, 0, 0.95))

    @pytest.mark.parametrize("name", INVARIANTS)
    def test_all_hold(self, subject: Subject, name: str) -> None:
        assert check_invariant(name, subject) == []

    def test_an_unknown_name(self, subject: Subject) -> None:
        with pytest.raises(ProtocolError, match="unknown invariant 'tidy'; known: hints-nested, interval-holds-mean"):
            check_invariant("tidy", subject)

    def test_mean_of_samples(self, subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
        honest = invariants.metrics_csv
        monkeypatch.setattr(invariants, "metrics_csv", lambda scores: honest(scores).replace(",3", ",4"))
        (failure,) = check_invariant("mean-of-samples", subject)
        assert failure.startswith("psnr: the mean is 36.")

    def test_interval_holds_mean(self, subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
        honest = aggregate.bootstrap_interval

        def shifted(values, **kwargs):
            interval = honest(values, **kwargs)
            return type(interval)(**{**interval.__dict__, "low": interval.high})

        monkeypatch.setattr(aggregate, "bootstrap_interval", shifted)
        failures = check_invariant("interval-holds-mean", subject)
        assert [failure.split(":")[0] for failure in failures] == ["psnr", "ssim"]

    def test_order_free(self, subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
        honest = aggregate.bootstrap_interval
        monkeypatch.setattr(
            aggregate, "bootstrap_interval", lambda values, **kwargs: honest(list(values)[:2], **kwargs)
        )
        failures = check_invariant("order-free", subject)
        assert [failure.split(":")[0] for failure in failures] == ["psnr", "ssim"]
        assert "in reverse order" in failures[0]
