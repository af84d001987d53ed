"""Groups found again in ballots that lose items: the ballots of Jester, and the table at small size."""

from __future__ import annotations

import numpy as np
import pytest

from distkern.reproduce import hidden_items


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(0)
    ratings = random.integers(-40, 41, (60, 20)) / 4
    ratings[:, :5][random.random((60, 5)) < 0.5] = np.nan
    ratings[3, 10] = np.nan
    np.savez(tmp_path / "jester5k.npz", ratings=ratings)
    return tmp_path, ratings


def test_ballots_order_the_ratings_of_the_jokes_that_most_rate(folder):
    path, ratings = folder
    votes = hidden_items.rated(path / "jester5k.npz", 40, 0)
    assert votes.items == tuple(f"joke {k}" for k in range(6, 21))
    complete = np.delete(ratings[:, 5:], 3, axis=0)[:40]
    assert votes.shape == complete.shape
    for values, row in zip(votes.values, complete, strict=True):
        assert sorted(values) == list(range(1, 16))
        assert (np.diff(row[np.argsort(values)]) >= 0).all()


@pytest.mark.slow
def test_whole_ballots_have_the_same_groups_and_methods_agree(folder):
    table = list(hidden_items.rows(data=folder[0], quick=True))
    assert {row["ballots"] for row in table} == {"APA", "Jester"}
    whole = [row for row in table if row["ranked"] == row["items"]]
    assert len(whole) == 6
    assert all(row["rand_whole"] == 1 for row in whole)
    assert all(row["rand_kernel"] == 1 for row in table if row["method"].startswith("kernel"))
    apa = [row["rand_kernel"] for row in whole if row["ballots"] == "APA"]
    assert min(apa) > 0.2
