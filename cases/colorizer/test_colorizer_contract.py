"""What a function is given, what it may do, and what it must give back."""

from __future__ import annotations

import hashlib
from functools import partial

import numpy as np
import pytest
from colorizer_tools import GRID, line_art, paste, picture, rules, samples
from PIL import Image

from pixelgate.colorizer import ColorizerError, evaluate_colorizer, hint_fill_colorizer, plain_colorizer
from pixelgate.errors import InputError, ProtocolError
from pixelgate.hints import Hints, generate_hints, save_maps

ALWAYS = {"index", "name", "alpha", "hint_type", "line_art", "hint_color", "hint_mask"}


def run(model, given=None, **options):
    options = {"alphas": GRID, "metrics": ("mse",), "backend": "pillow", **options}
    return evaluate_colorizer(model, samples() if given is None else given, **options)


def test_the_function_sees_what_a_model_may_see():
    seen = []

    def model(sample):
        seen.append(sample)
        return plain_colorizer(sample)

    result = run(model, hint_type="dot")
    assert [(s["index"], s["name"], s["alpha"]) for s in seen] == [
        (index, f"{index:06d}.png", alpha) for index in (0, 1) for alpha in GRID
    ]
    for sample in seen:
        assert set(sample) == ALWAYS
        assert sample["hint_type"] == "dot"
        assert sample["hint_color"].shape == (24, 40, 3)
        assert sample["line_art"].shape == sample["hint_mask"].shape == (24, 40)
        assert {sample[key].dtype for key in ("hint_color", "hint_mask", "line_art")} == {np.dtype(np.uint8)}
        assert set(np.unique(sample["hint_mask"])) <= {0, 255}
    assert not result.oracle
    assert result.n_images == 2


def test_hints_are_those_of_the_ground_truth_in_rgb():
    given = samples(1)
    hints = generate_hints(given[0][1])
    for alpha in GRID:
        colour, mask = hints.at_ratio(alpha, "scribble", (24, 40))

        def model(sample, alpha=alpha, colour=colour, mask=mask):
            if sample["alpha"] == alpha:
                assert np.array_equal(sample["hint_color"], colour)
                assert np.array_equal(sample["hint_mask"], mask)
            return plain_colorizer(sample)

        run(model, given)


def test_an_oracle_sees_more_and_the_run_is_marked():
    seen = []

    def model(sample):
        seen.append(sample)
        return sample["ground_truth"].copy()

    result = run(model, oracle=True)
    assert set(seen[0]) == ALWAYS | {"ground_truth", "hints", "n_regions"}
    assert isinstance(seen[0]["hints"], Hints)
    assert seen[0]["n_regions"] == seen[0]["hints"].n_regions
    assert result.oracle
    assert result.to_json()["oracle"] is True
    assert any("oracle" in text for text in result.protocol["departures"])
    assert result.hint_auc == {"mse": 0.0}


def test_every_array_is_read_only_and_fresh():
    def model(sample):
        hints = sample["hints"]
        arrays = [sample[key] for key in ("line_art", "hint_color", "hint_mask", "ground_truth")]
        arrays += [hints.labels, hints.flatten, hints.areas, hints.scribble_mask]
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
        with pytest.raises(TypeError):
            sample["alpha"] = 1.0
        output = hint_fill_colorizer(sample)
        # One that insists spoils its own copies only.
        for array in arrays:
            array.flags.writeable = True
            array[...] = 7
        return output

    assert run(model, oracle=True).values == run(hint_fill_colorizer, oracle=True).values


def test_what_is_given_stays_as_it_is():
    given = samples()
    before = [(art.copy(), truth.copy()) for art, truth in given]
    run(paste, given)
    for (art, truth), (art_before, truth_before) in zip(given, before, strict=True):
        assert np.array_equal(art, art_before)
        assert np.array_equal(truth, truth_before)
        assert art.flags.writeable


