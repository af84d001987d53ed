import naive
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import cohorts, ordered_values

from distkern.compiled.pairwise import MISSING, pairwise_tile, rank_observed
from distkern.compiled.significance import null_variance, tie_sums

gaps = st.one_of(st.just(float("nan")), st.integers(-2, 2).map(float), ordered_values)


def tile(X, Y=None):
    A = rank_observed(X)
    codes = A[2] if Y is None else rank_observed(Y)[2]
    shape = len(X), len(codes)
    counts = np.full((4, *shape), -99)
    variances = np.full(shape, np.nan)
    pairwise_tile(*A, codes, Y is None, *counts, variances)
    return (*counts, variances)


@given(cohorts(gaps, min_features=1), st.booleans())
def test_counts_equal_naive_ones_on_complete_observations(X, symmetric):
    S, untied_a, untied_b, sizes, variances = tile(X, None if symmetric else X[::-1].copy())
    Y = X if symmetric else X[::-1]
    for i, x in enumerate(X):
        for j, y in enumerate(Y):
            seen = ~np.isnan(x) & ~np.isnan(y)
            concordant, discordant, x_only, y_only, _ = naive.pair_counts(x[seen], y[seen])
            assert S[i, j] == concordant - discordant
            assert untied_a[i, j] == concordant + discordant + y_only
            assert untied_b[i, j] == concordant + discordant + x_only
            assert sizes[i, j] == seen.sum()
            if seen.sum() > 1:
                (tied, third, fifth) = tie_sums(np.stack([x[seen], y[seen]]))
                assert variances[i, j] == null_variance(float(seen.sum()), *tied, *third, *fifth)
            else:
                assert variances[i, j] == 0


@given(cohorts(gaps, min_features=1))
def test_naive_ranks_of_what_is_observed(X):
    for x, order, observed, codes in zip(X, *rank_observed(X), strict=True):
        seen = ~np.isnan(x)
        assert observed == seen.sum()
        assert sorted(order[:observed].tolist()) == np.flatnonzero(seen).tolist()
        levels = sorted(set(x[seen].tolist()))
        assert codes.tolist() == [levels.index(value) if value == value else MISSING for value in x.tolist()]
        assert [codes[place] for place in order[:observed]] == sorted(codes[seen].tolist())
