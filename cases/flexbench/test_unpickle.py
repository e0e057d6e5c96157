"""The restricted unpickler builds what numpy writes, and nothing that runs."""

from __future__ import annotations

import collections
import contextlib
import functools
import io
import os
import pickle
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelgate.errors import InputError
from pixelgate.io.npy import read_npy
from pixelgate.io.unpickle import restricted_unpickle

FILE = "some.npy"


def refuse(data, rule="pickle-global"):
    with pytest.raises(InputError) as caught:
        restricted_unpickle(data, FILE)
    (problem,) = caught.value.problems
    assert problem.file == FILE
    assert problem.rule == rule
    return problem.found


def same(left, right):
    if isinstance(right, np.ndarray):
        assert isinstance(left, np.ndarray)
        assert (left.shape, left.dtype) == (right.shape, right.dtype)
        if right.dtype.hasobject:
            assert all(same(a, b) for a, b in zip(left.ravel(), right.ravel(), strict=True))
            return True
        return np.array_equal(left, right, equal_nan=right.dtype.kind in "fc")
    assert type(left) is type(right)
    if isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in right)
    if isinstance(right, list | tuple):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return left == right


def objects(*items):
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


SOUND = {
    "floats": np.arange(6.0).reshape(2, 3),
    "float32": np.arange(6, dtype=np.float32).reshape(3, 2),
    "big-endian": np.arange(4, dtype=">f4"),
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "empty": np.empty((0, 134, 3)),
    "no-axes": np.array(3.5),
    "ints": np.arange(3, dtype=np.int16),
    "bools": np.array([True, False]),
    "text": np.array(["a", "bcd"]),
    "bytes": np.array([b"a", b"bcd"]),
    "scalar": np.float32(0.25),
    "containers": [1, 2.5, "x", b"y", None, True, (1, [2]), {"k": {"n": np.ones(2)}}, {1, 2}, frozenset({3}), 1 << 80],
    "objects": objects(np.ones((2, 134, 3)), None, {"keypoints": np.zeros((1, 18, 2)), "scores": [0.5]}),
    "objects-2d": np.asfortranarray(np.array([[1, "a", None], [2.5, b"b", ()]], dtype=object)),
}


@pytest.mark.parametrize("protocol", [3, 4, 5])
@pytest.mark.parametrize("name", SOUND)
def test_builds_what_was_pickled(name, protocol):
    data = pickle.dumps(SOUND[name], protocol=protocol)
    if name == "containers" and protocol == 3:
        assert "set" in refuse(data)  # before protocol 4 sets are made by a function
        return
    assert same(restricted_unpickle(data, FILE), SOUND[name])


def test_numpy_of_before_version_2():
    data = pickle.dumps(np.arange(3.0), protocol=2).replace(b"numpy._core", b"numpy.core")
    assert "_codecs.encode" in refuse(data)  # as Python 2 wrote bytes: not needed, not allowed
    data = pickle.dumps(np.arange(3.0), protocol=3).replace(b"numpy._core", b"numpy.core")
    assert same(restricted_unpickle(data, FILE), np.arange(3.0))


def test_shared_values_stay_shared():
    one = np.ones(3)
    found = restricted_unpickle(pickle.dumps([one, one, [one]]), FILE)
    assert found[0] is found[1] is found[2][0]


class _Reduced:
    def __init__(self, *parts):
        self.parts = parts

    def __reduce__(self):
        return self.parts


def _touch(path):
    return _Reduced(os.system, (f"touch {path}",))


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_os_system_at_any_depth(tmp_path, protocol):
    mark = tmp_path / "ran"
    attacks = [
        _touch(mark),
        [1, {"keypoints": _touch(mark)}],
        {(1, _touch(mark)): 2},
        objects(np.ones(3), _touch(mark)),
        _Reduced(np.array, (_touch(mark),)),
        _Reduced(functools.partial, (os.system,), None, None, None),
        _Reduced(eval, (f"open({str(mark)!r}, 'w')",)),
        _Reduced(getattr, (os, "system")) if protocol else _touch(mark),
    ]
    for attack in attacks:
        try:
            data = pickle.dumps(attack, protocol=protocol)
        except TypeError:  # a module cannot be pickled: written by hand below
            continue
        assert "wants to import" in refuse(data)
    assert not mark.exists()


def test_the_forbidden_name_is_told():
    assert "posix.system" in refuse(pickle.dumps(_touch("x"))) or os.name != "posix"
    assert "collections.OrderedDict" in refuse(pickle.dumps(collections.OrderedDict(a=1)))
    assert "builtins.eval" in refuse(pickle.dumps(_Reduced(eval, ("1",))))
    assert "builtins.getattr" in refuse(pickle.dumps(getattr))


