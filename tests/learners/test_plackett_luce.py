"""Plackett–Luce and Bradley–Terry models against other software, published values, and drawn data."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from distkern.core.errors import InputError, SampleError
from distkern.core.pairwise_votes import PairwiseVotes
from distkern.core.rankings import Rankings
from distkern.learners import plackett_luce as module
from distkern.learners.persist import load_model, save_model
from distkern.learners.plackett_luce import BradleyTerry, PlackettLuce
from distkern.solvers import plackett_luce as solver

TOY = Rankings.from_orderings(
    [["A", "B"], ["C", "A"], ["A", "D"], ["B", "A"], ["B", "C"]], kind="interleaving", items="ABCD"
)
"""Example of the vignette of PlackettLuce; D never wins."""


def drawn(m, log_worths, seed=0):
    """Total rankings with values n for the first to 1 for the last."""
    noisy = np.asarray(log_worths) + np.random.default_rng(seed).gumbel(size=(m, len(log_worths)))
    return np.argsort(np.argsort(noisy, axis=1), axis=1) + 1.0


def votes(n=5, games=300, seed=0, ties=0):
    random = np.random.default_rng(seed)
    wins = np.triu(random.integers(1, games // 10, (n, n)), 1) + np.tril(random.integers(1, games // 10, (n, n)), -1)
    tied = np.triu(random.integers(0, ties + 1, (n, n)), 1)
    return PairwiseVotes(tuple("abcdefgh"[:n]), wins, tied + tied.T)


def as_rankings(votes):
    """One row for each result of each pair."""
    n, rows, counts = votes.n_items, [], []
    for i in range(n):
        for j in range(n):
            for value, count in ((2, votes.wins[i, j]), (1, votes.ties[i, j] if i < j else 0)):
                if count:
                    row = np.full(n, np.nan)
                    row[[i, j]] = value, 1
                    rows.append(row)
                    counts.append(count)
    return Rankings.from_ranks(rows, kind="interleaving", items=votes.items, counts=counts)


# Other software and published values ---------------------------------------------------------------------------------


def test_the_values_of_the_r_package():
    """Vignette "Introduction to PlackettLuce" of the R package PlackettLuce, section on disconnected networks."""
    model = PlackettLuce().fit(TOY)
    relative = model.log_worths_ - model.log_worths_[0]
    np.testing.assert_allclose(relative, [0, 0.5184180, 0.1354701, -1.1537567], atol=1e-6)
    connected = TOY[[0, 1, 3, 4]]
    connected = Rankings(connected.values[:, :3], ("A", "B", "C"), connected.kind, connected.counts)
    model = PlackettLuce(prior=0).fit(connected)
    np.testing.assert_allclose(model.log_worths_ - model.log_worths_[0], [0, 0.8392, 0.4196], atol=5e-5)
    np.testing.assert_allclose(model.standard_errors("A"), [0, 1.3596, 1.5973], atol=5e-5)
    assert -2 * model.log_likelihood_ == pytest.approx(5.1356, abs=5e-5)
    assert model.aic(connected) == pytest.approx(9.1356, abs=5e-5)
    assert model.bic(connected) == pytest.approx(5.1356 + 2 * np.log(4), abs=5e-5)


def test_the_first_brands_of_davidsons_puddings():
    """The wins and ties of the first brands: sums of observed and of expected results are equal at the maximum."""
    wins = np.array([[0, 19, 16, 18], [22, 0, 19, 23], [19, 19, 0, 19], [23, 19, 20, 0]])
    ties = np.array([[0, 16, 12, 13], [16, 0, 10, 9], [12, 10, 0, 15], [13, 9, 15, 0]])
    puddings = PairwiseVotes(("1", "2", "3", "4"), wins, ties)
    model = BradleyTerry(prior=0).fit(puddings)
    pairs = [(i, j) for i in range(4) for j in range(i)]
    chances = model.predict_proba(pairs)
    games = np.array([wins[i, j] + wins[j, i] + ties[i, j] for i, j in pairs])
    assert games @ chances[:, 2] == pytest.approx(ties.sum() / 2)
    for item in range(4):
        expected = sum(
            g * (c[0] * (i == item) + c[1] * (j == item) + c[2] / 2 * (item in (i, j)))
            for g, c, (i, j) in zip(games, chances, pairs, strict=True)
        )
        assert expected == pytest.approx(wins[item].sum() + ties[item].sum() / 2)


def test_rankings_are_those_of_choix():
    choix = pytest.importorskip("choix")
    X = drawn(60, [0.0, 0.4, 0.9, -0.5, 1.0])
    model = PlackettLuce(prior=0).fit(X)
    expected = choix.opt_rankings(5, np.argsort(-X, axis=1).tolist(), alpha=0.0, tol=1e-10)
    np.testing.assert_allclose(model.log_worths_, expected - expected.mean(), atol=1e-6)
    first = [(row[0], tuple(row[1:])) for row in np.argsort(-X, axis=1)]
    model = PlackettLuce(prior=0).fit(Rankings.from_ranks(np.where(X == 5, X, np.nan), kind="top"))
    expected = choix.mm_top1(5, first, alpha=0.0, tol=1e-12)
    np.testing.assert_allclose(model.log_worths_, expected - expected.mean(), atol=1e-6)


def test_pairs_are_those_of_choix():
    choix = pytest.importorskip("choix")
    games = votes()
    pairs = [(i, j) for i in range(5) for j in range(5) for _ in range(int(games.wins[i, j]))]
    expected = choix.opt_pairwise(5, pairs, alpha=0.0, tol=1e-10)
    np.testing.assert_allclose(BradleyTerry(prior=0).fit(games).log_worths_, expected - expected.mean(), atol=1e-6)


def test_pairs_are_a_logistic_regression():
    sm = pytest.importorskip("statsmodels.api")
    games = votes(seed=2)
    pairs = [(i, j) for i in range(5) for j in range(i)]
    design = np.zeros((len(pairs), 5))
    for row, (i, j) in enumerate(pairs):
        design[row, [i, j]] = 1, -1
    results = np.array([[games.wins[i, j], games.wins[j, i]] for i, j in pairs])
    fitted = sm.GLM(results, design[:, 1:], family=sm.families.Binomial()).fit(tol=1e-12)
    model = BradleyTerry(prior=0).fit(games)
    np.testing.assert_allclose(model.log_worths_[1:] - model.log_worths_[0], fitted.params, atol=1e-8)
    np.testing.assert_allclose(model.standard_errors("a")[1:], fitted.bse, rtol=1e-6)
    np.testing.assert_allclose(model.covariance("a")[1:, 1:], fitted.cov_params(), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(pairs)[:, 0], fitted.fittedvalues, rtol=1e-8)


# Fitting -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", [0, 4])
def test_pairwise_votes_are_their_rankings(ties):
    games = votes(ties=ties)
    rows = as_rankings(games)
    by_votes, by_rows, general = (
        BradleyTerry().fit(games), BradleyTerry().fit(rows), PlackettLuce(solver="mm", max_iter=5000).fit(rows)
    )  # fmt: skip
    for model in (by_rows, general):
        np.testing.assert_allclose(model.log_worths_, by_votes.log_worths_, atol=1e-6)
        np.testing.assert_allclose(model.ties_, by_votes.ties_, rtol=1e-6)
        assert model.log_likelihood_ == pytest.approx(by_votes.log_likelihood_)
    np.testing.assert_allclose(by_rows.covariance_, by_votes.covariance_, rtol=1e-6, atol=1e-12)
    assert by_votes.score(games) == pytest.approx(by_rows.score(rows))
    assert by_votes.bic(games) == pytest.approx(by_rows.bic(rows))
    turned = PairwiseVotes(games.items[::-1], games.wins[::-1, ::-1], games.ties[::-1, ::-1])
    assert by_votes.score(turned) == pytest.approx(by_votes.score(games))
    assert by_votes.predict_proba([("a", "c")]).shape == (1, 2 + (ties > 0))
    np.testing.assert_allclose(by_votes.predict_proba([("a", "c"), (1, 0)]).sum(axis=1), 1)
    assert len(by_votes.ties_) == (ties > 0)


@given(st.integers(0, 999))
def test_the_probabilities_of_all_orders_sum_to_one(seed):
    random = np.random.default_rng(seed)
    model = PlackettLuce().fit(drawn(8, random.normal(size=4), seed))
    every = np.array(list(permutations(range(1, 5))), dtype=float)
    chances = np.exp(model.score_samples(every))
    assert chances.sum() == pytest.approx(1)
    before = (every[:, :, None] > every[:, None, :]).astype(float)
    pairs = np.einsum("r,rij->ij", chances, before)
    np.fill_diagonal(pairs, np.nan)
    np.testing.assert_allclose(model.pair_probabilities(), pairs)
    np.testing.assert_allclose(model.first_probabilities(), [chances[every[:, i] == 4].sum() for i in range(4)])
    np.testing.assert_allclose(
        model.first_probabilities([2, 0]), [pairs[2, 0], pairs[0, 2]]
    )  # a choice of two is a comparison
    assert model.first_probabilities([1]) == [1]
    top = Rankings.from_ranks(np.where(every >= 3, every, np.nan), kind="top")
    np.testing.assert_allclose(  # a ballot of two is all rankings that begin like it
        np.exp(model.score_samples(top)),
        [chances[(np.where(every >= 3, every, 0) == np.where(x >= 3, x, 0)).all(axis=1)].sum() for x in every],
    )
    part = Rankings.from_ranks(np.where(np.arange(4) == 1, np.nan, every), kind="interleaving")
    np.testing.assert_allclose(  # of three items, all total rankings that order them so
        np.exp(model.score_samples(part)),
        [chances[(np.sign(every[:, [0, 0, 2]] - every[:, [2, 3, 3]])
                  == np.sign(x[[0, 0, 2]] - x[[2, 3, 3]])).all(axis=1)].sum() for x in every],
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["total", "top", "interleaving"])
def test_worths_and_their_errors_are_recovered(kind):
    truth = np.array([0.0, 0.5, 1.0, 1.5, -0.7])
    errors = []
    for seed in range(20):
        X = drawn(400, truth, seed)
        if kind == "top":
            X = Rankings.from_ranks(np.where(X >= 4, X, np.nan), kind="top")
        if kind == "interleaving":
            hidden = np.random.default_rng(seed).permuted(np.tile(np.arange(5) < 2, (400, 1)), axis=1)
            X = Rankings.from_ranks(np.where(hidden, np.nan, X), kind="interleaving")
        model = PlackettLuce(prior=0).fit(X)
        errors.append((model.log_worths_ - (truth - truth.mean())) / model.standard_errors())
    assert np.abs(errors).mean() == pytest.approx(np.sqrt(2 / np.pi), abs=0.15)  # of a standard normal
    assert np.abs(np.mean(errors, axis=0)).max() < 1


def test_ties_are_recovered_from_drawn_rankings():
    model = PlackettLuce()
    model.log_worths_, model.worths_ = np.array([0.5, 0.0, -0.5]), np.array([0.5, 0.3, 0.2])
    model.tie_orders_, model.ties_ = np.array([2]), np.array([0.6])
    model.n_features_in_ = 3
    again = PlackettLuce(prior=0).fit(model.sample(4000, random_state=0))
    np.testing.assert_allclose(again.log_worths_, model.log_worths_, atol=0.1)
    np.testing.assert_allclose(again.ties_, [0.6], atol=0.05)
    np.testing.assert_array_equal(again.tie_orders_, [2])
    assert again.first_probabilities().sum() > 1
    pairs = again.pair_probabilities()
    assert (np.nan_to_num(pairs + pairs.T, nan=0.5) < 1).all()
    assert again.score_samples([[1, 1, 1]]) == -np.inf  # three items were never tied


def test_counts_are_voters_and_items_are_found_by_name():
    X = drawn(40, [0.0, 1.0, 2.0, 0.5])
    counts = np.random.default_rng(1).integers(1, 5, 40)
    ballots = Rankings.from_ranks(X, items="abcd", counts=counts)
    model = PlackettLuce().fit(ballots)
    for other in (ballots.expand(), pd.DataFrame(ballots.expand().values, columns=list("abcd"))):
        np.testing.assert_allclose(PlackettLuce().fit(other).log_worths_, model.log_worths_, atol=1e-9)
    np.testing.assert_allclose(PlackettLuce().fit(X, sample_weight=counts).log_worths_, model.log_worths_, atol=1e-9)
    assert model.score(ballots) * counts.sum() == pytest.approx(model.log_likelihood_)
    turned = Rankings.from_ranks(X[:, ::-1], items="dcba")
    np.testing.assert_allclose(model.score_samples(turned), model.score_samples(ballots))
    with pytest.raises(InputError, match="lacks 1 of the 4 features"):
        model.score_samples(Rankings.from_ranks(X[:, 1:], items="bcd"))
    assert model.worths_.sum() == pytest.approx(1)
    np.testing.assert_allclose(np.log(model.worths_) - np.log(model.worths_).mean(), model.log_worths_)


def test_predicted_orders():
    model = PlackettLuce().fit(drawn(200, [0.0, 2.0, 1.0]))
    np.testing.assert_array_equal(model.predict([[3, 2, 1]]), [[1, 3, 2]])
    parts = Rankings.from_ranks([[5, np.nan, 4], [np.nan, 2, np.nan]], kind=["interleaving", "top"])
    np.testing.assert_array_equal(model.predict(parts), [[1, np.nan, 2], [1, 3, 2]])


def test_saved_and_loaded(tmp_path):
    for number, (model, X) in enumerate(((PlackettLuce(), TOY), (BradleyTerry(), votes(ties=3)))):
        fitted = model.fit(X)
        loaded = load_model(save_model(fitted, tmp_path / f"{number}.npz"))
        assert loaded.score(X) == fitted.score(X)
        np.testing.assert_array_equal(loaded.standard_errors(), fitted.standard_errors())
    mm = PlackettLuce(solver="mm", max_iter=5000).fit(TOY)
    loaded = load_model(save_model(mm, tmp_path / "mm.npz"))
    with pytest.raises(InputError, match="fit with solver='newton'"):
        loaded.standard_errors()


def test_many_items_take_the_mm_algorithm(monkeypatch):
    X = drawn(50, [0.0, 0.5, 1.0])
    newton = PlackettLuce().fit(X)
    monkeypatch.setattr(module, "MOST_NEWTON", 2)
    mm = PlackettLuce().fit(X)
    assert newton.covariance_ is not None
    assert mm.covariance_ is None
    np.testing.assert_allclose(mm.log_worths_, newton.log_worths_, atol=1e-6)


# Refusals ------------------------------------------------------------------------------------------------------------


def test_worths_without_estimates_are_refused_by_name():
    with pytest.raises(InputError, match=r"never win against the others: 'D'.*2 groups.*give prior=0.5"):
        PlackettLuce(prior=0).fit(TOY)
    reversed_toy = Rankings(-TOY.values, TOY.items, TOY.kind, TOY.counts)
    with pytest.raises(InputError, match=r"never lose against the others: 'D'"):
        PlackettLuce(prior=0).fit(reversed_toy)
    with pytest.raises(InputError, match="no maximum: estimates run away"):
        PlackettLuce(prior=0).fit([[2, 1], [1, 1]])
    assert np.isfinite(PlackettLuce().fit([[2, 1], [1, 1]]).log_worths_).all()
    with pytest.raises(InputError, match="items are tied wherever 2 of them can be"):
        PlackettLuce().fit([[1, 1], [1, 1]])
    with pytest.raises(InputError, match="no ranking orders two items"):
        PlackettLuce().fit(Rankings.from_orderings([["a"], ["b"]], kind="interleaving"))


def test_items_that_are_never_compared_keep_the_prior():
    ballots = Rankings.from_orderings([["a", "b"], ["b", "a"]], kind="interleaving", items="abc")
    model = PlackettLuce().fit(ballots)
    np.testing.assert_allclose(model.log_worths_, 0, atol=1e-9)
    assert model.standard_errors()[2] > model.standard_errors()[0]
    with pytest.raises(InputError, match="'c'"):
        PlackettLuce(prior=0).fit(ballots)


def test_the_information_of_the_data_is_that_of_the_r_package_too():
    """The R package leaves the prior out of the information: its standard errors are those of the data alone."""
    model = PlackettLuce().fit(TOY)
    choices, weights = model._choices(TOY, None, reset=False)
    assert (model.covariance_.diagonal() > 0).all()
    data = solver.information_at(model._parameters(), solver.totals_of(choices, weights), 0.0)
    assert (solver.covariance_of(data, 4).diagonal() > model.covariance_.diagonal()).all()


def test_comparisons_of_more_than_two_items_are_refused():
    with pytest.raises(SampleError, match=r"ranking 1 compares 3 items \(1 rankings"):
        BradleyTerry().fit(Rankings.from_orderings([["a", "b"], ["a", "b", "c"]], kind="interleaving"))
    with pytest.raises(SampleError, match="ranking 0 compares 3 items"):
        BradleyTerry().fit(Rankings.from_orderings([["a"], ["b", "c"]], kind="top"))
    model = BradleyTerry().fit(votes())
    for pairs, message in (
        ([("a", "z")], "no item 'z'"),
        ([("a", "a")], "'a' is given twice"),
        ([("a", "b", "c")], "pair 0 has 3 items"),
        ([(0, 9)], "no item 9"),
        ([], "no pairs"),
        ("ab", "must be a list"),
    ):
        with pytest.raises(InputError, match=message) if pairs != "ab" else pytest.raises(TypeError, match=message):
            model.predict_proba(pairs)
    with pytest.raises(InputError, match="score takes them"):
        model.score_samples(votes())
    with pytest.raises(InputError, match="no sample_weight"):
        model.fit(votes(), sample_weight=[1])
    with pytest.raises(InputError, match="lacks 1 of the 5"):
        model.score(votes(4))
    with pytest.raises(InputError, match="votes on 1 items"):
        BradleyTerry().fit(PairwiseVotes(("a",), [[0]]))


@pytest.mark.parametrize("options", [{"prior": -1}, {"solver": "em"}, {"max_iter": 0}, {"tol": -1}])
def test_invalid_parameters_are_refused(options):
    with pytest.raises(InputError, match=f"{next(iter(options))} must be"):
        PlackettLuce(**options).fit([[1, 2, 3], [1, 3, 2]])


def test_early_stop_is_reported():
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations before it converged: raise max_iter="):
        model = PlackettLuce(max_iter=1).fit(drawn(50, [0.0, 1.0, 3.0]))
    assert (model.n_iter_, model.converged_) == (1, False)
