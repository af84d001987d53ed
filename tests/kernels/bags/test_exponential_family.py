"""Exponential families of unequal masses, and multinomials, against the printed form of the paper."""

import math

import naive_bags as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from strategies import bag_rows

from distkern import Bags, Entropy, ExponentialFamily, InputError, SampleError, compute_gram

COUNTED = arrays(np.float64, st.tuples(st.integers(1, 5), st.just(4)), elements=st.sampled_from([0.0, 1.0, 2.0, 7.0]))


def usable(counts):
    counts = counts.copy()
    counts[~counts.any(axis=1), 1] = 1.0
    return counts


def printed(masses, entropies, together, s):
    """exp(−(A + B) h(p'') + A h(p) + B h(p')) (2√(AB) / (A + B))^(s/2)."""
    (a, b), (h, g) = masses, entropies
    return math.exp(-(a + b) * together + a * h + b * g) * (2 * math.sqrt(a * b) / (a + b)) ** (s / 2)


def of_gaussian(bag, eta):
    covariance = naive.bag_moments(*bag)[1]
    return 0.5 * math.log(np.linalg.det(covariance + eta * np.eye(len(covariance))))


@settings(max_examples=30)
@given(bag_rows())
def test_gaussians_of_unequal_masses_equal_the_naive_printed_kernel(rows):
    bags, beta, eta = [naive.bag_of(row) for row in rows], 1.3, 0.4
    d = len(bags[0][1][0])

    def value(p, q):
        masses = beta * math.fsum(p[0]), beta * math.fsum(q[0])
        both = of_gaussian((p[0] + q[0], list(p[1]) + list(q[1])), eta)
        return printed(masses, (of_gaussian(p, eta), of_gaussian(q, eta)), both, d + d * (d + 1) / 2)

    expected = np.array([[value(p, q) for q in bags] for p in bags])
    K = ExponentialFamily(eta, beta, masses="counts")(Bags.from_rows(rows))
    np.testing.assert_allclose(K, expected, rtol=1e-9)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * len(K)


@settings(max_examples=30)
@given(COUNTED)
def test_multinomials_equal_the_naive_printed_kernel(counts):
    counts, beta = usable(counts), 0.7

    def value(x, y):
        a, b, both = beta * x.sum(), beta * y.sum(), x + y
        entropies = naive.shannon(x / x.sum()), naive.shannon(y / y.sum())
        return printed((a, b), entropies, naive.shannon(both / both.sum()), 3)

    expected = np.array([[value(x, y) for y in counts] for x in counts])
    kernel = ExponentialFamily(beta=beta, family="multinomial", masses="counts")
    for samples in (counts, sparse.csr_array(counts)):
        np.testing.assert_allclose(kernel(samples), expected, rtol=1e-11)
    np.testing.assert_allclose(kernel.set_params(components=4)(Bags.from_counts(counts)), expected, rtol=1e-11)
    equal, alike = ExponentialFamily(beta=beta, family="multinomial"), Entropy(2 * beta)(Bags.from_counts(counts))
    for samples in (counts, Bags.from_counts(counts)):
        np.testing.assert_allclose(equal(samples), alike, rtol=1e-12)


def test_counts_of_any_size_are_compared_by_logarithms():
    counts = np.array([[1e6, 2e6, 1.0], [1.0, 1e6, 2e6], [3.0, 0.0, 0.0]])
    K = ExponentialFamily(family="multinomial", masses="counts")(counts)
    assert ((K >= 0) & (K <= 1)).all()
    np.testing.assert_array_equal(np.diag(K), 1.0)


def test_what_is_not_defined_is_refused():
    bags = Bags.from_arrays([[[0.0, 1.0], [1.0, 0.0]]], [[0.1, 0.1]])
    with pytest.raises(SampleError, match=r"bag '0' has the mass 0.2, and points in 2 dimensions need more than 0.5"):
        ExponentialFamily(0.1, masses="counts")(bags)
    with pytest.raises(InputError, match="the number of components of bags is not known"):
        ExponentialFamily(family="multinomial", masses="counts")(bags)
    with pytest.raises(InputError, match='family must be "gaussian" or "multinomial"'):
        ExponentialFamily(family="poisson")
    with pytest.raises(InputError, match="components must be a whole number of 1 or more"):
        ExponentialFamily(family="multinomial", components=0)
    kernel = ExponentialFamily(family="multinomial", masses="counts", dimensions=0)
    A, B = kernel.prepare(np.ones((1, 2))), kernel.prepare(np.ones((1, 2)))
    with pytest.raises(InputError, match=r"call resolve\(X\) first, or give components="):
        kernel.tile(A, B)


@pytest.mark.parametrize("options", [{"family": "multinomial", "masses": "counts"}, {"family": "multinomial"}])
def test_a_store_of_counts_equals_the_kernel(options, tmp_path):
    counts = usable(np.random.default_rng(0).poisson(1.0, (9, 4)).astype(float))
    kernel = ExponentialFamily(beta=0.4, **options)
    gram = compute_gram(kernel, counts[:6], store=tmp_path / "k.zarr", tile=4, progress=False)
    np.testing.assert_allclose(gram.to_numpy(), kernel(counts)[:6, :6], rtol=1e-12)
    np.testing.assert_allclose(gram.cross(counts[6:]).to_numpy(), kernel(counts)[6:, :6], rtol=1e-12)
