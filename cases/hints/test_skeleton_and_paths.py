from __future__ import annotations

import numpy as np
import pytest
from hint_tools import BACKENDS, dense, label_maps
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from pixelgate.hints.paths import build_graph, geodesic_paths
from pixelgate.hints.skeleton import skeletonize

STRAIGHT, DIAGONAL = 1.0, 2.0**0.5


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PIXELGATE_BACKEND", request.param)
    return request.param


def with_backend(name: str, function, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIXELGATE_BACKEND", name)
        return function(*arguments)


def blobs(seed: int, side: int = 48) -> np.ndarray:
    field = ndimage.gaussian_filter(np.random.default_rng(seed).standard_normal((side, side)), 1.5)
    return dense(np.digitize(field, np.quantile(field, [0.2, 0.5, 0.8])))


@settings(max_examples=50, deadline=None)
@given(label_maps())
def test_thinning_each_region_alone_gives_the_same(labels: np.ndarray) -> None:
    pytest.importorskip("numba")
    morphology = pytest.importorskip("skimage.morphology")
    wanted = np.zeros(labels.shape, dtype=bool)
    for label in np.unique(labels):
        wanted |= morphology.skeletonize(labels == label)
    for name in ("numba", "numpy"):
        assert np.array_equal(with_backend(name, skeletonize, labels), wanted), name


@pytest.mark.parametrize("seed", range(4))
def test_thinning_large_regions(seed: int, backend: str) -> None:
    morphology = pytest.importorskip("skimage.morphology")
    labels = blobs(seed)
    wanted = sum(morphology.skeletonize(labels == label).astype(int) for label in np.unique(labels))
    assert np.array_equal(skeletonize(labels), wanted > 0)


def test_small_squares(backend: str) -> None:
    # Measured with scikit-image 0.26: a square of 2 x 2 keeps two pixels, one of 3 x 3 two on a diagonal.
    for side, pixels in ((1, 1), (2, 2), (3, 2)):
        labels = np.zeros((7, 7), dtype=np.int32)
        labels[2 : 2 + side, 2 : 2 + side] = 1
        assert np.count_nonzero(skeletonize(labels) & (labels == 1)) == pixels


def drawn(*rows: str) -> tuple[np.ndarray, np.ndarray]:
    """A skeleton, as `#`, and a map in which it is one region."""
    skeleton = np.array([[letter == "#" for letter in row] for row in rows])
    return np.zeros(skeleton.shape, dtype=np.int32), skeleton


def longest(labels: np.ndarray, skeleton: np.ndarray, name: str) -> tuple[float, list[int], np.ndarray]:
    import importlib

    kernels = importlib.import_module(f"pixelgate.hints._{name}_paths")
    graph = build_graph(labels, skeleton)
    assert graph.trees.size == 1
    lengths, ends = kernels.longest(graph)
    marks = np.zeros(labels.size, dtype=bool)
    marks[graph.pixels[kernels.trace(graph, np.array([0]), ends)]] = True
    return float(lengths[0]), graph.pixels[ends[0]].tolist(), marks.reshape(labels.shape)


def test_a_cross(backend: str) -> None:
    # From the reference's own description: a plain cross of arm 3 has length 6 and 7 pixels.
    cross = ("...#...", "...#...", "...#...", "#######", "...#...", "...#...", "...#...")
    length, ends, path = longest(*drawn(*cross), backend)
    assert length == 6
    assert ends == [3, 21]  # the first pixel of the top arm, and the left arm's end: the least of all equal pairs
    assert np.count_nonzero(path) == 7


def test_no_corner_is_cut_where_a_side_is_on_the_skeleton(backend: str) -> None:
    length, _, path = longest(*drawn("##.", ".##"), backend)
    assert length == 3
    assert np.count_nonzero(path) == 4
    length, _, _ = longest(*drawn("#..", ".#.", "..#"), backend)
    assert length == pytest.approx(2 * DIAGONAL)


def test_a_ring_starts_at_its_first_pixel(backend: str) -> None:
    length, ends, path = longest(*drawn("###", "#.#", "###"), backend)
    assert length == 4
    assert ends == [0, 8]
    # Both ways round are equally long: each pixel is reached from the smaller one, so the path goes by the right.
    assert path.tolist() == [[True, True, True], [False, False, True], [False, False, True]]


def test_one_pixel_is_a_path(backend: str) -> None:
    length, ends, path = longest(*drawn("..", ".#"), backend)
    assert (length, ends, np.count_nonzero(path)) == (0, [3, 3], 1)


def walks(seed: int) -> np.ndarray:
    """Crossing stair walks: skeletons with many loops and many equally long ways."""
    rng = np.random.default_rng(seed)
    canvas = np.zeros(rng.integers(8, 22, 2), dtype=bool)
    for _ in range(rng.integers(2, 6)):
        row, column = 0, 0
        while row < canvas.shape[0] and column < canvas.shape[1]:
            canvas[row, column] = True
            step = rng.integers(3)
            row, column = row + int(step != 0), column + int(step != 1)
    return canvas


def brute_force(labels: np.ndarray, skeleton: np.ndarray) -> float:
    """The longest of all shortest ways, by another library, over a graph built pixel by pixel."""
    places = {tuple(place): number for number, place in enumerate(np.argwhere(skeleton).tolist())}
    links = np.zeros((len(places), len(places)))
    for (row, column), number in places.items():
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                other = places.get((row + down, column + right))
                corner = down and right and ((row, column + right) in places or (row + down, column) in places)
                if other is not None and other != number and not corner:
                    links[number, other] = DIAGONAL if down and right else STRAIGHT
    return float(dijkstra(csr_matrix(links)).max())


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**9))
def test_the_longest_path_is_as_long_as_brute_force_says(seed: int) -> None:
    pytest.importorskip("numba")
    skeleton = walks(seed)
    labels = np.zeros(skeleton.shape, dtype=np.int32)
    wanted = brute_force(labels, skeleton)
    results = [longest(labels, skeleton, name) for name in ("numba", "numpy")]
    for length, _, path in results:
        assert length == pytest.approx(wanted, abs=1e-9)
        assert not (path & ~skeleton).any()
    assert results[0][:2] == results[1][:2]
    assert np.array_equal(results[0][2], results[1][2])


@settings(max_examples=40, deadline=None)
@given(label_maps())
def test_every_region_has_a_path_of_its_own_pixels(labels: np.ndarray) -> None:
    pytest.importorskip("numba")
    labels = dense(labels)
    one, two = (with_backend(name, geodesic_paths, labels) for name in ("numba", "numpy"))
    assert np.array_equal(one.regions, two.regions)
    assert np.array_equal(one.pixels, two.pixels)
    assert one.failed.size == 0
    assert np.array_equal(labels.reshape(-1)[one.pixels], one.regions)
    assert np.array_equal(np.unique(one.regions), np.arange(labels.max() + 1))


@pytest.mark.parametrize("seed", range(3))
def test_compiled_and_plain_agree_on_large_regions(seed: int) -> None:
    pytest.importorskip("numba")
    labels = blobs(seed, 96)
    one, two = (with_backend(name, geodesic_paths, labels) for name in ("numba", "numpy"))
    assert np.array_equal(one.pixels, two.pixels)
