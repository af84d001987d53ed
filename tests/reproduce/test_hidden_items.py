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
    lines = ["rank_1,rank_2,rank_3,rank_4,count", "2,3,1,4,30", "1,3,2,4,25", "4,0,0,0,20", "4,1,0,0,9"]
    (tmp_path / hidden_items.FILES["Germany"]).write_text("\n".join(lines))
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


def test_voters_of_a_file_are_drawn(folder):
    path = folder[0] / hidden_items.FILES["Germany"]
    votes = hidden_items.drawn(path, 1000, 0)
    assert (len(votes), votes.items) == (84, ("1", "2", "3", "4"))
    assert np.isnan(votes.values).sum() == 20 * 3 + 9 * 2
    assert len(hidden_items.drawn(path, 40, 0)) == 40


@pytest.mark.slow
def test_whole_ballots_have_the_same_groups_and_methods_agree(folder):
    table = list(hidden_items.rows(data=folder[0], quick=True))
    assert {row["ballots"] for row in table} == {"APA", "Jester", "Germany"}
    whole = [row for row in table if row["ranked"] == row["items"] or row["ballots"] == "Germany"]
    assert len(whole) == 9
    assert all(row["rand_whole"] == 1 for row in whole)
    assert all(row["rand_kernel"] == 1 for row in table if row["method"].startswith("kernel"))
    apa = [row["rand_kernel"] for row in whole if row["ballots"] == "APA"]
    assert min(apa) > 0.2