def short(text):
    return b"\x8c" + bytes([len(text)]) + text.encode()


def named(module, name):
    return short(module) + short(name) + b"\x93"


def program(body, protocol=4):
    return b"\x80" + bytes([protocol]) + body + b"."


RECONSTRUCT = named("numpy._core.multiarray", "_reconstruct")
NDARRAY = named("numpy", "ndarray")
DTYPE = named("numpy", "dtype")
F8 = DTYPE + short("f8") + b"\x89\x88\x87R"
O8 = DTYPE + short("O8") + b"\x89\x88\x87R"


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("numpy", "core.os.system"),
        ("numpy", "load"),
        ("numpy", "ndarray.__subclasses__"),
        ("numpy.core.multiarray", "_reconstruct.__globals__"),
        ("pickle", "loads"),
        ("builtins", "__import__"),
        ("builtins", "object"),
        ("importlib", "import_module"),
        ("pixelgate.io.unpickle", "_Unpickler"),
        ("numpy.f2py.crackfortran", "getlincoef"),
    ],
)
def test_names_by_their_path(module, name):
    assert f"{module}.{name}" in refuse(program(named(module, name)))


def test_other_ways_to_reach_outside(tmp_path):
    mark = tmp_path / "ran"
    command = f"touch {mark}".encode()
    assert "INST" in refuse(b"(S'" + command + b"'\nios\nsystem\n.")
    assert "OBJ" in refuse(b"(cos\nsystem\nS'" + command + b"'\no.")
    assert "EXT1" in refuse(program(b"\x82\x01"))
    assert "EXT4" in refuse(program(b"\x84" + struct.pack("<i", 7)))
    assert "PERSID" in refuse(b"Pid\n.")
    assert "BINPERSID" in refuse(program(short("id") + b"Q"))
    assert "NEXT_BUFFER" in refuse(program(b"\x97", protocol=5))
    assert "os.system" in refuse(b"cos\nsystem\n(S'" + command + b"'\ntR.")
    assert not mark.exists()


def test_the_classes_cannot_be_called_or_changed():
    """An array made from foreign bytes as objects would be a pointer of the attacker's choice."""
    as_call = NDARRAY + b"(" + short("K\x01") + b"tR"
    refuse(program(as_call), "pickle-intact")
    refuse(program(NDARRAY + b")\x81"), "pickle-intact")  # NEWOBJ
    nothing = b"0N"  # the value is dropped, None is what the pickle gives
    assert restricted_unpickle(program(RECONSTRUCT + nothing), FILE) is None
    changed = RECONSTRUCT + b"}" + short("__defaults__") + b"Nsb"  # BUILD of a function
    assert "changes a function" in refuse(program(changed + nothing), "pickle-intact")
    changed = RECONSTRUCT + b"N}" + short("__name__") + short("x") + b"s\x86b"
    assert "changes a function" in refuse(program(changed + nothing), "pickle-intact")
    assert restricted_unpickle(pickle.dumps(np.ones(2)), FILE).tolist() == [1, 1]


def array(state, subtype=NDARRAY):
    """A pickled array with a state of one's own: version, shape, dtype, order, data."""
    return program(RECONSTRUCT + subtype + b"K\x00\x85C\x01b\x87R(" + state + b"tb")


def test_arrays_that_lie_about_themselves():
    shape = b"K\x02\x85"
    sixteen = b"C\x10" + bytes(16)
    assert restricted_unpickle(array(b"K\x01" + shape + F8 + b"\x89" + sixteen), FILE).tolist() == [0, 0]
    lies = {
        "too few bytes": b"K\x01" + shape + F8 + b"\x89C\x08" + bytes(8),
        "huge": b"K\x01\x8a\x06" + struct.pack("<q", 1 << 40)[:6] + b"\x85" + F8 + b"\x89" + sixteen,
        "no bytes": b"K\x01" + shape + F8 + b"\x89C\x00",
        "negative": b"K\x01J" + struct.pack("<i", -2) + b"\x85" + F8 + b"\x89" + sixteen,
        "bytes as objects": b"K\x01" + shape + O8 + b"\x89" + sixteen,
        "too few objects": b"K\x01" + shape + O8 + b"\x89]N\x61",
        "no dtype": b"K\x01" + shape + b"N\x89" + sixteen,
        "no shape": b"K\x01N" + F8 + b"\x89" + sixteen,
        "too short a state": b"K\x01",
    }
    for what, state in lies.items():
        assert refuse(array(state), "pickle-intact"), what
    refuse(array(b"K\x01" + shape + F8 + b"\x89" + sixteen, subtype=b"N"), "pickle-intact")


