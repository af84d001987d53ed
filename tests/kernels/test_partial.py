import math
from fractions import Fraction

import naive
import numpy as np
import pytest
from contracts import KernelContract
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from strategies import partial_cohorts, tied_values, with_gaps

from distkern import (
    InputError,
    Kendall,
    Mallows,
    PartialKendall,
    PartialMallows,
    Rankings,
    SampleError,
    compute_gram,
    datasets,
)
from distkern.kernels.partial import unobserved_last

NAN = np.nan
BOTH = ("interleaving", "top")


class PartialContract(KernelContract):
    """The contract of kernels for which NaN is no error: what is usable of a cohort has gaps, and few items."""

    orderings = True
    items = 12
    test_nan_is_refused_by_name = None

    def usable(self, X):
        return with_gaps(X)[:, : self.items]

    def test_one_item_is_refused(self):
        with pytest.raises(InputError, match="pairs of features; the samples have 1"):
            self.kernel([[1.0], [NAN]])

    def test_monotone_maps_of_the_values_do_not_change_the_kernel(self):
        X = self.usable(np.random.default_rng(5).integers(-2, 3, (6, 9)).astype(float))
        np.testing.assert_array_equal(self.kernel(X), self.kernel(np.exp(X)))


class TestInterleaving(PartialContract):
    kernel = PartialKendall()

    def naive(self, x, y):
        return float(naive.partial_kendall(x, y, "interleaving", "interleaving"))


class TestTop(PartialContract):
    kernel = PartialKendall(kind="top")

    def naive(self, x, y):
        return float(naive.partial_kendall(x, y, "top", "top"))


class TestMallowsInterleaving(PartialContract):
    kernel = PartialMallows(lam=0.3, method="exact")
    items = 4

    def naive(self, x, y):
        return naive.partial_mallows(x, y, 0.3, "interleaving", "interleaving")


class TestMallowsTop(PartialContract):
    kernel = PartialMallows(lam=0.5, kind="top", method="exact")
    items = 4

    def naive(self, x, y):
        return naive.partial_mallows(x, y, 0.5, "top", "top")


class TestMallowsDrawn(PartialContract):
    kernel = PartialMallows(lam=0.4, method="monte-carlo", draws=6, seed=3)
    items = 7

    def naive(self, x, y):
        """The double mean over the very rankings that are drawn; that these are uniform is another test."""
        ours, theirs = (self.kernel.compatible([sample])[0].tolist() for sample in (x, y))
        return naive.mean_mallows(ours, theirs, 0.4)


# The closed forms ----------------------------------------------------------------------------------------------------


