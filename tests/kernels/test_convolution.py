"""Convolutions of kernels on rankings against the mean over all compatible rankings, and against draws."""

from itertools import permutations

import numpy as np
import pytest
from contracts import KernelContract
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import comb

from distkern import (
    Bags,
    Convolution,
    Diffusion,
    EqualRank,
    Gaussian,
    InputError,
    InputTypeError,
    Kendall,
    Mallows,
    MeanMap,
    PartialKendall,
    PartialMallows,
    Rankings,
    SmoothedKendall,
    WeightedKendall,
    compute_gram,
)

nan = np.nan
PARTIAL = arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(2, 5)), elements=st.sampled_from([nan, 1.0, 2.0, 3.0, 4.0])
)


def compatible(x, kind):
    """All rankings of the items that agree with the observed values of x."""
    seen, unseen = [i for i, v in enumerate(x) if v == v], [i for i, v in enumerate(x) if v != v]
    kept = [
        ranks
        for ranks in permutations(range(len(x)))
        if all(ranks[i] < ranks[j] for i in seen for j in seen if x[i] < x[j])
        and not (kind == "top" and any(ranks[u] > ranks[o] for u in unseen for o in seen))
    ]
    return np.array(kept, dtype=float)


class TestConvolution(KernelContract):
    kernel = Convolution(EqualRank())
    orderings = True

    def naive(self, x, y):
        def chances(z):
            order, n = sorted(z), len(z)
            return [
                [(order.index(v) <= r < order.index(v) + order.count(v)) / order.count(v) for r in range(n)] for v in z
            ]

        return sum(a * b for p, q in zip(chances(x), chances(y), strict=True) for a, b in zip(p, q, strict=True))

    def test_nan_is_refused_by_name(self):
        """NaN is an item that is not observed."""
        assert np.isfinite(self.kernel([[nan, 1.0, 2.0], [3.0, nan, nan]])).all()


