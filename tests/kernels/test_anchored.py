"""Kernels relative to a point: equal to the four terms of the definition in exact arithmetic, with a common offset."""

from fractions import Fraction

import numpy as np
import pytest
from contracts import KernelContract
from hypothesis import strategies as st

from distkern import (
    Bags,
    Bhattacharyya,
    Gaussian,
    GeneralizedVariance,
    InputError,
    KernelBhattacharyya,
    KernelIGV,
    Linear,
    LowRank,
    Polynomial,
    SampleError,
    compute_gram,
    open_gram,
)
from distkern.kernels.anchored import Anchored
from distkern.kernels.bags.kernelized import anchored
from distkern.kernels.bags.pooled_points import pooled_points

OFFSETS = [0.0, 1e4, 1e6, 1e8, 1e12]


def exact(x, y, z, degree, constant):
    def kappa(a, b):
        return (sum(Fraction(p) * Fraction(q) for p, q in zip(a, b, strict=True)) + Fraction(constant)) ** degree

    return float(kappa(x, y) - kappa(x, z) - kappa(z, y) + kappa(z, z))


class TestAnchored(KernelContract):
    kernel = Anchored(Polynomial(3, 0.5), (1.0, -2.0, 0.25))

    def cohorts(self):
        rows = st.lists(st.lists(st.integers(-4, 4).map(float), min_size=3, max_size=3), min_size=1, max_size=7)
        return rows.map(np.array)

    def naive(self, x, y):
        return exact(x, y, self.kernel.point, 3, 0.5)

    tolerance = 1e-10

    def test_prepared_blocks_of_other_features_are_refused(self):
        with pytest.raises(InputError, match="2 features and the reference point has 3"):
            self.kernel([[1.0, 2.0]])

    def test_diagonal_equals_that_of_the_matrix(self):
        X = np.random.default_rng(0).integers(0, 4, (9, 3)).astype(float)
        np.testing.assert_allclose(self.kernel.diagonal(self.kernel.prepare(X)), np.diag(self.kernel(X)), rtol=1e-14)

    def test_nan_is_refused_by_name(self):
        with pytest.raises(SampleError, match=r"sample number 0 .*NaN.* feature number 2"):
            self.kernel([[1.0, 2.0, np.nan]])


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize(("degree", "constant"), [(1, 0.0), (2, 1.0), (4, 0.5)])
def test_no_digit_is_lost_to_the_offset(degree, constant, offset):
    X = np.random.default_rng(0).normal(size=(4, 2)) + offset
    point = tuple((np.zeros(2) + offset).tolist())
    found = Anchored(Polynomial(degree, constant), point)(X)
    expected = np.array([[exact(x, y, point, degree, constant) for y in X.tolist()] for x in X.tolist()])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13 * np.abs(expected).max())


# Kernels between bags that choose a point ----------------------------------------------------------------------------


def shifted(offset):
    """Bags whose points are multiples of 1/16, so that the offset changes no digit of them."""
    rng = np.random.default_rng(1)
    return Bags.from_arrays([np.round(16 * rng.normal(size=(size, 2))) / 16 + offset for size in (8, 6, 9)])


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("base", [Linear(), Polynomial(1, 1.0), LowRank(Linear(), tolerance=0.0)], ids=repr)
def test_a_common_offset_changes_nothing(base, offset):
    """The generalised variance and Bhattacharyya's kernel of the points are what these kernels are on a linear base."""
    bags, near = shifted(offset), shifted(0.0)
    np.testing.assert_allclose(KernelIGV(base, 0.1)(bags), GeneralizedVariance(0.1)(near), rtol=1e-12)
    np.testing.assert_allclose(KernelBhattacharyya(base, 2, 0.1)(bags), Bhattacharyya(0.1)(near), rtol=1e-12)


def test_points_near_the_origin_keep_their_kernel():
    assert anchored(Linear(), pooled_points(shifted(1.0))) == Linear()
    assert anchored(Gaussian(1.0), pooled_points(shifted(1e8))) == Gaussian(1.0)


def test_new_bags_are_compared_through_the_point_of_the_cohort(tmp_path):
    bags, new = shifted(1e8), shifted(1e8)
    compute_gram(KernelIGV(Linear(), 0.1), bags, store=tmp_path / "k.zarr", progress=False)
    gram = open_gram(tmp_path / "k.zarr")
    assert isinstance(gram.kernel.base, Anchored)
    np.testing.assert_allclose(gram.cross(new).to_numpy(), KernelIGV(Linear(), 0.1)(new, bags), rtol=1e-12)
    np.testing.assert_allclose(gram.to_numpy(), GeneralizedVariance(0.1)(shifted(0.0)), rtol=1e-12)


@pytest.mark.parametrize("kernel", [KernelIGV(Polynomial(), 0.1), KernelBhattacharyya(Polynomial(), 3, 0.1)], ids=repr)
def test_bags_whose_values_would_have_few_digits_are_refused_by_name(kernel):
    """A polynomial of degree 2 depends on the origin: its centred values at 10⁸ are of the order of 10¹⁶."""
    with pytest.raises(SampleError, match=r"bag '0' has points with κ\(x, x\) of up to .* few right digits: subtract"):
        kernel(shifted(1e8))


def test_only_expandable_kernels_have_a_point():
    with pytest.raises(TypeError, match="base must be Linear"):
        Anchored(Gaussian(1.0), (0.0,))
