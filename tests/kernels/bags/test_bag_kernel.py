"""What all kernels between bags share: parameters and their refusals."""

import pytest

from distkern import (
    Bhattacharyya,
    Entropy,
    ExponentialFamily,
    InputError,
    InputTypeError,
    KernelBhattacharyya,
    KernelIGV,
    Linear,
)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Bhattacharyya(-1.0), "eta must be a finite number of 0 or more"),
        (lambda: KernelIGV(Linear(), 0.0), "eta must be a finite number of more than 0"),
        (lambda: KernelIGV("rbf"), "base must be a kernel, such as Gaussian"),
        (lambda: KernelBhattacharyya(Linear(), 0), "n_components must be a whole number"),
        (lambda: ExponentialFamily(beta=0), "beta must be a finite number of more than 0"),
        (lambda: Entropy(bandwidth=-1.0), "bandwidth must be a finite number of more than 0"),
        (lambda: Entropy(draws=1), "draws must be a whole number of 2 or more"),
        (lambda: Entropy(center=(0.0,)), "give both center= and spread="),
    ],
)
def test_wrong_parameters_are_refused(make, said):
    with pytest.raises((InputError, InputTypeError), match=said):
        make()
