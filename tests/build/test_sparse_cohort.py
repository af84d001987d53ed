"""Counts of single cells, mostly zeros: the same values without writing the zeros down."""

import numpy as np
import pytest
from scipy import sparse

from distkern import Kendall, Linear, Mallows, SampleError, compute_gram, open_gram


def counts(m, n, density, seed=0):
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((m, n)) < density, rng.integers(1, 9, (m, n)), 0).astype(float)
    dense[0, 0] = -2.0  # a value below zero stands below all zeros
    return dense


DENSE = counts(40, 300, 0.08)
SPARSE = sparse.csr_array(DENSE)


@pytest.mark.parametrize("kernel", [Kendall(), Kendall(ties="b"), Mallows(0.01), Mallows(0.01, ties="kemeny")])
@pytest.mark.parametrize("tile", [13, 40])
def test_a_stored_matrix_has_the_bits_of_the_dense_one(tmp_path, kernel, tile):
    gram = compute_gram(kernel, SPARSE, store=tmp_path / "s.zarr", tile=tile, executor=2)
    assert gram.info()["sparse"]
    np.testing.assert_array_equal(gram.to_numpy(), kernel(DENSE))
    np.testing.assert_array_equal(kernel(SPARSE), kernel(DENSE))
    np.testing.assert_array_equal(kernel(SPARSE[:5], DENSE), kernel(DENSE[:5], DENSE))
    np.testing.assert_array_equal(gram.diag(), np.diag(kernel(DENSE)))
    new = counts(3, 300, 0.3, seed=1)  # fuller than any stored sample
    for samples in (new, sparse.csr_array(new)):
        np.testing.assert_array_equal(gram.cross(samples).to_numpy(), kernel(new, DENSE))
    dense = compute_gram(kernel, DENSE, store=tmp_path / "d.zarr", tile=tile)
    assert not dense.info()["sparse"]
    assert dense.info()["fingerprint"] == gram.info()["fingerprint"]
    assert compute_gram(kernel, DENSE, store=tmp_path / "s.zarr").info()["runs"] == gram.info()["runs"]


def test_test_cells_against_training_cells(tmp_path):
    gram = compute_gram(Kendall(), SPARSE[:10], SPARSE[10:], store=tmp_path / "r.zarr", tile=8)
    assert gram.info()["sparse"]
    np.testing.assert_array_equal(gram.to_numpy(), Kendall()(DENSE[:10], DENSE[10:]))


def test_what_is_stored_grows_with_what_is_not_zero(tmp_path):
    wide = sparse.csr_array(counts(30, 5000, 0.05))
    compute_gram(Kendall(), wide, store=tmp_path / "s.zarr")
    stored = sum(f.stat().st_size for f in (tmp_path / "s.zarr" / "rows" / "prepared").rglob("*") if f.is_file())
    assert stored < 0.2 * wide.toarray().nbytes


def test_full_samples_and_other_kernels_are_prepared_densely(tmp_path):
    full = sparse.csr_array(counts(20, 50, 0.9))
    assert not compute_gram(Kendall(), full, store=tmp_path / "f.zarr").info()["sparse"]
    linear = compute_gram(Linear(), SPARSE, store=tmp_path / "l.zarr")
    assert not linear.info()["sparse"]
    np.testing.assert_array_equal(linear.to_numpy(), Linear()(DENSE))


def test_a_cell_without_counts_is_refused_by_name_under_tau_b(tmp_path):
    empty = DENSE.copy()
    empty[7] = 0
    with pytest.raises(SampleError, match="sample '7' is constant"):
        compute_gram(Kendall(ties="b"), sparse.csr_array(empty), store=tmp_path / "e.zarr")


def test_annotated_cells_on_a_cluster(tmp_path, client):
    import anndata

    cells = anndata.AnnData(SPARSE)
    gram = compute_gram(Kendall(ties="b"), cells, store=tmp_path / "a.zarr", tile=16)
    assert gram.info()["sparse"]
    np.testing.assert_array_equal(open_gram(gram.path).to_numpy(), Kendall(ties="b")(DENSE))
