import math

import naive
import numpy as np
import pytest
from contracts import KernelContract

from distkern import InputError, Mallows


class TestEmbedding(KernelContract):
    kernel = Mallows(lam=0.3)
    orderings = True

    def naive(self, x, y):
        return naive.mallows(x, y, 0.3)


class TestKemeny(KernelContract):
    kernel = Mallows(lam=0.7, ties="kemeny")
    orderings = True

    def naive(self, x, y):
        return naive.mallows(x, y, 0.7, ties="kemeny")


class TestScaled(KernelContract):
    kernel = Mallows(lam=5.0, scaled=True)
    orderings = True

    def naive(self, x, y):
        return naive.mallows(x, y, 5.0, scaled=True)


def test_positive_semidefinite_with_ties_unlike_strict_discordances():
    X = np.array([[1, 2], [1, 1], [2, 1]])
    strict = np.exp(-np.array([[naive.pair_counts(x, y)[1] for y in X] for x in X], dtype=float))
    assert np.linalg.eigvalsh(strict).min() == pytest.approx(-0.24, abs=0.01)
    for ties in ("embedding", "kemeny"):
        assert np.linalg.eigvalsh(Mallows(lam=1.0, ties=ties)(X)).min() >= 0


def test_the_scaled_form_does_not_vanish_at_twenty_thousand_features():
    X = np.random.default_rng(0).normal(size=(2, 20_000))
    assert Mallows(lam=1.0)(X)[0, 1] == 0.0
    assert Mallows(lam=1.0, scaled=True)(X)[0, 1] == pytest.approx(math.exp(-0.5), abs=0.01)


@pytest.mark.parametrize(("params", "said"), [({"lam": -1}, "-1"), ({"lam": np.nan}, "nan"), ({"ties": "b"}, "'b'")])
def test_bad_parameters_are_refused(params, said):
    with pytest.raises(InputError, match=said):
        Mallows(**params)
