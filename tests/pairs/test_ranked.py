"""Ranked columns are read from files as they would be ranked alone."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import sparse_cohorts

from distkern import InputError, Threads
from distkern.compiled.inversions import rank
from distkern.compiled.pairwise import rank_observed
from distkern.compiled.significance import tie_sums
from distkern.compiled.sparse_columns import Columns, concordance
from distkern.pairs import ranked
from distkern.pairs.cohorts import open_cohort, view
from distkern.pairs.ranked import disk_bytes, rank_cohort

rng = np.random.default_rng(0)
X = rng.integers(0, 4, (12, 7)).astype(float)
STRATA = np.arange(12) % 2


def columns_of(folder, values, strata=None, missing="raise", **options):
    return rank_cohort(open_cohort(view(values), None, strata, missing), str(folder), None, **options)


@pytest.mark.parametrize("positions", [slice(2, 6), np.array([0, 3, 6])])
def test_dense_columns_of_each_stratum(tmp_path, monkeypatch, positions):
    monkeypatch.setattr(ranked, "RANK_BYTES", 1)  # a column at a time
    events = []
    rows, cols = columns_of(tmp_path, X, STRATA, listener=events.append)
    assert [(event.done, event.total) for event in events] == [(k, 7) for k in range(1, 8)]
    assert rows == cols
    for k, block in enumerate(rows.blocks(positions)):
        values = np.ascontiguousarray(X[STRATA == k].T[positions])
        for name, expected in zip(("order", "codes", "tied", "untied"), rank(values), strict=True):
            np.testing.assert_array_equal(block.arrays[name], expected)
        np.testing.assert_array_equal(block.arrays["sums"], np.stack(tie_sums(values), axis=1))
        assert (block.n, len(block)) == (6, len(values))


def test_columns_with_gaps(tmp_path):
    values = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    rows, _ = columns_of(tmp_path, values, missing="pairwise")
    (block,) = rows.blocks(slice(1, 4))
    for name, expected in zip(("order", "observed", "codes"), rank_observed(values.T[1:4]), strict=True):
        np.testing.assert_array_equal(block.arrays[name], expected)
    assert len(block) == 3


@given(sparse_cohorts(), st.integers(1, 60), st.data())
def test_sparse_columns_count_as_dense_ones(tmp_path_factory, values, budget, data):
    values = values.T
    m, p = values.shape
    strata = np.array(data.draw(st.lists(st.integers(0, 1), min_size=m, max_size=m)))
    if np.bincount(strata).max() < 2 or (np.bincount(strata) == 1).any():
        strata[:] = 0
    thin = sparse.csr_array(np.hstack([values, np.zeros((m, p))]))  # at most half full
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranked, "RANK_BYTES", 12 * budget)
        patch.setattr(ranked, "PART_NONZEROS", max(1, budget // 3))
        rows, _ = columns_of(tmp_path_factory.mktemp("ranked"), thin, strata, pool=Threads(2))
    assert rows.form == "sparse"
    positions = np.array(data.draw(st.lists(st.integers(0, p - 1), min_size=1, unique=True).map(sorted)))
    for k, block in enumerate(rows.blocks(positions)):
        whole = np.ascontiguousarray(values[strata == sorted(set(strata.tolist()))[k]].T)
        dense = whole[positions]
        np.testing.assert_array_equal(block.arrays["sums"], np.stack(tie_sums(dense), axis=1))
        np.testing.assert_array_equal(block.arrays["untied"], rank(dense)[3])
        columns = Columns(*(block.arrays[name] for name in Columns._fields))
        first, second = (part.ravel() for part in np.indices((len(dense), len(dense))))
        counted = [naive.pair_counts(dense[i], dense[j]) for i, j in zip(first, second, strict=True)]
        S = concordance(columns, columns, block.n, first, second)
        assert S.tolist() == [concordant - discordant for concordant, discordant, *_ in counted]


def test_the_largest_block_and_the_bytes_on_disk_are_known(tmp_path):
    rows, _ = columns_of(tmp_path, X)
    assert (rows.largest(3), rows.largest(100), rows.widest) == (36, 84, 12)
    assert disk_bytes((rows, rows)) == sum(file.stat().st_size for file in tmp_path.iterdir())
    (tmp_path / "thin").mkdir()
    thin, _ = columns_of(tmp_path / "thin", sparse.csr_array(np.diag([1.0, 2, 0, 3, 4])))
    assert (thin.largest(2), thin.largest(5), thin.widest) == (2, 4, 1)


def test_a_folder_of_another_machine_is_said_to_be_absent(tmp_path):
    rows, _ = columns_of(tmp_path, X)
    for file in tmp_path.iterdir():
        file.unlink()
    with pytest.raises(InputError, match="TMPDIR if there is no store, on a disk that all workers share"):
        rows.blocks(slice(0, 1))
