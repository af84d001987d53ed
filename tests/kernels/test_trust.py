"""Validation of prepared blocks that come from a file; the contract tests damage the blocks of every kernel."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from distkern import InputError, Kendall, Linear, SmoothedKendall
from distkern.kernels.base import SPARSE_ARRAYS, Kernel, Prepared
from distkern.kernels.trust import could_have_prepared, draw_samples, is_valid

X = np.random.default_rng(0).integers(0, 5, (4, 6)).astype(float)


def test_a_sparse_block_is_refused_by_a_kernel_of_dense_samples():
    sparse = Kendall().prepare(csr_array(X))
    assert could_have_prepared(Kendall(), sparse, 6)
    assert not could_have_prepared(Linear(), sparse, 6)
    assert not could_have_prepared(Kendall(), Linear().prepare(X), 6)


def test_a_number_of_features_that_the_kernel_does_not_take_is_refused():
    kernel = SmoothedKendall(window=(1.0,) * 6)
    assert could_have_prepared(kernel, kernel.prepare(X), 6)
    assert not could_have_prepared(kernel, kernel.prepare(X), 7)


def test_both_operands_validate_their_part():
    kernel = Kendall() + Kendall("b")
    block = kernel.prepare(X)
    assert is_valid(kernel, block)
    for side in ("left", "right"):
        order = block.arrays[f"{side}.order"] + 100
        assert not is_valid(kernel, Prepared({**block.arrays, f"{side}.order": order}))


@pytest.mark.parametrize("name", sorted(SPARSE_ARRAYS))
def test_an_array_with_the_name_of_a_sparse_one_does_not_make_a_block_sparse(name):
    block, other = Prepared({name: X}), Prepared({name: X[::-1]})
    assert not block.is_sparse
    block.refuse_unlike(other)
    with pytest.raises(InputError, match="unlike kernels or numbers of features"):
        block.refuse_unlike(Prepared({name: X[:, 1:]}))


class Sevens(Linear):
    """A kernel that refuses all samples of the default."""

    name = "sevens"

    def check(self, X, ids=None, features=None):
        if (X != 7).any():
            raise ValueError("only sevens will do")


class DrawnSevens(Sevens):
    name = "drawn-sevens"


@draw_samples.register
def _(kernel: DrawnSevens, n: int):
    yield np.full(n, 7.0)


def test_a_kernel_that_refuses_all_drawn_samples_says_how_to_draw_others():
    sevens = np.full((2, 3), 7.0)
    assert could_have_prepared(DrawnSevens(), DrawnSevens().prepare(sevens), 3)
    with pytest.raises(InputError, match=r"register samples that it accepts with distkern\.kernels\.trust"):
        could_have_prepared(Sevens(), Sevens().prepare(sevens), 3)


@pytest.mark.parametrize(
    "refused",
    [
        lambda x: (x <= 0).any(),
        lambda x: (x < 0).any() or abs(x.sum() - 1) > 1e-9,
        lambda x: sorted(x) != list(range(1, len(x) + 1)),
        lambda x: not set(x) <= {0.0, 1.0},
        lambda x: len(set(x)) < len(x),
    ],
    ids=["positive", "distribution", "ranks", "binary", "without ties"],
)
def test_kernels_of_usual_samples_need_no_samples_of_their_own(refused):
    assert not all(refused(sample) for sample in draw_samples(Kernel(), 9))
