"""From a scored case to a group's results."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixelgate.case import Case
from pixelgate.errors import Problem
from pixelgate.flexbench.results import results_data
from pixelgate.flexbench.scored import group_of, group_results, why_unscored
from pixelgate.protocols import load_protocol
from pixelgate.records import Deviation, ImageRecord, Note
from pixelgate.scores import CaseScores, SampleScore

PROTOCOL = load_protocol("flexbench")


def sample(name: str, notes: tuple[Note, ...] = (), **values: float | None) -> SampleScore:
    reasons = {key: "nobody is there" for key, value in values.items() if value is None}
    return SampleScore(name, values, reasons, ImageRecord(f"{name}.mp4", "", "", 8, 8), notes=notes)


def scored(
    metrics: tuple[str, ...], *samples: SampleScore, expected: tuple[str, ...] = (), **more: object
) -> CaseScores:
    ids = expected or tuple(one.sample for one in samples)
    return CaseScores(Case("m", "flexbench-x", folder=Path("m")), metrics, ids, samples, **more)  # type: ignore[arg-type]


def test_names_have_no_group_and_nothing_is_lost() -> None:
    note = Note("b", "psnr-capped", "capped")
    scores = scored(
        ("inpaint_psnr", "inpaint_ssim"),
        sample("a", inpaint_psnr=30.0, inpaint_ssim=None),
        sample("b", (note, note), inpaint_psnr=40.0, inpaint_ssim=0.5),
        expected=("a", "b", "c", "d", "e"),
        unscored={"c": "missing-output", "d": "missing-reference", "e": "video-intact"},
        problems=(Problem("m/e.mp4", "video-intact", "is cut short.", "Encode it again."),),
        deviations=(Deviation("a", "truncated", "12 and 10 frames"),),
        extra=("z.mp4",),
    )
    assert group_of(scores, PROTOCOL) == "inpainting"
    found = group_results(scores, PROTOCOL)
    assert (found.label, found.metrics) == ("inpaint", ("psnr", "ssim"))
    assert found.per_sample == {"a": {"psnr": 30.0, "ssim": None}, "b": {"psnr": 40.0, "ssim": 0.5}}
    assert found.reasons == {"a": {"ssim": "nobody is there"}}
    told = found.accounting
    assert told.expected == ("a", "b", "c", "d", "e")
    assert (told.missing_output, told.missing_reference, told.extra) == (("c",), ("d",), ("z.mp4",))
    assert told.failed == {"e": "e.mp4: is cut short. [video-intact]"}
    assert found.unaccounted == ()
    assert found.notes == (Note("a", "truncated", "12 and 10 frames"), note)
    assert found.protocol == {"id": "flexbench", "version": "1", "params_sha256": PROTOCOL.params_hash}
    assert results_data(found)["mean"] == {"psnr": 35.0, "ssim": 0.5}


def test_samples_without_a_prediction_have_failed() -> None:
    problem = Problem("p/depth", "missing-prediction", "there is no depth prediction of the clip '10'.", "Run it.")
    scores = scored(
        ("depth_mae",),
        sample("1", depth_mae=1.0),
        expected=("1", "10"),
        unscored={"10": "missing-prediction"},
        problems=(problem,),
    )
    assert group_results(scores, PROTOCOL).accounting.failed == {
        "10": "depth: there is no depth prediction of the clip '10'. [missing-prediction]"
    }


def test_what_was_excused_keeps_its_words() -> None:
    text = "there is no pose prediction of the clip 'a'. means are over the samples left"
    scores = scored(
        ("pose_akd",),
        sample("b", pose_akd=1.0),
        expected=("a", "b"),
        unscored={"a": "missing-prediction"},
        deviations=(Deviation("a", "missing-prediction", text),),
    )
    assert group_results(scores, PROTOCOL).accounting.failed == {"a": f"{text} [missing-prediction]"}


@pytest.mark.parametrize(
    "file", ["p/a_pose.npy", "d/pose/raw/a_pose.npy", "p/a.npz", "m/a.mp4", "p/a_scores.npy", "p/a_droid.npz"]
)
def test_a_problem_belongs_to_the_sample_of_its_file(file: str) -> None:
    other = Problem("m/aa.mp4", "r", "is another's.", "-")
    scores = scored(
        ("pose_akd",),
        expected=("a", "aa", "a_"),
        unscored={"a": "r", "aa": "r"},
        problems=(Problem(file, "r", "is wrong.", "-"), other),
    )
    assert why_unscored(scores, "a", "r") == f"{Path(file).name}: is wrong. [r]"
    assert why_unscored(scores, "aa", "r") == "aa.mp4: is another's. [r]"


def test_an_id_that_ends_like_a_suffix_keeps_its_own_file() -> None:
    problem = Problem("m/a_pose.mp4", "r", "is wrong.", "-")
    scores = scored(("pose_akd",), expected=("a", "a_pose"), unscored={"a": "r", "a_pose": "r"}, problems=(problem,))
    assert why_unscored(scores, "a_pose", "r") == "a_pose.mp4: is wrong. [r]"
    assert why_unscored(scores, "a", "r") == "[r]"


def test_all_problems_of_a_sample_are_told() -> None:
    problems = (Problem("m/a.mp4", "r", "is wrong.", "-"), Problem("d/a.mp4", "s", "is wrong too.", "-"))
    scores = scored(("pose_akd",), expected=("a", "b"), unscored={"a": "r"}, problems=problems)
    assert why_unscored(scores, "a", "r") == "a.mp4: is wrong. [r]; a.mp4: is wrong too. [s]"


def test_a_file_of_all_samples_fails_them_all() -> None:
    problem = Problem("ds/captions.json", "captions", "holds a list, no object.", "-")
    unscored = {"a": "captions", "b": "captions"}
    scores = scored(("text_consistency",), expected=("a", "b"), unscored=unscored, problems=(problem, problem))
    wanted = "captions.json: holds a list, no object. [captions]"
    assert group_results(scores, PROTOCOL).accounting.failed == {"a": wanted, "b": wanted}


def test_a_problem_of_nobody_known_is_the_only_candidates() -> None:
    problem = Problem("ds/odd", "r", "is wrong.", "-")
    scores = scored(("text_consistency",), expected=("a", "b"), unscored={"b": "r"}, problems=(problem,))
    assert why_unscored(scores, "b", "r") == "odd: is wrong. [r]"


def test_own_choices_stand_beside_the_protocol() -> None:
    choice = Deviation("inpainting", "choice", "lpips.net vgg instead of the protocol's alex")
    scores = scored(("inpaint_lpips",), sample("a", inpaint_lpips=0.5), deviations=(choice,))
    assert group_results(scores, PROTOCOL).protocol["choices"] == [choice.message]
