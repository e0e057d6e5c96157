"""Protocol files: what they must hold, and what their hash covers."""

from __future__ import annotations

from importlib import resources

import pytest
import yaml

from pixelgate.errors import ProtocolError
from pixelgate.metrics import get_metric
from pixelgate.protocols import available_protocols, load_protocol, parse_protocol, register_protocol


@pytest.fixture
def text():
    return (resources.files("pixelgate.protocols") / "pstbench.yaml").read_text(encoding="utf-8")


def changed(text, change):
    raw = yaml.safe_load(text)
    change(raw)
    return parse_protocol(yaml.safe_dump(raw), "changed.yaml")


def test_pstbench_has_the_published_columns():
    protocol = load_protocol("pstbench")
    assert [metric.title for metric in protocol.metrics] == [
        "PSNR", "SSIM", "LPIPS", "ΔE00", "H-Corr(gt)", "H-Corr(style)",
    ]  # fmt: skip
    assert [metric.ranked for metric in protocol.metrics] == [True] * 5 + [False]
    assert protocol.metric("hcorr_style").against == "style"
    interval = protocol.aggregation["interval"]
    assert (interval["resamples"], interval["seed"], interval["confidence"]) == (10_000, 0, 0.95)


def test_every_metric_binds_with_the_parameters_of_the_file():
    from pixelgate.metrics import Runtime

    for entry in load_protocol("pstbench").metrics:
        assert get_metric(entry.metric).bind(entry.params, Runtime()) is not None


def test_a_parameter_that_nobody_reads_is_refused():
    from pixelgate.metrics import Runtime

    for entry in load_protocol("pstbench").metrics:
        with pytest.raises(ProtocolError, match="surprise"):
            get_metric(entry.metric).bind({**entry.params, "surprise": 1}, Runtime())


def test_the_hash_covers_what_decides_a_number(text):
    plain = parse_protocol(text, "pstbench.yaml").params_hash

    def other_cap(raw):
        raw["metrics"][0]["params"]["cap_db"] = 99.0

    def other_seed(raw):
        raw["aggregation"]["interval"]["seed"] = 1

    def other_decoding(raw):
        raw["decoding"]["exif_orientation"] = "ignore"

    assert len({plain, *(changed(text, c).params_hash for c in (other_cap, other_seed, other_decoding))}) == 4


def test_the_hash_leaves_words_and_digits_alone(text):
    def other_words(raw):
        raw["title"] = "another title"
        raw["metrics"][0]["decimals"] = 7

    assert changed(text, other_words).params_hash == parse_protocol(text, "pstbench.yaml").params_hash


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("a: [", "not valid YAML"),
        ("- a", "mapping"),
        ("id: x", "missing"),
    ],
)
def test_broken_files_name_file_and_fault(broken, words):
    with pytest.raises(ProtocolError, match=words) as caught:
        parse_protocol(broken, "mine.yaml")
    assert "mine.yaml" in str(caught.value)


def test_a_metric_compares_with_a_known_column(text):
    def other_column(raw):
        raw["metrics"][0]["against"] = "nothing"

    with pytest.raises(ProtocolError, match="nothing"):
        changed(text, other_column)


def test_two_columns_of_one_id_are_refused(text):
    def twice(raw):
        raw["metrics"].append(raw["metrics"][0])

    with pytest.raises(ProtocolError, match="distinct"):
        changed(text, twice)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ProtocolError, match="pstbench"):
        load_protocol("pstbank")
    with pytest.raises(ProtocolError, match="hcorr_gt"):
        load_protocol("pstbench").metric("hcorr")


def test_a_built_in_id_cannot_be_taken(text, tmp_path):
    file = tmp_path / "pstbench.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ProtocolError, match="another id"):
        register_protocol(file)


def test_a_registered_protocol_is_found(text, tmp_path, monkeypatch):
    monkeypatch.setattr("pixelgate.protocols.protocol._REGISTERED", {})
    file = tmp_path / "mine.yaml"
    file.write_text(text.replace("id: pstbench", "id: mine", 1), encoding="utf-8")
    register_protocol(file)
    assert "mine" in available_protocols()
    assert load_protocol("mine").id == "mine"
