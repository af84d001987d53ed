import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from strategies import finite_cohort

from distkern.compiled.products import (
    add_sparse_rows,
    inner_products,
    mirror_upper,
    padded_rows,
    row_squares,
    squared_distances,
)
from distkern.core.blas import one_blas_thread


@given(finite_cohort, st.integers(0, 200), st.integers(0, 200))
def test_products_and_distances_equal_sums(X, start_a, start_b):
    expected = [[sum(a * b for a, b in zip(x, y, strict=True)) for y in X] for x in X]
    np.testing.assert_allclose(inner_products(X, X, start_a, start_b), expected, rtol=1e-9, atol=1e-9)
    squares = row_squares(X)
    np.testing.assert_allclose(squares, np.diag(expected), rtol=1e-9, atol=1e-12)
    distances = squared_distances(X, X, squares, squares, start_a, start_b)
    expected = [[sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for y in X] for x in X]
    np.testing.assert_allclose(distances, expected, rtol=1e-9, atol=0)
    assert (distances >= 0).all()
    assert (np.diag(distances) == 0).all()


@pytest.mark.parametrize(
    ("count", "start", "rows"), [(1, 0, 64), (64, 0, 64), (65, 0, 128), (2, 63, 128), (2, 126, 64)]
)
def test_rows_are_padded_to_whole_micro_blocks(count, start, rows):
    assert padded_rows(count, start) == rows


def test_mirroring_copies_the_upper_triangle():
    assert mirror_upper(np.array([[1.0, 2.0], [9.0, 3.0]])).tolist() == [[1.0, 2.0], [2.0, 3.0]]


def test_blas_threads_are_limited_inside_and_restored_after_the_last_one_leaves():
    from threadpoolctl import threadpool_info

    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = threads()
    with one_blas_thread():
        with one_blas_thread():
            assert set(threads()) == {1}
        assert set(threads()) == {1}
    assert threads() == before


@pytest.mark.parametrize(("length", "vectors"), [(1, 1), (7, 3), (600, 2)])  # 600 are added in two parts
def test_sparse_vectors_are_multiplied_by_their_nonzero_rows(length, vectors):
    rng = np.random.default_rng(0)
    rows, V = rng.normal(size=(9, length)), rng.normal(size=(9, vectors)) * (rng.random((9, vectors)) < 0.5)
    sparse, out = csr_array(V), rng.normal(size=(vectors, length + 5))
    expected = out.copy()
    for i in range(2, 8):
        for vector in range(vectors):
            for x in range(length):
                expected[vector, 3 + x] += V[i, vector] * rows[i, x]
    add_sparse_rows(out, 3, rows[2:8], sparse.indptr[2:9], sparse.indices, sparse.data)
    np.testing.assert_array_equal(out, expected)
