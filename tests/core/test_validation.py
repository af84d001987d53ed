"""Checks of samples: each message names the sample and the feature, by name if they have one."""

import numpy as np
import pytest

from distkern.core.errors import InputError, SampleError
from distkern.core.validation import (
    name_of,
    refuse_constant,
    refuse_infinite,
    refuse_nan,
    refuse_single_feature,
    warn_without_names,
)

IDS, FEATURES = ["p1", "p2"], ["TP53", "MYC"]


@pytest.mark.parametrize(
    ("refuse", "value", "words"), [(refuse_nan, np.nan, "no value"), (refuse_infinite, -np.inf, "an infinite value")]
)
def test_first_unusable_value_is_named(refuse, value, words):
    X = np.array([[1.0, 2.0], [3.0, value]])
    refuse(X[:1])
    with pytest.raises(SampleError, match=rf"sample 'p2' has {words}.* for feature 'MYC'") as raised:
        refuse(X, IDS, FEATURES)
    assert raised.value.row == 1
    with pytest.raises(SampleError, match=r"sample number 1 has .* for feature number 1"):
        refuse(X)


def test_constant_sample_is_refused_with_the_remedy():
    X = np.array([[1.0, 2.0], [3.0, 3.0]])
    refuse_constant(X[:1])
    with pytest.raises(SampleError, match=r"sample 'p2' is constant, .*: add noise") as raised:
        refuse_constant(X, IDS, "add noise")
    assert raised.value.row == 1


def test_single_feature_has_no_pairs():
    refuse_single_feature(np.zeros((1, 2)))
    with pytest.raises(InputError, match="pairs of features; the samples have 1"):
        refuse_single_feature(np.zeros((3, 1)))


def test_samples_without_names_are_warned_of():
    warn_without_names(["0", "1"], None, "X")
    warn_without_names(None, FEATURES, "X")
    warn_without_names(FEATURES, FEATURES, "X")
    for new in (None, ["0", "1"]):
        with pytest.warns(UserWarning, match="X does not have valid feature names, but .*'TP53', 'MYC'"):
            warn_without_names(FEATURES, new, "X")


def test_names_for_messages():
    assert name_of(1, IDS) == "'p2'"
    assert name_of(1, None) == "number 1"
