"""Kernel values between samples, for functions that take a matrix, or samples with a kernel."""

from __future__ import annotations

from typing import Any

from distkern.kernels.base import Kernel
from distkern.learners.base import KernelEstimator
from distkern.learners.validation import as_training_gram
from distkern.operators.base import BaseGram


class _Matrix(KernelEstimator):
    """An estimator that only computes its training matrix."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel


def training_matrix(X: Any, kernel: Any = "precomputed", memory_limit: int | str | None = None) -> BaseGram:
    """Return a Gram matrix or array of kernel values as an operator, or compute it from samples and their kernel.

    Parameters
    ----------
    X
        Gram matrix or array, (m, m); or samples (m, n) if there is a kernel.
    kernel
        ``"precomputed"``, or the kernel of the samples.
    memory_limit
        Memory for kernel values that are computed; by default half of the available memory.

    Raises
    ------
    InputError
        If the matrix is not square and symmetric, has values that are not finite, or the kernel refuses a sample.
    MemoryLimitError
        If the computed kernel values do not fit in memory.

    Examples
    --------
    >>> from distkern.kernels.vectors import Linear
    >>> training_matrix([[1.0], [2.0]], Linear()).to_numpy()
    array([[1., 2.],
           [2., 4.]])
    """
    estimator = _Matrix(kernel)
    if isinstance(kernel, Kernel) or estimator._takes_samples():  # refuses what is no kernel
        return estimator._training_gram(X, memory_limit)
    return as_training_gram(X)
