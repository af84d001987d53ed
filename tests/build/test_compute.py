"""compute_gram end to end: the same bits on any road, resumption, refusals."""

import os
import pickle
from collections import Counter
from pathlib import Path

import naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import with_slow

from distkern import (
    Gaussian,
    InputError,
    Kendall,
    Linear,
    Mallows,
    Polynomial,
    SampleError,
    StoreError,
    StoreMismatchError,
    compute_gram,
    open_gram,
    plan_gram,
)
from distkern.gram import prepared
from distkern.store.samples import StoredSamples
from distkern.store.tiles import GramStore

X = np.random.default_rng(0).integers(0, 50, (23, 40)).astype(float)
KERNELS = [Kendall(ties="b"), Mallows(2.0, scaled=True), Linear(), Polynomial(3, 1.0), Gaussian("median")]


def stored_bytes(path):
    """All chunks of the matrix and of the prepared samples, by name."""
    return {str(f.relative_to(path)): f.read_bytes() for f in Path(path).rglob("c/**/*") if f.is_file()}


@pytest.mark.parametrize("kernel", with_slow(KERNELS[:1], KERNELS[1:]), ids=lambda kernel: kernel.name)
def test_bits_do_not_depend_on_tile_size_and_executor(kernel, tmp_path, client):
    whole = kernel(X)
    for tile in (5, 16, 100):
        for executor in ("serial", 3):
            gram = compute_gram(
                kernel, X, store=tmp_path / "k.zarr", tile=tile, executor=executor, overwrite=True, progress=False
            )
            np.testing.assert_array_equal(gram.to_numpy(), whole)
    on_dask = compute_gram(kernel, X, store=tmp_path / "d.zarr", tile=8)
    assert "Dask cluster" in on_dask.info()["runs"][0]["executor"]
    np.testing.assert_array_equal(on_dask.to_numpy(), whole)
    compute_gram(kernel, X, store=tmp_path / "s.zarr", tile=8, executor="serial")
    assert stored_bytes(tmp_path / "d.zarr") == stored_bytes(tmp_path / "s.zarr")


@pytest.mark.parametrize("cols", [None, X[15:]], ids=["symmetric", "rectangular"])
def test_prepared_rows_are_read_once_per_row_of_tiles_and_then_freed(tmp_path, monkeypatch, cols):
    whole, seen = StoredSamples.read, Counter()

    def read(self, block, checksums=None, only=None):
        seen[self.axis, block] += only is None
        return whole(self, block, checksums, only)

    monkeypatch.setattr(StoredSamples, "read", read)
    gram = compute_gram(Kendall(), X, cols, store=tmp_path / "k.zarr", tile=4, executor="serial", progress=False)
    if cols is None:
        assert seen == {("rows", block): 1 + block for block in range(6)}  # as rows once, as columns of those above
    else:
        assert seen == {("rows", block): 1 for block in range(6)} | {("cols", block): 6 for block in range(2)}
    assert prepared._kept == {}
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(X, cols))


def test_a_rectangular_matrix_and_its_diagonals(tmp_path):
    old, new = X[:15], X[15:]
    for kernel in KERNELS:
        gram = compute_gram(kernel, new, old, store=tmp_path / "r.zarr", tile=6, overwrite=True, ids=list("abcdefgh"))
        assert (gram.shape, gram.is_symmetric) == ((8, 15), False)
        resolved = kernel.resolve(old)
        np.testing.assert_array_equal(gram.to_numpy(), resolved(new, old))
        np.testing.assert_allclose(gram.row_diag(), np.diag(resolved(new)), rtol=1e-14)
        np.testing.assert_allclose(gram.col_diag(), np.diag(resolved(old)), rtol=1e-14)
        assert gram.row_ids == tuple("abcdefgh")
        assert gram.col_ids[:2] == ("0", "1")


def test_one_store_serves_every_kernel_of_the_concordance(tmp_path):
    gram = compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=7)
    for kernel in (Kendall(ties="b"), Mallows(0.01), Mallows(3.0, scaled=True)):
        for view in (gram.with_kernel(kernel), compute_gram(kernel, X, store=tmp_path / "k.zarr", progress=False)):
            np.testing.assert_array_equal(view.to_numpy(), kernel(X))
            np.testing.assert_array_equal(view.diag(), np.diag(kernel(X)))
            np.testing.assert_array_equal(view[3:9][:, ::2].to_numpy(), kernel(X)[3:9][:, ::2])
            np.testing.assert_allclose(view.matmat(np.ones(23)), kernel(X).sum(axis=1), rtol=1e-12)
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(view)).to_numpy(), kernel(X))
    assert len(gram.info()["runs"]) == 1
    with pytest.raises(InputError, match=r"is not made of what .* stores \(Concordance\(\)\)"):
        gram.with_kernel(Mallows(1.0, ties="kemeny"))
    flat = np.vstack([X, np.ones((1, 40))])
    gram = compute_gram(Kendall(), flat, store=tmp_path / "f.zarr")
    with pytest.raises(SampleError, match="sample '23' is constant"):
        gram.with_kernel(Kendall(ties="b"))


