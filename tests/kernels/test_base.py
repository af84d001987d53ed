import naive
import numpy as np
import pytest
from contracts import KernelContract
from scipy import sparse
from sklearn.base import clone

from distkern import Gaussian, InputError, InputTypeError, Kendall, Linear, Mallows, SampleError
from distkern.kernels.base import Sum


class TestSum(KernelContract):
    kernel = Kendall() + Gaussian(2.0)

    def naive(self, x, y):
        return naive.kendall(x, y) + naive.gaussian(x, y, 2.0)


class TestProduct(KernelContract):
    kernel = Kendall() * Mallows(0.1)
    orderings = True

    def naive(self, x, y):
        return naive.kendall(x, y) * naive.mallows(x, y, 0.1)


class TestScaledPower(KernelContract):
    kernel = 3.0 * Kendall() ** 5
    orderings = True

    def naive(self, x, y):
        return 3.0 * naive.kendall(x, y) ** 5


class TestNormalized(KernelContract):
    kernel = Kendall().normalized()
    orderings = True
    refuses_constant = True

    def naive(self, x, y):
        return naive.kendall(x, y) / (naive.kendall(x, x) * naive.kendall(y, y)) ** 0.5


class TestNested(KernelContract):
    kernel = (2.0 * (Kendall() + Linear()) * Gaussian(3.0)) ** 2
    tolerance = 1e-7

    def naive(self, x, y):
        return (2.0 * (naive.kendall(x, y) + naive.linear(x, y)) * naive.gaussian(x, y, 3.0)) ** 2


def test_tau_b_is_the_normalised_kendall_kernel():
    X = np.random.default_rng(0).integers(0, 5, (6, 50))
    np.testing.assert_allclose(Kendall().normalized()(X), Kendall(ties="b")(X), rtol=1e-14)


def test_nested_parameters_are_reached_by_name_and_scikit_learn_clones_kernels():
    kernel = 2.0 * (Kendall() + Mallows(lam=1.0))
    assert kernel.get_params()["base__right__lam"] == 1.0
    changed = kernel.set_params(base__right__lam=4.0, factor=3.0)
    assert changed == 3.0 * (Kendall() + Mallows(lam=4.0))
    assert kernel == 2.0 * (Kendall() + Mallows(lam=1.0))
    assert clone(kernel) == kernel


def test_median_bandwidths_inside_are_resolved():
    X = np.random.default_rng(0).normal(size=(5, 4))
    resolved = (Kendall() + 2.0 * Gaussian("median")).resolve(X)
    assert resolved.right.base == Gaussian("median").resolve(X)


@pytest.mark.parametrize("make", [lambda: Kendall() * -1.0, lambda: Kendall() * 0, lambda: Kendall() * float("nan")])
def test_only_positive_multiples_are_kernels(make):
    with pytest.raises(InputError, match="finite number of more than 0"):
        make()


@pytest.mark.parametrize("exponent", [0, -2, 0.5])
def test_only_whole_powers_are_kernels(exponent):
    with pytest.raises(InputError, match="whole number"):
        Kendall() ** exponent


def test_operands_that_are_not_kernels_are_refused():
    with pytest.raises(TypeError):
        Kendall() + 1
    with pytest.raises(InputTypeError, match="right must be a kernel"):
        Sum(Kendall(), 1)


def test_normalising_a_sample_mapped_to_zero_is_refused_by_name():
    with pytest.raises(SampleError, match=r"sample number 1 has k\(x, x\) = 0"):
        Linear().normalized()([[1.0, 0.0], [0.0, 0.0]])


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(2.0), Kendall(), Kendall("b"), Mallows(0.1)])
def test_samples_without_their_zeros_have_the_values_of_all_samples(kernel):
    X = np.random.default_rng(0).integers(0, 4, (5, 30)) * (np.arange(30) % 5 == 0).astype(float)
    X[:, :3] += np.arange(5)[:, None] * [1.0, 0.0, 2.0] + [0.0, 1.0, 0.0]
    for layout in (sparse.csr_matrix, sparse.csc_array, np.asarray):
        np.testing.assert_allclose(kernel(layout(X)), kernel(X), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(kernel(layout(X), X[:2]), kernel(X, X[:2]), rtol=1e-12, atol=1e-12)


def test_a_normalised_kernel_of_a_sample_with_itself_is_exactly_one():
    X = np.random.default_rng(0).normal(size=(60, 7))
    kernel = Linear().normalized()
    assert (np.diag(kernel(X)) == 1.0).all()
    assert (kernel.diagonal(kernel.prepare(X)) == 1.0).all()
