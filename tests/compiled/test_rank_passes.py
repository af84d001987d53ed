"""Products with the matrices of ranks, against matrices that are written out."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from distkern.compiled.lanes import LANES, from_lanes, in_lanes
from distkern.compiled.quantiles import put_on_target
from distkern.compiled.rank_passes import add_to_features, add_to_ranks, first_ranks, outputs

cells = st.one_of(st.integers(-2, 2).map(float), st.floats(-9, 9, width=16), st.just(-0.0))
gaps = st.one_of(cells, st.just(np.nan))
shapes = st.tuples(st.integers(1, 5), st.integers(2, 9))
samples = shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=cells))
with_gaps = shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=gaps))
unsigned = st.sampled_from([np.uint16, np.uint32])


def naive_matrix(x, mid=False):
    """Π_x: feature j has each of the ranks of its tie group with the same probability, or the middle one.

    Ranks among q observed values are places among all p; a missing value has all ranks.
    """
    p = len(x)
    q = sum(y == y for y in x)
    matrix = np.zeros((p, p))
    for j in range(p):
        if x[j] != x[j]:
            matrix[j] = 1 / p
            continue
        below, equal = sum(y < x[j] for y in x), sum(y == x[j] for y in x)
        ranks = [below + (equal - 1) / 2] if mid else range(below, below + equal)
        for r in ranks:
            place = r * (p - 1) / (q - 1) if q > 1 else (p - 1) / 2
            for k in range(p):
                matrix[j, k] += max(0.0, 1 - abs(place - k)) / len(ranks)
    return matrix


def ranked(X, dtype=np.uint16):
    ranks, groups = np.empty(X.shape, dtype), np.empty(len(X), np.int64)
    first_ranks(X, ranks, groups)
    return ranks, groups


@given(with_gaps, unsigned)
@settings(deadline=None)
def test_ranks_equal_naive_counts(X, dtype):
    ranks, groups = ranked(X, dtype)
    p = X.shape[1]
    assert ranks.tolist() == [
        [sum(y < value for y in row) if value == value else p for value in row] for row in X.tolist()
    ]
    assert groups.tolist() == [len({value + 0.0 for value in row if value == value}) for row in X.tolist()]


def products(X, W, F, R, mid, dtype=np.uint16):
    """Outputs, and ones plus both sums."""
    found = ranked(X, dtype)
    Z, G, H = (in_lanes(start) for start in (np.zeros(R.shape), np.ones(W.shape), np.ones(W.shape)))
    for w, f, r, z, g, h in zip(*(in_lanes(V) for V in (W, F, R)), Z, G, H, strict=True):
        outputs(*found, mid, w, f, z)
        add_to_features(*found, mid, r, f, g)
        add_to_ranks(*found, mid, r, w, h)
    return [from_lanes(tables, W.shape[1]) for tables in (Z, G, H)]


def compare_with_naive_matrices(X, columns, seed, mid, dtype):
    (m, p), rng = X.shape, np.random.default_rng(seed)
    W, F, R = rng.normal(size=(p, columns)), rng.normal(size=(p, columns)), rng.normal(size=(m, columns))
    Z, G, H = products(X, W, F, R, mid, dtype)
    matrices = [naive_matrix(x, mid) for x in X.tolist()]
    for c in range(columns):
        w, f, rho = W[:, c], F[:, c], R[:, c]
        np.testing.assert_allclose(Z[:, c], [w @ P @ f for P in matrices], atol=1e-11)
        np.testing.assert_allclose(G[:, c], 1 + sum(a * P @ f for a, P in zip(rho, matrices, strict=True)), atol=1e-11)
        np.testing.assert_allclose(
            H[:, c], 1 + sum(a * P.T @ w for a, P in zip(rho, matrices, strict=True)), atol=1e-11
        )


@given(with_gaps, unsigned, st.sampled_from([1, 2, LANES, LANES + 3]), st.booleans(), st.integers(0, 99))
@settings(deadline=None)
def test_products_equal_naive_matrices(X, dtype, columns, mid, seed):
    compare_with_naive_matrices(X, columns, seed, mid, dtype)


def test_products_of_samples_that_are_taken_together_equal_naive_matrices():
    rng = np.random.default_rng(0)
    X = rng.permuted(np.tile(np.arange(7.0), (29, 1)), axis=1)
    X[9, 3] = X[9, 2]  # ties after the first eight
    X[20, 1] = np.nan
    for columns in (1, LANES):
        compare_with_naive_matrices(X, columns, 0, False, np.uint16)


def test_a_column_has_the_same_bits_beside_naive_others():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 11)).round(1)
    W, F, R = rng.normal(size=(11, 9)), rng.normal(size=(11, 9)), rng.normal(size=(20, 9))
    together = products(X, W, F, R, False)
    for c in range(9):
        alone = products(X, W[:, [c]], F[:, [c]], R[:, [c]], False)
        for one, all_of_them in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one[:, 0], all_of_them[:, c])


@given(with_gaps, st.sampled_from(["mean", "mid"]))
@settings(deadline=None)
def test_outputs_equal_naive_products_with_samples_on_the_target(X, ties):
    p = X.shape[1]
    w, f = np.arange(1.0, p + 1), np.sort(np.linspace(-1, 2, p) ** 3)
    Z = np.zeros(len(X))
    outputs(*ranked(X), ties == "mid", w, f, Z)
    phi = put_on_target(X, f, ties)[0]
    np.testing.assert_allclose(Z, np.where(np.isnan(phi), f.mean(), phi) @ w, atol=1e-9)


def test_ranks_and_their_inverse_are_told_apart():
    """A permutation that is not its own inverse: f[rank(x)], not f[argsort(x)]."""
    features = []
    for j in range(3):
        Z = np.zeros(1)
        outputs(*ranked(np.array([[2.0, 3.0, 1.0]])), False, np.eye(3)[j].copy(), np.array([10.0, 20.0, 30.0]), Z)
        features.append(Z[0])
    assert features == [20.0, 30.0, 10.0]
