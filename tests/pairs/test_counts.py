"""Counts of tiles and of lists are those of double loops, whatever the form of the columns and the strata."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import cohorts, few_values, ordered_values

from distkern.compiled.inversions import rank
from distkern.compiled.pairwise import rank_observed
from distkern.compiled.significance import tie_sums
from distkern.pairs import counts
from distkern.pairs.counts import PValueRule, inexact, nanoseconds_of_dense, p_of, tally, tau_of
from distkern.pairs.ranked import Block

RULE = PValueRule("two-sided", "auto")
values = cohorts(st.one_of(few_values, ordered_values))


def blocks(columns, strata, form="dense"):
    """Rank the rows of ``columns`` within each stratum."""
    found = []
    for label in sorted(set(strata.tolist())):
        part = np.ascontiguousarray(columns[:, strata == label])
        names = ("order", "observed", "codes") if form == "gaps" else ("order", "codes", "tied", "untied")
        arrays = dict(zip(names, rank_observed(part) if form == "gaps" else rank(part), strict=True))
        if form == "dense":
            arrays["sums"] = np.stack(tie_sums(part), axis=1)
        found.append(Block(form, part.shape[1], arrays))
    return found


@given(values, st.sampled_from(["dense", "gaps"]), st.sampled_from([1e-9, 1e9]), st.data())
def test_counts_of_strata_equal_naive_sums(columns, form, merged, data):
    n = columns.shape[1]
    strata = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    strata[np.bincount(strata, minlength=3)[strata] < 2] = 3
    if (strata == 3).sum() == 1:
        strata[:] = 0
    other = columns[::-1]
    A, B = blocks(columns, strata, form), blocks(other, strata, form)
    first, second = (part.ravel() for part in np.indices((len(columns), len(columns))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts.counting, "MERGED", merged)  # row by row, or the whole tile
        listed = tally(A, B, (first, second))
    tile = tally(A, B)
    expected = [[naive.strata_counts(x.tolist(), y.tolist(), strata.tolist()) for y in other] for x in columns]
    shape = len(columns), len(columns)
    for k in range(3):
        wanted = np.array(expected)[:, :, k]
        np.testing.assert_array_equal(np.broadcast_to(tile[k], shape), wanted)
        np.testing.assert_array_equal(listed[k], wanted.ravel())
    np.testing.assert_array_equal(tile.variance.ravel(), listed.variance)
    np.testing.assert_array_equal(tau_of(tile).ravel(), tau_of(listed))
    np.testing.assert_array_equal(p_of(tile, RULE).ravel(), p_of(listed, RULE))
    np.testing.assert_array_equal(inexact(tile).ravel(), inexact(listed))


@given(values)
def test_a_symmetric_tile_equals_one_of_two_blocks(columns):
    strata = np.zeros(columns.shape[1], dtype=int)
    A = blocks(columns, strata)
    for one, two in zip(tally(A, A, symmetric=True), tally(A, blocks(columns.copy(), strata)), strict=True):
        np.testing.assert_array_equal(one, two)


def test_variance_is_that_of_all_orderings_within_the_strata():
    columns = np.array([[1.0, 2, 2, 3, 5, 4, 4, 1], [3.0, 1, 3, 2, 1, 1, 2, 2]])
    strata = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    found = tally(blocks(columns, strata), blocks(columns, strata))
    parts = [[x[strata == k].tolist() for x in columns] for k in (0, 1)]
    expected = sum(naive.variance_of_concordance(*part) for part in parts)
    assert found.variance[0, 1] == pytest.approx(expected, rel=1e-12)


def test_a_pair_costs_less_with_fewer_samples():
    costs = [nanoseconds_of_dense(n) for n in (10, 100, 1000, 10_000, 100_000)]
    assert costs == sorted(costs)
