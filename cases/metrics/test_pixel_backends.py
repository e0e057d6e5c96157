"""Two backends and any number of threads, the same numbers; and what each public function refuses."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pixelgate
from pixelgate.errors import InputError, MissingExtra, PixelgateError, ProtocolError
from pixelgate.metrics import _backend
from pixelgate.metrics.delta_e import delta_e_2000, delta_e_2000_lab
from pixelgate.metrics.histogram import histogram_correlation
from pixelgate.metrics.psnr import psnr
from pixelgate.metrics.registry import Runtime, get_metric
from pixelgate.metrics.ssim import ssim

METRICS = {"psnr": psnr, "ssim": ssim, "delta_e_2000": delta_e_2000, "histogram_correlation": histogram_correlation}
PROTOCOL = Path(pixelgate.__file__).parent / "protocols" / "pstbench.yaml"


def noise(seed, *shape):
    return np.random.default_rng(seed).integers(0, 256, (*shape, 3), dtype=np.uint8)


def near(picture, seed, spread=9):
    moved = picture + np.random.default_rng(seed).integers(-spread, spread + 1, picture.shape)
    return np.clip(moved, 0, 255).astype(np.uint8)


class TestSameNumbers:
    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(height=st.integers(11, 67), width=st.integers(11, 131), seed=st.integers(0, 2**32 - 2), close=st.booleans())
    def test_on_pictures_of_odd_sizes(self, each_backend, height, width, seed, close):
        reference = noise(seed, height, width)
        output = near(reference, seed + 1) if close else noise(seed + 1, height, width)
        for metric in METRICS.values():
            plain, compiled = each_backend(metric, output, reference)
            assert compiled == pytest.approx(plain, rel=0, abs=1e-12), metric.__name__

    @pytest.mark.parametrize("shape", [(11, 11), (11, 2000), (2000, 11), (37, 267), (64, 266), (41, 1033)])
    def test_on_thin_pictures_and_at_the_borders_of_strips(self, each_backend, shape):
        reference = noise(1, *shape)
        for metric in METRICS.values():
            plain, compiled = each_backend(metric, near(reference, 2), reference)
            assert compiled == pytest.approx(plain, rel=0, abs=1e-12), metric.__name__

    def test_lab_of_every_blue_green_slice(self, each_backend):
        """65,536 colours a slice; cube roots of the compiled path are right to an ulp or two."""
        green, blue = np.meshgrid(np.arange(256), np.arange(256))
        for red in (0, 1, 17, 128, 255):
            picture = np.stack([np.full_like(green, red), green, blue], axis=-1).astype(np.uint8)
            plain, compiled = each_backend(
                lambda picture: get_metric("delta_e_2000").bind({}, Runtime()).prepare(picture).lab, picture
            )
            np.testing.assert_allclose(compiled, plain, rtol=0, atol=5e-13)

    def test_colour_differences_one_by_one(self, each_backend):
        rng = np.random.default_rng(3)
        first, second = (rng.uniform((0, -110, -110), (100, 110, 110), (100_001, 3)) for _ in range(2))
        plain, compiled = each_backend(delta_e_2000_lab, first, second)
        np.testing.assert_allclose(compiled, plain, rtol=0, atol=1e-10)

    def test_the_table_of_arcs(self):
        """The one table that stands for a formula: sin(60 degrees x exp(-((h - 275) / 25)^2))."""
        colour = pytest.importorskip("pixelgate.metrics._numba_colour")
        hue = np.random.default_rng(0).uniform(0, 360, 20_000)
        got = [
            colour._sine_of_turn(colour._place(np.cos(angle), np.sin(angle)), colour.arcs())
            for angle in np.radians(hue)
        ]
        expected = np.sin(np.radians(60) * np.exp(-(((hue - 275) / 25) ** 2)))
        np.testing.assert_allclose(got, expected, rtol=0, atol=5e-14)


@pytest.mark.usefixtures("backend")
class TestThreads:
    @pytest.mark.parametrize("metric", [ssim, delta_e_2000], ids=lambda metric: metric.__name__)
    def test_change_no_bit(self, metric):
        reference = noise(0, 520, 510)
        output = near(reference, 1)
        values = {metric(output, reference, threads=threads) for threads in (1, 2, 3, 5, 8, None)}
        assert len(values) == 1

    def test_are_not_started_for_one(self, monkeypatch):
        def refuse(*args, **kwargs):
            raise AssertionError("a thread pool was made")

        monkeypatch.setattr("pixelgate.metrics._bands.ThreadPoolExecutor", refuse)
        reference = noise(0, 400, 400)
        ssim(reference, reference, threads=1)
        with pytest.raises(AssertionError, match="pool"):
            ssim(reference, reference, threads=2)

    def test_runtime_decides_in_a_bound_scorer(self, monkeypatch):
        asked = []
        monkeypatch.setattr("pixelgate.metrics._bands.available_cpus", lambda: asked.append("all") or 1)
        scorer = get_metric("ssim").bind({}, Runtime(threads=1))
        scorer.compare(noise(0, 20, 20), scorer.prepare(noise(1, 20, 20)))
        assert asked == []
        ssim(noise(0, 20, 20), noise(1, 20, 20))
        assert asked == ["all"]

    @pytest.mark.parametrize("threads", [0, -1])
    def test_must_be_one_or_more(self, threads):
        with pytest.raises(PixelgateError, match="threads must be 1 or more"):
            ssim(noise(0, 14, 14), noise(1, 14, 14), threads=threads)


class TestChoice:
    def test_numba_is_taken_where_it_is_installed(self, monkeypatch):
        pytest.importorskip("numba")
        monkeypatch.delenv("PIXELGATE_BACKEND", raising=False)
        assert _backend.backend().name == "numba"

    @pytest.mark.parametrize("name", ["numpy", "numba"])
    def test_the_environment_forces_one_and_the_fingerprint_says_so(self, monkeypatch, name):
        monkeypatch.setenv("PIXELGATE_BACKEND", name)
        for metric in METRICS:
            fingerprint = get_metric(metric).bind({}, Runtime()).fingerprint
            assert fingerprint["backend"] == name
            assert fingerprint[name] == version(name)

    def test_an_unknown_word_is_refused(self, monkeypatch):
        monkeypatch.setenv("PIXELGATE_BACKEND", "cuda")
        with pytest.raises(PixelgateError, match="PIXELGATE_BACKEND is 'cuda'"):
            psnr(noise(0, 4, 4), noise(1, 4, 4))

    @pytest.fixture
    def no_numba(self, monkeypatch):
        genuine = importlib.import_module

        def import_module(name, *args):
            if name == "numba":
                raise ImportError("Numba needs another NumPy")
            return genuine(name, *args)

        _backend._backend.cache_clear()
        monkeypatch.setattr(_backend.importlib, "import_module", import_module)
        yield
        _backend._backend.cache_clear()

    @pytest.mark.usefixtures("no_numba")
    def test_without_numba_numpy_is_taken(self, monkeypatch):
        monkeypatch.delenv("PIXELGATE_BACKEND", raising=False)
        assert get_metric("ssim").bind({}, Runtime()).fingerprint["backend"] == "numpy"
        assert psnr(noise(0, 4, 4), noise(0, 4, 4)) == 100.0

    @pytest.mark.usefixtures("no_numba")
    def test_without_numba_asking_for_it_names_the_mend(self, monkeypatch):
        monkeypatch.setenv("PIXELGATE_BACKEND", "numba")
        with pytest.raises(MissingExtra, match=r"pip install 'pixelgate\[fast\]'.*another NumPy"):
            psnr(noise(0, 4, 4), noise(1, 4, 4))

    def test_importing_the_metrics_loads_nothing_heavy(self):
        code = (
            "import sys, pixelgate.metrics as m; m.get_metric('ssim').bind({}, m.Runtime());"
            "print(*sorted({'torch', 'lpips', 'numba', 'skimage'} & set(sys.modules)))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
        assert done.stdout.strip() == ""


PSNR_WITHOUT_CACHE = """
import numpy as np
import numba.core.caching as caching
{trouble}
from pixelgate.metrics.psnr import psnr
x = np.zeros((4, 4, 3), np.uint8)
print(psnr(x, x), psnr(x, x + np.uint8(255)))
"""
NO_PLACE = "caching.CacheImpl._locator_classes = []"
FULL_DISK = """
def save(self, *args):
    raise OSError(28, "No space left on device")
