"""Bags: construction, access, and their rows of numbers."""

import anndata
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from distkern.core.bags import Bags, split_rows
from distkern.core.errors import InputError
from distkern.io.source import as_source

numbers = st.floats(-1e6, 1e6)
sets = st.integers(1, 3).flatmap(
    lambda d: st.lists(
        st.integers(1, 5).flatmap(lambda k: arrays(float, (k, d), elements=numbers)), min_size=1, max_size=5
    )
)


@given(sets)
def test_bags_return_the_points_and_weights_they_were_made_of(points):
    weights = [np.arange(1.0, len(part) + 1) for part in points]
    bags = Bags.from_arrays(points, weights)
    assert len(bags) == len(points)
    for number, part in enumerate(points):
        np.testing.assert_array_equal(bags.points(number), part)
        np.testing.assert_array_equal(bags.weights_of(str(number)), weights[number])
    assert Bags.from_rows(bags.rows(), bags.ids) == bags
    assert bags[:] == bags
    assert bags[[0]].ids == ("0",)


def test_rows_are_read_as_a_cohort_with_its_names():
    bags = Bags.from_arrays([[1.0, 2.0], [3.0]], ids=["a", "b"])
    source = as_source(bags)
    assert (source.ids, source.ragged, source.describe()) == (("a", "b"), True, "Bags 2 × 5")
    weights, points = split_rows(source.read(slice(0, 2)))
    np.testing.assert_array_equal(weights, [[1, 1], [1, 0]])
    np.testing.assert_array_equal(points[:, :, 0], [[1, 2], [3, 0]])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Bags.from_arrays([]), "there are no bags"),
        (lambda: Bags.from_arrays([[[1.0]], np.empty((0, 1))], ids=["a", "b"]), "bag 'b' is empty"),
        (lambda: Bags.from_arrays([[[1.0]], [[1.0, 2.0]]]), "bag '1' have 2 dimensions and those of bag '0' 1"),
        (
            lambda: Bags.from_arrays([[1.0, 2.0]], [[1.0, 0.0]]),
            "point 1 of bag '0' has a weight that is not a positive",
        ),
        (lambda: Bags.from_arrays([[1.0], [2.0, np.nan]]), "point 1 of bag '1' has a value that is not finite"),
        (lambda: Bags.from_arrays([[1.0]], [[1.0, 1.0]]), "the weights do not fit the points"),
        (lambda: Bags.from_arrays([[1.0], [2.0]], ids=["a", "a"]), "two bags have the name 'a'"),
        (lambda: Bags.from_arrays([[1.0], [2.0]], labels=[1]), r"labels of shape \(1,\) for 2 bags"),
        (lambda: Bags.from_arrays([["x"]]), "bag 0 is not an array of numbers"),
        (lambda: split_rows(np.ones((2, 4))), "the samples are not bags"),
        (lambda: Bags.from_arrays([[1.0]])["b"], None),
        (lambda: Bags.from_documents(["a", ""], ids=["x", "y"]), "bag 'y' is empty"),
    ],
)
def test_wrong_bags_are_refused_by_name(make, said):
    with pytest.raises((InputError, IndexError), match=said):
        make()


def test_bags_of_a_table_are_in_the_order_of_occurrence():
    frame = pd.DataFrame(
        {
            "who": ["q", "p", "q"],
            "x": [1.0, 2.0, 3.0],
            "y": [4, 5, 6],
            "w": [0.5, 1.0, 2.0],
            "ill": ["yes", "no", "yes"],
        }
    )
    bags = Bags.from_table(frame, "who", weight="w", label="ill")
    assert bags.ids == ("q", "p")
    np.testing.assert_array_equal(bags.points("q"), [[1, 4], [3, 6]])
    np.testing.assert_array_equal(bags.weights_of("q"), [0.5, 2.0])
    assert list(bags.labels) == ["yes", "no"]
    with pytest.raises(InputError, match="bag 'q' has two labels, 'yes' and 'no'"):
        Bags.from_table(frame.assign(ill=["yes", "no", "no"]), "who", label="ill")
    with pytest.raises(InputError, match="row 1 has no name of a bag in column 'who'"):
        Bags.from_table(frame.assign(who=["q", None, "q"]), "who")
    with pytest.raises(InputError, match="the table has no column 'whom'"):
        Bags.from_table(frame, "whom")


