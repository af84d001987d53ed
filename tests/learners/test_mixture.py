"""The Mallows mixture against enumeration of all rankings, and on data whose components are known."""

from itertools import permutations

import naive_completions as naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import chisquare
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from distkern.core.errors import InputError, SampleError
from distkern.core.rankings import Rankings
from distkern.datasets import load_apa, sample_mallows
from distkern.learners import mixture
from distkern.learners.mixture import MallowsMixture, dispersion_of, log_partition, mean_distance
from distkern.learners.persist import load_model, save_model
from distkern.learners.ranking_mixture import choose_components


def every_ranking(n):
    return np.array(list(permutations(np.arange(1.0, n + 1))))


def discordant(x, y):
    return sum((x[i] - x[j]) * (y[i] - y[j]) < 0 for i in range(len(x)) for j in range(i))


def two_groups(sizes=(150, 100), dispersion=1.5, n=6, seed=0):
    random = np.random.default_rng(seed)
    centres = [np.arange(1.0, n + 1), np.arange(n, 0.0, -1)]
    parts = [
        sample_mallows(c, dispersion, size, random_state=random).values for c, size in zip(centres, sizes, strict=True)
    ]
    return np.concatenate(parts), np.repeat([0, 1], sizes)


# The model -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("theta", [0.0, 1e-9, 1e-5, 0.3, 2.0, 49.0])
def test_the_closed_forms_are_those_of_enumeration(n, theta):
    distances = np.array([discordant(x, np.arange(n)) for x in every_ranking(n)])
    chances = np.exp(-theta * distances)
    assert log_partition(theta, n) == pytest.approx(np.log(chances.sum()), abs=1e-9)
    assert mean_distance(theta, n) == pytest.approx(chances @ distances / chances.sum(), rel=1e-7, abs=1e-20)
    assert dispersion_of(mean_distance(theta, n), n) == pytest.approx(theta, rel=1e-6, abs=1e-8)


def test_the_mean_distance_is_continuous():
    for n in (5, 100, 1000):
        theta = 1e-5 / n
        below, above = mean_distance(theta * (1 - 1e-6), n), mean_distance(theta * (1 + 1e-6), n)
        assert below == pytest.approx(above, rel=1e-7)


def test_dispersions_beyond_what_can_be():
    assert dispersion_of(5.0, 5) == dispersion_of(9.0, 5) == 0
    assert dispersion_of(0.0, 5) == mixture.LARGEST_DISPERSION


@pytest.mark.parametrize("theta", [0.0, 0.4, 1.5])
def test_drawn_rankings_have_their_probabilities(theta):
    centre = np.array([2.0, 4.0, 1.0, 3.0])
    drawn = sample_mallows(centre, theta, 6000, random_state=1)
    every = every_ranking(4)
    seen = np.array([(drawn.values == x).all(axis=1).sum() for x in every])
    expected = np.exp(-theta * np.array([discordant(x, centre) for x in every]))
    assert chisquare(seen, 6000 * expected / expected.sum()).pvalue > 1e-3


def test_impossible_draws_are_refused():
    with pytest.raises(InputError, match="different values"):
        sample_mallows([1, 1, 2], 1.0, 3)
    for theta in (-1.0, np.inf, np.nan):
        with pytest.raises(InputError, match="dispersion must be"):
            sample_mallows([1, 2], theta, 3)


# Fitting -------------------------------------------------------------------------------------------------------------


def test_one_component_is_the_maximum_of_the_likelihood():
    X = sample_mallows([3, 1, 4, 2], 0.8, 60, random_state=3).values
    model = MallowsMixture(1).fit(X)
    best = np.inf
    for centre in every_ranking(4):
        distances = np.array([discordant(x, centre) for x in X])
        found = minimize_scalar(
            lambda theta, total: theta * total + 60 * log_partition(theta, 4),
            args=(distances.sum(),),
            bounds=(0, 20),
            method="bounded",
        )
        best = min(best, found.fun)
    assert model.log_likelihood_ == pytest.approx(-best, rel=1e-9)
    assert model.score(X) == pytest.approx(model.log_likelihood_ / 60)
    assert model.objective_ == -model.log_likelihood_