caching.IndexDataCacheFile.save = save
"""


class TestCompiledCache:
    """A cache that cannot be written or read costs time only."""

    def run(self, trouble, cache):
        pytest.importorskip("numba")
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PIXELGATE_BACKEND": "numba"}
        code = PSNR_WITHOUT_CACHE.format(trouble=trouble)
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=environment, timeout=300
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == ["100.0", "0.0"]

    @pytest.mark.parametrize("trouble", [NO_PLACE, FULL_DISK], ids=["no-place", "full-disk"])
    def test_that_cannot_be_written(self, trouble, tmp_path):
        self.run(trouble, tmp_path)
        assert not list(tmp_path.rglob("*.nbc"))

    def test_that_is_damaged(self, tmp_path):
        self.run("", tmp_path)
        kept = [path for path in tmp_path.rglob("*") if path.suffix in {".nbi", ".nbc"}]
        assert kept
        for path in kept:
            path.write_bytes(path.read_bytes()[:40])
        self.run("", tmp_path)


BAD = {
    "list": ([[1, 2, 3]], "a list"),
    "float": (np.zeros((12, 12, 3)), "dtype float64"),
    "grey": (np.zeros((12, 12), np.uint8), r"shape \(12, 12\)"),
    "alpha": (np.zeros((12, 12, 4), np.uint8), r"shape \(12, 12, 4\)"),
    "channels-first": (np.zeros((3, 12, 12), np.uint8), r"shape \(3, 12, 12\)"),
    "batch": (np.zeros((1, 12, 12, 3), np.uint8), r"shape \(1, 12, 12, 3\)"),
    "empty": (np.zeros((0, 12, 3), np.uint8), "12 x 0 pixels"),
}


@pytest.mark.usefixtures("backend")
class TestInput:
    @pytest.mark.parametrize("kind", BAD)
    @pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
    def test_that_is_no_picture_is_refused_by_name(self, metric, kind):
        bad, message = BAD[kind]
        good = noise(0, 12, 12)
        with pytest.raises(InputError, match=f"the output .*{message}"):
            metric(bad, good)
        with pytest.raises(ValueError, match=f"the reference .*{message}"):
            metric(good, bad)

    @pytest.mark.parametrize("name", ["psnr", "ssim", "delta_e_2000"])
    def test_of_two_sizes_is_refused(self, name):
        assert get_metric(name).same_size
        with pytest.raises(InputError, match=r"output is 20 x 12 pixels, the reference 12 x 20"):
            METRICS[name](noise(0, 12, 20), noise(1, 20, 12))

    @pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
    def test_may_be_write_protected_or_any_view_and_is_left_alone(self, metric):
        x, y = noise(0, 30, 26), noise(1, 30, 26)
        before = x.copy(), y.copy()
        expected = metric(x, y)
        x.flags.writeable = y.flags.writeable = False
        assert metric(x, y) == expected
        views = [np.ascontiguousarray(p[::-1, :, ::-1])[::-1, :, ::-1] for p in (x, y)]
        assert not views[0].flags.c_contiguous
        assert metric(*views) == expected
        assert (x == before[0]).all()
        assert (y == before[1]).all()

    @pytest.mark.parametrize(
        ("first", "second", "message"),
        [
            (np.zeros((2, 3)), np.zeros((3, 3)), "shapes are"),
            (np.zeros((2, 4)), np.zeros((2, 4)), "shapes are"),
            (np.float64(1), np.float64(1), "shapes are"),
            ([np.nan, 0, 0], [0, 0, 0], "not finite"),
            ([0, 0, 0], [0, np.inf, 0], "not finite"),
            ([0, 0, 1e50], [0, 0, 0], "beyond all colours"),
        ],
    )
    def test_of_lab_values_is_checked(self, first, second, message):
        with pytest.raises(InputError, match=message):
            delta_e_2000_lab(first, second)

    @pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 4, 3), (0, 3)])
    def test_of_lab_values_keeps_its_shape(self, shape):
        got = delta_e_2000_lab(np.zeros(shape), np.ones(shape))
        assert got.shape == shape[:-1]


class TestParameters:
    def protocol(self):
        return [entry for entry in yaml.safe_load(PROTOCOL.read_text())["metrics"] if entry["metric"] in METRICS]

    @pytest.mark.usefixtures("backend")
    def test_of_the_protocol_give_the_public_functions_numbers(self):
        output, reference = noise(0, 40, 33), noise(1, 40, 33)
        entries = self.protocol()
        assert len(entries) == 5
        for entry in entries:
            scorer = get_metric(entry["metric"]).bind(entry["params"], Runtime())
            measured = scorer.compare(output, scorer.prepare(reference))
            assert measured.value == METRICS[entry["metric"]](output, reference)
            assert measured.reason is None

    @pytest.mark.parametrize("metric", METRICS)
    def test_that_are_unknown_are_refused(self, metric):
        with pytest.raises(ProtocolError, match=f"'{metric}' has no parameter 'gamma'; it has: "):
            get_metric(metric).bind({"gamma": 1}, Runtime())

    @pytest.mark.parametrize(
        ("metric", "params"),
        [
            ("psnr", {"peak": 1}),
            ("psnr", {"cap_db": "100"}),
            ("ssim", {"data_range": 1.0}),
            ("ssim", {"covariance": "sample"}),
            ("ssim", {"region": "same"}),
            ("ssim", {"channels": "luma"}),
            ("ssim", {"truncate": 4.0}),
            ("ssim", {"sigma": 0}),
            ("ssim", {"k1": -0.01}),
            ("delta_e_2000", {"matrix": "bt2020"}),
            ("delta_e_2000", {"white": "d65"}),
            ("delta_e_2000", {"kl": 0}),
            ("delta_e_2000", {"kh": float("nan")}),
            ("histogram_correlation", {"bins": 64}),
            ("histogram_correlation", {"flat": "nan"}),
        ],
    )
    def test_that_are_not_offered_are_refused(self, metric, params):
        (name,) = params
        with pytest.raises(ProtocolError, match=name):
            get_metric(metric).bind(params, Runtime())

    @pytest.mark.usefixtures("backend")
    @pytest.mark.parametrize(
        ("metric", "params"), [("ssim", {"k1": 0.02}), ("ssim", {"sigma": 1.4}), ("delta_e_2000", {"kl": 2.0})]
    )
    def test_that_are_offered_change_the_number(self, metric, params):
        scorer = get_metric(metric).bind(params, Runtime())
        output, reference = noise(0, 30, 30), noise(1, 30, 30)
        assert scorer.compare(output, scorer.prepare(reference)).value != METRICS[metric](output, reference)

    def test_a_prepared_reference_serves_many_outputs(self, each_backend):
        reference, outputs = noise(0, 30, 30), [noise(seed, 30, 30) for seed in (1, 2, 3)]

        def score():
            scorer = get_metric("delta_e_2000").bind({}, Runtime())
            prepared = scorer.prepare(reference)
            return [scorer.compare(output, prepared).value for output in outputs]

        for values in each_backend(score):
            assert values == [pytest.approx(delta_e_2000(output, reference), abs=1e-12) for output in outputs]


def test_the_plain_path_does_not_load_numba():
    code = (
        "import os, sys; os.environ['PIXELGATE_BACKEND'] = 'numpy'; import numpy as np;"
        "from pixelgate.metrics import delta_e_2000, histogram_correlation, psnr, ssim;"
        "x = np.zeros((12, 12, 3), np.uint8);"
        "[f(x, x) for f in (delta_e_2000, histogram_correlation, psnr, ssim)]; print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "False"
