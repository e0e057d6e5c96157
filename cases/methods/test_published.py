"""The provenance registry of published methods."""

from __future__ import annotations

import re

import pytest

from pixelgate.methods import all_methods, provenance, published


def test_names_are_unique_and_folders_too():
    names = [method.name for method in published()]
    folders = [folder for method in published() for folder in method.results]
    assert len(set(names)) == len(names)
    assert len(set(folders)) == len(folders)
    assert folders == [folder.lower() for folder in folders]


def test_every_folder_of_the_paper_is_known():
    folders = {folder for method in published() for folder in method.results}
    assert folders == {
        "identity", "reinhard", "mkl", "idt", "histmatch", "wct2", "capvstnet", "adain", "acetone", "salut_709",
        "salut_log", "salut", "nlut", "ipst", "modflow", "wct2_at912", "capvstnet_at1280", "adain_at912",
    }  # fmt: skip
    assert provenance("salut_log") is provenance("salut")
    assert provenance("nobody") is None


def test_digests_and_revisions_are_text_of_the_right_form():
    for method in published():
        for weights in method.weights:
            assert re.fullmatch("[0-9a-f]{12}", weights.sha256_prefix), method.name
        if method.code and method.code.startswith("github.com/"):
            assert re.fullmatch("[0-9a-f]{7}", method.revision or ""), method.name
        assert method.settings.endswith("."), method.name


def test_what_runs_here_is_what_says_so():
    here = [method.name for method in published() if method.runs_here]
    assert here == [method.name for method in all_methods()]


@pytest.mark.parametrize("name", ["reinhard", "mkl", "idt"])
def test_versions_agree_with_what_is_run(name):
    entry = provenance(name)
    assert entry is not None
    (method,) = [method for method in all_methods() if method.name == name]
    assert method.requires == ((entry.code.removeprefix("pypi:"), entry.revision),)


def test_resized_ones():
    assert {m.name for m in published() if m.resized} == {"wct2_at912", "capvstnet_at1280", "adain_at912"}
