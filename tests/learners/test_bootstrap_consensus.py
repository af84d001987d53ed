"""The bootstrap of a consensus against a loop over the same draws."""

import numpy as np
import pytest
from naive_consensus import preferred_of

from distkern import InputError, PairwiseVotes, Rankings, bootstrap_consensus, consensus_ranking
from distkern.datasets import load_apa, sample_mallows
from distkern.learners import bootstrap_consensus as room


def ballots():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, (15, 5)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[rng.random(X.shape) < 0.1] = -np.inf
    return X, rng.integers(1, 6, 15)


@pytest.mark.parametrize("method", ["borda", "copeland", "kemeny", "local-search"])
@pytest.mark.parametrize("block", [1 << 23, 100])
def test_each_resample_is_the_consensus_of_its_counts(method, block, monkeypatch):
    monkeypatch.setattr(room, "BLOCK", block)  # 100: four resamples and four ballots at a time
    X, voters = ballots()
    found = bootstrap_consensus(X, method=method, n_resamples=30, random_state=5, sample_weight=voters, confidence=0.8)
    random = np.random.default_rng(5)
    sizes = [30] if block > 100 else [4] * 7 + [2]
    counts = np.concatenate([random.multinomial(voters.sum(), voters / voters.sum(), size=size) for size in sizes])
    orders = [consensus_ranking(X, method=method, sample_weight=count).order.tolist() for count in counts]
    assert found.orders.tolist() == orders
    for a in range(5):
        own = sorted(order.index(a) + 1 for order in orders)
        assert found.places[:, a].tolist() == [order.index(a) + 1 for order in orders]
        low, high = found.intervals[a]
        assert sum(low <= place <= high for place in own) >= 0.8 * 30
        assert sum(place < low for place in own) <= 0.1 * 30
        assert sum(place > high for place in own) <= 0.1 * 30
        assert found.winner_shares[a] == pytest.approx(sum(order[0] == a for order in orders) / 30)
        for b in range(5):
            before = sum(order.index(a) < order.index(b) for order in orders)
            assert found.precedence[a, b] == pytest.approx(before / 30)
    best = consensus_ranking(X, method=method, sample_weight=voters)
    assert found.consensus.order.tolist() == best.order.tolist()
    assert found.same_order == pytest.approx(sum(order == best.order.tolist() for order in orders) / 30)
    assert found.same_winner == pytest.approx(sum(order[0] == best.order[0] for order in orders) / 30)
    assert (found.n_resamples, found.proven) == (30, float(method != "local-search"))


def test_preferences_of_resamples_are_sums_over_the_ballots():
    X, voters = ballots()
    votes = room.votes_of(X, voters)
    random = np.random.default_rng(0)
    counts = random.multinomial(voters.sum(), voters / voters.sum(), size=6)
    for count, preferred in zip(counts, room.resampled_preferences(votes, 6, np.random.default_rng(0)), strict=True):
        assert preferred.tolist() == preferred_of(X, count)[0].tolist()


def test_counts_are_voters_and_the_seed_decides():
    votes = load_apa()
    one, two = (bootstrap_consensus(votes, n_resamples=50, random_state=1) for _ in range(2))
    assert one.orders.tolist() == two.orders.tolist()
    alone = Rankings.from_ranks([[2, 1], [1, 2]], counts=[5000, 4000])
    assert bootstrap_consensus(alone, n_resamples=200, random_state=0).same_order == 1  # 10 standard errors apart
    few = Rankings.from_ranks([[2, 1], [1, 2]], counts=[5, 4])
    assert 0.4 < bootstrap_consensus(few, n_resamples=500, random_state=0).same_order < 0.85


def test_intervals_narrow_with_more_voters():
    few, many = (
        bootstrap_consensus(
            sample_mallows(np.arange(8, 0, -1), 0.3, size, random_state=0),
            method="kemeny",
            n_resamples=100,
            random_state=0,
        )
        for size in (20, 2000)
    )
    width_few, width_many = (np.diff(found.intervals, axis=1).sum() for found in (few, many))
    assert width_many < width_few / 3
    assert many.consensus.order.tolist() == list(range(8))


def test_comparisons_are_drawn_from_pairwise_votes():
    wins, ties = np.array([[0, 30, 20], [10, 0, 25], [4, 3, 0]]), np.array([[0, 5, 0], [5, 0, 2], [0, 2, 0]])
    votes = PairwiseVotes("abc", wins, ties)
    found = bootstrap_consensus(votes, method="copeland", n_resamples=40, random_state=2)
    random = np.random.default_rng(2)
    outcomes = np.concatenate([wins.ravel(), ties[np.triu_indices(3, 1)]])
    for order in found.orders:
        drawn = random.multinomial(outcomes.sum(), outcomes / outcomes.sum())
        one = PairwiseVotes("abc", drawn[:9].reshape(3, 3))
        assert order.tolist() == consensus_ranking(one, method="copeland").order.tolist()
    with pytest.raises(InputError, match="no pair was compared"):
        bootstrap_consensus(PairwiseVotes("ab", np.zeros((2, 2))))


def test_table_and_text():
    found = bootstrap_consensus(load_apa(), method="kemeny", n_resamples=60, random_state=0)
    table = found.to_frame()
    assert list(table.columns) == ["place", "lowest", "highest", "mean", "first"]
    assert list(table.index) == list(found.consensus.items)
    assert table["first"].sum() == pytest.approx(1)
    assert table.loc[found.items[2], "mean"] == pytest.approx(found.places[:, 2].mean())
    assert str(found).splitlines()[0] == str(found.consensus)
    assert len(str(found).splitlines()) == 7


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "median-rank"}, "method must be one of borda, kemeny, local-search, copeland"),
        ({"n_resamples": 0}, "n_resamples must be a whole number of 1 or more"),
        ({"confidence": 1.0}, "confidence must be a number between 0 and 1"),
        ({"sample_weight": [1.5, 1]}, "a weight is not a whole number"),
        ({"time_limit": -1}, "time_limit must be a number of seconds above 0"),
    ],
)
def test_wrong_parameters_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        bootstrap_consensus([[1, 2, 3], [3, 2, 1]], **options)
