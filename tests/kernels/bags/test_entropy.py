"""The entropy kernel: printed form, Jensen–Shannon divergence, and random draws."""

import json
import math

import naive_bags as naive
import numpy as np
import pandas as pd
import pytest
from contracts import BagContract
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from strategies import bag_rows

from distkern import (
    Bags,
    Entropy,
    InputError,
    SampleError,
    Table,
    compute_gram,
    from_spec,
    network_kernel,
)


class TestEntropy(BagContract):
    kernel = Entropy(beta=1.3)
    tolerance = 1e-12

    def naive(self, x, y):
        return naive.entropy_kernel(naive.bag_of(x), naive.bag_of(y), 1.3)


@settings(max_examples=10)
@given(bag_rows())
def test_the_smoothed_entropy_kernel_is_positive_semidefinite_for_any_draws(rows):
    K = Entropy(bandwidth=0.5, draws=7)(Bags.from_rows(rows))
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * len(K)
    assert np.linalg.eigvalsh(Entropy(0.1, 0.5, 7)(Bags.from_rows(rows))).min() >= -1e-10 * len(K)


def test_entropies_of_histograms_are_those_of_jensen_and_shannon():
    from scipy.spatial.distance import jensenshannon

    counts = np.random.default_rng(0).integers(0, 4, (5, 8)) + np.eye(5, 8, dtype=int)
    K = Entropy(beta=0.8)(Bags.from_counts(counts))
    for i in range(5):
        for j in range(5):
            np.testing.assert_allclose(K[i, j], math.exp(-0.8 * jensenshannon(counts[i], counts[j]) ** 2), rtol=1e-10)


def test_defaults_are_those_of_the_documentation():
    assert Entropy().spec() == {
        "kernel": "entropy", "beta": 1.0, "bandwidth": None, "draws": 2048, "seed": 0, "center": None, "spread": None,
        "smoothing": None, "normalize": True, "form": "J", "names": None, "dimensions": None,
    }  # fmt: skip


def test_the_smoothed_kernel_equals_a_mean_over_the_draws():
    """exp(−β J), where J = h(p/2 + q/2) − h(p)/2 − h(q)/2 and h(p) = −mean of r log r, r the ratio of densities."""
    rng = np.random.default_rng(0)
    bags = [rng.normal(size=(count, 2)) for count in (1, 3, 4)]
    kernel = Entropy(beta=0.7, bandwidth=0.4, draws=50, seed=3).resolve(Bags.from_arrays(bags))
    normal = np.random.default_rng(3).standard_normal((50, 2))
    drawn = np.array(kernel.center) + normal * kernel.spread

    def density(z, centers, widths):
        terms = [
            math.prod(
                math.exp(-(((a - b) / s) ** 2) / 2) / (s * math.sqrt(2 * math.pi))
                for a, b, s in zip(z, c, widths, strict=True)
            )
            for c in centers
        ]
        return math.fsum(terms) / len(terms)

    def entropy(ratios):
        return -math.fsum(r * math.log(r) if r > 0 else 0.0 for r in ratios) / len(ratios)

    drawn_from = [density(z, [kernel.center], kernel.spread) for z in drawn]
    ratios = [[density(z, bag, (0.4, 0.4)) / q for z, q in zip(drawn, drawn_from, strict=True)] for bag in bags]
    for p, row in zip(ratios, kernel(Bags.from_arrays(bags)), strict=True):
        for q, value in zip(ratios, row, strict=True):
            mixed = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
            divergence = entropy(mixed) - entropy(p) / 2 - entropy(q) / 2
            np.testing.assert_allclose(value, math.exp(-0.7 * divergence), rtol=1e-10)


def test_centre_and_spread_are_given_together_as_numbers_of_one_length():
    kernel = Entropy(bandwidth=1.0, center=[1, 2], spread=np.array([0.5, 1.5]))
    assert (kernel.center, kernel.spread) == ((1.0, 2.0), (0.5, 1.5))
    assert json.loads(json.dumps(kernel.spec()))["spread"] == [0.5, 1.5]
    for options in ({"center": [1.0]}, {"center": [1.0], "spread": [1.0, 2.0]}, {"center": [1.0], "spread": [0.0]}):
        with pytest.raises(InputError, match="center"):
            Entropy(bandwidth=1.0, **options)


# Measures of any mass, and finite sets ------------------------------------------------------------------------------

COUNTED = arrays(np.float64, st.tuples(st.integers(1, 5), st.just(4)), elements=st.sampled_from([0.0, 0.3, 1.0, 4.0]))


def usable(counts):
    counts = counts.copy()
    counts[~counts.any(axis=1), 1] = 0.1
    return counts


def entropy(g):
    return -math.fsum(x * math.log(x) for x in g if x > 0)


def jensen(f, g):
    return entropy([(x + y) / 2 for x, y in zip(f, g, strict=True)]) - (entropy(f) + entropy(g)) / 2


def every_pair(value, samples):
    return np.array([[value(x, y) for y in samples] for x in samples])