@settings(max_examples=8)
@given(st.integers(2, 9), st.integers(1, 5), st.booleans())
def test_equals_the_naive_double_loop(tmp_path_factory, m, tile, single):
    part = X[:m, :7]
    gram = compute_gram(
        Kendall(),
        part,
        store=tmp_path_factory.mktemp("gram") / "k.zarr",
        tile=tile,
        executor="serial",
        dtype="float32" if single else "float64",
    )
    expected = np.array(naive.matrix(naive.kendall, part, part))
    np.testing.assert_allclose(gram.to_numpy(), expected, rtol=1e-14, atol=1e-15)  # whole numbers are stored, exactly


def test_a_cohort_is_recognised_in_another_container(tmp_path):
    import pandas
    from scipy import sparse

    compute_gram(Kendall(), X, store=tmp_path / "k.zarr")
    np.save(tmp_path / "x.npy", X)
    for same in (X.astype(np.float32), pandas.DataFrame(X), sparse.csr_array(X), X.tolist(), tmp_path / "x.npy"):
        assert len(compute_gram(Kendall(), same, store=tmp_path / "k.zarr").info()["runs"]) == 1


def test_a_file_is_read_by_path_on_the_workers(tmp_path, client):
    np.save(tmp_path / "x.npy", X)
    gram = compute_gram(Kendall(), tmp_path / "x.npy", store=tmp_path / "k.zarr", tile=8)
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(X))
    assert gram.info()["runs"][0]["workers"] <= 2  # two worker processes, and not this one


def test_resuming_a_complete_store_computes_nothing(tmp_path):
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=8)
    before = stored_bytes(tmp_path / "k.zarr")
    events = []
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr", tile=5, progress=events.append)  # the stored grid wins
    assert stored_bytes(tmp_path / "k.zarr") == before
    assert events == []
    assert len(open_gram(tmp_path / "k.zarr").info()["runs"]) == 1


def test_other_data_or_another_kernel_is_refused_with_both_fingerprints(tmp_path):
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr")
    changed = X.copy()
    changed[4, 5] += 1
    stored, asked = plan_gram(Kendall(), X), plan_gram(Kendall(), changed)
    with pytest.raises(StoreMismatchError) as caught:
        compute_gram(Kendall(), changed, store=tmp_path / "k.zarr")
    assert stored.fingerprint["rows"] in str(caught.value)
    assert asked.fingerprint["rows"] in str(caught.value)
    with pytest.raises(StoreMismatchError, match=r'stored .*"concordance".* asked for .*"linear"'):
        compute_gram(Linear(), X, store=tmp_path / "k.zarr")
    compute_gram(Linear(), X, store=tmp_path / "l.zarr")
    with pytest.raises(StoreMismatchError, match='dtype: stored "float64", asked for "float32"'):
        compute_gram(Linear(), X, store=tmp_path / "l.zarr", dtype="float32")
    with pytest.raises(StoreMismatchError, match="symmetric"):
        compute_gram(Kendall(), X, X, store=tmp_path / "k.zarr")
    np.testing.assert_array_equal(open_gram(tmp_path / "k.zarr").to_numpy(), Kendall()(X))


def test_only_stores_are_overwritten_and_only_when_asked(tmp_path):
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr")
    with pytest.raises(StoreError, match="exists"):
        compute_gram(Kendall(), X, store=tmp_path / "k.zarr", resume=False)
    gram = compute_gram(Linear(), X, store=tmp_path / "k.zarr", overwrite=True)
    assert gram.kernel == Linear()
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("precious")
    (tmp_path / "file").write_text("precious")
    for precious in (tmp_path / "thesis", tmp_path / "file"):
        for overwrite in (False, True):
            with pytest.raises(StoreError, match="is not a distkern store"):
                compute_gram(Kendall(), X, store=precious, overwrite=overwrite)
    assert (tmp_path / "thesis" / "chapter1.tex").read_text() == "precious"
    assert (tmp_path / "file").read_text() == "precious"


