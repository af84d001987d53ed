"""Hypothesis strategies: samples with and without ties, grids of tiles, partial rankings, and bags."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from distkern.core.bags import Bags

tied_values = st.integers(-2, 2).map(float)
few_values = st.integers(-2, 3).map(float)
ordered_values = st.floats(allow_nan=False, allow_infinity=True, width=32)
finite_values = st.floats(-100, 100, allow_subnormal=False, width=32)


@st.composite
def cohorts(draw, values=tied_values, max_samples=6, min_features=2, max_features=12):
    """A block of samples (m, n), some of which may be equal."""
    m, n = draw(st.integers(1, max_samples)), draw(st.integers(min_features, max_features))
    X = draw(arrays(np.float64, (m, n), elements=values))
    if draw(st.booleans()):
        X = np.vstack([X, X[:1]])
    return X


any_cohort = st.one_of(cohorts(tied_values), cohorts(ordered_values))
finite_cohort = st.one_of(cohorts(tied_values), cohorts(finite_values))


@st.composite
def sparse_cohorts(draw, max_features=14):
    """Samples of any density, few or many values, negative and infinite ones too, with empty and with full rows."""
    m, n = draw(st.integers(1, 5)), draw(st.integers(2, max_features))
    X = draw(arrays(np.float64, (m, n), elements=draw(st.sampled_from([few_values, ordered_values]))))
    X[~draw(arrays(bool, (m, n)))] = 0
    if draw(st.booleans()):
        X = np.vstack([X, X[:1], np.zeros((1, n)), np.arange(n)[None] + 1.0])
    return X


@st.composite
def grids(draw):
    """Rows, columns, tile size and symmetry of a tiled matrix."""
    rows, symmetric = draw(st.integers(1, 30)), draw(st.booleans())
    return rows, rows if symmetric else draw(st.integers(1, 30)), draw(st.integers(1, 12)), symmetric


def with_gaps(X):
    """Replace some values by NaN: −2 among tied values, and a fifth of all others."""
    finite = np.where(np.isfinite(X), X, 0.0)
    return np.where(np.floor(finite) % 5 == 3, np.nan, X)


@st.composite
def partial_cohorts(draw, max_samples=5, max_items=7):
    """Partial rankings with ties (m, n), NaN where not observed, and the kind of each."""
    m, n = draw(st.integers(1, max_samples)), draw(st.integers(2, max_items))
    values = st.one_of(st.just(float("nan")), tied_values) if draw(st.booleans()) else tied_values
    X = draw(arrays(np.float64, (m, n), elements=values))
    return X, draw(st.lists(st.sampled_from(["top", "interleaving"]), min_size=m, max_size=m))


@st.composite
def bag_rows(draw):
    """Rows of bags of one to four weighted points in one or two dimensions; some points are equal."""
    d, sizes = draw(st.integers(1, 2)), draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    numbers = draw(st.sampled_from([st.integers(-2, 2).map(float), st.floats(-3, 3).map(lambda x: round(x, 3))]))
    points = [
        np.array(draw(st.lists(numbers, min_size=d * size, max_size=d * size))).reshape(size, d) for size in sizes
    ]
    weights = [draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=size, max_size=size)) for size in sizes]
    return Bags.from_arrays(points, weights).rows()