@given(partial_cohorts())
def test_mixed_kinds_equal_the_naive_table_of_pairs_and_are_positive_semidefinite(cohort):
    X, kinds = cohort
    K = PartialKendall()(Rankings.from_ranks(X, kind=kinds))
    samples = list(zip(X.tolist(), kinds, strict=True))
    expected = [[float(naive.partial_kendall(x, y, kx, ky)) for y, ky in samples] for x, kx in samples]
    np.testing.assert_allclose(K, expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * max(np.trace(K), 1e-3)


@settings(max_examples=40)
@given(partial_cohorts(max_samples=2, max_items=4))
def test_mixed_kinds_equal_the_mean_over_all_compatible_rankings(cohort):
    refuse_unless_equal_to_enumeration(*cohort)


@pytest.mark.parametrize("observed", [0, 1, 2, 4, 5])
@pytest.mark.parametrize("kinds", [(a, b) for a in BOTH for b in BOTH])
def test_five_items_equal_the_mean_over_all_compatible_rankings(kinds, observed):
    rng = np.random.default_rng(observed)
    X = rng.integers(0, 3, (2, 5)).astype(float)
    X[0, rng.permutation(5)[observed:]] = NAN
    X[1, rng.permutation(5)[:2]] = NAN
    refuse_unless_equal_to_enumeration(X, kinds)


@pytest.mark.parametrize("kinds", [("interleaving", "top"), ("interleaving", "interleaving")])
def test_six_items_equal_the_mean_over_all_compatible_rankings(kinds):
    X = np.array([[2.0, NAN, 1, 3, 5, 4], [NAN, 2.0, 2, 1, NAN, 7]])
    refuse_unless_equal_to_enumeration(X, kinds)


def refuse_unless_equal_to_enumeration(X, kinds):
    value = PartialKendall()(Rankings.from_ranks(X[:1], kind=kinds[:1]), Rankings.from_ranks(X[-1:], kind=kinds[-1:]))
    exact = naive.partial_kendall_by_enumeration(X[0].tolist(), X[-1].tolist(), kinds[0], kinds[-1])
    assert value[0, 0] == pytest.approx(float(exact), rel=0, abs=1e-12)


@pytest.mark.parametrize("kind", BOTH)
def test_total_rankings_give_the_bits_of_kendall(kind):
    X = np.random.default_rng(0).integers(0, 40, (9, 50)).astype(float)
    X[0] = np.random.default_rng(1).permutation(50)
    np.testing.assert_array_equal(PartialKendall(kind=kind)(X), Kendall()(X))


def test_a_top_ranking_equals_a_total_ranking_with_unobserved_items_tied_last():
    X = np.array([[3.0, NAN, 2, NAN, 2], [NAN, NAN, NAN, 1, NAN], [NAN] * 5])
    np.testing.assert_array_equal(PartialKendall(kind="top")(X), Kendall()(np.where(np.isnan(X), -np.inf, X)))


@pytest.mark.parametrize("n", [2, 3, 10, 1000])
def test_one_observed_item_has_the_value_of_the_closed_form(n):
    x = np.full((1, n), NAN)
    x[0, 1] = 4.0
    ranking = np.arange(n, dtype=float)[None]
    pairs = n * (n - 1) / 2
    assert PartialKendall()(x, ranking)[0, 0] == 0.0
    assert PartialKendall()(x)[0, 0] == 0.0
    # on top of everything: concordant with the one item below it in the ranking, discordant with the n − 2 above
    assert PartialKendall(kind="top")(x, ranking)[0, 0] == (1 - (n - 2)) / pairs
    assert PartialKendall(kind="top")(x)[0, 0] == (n - 1) / pairs


@pytest.mark.parametrize("kind", BOTH)
def test_a_sample_without_observed_items_has_kernel_value_zero_and_cannot_be_normalised(kind):
    X = [[NAN, NAN, NAN], [1, 2, 3]]
    np.testing.assert_array_equal(PartialKendall(kind=kind)(X), [[0, 0], [0, 1]])
    with pytest.raises(SampleError, match="sample number 0 has"):
        PartialKendall(kind=kind).normalized()(X)


@pytest.mark.parametrize("kinds", [(a, b) for a in BOTH for b in BOTH])
def test_a_tie_group_of_nine_is_exact_without_enumeration(kinds):
    x = [3.0] * 9 + [5.0, 1.0, NAN, NAN]
    y = [NAN, 2.0, NAN, 1.0, 1.0, 4.0, 0.0, NAN, 3.0, 2.0, NAN, 2.0, 7.0]
    value = PartialKendall()(Rankings.from_ranks([x], kind=kinds[0]), Rankings.from_ranks([y], kind=kinds[1]))[0, 0]
    assert value == pytest.approx(float(naive.partial_kendall(x, y, *kinds)), rel=0, abs=1e-12)


def test_twenty_thousand_items_stay_exact():
    """Whole-number sums reach n⁴ here: the float64 steps must not lose the small differences."""
    n, k = 20_000, 15_000
    x = np.full(n, NAN)
    x[:k] = np.arange(k)
    value = PartialKendall()([x])[0, 0]
    exact = Fraction(k * (k - 1), 2) + Fraction((n - k) * k * (k - 1), 3 * (k + 1))
    assert value == pytest.approx(float(exact / math.comb(n, 2)), rel=1e-13)


def test_normalised_samples_of_unlike_length_have_norm_one():
    X = np.random.default_rng(2).normal(size=(6, 30))
    X[np.random.default_rng(3).random(X.shape) < np.linspace(0, 0.9, 6)[:, None]] = NAN
    K = PartialKendall().normalized()(X)
    np.testing.assert_array_equal(np.diag(K), 1.0)
    assert np.abs(K).max() <= 1 + 1e-12


# Kinds ------------------------------------------------------------------------------------------------------------


def test_rankings_are_read_by_their_own_kinds():
    X = [[3, 1, NAN, NAN], [NAN, 2, 1, NAN]]
    mixed = PartialKendall()(Rankings.from_ranks(X, kind=["top", "interleaving"]))
    assert mixed[0, 0] == PartialKendall(kind="top")(X)[0, 0]
    assert mixed[1, 1] == PartialKendall()(X)[1, 1]
    assert mixed[0, 1] == pytest.approx(float(naive.partial_kendall(*X, "top", "interleaving")))


def test_rankings_of_kind_interleaving_are_refused_by_a_top_kernel():
    votes = Rankings.from_ranks([[1, 2, 3], [1, NAN, 2]], kind=["total", "interleaving"])
    with pytest.raises(InputError, match='ranking 1 says kind="interleaving"'):
        PartialKendall(kind="top")(votes)


def test_an_observed_minus_infinity_ranks_above_unobserved_items():
    votes = Rankings.from_ranks([[-np.inf, 2.0, NAN]], kind="top")
    np.testing.assert_array_equal(unobserved_last(votes).values, [[0, 1, -np.inf]])
    np.testing.assert_array_equal(PartialKendall(kind="top")(votes.values), PartialKendall()(votes))


@pytest.mark.parametrize("kernel", [PartialKendall(), PartialMallows(lam=0.5, draws=30)])
def test_stored_values_have_the_bits_of_a_direct_call(kernel, tmp_path):
    votes = datasets.load_apa(partial=True)[:40]
    gram = compute_gram(
        kernel, unobserved_last(votes), store=tmp_path / "gram.zarr", executor="serial", tile=7, progress=False
    )
    np.testing.assert_array_equal(gram.to_numpy(), kernel(votes))
    np.testing.assert_array_equal(gram.diag(), np.diag(kernel(votes)))


# Mallows ----------------------------------------------------------------------------------------------------------


@given(st.data())
def test_exact_method_uses_every_compatible_ranking_once(data):
    X, kinds = data.draw(partial_cohorts(max_samples=3, max_items=5))
    votes = Rankings.from_ranks(X, kind=kinds)
    for x, kind, found in zip(X.tolist(), kinds, PartialMallows(method="exact").compatible(votes), strict=True):
        assert sorted(map(tuple, found.tolist())) == sorted(naive.compatible(x, kind))


@pytest.mark.parametrize(
    ("x", "kind"),
    [
        ([NAN, 1, NAN, 2], "interleaving"),
        ([3, NAN, NAN, NAN], "top"),
        ([NAN] * 4, "interleaving"),
        ([1, 1, 1, 2], "top"),
    ],
)
def test_draws_are_uniform_over_the_compatible_rankings(x, kind):
    kernel = PartialMallows(kind=kind, method="monte-carlo", draws=6000, seed=11)
    times = {ranks: 0 for ranks in naive.compatible(x, kind)}
    for ranks in kernel.compatible([x])[0].tolist():
        times[tuple(ranks)] += 1
    assert chisquare(list(times.values())).pvalue > 0.01


@pytest.mark.parametrize("kind", BOTH)
def test_draws_approach_the_exact_mean_within_their_standard_error(kind):
    X = np.random.default_rng(4).integers(0, 9, (8, 6)).astype(float)
    X[:, 4:] = NAN
    X = np.array([np.random.default_rng(row).permutation(x) for row, x in enumerate(X)])
    exact = PartialMallows(lam=0.4, kind=kind, method="exact")(X)
    upper = np.triu_indices(8, 1)
    spread = []
    for draws in (50, 800):
        kernel = PartialMallows(lam=0.4, kind=kind, method="monte-carlo", draws=draws, seed=1)
        off, error = (kernel(X) - exact)[upper], kernel.standard_error(X)[upper]
        assert np.abs(off / error).max() < 5
        spread.append((off, error))
    assert np.abs(spread[1][0]).mean() < np.abs(spread[0][0]).mean() / 2
    assert spread[1][1].mean() == pytest.approx(spread[0][1].mean() / 4, rel=0.15)


def test_the_standard_error_is_that_of_repeated_estimates():
    X = np.array([[1, NAN, 2, NAN, NAN, 3], [NAN, NAN, 1, NAN, 5, 3], [6, 5, 4, 3, 2, 1]])
    kernels = [PartialMallows(lam=0.3, method="monte-carlo", draws=20, seed=seed) for seed in range(400)]
    values = np.array([kernel(X) for kernel in kernels])
    errors = np.sqrt(np.mean([kernel.standard_error(X) ** 2 for kernel in kernels], axis=0))
    np.testing.assert_allclose(errors, values.std(axis=0, ddof=1), rtol=0.15)


def test_the_diagonal_has_the_documented_bias():
    x = [[1, NAN, 2, NAN, NAN, 3]]
    exact = PartialMallows(lam=0.3, method="exact")(x)[0, 0]
    drawn = [PartialMallows(lam=0.3, method="monte-carlo", draws=10, seed=seed)(x)[0, 0] for seed in range(600)]
    assert np.mean(drawn) - exact == pytest.approx((1 - exact) / 10, rel=0.15)


def test_an_estimate_depends_only_on_its_two_samples_and_the_seed():
    X = np.random.default_rng(8).permuted(np.tile(np.arange(9.0), (7, 1)), axis=1)
    X[X > 4] = NAN
    kernel = PartialMallows(lam=0.2, method="monte-carlo", draws=16, seed=5)
    K = kernel(X)
    shuffled = np.random.default_rng(9).permutation(7)
    np.testing.assert_array_equal(kernel(X[shuffled]), K[np.ix_(shuffled, shuffled)])
    np.testing.assert_array_equal(kernel(X[:3], X[3:]), K[:3, 3:])
    np.testing.assert_array_equal(kernel(X[3:], X[:3]), K[:3, 3:].T)
    assert not np.array_equal(kernel.set_params(seed=6)(X), K)


def test_values_do_not_depend_on_the_parts_of_a_tile(monkeypatch):
    X = np.random.default_rng(1).integers(0, 4, (9, 6)).astype(float)
    X[::2, :3] = NAN
    kernel = PartialMallows(lam=0.2, draws=20)
    K = kernel(X)
    monkeypatch.setattr("distkern.kernels.partial_mallows.ROWS", 21)
    np.testing.assert_array_equal(kernel(X), K)


@given(st.lists(tied_values, min_size=12, max_size=12))
def test_monte_carlo_kernels_are_positive_semidefinite(values):
    K = PartialMallows(lam=1.0, draws=3, method="monte-carlo")(with_gaps(np.array(values).reshape(4, 3)))
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * np.trace(K)


@pytest.mark.parametrize("kind", BOTH)
def test_total_rankings_give_mallows(kind):
    X = np.random.default_rng(0).permuted(np.tile(np.arange(12.0), (5, 1)), axis=1)
    kernel = PartialMallows(lam=2.0, kind=kind, scaled=True)
    np.testing.assert_allclose(kernel(X), Mallows(lam=2.0, scaled=True)(X), rtol=1e-14)
    assert not kernel.standard_error(X).any()


def test_too_many_rankings_for_the_exact_mean_are_refused_by_name():
    votes = Rankings.from_ranks([[1, 2, 3, 4, 5, 6, 7], [1, NAN, NAN, NAN, NAN, NAN, NAN]], kind="interleaving")
    with pytest.raises(SampleError, match=r'sample number 1 has more than 1,000 .*method="auto"'):
        PartialMallows(method="exact")(votes)
    assert PartialMallows(draws=10).standard_error(votes)[0, 1] > 0


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: PartialKendall(kind="bottom"), "'bottom'"),
        (lambda: PartialMallows(kind="total"), "'total'"),
        (lambda: PartialMallows(lam=-1), "-1"),
        (lambda: PartialMallows(method="fast"), "'fast'"),
        (lambda: PartialMallows(draws=1), "draws .* not 1"),
        (lambda: PartialMallows(seed=-1), "seed .* not -1"),
    ],
)
def test_bad_parameters_are_refused(make, said):
    with pytest.raises(InputError, match=said):
        make()