@settings(max_examples=20, deadline=None)
@given(PARTIAL, st.sampled_from(["interleaving", "top"]))
def test_the_mean_equals_the_naive_one_over_all_compatible_rankings(X, kind):
    members = [compatible(x, kind) for x in X]
    for base, exact in [
        (EqualRank(), True),
        (Diffusion(0.4), True),
        (Diffusion(-0.3), True),
        (Diffusion(1e3), True),
        (Diffusion(0), True),
        (Kendall(), True),
        (Mallows(0.3), False),
        (Gaussian(2.0), False),
        (WeightedKendall("additive"), False),
    ]:
        expected = np.array([[base(a, b).mean() for b in members] for a in members])
        kernel = Convolution(base, kind, draws=2 if exact else 120)
        K = kernel(X)
        np.testing.assert_allclose(K, expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_allclose(kernel.diagonal(kernel.prepare(X)), np.diag(K), rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(kernel.standard_error(X), np.zeros(K.shape))
        assert np.linalg.eigvalsh(K).min() >= -1e-10 * max(np.trace(K), 1.0)


def test_reference_values_of_the_probability_of_a_rank():
    """n = 6, k = 3: the a-th observed item has rank r with C(r−1, a−1) C(n−r, k−a) / C(n, k)."""
    x = [[1.0, nan, 2.0, nan, 3.0, nan]]
    for a, item in enumerate((0, 2, 4), start=1):
        for r in range(1, 7):
            ranking = np.empty(6)
            ranking[item], rest = r, [rank for rank in range(1, 7) if rank != r]
            ranking[[i for i in range(6) if i != item]] = rest
            members = compatible(x[0], "interleaving")
            expected = (members == (ranking - 1)).sum() / len(members)
            np.testing.assert_allclose(Convolution()(x, ranking[None])[0, 0], expected, rtol=1e-12)
            chance = comb(r - 1, a - 1) * comb(6 - r, 3 - a) / comb(6, 3)
            np.testing.assert_allclose((members[:, item] == r - 1).mean(), chance, rtol=1e-12)


def test_total_rankings_have_the_values_of_the_base():
    X = np.array([np.random.default_rng(k).permutation(6) for k in range(5)], dtype=float)
    np.testing.assert_array_equal(Convolution(EqualRank())(X), EqualRank()(X))
    for base in (Diffusion(0.7), Diffusion(-0.2), Gaussian(3.0), Mallows(0.4), Kendall()):
        np.testing.assert_allclose(Convolution(base)(X), base(X), rtol=1e-11)


def test_many_items_have_probabilities_that_sum_to_one():
    x = np.full((1, 400), nan)
    x[0, :150] = np.arange(150)
    every = np.array([np.roll(np.arange(400.0), k) for k in range(400)])  # each item has each rank once
    np.testing.assert_allclose(Convolution()(x, every).sum(), 400, rtol=1e-10)


def test_closed_forms_are_those_of_the_partial_kernels():
    X = np.where(np.random.default_rng(0).random((4, 9)) < 0.4, nan, np.random.default_rng(1).random((4, 9)))
    for kind in ("interleaving", "top"):
        np.testing.assert_array_equal(Convolution(Kendall("b"), kind)(X), PartialKendall(kind)(X))
        same = PartialMallows(0.2, kind, draws=30, seed=3)
        kernel = Convolution(Mallows(0.2), kind, 30, 3)
        np.testing.assert_array_equal(kernel(X), same(X))
        np.testing.assert_array_equal(kernel.standard_error(X), same.standard_error(X))


def test_draws_have_the_standard_error_that_they_claim():
    x, y = np.array([[1, 2, nan, nan, nan, nan, nan]]), np.array([[nan, 3, nan, 1, nan, 2, nan]])
    exact = Convolution(Gaussian(3.0), draws=5000)(x, y)[0, 0]
    found = [Convolution(Gaussian(3.0), draws=40, seed=seed) for seed in range(60)]
    values = np.array([kernel(x, y)[0, 0] for kernel in found])
    errors = np.array([kernel.standard_error(x, y)[0, 0] for kernel in found])
    assert abs(values.mean() - exact) < 4 * errors.mean() / np.sqrt(60)
    assert 0.7 < values.std(ddof=1) / errors.mean() < 1.4
    same = Convolution(Mallows(0.3), draws=20)  # the same formula as the compiled one
    generic, X = Convolution(2.0 * Mallows(0.3), draws=20), np.vstack([x, y])
    np.testing.assert_allclose(generic(X), 2 * same(X), rtol=1e-12)
    np.testing.assert_allclose(generic.standard_error(X), 2 * same.standard_error(X), rtol=1e-9)


@pytest.mark.parametrize("base", [EqualRank(), Diffusion(0.5), Gaussian(2.0), Kendall()])
def test_a_store_equals_the_kernel_in_any_tiles(base, tmp_path):
    X = np.where(np.random.default_rng(0).random((8, 6)) < 0.4, nan, np.random.default_rng(1).random((8, 6)))
    kernel = Convolution(base, draws=20)
    gram = compute_gram(kernel, X[:6], store=tmp_path / "k.zarr", tile=4, progress=False)
    np.testing.assert_array_equal(gram.to_numpy(), kernel(X)[:6, :6])
    np.testing.assert_allclose(gram.cross(X[6:]).to_numpy(), kernel(X)[6:, :6], rtol=1e-12)


def test_kinds_of_rankings_are_read_and_what_is_not_defined_is_refused():
    votes = Rankings.from_ranks([[3, nan, nan], [3, nan, 1]], kind=["top", "interleaving"])
    K = Convolution()(votes)
    np.testing.assert_allclose(K, Convolution()([[1.0, -np.inf, -np.inf], [3, nan, 1]]), rtol=1e-14)
    for make, said in [
        (lambda: Convolution(MeanMap())(Bags.from_arrays([[1.0]])), "base must be a kernel on total rankings"),
        (lambda: Convolution(PartialKendall()), "base must be a kernel on total rankings"),
        (lambda: Convolution(Gaussian("median"))([[1.0, 2.0, 3.0]]), "parameters that depend on the cohort"),
        (lambda: Convolution(Diffusion(1.0))([list(range(9))]), "at most 8; the samples have 9"),
        (lambda: Convolution(Diffusion(-200.0))([[1.0, 2.0, 3.0]]), "values beyond what float64 holds"),
        (lambda: Convolution(draws=1), "draws must be a whole number of 2 or more"),
        (lambda: Convolution(kind="top")(votes), "leave the kind of the kernel at its default"),
        (lambda: Convolution("equal-rank"), "base must be a kernel"),
    ]:
        with pytest.raises((InputError, InputTypeError), match=said):
            make()
    assert Convolution(SmoothedKendall(1.0), draws=5)([[1.0, nan, 2.0]]).shape == (1, 1)
