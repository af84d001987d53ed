"""Work on all pairs of a stored matrix: equal bits on every executor, and each stored byte read once."""

import numpy as np
import pytest
from backwards import Backwards
from marks import with_slow
from sklearn.metrics import silhouette_samples

from distkern import CorruptTileError, InputError, Kendall, Linear, MemoryLimitError, Threads, compute_gram, open_gram
from distkern.gram import map_reduce
from distkern.gram.tile_groups import task_bytes, tile_groups
from distkern.operators.array import ArrayGram
from distkern.solvers.neighbors import Nearest, nearest
from distkern.solvers.partition import silhouettes

rng = np.random.default_rng(3)
M = 60
X = rng.normal(size=(M, 12)).round(1)
LABELS = [rng.integers(0, 3, M), rng.integers(0, 7, M)]
WEIGHTS = rng.integers(0, 3, M).astype(float)


pytestmark = pytest.mark.usefixtures("on_executor")


@pytest.fixture(scope="module", params=with_slow(["floats", "repeated"], ["integers"]))
def path(request, tmp_path_factory):
    kernel, tile, samples = {
        "integers": (Kendall(), 12, X),
        "floats": (Linear(), 13, X),
        "repeated": (Kendall(ties="b"), 5, X[rng.integers(0, 20, size=M)]),
    }[request.param]
    store = tmp_path_factory.mktemp("pairs") / "k.zarr"
    gram = compute_gram(kernel, samples, store=store, tile=tile, executor="serial", dtype="float32")
    assert (gram.info()["samples_computed"][0] < M) == (request.param == "repeated")
    return store


def squares(K):
    """Squared distances; rounding leaves none between equal samples, as in a store that holds them once."""
    distances = np.maximum(np.add.outer(K.diagonal(), K.diagonal()) - 2 * K, 0)
    return np.where(distances < 1e-13 * K.diagonal().max(), 0, distances)


def sorted_rows(distances, count):
    others = distances + np.where(np.eye(len(distances)), np.inf, 0)
    order = np.argsort(others, axis=1, kind="stable")[:, :count]
    return order, np.sqrt(np.take_along_axis(others, order, axis=1))


def of_scikit_learn(distances, labels, weights):
    repeated = np.repeat(np.arange(len(labels)), weights.astype(int))
    expected = silhouette_samples(distances[np.ix_(repeated, repeated)], labels[repeated], metric="precomputed")
    return repeated, expected


def views(gram):
    some = np.random.default_rng(0).permutation(M)[:40]
    again = np.append(some[:30], some[:8])
    yield "the whole", gram, np.arange(M)
    yield "a part", gram[some][:, some], some
    yield "a part in which samples repeat", gram[again][:, again], again
    yield "centred to unit norm", gram.centered(on=slice(0, 30)).unit_norm(), np.arange(M)
    yield "a part of views of a part", gram[some][:, some].centered().unit_norm().centered()[5:35][:, 5:35], some[5:35]


@pytest.mark.parametrize("path", with_slow(["repeated"], ["integers", "floats"]), indirect=True)
def test_bits_do_not_depend_on_the_executor(path, client):
    seen = ("a part in which samples repeat", "a part of views of a part")
    expected = {}
    for executor in ("serial", Threads(3), Backwards(), client):
        for name, view, part in views(open_gram(path, executor=executor)):
            if name in seen:
                found = [*nearest(view, 9), *silhouettes(view, [labels[part] for labels in LABELS], WEIGHTS[part])]
                for one, two in zip(found, expected.setdefault(name, found), strict=True):
                    np.testing.assert_array_equal(one, two)
    assert not list((path / "scratch").glob("*/"))


def test_neighbours_and_silhouettes_equal_those_of_the_array(path):
    for name, view, part in views(open_gram(path, executor=2)):
        distances, weights = squares(view.to_numpy()), WEIGHTS[part]
        indices, lengths = nearest(view, 9)
        order, expected = sorted_rows(distances, 9)
        np.testing.assert_allclose(lengths, expected, atol=1e-7, err_msg=name)
        if name in ("the whole", "a part", "a part in which samples repeat"):
            np.testing.assert_array_equal(indices, order, err_msg=name)
        for labels, squared in ((LABELS[0][part], True), (LABELS[1][part], False)):
            (ours,) = silhouettes(view, [labels], weights, squared=squared)
            repeated, theirs = of_scikit_learn(distances if squared else np.sqrt(distances), labels, weights)
            np.testing.assert_allclose(ours[repeated], theirs, atol=1e-6, err_msg=name)


