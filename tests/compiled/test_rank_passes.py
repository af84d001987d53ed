"""Products with the matrices of ranks, against matrices that are written out."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from distkern.compiled.quantiles import put_on_target
from distkern.compiled.rank_passes import add_to_features, add_to_ranks, first_ranks, outputs

cells = st.one_of(st.integers(-2, 2).map(float), st.floats(-9, 9, width=16), st.just(-0.0))
samples = st.tuples(st.integers(1, 5), st.integers(2, 9)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=cells)
)
unsigned = st.sampled_from([np.uint16, np.uint32])


def naive_matrix(x):
    """Π_x: feature j has each of the ranks of its tie group with the same probability."""
    p = len(x)
    matrix = np.zeros((p, p))
    for j in range(p):
        below, equal = sum(y < x[j] for y in x), sum(y == x[j] for y in x)
        for r in range(below, below + equal):
            matrix[j, r] = 1 / equal
    return matrix


def ranked(X, dtype=np.uint16):
    ranks, groups = np.empty(X.shape, dtype), np.empty(len(X), np.int64)
    first_ranks(X, ranks, groups)
    return ranks, groups


@given(samples, unsigned)
@settings(deadline=None)
def test_ranks_equal_naive_counts(X, dtype):
    ranks, groups = ranked(X, dtype)
    assert ranks.tolist() == [[sum(y < value for y in row) for value in row] for row in X.tolist()]
    assert groups.tolist() == [len({value + 0.0 for value in row}) for row in X.tolist()]


@given(samples, unsigned, st.integers(1, 3), st.integers(0, 99))
@settings(deadline=None)
def test_products_equal_naive_matrices(X, dtype, columns, seed):
    (m, p), rng = X.shape, np.random.default_rng(seed)
    W, F, R = rng.normal(size=(p, columns)), rng.normal(size=(p, columns)), rng.normal(size=(m, columns))
    ranks, groups = ranked(X, dtype)
    Z, G, H = np.full((m, columns), np.nan), np.ones((p, columns)), np.ones((p, columns))
    outputs(ranks, groups, W, F, Z)
    add_to_features(ranks, groups, R, F, G)
    add_to_ranks(ranks, groups, R, W, H)
    matrices = [naive_matrix(x) for x in X.tolist()]
    for c in range(columns):
        w, f, rho = W[:, c], F[:, c], R[:, c]
        np.testing.assert_allclose(Z[:, c], [w @ P @ f for P in matrices], atol=1e-12)
        np.testing.assert_allclose(G[:, c], 1 + sum(a * P @ f for a, P in zip(rho, matrices, strict=True)), atol=1e-12)
        np.testing.assert_allclose(
            H[:, c], 1 + sum(a * P.T @ w for a, P in zip(rho, matrices, strict=True)), atol=1e-12
        )


@given(samples)
@settings(deadline=None)
def test_outputs_equal_naive_products_with_samples_on_the_target(X):
    p = X.shape[1]
    w, f = np.arange(1.0, p + 1), np.linspace(-1, 2, p) ** 3
    Z = np.empty((len(X), 1))
    outputs(*ranked(X), w[:, None].copy(), f[:, None].copy(), Z)
    np.testing.assert_allclose(Z[:, 0], put_on_target(X, np.sort(f))[0] @ w, atol=1e-9)


def test_ranks_and_their_inverse_are_told_apart():
    """A permutation that is not its own inverse: f[rank(x)], not f[argsort(x)]."""
    Z = np.empty((1, 1))
    features = []
    for j in range(3):
        outputs(*ranked(np.array([[2.0, 3.0, 1.0]])), np.eye(3)[:, [j]].copy(), np.array([[10.0], [20.0], [30.0]]), Z)
        features.append(Z[0, 0])
    assert features == [20.0, 30.0, 10.0]
