"""What a careful reader tried: paths, changed data, other names, numbers beyond range, late workers, equal samples."""

import os
import time

import numpy as np
import pytest

from distkern import (
    Gaussian,
    InputError,
    Kendall,
    KernelNotFoundError,
    Linear,
    Mallows,
    Polynomial,
    StoreMismatchError,
    compute_gram,
    datasets,
    open_gram,
)
from distkern.build import tasks
from distkern.engine.base import Waiting
from distkern.engine.dask.executor import Dask
from distkern.kernels.kendall import Concordance
from distkern.store.tiles import GramStore

X = np.random.default_rng(0).normal(size=(20, 30))


def test_a_relative_path_means_the_same_to_workers_in_another_folder(tmp_path, client, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the workers were started elsewhere
    np.save("x.npy", X)
    gram = compute_gram(Kendall(), "x.npy", store="k.zarr/", tile=6)
    assert gram.path == str(tmp_path / "k.zarr")
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(X))
    os.chdir("/")
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(X))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["k.zarr", "x.npy"]


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert compute_gram(Kendall(), X, store="~/k.zarr").path == str(tmp_path / "k.zarr")
    assert open_gram("~/k.zarr").is_complete
    with pytest.raises(InputError, match="store must be a path or a URL, not None"):
        compute_gram(Kendall(), X, store=None)


def test_data_that_change_between_the_check_and_the_work_are_refused(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", X)
    create = GramStore.create.__func__

    def change_then_create(cls, *args, **kwargs):
        np.save(tmp_path / "x.npy", X + 1)
        return create(cls, *args, **kwargs)

    monkeypatch.setattr(GramStore, "create", classmethod(change_then_create))
    with pytest.raises(StoreMismatchError, match="not those that were checked"):
        compute_gram(Kendall(), tmp_path / "x.npy", store=tmp_path / "k.zarr")


def test_a_task_never_writes_into_a_store_that_replaced_its_own(tmp_path, monkeypatch):
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=10)
    old = GramStore.opened(tmp_path / "k.zarr")
    stale = tasks.TileTask(
        old.path, old.manifest.id, Concordance(), 0, 1, *(tuple(sums) for sums in old.rows.checksums().tolist())
    )
    tasks.compute_tile(stale)
    tile = Concordance.tile

    def replaced_meanwhile(self, A, B):
        monkeypatch.undo()
        compute_gram(Kendall(), -X[::-1], store=tmp_path / "k.zarr", tile=10, overwrite=True)
        return tile(self, A, B)

    monkeypatch.setattr(Concordance, "tile", replaced_meanwhile)
    with pytest.raises(StoreMismatchError, match="was replaced by another store"):
        tasks.compute_tile(stale)
    assert open_gram(tmp_path / "k.zarr").verify() == []


def test_features_in_another_order_are_refused(tmp_path):
    import pandas

    frame = pandas.DataFrame(X, columns=[f"gene{j}" for j in range(30)])
    turned = frame.iloc[:, ::-1]
    for refused in (
        lambda: compute_gram(Kendall(), turned, frame, store=tmp_path / "r.zarr"),
        lambda: Kendall()(turned, frame),
        lambda: compute_gram(Kendall(), frame, store=tmp_path / "k.zarr").cross(turned),
    ):
        with pytest.raises(InputError, match=r"same features in another order.*'gene29', not 'gene0'"):
            refused()
    with pytest.raises(InputError, match="has other features"):
        Kendall()(frame.rename(columns={"gene3": "other"}), frame)
    np.testing.assert_array_equal(Kendall()(X, frame), Kendall()(frame))  # names on one side only
    assert open_gram(tmp_path / "k.zarr").features[:2] == ("gene0", "gene1")


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize(
    ("kernel", "scale", "dtype", "said"),
    [
        (Linear(), 1e200, "float64", "scale the data down"),
        (Linear() ** 50, 1e10, "float64", "scale the data down"),
        (Linear(), 1e25, "float32", 'or use dtype="float64"'),
    ],
)
def test_numbers_beyond_range_are_never_stored(tmp_path, kernel, scale, dtype, said):
    with pytest.raises(InputError, match=said):
        compute_gram(kernel, X * scale, store=tmp_path / "k.zarr", dtype=dtype)
    assert not open_gram(tmp_path / "k.zarr").is_complete


@pytest.mark.parametrize(
    "kernel",
    [
        Mallows(np.float32(0.5)),
        Mallows(np.int64(2)),
        Gaussian(np.float32(2)),
        Polynomial(np.int64(2)),
        Kendall() ** np.int64(2),
    ],
)
def test_numbers_of_numpy_serve_as_parameters(tmp_path, kernel):
    gram = compute_gram(kernel, X, store=tmp_path / "k.zarr", tile=np.int64(7))
    np.testing.assert_array_equal(gram.to_numpy(), kernel(X))
    assert open_gram(gram.path).kernel == kernel


def test_other_names_for_the_same_samples_are_refused_on_resuming(tmp_path):
    names = [f"s{i}" for i in range(20)]
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr", ids=names)
    assert compute_gram(Kendall(), X, store=tmp_path / "k.zarr").ids == tuple(names)
    with pytest.raises(StoreMismatchError, match=r"number 3 is 's3' there, 'x' here"):
        compute_gram(Kendall(), X, store=tmp_path / "k.zarr", ids=[*names[:3], "x", *names[4:]])