def test_each_work_reads_every_tile_once(path, client):
    for executor in ("serial", client):
        gram = open_gram(path, executor=executor)
        gram.diag(), gram._summary("rows")
        before = gram.bytes_read()
        gram.matmat(np.ones(M))
        a_pass = gram.bytes_read() - before
        assert a_pass == gram._grid.entries * np.dtype(gram.info()["dtype"]).itemsize
        nearest(gram, 5)
        assert gram.bytes_read() - before == 2 * a_pass
        silhouettes(gram, LABELS, WEIGHTS)
        assert gram.bytes_read() - before == 3 * a_pass


def test_a_part_reads_only_the_tiles_that_it_touches(tmp_path):
    gram = compute_gram(Linear(), X, store=tmp_path / "k.zarr", tile=10, executor="serial")
    part = gram[20:30][:, 20:30]
    gram.diag()
    before = gram.bytes_read()
    nearest(part, 3)
    assert gram.bytes_read() - before == 8 * 10 * 10


def test_a_strip_of_a_tile_may_hold_no_sample_of_a_part(tmp_path, monkeypatch):
    monkeypatch.setattr("distkern.operators.pairwise.STRIP_ENTRIES", 1)
    gram = compute_gram(Linear(), X, store=tmp_path / "k.zarr", tile=40, executor="serial")
    for some in (np.arange(5), np.array([3, 38, 59])):
        indices, lengths = nearest(gram[some][:, some], 2)
        order, expected = sorted_rows(squares(gram.to_numpy()[np.ix_(some, some)]), 2)
        np.testing.assert_array_equal(indices, order)
        np.testing.assert_allclose(lengths, expected)


def test_work_beyond_the_memory_of_a_task_is_refused_before_reading(path):
    gram = open_gram(path, executor="serial")
    needed = task_bytes(gram._grid, np.dtype(gram.info()["dtype"]).itemsize, 2 * 6 + 2)
    expected = nearest(gram, 5)
    for memory in (needed, needed - 1):
        tight = open_gram(path, executor=Backwards(memory, workers=2))
        tight.diag(), tight._summary("rows")
        before = tight.bytes_read()
        if memory == needed:
            np.testing.assert_array_equal(nearest(tight, 5), expected)
            continue
        with pytest.raises(MemoryLimitError, match=r"112 bytes for each sample, and may take .*: ask for less"):
            nearest(tight, 5)
        assert tight.bytes_read() == before


def test_partial_results_in_the_client_are_bounded(path, monkeypatch):
    expected = silhouettes(open_gram(path, executor="serial"), LABELS, WEIGHTS)
    rounds, run = [], map_reduce.run
    monkeypatch.setattr(
        map_reduce,
        "run",
        lambda pool, fn, tasks, *given, **named: rounds.append(len(tasks)) or run(pool, fn, tasks, *given, **named),
    )
    monkeypatch.setattr(map_reduce, "HELD_BYTES", 1)
    backwards = Backwards()
    np.testing.assert_array_equal(silhouettes(open_gram(path, executor=backwards), LABELS, WEIGHTS), expected)
    assert rounds == [1] * len(tile_groups(open_gram(path)._grid))


@pytest.mark.slow
def test_a_negative_squared_distance_or_a_damaged_tile_is_reported_by_every_executor(tmp_path, client):
    gram = compute_gram(Linear(), X, store=tmp_path / "k.zarr", tile=16, executor="serial")
    for executor in ("serial", client):
        seen = open_gram(gram.path, executor=executor)
        seen.__dict__["_row_diagonal"] = seen.diag() - 30.0
        with pytest.raises(InputError, match="not positive semidefinite, so it belongs to no feature space: a squared"):
            nearest(seen, 3)
        with pytest.raises(InputError, match="not positive semidefinite"):
            silhouettes(seen, LABELS, WEIGHTS)
    file = tmp_path / "k.zarr" / "gram" / "c" / "1" / "3"
    damaged = bytearray(file.read_bytes())
    damaged[11] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(CorruptTileError, match=r"tile \(1, 3\)"):
        nearest(open_gram(gram.path, executor=client), 3)


def test_a_matrix_between_different_samples_is_refused(tmp_path):
    gram = compute_gram(Linear(), X[:20], X[20:], store=tmp_path / "k.zarr", tile=16, executor="serial")
    with pytest.raises(InputError, match="not the same samples"):
        nearest(gram, 3)
    with pytest.raises(InputError, match="not the same samples"):
        nearest(ArrayGram(np.eye(5))[:3], 2)


def test_fold_is_the_old_name_of_map_reduce():
    work, gram = Nearest(3, 0.0), ArrayGram(X @ X.T)
    expected = gram.map_reduce(work, {"diagonal": gram.diag()})
    with pytest.warns(DeprecationWarning, match="fold is now called map_reduce"):
        found = gram.fold(work, {"diagonal": gram.diag()})
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, two)
