import json
import math
from itertools import pairwise

import naive
import numpy as np
import pytest
from contracts import KernelContract
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import with_slow
from scipy import stats
from scipy.integrate import quad
from strategies import cohorts, finite_cohort

from distkern import (
    InputError,
    Kendall,
    SampleError,
    SmoothedKendall,
    Threads,
    compute_gram,
    draws_for,
    from_spec,
)
from distkern.compiled.panels import STEP
from distkern.compiled.smoothed import pair_blocks
from distkern.core.random import sample_keys, uniforms
from distkern.io.digests import dense_digests
from distkern.kernels.planning import bytes_per_tile

NOISES = ("uniform", "gaussian", "laplace")
WINDOWS = (0.0, 1e-200, 0.25, 1.0, 1.0, 3.0, 40.0)


class SmoothedContract(KernelContract):
    def naive(self, x, y):
        return naive.smoothed_kendall(x, y, self.kernel.noise, [self.kernel.window] * len(x))


class TestUniform(SmoothedContract):
    kernel = SmoothedKendall(2.5)


class TestGaussian(SmoothedContract):
    kernel = SmoothedKendall(0.8, noise="gaussian")


class TestLaplace(SmoothedContract):
    kernel = SmoothedKendall(1.7, noise="laplace")


class TestNoWindow(SmoothedContract):
    kernel = SmoothedKendall(0)


def copies_of(kernel, x):
    """Jittered copies by the noises' own quantile functions, from the same streams of uniform numbers."""
    x = np.array(x)
    quantile = {
        "uniform": lambda u: u - 0.5,
        "gaussian": stats.norm.ppf,
        "laplace": stats.laplace.ppf,
    }[kernel.noise]
    (key,) = sample_keys(kernel.seed, dense_digests(x))
    return [(x + kernel.window * quantile(uniforms(key, d, len(x)))).tolist() for d in range(kernel.draws)]


class TestMonteCarlo(KernelContract):
    kernel = SmoothedKendall(2.0, "monte-carlo", draws=3, seed=4)

    def naive(self, x, y):
        return naive.mean_kendall(copies_of(self.kernel, x), copies_of(self.kernel, y))


