"""What learners refuse, all in the same words."""

import numpy as np
import pytest

import distkern as dk
from distkern.learners.validation import not_negative, positive, whole

K = dk.Gaussian(1.0)(np.arange(6.0)[:, None])
COMPLEX = np.array([0, 1, 0, 1j, 0, 1])


@pytest.mark.parametrize("y", [COMPLEX, COMPLEX.tolist()], ids=["array", "list"])
@pytest.mark.parametrize(
    "name", ["KernelFisherDiscriminant", "KernelRidge", "KernelSVC", "KernelSVR", "LSRRanker", "RankSVM"]
)
def test_complex_targets_lose_no_imaginary_part(name, y):
    with pytest.raises(dk.InputError, match="Complex data not supported: the numbers in y are complex"):
        getattr(dk, name)().fit(K, y)


@pytest.mark.parametrize("order", ["C", "F"])
def test_asymmetric_matrix_is_refused_in_memory_and_in_a_store(order):
    values = np.asarray(K, order=order).copy(order)
    values[1, 4] += 1e-3
    works = [
        lambda: dk.KernelRidge().fit(values, np.arange(6.0)),
        lambda: dk.KernelSVC().fit(values, [0, 1] * 3),
        lambda: dk.kernel_medoids(values, [0, 1] * 3),
        lambda: dk.kernel_neighbors(values, 2),
        lambda: dk.cross_validate_gram(None, values, [0, 1] * 3, outer=2, inner=2),
        lambda: dk.MLSRRanker(weights=[1.0, 1.0]).fit([values, values], np.arange(6.0)),
    ]
    for work in works:
        with pytest.raises(dk.InputError, match=r"not symmetric: k\(x, y\) and k\(y, x\) differ by up to 0.001"):
            work()
    values[1, 4] = values[4, 1] * (1 + 1e-12)
    for work in works[2:4]:
        work()


def test_numbers_that_parameters_may_be():
    assert (positive(np.float32(0.5), "C"), not_negative(0, "tol"), whole(np.int8(3), "k")) == (0.5, 0.0, 3)
    for check, values in (
        (positive, [0, -1.0, np.inf, np.nan, "1", None]),
        (not_negative, [-1e-9, np.inf, "0"]),
        (whole, [0, 1.0, "2"]),
    ):
        for value in values:
            with pytest.raises(dk.InputError, match=r"^it must be a .* number"):
                check(value, "it")


@pytest.mark.parametrize("values", [K[:4], K[:, :4], K[0], K[None]], ids=["rows", "columns", "one axis", "three axes"])
def test_a_training_matrix_that_is_not_square_is_refused(values):
    said = r"must be square, a row and a column for every sample; it has shape \(.*\)|a Gram matrix has two axes"
    with pytest.raises(dk.InputError, match=said):
        dk.kernel_neighbors(values, 2)
    with pytest.raises(dk.InputError, match=said):
        dk.kernel_medoids(values, [0] * len(values))
