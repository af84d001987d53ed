"""One check of the parameters of every kernel: what is no value of a field is refused in a sentence that names it."""

import dataclasses
import decimal
import fractions
from typing import Any, ClassVar

import numpy as np
import pytest

from distkern import (
    Diffusion,
    Entropy,
    Gaussian,
    InputError,
    Kendall,
    KernelIGV,
    Linear,
    LowRank,
    Mallows,
    MeanMap,
    Polynomial,
    SmoothedKendall,
    WeightedKendall,
)
from distkern.core.errors import DistkernError
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.parameters import plain_value
from distkern.kernels.registry import our_kernels
from distkern.kernels.smoothed import draws_for

NEEDED = {
    "smoothed-kendall": {"window": 1.0},
    "table": {"K": ((1.0,),)},
    "sum": {"left": Linear(), "right": Linear()},
    "product": {"left": Linear(), "right": Linear()},
    "scaled": {"base": Linear()},
    "power": {"base": Linear()},
    "normalized": {"base": Linear()},
}
"""Parameters without a default, by the name of the kernel."""

NUMBERS = [0.5, 2.0]
ODD = [
    None,
    True,
    "0.1",
    "",
    b"1",
    1j,
    float("nan"),
    float("inf"),
    -float("inf"),
    10**400,
    [],
    [[]],
    {},
    object(),
    Linear,
    np.array(["b"]),
    np.array([1.0, np.nan]),
    np.array([[0.5, 1.0]]),
    np.ma.masked,
    np.datetime64("2020-01-01"),
    decimal.Decimal("NaN"),
]


def each_field():
    for name, kind in our_kernels().items():
        for field in dataclasses.fields(kind):
            yield pytest.param(name, kind, field.name, id=f"{name}-{field.name}")


@pytest.mark.parametrize(("name", "kind", "field"), list(each_field()))
def test_odd_values_are_taken_as_plain_ones_or_refused_in_a_sentence(name, kind, field):
    """No other exception, and no kernel that holds what it was not made for."""
    for value in ODD:
        made, refusal = None, None
        try:
            made = kind(**NEEDED.get(name, {}) | {field: value})
        except DistkernError as error:
            refusal = error
        if made is None:
            assert isinstance(refusal, ValueError)
            assert len(str(refusal).split()) > 4
            continue
        kept = getattr(made, field)
        assert kept is None or type(kept) in (bool, int, float, str, tuple) or isinstance(kept, Kernel)
        assert not isinstance(kept, float) or np.isfinite(kept)
        assert type(kept) is not bool or value is True


@pytest.mark.parametrize(
    "value",
    [0.1, np.float64(0.1), np.array(0.1), np.ma.array(0.1), fractions.Fraction(1, 10), decimal.Decimal("0.1")],
)
def test_whatever_is_one_number_is_that_number(value):
    kernel = Mallows(value)
    assert kernel == Mallows(0.1)
    assert type(kernel.lam) is float
    assert kernel.spec() == {"kernel": "mallows", "lam": 0.1, "scaled": False, "ties": "embedding"}
    assert hash(kernel) == hash(Mallows(0.1))


def test_whole_numbers_and_words_of_numpy_become_those_of_python():
    assert repr(Polynomial(np.array(3), np.float32(0.5))) == "Polynomial(degree=3, coef0=0.5)"
    assert repr(Kendall(np.str_("b"))) == "Kendall(ties='b')"
    assert repr(Mallows(scaled=np.bool_(True))) == "Mallows(lam=1.0, scaled=True, ties='embedding')"
    assert repr(Mallows(lam=2)) == "Mallows(lam=2, scaled=False, ties='embedding')"  # as the user wrote it


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Mallows("0.1"), "lam must be a number, not '0.1'"),
        (lambda: Mallows(True), "lam must be a number, not True"),
        (lambda: Mallows(scaled="no"), "scaled must be True or False, not 'no'"),
        (lambda: Mallows(10**400), "lam is a number of more than 308 digits"),
        (lambda: Diffusion("1"), "beta must be a number, not '1'"),
        (lambda: Gaussian("mean"), "sigma must be a number or \"median\", not 'mean'"),
        (lambda: Polynomial(2.5), "degree must be a whole number, not 2.5"),
        (lambda: WeightedKendall(u=3), "u must be text or a list of numbers, not 3"),
        (lambda: SmoothedKendall([[1.0]]), "window must be a number or a list of numbers"),
        (lambda: Entropy(center=1.0, spread=2.0), "center must be a list of numbers or None, not 1.0"),
        (lambda: LowRank(landmarks=((np.nan,),)), "landmarks must be finite numbers; one is nan"),
        (lambda: KernelIGV(Linear), "base must be a kernel, such as Gaussian"),
        (lambda: MeanMap(dimensions=0), "dimensions must be a whole number of 1 or more"),
        (lambda: Linear() * True, "factor must be a number, not True"),
        (lambda: Linear() * "2", "factor must be a number, not '2'"),
        (lambda: np.array([1.0, 2.0]) * Linear(), "factor must be a number, not array"),
        (lambda: Linear() ** True, "exponent must be a whole number, not True"),
        (lambda: Gaussian(1.0).set_params(sigma=[1.0]), "sigma must be a number or"),
        (lambda: draws_for("many", 0.1), "m must be a whole number, not 'many'"),
    ],
)
def test_the_message_says_what_the_parameter_takes(make, said):
    with pytest.raises(InputError) as error:
        make()
    assert said in str(error.value)


def test_a_number_of_numpy_on_the_left_multiplies_a_kernel():
    assert np.array(2.0) * Linear() == np.float32(2) * Linear() == 2.0 * Linear()


def test_kernels_of_users_are_checked_too_and_other_types_left_alone():
    @dataclasses.dataclass(frozen=True)
    class Mine(Kernel):
        name: ClassVar[str] = "mine"
        gamma: float = 1.0
        options: Any = None

        def prepare(self, X, start=0):
            return Prepared({"values": X}, start)

    assert Mine(np.array(2.0), {"a": 1}) == Mine(2.0, {"a": 1})
    with pytest.raises(TypeError, match="gamma must be a number"):
        Mine("2")


def test_what_a_masked_number_is_is_not_known():
    with pytest.raises(TypeError, match="lam must be a number, not masked"):
        plain_value("lam", np.ma.masked, float)
