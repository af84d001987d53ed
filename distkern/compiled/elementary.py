"""1 − e^(−x) and erf(x) without branches or tables, so that LLVM computes several values at a time.

Every polynomial is a tree of fused multiply-adds, a·b + c rounded once, so a value has the same bits on any processor.
The plain Python functions, which are called with ``NUMBA_DISABLE_JIT=1``, round twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from distkern.core.jit import compiled

REAL, WORD = ir.DoubleType(), ir.IntType(64)

INVERSE_LN2 = 1 / math.log(2)
LN2, LN2_REST = 0.6931471803691238, 1.9082149292705877e-10
"""ln 2 is their sum; the first one has so few bits that a whole number times it is exact."""

SHIFT = 1.5 * 2.0**52
"""A number of at most 2⁵¹ that is added to it is rounded to a whole one, which lies in the last bits of the sum."""

EXPONENTIAL = tuple(1 / math.factorial(k) for k in range(2, 14))
"""Taylor coefficients of (eʳ − 1 − r) / r²; for |r| ≤ ln(2) / 2 the rest is below 2e-17 of eʳ − 1."""

ERF_END = 6.0
"""erf rounds to 1 from here on."""

# Minimax polynomial S of degree 22 by Remez's exchange on [0, ERF_END] in 60 digits, for the least relative error of
# erf(v) = 1 − exp(−v S(v)), which is 7e-17. It approximates −log(1 − erf(v)) / v.
ERF = (
    1.1283791670955126,
    0.6366197723676116,
    0.10277260330005909,
    -0.019128446963047926,
    -0.00020919523044417136,
    0.0016962105306357704,
    -0.0005901468150783173,
    2.5955210741606116e-05,
    6.429000597023273e-05,
    -2.9323532559172018e-05,
    2.795855125057093e-06,
    3.564696062176883e-06,
    -2.4298076018932385e-06,
    8.537216371491029e-07,
    -1.7409632913110403e-07,
    8.371690161980126e-09,
    7.782595049524204e-09,
    -3.153226661747436e-09,
    6.811250913426996e-10,
    -9.548757839664971e-11,
    8.721631635510062e-12,
    -4.755226464263866e-13,
    1.1801060478258325e-14,
)


def fma(a: float, b: float, c: float) -> float:
    """Return a·b + c."""
    return a * b + c


def power_of_two(shifted: float) -> float:
    """2ᵏ for ``shifted`` = k + `SHIFT`, −1022 ≤ k ≤ 1023."""
    return math.ldexp(1.0, int(shifted - SHIFT))


def polynomial(coefficients: tuple[float, ...]) -> Callable[[float], float]:
    """Return the function x ↦ Σ cᵢ xⁱ, in Estrin's scheme: neighbouring terms are joined first, which hides latency.

    The constant is added last, so that it is rounded once.

    Examples
    --------
    >>> polynomial((1.0, 2.0, 3.0))(10.0)
    321.0
    """

    def joined(terms: list[Any], x: Any, add: Callable[..., Any], multiply: Callable[..., Any]) -> Any:
        constant, *terms = terms
        power = x
        while len(terms) > 1:
            pairs = [add(high, power, low) for low, high in zip(terms[::2], terms[1::2], strict=False)]
            terms, power = pairs + terms[2 * len(pairs) :], multiply(power, power) if len(terms) > 2 else power
        return add(terms[0], x, constant)

    def evaluate(x: float) -> float:
        return joined(list(coefficients), x, fma, lambda a, b: a * b)

    @intrinsic
    def compiled_body(typing: Any, x: Any) -> Any:
        def body(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return joined([ir.Constant(REAL, c) for c in coefficients], args[0], builder.fma, builder.fmul)

        return types.float64(types.float64), body

    @overload(evaluate, inline="always")
    def _body(x):  # type: ignore[no-untyped-def]
        return lambda x: compiled_body(x)  # type: ignore[call-arg]

    return evaluate


@intrinsic
def _fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    kinds = [types.float64] * 3
    return types.float64(*kinds), lambda context, builder, signature, args: builder.fma(*args)


@overload(fma, inline="always")
def _fma_body(a, b, c):  # type: ignore[no-untyped-def]
    return lambda a, b, c: _fma(a, b, c)  # type: ignore[call-arg]


@intrinsic
def _power_of_two(typing: Any, shifted: Any) -> Any:
    def body(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        exponent = builder.shl(builder.bitcast(args[0], WORD), ir.Constant(WORD, 52))
        return builder.bitcast(builder.add(exponent, ir.Constant(WORD, 1023 << 52)), REAL)

    return types.float64(types.float64), body


@overload(power_of_two, inline="always")
def _power_of_two_body(shifted):  # type: ignore[no-untyped-def]
    return lambda shifted: _power_of_two(shifted)  # type: ignore[call-arg]


_exponential, _erf_exponent = polynomial(EXPONENTIAL), polynomial(ERF)


@compiled
def falling(x):  # type: ignore[no-untyped-def]
    """1 − e^(−x) and e^(−x) for 0 ≤ x ≤ 700, each within 2 units in its last place."""
    shifted = fma(-x, INVERSE_LN2, SHIFT)
    whole = shifted - SHIFT
    rest = fma(-whole, LN2_REST, fma(-whole, LN2, -x))
    scale = power_of_two(shifted)
    change = scale * fma(rest * rest, _exponential(rest), rest)
    return (1.0 - scale) - change, scale + change


@compiled
def erf(v):  # type: ignore[no-untyped-def]
    """Return erf(v) for v ≥ 0, within 3 units in its last place and within 2e-16."""
    v = min(v, ERF_END)
    value, _ = falling(v * _erf_exponent(v))
    return value