def test_probabilities_are_those_of_enumeration_and_sum_to_one():
    X, _ = two_groups(n=4)
    model = MallowsMixture(2, random_state=0).fit(X)
    every = every_ranking(4)
    assert np.exp(model.score_samples(every)).sum() == pytest.approx(1)
    joint = np.array(
        [
            [
                weight * np.exp(-theta * discordant(x, centre) - log_partition(theta, 4))
                for weight, theta, centre in zip(model.weights_, model.dispersions_, model.consensus_, strict=True)
            ]
            for x in every
        ]
    )
    np.testing.assert_allclose(np.exp(model.score_samples(every)), joint.sum(axis=1))
    np.testing.assert_allclose(model.predict_proba(every), joint / joint.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(model.predict(every), joint.argmax(axis=1))


def top_of(X, lengths):
    """Top-k rankings of total ones."""
    return Rankings.from_ranks(np.where(X > X.shape[1] - np.reshape(lengths, (-1, 1)), X, np.nan), kind="top")


@given(st.integers(0, 99))
def test_a_top_k_ranking_is_all_rankings_that_begin_like_it(seed):
    random = np.random.default_rng(seed)
    X, _ = two_groups((20, 12), n=5, seed=seed)
    model = MallowsMixture(2, random_state=0, n_init=1, tol=1e-3).fit(top_of(X, random.integers(0, 6, len(X))))
    every = every_ranking(5)
    chances = np.exp(model.score_samples(every))
    assert chances.sum() == pytest.approx(1)
    for k in range(6):
        begin = np.where(every > 5 - k, every, 0)
        expected = [chances[(begin == one).all(axis=1)].sum() for one in begin]
        np.testing.assert_allclose(np.exp(model.score_samples(top_of(every, k))), expected)
    assert (np.diff(model.history_) >= -1e-9 * abs(model.history_[0])).all()


def test_one_component_of_top_k_rankings_is_the_maximum_of_the_likelihood():
    X = sample_mallows([3, 1, 4, 2, 5], 0.8, 40, random_state=3).values
    votes = top_of(X, np.arange(40) % 5 + 1)
    model = MallowsMixture(1).fit(votes)
    begins = [np.where(X > 5 - k, X, 0)[row] for row, k in enumerate(np.arange(40) % 5 + 1)]
    every = every_ranking(5)
    fits = np.array([((every == begin) | (begin == 0)).all(axis=1) for begin in begins])  # completions of each
    best = np.inf
    for centre in every:
        distances = np.array([discordant(x, centre) for x in every])
        found = minimize_scalar(
            lambda theta, distances: -np.log(fits @ np.exp(-theta * distances)).sum() + 40 * log_partition(theta, 5),
            args=(distances,), bounds=(0, 20), method="bounded",
        )  # fmt: skip
        best = min(best, found.fun)
    assert model.log_likelihood_ == pytest.approx(-best, rel=1e-8)


def test_components_of_drawn_top_k_rankings_are_recovered():
    X, group = two_groups((600, 400))
    model = MallowsMixture(2, random_state=0, n_init=4).fit(top_of(X, 2))
    np.testing.assert_array_equal(model.consensus_, [[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]])
    np.testing.assert_allclose(model.dispersions_, 1.5, atol=0.2)
    assert adjusted_rand_score(group, model.labels_) > 0.9


# Items of unknown rank -----------------------------------------------------------------------------------------------


def some_of(X, listed, seed=0):
    """Rankings of random items, as many as listed, of total ones."""
    random = np.random.default_rng(seed)
    kept = random.permuted(np.tile(np.arange(X.shape[1]), (len(X), 1)), axis=1) < np.reshape(listed, (-1, 1))
    return Rankings.from_ranks(np.where(kept, X, np.nan), kind="interleaving")


def naive_chances(model, votes):
    """Σ over all total rankings that agree with a ballot, (m,)."""
    levels = np.where(np.isnan(votes.values), 0, votes.values)
    return np.array(
        [
            sum(
                weight * naive.chance(row, np.argsort(-centre), theta)
                for weight, theta, centre in zip(model.weights_, model.dispersions_, model.consensus_, strict=True)
            )
            for row in levels
        ]
    )


def test_a_partial_ranking_is_all_rankings_that_agree_with_it():
    X, _ = two_groups((30, 20), n=5)
    votes = some_of(X, np.arange(50) % 6)
    model = MallowsMixture(2, n_completions=2000, n_init=1, random_state=0).fit(votes)
    expected = naive_chances(model, votes)
    np.testing.assert_allclose(np.exp(model.score_samples(votes)), expected, rtol=0.1)
    assert model.log_likelihood_ == pytest.approx(np.log(expected).sum(), abs=4 * model.log_likelihood_error_)
    assert 0 < model.log_likelihood_error_ < 0.5
    assert model.monte_carlo_error(votes) * 50 == pytest.approx(model.log_likelihood_error_)
    assert (np.diff(model.history_) >= 0).all()
    alone = np.concatenate([model.score_samples(votes[[row]]) for row in (49, 7, 20)])
    np.testing.assert_array_equal(alone, model.score_samples(votes)[[49, 7, 20]])


def test_one_component_of_partial_rankings_is_the_maximum_of_the_likelihood():
    X = sample_mallows([3, 1, 4, 2], 0.8, 60, random_state=3).values
    votes = some_of(X, np.arange(60) % 3 + 2)
    levels = np.where(np.isnan(votes.values), 0, votes.values)
    model = MallowsMixture(1, n_completions=1000, random_state=0).fit(votes)
    best = {}
    for centre in every_ranking(4):
        order = np.argsort(-centre)
        found = minimize_scalar(
            lambda theta, order: -np.log([naive.chance(row, order, theta) for row in levels]).sum(),
            args=(order,), bounds=(0, 5), method="bounded", options={"xatol": 1e-3},
        )  # fmt: skip
        best[tuple(centre)] = (found.fun, found.x)
    centre = min(best, key=best.get)
    np.testing.assert_array_equal(model.consensus_[0], centre)
    assert model.dispersions_[0] == pytest.approx(best[centre][1], abs=0.05)
    assert model.log_likelihood_ == pytest.approx(-best[centre][0], abs=4 * model.log_likelihood_error_)


@pytest.mark.parametrize(("listed", "least"), [(3, 0.7), (5, 0.93)])
def test_components_of_partial_rankings_are_recovered(listed, least):
    X, group = two_groups((600, 400))
    model = MallowsMixture(2, random_state=0, n_init=2).fit(some_of(X, listed))
    np.testing.assert_array_equal(model.consensus_, [[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]])
    np.testing.assert_allclose(model.dispersions_, 1.5, atol=0.2)
    np.testing.assert_allclose(model.weights_, [0.6, 0.4], atol=0.06)
    assert adjusted_rand_score(group, model.labels_) > least


def test_a_partial_ranking_of_all_items_is_total_and_kinds_mix():
    X, group = two_groups()
    plain = MallowsMixture(2, random_state=0).fit(X)
    same = MallowsMixture(2, random_state=0).fit(Rankings.from_ranks(X, kind="interleaving"))
    assert (same.log_likelihood_, same.log_likelihood_error_) == (plain.log_likelihood_, 0)
    np.testing.assert_array_equal(same.labels_, plain.labels_)
    values, kinds = X.copy(), np.array(["total", "top", "interleaving"])[np.arange(len(X)) % 3]
    values[(kinds == "top")[:, None] & (X <= 3)] = np.nan
    values[:, 2][kinds == "interleaving"] = np.nan
    mixed = MallowsMixture(2, random_state=0).fit(Rankings.from_ranks(values, kind=kinds))
    assert adjusted_rand_score(group, mixed.labels_) > 0.9
    assert mixed.log_likelihood_error_ > 0
    counts = np.arange(len(X)) % 3 + 1
    weighted = MallowsMixture(2, n_init=2, random_state=0).fit(Rankings.from_ranks(values, kind=kinds, counts=counts))
    rows = np.repeat(np.arange(len(X)), counts)
    expanded = MallowsMixture(2, n_init=2, random_state=0).fit(Rankings.from_ranks(values[rows], kind=kinds[rows]))
    assert expanded.log_likelihood_ == pytest.approx(weighted.log_likelihood_, rel=1e-9)
    np.testing.assert_array_equal(expanded.labels_, weighted.labels_[rows])


def test_errors_grow_with_the_number_of_voters():
    X, _ = two_groups((30, 20))
    votes = some_of(X, 3)
    model = MallowsMixture(2, n_init=1, n_completions=20, random_state=0).fit(votes)
    twice = Rankings.from_ranks(votes.values, kind="interleaving", counts=np.full(50, 2))
    again = MallowsMixture(2, n_init=1, n_completions=20, random_state=0).fit(twice)
    assert again.log_likelihood_error_ == pytest.approx(2 * model.log_likelihood_error_)  # voters of a ballot share it
    assert again.monte_carlo_error(twice) == pytest.approx(model.monte_carlo_error(votes))


@pytest.mark.parametrize("components", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_ballots_of_one_item_say_nothing_and_leave_no_component_empty(seed, components):
    votes = Rankings.from_orderings([["a"], ["b"], ["c"]], kind="interleaving", counts=[5, 2, 1])
    model = MallowsMixture(components, n_init=1, random_state=seed).fit(votes)
    assert model.log_likelihood_ == pytest.approx(0, abs=1e-9)
    assert (model.weights_ > 0.1).all()


def test_a_listed_item_may_have_the_value_minus_infinity():
    X, _ = two_groups()
    plain = some_of(X, 4)
    values = plain.values.copy()
    lowest = np.nanmin(values, axis=1, keepdims=True)
    values[values == lowest] = -np.inf
    votes = Rankings.from_ranks(values, kind="interleaving")
    model = MallowsMixture(2, n_init=1, random_state=0).fit(plain)
    np.testing.assert_array_equal(model.score_samples(votes), model.score_samples(plain))


def test_completions_are_kept_with_the_model(tmp_path):
    X, _ = two_groups()
    votes = some_of(X, 4)
    model = MallowsMixture(2, n_init=2, random_state=None).fit(votes)
    loaded = load_model(save_model(model, tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.score_samples(votes), model.score_samples(votes))
    with pytest.raises(InputError, match="n_completions must be 2 or more"):
        MallowsMixture(2, n_completions=1).fit(votes)


def test_the_number_of_components_of_partial_rankings():
    X, _ = two_groups((300, 200))
    found = choose_components(
        MallowsMixture(n_init=2, n_completions=20, tol=1e-4, random_state=0), some_of(X, 4), [1, 2], folds=3,
        random_state=0,
    )  # fmt: skip
    assert found.by_bic == found.by_held_out == 2
    assert (found.monte_carlo_error > 0).all()
    assert (found.monte_carlo_error < found.standard_error).all()


# The number of components --------------------------------------------------------------------------------------------


def test_the_number_of_components():
    X, _ = two_groups((300, 200))
    found = choose_components(
        MallowsMixture(n_init=2, tol=1e-4, random_state=0), top_of(X, 3), [1, 2, 3], folds=3, random_state=0
    )
    assert found.by_bic == 2
    assert found.by_held_out in (2, 3)
    assert found.held_out[0] < found.held_out[1] - 4 * found.standard_error[1]
    assert (found.monte_carlo_error == 0).all()
    with pytest.raises(InputError, match="takes Rankings"):
        choose_components(MallowsMixture(), X, [1])
    with pytest.raises(InputError, match="two folds or more"):
        choose_components(MallowsMixture(), top_of(X, 3), [1], folds=1)


def test_components_of_drawn_rankings_are_recovered():
    X, group = two_groups((600, 400))
    model = MallowsMixture(2, random_state=0).fit(X)
    np.testing.assert_array_equal(model.consensus_, [[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]])
    np.testing.assert_allclose(model.weights_, [0.6, 0.4], atol=0.05)
    np.testing.assert_allclose(model.dispersions_, 1.5, atol=0.15)
    assert adjusted_rand_score(group, model.labels_) > 0.95
    scores = {k: MallowsMixture(k, random_state=0, n_init=4, tol=1e-5).fit(X).bic(X) for k in (1, 2, 3)}
    assert min(scores, key=scores.get) == 2
    drawn, labels = model.sample(500)
    assert (model.predict(drawn) == labels).mean() > 0.95
    assert drawn.shape == (500, 6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@given(st.integers(0, 99), st.integers(1, 4), st.sampled_from([4, 7]))
def test_the_likelihood_never_decreases(seed, components, n):
    X = np.random.default_rng(seed).permuted(np.tile(np.arange(float(n)), (12, 1)), axis=1)
    components = min(components, len(np.unique(X, axis=0)))
    weights = np.random.default_rng(seed).integers(1, 9, 12)
    model = MallowsMixture(components, n_init=1, random_state=seed, tol=0, max_iter=40).fit(X, sample_weight=weights)
    assert (np.diff(model.history_) >= -1e-9 * abs(model.history_[0])).all()
    assert model.n_iter_ == len(model.history_)
    assert model.weights_.sum() == pytest.approx(1)
    assert (np.diff(model.weights_) <= 0).all()


def test_the_likelihood_never_decreases_with_local_search(monkeypatch):
    X, _ = two_groups((40, 30), dispersion=0.2, n=9)
    exact = MallowsMixture(3, random_state=0, n_init=3).fit(X)
    monkeypatch.setattr(mixture, "EXACT_ITEMS", 0)
    model = MallowsMixture(3, random_state=0, n_init=3).fit(X)
    assert (np.diff(model.history_) >= -1e-9 * abs(model.history_[0])).all()
    assert model.log_likelihood_ == pytest.approx(exact.log_likelihood_, rel=0.01)


def test_counts_are_the_ballots():
    votes = load_apa()
    ballots = np.repeat(np.arange(len(votes)), votes.counts)
    model = MallowsMixture(3, random_state=0, n_init=2, tol=1e-5).fit(votes)
    every = MallowsMixture(3, random_state=0, n_init=2, tol=1e-5).fit(votes.values[ballots])
    assert every.log_likelihood_ == pytest.approx(model.log_likelihood_, rel=1e-12)
    np.testing.assert_array_equal(every.labels_, model.labels_[ballots])
    assert every.bic(votes.values[ballots]) == pytest.approx(model.bic(votes))
    assert model.score(votes) * 5738 == pytest.approx(model.log_likelihood_)
    np.testing.assert_array_equal(model.feature_names_in_, votes.items)


def test_only_the_order_counts():
    X, _ = two_groups()
    plain = MallowsMixture(2, random_state=0).fit(X)
    for other in (np.exp(X) - 3, Rankings.from_ranks(X), pd.DataFrame(X)):
        model = MallowsMixture(2, random_state=0).fit(other)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        assert model.log_likelihood_ == plain.log_likelihood_
    lists = Rankings.from_orderings(np.argsort(-X, axis=1)[:, :-1].tolist(), kind="top", items=range(6))
    np.testing.assert_array_equal(plain.predict(lists), plain.labels_)  # what one item fewer leaves open is no question


def test_identical_rankings():
    model = MallowsMixture(1).fit(np.tile([3.0, 1.0, 2.0], (5, 1)))
    assert model.dispersions_ == [mixture.LARGEST_DISPERSION]
    assert model.log_likelihood_ == pytest.approx(0)
    assert np.isfinite(model.score_samples([[1, 2, 3]])).all()


def test_saved_and_loaded(tmp_path):
    votes = load_apa()
    model = MallowsMixture(2, random_state=0, n_init=2).fit(votes)
    loaded = load_model(save_model(model, tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.predict_proba(votes), model.predict_proba(votes))
    turned = Rankings.from_ranks(votes.values[:, ::-1], items=votes.items[::-1])
    np.testing.assert_array_equal(loaded.predict_proba(turned), loaded.predict_proba(votes))
    with pytest.raises(InputError, match="lacks 1 of the 5 features"):
        loaded.predict(Rankings.from_ranks(votes.values[:, 1:], items=votes.items[1:]))


# Input ---------------------------------------------------------------------------------------------------------------


def test_samples_with_ties_are_refused():
    with pytest.raises(SampleError, match=r"sample number 1 has ties \(1 such\)"):
        MallowsMixture(1).fit([[1, 2, 3], [1, 1, 3]])
    with pytest.raises(SampleError, match=r"sample number 0 has ties"):
        MallowsMixture(1).fit([[1, 2, 2], [1, 2, 3]])
    with pytest.raises(SampleError, match=r"sample number 1 has ties"):
        MallowsMixture(1).fit(Rankings.from_orderings([["a", "b", "c"], [("b", "c")]], kind="interleaving"))
    with pytest.raises(InputError, match="NaN"):
        MallowsMixture(1).fit([[1, 2, np.nan], [1, 2, 3]])
    with pytest.raises(SampleError, match=r"sample number 1 has ties"):
        MallowsMixture(1).fit(Rankings.from_orderings([["a"], [("b", "c")]], kind="top", items="abcd"))
    with pytest.raises(InputError, match="n_features=1"):
        MallowsMixture(1).fit([[1], [2]])
    with pytest.raises(InputError, match="1 distinct rankings"):
        MallowsMixture(2).fit([[1, 2], [1, 2]])
    with pytest.raises(InputError, match="1 distinct rankings"):
        MallowsMixture(2).fit([[1, 2], [2, 1]], sample_weight=[1, 0])
    assert MallowsMixture(1).fit([[1, 2], [2, 1]], sample_weight=[1, 0]).consensus_.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    "options", [{"n_components": 0}, {"n_init": 0}, {"n_init": 2**31}, {"max_iter": 0}, {"tol": -1}]
)
def test_invalid_parameters_are_refused(options):
    with pytest.raises(InputError, match=f"{next(iter(options))} must be"):
        MallowsMixture(**options).fit([[1, 2, 3], [1, 3, 2]])


def test_early_stop_is_reported():
    X, _ = two_groups(dispersion=0.3)
    with pytest.warns(
        ConvergenceWarning, match="stopped after 2 iterations before it converged: raise max_iter= or tol="
    ):
        model = MallowsMixture(3, max_iter=2, random_state=0).fit(X)
    assert (model.n_iter_, model.converged_) == (2, False)