@settings(max_examples=25)
@given(COUNTED)
def test_measures_of_any_mass_equal_the_naive_printed_kernels(counts):
    counts = usable(counts)
    bags, rows = Bags.from_counts(counts), counts.tolist()
    of_j = every_pair(lambda f, g: math.exp(-0.7 * jensen(f, g)), rows)

    def of_h(f, g):
        both, one, other = ([x + y for x, y in zip(*pair, strict=True)] for pair in ((f, g), (f, f), (g, g)))
        return math.exp(-0.7 * (entropy(both) - (entropy(one) + entropy(other)) / 2))

    for samples in (bags, counts, sparse.csr_array(counts)):
        for form, expected in (("J", of_j), ("h", every_pair(of_h, rows))):
            K = Entropy(0.7, normalize=False, form=form)(samples)
            np.testing.assert_allclose(K, expected, rtol=1e-12)
            np.testing.assert_array_equal(K, K.T)
            assert np.linalg.eigvalsh(K).min() >= -1e-10 * len(K)
    np.testing.assert_allclose(Entropy(0.7, form="h")(bags), Entropy(1.4)(bags), rtol=1e-14)


SMOOTHING = np.array([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.25, 0.25, 0.5], [0.1, 0.1, 0.8]])


@settings(max_examples=25)
@given(COUNTED)
def test_a_finite_set_is_smoothed_as_in_the_naive_form(counts):
    counts = usable(counts)
    for normalize in (True, False):
        measures = counts / counts.sum(axis=1, keepdims=True) if normalize else counts
        smoothed = [[sum(x * row[j] for x, row in zip(f, SMOOTHING, strict=True)) for j in range(3)] for f in measures]
        expected = every_pair(lambda f, g: math.exp(-0.7 * jensen(f, g)), smoothed)
        for samples in (Bags.from_counts(counts), counts, sparse.csr_array(counts)):
            K = Entropy(0.7, smoothing=SMOOTHING, normalize=normalize)(samples)
            np.testing.assert_allclose(K, expected, rtol=1e-12)
            assert np.linalg.eigvalsh(K).min() >= -1e-10 * len(K)


def test_without_smoothing_the_identity_is_left():
    counts = np.random.default_rng(0).integers(0, 3, (5, 6)) + np.eye(5, 6, dtype=int)
    expected = Entropy()(Bags.from_counts(counts))
    np.testing.assert_allclose(Entropy(smoothing=np.eye(6))(counts), expected, rtol=1e-12)


def test_components_are_found_by_name():
    table = network_kernel([("a", "b"), ("b", "c"), ("c", "d")])
    counts = pd.DataFrame([[1.0, 2.0], [3.0, 0.0]], columns=["d", "b"])
    whole = np.array([[0.0, 2.0, 0.0, 1.0], [0.0, 0.0, 0.0, 3.0]])
    expected = Entropy(smoothing=table.matrix)(whole)
    for smoothing in (table, pd.DataFrame(table.matrix, index=table.names)):
        np.testing.assert_allclose(Entropy(smoothing=smoothing)(counts), expected, rtol=1e-12)
    named = Entropy(smoothing=table.matrix, names=list("abcd"))
    np.testing.assert_allclose(named(counts), expected, rtol=1e-12)
    np.testing.assert_allclose(named(table.bags(counts)), expected, rtol=1e-12)
    assert from_spec(json.loads(json.dumps(named.spec()))) == named
    with pytest.raises(InputError, match="the table has no component 'x'"):
        named(counts.rename(columns={"b": "x"}))


def test_smoothing_that_is_none_and_samples_of_other_sets_are_refused():
    for make, said in [
        (lambda: Entropy(smoothing=[[1.0, 0.5]]), "row 0 of smoothing sums to 1.5"),
        (lambda: Entropy(smoothing=[[1.5, -0.5]]), r"smoothing\[0, 1\] is -0.5"),
        (lambda: Entropy(smoothing=Table(2 * np.eye(2))), "row 0 of smoothing sums to 2"),
        (lambda: Entropy(smoothing=np.eye(2), bandwidth=1.0), "give bandwidth= or smoothing="),
        (lambda: Entropy(smoothing=np.eye(2), names=["a"]), "smoothing has 2 components and names has 1"),
        (lambda: Entropy(names=["a"]), "names belong to the rows of smoothing"),
        (lambda: Entropy(form="H"), 'form must be "J" or "h"'),
        (lambda: Entropy(smoothing=np.eye(2))(np.ones((2, 3))), "have 3 columns and the table has 2 components"),
        (lambda: Entropy(smoothing=np.eye(2), dimensions=0).prepare(np.ones((2, 3))), "3 columns and smoothing 2 rows"),
        (lambda: Entropy(smoothing=np.eye(2))(Bags.from_arrays([[[0.0, 1.0]]])), "are one number each"),
        (lambda: Entropy(normalize=False)([[1.0, -1.0]]), "the count -1 of feature number 1"),
    ]:
        with pytest.raises(InputError, match=said):
            make()
    with pytest.raises(SampleError, match="sample '0 of bag 0' is 2, and the components"):
        Entropy(smoothing=np.eye(2))(Bags.from_arrays([[2.0]]))


@pytest.mark.parametrize("kernel", [Entropy(0.3, normalize=False), Entropy(smoothing=SMOOTHING)])
@pytest.mark.parametrize("as_bags", [False, True])
def test_a_store_of_counts_equals_the_kernel(kernel, as_bags, tmp_path):
    counts = usable(np.random.default_rng(0).poisson(1.0, (9, 4)).astype(float))
    samples, expected = Bags.from_counts(counts) if as_bags else counts, kernel(counts)
    gram = compute_gram(kernel, samples[:6], store=tmp_path / "k.zarr", tile=4, progress=False)
    np.testing.assert_allclose(gram.to_numpy(), expected[:6, :6], rtol=1e-12)
    np.testing.assert_allclose(gram.cross(samples[6:]).to_numpy(), expected[6:, :6], rtol=1e-12)