def test_cells_of_anndata_are_grouped_by_patient():
    obs = pd.DataFrame({"patient": ["p", "q", "p"], "ill": [1, 0, 1]}, index=list("abc"))
    adata = anndata.AnnData(np.arange(6.0).reshape(3, 2), obs, obsm={"X_pca": np.arange(3.0)[:, None]})
    np.testing.assert_array_equal(Bags.from_anndata(adata, "patient").points("p"), [[0, 1], [4, 5]])
    bags = Bags.from_anndata(adata, "patient", use_rep="X_pca", label="ill")
    np.testing.assert_array_equal(bags.points("p"), [[0], [2]])
    assert list(bags.labels) == [1, 0]
    with pytest.raises(InputError, match="obsm has no key 'X_umap'; it has X_pca"):
        Bags.from_anndata(adata, "patient", use_rep="X_umap")


def test_documents_are_counts_of_words_or_of_their_vectors():
    bags = Bags.from_documents(["b a b", ["c"]])
    np.testing.assert_array_equal(bags.points(0), [[0], [1]])
    np.testing.assert_array_equal(bags.weights_of(0), [1, 2])
    np.testing.assert_array_equal(bags.points(1), [[2]])
    vectors = Bags.from_documents(["b a b", {"a": 3, "z": 1}], vectors={"a": [1.0, 0.0], "b": [0.0, 1.0]})
    np.testing.assert_array_equal(vectors.points(0), [[1, 0], [0, 1]])
    np.testing.assert_array_equal(vectors.weights_of(1), [3])


MASKED = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 0], [0, 1]])  # scipy#20123


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Bags.from_arrays([MASKED]), "point 1 of bag '0' has a value that is not finite"),
        (lambda: Bags.from_arrays([[1.0, 2.0]], [MASKED[1]]), "point 1 of bag '0' has a weight that is not a positive"),
        (lambda: Bags.from_arrays([[1.0], [2.0]], labels=np.ma.array([1, 2], mask=[0, 1])), "bag '1' has no label"),
        (lambda: Bags.from_arrays([[1.0], [2.0]], labels=["a", None]), "bag '1' has no label"),
        (lambda: Bags.from_arrays([[1.0]], labels=["a\nb"]), "label of bag '0', .* contains a line break"),
        (lambda: Bags.from_arrays([[1.0]], ids=["a\x1b[2J"]), "name of bag 1, .* contains an escape code"),
        (lambda: Bags.from_arrays([["1", "2"]]), "bag 0 is not an array of numbers: .* not text"),
        (lambda: Bags.from_arrays([[2**53 + 1]]), "too large"),
        (lambda: Bags.from_counts(MASKED), "numbers of 0 or more"),
        (
            lambda: Bags.from_arrays([[1.0], [2.0]], ids=["p", "q"], labels=pd.Series([1, 0], index=["q", "p"])),
            "labels has the samples of the bags in another order",  # markeR#34
        ),
        (
            lambda: Bags.from_arrays([pd.DataFrame({"x": [1], "y": [2]}), pd.DataFrame({"y": [1], "z": [2]})]),
            "bag '1' lacks 1 of the 2 features that are needed: 'x'",
        ),
        (
            lambda: Bags.from_table(pd.DataFrame({"who": ["a"], "x": pd.array([2**53 + 1], dtype="Int64")}), "who"),
            "too large",
        ),
    ],
)
def test_masks_labels_names_and_digits_are_not_lost(make, said):
    with pytest.raises(InputError, match=said):
        make()


def test_the_columns_of_bags_are_found_by_name():
    bags = Bags.from_arrays([pd.DataFrame({"x": [1], "y": [2]}), pd.DataFrame({"y": [4, 5], "z": [0, 0], "x": [3, 6]})])
    np.testing.assert_array_equal(bags.values, [[1, 2], [3, 4], [6, 5]])


def test_masked_layers_and_tables_of_other_libraries():
    adata = anndata.AnnData(np.ones((2, 2)), pd.DataFrame({"who": ["p", "q"]}, index=["a", "b"]))
    adata.layers["counts"] = MASKED
    with pytest.raises(InputError, match="point 0 of bag 'q' has a value that is not finite"):
        Bags.from_anndata(adata, "who", layer="counts")
    table = pa.table({"who": ["q", "p", "q"], "x": [1, 2, 3]})
    assert Bags.from_table(table, "who") == Bags.from_arrays([[1.0, 3.0], [2.0]], ids=["q", "p"])
