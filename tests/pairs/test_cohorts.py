"""Samples of two tables are matched, divided into strata and left out as the user asks."""

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from distkern import InputError, SampleError
from distkern.io.source import as_source
from distkern.pairs.cohorts import match_samples, open_cohort, read_strata, strips, view

X = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [4.0, 3, 1, 2]}, index=list("pqrs"))
nan = np.nan


def cohort(frame=X, Y=None, strata=None, missing="raise"):
    return open_cohort(view(frame), None if Y is None else view(Y), strata, missing)


def test_samples_of_the_second_table_are_found_by_name():
    Y = X[["b"]].iloc[[2, 0, 3, 1]]
    found = cohort(Y=Y)
    np.testing.assert_array_equal(found.Y.dense(0, 1), [X["b"]])
    assert (found.strata, found.samples, found.gaps, found.sparse) == (1, 4, False, False)


def test_more_samples_of_the_second_table_are_left_out_and_counted():
    Y = pd.DataFrame({"y": [9.0, 1, 2, 3, 4]}, index=["new", *"pqrs"])
    with pytest.warns(UserWarning, match="1 of 5 samples of the second table"):
        found = cohort(Y=Y)
    np.testing.assert_array_equal(found.Y.dense(0, 1), [[1, 2, 3, 4]])


def test_samples_that_the_second_table_lacks_are_named():
    with pytest.raises(InputError, match="lacks 2 of 4 samples of the first one, such as 'q'"):
        match_samples(view(X), view(X.loc[["p", "s"]]))


@pytest.mark.parametrize("Y", [np.eye(4), pd.DataFrame(np.eye(4)), pd.Series(np.arange(4.0), name="y")])
def test_without_names_position_decides(Y):
    assert match_samples(view(X), view(Y)).tolist() == [0, 1, 2, 3]


def test_without_names_the_numbers_of_samples_must_agree():
    with pytest.raises(InputError, match="4 and 3 samples, and not both name them"):
        match_samples(view(X), view(np.eye(3)))


def test_strata_order_the_samples_and_keep_them_apart():
    found = cohort(strata=["k", "j", "k", "j"])
    assert found.bounds == (0, 2, 4)
    np.testing.assert_array_equal(found.X.dense(0, 2), X.to_numpy().T[:, [1, 3, 0, 2]])


def test_a_sample_alone_in_its_stratum_is_left_out_and_counted():
    with pytest.warns(UserWarning, match="1 of 4 samples are alone in their stratum"):
        assert cohort(strata=["k", "j", "k", "k"]).bounds == (0, 3)
    with pytest.raises(InputError, match="every stratum has one sample"):
        cohort(strata=list("wxyz"))


def test_strata_have_the_names_of_the_samples():
    with pytest.raises(InputError, match="strata has the samples of the first table in another order"):
        cohort(strata=pd.Series(list("jjkk"), index=list("qprs")))
    with pytest.raises(InputError, match="the label of sample 'r' is missing"):
        cohort(strata=["j", "j", None, "k"])


def test_strata_may_be_a_column_of_the_cohort(tmp_path):
    adata = anndata.AnnData(X.to_numpy(), obs=pd.DataFrame({"donor": list("jkjk")}, index=list("pqrs")))
    assert read_strata(adata, view(adata), "donor").tolist() == list("jkjk")
    adata.write_h5ad(tmp_path / "c.h5ad")
    path = str(tmp_path / "c.h5ad")
    assert read_strata(path, as_source(path), "donor") == list("jkjk")
    with pytest.raises(InputError, match=r"no column 'patient' for the strata.*'donor'"):
        read_strata(adata, view(adata), "patient")
    with pytest.raises(InputError, match="no column 'patient'"):
        read_strata(path, as_source(path), "patient")


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_the_first_missing_value_of_either_table_is_named(kind):
    values = X.to_numpy().copy()
    values[2, 1] = nan
    with pytest.raises(SampleError, match=r"sample number 2 has no value \(NaN\) for feature number 1") as caught:
        cohort(kind(values))
    assert caught.value.row == 2
    with pytest.raises(SampleError, match="sample number 2 of the second table has no value"):
        cohort(X, kind(values))


def test_a_sample_that_lacks_a_value_in_either_table_is_dropped():
    first, second = X.copy(), X.iloc[::-1].copy()
    first.loc["q", "a"] = second.loc["p", "b"] = nan
    with pytest.warns(UserWarning, match="2 of 4 samples lack a value"):
        found = cohort(first, second, missing="drop-samples")
    assert found.samples == 2
    np.testing.assert_array_equal(found.X.dense(0, 1), found.Y.dense(0, 1))
    assert cohort(first, second, missing="pairwise").gaps


def test_a_container_that_is_more_than_half_full_is_compared_value_by_value():
    thin, full = sparse.eye_array(6, format="csr"), sparse.csr_array(np.ones((6, 6)))
    assert cohort(thin).sparse
    assert cohort(np.ones((6, 2)), thin).sparse
    assert not cohort(full).sparse
    assert not cohort(thin.toarray()).sparse


def test_strips_cover_all_rows_once():
    source = view(np.zeros((2500, 1000)))
    assert [row for rows in strips(source) for row in range(2500)[rows]] == list(range(2500))
