"""The lazy weighted sum equals the sum of arrays: blocks, products, views, new samples."""

import pickle

import numpy as np
import pytest

from distkern import (
    ArrayGram,
    Gaussian,
    InputError,
    InputTypeError,
    Kendall,
    Linear,
    Serial,
    SumGram,
    Threads,
    compute_gram,
    open_gram,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 6))
NAMES = [f"s{i}" for i in range(30)]
KERNELS = (Gaussian(2.0), Kendall(), Linear())
FACTORS = (0.5, 2.0, 1.0 / 3)
DENSE = sum(c * k(X) for c, k in zip(FACTORS, KERNELS, strict=True))


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Three stores of the same samples, with different tile sizes."""
    folder = tmp_path_factory.mktemp("sums")
    return [
        compute_gram(kernel, X, ids=NAMES, store=folder / f"{number}.zarr", tile=side, progress=False)
        for number, (kernel, side) in enumerate(zip(KERNELS, (8, 8, 13), strict=True))
    ]


def total(stored):
    return SumGram(stored, FACTORS)


VIEWS = {
    "whole": lambda gram: gram,
    "slice": lambda gram: gram[[3, 3, 1, 20]][:, [0, 5]],
    "large slice": lambda gram: gram[np.ix_(np.arange(25), np.arange(25))],
    "centred": lambda gram: gram.centered(on=np.arange(20)),
    "test by train": lambda gram: gram.centered(on=np.arange(20)).unit_norm()[20:][:, :20],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_values_products_and_diagonals_equal_those_of_the_array(stored, view):
    lazy, dense = view(total(stored)), view(ArrayGram(DENSE))
    expected = dense.to_numpy()
    np.testing.assert_allclose(lazy.to_numpy(), expected, atol=1e-12)
    V = RNG.normal(size=(lazy.shape[1], 3))
    np.testing.assert_allclose(lazy.matmat(V), expected @ V, atol=1e-12)
    np.testing.assert_allclose(lazy.matmat(V[:, 0]), expected @ V[:, 0], atol=1e-12)
    np.testing.assert_allclose(lazy.row_diag(), dense.row_diag(), atol=1e-12)
    np.testing.assert_allclose(lazy.col_diag(), dense.col_diag(), atol=1e-12)
    passed = np.zeros(lazy.shape)
    for rows, cols, values in lazy.tiles():
        passed[np.ix_(rows, cols)] += values
    np.testing.assert_allclose(passed, expected, atol=1e-12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(lazy)).to_numpy(), lazy.to_numpy())
    assert lazy.is_symmetric == dense.is_symmetric


def test_bits_of_a_product_do_not_depend_on_the_executor(stored):
    V = RNG.normal(size=(30, 2))
    products = [
        SumGram([open_gram(gram.path, executor=pool) for gram in stored], FACTORS).matmat(V)
        for pool in (Serial(), Threads(2))
    ]
    np.testing.assert_array_equal(*products)


def test_tiles_read_each_part_with_equal_tiles_once(stored):
    parts = [open_gram(gram.path) for gram in stored[:2]]

    def read_by(passed):
        before = [part.bytes_read() for part in parts]
        for gram in passed:
            for _ in gram.tiles():
                pass
        return [part.bytes_read() - count for part, count in zip(parts, before, strict=True)]

    read_by(parts)  # reads the summaries of the samples
    assert read_by([SumGram(parts)]) == read_by(parts)
    assert min(read_by(parts)) > 0


def test_the_kernel_with_new_samples_is_the_sum_of_those_of_the_parts(stored):
    new = RNG.normal(size=(4, 6))
    expected = sum(c * k(new, X) for c, k in zip(FACTORS, KERNELS, strict=True))
    crossed = total(stored).cross(new)
    np.testing.assert_allclose(crossed.to_numpy(), expected, atol=1e-12)
    assert crossed.col_ids == tuple(NAMES)
    kernel = total(stored).kernel
    np.testing.assert_allclose(kernel(X), DENSE, atol=1e-12)
    assert total(stored).n_features == 6
    with pytest.raises(InputError, match="CohortPredictor"):
        total(stored).prepared_columns()


def test_a_sum_of_sums_and_default_factors():
    parts = [ArrayGram(k(X), row_ids=NAMES) for k in KERNELS]
    nested = SumGram([SumGram(parts[:2]), parts[2]], [2.0, -1.0])
    np.testing.assert_allclose(nested.to_numpy(), 2 * (KERNELS[0](X) + KERNELS[1](X)) - KERNELS[2](X), atol=1e-12)
    assert nested.ids == tuple(NAMES)
    np.testing.assert_array_equal(nested.factors, [2.0, -1.0])
    assert len(nested.parts) == 2


def test_parts_with_different_sample_names_are_refused():
    named, turned = ArrayGram(np.eye(3), row_ids="abc"), ArrayGram(np.eye(3), row_ids="acb")
    with pytest.raises(InputError, match=r"rows of part 2 .* part 0: number 1 is 'c', not 'b'"):
        SumGram([named, ArrayGram(np.eye(3)), turned])
    assert SumGram([ArrayGram(np.eye(3)), named]).ids == ("a", "b", "c")
    assert SumGram([ArrayGram(np.eye(3)), ArrayGram(np.eye(3))]).ids == ("0", "1", "2")


@pytest.mark.parametrize(
    ("parts", "factors", "message"),
    [
        ([], None, "no Gram matrix to add up"),
        ([ArrayGram(np.eye(3)), ArrayGram(np.eye(2))], None, "part 1 of the sum is 2 × 2 and part 0 is 3 × 3"),
        ([ArrayGram(np.eye(3)), ArrayGram(np.eye(3))[[0, 2, 1]]], None, "only one of them is symmetric"),
        ([ArrayGram(np.eye(3))], [1.0, 2.0], "one finite number for each of the 1 parts"),
        ([ArrayGram(np.eye(3))], [np.nan], "one finite number for each of the 1 parts"),
    ],
)
def test_parts_and_factors_that_do_not_fit_are_refused(parts, factors, message):
    with pytest.raises(InputError, match=message):
        SumGram(parts, factors)


def test_arrays_are_refused():
    with pytest.raises(InputTypeError, match="wrap an array in ArrayGram"):
        SumGram([np.eye(3)])
