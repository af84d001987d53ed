"""1 − e^(−x), e^(−x) and erf(x) against the standard library, and their pieces in both bodies."""

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numba import config

from distkern.compiled.elementary import ERF_END, LN2, LN2_REST, SHIFT, erf, falling, fma, polynomial, power_of_two
from distkern.core.jit import compiled

cubic = polynomial((0.5, -3.0, 0.0, 0.25))


@compiled
def compiled_fma(a, b, c):
    return fma(a, b, c)


@compiled
def compiled_power_of_two(shifted):
    return power_of_two(shifted)


@compiled
def compiled_cubic(x):
    return cubic(x)


@given(st.floats(0.0, ERF_END) | st.floats(min_value=0.0))
@example(0.0)
@example(5e-324)
@example(math.inf)
def test_erf_equals_that_of_the_standard_library(v):
    assert erf(v) == pytest.approx(math.erf(v), rel=4 * 2.0**-52, abs=2 * 5e-324)
    assert abs(erf(v) - math.erf(v)) <= 3.4e-16


@given(st.floats(0.0, 48.0) | st.floats(0.0, 700.0))
@example(0.0)
@example(5e-324)
@example(math.log(2) / 2)
def test_falling_equals_the_exponentials_of_the_standard_library(x):
    gone, left = falling(x)
    assert gone == pytest.approx(-math.expm1(-x), rel=3 * 2.0**-52, abs=0)
    assert left == pytest.approx(math.exp(-x), rel=3 * 2.0**-52, abs=0)


def test_ends_are_exact():
    assert erf(0.0) == 0.0
    assert erf(ERF_END) == erf(1e300) == 1.0
    assert falling(0.0) == (0.0, 1.0)
    assert falling(48.0)[0] == 1.0


@given(st.floats(-1e100, 1e100), st.floats(-1e100, 1e100), st.floats(-1e100, 1e100))
def test_fma_rounds_once_where_it_is_compiled(a, b, c):
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if not config.DISABLE_JIT:
        assert compiled_fma(a, b, c) == float(exact)
    assert fma(a, b, c) == a * b + c


@given(st.floats(-100, 100))
def test_polynomials_equal_the_exact_sum_in_both_bodies(x):
    exact = sum(Fraction(c) * Fraction(x) ** k for k, c in enumerate((0.5, -3.0, 0.0, 0.25)))
    size = sum(abs(c * x**k) for k, c in enumerate((0.5, -3.0, 0.0, 0.25)))
    for evaluate in (cubic, compiled_cubic):
        assert abs(Fraction(evaluate(x)) - exact) <= 2e-15 * size


@pytest.mark.parametrize("k", [-1022, -3, 0, 1, 1023])
def test_powers_of_two_are_exact_in_both_bodies(k):
    assert power_of_two(k + SHIFT) == compiled_power_of_two(k + SHIFT) == 2.0**k


def test_ln_2_is_the_sum_of_its_parts():
    exact = sum(Fraction(1, k * 2**k) for k in range(1, 130))
    assert abs(Fraction(LN2) + Fraction(LN2_REST) - exact) < Fraction(1, 2**80)
    assert float(Fraction(LN2) * 1023) == Fraction(LN2) * 1023