def test_a_damaged_diagonal_or_name_is_noticed(tmp_path):
    compute_gram(Gaussian(3.0), X, store=tmp_path / "g.zarr", tile=10)
    for file, position in ((tmp_path / "g.zarr/rows/prepared/diagonal/c/0", 7), (tmp_path / "g.zarr/rows/ids/c/0", 3)):
        whole = file.read_bytes()
        file.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(Exception, match=r"checksum|damaged"):
            open_gram(tmp_path / "g.zarr").unit_norm()
        file.write_bytes(whole)


def test_a_single_precision_store_has_the_diagonal_that_its_tiles_hold(tmp_path):
    gram = compute_gram(Linear(), X, store=tmp_path / "l.zarr", dtype="float32", tile=7)
    np.testing.assert_array_equal(gram.diag(), np.diag(gram.to_numpy()))
    assert gram.to_numpy() == pytest.approx(Linear()(X), rel=1e-6)


def test_workers_that_arrive_late_are_put_to_work():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            processes=False,
            host="127.0.0.1",
            protocol="tcp",
            dashboard_address="127.0.0.1:0",
            silence_logs="ERROR",
        ) as cluster,
        Client(cluster) as client,
    ):
        receipts = Dask(client).map(where, range(60))
        assert isinstance(next(receipts), Waiting)
        cluster.scale(1)
        first = next(one for one in receipts if not isinstance(one, Waiting))
        cluster.scale(4)
        client.wait_for_workers(4, timeout=60)
        workers = {one for one in receipts if not isinstance(one, Waiting)}
    assert first in workers
    assert len(workers) == 4


def where(_):
    from distributed import get_worker

    time.sleep(0.1)
    return get_worker().address


def test_a_kernel_that_workers_cannot_build_is_refused_first(tmp_path):
    class Mine(Linear):
        name = "mine"

    with pytest.raises(KernelNotFoundError, match="defines no kernel called 'mine' at its top level"):
        compute_gram(Mine(), X, store=tmp_path / "k.zarr")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_creation_leaves_nothing_behind(tmp_path):
    left = tmp_path / "k.zarr.0123456789abcdef0123456789abcdef.new"
    left.mkdir()
    os.utime(left, (time.time() - 7200,) * 2)
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr")
    assert [path.name for path in tmp_path.iterdir()] == ["k.zarr"]


@pytest.fixture(scope="module")
def ballots():
    return datasets.load_apa().expand().values


@pytest.fixture(scope="module")
def gram(ballots, tmp_path_factory):
    return compute_gram(Kendall(), ballots, store=tmp_path_factory.mktemp("apa") / "k.zarr", tile=50)


class TestEqualSamples:
    """Ballots: 5,738 of them are 120 distinct rankings, and only those are computed."""

    def test_only_distinct_ones_are_computed_and_nobody_notices(self, ballots, gram):
        assert gram.shape == (5738, 5738)
        assert gram.info()["samples_computed"] == [120, 120]
        rng = np.random.default_rng(0)
        rows, cols = rng.integers(0, 5738, 300), rng.integers(0, 5738, 200)
        np.testing.assert_array_equal(gram.block(rows, cols), Kendall()(ballots[rows], ballots[cols]))
        assert gram.ids[5737] == "5737"
        np.testing.assert_array_equal(gram.diag(), np.ones(5738))
        assert compute_gram(Kendall(), ballots, store=gram.path).info()["runs"] == gram.info()["runs"]

    def test_products_and_passes(self, ballots, gram):
        V = np.random.default_rng(1).normal(size=(5738, 2))
        part = np.arange(0, 5738, 20)
        expected = Kendall()(ballots[part], ballots) @ V
        np.testing.assert_allclose(gram.matmat(V)[part], expected, rtol=1e-9, atol=1e-9)
        small = gram[part][:, part]
        total = np.zeros(small.shape)
        for rows, cols, values in small.tiles():
            total[np.ix_(rows, cols)] += values
        np.testing.assert_array_equal(total, Kendall()(ballots[part]))
        whole = np.zeros((5738, 1))
        for rows, cols, values in gram.tiles():
            whole[rows, 0] += values @ V[cols, 0]
        np.testing.assert_allclose(whole[part], expected[:, :1], rtol=1e-9, atol=1e-9)

    def test_other_kernels_and_new_ballots(self, ballots, gram):
        view = gram.with_kernel(Mallows(0.5))
        np.testing.assert_array_equal(view[:40][:, 700:750].to_numpy(), Mallows(0.5)(ballots[:40], ballots[700:750]))
        new = np.array([[1.0, 2, 3, 4, 5], [5, 4, 3, 2, 1]])
        np.testing.assert_array_equal(gram.cross(new).to_numpy(), Kendall()(new, ballots))
        assert len(gram[:30].prepared_columns()) == 5738

    def test_rectangular_and_only_where_it_pays(self, ballots, tmp_path):
        gram = compute_gram(Kendall(), ballots[:300], ballots[:1000], store=tmp_path / "r.zarr")
        np.testing.assert_array_equal(gram.to_numpy(), Kendall()(ballots[:300], ballots[:1000]))
        assert gram.info()["samples_computed"][1] <= 120
        assert compute_gram(Kendall(), X, store=tmp_path / "x.zarr").info()["samples_computed"] == [20, 20]
        twice = np.vstack([X, X])
        assert compute_gram(Linear(), twice, store=tmp_path / "l.zarr").info()["samples_computed"] == [40, 40]


def test_sweeping_leaves_what_only_looks_like_an_unfinished_store(tmp_path):
    own, unfinished = tmp_path / "k.zarr.v2.new", tmp_path / f"k.zarr.{'0' * 32}.new"
    for folder in (own, unfinished):
        folder.mkdir()
        os.utime(folder, (time.time() - 10_000,) * 2)
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr")
    assert own.exists()
    assert not unfinished.exists()
