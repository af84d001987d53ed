"""Scores of pairs as whole numbers, their keys: compared exactly, whatever the order in which they were counted."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm

import numpy as np

from distkern.compiled.pair_signs import KEY_BITS, ROUNDED_BITS, fraction_keys, weighted_keys
from distkern.core.typing import Array, Indices
from distkern.pairs.codes import SignCodes
from distkern.pairs.contrasts import Comparison, Contrast

MOST = 2**62
"""Bound of all keys and of all sums T."""

GAMMA_BITS = 28
"""Bits to which the secondary score is rounded where values are missing."""


@dataclass(frozen=True)
class FractionTable:
    """The arrays of `fraction_keys` that describe a contrast."""

    members: Indices
    bounds: Indices
    groups: Indices
    least: Indices
    take_least: bool
    bits: int
    rounded: int


@dataclass(frozen=True)
class KeyRule:
    """How the counts of a contrast become keys: the score of a pair is key / denominator.

    Where no value is missing, the key is Σ_c w_c D_c with whole weights of the cells. For two classes that is
    N = (L_1 − G_1) n_0 − (L_0 − G_0) n_1, and the denominator 2 n_1 n_0. Where values are missing, or the denominators
    have too large a common multiple, fractions are cut to multiples of 2^−62, which compares them exactly if n_1 n_0 <
    2^30; a mean of several fractions is rounded to a multiple of 2^−36.

    Parameters
    ----------
    weights
        w, (groups, cells); None where the keys are fractions.
    table
        The contrast, where they are fractions.
    denominator, secondary_denominator
        What the key and the secondary score are divided by.
    shift
        T_i − T_j is rounded to a multiple of 2^shift.
    single
        Whether there is one comparison only.
    """

    weights: Array | None
    table: FractionTable | None
    denominator: int
    secondary_denominator: int
    shift: int
    single: bool

    def fill(self, counts: Array, observed: Array | None, keys: Array) -> None:
        """Fill the keys of a tile, int64 (a, b), from D and n of all cells, int32 (cells, a, b)."""
        if self.weights is not None:
            weighted_keys(counts, self.weights, keys)
            return
        table = self.table
        assert table is not None
        assert observed is not None
        fraction_keys(
            counts,
            observed,
            table.members,
            table.bounds,
            table.groups,
            table.least,
            table.take_least,
            table.bits,
            table.rounded,
            keys,
        )

    def least_key(self, score: float) -> int:
        """Return the least key above 0 whose score, as a float64, is at least ``score``."""
        return max(1, _least_numerator(score, self.denominator))


def key_rule(contrast: Contrast, codes: SignCodes, min_observed: float) -> tuple[KeyRule, Array]:
    """Make the rule of a contrast, and T of each feature, int64 (p,): the secondary score is abs(T_i − T_j).

    Parameters
    ----------
    min_observed
        Least fraction of the samples of either class that must observe both features of a pair.
    """
    p = codes.ranked
    comparisons = [one for group in contrast.groups for one in group]
    if codes.complete:
        groups, mean = _coefficients(contrast, codes.sizes)
        denominator = _denominator(groups, mean, comparisons, codes.sizes)
        if 2 * p * denominator < MOST:
            rows = groups if contrast.aggregate == "min" else [mean]
            kind = np.int32 if denominator < 2**31 else np.int64  # no partial sum is larger
            weights = np.array([[int(part * denominator) for part in row] for row in rows], dtype=kind)
            sums = np.array([int(part * denominator) for part in mean], dtype=np.int64) @ codes.rank_sums
            return KeyRule(weights, None, denominator, denominator, 0, len(comparisons) == 1), sums
    table = _table(contrast, codes.sizes, min_observed)
    bits = 60 - p.bit_length()
    rule = KeyRule(None, table, 2**table.rounded, 2**GAMMA_BITS, bits - GAMMA_BITS, len(comparisons) == 1)
    return rule, _rank_differences(contrast, codes, bits)


def _least_numerator(quotient: float, denominator: int) -> int:
    """The least whole number whose quotient, as a float64, is at least this one: 5 for 5/6 of 6, 7 for 0.07 of 100."""
    number = ceil(Fraction(quotient) * denominator)
    while number > 0 and (number - 1) / denominator >= quotient:
        number -= 1
    return number


# Whole weights -------------------------------------------------------------------------------------------------------


def _coefficients(contrast: Contrast, sizes: Indices) -> tuple[list[list[Fraction]], list[Fraction]]:
    """Coefficients of D of the cells in the score of each group, and in the mean over the groups."""
    groups = []
    for group in contrast.groups:
        row = [Fraction(0)] * len(sizes)
        for one in group:
            for cells, sign in ((one.positive, 1), (one.negative, -1)):
                size = sum(int(sizes[cell]) for cell in cells)
                for cell in cells:
                    row[cell] += Fraction(sign, 2 * size * len(group))
        groups.append(row)
    return groups, [sum(column, Fraction(0)) / len(groups) for column in zip(*groups, strict=True)]


def _denominator(
    groups: list[list[Fraction]], mean: list[Fraction], comparisons: list[Comparison], sizes: Indices
) -> int:
    if len(comparisons) == 1:
        own, other = (int(sizes[list(cells)].sum()) for cells in (comparisons[0].positive, comparisons[0].negative))
        return 2 * own * other
    return lcm(*(part.denominator for row in (*groups, mean) for part in row))


# Fractions -----------------------------------------------------------------------------------------------------------


def _table(contrast: Contrast, sizes: Indices, min_observed: float) -> FractionTable:
    comparisons = [one for group in contrast.groups for one in group]
    sides = [side for one in comparisons for side in (one.positive, one.negative)]
    sides += [tuple(contrast.positive), tuple(contrast.negative)]
    exact = len(comparisons) == 1 or (contrast.aggregate == "min" and len(comparisons) == len(contrast.groups))
    totals = [int(sizes[list(side)].sum()) for side in sides[-2:]]
    return FractionTable(
        members=np.array([cell for side in sides for cell in side], dtype=np.intp),
        bounds=np.cumsum([0, *map(len, sides)], dtype=np.intp),
        groups=np.cumsum([0, *map(len, contrast.groups)], dtype=np.intp),
        least=np.array([max(1, _least_numerator(min_observed, total)) for total in totals], dtype=np.intp),
        take_least=contrast.aggregate == "min",
        bits=KEY_BITS if exact else KEY_BITS - 1 - len(comparisons).bit_length(),
        rounded=KEY_BITS if exact else ROUNDED_BITS,
    )


def _rank_differences(contrast: Contrast, codes: SignCodes, bits: int) -> Array:
    """Mean of mean_A(R_j) − mean_B(R_j) over the groups with both, in units of 2^−bits; 0 for a feature without any."""
    total, valid = np.zeros((2, len(codes.codes)), dtype=np.int64)
    for group in contrast.groups:
        own, found = np.zeros((2, len(codes.codes)), dtype=np.int64)
        for one in group:
            (n_own, s_own), (n_other, s_other) = (
                (codes.observed[list(cells)].sum(axis=0), codes.rank_sums[list(cells)].sum(axis=0))
                for cells in (one.positive, one.negative)
            )
            both = (n_own > 0) & (n_other > 0)
            scale = np.where(both, 2 * n_own * n_other, 1)
            own += np.where(both, _cut(s_own * n_other - s_other * n_own, scale, bits), 0)
            found += both
        total += _quotient(own, found)
        valid += found > 0
    return _quotient(total, valid)


def _cut(numerators: Array, denominators: Array, bits: int) -> Array:
    """Quotients in units of 2^−bits, without the fractional part of their size."""
    whole, rest = np.divmod(np.abs(numerators), denominators)
    left = bits
    while left:
        step = min(left, 15)
        digit, rest = np.divmod(rest << step, denominators)
        whole, left = (whole << step) + digit, left - step
    return np.sign(numerators) * whole


def _quotient(values: Array, counts: Array) -> Array:
    return np.sign(values) * (np.abs(values) // np.maximum(counts, 1))
