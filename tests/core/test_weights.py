"""Weights of samples: finite, not negative, not all zero."""

import numpy as np
import pandas as pd
import pytest

from distkern.core.errors import InputError
from distkern.core.weights import sample_weights


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -2, 1], r"negative or not finite \(sample 'q' has -2; 1 such\)"),
        ([1, np.nan, np.inf], r"sample 'q' has nan; 2 such"),
        (np.ma.array([1, 1, 1], mask=[False, True, False]), "sample 'q' has nan"),
        (pd.Series([1, None, 1], dtype="Int64"), "sample 'q' has nan"),
        ([0, 0, 0], "every sample weight is zero"),
        ([1e308, 1e308, 1e308], "adds up to infinity"),
        (["1", "2", "3"], "real numbers, not text"),
        ([1, 2j, 3], "real numbers, not complex"),
        ([1, 2], r"weights of shape \(2,\) for 3 samples"),
        (np.ones((3, 1)), r"weights of shape \(3, 1\)"),
        (pd.Series([1, 2, 3], index=["r", "q", "p"]), "another order"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    with pytest.raises(InputError, match=message):
        sample_weights(weights, ("p", "q", "r"))


def test_weights_and_the_positions_of_those_that_count():
    weights, kept = sample_weights(pd.Series([2, 0, 1], index=["p", "q", "r"]), ("p", "q", "r"))
    assert (weights.tolist(), kept.tolist()) == ([2, 0, 1], [0, 2])
    assert sample_weights(3, 2)[0].tolist() == [3, 3]
    assert sample_weights(None, 2)[1].tolist() == [0, 1]
