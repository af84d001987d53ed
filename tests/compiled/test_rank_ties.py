"""Tie groups as rows of their own: the same products as matrices that are written out, and as samples one by one."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from distkern.compiled.lanes import LANES, from_lanes, in_lanes, zeros
from distkern.compiled.rank_passes import add_to_features, add_to_ranks, first_ranks, outputs
from distkern.compiled.rank_ties import fill_rows, separate, share_rows

cells = st.one_of(st.integers(-2, 2).map(float), st.floats(-9, 9, width=16))
shapes = st.tuples(st.integers(1, 20), st.integers(2, 9))
samples = shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=cells))


def ranked(X):
    ranks, groups = np.empty(X.shape, np.uint16), np.empty(len(X), np.int64)
    first_ranks(X, ranks, groups)
    return ranks, groups


def naive_tie_groups(x):
    """First rank and size of each group of equal values, ascending; none if a value is missing."""
    if any(value != value for value in x):
        return []
    found = []
    for value in sorted(set(x)):
        size = sum(other == value for other in x)
        if size > 1:
            found.append([sum(other < value for other in x), size])
    return found


def naive_matrix(x, mid):
    """Π_x of a sample without missing values."""
    p = len(x)
    matrix = np.zeros((p, p))
    for j in range(p):
        below, equal = sum(value < x[j] for value in x), sum(value == x[j] for value in x)
        if mid:
            matrix[j, below + (equal - 1) // 2] += 0.5
            matrix[j, below + equal // 2] += 0.5
        else:
            matrix[j, below : below + equal] = 1 / equal
    return matrix


def products(ranks, groups, found, W, F, R, mid):
    """Outputs and both sums, with the rows of tie groups."""
    p, shapes = len(W), []
    for w, f, r in zip(*(in_lanes(V) for V in (W, F, R)), strict=True):
        table, to_ranks = (zeros(p + 1 + len(found), *w.shape[1:]) for _ in range(2))
        table[:p] = f
        fill_rows(table, p, found, mid)
        z, to_features = zeros(*r.shape), zeros(*w.shape)
        outputs(ranks, groups, mid, w, table, z)
        add_to_features(ranks, groups, mid, r, table, to_features)
        add_to_ranks(ranks, groups, mid, r, w, to_ranks)
        share_rows(to_ranks, p, found, mid)
        shapes.append((z, to_features, to_ranks[:p]))
    return [from_lanes(tables, W.shape[1]) for tables in zip(*shapes, strict=True)]


@given(samples, st.integers(0, 60))
def test_groups_equal_naive_counts_as_far_as_there_is_room(X, room):
    ranks, groups = ranked(X)
    own, numbers = ranks.copy(), groups.copy()
    p, found = X.shape[1], np.full((room, 2), -1, np.int64)
    used = separate(own, numbers, found)
    expected, separated = [], []
    for x in X.tolist():
        of_sample = naive_tie_groups(x)
        separated.append(len(expected) + len(of_sample) <= room)
        expected += of_sample if separated[-1] else []
    assert found[:used].tolist() == expected
    assert (numbers == np.where(separated, p, groups)).all()
    for i, one in enumerate(separated):
        if not one:
            assert (own[i] == ranks[i]).all()
            continue
        for j in range(p):  # the number of a group leads back to its first rank
            assert ranks[i, j] == (own[i, j] if own[i, j] < p else found[own[i, j] - p - 1, 0])


def test_missing_values_are_left_alone_and_equal_naive_groups():
    X = np.array([[1.0, 1.0, np.nan, 2.0], [3.0, 3.0, 3.0, 2.0]])
    ranks, groups = ranked(X)
    found = np.zeros((5, 2), np.int64)
    assert separate(ranks, groups, found) == 1
    assert ranks.tolist() == [[0, 0, 4, 2], [5, 5, 5, 0]]
    assert groups.tolist() == [2, 4]
    assert found[0].tolist() == naive_tie_groups(X[1].tolist())[0] == [1, 3]


@given(samples, st.integers(0, 40), st.sampled_from([1, LANES + 3]), st.booleans(), st.integers(0, 99))
@settings(deadline=None)
def test_products_equal_naive_matrices(X, room, columns, mid, seed):
    (m, p), rng = X.shape, np.random.default_rng(seed)
    W, F, R = rng.normal(size=(p, columns)), rng.normal(size=(p, columns)), rng.normal(size=(m, columns))
    ranks, groups = ranked(X)
    found = np.empty((room, 2), np.int64)
    found = found[: separate(ranks, groups, found)]
    Z, by_feature, by_rank = products(ranks, groups, found, W, F, R, mid)
    matrices = np.stack([naive_matrix(x, mid) for x in X.tolist()])
    np.testing.assert_allclose(Z, np.einsum("ijr,jc,rc->ic", matrices, W, F), atol=1e-10)
    np.testing.assert_allclose(by_feature, np.einsum("ijr,ic,rc->jc", matrices, R, F), atol=1e-10)
    np.testing.assert_allclose(by_rank, np.einsum("ijr,ic,jc->rc", matrices, R, W), atol=1e-10)


def test_outputs_have_the_bits_of_samples_one_by_one():
    """Naive: every sample alone, with its ties in a table of its own."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 1_500)).round(3)
    W, F = rng.normal(size=(2, 1_500, LANES))
    ranks, groups = ranked(X)
    own, numbers, found = ranks.copy(), groups.copy(), np.empty((20_000, 2), np.int64)
    found = found[: separate(own, numbers, found)]
    assert (groups < 1_500).all()
    assert (numbers == 1_500).all()
    for mid in (False, True):
        [alone] = in_lanes(np.zeros((24, LANES)))
        for i in range(24):
            outputs(ranks[i : i + 1], groups[i : i + 1], mid, W, F, alone[i : i + 1])
        Z = products(own, numbers, found, W, F, np.zeros((24, LANES)), mid)[0]
        np.testing.assert_array_equal(Z, alone)
