"""Pairwise preferences and what separates groups equal loops over voters."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distkern as dk
from distkern.core.errors import InputError

VALUES = st.sampled_from([0.0, 1.0, 2.0, float("nan")])


@st.composite
def ballots(draw):
    m, n = draw(st.integers(2, 6)), draw(st.integers(2, 4))
    values = np.array([[draw(VALUES) for _ in range(n)] for _ in range(m)])
    kinds = [draw(st.sampled_from(["top", "interleaving"])) for _ in range(m)]
    counts = [draw(st.integers(1, 3)) for _ in range(m)]
    return dk.Rankings.from_ranks(values, kind=kinds, counts=counts)


def naive(votes, rows, a, b):
    """Voters of some rows who prefer a to b, and who tie them."""
    wins = ties = 0
    for row in rows:
        x, y = votes.values[row, a], votes.values[row, b]
        top, count = votes.kind[row] == "top", int(votes.counts[row])
        if not np.isnan(x) and not np.isnan(y):
            wins, ties = wins + count * (x > y), ties + count * (x == y)
        elif top and not np.isnan(x):
            wins += count
    return wins, ties


@given(ballots())
def test_votes_are_counted_pair_by_pair(votes):
    found = dk.pairwise_preferences(votes)
    for a in range(len(votes.items)):
        for b in range(len(votes.items)):
            wins, ties = naive(votes, range(len(votes)), a, b)
            assert found.wins[a, b] == (wins if a != b else 0)
            assert found.ties[a, b] == (ties if a != b else 0)


@given(ballots(), st.data())
def test_separation_of_groups_equals_loops(votes, data):
    labels = [data.draw(st.integers(0, 1)) for _ in range(len(votes))]
    if len(set(labels)) < 2:
        with pytest.raises(InputError, match="all rankings are in one group"):
            dk.group_preferences(votes, labels)
        return
    found = dk.group_preferences(votes, labels, k=100)
    groups = {g: [row for row, label in enumerate(labels) if label == g] for g in (0, 1)}
    n = len(votes.items)

    def liked(rows, a):
        won = lost = 0.0
        for b in range(n):
            if b != a:
                (w, t), (v, _) = naive(votes, rows, a, b), naive(votes, rows, b, a)
                won, lost = won + w + t / 2, lost + v + t / 2
        return won / (won + lost) if won + lost else np.nan

    by_item = found.items.set_index("item")
    for a, name in enumerate(votes.items):
        shares = [liked(groups[g], a) for g in (0, 1)]
        np.testing.assert_allclose(by_item.loc[name, [0, 1]].astype(float), shares)
        apart = abs(shares[0] - shares[1])
        assert by_item.loc[name, "separation"] == pytest.approx(0.0 if np.isnan(apart) else apart)
    assert (np.diff(found.items["separation"]) <= 1e-12).all()
    listed = {(row[0], row[1]): row for row in found.pairs.itertuples(index=False, name=None)}
    for a, b in combinations(range(n), 2):
        shares = []
        for g in (0, 1):
            (w, t), (v, _) = naive(votes, groups[g], a, b), naive(votes, groups[g], b, a)
            shares.append((w + t / 2) / (w + v + t) if w + v + t else np.nan)
        apart = abs(shares[0] - shares[1])
        if apart > 0:
            assert listed[votes.items[a], votes.items[b]][-1] == pytest.approx(apart)
        else:
            assert (votes.items[a], votes.items[b]) not in listed


def test_labels_of_other_ballots_are_refused():
    table = pd.DataFrame([[1.0, 2.0], [2.0, 1.0]], index=["p", "q"])
    with pytest.raises(InputError, match="in another order"):
        dk.group_preferences(table, pd.Series(["x", "y"], index=["q", "p"]))