def test_an_output_that_is_changed_later_does_not_change_the_score():
    buffer = np.zeros((24, 40, 3), dtype=np.uint8)

    def model(sample):
        buffer[:] = int(100 * sample["alpha"])
        return buffer

    values = run(model).values["mse"]["000000.png"]
    assert len(set(values)) == 3


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (lambda s: s["line_art"].copy(), r"uint8, shape \(24, 40\)"),
        (lambda s: np.zeros((24, 40, 3)), r"float64, shape \(24, 40, 3\)"),
        (lambda s: np.zeros((24, 40, 4), np.uint8), r"uint8, shape \(24, 40, 4\)"),
        (lambda s: np.zeros((40, 24, 3), np.uint8), r"uint8, shape \(40, 24, 3\)"),
        (lambda s: None, "a NoneType"),
        (lambda s: Image.new("RGB", (40, 24)), "an Image"),
    ],
)
def test_a_wrong_output_is_one_clear_error(output, found):
    def model(sample):
        return output(sample) if (sample["index"], sample["alpha"]) == (1, 0.5) else plain_colorizer(sample)

    with pytest.raises(ColorizerError, match=found) as error:
        run(model)
    message = str(error.value)
    assert "000001.png" in message
    assert "ratio 0.50" in message
    assert "(24, 40, 3)" in message
    assert rules(error) == ["colorizer-output"]
    assert isinstance(error.value, ValueError)


def test_what_the_function_raises_comes_through_with_the_place():
    def model(sample):
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError, match="no memory") as error:
        run(model)
    assert error.value.__notes__ == ["in sample 000000.png at ratio 0.00"]


def test_bgr_turns_every_array():
    truth = picture(3)
    seen = {}
    for order in ("rgb", "bgr"):
        given = truth if order == "rgb" else truth[..., ::-1]

        def note(sample, order=order, given=given):
            seen[order] = sample
            assert np.array_equal(sample["ground_truth"], given)
            return paste(sample)

        seen[f"{order} values"] = run(note, [(line_art(), given)], channel_order=order, oracle=True).values
    assert np.array_equal(seen["rgb"]["hint_color"], seen["bgr"]["hint_color"][..., ::-1])
    assert np.array_equal(seen["rgb"]["hints"].flatten, seen["bgr"]["hints"].flatten[..., ::-1])
    assert not np.array_equal(seen["rgb"]["hint_color"], seen["bgr"]["hint_color"])
    assert seen["rgb values"] == seen["bgr values"]


def test_the_oracle_baseline_fits_both_orders():
    truth = picture(3)
    rgb = run(hint_fill_colorizer, [(line_art(), truth)], oracle=True)
    bgr = run(hint_fill_colorizer, [(line_art(), truth[..., ::-1])], oracle=True, channel_order="bgr")
    assert rgb.values == bgr.values


def test_the_oracle_baseline_needs_an_oracle():
    with pytest.raises(ColorizerError, match="oracle=True") as error:
        run(hint_fill_colorizer)
    assert rules(error) == ["oracle-only"]


def test_files_and_arrays_give_the_same(tmp_path):
    art, truth = line_art(), picture(5)
    Image.fromarray(truth).save(tmp_path / "one.png")
    Image.fromarray(art).save(tmp_path / "art.png")
    files = run(paste, [(str(tmp_path / "art.png"), tmp_path / "one.png")])
    assert files.names == ("one.png",)
    assert files.values["mse"]["one.png"] == run(paste, [(art, truth)]).values["mse"]["000000.png"]


def test_line_art_of_another_size_is_resized_by_area_and_noted():
    large = np.repeat(np.repeat(line_art(), 2, axis=0), 2, axis=1)
    result = run(paste, [(large, picture(0))])
    assert result.values == run(paste, [(line_art(), picture(0))]).values
    assert [note.rule for note in result.notes] == ["resized"]


def test_orientation_is_applied_to_ground_truth_and_hints_alike(tmp_path):
    upright = picture(1)
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(np.rot90(upright)).save(tmp_path / "turned.png", exif=exif)

    def model(sample):
        assert np.array_equal(sample["ground_truth"], upright)
        return sample["ground_truth"].copy()

    result = run(model, [(line_art(), tmp_path / "turned.png")], oracle=True)
    assert result.hint_auc == {"mse": 0.0}
    assert "exif-applied" in [note.rule for note in result.notes]


