"""Votes and decisions equal loops over samples and pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from distkern import InputError, SampleError
from distkern.io.source import as_source
from distkern.learners import memory
from distkern.learners.multiclass import BinaryProblems
from distkern.learners.pair_votes import (
    Decider,
    Votes,
    agreeing,
    decisions,
    prefix_decisions,
    raised,
    refuse_undecided,
    votes_of,
)

signs = arrays(np.int8, (4, 6), elements=st.integers(-1, 1))
weights = arrays(np.float64, 6, elements=st.sampled_from([0.25, 0.5, 1.0]))


def naive_decision(row, w):
    total, cast = 0.0, 0.0
    for vote, weight in zip(row.tolist(), w, strict=True):
        total, cast = total + weight * vote, cast + weight * abs(vote)
    return total / cast if cast else 0.0


@given(signs, weights, arrays(np.bool_, (4, 6)), st.sampled_from([0.0, 0.5, 1.0]))
def test_decisions_equal_loops(v, w, observed, least):
    v = np.where(observed, v, 0).astype(np.int8)
    starts = np.array([0, 2, 5])
    found = decisions(Votes(v, observed), w, starts, least)
    support = agreeing(Votes(v, observed), w, starts)
    for row in range(4):
        for problem, part in enumerate((slice(0, 2), slice(2, 5), slice(5, 6))):
            assert support[row, problem] == sum(x for x, vote in zip(w[part], v[row, part], strict=True) if vote > 0)
            there = observed[row, part]
            if there.sum() < least * len(there):
                assert np.isnan(found[row, problem])
            else:
                assert found[row, problem] == pytest.approx(naive_decision(v[row, part], w[part]), abs=1e-15)


@pytest.mark.parametrize(("count", "size"), [(7, 100), (28, 100), (5, 6), (2, 3), (0, 4), (4, 4)])
def test_as_many_pairs_as_the_least_fraction_decide(count, size):
    """0.07 as a float64 is a little more than 7 of 100, and 5/6 in decimals a little more than 5 of 6."""
    there = np.arange(size) < np.array([[count], [count - 1]])
    f = decisions(Votes(there.astype(np.int8), there), np.ones(size), np.array([0]), count / size)
    np.testing.assert_array_equal(f[:, 0], [float(count > 0), np.nan if count > 0 else 0.0])


@given(signs, weights)
def test_prefixes_equal_the_decisions_of_fewer_pairs(v, w):
    numbers = np.array([1, 2, 4, 6])
    found = prefix_decisions(v, w, numbers)
    for column, k in enumerate(numbers):
        expected = [naive_decision(row[:k], w[:k]) for row in v]
        np.testing.assert_allclose(found[:, column], expected, atol=1e-15)


@given(
    arrays(np.float64, (5, 3), elements=st.sampled_from([-1.0, -0.5, 0.0, 0.5])),
    arrays(np.float64, (5, 3), elements=st.sampled_from([0.0, 0.5, 1.0])),
    st.booleans(),
)
def test_values_and_probabilities_agree_with_the_class(f, support, one_vs_rest):
    decider = Decider(BinaryProblems(3, one_vs_rest), np.array([4, 5, 5]))
    chosen = decider.decide(f, support)
    np.testing.assert_array_equal(decider.by_class(f, support).argmax(axis=1), chosen)
    p = decider.probabilities(f, support)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-15)
    assert (p >= 0).all()
    if one_vs_rest:
        np.testing.assert_array_equal(p.argmax(axis=1), chosen)
        np.testing.assert_allclose(decider.by_class(f, support), f, rtol=1e-15, atol=1e-300)


def test_draws_of_two_classes():
    f, support = np.array([[0.0], [0.5], [-0.5]]), np.zeros((3, 1))
    for sizes, draw in (([3, 4], 1), ([4, 3], 0), ([4, 4], 0)):
        decider = Decider(BinaryProblems(2), np.array(sizes))
        assert decider.decide(f, support).tolist() == [draw, 1, 0]
        assert decider.probabilities(f, support).argmax(axis=1).tolist() == [draw, 1, 0]
        assert decider.by_class(f, support).tolist() == [0.0, 0.5, -0.5]


def test_raising_changes_the_last_bit_of_shared_maxima_only():
    values = np.array([[0.5, 0.5, 0.1], [0.2, 0.8, 0.1], [0.0, 0.0, 0.0]])
    found = raised(values, np.array([1, 1, 2]))
    assert (found != values).sum() == 2
    np.testing.assert_allclose(found, values, rtol=1e-15, atol=1e-300)


def test_blocks_do_not_matter_and_missing_values_are_named(monkeypatch):
    X = np.random.default_rng(0).integers(0, 3, (20, 4)).astype(float)
    columns = np.array([[0, 1], [3, 0], [-1, 2]])
    (_, whole), *_ = votes_of(as_source(X), columns, None, skip=False)
    monkeypatch.setattr(memory, "BLOCK_BYTES", 100)
    monkeypatch.setattr("distkern.learners.pair_votes.row_blocks", lambda m, n: memory.row_blocks(m, n, 100))
    parts = list(votes_of(as_source(X), columns, None, skip=False))
    assert len(parts) > 5
    np.testing.assert_array_equal(np.concatenate([votes.signs for _, votes in parts]), whole.signs)
    np.testing.assert_array_equal(np.concatenate([votes.observed for _, votes in parts]), whole.observed)
    assert not whole.observed[:, 2].any()
    X[17, 3] = np.nan
    with pytest.raises(SampleError, match=r"sample 'p17' has no value .* feature 'D'") as raised_error:
        list(votes_of(as_source(X, ids=[f"p{k}" for k in range(20)]), columns, ("A", "B", "C", "D"), skip=False))
    assert raised_error.value.row == 17
    gone = np.concatenate([votes.observed for _, votes in votes_of(as_source(X), columns, None, skip=True)])
    assert gone[17].tolist() == [True, False, False]


def test_undecided_samples_are_named():
    f = np.full((7, 2), np.nan)
    f[0] = 1.0
    with pytest.raises(InputError, match=r"6 of 7 samples .*\(number 1, number 2, number 3, number 4, number 5, …\)"):
        refuse_undecided(f, None, 0.5)
    refuse_undecided(f[:1], None, 0.5)
