"""Each option on the command line and as an ini key: kinds, paths, and which of the two wins."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from pytest_bench.options import Options, read_options

HERE, INI = "typed", "project"

# field: (on the command line, in the ini file); None where a bare flag is given.
TEXTS = {
    "track": ("t1", "t2"),
    "method": ("m1", "m2"),
    "ratio": ("0.10", "0.20"),
    "metrics": ("psnr", "ssim"),
    "meta": ("seed=1", "split=test"),
    "conditions": ("depth", "pose"),
    "allow_deviation": ("frame-rate", "rotated"),
    "vbench_dimensions": ("motion_smoothness", "dynamic_degree"),
}
PATHS = ("outputs", "report", "json", "golden", "cache", "weights", "predictions")
FLAGS = (
    *("update_golden", "require_golden", "no_cache", "allow_missing", "allow_resize", "list", "prune_golden"),
    *("allow_pickle", "shuffle_refs", "show_video"),
)
SINGLE = {
    "device": ("cuda:1", "cuda"),
    "backend": ("pillow", "paper"),
    "resamples": ("5", "7"),
    "seed": ("3", "4"),
    "depth_person_mask": ("always", "never"),
    "person_mask_dilation": ("0.05", "0.1"),
    "lpips_net": ("vgg", "squeeze"),
    "junit_properties": ("none", "scalar"),
}


def flag(name: str) -> str:
    return f"--bench-{name.replace('_', '-')}"


@pytest.fixture
def options(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """Read the options of a run that is typed in one folder, with an ini file in another."""
    typed, project = pytester.mkdir(HERE), pytester.mkdir(INI)

    def read(*args: str, ini: str = "") -> Options:
        (project / "pytest.ini").write_text(f"[pytest]\n{ini}\n", encoding="utf-8")
        with monkeypatch.context() as patch:
            patch.chdir(typed)
            return read_options(pytester.parseconfig("-c", str(project / "pytest.ini"), *args))

    return read


def test_every_field_is_tried_here() -> None:
    assert {field.name for field in fields(Options)} == {*TEXTS, *PATHS, *FLAGS, *SINGLE, "data"}


def test_nothing_given(options) -> None:
    got = options()
    assert got == Options(
        *(
            None,
            (),
            (),
            (),
            (),
            (),
            (),
            "cpu",
            "auto",
            None,
            None,
            None,
            False,
            False,
            False,
            None,
            False,
            False,
            False,
        ),
        *(None, None, None),
        *((), None, (), False, "auto", None, (), "alex", False, False),
        *("scalar", False),
    )


@pytest.mark.parametrize("name", PATHS)
def test_paths(options, pytester: pytest.Pytester, name: str) -> None:
    typed, ini = pytester.path / HERE, pytester.path / INI
    assert getattr(options(f"{flag(name)}=some/where"), name) == typed / "some" / "where"
    assert getattr(options(ini=f"bench_{name} = some/where"), name) == ini / "some" / "where"
    assert getattr(options(f"{flag(name)}=a", ini=f"bench_{name} = b"), name) == typed / "a"
    assert getattr(options(f"{flag(name)}=/a"), name) == Path("/a")
    assert getattr(options(f"{flag(name)}=~/a"), name) == Path.home() / "a"


def test_data_folders(options, pytester: pytest.Pytester) -> None:
    typed, ini = pytester.path / HERE, pytester.path / INI
    assert options("--bench-data=a", "--bench-data", "b").data == (typed / "a", typed / "b")
    assert options(ini="bench_data =\n    a b\n    c").data == (ini / "a b", ini / "c")
    assert options("--bench-data=a", ini="bench_data = b").data == (typed / "a",)


@pytest.mark.parametrize("name", TEXTS)
def test_repeated(options, name: str) -> None:
    one, other = TEXTS[name]
    assert getattr(options(flag(name), one, flag(name), other, flag(name), one), name) == (one, other)
    assert getattr(options(ini=f"bench_{name} =\n    {one}\n    {other}"), name) == (one, other)
    assert getattr(options(flag(name), one, ini=f"bench_{name} = {other}"), name) == (one,)


def test_metrics_are_separated_by_commas_too(options) -> None:
    assert options("--bench-metrics=psnr, ssim", "--bench-metrics", "lpips,psnr").metrics == ("psnr", "ssim", "lpips")
    assert options(ini="bench_metrics = psnr,ssim").metrics == ("psnr", "ssim")


@pytest.mark.parametrize("name", FLAGS)
def test_flags(options, name: str) -> None:
    assert getattr(options(), name) is False
    assert getattr(options(flag(name)), name) is True
    assert getattr(options(ini=f"bench_{name} = true"), name) is True
    assert getattr(options(ini=f"bench_{name} = false"), name) is False
    assert getattr(options(flag(name), ini=f"bench_{name} = false"), name) is True


@pytest.mark.parametrize("name", SINGLE)
def test_single_values(options, name: str) -> None:
    one, other = SINGLE[name]
    assert str(getattr(options(flag(name), one), name)) == one
    assert str(getattr(options(ini=f"bench_{name} = {other}"), name)) == other
    assert str(getattr(options(flag(name), one, ini=f"bench_{name} = {other}"), name)) == one


@pytest.mark.parametrize(
    ("name", "value"), [("resamples", "0"), ("resamples", "ten"), ("seed", "-1"), ("seed", "1.5"), ("seed", "²")]
)
def test_numbers_must_be_whole_and_large_enough(options, name: str, value: str) -> None:
    for arguments in ({"ini": f"bench_{name} = {value}"}, {}):
        with pytest.raises(pytest.UsageError, match=f"{flag(name)} needs a whole number of at least"):
            options(*([] if arguments else [f"{flag(name)}={value}"]), **arguments)


def test_a_choice_in_the_ini_file_is_checked(options) -> None:
    with pytest.raises(pytest.UsageError, match="--bench-junit-properties is one of none, scalar; got 'all'"):
        options(ini="bench_junit_properties = all")


def test_a_cache_folder_and_no_cache_contradict_each_other(options) -> None:
    with pytest.raises(pytest.UsageError, match="contradict"):
        options("--bench-cache=c", "--bench-no-cache")


def test_no_cache_on_the_command_line_wins_over_a_folder_in_the_ini_file(options) -> None:
    got = options("--bench-no-cache", ini="bench_cache = c")
    assert got.no_cache


def test_a_cache_folder_on_the_command_line_wins_over_no_cache_in_the_ini_file(
    options, pytester: pytest.Pytester
) -> None:
    got = options("--bench-cache=c", ini="bench_no_cache = true")
    assert not got.no_cache
    assert got.cache == pytester.path / HERE / "c"


@pytest.mark.parametrize("filter_", ["--bench-track=t", "--bench-method=m", "--bench-ratio=r", "--bench-metrics=psnr"])
def test_pruning_with_a_filter_is_refused(options, filter_: str) -> None:
    with pytest.raises(pytest.UsageError, match="--bench-prune-golden needs a full run"):
        options("--bench-prune-golden", filter_)


@pytest.mark.parametrize("value", ["-0.1", "1.1", "nan", "wide"])
def test_parts_are_from_0_to_1(options, value: str) -> None:
    with pytest.raises(pytest.UsageError, match="--bench-person-mask-dilation needs a number from 0 to 1"):
        options(f"--bench-person-mask-dilation={value}")