@pytest.mark.parametrize("noise", NOISES)
def test_monte_carlo_without_bias_equals_the_naive_mean(noise):
    kernel = SmoothedKendall(1.5, "monte-carlo", noise, draws=4, seed=9, bias="none")
    X = np.array([[0.0, 1.0, 1.5, -2.0], [3.0, 0.0, 0.0, 0.5], [0.0, 1.0, 1.5, -2.0]])
    copies = [copies_of(kernel, x) for x in X]
    expected = [
        [naive.mean_kendall(a, b, skip_same=bool((x == y).all())) for y, b in zip(X, copies, strict=True)]
        for x, a in zip(X, copies, strict=True)
    ]
    np.testing.assert_allclose(kernel(X), expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(kernel(X[:2], X), expected[:2], rtol=0, atol=1e-15)


@pytest.mark.parametrize("noise", NOISES)
@settings(max_examples=10)
@given(st.data())
def test_windows_per_feature_equal_the_naive_double_loop(noise, data):
    X = data.draw(finite_cohort)
    n = X.shape[1]
    windows = data.draw(st.lists(st.sampled_from(WINDOWS), min_size=n, max_size=n))
    kernel = SmoothedKendall(tuple(windows), noise=noise)
    expected = naive.matrix(naive.smoothed_kendall, X, X, noise=noise, windows=windows)
    K = kernel(X)
    np.testing.assert_allclose(K, expected, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * np.trace(K) - 1e-15
    assert from_spec(json.loads(json.dumps(kernel.spec()))) == kernel


@pytest.mark.parametrize("noise", NOISES)
def test_equal_windows_per_feature_equal_one_window(noise):
    X = np.random.default_rng(0).normal(size=(9, 60))
    one, each = SmoothedKendall(0.7, noise=noise)(X), SmoothedKendall(np.full(60, 0.7), noise=noise)(X)
    np.testing.assert_allclose(each, one, rtol=0, atol=1e-14)


def test_nearly_equal_laplace_windows_lose_no_digits():
    X = np.random.default_rng(1).normal(size=(4, 9))
    expected = SmoothedKendall(0.7, noise="laplace")(X)
    for gap in (1e-15, 1e-12, 1e-9):
        windows = 0.7 * (1 + gap * np.arange(9))
        np.testing.assert_allclose(SmoothedKendall(windows, noise="laplace")(X), expected, rtol=0, atol=50 * gap)


DENSITIES = {
    "uniform": lambda w: stats.uniform(-w / 2, w),
    "gaussian": lambda w: stats.norm(0, w),
    "laplace": lambda w: stats.laplace(0, w),
}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("first", "second"), [(1.0, 1.0), (2.0, 0.5), (0.3, 1.7), (1.0, 1.001)])
def test_expected_signs_are_the_integral_over_both_jitters(noise, first, second):
    """E sgn(t + ε − ε') = ∫ (P(ε' < t + e) − P(ε' > t + e)) p(e) de, by quadrature."""
    one, other = DENSITIES[noise](first), DENSITIES[noise](second)
    ends = (-first / 2, first / 2) if noise == "uniform" else (-40 * first, 40 * first)
    for t in (-1.4, -0.2, 0.0, 0.05, 0.6, 1.1, 2.5):
        kinks = [e for e in (0.0, -t, -t - second / 2, -t + second / 2) if ends[0] < e < ends[1]]
        integral, _ = quad(
            lambda e, t=t: (2 * other.cdf(t + e) - 1) * one.pdf(e), *ends, points=kinks or None, limit=200, epsabs=1e-12
        )
        # two features make one pair, and the second sample, which is far apart, orders it surely
        value = SmoothedKendall((first, second), noise=noise)([[t, 0.0]], [[1e6, 0.0]])[0, 0]
        assert value == pytest.approx(integral, abs=1e-9)


@given(cohorts(), st.sampled_from(NOISES))
def test_window_zero_equals_the_kendall_kernel(X, noise):
    np.testing.assert_allclose(SmoothedKendall(0.0, noise=noise)(X), Kendall()(X), rtol=0, atol=1e-15)
    np.testing.assert_allclose(SmoothedKendall(np.zeros(X.shape[1]), noise=noise)(X), Kendall()(X), rtol=0, atol=1e-15)
    copies = SmoothedKendall(0.0, "monte-carlo", noise, draws=2, bias="none")
    np.testing.assert_allclose(copies(X), Kendall()(X), rtol=0, atol=1e-15)


def test_window_zero_distinguishes_adjacent_floats():
    X = np.array([[0.0, 5e-324, -1e308, 1e308]])
    assert SmoothedKendall(0.0)(X)[0, 0] == 1.0


@pytest.mark.parametrize("noise", NOISES)
def test_expected_signs_decrease_with_the_window(noise):
    values = [SmoothedKendall(w, noise=noise)([[1.0, 0.0]], [[1e9, 0.0]])[0, 0] for w in (0, 0.1, 0.5, 1.0, 2.0, 9.0)]
    assert values[0] == 1.0
    assert all(a >= b for a, b in pairwise(values))
    assert 0 < values[-1] < 0.25
    gaps = [SmoothedKendall(1.0, noise=noise)([[t, 0.0]], [[1e9, 0.0]])[0, 0] for t in np.linspace(0, 60, 2000)]
    assert gaps[0] == 0.0
    assert gaps[-1] == 1.0
    assert (np.diff(gaps) >= -3e-16).all()


def test_a_window_per_sample_equals_scaling_the_sample():
    rng = np.random.default_rng(2)
    X, windows = rng.normal(size=(5, 8)), rng.uniform(0.2, 3.0, size=5)
    K = SmoothedKendall(1.0)(X / windows[:, None])
    for i, j in ((0, 0), (0, 1), (3, 2)):
        terms = [
            naive.expected_sign(X[i, a] - X[i, b], "uniform", windows[i], windows[i])
            * naive.expected_sign(X[j, a] - X[j, b], "uniform", windows[j], windows[j])
            for a in range(8)
            for b in range(a + 1, 8)
        ]
        assert K[i, j] == pytest.approx(sum(terms) / 28, abs=1e-14)


@pytest.mark.parametrize("n", [2, 3, 16, 17, 46])
def test_blocks_of_pairs_hold_each_pair_once_in_order(n):
    blocks = list(pair_blocks(n))
    pairs = [pair for first, second in blocks for pair in zip(first.tolist(), second.tolist(), strict=True)]
    expected = [(i, j) for i in range(n) for j in range(i + 1, n)]
    assert pairs == expected + [(0, 0)] * (len(pairs) - len(expected))
    assert all(len(first) == STEP for first, _ in blocks)
    assert len(blocks) == -(-len(expected) // STEP)


MANY = [
    SmoothedKendall(0.9),
    SmoothedKendall(0.9, noise="gaussian"),
    SmoothedKendall(tuple(np.linspace(0.1, 2.0, 70)), noise="laplace"),
    SmoothedKendall(0.9, "monte-carlo", draws=2),
    SmoothedKendall(0.9, "monte-carlo", draws=2, bias="none"),
]


@pytest.mark.parametrize("kernel", MANY)
def test_bits_do_not_depend_on_the_tile_side_over_many_blocks_of_pairs(kernel):
    X = np.random.default_rng(0).normal(size=(150, 70))
    X[149] = X[0]
    whole = kernel(X)
    assert whole[0, 149] == whole[0, 0]
    for side in (1, 50, 64, 75):
        A, B = kernel.prepare(X[:side]), kernel.prepare(X[150 - side :], 150 - side)
        np.testing.assert_array_equal(kernel.tile(A, A), whole[:side, :side])
        np.testing.assert_array_equal(kernel.tile(A, B), whole[:side, 150 - side :])
        np.testing.assert_array_equal(kernel.diagonal(A), np.diag(whole)[:side])


@pytest.mark.parametrize("kernel", with_slow(MANY[2:4], [*MANY[:2], MANY[4]]))
def test_stored_matrices_have_the_same_bits_under_every_executor(kernel, tmp_path):
    X = np.random.default_rng(3).integers(0, 9, size=(40, 70)).astype(float)
    whole = kernel(X)
    for executor, tile in (("serial", 17), (Threads(2), 9)):
        gram = compute_gram(kernel, X, store=tmp_path / f"{tile}.zarr", executor=executor, tile=tile)
        np.testing.assert_array_equal(gram.to_numpy(), whole)


@pytest.mark.parametrize("noise", with_slow(NOISES[:1], NOISES[1:]))
def test_monte_carlo_converges_at_the_rate_and_with_the_bias_of_the_paper(noise):
    """Over seeds: E G_D = G off the diagonal, G + (1 − G) / D on it, or G without bias; the variance falls as 1/D."""
    X = np.random.default_rng(5).normal(size=(3, 12))
    exact = SmoothedKendall(1.0, noise=noise)(X)
    spread = {}
    for draws in (2, 8):
        runs = {
            bias: np.stack([SmoothedKendall(1.0, "monte-carlo", noise, draws, seed, bias)(X) for seed in range(300)])
            for bias in ("paper", "none")
        }
        expected = {"paper": exact.copy(), "none": exact}
        np.fill_diagonal(expected["paper"], np.diag(exact) + (1 - np.diag(exact)) / draws)
        for bias, values in runs.items():
            error = (values.mean(axis=0) - expected[bias]) / (values.std(axis=0) / math.sqrt(300))
            assert np.abs(error).max() < 4
        spread[draws] = runs["paper"].var(axis=0)
    assert 3 < (spread[2] / spread[8]).mean() < 7


def test_the_estimator_without_bias_is_not_positive_semidefinite_and_the_papers_is():
    X = np.random.default_rng(6).normal(size=(30, 10)) * 0.1
    least = {
        bias: np.linalg.eigvalsh(SmoothedKendall(1.0, "monte-carlo", draws=2, bias=bias)(X)).min()
        for bias in ("paper", "none")
    }
    assert least["none"] < -1e-3
    assert least["paper"] > -1e-12


def test_noise_depends_on_the_values_and_not_on_the_position_of_a_sample():
    X = np.random.default_rng(7).normal(size=(6, 15))
    kernel = SmoothedKendall(1.0, "monte-carlo", draws=3)
    order = np.array([4, 2, 0, 5, 1, 3])
    np.testing.assert_array_equal(kernel(X[order]), kernel(X)[np.ix_(order, order)])
    np.testing.assert_array_equal(kernel(X[2:4], X), kernel(X)[2:4])
    assert (kernel.set_params(seed=1)(X) != kernel(X)).any()


def test_the_plan_counts_the_blocks_of_pairs():
    exact = SmoothedKendall(1.0)
    assert bytes_per_tile(exact, 64, 64, 400) > 2 * 64 * STEP * 8
    copies = SmoothedKendall(1.0, "monte-carlo", draws=10)
    assert bytes_per_tile(copies, 500, 500, 400) > 16 * 10 * 10 * 500
    assert copies.prepare(np.zeros((2, 30))).arrays["copies.order"].shape == (2, 10, 30)


def test_draws_for_solves_theorem_3():
    for m, lam, delta, epsilon in ((100, 0.1, 0.05, 0.5), (50, 1.0, 1.0, 2.0)):
        draws = draws_for(m, lam, delta, epsilon)
        bound = [math.sqrt(8 / (lam * d)) * (2 + math.sqrt(8 * math.log(m / delta))) for d in (draws, draws - 1)]
        assert bound[0] <= epsilon < bound[1]
    assert draws_for(100, 0.1) == draws_for(100, 0.1, 0.05, 0.1)


def test_bad_values_and_parameters_are_refused():
    with pytest.raises(SampleError, match=r"sample number 1 has an infinite value for feature number 0"):
        SmoothedKendall(1.0)([[1.0, 2.0], [np.inf, 2.0]])
    with pytest.raises(InputError, match="window has 3 numbers for 2 features"):
        SmoothedKendall((1.0, 2.0, 3.0))([[1.0, 2.0]])
    with pytest.raises(InputError, match="pairs of features"):
        SmoothedKendall(1.0)([[1.0], [2.0]])
    for bad in (-1, np.nan, np.inf, "iqr", None, (1.0, -1.0), [[1.0]]):
        with pytest.raises(InputError, match="window"):
            SmoothedKendall(bad)
    for name, bad in {"method": "fast", "noise": "cauchy", "bias": "all", "draws": 0, "seed": 0.5}.items():
        with pytest.raises(InputError, match=name):
            SmoothedKendall(1.0, **{name: bad})
    with pytest.raises(InputError, match='with bias="none" draws must be a whole number of 2 or more'):
        SmoothedKendall(1.0, "monte-carlo", draws=1, bias="none")
    for name, bad in {"m": 0, "lam": 0, "delta": 0, "epsilon": -1}.items():
        with pytest.raises(InputError, match=name):
            draws_for(**({"m": 10, "lam": 1.0} | {name: bad}))
