"""Strict reading of track.yaml: every fault is named with file, key and mend."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixelgate.errors import TrackError
from pixelgate.tracks import BuiltSource, HubSource, LocalSource, read_track

GOOD = """\
id: mine
protocol: pstbench
samples: {id: "s{n:02d}", first: 9, last: 11}
columns: {content: "c/{n}.png", style: "s/{id}.png", reference: "gt/{n:03d}.png"}
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "track.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def faults(tmp_path: Path, text: str) -> list[str]:
    path = write(tmp_path, text)
    with pytest.raises(TrackError) as caught:
        read_track(path)
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"{path}: ") for line in lines), lines
    return [line.removeprefix(f"{path}: ") for line in lines]


def discoverable(tmp_path: Path, *names: str, samples: str = "{id}.png") -> str:
    (tmp_path / "gt").mkdir()
    for name in names:
        (tmp_path / "gt" / name).write_bytes(b"")
    columns = "{content: content, style: style, reference: gt}"
    return f'id: mine\nprotocol: pstbench\nsamples: "{samples}"\ncolumns: {columns}\n'


def test_numbered(tmp_path: Path) -> None:
    track = read_track(write(tmp_path, GOOD))
    assert track.samples == ("s09", "s10", "s11")
    assert track.title == "mine"
    assert track.source == LocalSource(tmp_path)
    assert track.names(track.columns, "content") == {"s09": "c/9.png", "s10": "c/10.png", "s11": "c/11.png"}
    assert track.names(track.columns, "reference")["s09"] == "gt/009.png"
    assert track.names(track.columns, "style")["s09"] == "s/s09.png"
    assert not track.discovered


def test_numbers_that_are_not_padded_keep_their_files(tmp_path: Path) -> None:
    track = read_track(write(tmp_path, GOOD.replace("s{n:02d}", "s{n}")))
    assert track.samples == ("s10", "s11", "s9")
    assert track.names(track.columns, "content") == {"s10": "c/10.png", "s11": "c/11.png", "s9": "c/9.png"}


def test_discovered(tmp_path: Path) -> None:
    text = discoverable(tmp_path, "b.png", "a.b-c_1.png", "10.png", "2.png", "._a.png", ".hidden.png", "Thumbs.db")
    track = read_track(write(tmp_path, text))
    assert track.samples == ("10", "2", "a.b-c_1", "b")
    assert track.columns == {"content": "content/{id}.png", "style": "style/{id}.png", "reference": "gt/{id}.png"}
    assert track.discovered


def test_listed(tmp_path: Path) -> None:
    listed = GOOD.replace('{id: "s{n:02d}", first: 9, last: 11}', '["007", b, A]').replace("{n}", "{id}")
    track = read_track(write(tmp_path, listed.replace("{n:03d}", "{id}")))
    assert track.samples == ("007", "A", "b")


def test_all_faults_at_once(tmp_path: Path) -> None:
    text = """\
id: my track
protocol: pstbanch
tittle: x
samples: {id: "s{n}", first: 3, last: 1}
columns: {content: "../c/{n}.png", reference: "gt/{m}.png", style: 7}
optional: content
"""
    found = faults(tmp_path, text)
    for key in ("tittle", "id", "protocol", "samples", "columns.content", "columns.reference", "columns.style"):
        assert any(line.startswith(f"key '{key}' ") for line in found), (key, found)
    assert any("key 'optional' must be a list" in line for line in found)
    assert len(found) == 8
    assert all(line.rstrip().endswith(".") for line in found)


