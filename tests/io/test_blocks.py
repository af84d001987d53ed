"""Sparse rows of every container equal its dense rows, in canonical form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import cohorts

from distkern import InputError
from distkern.io.source import as_source

rng = np.random.default_rng(0)
X = rng.poisson(0.4, (11, 7)).astype(float)
X[3] = 0


@pytest.fixture
def cohort(request, tmp_path):
    import anndata

    adata = anndata.AnnData(sparse.csr_matrix(X))
    adata.write_h5ad(tmp_path / "csr.h5ad")
    anndata.AnnData(sparse.csc_matrix(X)).write_h5ad(tmp_path / "csc.h5ad")
    anndata.AnnData(X).write_h5ad(tmp_path / "dense.h5ad")
    adata.write_zarr(tmp_path / "a.zarr")
    sparse.save_npz(tmp_path / "csr.npz", sparse.csr_matrix(X))
    made = {
        "csr": lambda: sparse.csr_matrix(X),
        "csc array": lambda: sparse.csc_array(X),
        "AnnData": lambda: adata,
        "h5ad csr": lambda: tmp_path / "csr.h5ad",
        "h5ad csc": lambda: tmp_path / "csc.h5ad",
        "backed part": lambda: anndata.read_h5ad(tmp_path / "csr.h5ad", backed="r")[:, :],
        "backed for writing": lambda: anndata.read_h5ad(tmp_path / "csr.h5ad", backed="r+"),
        "AnnData zarr": lambda: tmp_path / "a.zarr",
        "npz": lambda: tmp_path / "csr.npz",
        "array": lambda: X,
        "h5ad dense": lambda: tmp_path / "dense.h5ad",
    }
    return made[request.param]()


SPARSE = ["csr", "csc array", "AnnData", "h5ad csr", "h5ad csc", "backed part", "backed for writing", "npz"]


@pytest.mark.filterwarnings("ignore")  # anndata's own, of stores written without a declared format
@pytest.mark.parametrize(
    ("cohort", "is_sparse"),
    [*((name, True) for name in [*SPARSE, "AnnData zarr"]), ("array", False), ("h5ad dense", False)],
    indirect=["cohort"],
)
def test_sparse_rows_equal_dense_rows(cohort, is_sparse):
    source = as_source(cohort)
    assert source.sparse is is_sparse
    for rows in (slice(2, 6), slice(0, 11), [4, 0, 4], [], [-1]):
        block = source.read_sparse(rows)
        assert isinstance(block, sparse.csr_array)
        assert block.dtype == np.float64
        assert block.has_canonical_format
        assert (block.data != 0).all()
        np.testing.assert_array_equal(block.toarray(), source.read(rows))


def test_dask_array_of_sparse_chunks_stays_sparse():
    import dask.array as da

    lazy = da.from_array(X, chunks=(4, 7)).map_blocks(sparse.csr_matrix, meta=sparse.csr_matrix((0, 0)))
    source = as_source(lazy)
    assert source.sparse
    np.testing.assert_array_equal(source.read_sparse(slice(0, 4)).toarray(), X[:4])
    assert not as_source(da.from_array(X)).sparse


@given(cohorts(st.one_of(st.integers(-2, 2).map(float), st.just(float("nan")))))
def test_repeated_entries_are_added_and_explicit_zeros_removed(values):
    m, n = values.shape
    data = np.hstack([np.ones((m, n)), values - 1])  # every entry twice, first in descending order of features
    positions = np.tile(np.r_[np.arange(n)[::-1], np.arange(n)], m)
    stored = sparse.csr_matrix((data.ravel(), positions, np.arange(m + 1) * 2 * n), shape=(m, n))
    block = as_source(stored).read_sparse(slice(0, m))
    np.testing.assert_array_equal(block.toarray(), values)
    assert block.nnz == np.count_nonzero(values)


def test_block_is_a_copy_of_the_cohort():
    stored = sparse.csr_matrix((np.array([2.0, 0.0, 1.0]), np.array([2, 1, 0]), np.array([0, 3])), shape=(1, 3))
    before = stored.data.copy(), stored.indices.copy()
    block = as_source(stored).read_sparse(slice(0, 1))
    block.data[:] = 7
    np.testing.assert_array_equal(stored.data, before[0])
    np.testing.assert_array_equal(stored.indices, before[1])


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32, np.float32])
def test_values_of_any_type_become_float64(dtype):
    values = X.astype(dtype)
    block = as_source(sparse.csr_array(values)).read_sparse(slice(0, 11))
    np.testing.assert_array_equal(block.toarray(), values.astype(float))


def test_integers_beyond_float64_precision_are_refused():
    with pytest.raises(InputError, match="too large"):
        as_source(sparse.csr_array(np.array([[0, 2**53 + 1]]))).read_sparse([0])