def test_a_store_that_another_client_makes_meanwhile_is_completed_and_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "k.zarr"
    compute_gram(Kendall(), X, store=path)
    of_the_other = GramStore.opened(path).manifest.id
    monkeypatch.setattr("distkern.build.compute.exists", lambda path: False)  # it is made after this look
    compute_gram(Kendall(), X, store=path)
    assert GramStore.opened(path).manifest.id == of_the_other


def test_a_symbolic_link_stays_where_its_store_is_replaced(tmp_path):
    disk, link, new = tmp_path / "disk" / "k.zarr", tmp_path / "k.zarr", tmp_path / "new.zarr"
    compute_gram(Kendall(), X, store=disk, progress=False)
    link.symlink_to(disk)
    new.symlink_to(tmp_path / "disk" / "new.zarr")
    (left := tmp_path / "disk" / f"k.zarr.{'0' * 32}.old").mkdir()  # of a killed run, beside the store itself
    os.utime(left, (0, 0))
    for path in (link, new):
        compute_gram(Linear(), X, store=path, overwrite=True, progress=False)
        assert path.is_symlink()
    assert sorted(one.name for one in disk.parent.iterdir()) == ["k.zarr", "new.zarr"]
    for path in disk.parent.iterdir():
        np.testing.assert_array_equal(open_gram(path).to_numpy(), Linear()(X))


def test_overwriting_with_bad_input_loses_nothing(tmp_path):
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr")
    bad = X.copy()
    bad[0, 0] = np.nan
    with pytest.raises(SampleError):
        compute_gram(Kendall(), bad, store=tmp_path / "k.zarr", overwrite=True)
    np.testing.assert_array_equal(open_gram(tmp_path / "k.zarr").to_numpy(), Kendall()(X))


def test_bad_samples_are_named_by_their_own_names(tmp_path):
    import pandas

    frame = pandas.DataFrame(X, index=[f"patient {i}" for i in range(23)], columns=[f"gene{j}" for j in range(40)])
    frame.iloc[17, 3] = np.nan
    with pytest.raises(SampleError, match=r"sample 'patient 17' has no value .* 'gene3'"):
        compute_gram(Kendall(), frame, store=tmp_path / "k.zarr")
    frame.iloc[17] = 5.0
    with pytest.raises(SampleError, match=r"sample 'patient 17' is constant"):
        compute_gram(Kendall(ties="b"), frame, store=tmp_path / "k.zarr")
    with pytest.raises(InputError, match="'a', at positions 0 and 1"):
        compute_gram(Kendall(), X[:2], store=tmp_path / "k.zarr", ids=["a", "a"])
    assert not (tmp_path / "k.zarr").exists()


def test_arguments_in_the_wrong_place_are_explained(tmp_path):
    with pytest.raises(InputError, match="the kernel comes first"):
        compute_gram(X, Kendall(), store=tmp_path / "k.zarr")
    with pytest.raises(InputError, match=r"40 features, Y has 39|40 features and Y has 39"):
        compute_gram(Kendall(), X, X[:, 1:], store=tmp_path / "k.zarr")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot create the store"):
        compute_gram(Kendall(), X, store=tmp_path / "file" / "below" / "k.zarr")


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
def test_numpy_scalars_are_parameters_of_kernels(tmp_path, kernel):
    gram = compute_gram(kernel, X, store=tmp_path / "k.zarr", tile=np.int64(7))
    np.testing.assert_array_equal(gram.to_numpy(), kernel(X))
    assert open_gram(gram.path).kernel == kernel


def test_resuming_under_other_sample_names_is_refused(tmp_path):
    names = [f"s{i}" for i in range(len(X))]
    compute_gram(Kendall(), X, store=tmp_path / "k.zarr", ids=names)
    assert compute_gram(Kendall(), X, store=tmp_path / "k.zarr").ids == tuple(names)
    with pytest.raises(StoreMismatchError, match=r"number 3 is 's3' there, 'x' here"):
        compute_gram(Kendall(), X, store=tmp_path / "k.zarr", ids=[*names[:3], "x", *names[4:]])


@pytest.mark.parametrize("landmarks", [None, 1])
def test_features_keep_their_names_where_equal_samples_are_computed_once(tmp_path, landmarks):
    frame = pd.DataFrame([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], columns=list("abc"))
    gram = compute_gram(Kendall(), frame, store=tmp_path / "k.zarr", landmarks=landmarks, executor="serial")
    assert gram.features == ("a", "b", "c")
    np.testing.assert_allclose(np.asarray(gram.cross(frame[["c", "b", "a"]]).to_numpy()), 1.0)
    with pytest.raises(InputError, match="lacks 1 of the 3 features"):
        gram.cross(frame[["c", "b"]])