@pytest.mark.parametrize("key", ["id", "protocol", "samples", "columns"])
def test_missing_key(tmp_path: Path, key: str) -> None:
    kept = [line for line in GOOD.splitlines() if not line.startswith(key)]
    (fault, *more) = faults(tmp_path, "\n".join(kept))
    assert fault.startswith(f"key '{key}' ")
    assert not more


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("id: mine", "id: [mine]", "key 'id' must be text"),
        ("id: mine", "id: ''", "key 'id' is empty"),
        ("id: mine", "id: 12", "key 'id' must be text; it is 12"),
        ("id: mine", "id: mine/two", "key 'id' is 'mine/two'"),
        ("id: mine", "id: größe", "key 'id' is 'größe'"),
        ("id: mine", "id: ..", "key 'id' is '..'"),
        ("id: mine", "id: mine\ntitle: 3", "key 'title' must be text"),
        ("pstbench", "nothing", "key 'protocol' is 'nothing': unknown protocol"),
        ("first: 9", "first: nine", "key 'samples' runs from 'nine' to 11"),
        ("first: 9", "first: true", "key 'samples' runs from True to 11"),
        ("first: 9", "first: -1", "key 'samples' runs from -1 to 11"),
        ("last: 11", "last: 99999999", "key 'samples' runs from 9 to 99999999"),
        ("last: 11", "last: 11, step: 2", "key 'samples.step' is not known"),
        ("s{n:02d}", "s", "key 'samples.id' is 's'"),
        ("s{n:02d}", "s {n}", "key 'samples' has the id 's 10'"),
        ("s{n:02d}", "a/{n}", "key 'samples' has the id 'a/10'"),
        ("c/{n}.png", "/c/{n}.png", "key 'columns.content' is '/c/{n}.png'"),
        ("c/{n}.png", "C:/{n}.png", "key 'columns.content' is 'C:/{n}.png'"),
        ("c/{n}.png", "c\\\\{n}.png", "key 'columns.content' is"),
        ("c/{n}.png", "c/../{n}.png", "key 'columns.content' is"),
        ("c/{n}.png", "c//{n}.png", "key 'columns.content' is"),
        ("c/{n}.png", "c/x.png", "key 'columns.content' is 'c/x.png': it needs {id} or {n} exactly once"),
        ("c/{n}.png", "c/{n}-{id}.png", "key 'columns.content' is"),
        ("c/{n}.png", "{n}/x.png", "key 'columns.content' is '{n}/x.png': it needs its {id} or {n} in the file name"),
        ("c/{n}.png", "c/{id:03d}.png", "key 'columns.content' is"),
        ("c/{n}.png", "c/{0}.png", "key 'columns.content' is"),
        ("c/{n}.png", "s/{id}.png", "key 'columns' gives two columns the same files"),
        ("content:", "contents:", "key 'columns.contents' is no column of the protocol 'pstbench'"),
        ("reference:", "gt:", "key 'columns' has no 'reference'"),
        ("style: ", "reference: ", "not valid YAML: key 'reference' is given twice"),
        ("protocol: pstbench", "protocol: pstbench\noptional: [style]", "key 'optional' names 'style', which outputs"),
        ("protocol: pstbench", "protocol: pstbench\noptional: [reference]", "key 'optional' names 'reference', which"),
        ("protocol: pstbench", "protocol: pstbench\noptional: [depth]", "key 'optional' names 'depth', which is no"),
        ("protocol: pstbench", "protocol: pstbench\nsource: here", "key 'source' is 'here'"),
        ("protocol: pstbench", "protocol: pstbench\nsource: {hub: name}", "key 'source.hub' is 'name'"),
        (
            "protocol: pstbench",
            "protocol: pstbench\nsource: {hub: a/b, revision: main}",
            "key 'source.revision' is 'main'",
        ),
        (
            "protocol: pstbench",
            "protocol: pstbench\nsource: {hub: a/b, revison: x}",
            "key 'source.revison' is not known",
        ),
        ("protocol: pstbench", "protocol: pstbench\nsource: {built: f, version: '1'}", "key 'source.built' is 'f'"),
        ("protocol: pstbench", "protocol: pstbench\nsource: {built: 'a:b'}", "key 'source.version' is missing"),
        (
            "protocol: pstbench",
            "protocol: pstbench\nsource: {hub: a/b, layouts: [{reference: 'g/{n}.png'}]}",
            "key 'source.layouts[0]' has other columns than the track",
        ),
    ],
)
def test_fault(tmp_path: Path, old: str, new: str, fault: str) -> None:
    assert old in GOOD
    found = faults(tmp_path, GOOD.replace(old, new))
    assert any(line.startswith(fault) for line in found), found


