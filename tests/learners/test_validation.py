"""What learners refuse, all in the same words."""

import numpy as np
import pandas as pd
import pytest

import distkern as dk
from distkern.learners.validation import (
    not_negative,
    positive,
    refuse_other_columns,
    targets_and_weights,
    whole,
    with_own_errors,
)

K = dk.Gaussian(1.0)(np.arange(6.0)[:, None])
COMPLEX = np.array([0, 1, 0, 1j, 0, 1])


@pytest.mark.parametrize("y", [COMPLEX, COMPLEX.tolist()], ids=["array", "list"])
@pytest.mark.parametrize(
    "name",
    ["KernelFisherDiscriminant", "KernelLogistic", "KernelRidge", "KernelSVC", "KernelSVR", "LSRRanker", "RankSVM"],
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


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (dk.KernelSVC, "probability"),
        (dk.KernelPCA, "center"),
        (dk.KernelStandardizer, "center"),
        (dk.KernelStandardizer, "unit_norm"),
    ],
)
@pytest.mark.parametrize("value", [pd.NA, np.array([True, False]), "no", None])
def test_what_is_neither_true_nor_false_is_refused(make, name, value):
    with pytest.raises(dk.InputTypeError, match=f"{name} must be True or False, not "):
        make(**{name: value}).fit(K, [0, 1] * 3)


@pytest.mark.parametrize("values", [K[:4], K[:, :4], K[0], K[None]], ids=["rows", "columns", "one axis", "three axes"])
def test_a_training_matrix_that_is_not_square_is_refused(values):
    said = r"must be square, a row and a column for every sample; it has shape \(.*\)|a Gram matrix has two axes"
    with pytest.raises(dk.InputError, match=said):
        dk.kernel_neighbors(values, 2)
    with pytest.raises(dk.InputError, match=said):
        dk.kernel_medoids(values, [0] * len(values))


def test_errors_of_other_libraries_become_errors_of_this_package():
    for function, value, kind in ((int, "x", dk.InputError), (int, None, dk.InputTypeError)):
        with pytest.raises(kind):
            with_own_errors(function, value)
    with pytest.raises(dk.InputError, match="a number is too large"):
        with_own_errors(float, 10**400)
    assert with_own_errors(int, "7") == 7


def test_the_first_column_of_another_sample_is_named():
    gram = dk.ArrayGram(np.eye(3), row_ids=list("abc"), col_ids=list("axc"))
    with pytest.raises(dk.InputError, match="number 1 is 'x', not 'b'"):
        refuse_other_columns(list("abc"), gram)
    refuse_other_columns(list("axc"), gram)


def test_targets_may_be_written_as_text_and_lose_no_digit():
    found, _, _ = targets_and_weights(np.array(["1.5", "2"]), None, 2)
    np.testing.assert_array_equal(found, [1.5, 2.0])
    found, _, _ = targets_and_weights(np.array([1, 2**53]), None, 2)
    np.testing.assert_array_equal(found, [1.0, 2.0**53])
    with pytest.raises(dk.InputError, match="9007199254740993"):
        targets_and_weights(np.array([1, 2**53 + 1]), None, 2)
    with pytest.raises(dk.InputError, match="the target of sample 1 is missing"):
        targets_and_weights(np.array([1.0, None], dtype=object), None, 2)
