import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import tied_values

from distkern.compiled.columns import add_dense_rows, add_sparse_rows


@given(st.data())
def test_columns_of_blocks_of_rows_equal_the_naive_twin(data):
    m, n = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 5))
    X = np.array(data.draw(st.lists(tied_values, min_size=m * n, max_size=m * n))).reshape(m, n)
    start = data.draw(st.integers(0, n - 1))
    stop, border = data.draw(st.integers(start + 1, n)), data.draw(st.integers(0, m))
    expected = [(x, i) for column in X.T[start:stop] for i, x in enumerate(column) if x != 0]
    starts = np.cumsum([0, *np.count_nonzero(X[:, start:stop], axis=0)])
    for is_sparse in (True, False):
        places, found, rows = starts[:-1].copy(), np.empty(starts[-1]), np.empty(starts[-1], np.int32)
        for first, block in ((0, X[:border]), (border, X[border:])):
            if is_sparse:
                csr = sparse.csr_array(np.where(block == 0, 0.0, block))
                add_sparse_rows(csr.data, csr.indices, csr.indptr, first, start, stop, places, found, rows)
            else:
                add_dense_rows(np.ascontiguousarray(block), first, start, places, found, rows)
        assert list(zip(found.tolist(), rows.tolist(), strict=True)) == expected
        assert places.tolist() == starts[1:].tolist()