@pytest.mark.parametrize(
    ("listed", "fault"),
    [
        ("[1, 2]", "key 'samples' lists 1, which YAML does not read as text"),
        ("[on, x]", "key 'samples' lists True, which YAML does not read as text"),
        ("[]", "key 'samples' is an empty list"),
        ("[a, A]", "key 'samples' has the ids 'a' and 'A'"),
        ("[a, a]", "key 'samples' has the ids 'a' and 'a'"),
        ("['a b']", "key 'samples' has the id 'a b'"),
        ("['.a']", "key 'samples' has the id '.a'"),
        ("['a.']", "key 'samples' has the id 'a.'"),
        ("['a\\b']", "key 'samples' has the id"),
        ("['é']", "key 'samples' has the id 'é'"),
        ("5", "key 'samples' is 5"),
        ("[a]", "key 'samples' have no numbers, and a column uses {n}"),
    ],
)
def test_sample_faults(tmp_path: Path, listed: str, fault: str) -> None:
    found = faults(tmp_path, GOOD.replace('{id: "s{n:02d}", first: 9, last: 11}', listed))
    assert any(line.startswith(fault) for line in found), found


@pytest.mark.parametrize("name", ["two words.png", "a.PNG", "é.png", ".png.png", "x..png"])
def test_file_that_the_pattern_does_not_fit_is_named(tmp_path: Path, name: str) -> None:
    text = discoverable(tmp_path, "ok.png", name)
    if name.startswith("."):
        assert read_track(write(tmp_path, text)).samples == ("ok",)
        return
    (fault,) = faults(tmp_path, text)
    assert str(tmp_path / "gt" / name) in fault
    assert "Rename it" in fault


def test_discovered_ids_that_differ_in_case_only(tmp_path: Path) -> None:
    text = discoverable(tmp_path, "a.png", "A.png")
    if len(list((tmp_path / "gt").iterdir())) < 2:
        pytest.skip("this disk ignores case, so that the two cannot both be there")
    (fault,) = faults(tmp_path, text)
    assert "'A' and 'a'" in fault


def test_nothing_to_discover(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, discoverable(tmp_path, "notes.txt"))
    assert fault.startswith("key 'samples' is '{id}.png', and no file in")
    (tmp_path / "gt/notes.txt").unlink()
    (tmp_path / "gt").rmdir()
    (fault,) = faults(tmp_path, (tmp_path / "track.yaml").read_text())
    assert "gt, which does not exist" in fault


def test_discovery_needs_a_folder_of_ones_own(tmp_path: Path) -> None:
    text = discoverable(tmp_path, "a.png") + "source: {hub: a/b}\n"
    (fault,) = faults(tmp_path, text)
    assert fault.startswith("key 'samples' can be found on the disk only for your own folder")


@pytest.mark.parametrize("text", ["", "[]", "id: [", "a: b: c", "\tid: x", "id: !!python/object:os.system {}"])
def test_not_a_mapping(tmp_path: Path, text: str) -> None:
    faults(tmp_path, text)


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "track.yaml").write_bytes(b"id: gr\xf6sse\n")
    with pytest.raises(TrackError, match="cannot be read as UTF-8"):
        read_track(tmp_path / "track.yaml")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(TrackError, match=r"nowhere\.yaml: cannot be read"):
        read_track(tmp_path / "nowhere.yaml")


def test_sources(tmp_path: Path) -> None:
    hub = read_track(write(tmp_path, GOOD + "source: {hub: a/b-c, revision: '0123abc', licence: CC0}\n")).source
    assert hub == HubSource("a/b-c", "dataset", "0123abc", licence="CC0")
    built = read_track(write(tmp_path, GOOD + "source: {built: 'm.n:f', version: '1'}\n")).source
    assert built == BuiltSource("m.n:f", "1")
