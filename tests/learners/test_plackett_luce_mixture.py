"""Mixtures of Plackett–Luce models: against their parts, and on data whose components are known."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from strategies import partial_cohorts

from distkern.core.errors import InputError
from distkern.core.rankings import Rankings
from distkern.learners.persist import load_model, save_model
from distkern.learners.plackett_luce import PlackettLuce
from distkern.learners.plackett_luce_mixture import PlackettLuceMixture
from distkern.learners.ranking_mixture import choose_components
from distkern.solvers import plackett_luce as solver


def two_groups(sizes=(300, 200), n=6, scale=1.0, seed=0):
    random = np.random.default_rng(seed)
    worths = scale * np.arange(n) * np.array([[1], [-1]])
    group = np.repeat([0, 1], sizes)
    noisy = worths[group] + random.gumbel(size=(len(group), n))
    return np.argsort(np.argsort(noisy, axis=1), axis=1) + 1.0, group


def partial(X, kind, seed=0):
    if kind == "top":
        return Rankings.from_ranks(np.where(X >= X.shape[1] - 1, X, np.nan), kind="top")
    hidden = np.random.default_rng(seed).permuted(np.tile(np.arange(X.shape[1]) < 2, (len(X), 1)), axis=1)
    return Rankings.from_ranks(np.where(hidden, np.nan, X), kind="interleaving")


def test_one_component_is_the_model():
    X, _ = two_groups((40, 10))
    ties = np.where(np.arange(50)[:, None] % 2, np.ceil(X / 2), X)
    for votes in (X, ties, partial(X, "top"), partial(X, "interleaving")):
        model, mixture = PlackettLuce().fit(votes), PlackettLuceMixture(1, n_init=1).fit(votes)
        np.testing.assert_allclose(mixture.log_worths_[0], model.log_worths_, atol=1e-6)
        np.testing.assert_allclose(mixture.ties_[0], model.ties_, rtol=1e-6)
        assert mixture.log_likelihood_ == pytest.approx(model.log_likelihood_)
        assert mixture.bic(votes) == pytest.approx(model.bic(votes))


@pytest.mark.parametrize("kind", ["total", "top", "interleaving"])
def test_components_are_recovered(kind):
    X, group = two_groups()
    votes = X if kind == "total" else partial(X, kind)
    model = PlackettLuceMixture(2, n_init=2, random_state=0, tol=1e-5).fit(votes)
    assert adjusted_rand_score(group, model.labels_) > 0.85
    np.testing.assert_allclose(model.weights_, [0.6, 0.4], atol=0.05)
    truth = np.arange(6) - 2.5
    few = 0.8 if kind == "top" else 0.45  # the worst item is rarely among the first two
    np.testing.assert_allclose(model.log_worths_, [truth, -truth], atol=few)
    np.testing.assert_array_equal(model.predict(votes), model.labels_)
    drawn, labels = model.sample(2000, random_state=0)
    assert (model.predict(drawn) == labels).mean() > 0.9
    assert np.mean(labels == 0) == pytest.approx(model.weights_[0], abs=0.05)


def test_probabilities_are_those_of_the_components():
    X, _ = two_groups((30, 20), n=4)
    model = PlackettLuceMixture(2, n_init=1, random_state=0).fit(X)
    joint = np.empty((len(X), 2))
    for c in range(2):
        part = PlackettLuce()
        part.log_worths_, part.worths_ = model.log_worths_[c], model.worths_[c]
        part.tie_orders_, part.ties_, part.n_features_in_ = model.tie_orders_, model.ties_[c], 4
        joint[:, c] = model.weights_[c] * np.exp(part.score_samples(X))
    np.testing.assert_allclose(np.exp(model.score_samples(X)), joint.sum(axis=1))
    np.testing.assert_allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True))
    assert model.score(X) * 50 == pytest.approx(model.log_likelihood_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(max_examples=10)
@given(partial_cohorts(max_samples=6, max_items=4), st.integers(0, 99))
def test_the_objective_never_decreases(cohort, seed):
    X, kinds = cohort
    votes = Rankings.from_ranks(X, kind=kinds)
    model = PlackettLuceMixture(min(2, len(votes.distinct()[0])), n_init=1, max_iter=5, tol=0, random_state=seed)
    choices = solver.choices_of(X, np.array(kinds) == "top")
    assume(choices.n_sets and solver.unbounded_order(solver.totals_of(choices, np.ones(len(X)))) is None)
    model.fit(votes)
    assert (np.diff(model.history_) >= -1e-6 * max(1, abs(model.history_[0]))).all()
    assert np.isfinite(model.score_samples(votes)).all()


def test_counts_are_voters():
    X, _ = two_groups((30, 20), n=4)
    votes = Rankings.from_ranks(X, items="abcd", counts=np.arange(50) % 3 + 1)
    model = PlackettLuceMixture(2, n_init=1, random_state=0).fit(votes)
    again = PlackettLuceMixture(2, n_init=1, random_state=0).fit(votes.expand())
    np.testing.assert_allclose(model.log_worths_, again.log_worths_, atol=1e-6)
    assert model.bic(votes) == pytest.approx(again.bic(votes.expand()))


def test_the_number_of_components():
    X, _ = two_groups()
    votes = partial(X, "top")
    mixture = PlackettLuceMixture(n_init=1, tol=1e-4, random_state=0)
    found = choose_components(mixture, votes, [1, 2, 3], folds=2, random_state=0)
    assert found.by_bic == 2
    assert found.held_out[1] > found.held_out[0] + 4 * found.standard_error[1]


def test_saved_and_loaded(tmp_path):
    X, _ = two_groups((30, 20))
    model = PlackettLuceMixture(2, n_init=1, random_state=0).fit(X)
    loaded = load_model(save_model(model, tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_refusals():
    with pytest.raises(InputError, match="1 distinct rankings"):
        PlackettLuceMixture(2).fit([[1, 2], [1, 2]])
    with pytest.raises(InputError, match="prior must be"):
        PlackettLuceMixture(1, prior=0).fit([[1, 2], [2, 1]])
    with pytest.raises(InputError, match="are tied wherever 2"):
        PlackettLuceMixture(1).fit([[1, 1], [1, 1]])
    with pytest.raises(InputError, match="no ranking orders"):
        PlackettLuceMixture(1).fit(Rankings.from_orderings([["a"], ["b"]], kind="interleaving"))
    X, _ = two_groups((30, 20))
    with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations"):
        PlackettLuceMixture(3, n_init=1, max_iter=2, random_state=0).fit(X)