def test_types_that_lie_about_themselves():
    for code in ("V8", "M8[s]", "f8,O", "(2,)f8", "", "x" * 20, "O8\x00"):
        refuse(program(DTYPE + short(code) + b"\x89\x88\x87R"), "pickle-intact")
    end = b"J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb0N"  # BUILD, then the type is dropped
    assert restricted_unpickle(program(F8 + b"(K\x03" + short("<") + b"NNN" + end), FILE) is None
    for state in (b"N" + short("a") + b"\x85}", b"N)N", b"NN}", b"K\x01NN"):
        assert "with fields" in refuse(program(F8 + b"(K\x03" + short("|") + state + end), "pickle-intact")
    assert "unknown way" in refuse(program(F8 + b"(K\x03" + short("?") + b"NNN" + end), "pickle-intact")
    refuse(program(F8), "pickle-intact")  # a type is no value
    refuse(program(NDARRAY), "pickle-intact")
    refuse(program(RECONSTRUCT), "pickle-intact")


def test_values_that_hold_themselves():
    loop = []
    loop.extend([loop] * 10)
    refuse(pickle.dumps(loop), "pickle-intact")
    deep = []
    for _ in range(100):
        deep = [deep]
    refuse(pickle.dumps(deep), "pickle-intact")
    laughs = ["ha"]
    for _ in range(28):
        laughs = [laughs] * 10
    found = restricted_unpickle(pickle.dumps(laughs), FILE)  # 10**28 in all, shared: built once each
    assert found[0] is found[9]


def test_memory_for_numbered_values():
    assert "numbers more values" in refuse(program(b"Nr" + struct.pack("<I", 0xFFFFFFF0)), "pickle-intact")


@pytest.mark.parametrize(
    "data", [b"", b".", b"\x80", b"\x80\x04", b"\x80\xff.", b"garbage", b"I" + b"9" * 9999 + b"\n."]
)
def test_damaged(data):
    refuse(data, "pickle-intact")


def test_bytes_behind_the_end():
    assert "behind its end" in refuse(pickle.dumps(1) + b"x", "pickle-intact")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 400), st.integers(0, 5))
def test_noise_never_escapes(noise, place, protocol):
    """Whatever the bytes: a value, or our own error."""
    whole = pickle.dumps(SOUND["objects"], protocol=max(protocol, 3))
    for data in (noise, whole[:place] + noise + whole[place + len(noise) :], whole[:place]):
        with contextlib.suppress(InputError):
            restricted_unpickle(data, FILE)


def npy(array, **options):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **options)
    return stream.getvalue()


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
@pytest.mark.parametrize("array", [np.arange(6.0).reshape(2, 3), np.asfortranarray(np.ones((2, 3))), np.empty((0, 4))])
def test_plain_npy(tmp_path, array, version):
    path = tmp_path / "a.npy"
    path.write_bytes(npy(array, version=version))
    assert same(np.asarray(read_npy(path)), array)


def test_damaged_npy(tmp_path):
    path = tmp_path / "a.npy"
    whole = npy(np.ones((4, 5)))
    wanted = {
        b"": ("npy-format", "no bytes"),
        b"PK\x03\x04": ("npy-format", "archive"),
        pickle.dumps([1]): ("npy-format", "bare pickle"),
        b"version https://git-lfs.github.com/spec/v1\n": ("npy-format", "LFS"),
        b"hello": ("npy-format", "no .npy"),
        whole[:-1]: ("npy-intact", "159 bytes"),
        whole + b"\0": ("npy-intact", "161 bytes"),
        whole[:40]: ("npy-intact", "header"),
        whole[:7]: ("npy-intact", "header"),
        whole.replace(b"<f8", b"<q9"): ("npy-intact", "header"),
        whole.replace(b"(4, 5)", b"(4,-5)"): ("npy-intact", "promises"),
        whole.replace(b"\x93NUMPY\x01", b"\x93NUMPY\x03"): ("npy-format", "version"),
    }
    for data, (rule, word) in wanted.items():
        path.write_bytes(data)
        with pytest.raises(InputError) as caught:
            read_npy(path)
        assert caught.value.problems[0].rule == rule
        assert word in str(caught.value)
    with pytest.raises(InputError, match="not-a-file"):
        read_npy(tmp_path / "none.npy")
    with pytest.raises(InputError, match="not-a-file"):
        read_npy(tmp_path)
