"""Whether a block of prepared samples that was read from a file is safe to compute with.

Compiled code does not check bounds, and prepared samples hold indices. A store or a model may come from anybody, so a
block is compared with what its kernel prepares. The defaults hold for every kernel; a kernel registers an `is_valid` of
its own where compiled code takes values as indices, and a `draw_samples` where it refuses all samples of the default:

    @is_valid.register
    def _(kernel: MyKernel, A: Prepared) -> bool:
        return bool((A.arrays["order"] < A.arrays["order"].shape[1]).all())
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, singledispatch
from itertools import chain
from typing import Any

import numpy as np

from distkern.core.errors import InputError, SampleError
from distkern.core.typing import Array
from distkern.kernels.base import Kernel, Pair, Prepared, Transformed

FEATURE_BYTES = 64
"""Bytes of memory per feature that must be free before `could_have_prepared` is called on a block of unknown origin."""


def could_have_prepared(kernel: Kernel, A: Prepared, n: int) -> bool:
    """Whether a block that was read from a file can be a block that this kernel prepared, on n features.

    Types and shapes are compared with a sample that is drawn and prepared here, which takes the memory of some samples
    of n features; `is_valid` then checks the values that compiled code takes as indices.

    Raises
    ------
    InputError
        If the kernel refuses every drawn sample, so that there is nothing to compare with.
    """
    lengths = {array.shape[:1] for array in A.arrays.values()}
    if len(lengths) > 1 or (A.is_sparse and not kernel.takes_sparse):
        return False
    expected = _layout(kernel, n, A.is_sparse)
    return A.layout() == expected and is_valid(kernel, A)


@singledispatch
def is_valid(kernel: Kernel, A: Prepared) -> bool:
    """Whether values in a block of the right types and shapes are safe to compute with; True by default."""
    return True


@is_valid.register
def _(kernel: Pair, A: Prepared) -> bool:
    return is_valid(kernel.left, A.under("left.")) and is_valid(kernel.right, A.under("right."))


@is_valid.register
def _(kernel: Transformed, A: Prepared) -> bool:
    return is_valid(kernel.base, A)


@singledispatch
def draw_samples(kernel: Kernel, n: int) -> Iterator[Array]:
    """Samples of n features (n,). The kernel must accept one of them; all have the same layout once prepared.

    By default two of normal values, then positive values, fractions that sum to 1, ranks, zeros and ones, and ones.
    """
    rng = np.random.default_rng(0)
    yield rng.normal(size=n)
    yield rng.normal(size=n)
    positive = rng.uniform(0.1, 1.0, size=n)
    yield positive
    yield positive / positive.sum()
    yield rng.permutation(n) + 1.0
    yield np.arange(n) % 2.0
    yield np.ones(n)


@draw_samples.register
def _(kernel: Pair, n: int) -> Iterator[Array]:
    """Samples of both operands; both operands must accept one of them."""
    return chain(draw_samples(kernel.left, n), draw_samples(kernel.right, n))


@draw_samples.register
def _(kernel: Transformed, n: int) -> Iterator[Array]:
    return draw_samples(kernel.base, n)


@lru_cache(maxsize=16)
def _layout(kernel: Kernel, n: int, sparse: bool) -> dict[str, tuple[Any, ...]] | None:
    """Layout of a prepared sample of n features; None where the kernel takes no samples of n features."""
    refused = 0
    for sample in _one_sparse(n) if sparse else draw_samples(kernel, n):
        if sample.shape[-1] != n:
            continue
        try:
            if not sparse:
                kernel.check(sample[None])
            return kernel.prepare(sample if sparse else sample[None]).layout()
        except InputError as error:
            if not isinstance(error, SampleError):  # it takes no samples of n features
                return None
            refused += 1
        except ValueError:  # raised by the check of a user's kernel
            refused += 1
    if not refused:
        return None
    raise InputError(
        f"{kernel!r} refuses every sample of {n} features that is drawn to validate stored blocks: register samples "
        "that it accepts with distkern.kernels.trust.draw_samples"
    )


def _one_sparse(n: int) -> Iterator[Any]:
    from scipy.sparse import csr_array  # here, so that a worker of dense samples need not load it

    yield csr_array(([1.0], ([0], [0])), shape=(1, n))
