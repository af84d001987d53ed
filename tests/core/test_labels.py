"""Missing labels (scikit-learn#25953), and labels that only look alike, are refused in one place."""

import numpy as np
import pandas as pd
import pytest

from distkern.core.errors import InputError, InputTypeError
from distkern.core.labels import checked_labels, encoded_labels, stripped


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, "", " ", "nan", "NA", "NaN", "<NA>", "NaT", "\u200b"])
def test_a_missing_label_is_refused_by_name_and_count(missing):
    labels = np.array(["a", "b", missing, "b", missing], dtype=object)
    with pytest.raises(InputError, match=r"label of sample 'r' is .*2 such"):
        checked_labels(labels, tuple("pqrst"))


@pytest.mark.parametrize(
    "labels",
    [
        [0.0, np.nan, 1.0],
        [0.0, np.inf, 1.0],
        np.array(["2020-01-01", "NaT", "2021-01-01"], dtype="datetime64[D]"),
        np.ma.array(["a", "b", "a"], mask=[False, True, False]),
        np.ma.array([0, 1, 0], mask=[False, True, False]),
        pd.Series([0, None, 1], dtype="Int64"),
        pd.Series([True, None, False], dtype="boolean"),
        pd.Categorical(["a", None, "b"]),
        pd.Series(["a", None, "b"], dtype="string"),
        np.array(["a", np.nan, "b"]),  # NumPy writes NaN as text
        [b"a", b"", b"b"],
    ],
)
def test_missing_values_of_all_containers_are_refused(labels):
    with pytest.raises(InputError, match="label of sample 1 is"):
        checked_labels(labels, 3)


def test_a_missing_group_is_called_a_group():
    with pytest.raises(InputError, match="group of sample 1 is missing"):
        checked_labels(["a", None], 2, "groups")


@pytest.mark.parametrize("other", ["Male ", " Male", "Male\xa0", "\tMale", "Male\u200b", "Male\ufeff", "Male\u3000"])
def test_labels_that_differ_by_blanks_around_them_are_refused(other):
    with pytest.raises(InputError, match="differ only by blanks"):
        checked_labels(["Male", "Female", other], 3)
    assert stripped(other) == "Male"


def test_labels_that_differ_by_the_composition_of_a_letter_are_refused():
    with pytest.raises(InputError, match="encoding of their characters"):
        checked_labels(["caf\u00e9", "cafe\u0301"], 2)


@pytest.mark.parametrize(
    "labels", [["Male", "male"], ["a b", "a  b"], ["None", "no"], ["n/a ", "b"], [0, 1], [True, False]]
)
def test_other_labels_are_left_alone(labels):
    assert checked_labels(labels, 2).tolist() == labels


def test_texts_beside_numbers_are_refused_and_codes_follow_the_order_of_labels():
    with pytest.raises(InputTypeError, match="several types"):
        encoded_labels(np.array([1, "b"], dtype=object), 2)
    names, codes = encoded_labels(pd.Series(["b", "a", "b"], dtype="category"), 3)
    assert names.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0, 1]


def test_the_number_of_labels_is_compared():
    with pytest.raises(InputError, match=r"labels of shape \(2,\) for 3 samples"):
        checked_labels(["a", "b"], 3)
