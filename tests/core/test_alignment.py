"""Names decide wherever both sides have names (markeR#34, rnasplice#223); position only where one side has none."""

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray

from distkern.core.alignment import SampleNames, aligned, refuse_other_names
from distkern.core.errors import InputError

IDS = ("p", "q", "r", "s")
STORED = SampleNames(4, IDS, np.arange(4))
COHORT = SampleNames(4, IDS)
UNNAMED = SampleNames(4, ("0", "1", "2", "3"), np.arange(4))


@pytest.mark.parametrize(
    ("samples", "index"),
    [
        (STORED, IDS),
        (STORED, pd.RangeIndex(4)),
        (STORED, pd.RangeIndex(1, 5)),  # numbers that count carry no names
        (STORED, [0, 1, 2, 3]),  # the positions themselves
        (STORED.take(np.array([3, 1])), ["s", "q"]),
        (STORED.take(np.array([3, 1])), [3, 1]),  # scikit-learn slices both by position
        (STORED.take(np.array([3, 1])).take(np.array([1, 0])), [1, 3]),
        (UNNAMED, IDS),
        (UNNAMED, ["0", "1", "2", "3"]),
        (UNNAMED, [7, 12, 5, 40]),  # training samples of a split of a table, whose values were then computed
        (UNNAMED.take(np.array([2, 0])), ["x", "y"]),
        (SampleNames(4), ["3", "2", "1", "0"]),  # an array has no names
        (SampleNames(4, ("001", "002", "003", "010")), ["001", "002", "003", "010"]),
        (SampleNames(2, ("('a', 1)", "('a', 2)")), pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])),
        (SampleNames(4, ("101", "7", "55", "9")), [101, 7, 55, 9]),  # numbers in one, text in the other
    ],
)
def test_the_same_names_or_none_are_taken(samples, index):
    values = np.arange(samples.count) * 10.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(aligned(pd.Series(values, index=index), samples, "y"), values)


@pytest.mark.parametrize(
    ("samples", "index", "message"),
    [
        (
            STORED,
            ["q", "p", "r", "s"],
            r"y has the samples of the matrix in another order \(number 0 is 'q', not 'p'\)",
        ),
        (STORED, ["w", "x", "y", "z"], "y and the matrix have no name in common .'w' is not 'p'."),
        (STORED, ["p", "q", "r", "x"], "y has no value for 1 of 4 samples of the matrix, the first of them 's'"),
        (STORED, ["p", "q", "r"], "no value for 1 of 4 samples"),
        (STORED, ["p", "q", "r", "s", "t"], "y has the sample 't', which the matrix does not have"),
        (STORED, ["p", "p", "q", "r"], "y has the sample 'p' more than once"),
        (STORED, ["P", "Q", "R", "S"], "no name in common"),
        (STORED, [2, 0, 1, 3], "no name in common"),  # y.sample(frac=1) of a default index
        (STORED, [10, 20, 30, 40], "no name in common"),
        (STORED.take(np.array([0, 1])), pd.RangeIndex(2, 4), "no name in common"),  # another part of the table
        (STORED.take(np.array([3, 1])), [1, 3], "no name in common"),
        (COHORT, [2, 0, 1, 3], "no name in common"),
        (UNNAMED, [1, 0, 2, 3], "another order"),
        (UNNAMED, ["3", "2", "1", "0"], "another order"),
        (UNNAMED.take(np.array([3, 1])), [1, 3], "another order"),
        (SampleNames(4, ("1", "2", "3", "4"), np.arange(4)), ["2", "3", "4", "5"], "no value for 1 of 4"),
        (SampleNames(2, ("001", "002")), [1, 2], "no name in common"),
        (SampleNames(2, ("11", "12")), [21, 22], "no name in common"),  # another cohort with numbers as names
    ],
)
def test_other_names_are_refused_with_the_way_to_align(samples, index, message):
    with pytest.raises(InputError, match=message) as caught:
        aligned(pd.Series(np.arange(len(index)), index=index), samples, "y")
    assert ("y.loc[list(gram.ids)]" in str(caught.value)) != ("more than once" in str(caught.value))


@pytest.mark.parametrize(("names", "index"), [(IDS, [7, 12, 5, 40]), (("7", "12", "5", "40"), list(IDS))])
def test_what_is_left_of_a_default_index_is_position_with_a_warning(names, index):
    """train_test_split of samples with names and labels without, or the reverse."""
    with pytest.warns(UserWarning, match="taken by position"):
        assert aligned(pd.Series([1, 2, 3, 4], index=index), SampleNames(4, names), "y").tolist() == [1, 2, 3, 4]


def test_the_remedy_aligns():
    y = pd.Series([4, 3, 2, 1, 0], index=["s", "r", "q", "p", "x"])
    with pytest.raises(InputError, match=r"align it, as in y\.loc\[list\(gram\.ids\)\]"):
        aligned(y, STORED, "y")
    assert aligned(y.loc[list(IDS)], STORED, "y").tolist() == [1, 2, 3, 4]


def test_names_of_an_xarray_are_compared_and_a_mask_is_missing():
    y = xarray.DataArray([1.0, 2.0, 3.0, 4.0], coords={"sample": list("srqp")}, dims="sample")
    with pytest.raises(InputError, match="another order"):
        aligned(y, STORED, "y")
    assert np.isnan(aligned(np.ma.array([1, 2, 3, 4], mask=[0, 1, 0, 0]), STORED, "y")[1])


@pytest.mark.parametrize("what", ["y", "groups"])
def test_the_name_of_a_column_is_no_values(what):
    with pytest.raises(InputError, match=rf"{what} must hold .* not the text 'er': .* as in X.obs\['er'\]"):
        aligned("er", COHORT, what)


def test_nothing_is_compared_if_one_side_has_no_names():
    refuse_other_names(None, STORED, "y")
    refuse_other_names(("x",), SampleNames(4), "y")