def test_stored_maps_stand_in_for_new_ones(tmp_path):
    hints = generate_hints(picture(1), dot_method="mean")
    save_maps(hints, tmp_path / "000000")
    stored = run(paste, [(line_art(), picture(1))], stored_maps=tmp_path)
    assert stored.protocol["hint_maps"] == "stored"
    assert stored.protocol["path_method"] is None
    assert not any("stored" in text for text in stored.protocol["departures"])
    assert any("stored" in text for text in run(paste).protocol["departures"])
    # Equal: the maps of this picture hold no region in several pieces.
    assert stored.values == run(paste, [(line_art(), picture(1))]).values
    (tmp_path / "000000_dot_mask64.png").unlink()
    with pytest.raises(InputError, match="dot_mask64"):
        run(paste, [(line_art(), picture(1))], stored_maps=tmp_path)


def test_wrong_words_are_named_at_once():
    with pytest.raises(ColorizerError) as error:
        run(paste, hint_type="line", tie_break="first", channel_order="hsv", size=0)
    assert len(error.value.problems) == 4


@pytest.mark.parametrize("alphas", [(0.0, 0.5), (0.5, 1.0), (0.0, 0.5, 0.5, 1.0), (1.0, 0.0), (0.0, 2.0), (0.0,)])
def test_the_grid_runs_from_0_to_1(alphas):
    with pytest.raises(InputError):
        run(paste, alphas=alphas)


def test_unknown_metrics_and_backends_stop_before_the_function_runs():
    for options in ({"metrics": ("mse", "sharpness")}, {"backend": "torch"}):
        with pytest.raises(ProtocolError):
            run(pytest.fail, **options)


def test_samples_are_checked_before_the_function_runs(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        Image.fromarray(picture()).save(tmp_path / folder / "x.png")
    art = line_art()
    wrong = {
        "no-samples": [],
        "sample-pair": [art],
        "not-a-file": [(art, tmp_path / "none.png"), (tmp_path, picture())],
        "sample-name": [(art, tmp_path / "a" / "x.png"), (art, tmp_path / "b" / "x.png")],
        "nothing-to-do": samples(),
    }
    for rule, given in wrong.items():
        with pytest.raises(ColorizerError) as error:
            run(pytest.fail, given, **({"metrics": ()} if rule == "nothing-to-do" else {}))
        assert rules(error) == [rule]


def test_names_that_differ_in_case_only_are_refused(tmp_path):
    for name in ("a/x.png", "b/X.png"):
        (tmp_path / name).parent.mkdir()
        Image.fromarray(picture()).save(tmp_path / name)
    with pytest.raises(ColorizerError, match="distinct names"):
        run(pytest.fail, [(line_art(), tmp_path / "a" / "x.png"), (line_art(), tmp_path / "b" / "X.png")])


def test_progress_is_told():
    told = []
    run(paste, progress=lambda done, total, what: told.append((done, total, what)))
    assert [done for done, _, _ in told] == [1, 2, 3, 4, 5, 6]
    assert told[-1] == (6, 6, "1.00/000001.png")


def test_the_record_names_the_function():
    class Model:
        def __call__(self, sample):
            return paste(sample)

    assert run(partial(paste)).protocol["model"] == "paste"
    assert run(Model()).protocol["model"].endswith("Model")


def test_what_the_checklist_asks_for_is_named():
    record = run(paste, meta={"checkpoint": "sha256:0", "seed": 3}).protocol
    assert record["meta"] == {"checkpoint": "sha256:0", "seed": "3"}
    assert record["not_stated"] == ["split", "line_art_source"]
    assert not record["paper_grid"]


def test_a_checkpoint_is_hashed(tmp_path):
    (tmp_path / "model.pt").write_bytes(b"weights")
    digest = hashlib.sha256(b"weights").hexdigest()
    record = run(paste, meta={"checkpoint": tmp_path / "model.pt"}).protocol
    assert record["meta"] == {"checkpoint": f"model.pt sha256:{digest}"}
