"""What a kernel sees of a sample: a vector with an entry for each pair of features, for the kernels that have one.

Such a kernel is k(x, y) = Σ_{i<j} φ_ij(x) φ_ij(y) with φ_ij(x) = g(x) e_ij(x), where g(x) is the scale of a sample, and
e_ij(x) = −e_ji(x) tells how far feature i is above feature j in x: the sign of x_i − x_j for Kendall's kernels, an
expected sign where ranks or values are uncertain. So a function Σ_s c_s k(x_s, x) is a weighted sum over the pairs. The
vectors have n(n−1)/2 entries and are never stored: entries are computed for the pairs that are asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from typing import ClassVar

import numpy as np

from distkern.compiled.inversions import rank
from distkern.compiled.pair_numbers import fill_signs
from distkern.compiled.panels import STEP, WIDTH, empty_panels, panels
from distkern.compiled.partial import ABSENT
from distkern.compiled.sign_sums import LIMIT, add_products, arrange, sign_sums, sign_tables
from distkern.compiled.smoothed import Signs
from distkern.core.errors import InputError
from distkern.core.typing import Array, Floats, Indices
from distkern.core.validation import Names
from distkern.kernels.base import Kernel, Normalized, Pair, Prepared, Scaled
from distkern.kernels.incomplete import Incomplete
from distkern.kernels.kendall import Concordance, Kendall, total_pairs
from distkern.kernels.mallows import Mallows
from distkern.kernels.pair_agreement import PairAgreement
from distkern.kernels.partial import PartialKendall, arranged
from distkern.kernels.smoothed import SmoothedKendall
from distkern.kernels.weighted import WeightedKendall

TileSums = Callable[[slice, slice], Floats]
"""Σ_s c_s e_ij(x_s) for the features i and j of two slices, (machines, rows, cols)."""


@dataclass(frozen=True)
class Embedding(ABC):
    """The entries e_ij of some samples, and their scales.

    Parameters
    ----------
    scales
        g(x) of each sample, (m,).
    unit
        The scale that all samples have by the definition of the kernel; 1 if each has its own.
    """

    value_bytes: ClassVar[int] = 48
    """Most bytes that each value of a prepared sample takes while sums of its entries are made."""

    scales: Floats
    unit: float

    def __len__(self) -> int:
        return len(self.scales)

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of features."""

    @abstractmethod
    def entries(self, first: Indices, second: Indices) -> Floats:
        """e_ij(x) of all samples x and the pairs (i, j) of two lists of features, (m, pairs)."""

    def tile(self, rows: slice, cols: slice) -> Floats:
        """e_ij(x) for all features i and j of two slices, (m, rows, cols)."""
        i, j = np.arange(rows.start, rows.stop), np.arange(cols.start, cols.stop)
        flat = self.entries(np.repeat(i, len(j)), np.tile(j, len(i)))
        return flat.reshape(len(self), len(i), len(j))

    def sums(self, coefficients: Floats) -> TileSums:
        """Prepare Σ_s c_s e_ij(x_s) for tiles of pairs, for coefficients (m, machines)."""
        coefficients = np.ascontiguousarray(coefficients)

        def of_tile(rows: slice, cols: slice) -> Floats:
            out = np.zeros((coefficients.shape[1], rows.stop - rows.start, cols.stop - cols.start))
            second = np.arange(cols.start, cols.stop)
            for row in range(rows.start, rows.stop):
                row_sums = np.zeros((len(out), len(second)))
                add_products(coefficients, self.entries(np.full(len(second), row), second), row_sums)
                out[:, row - rows.start] = row_sums
            return out

        return of_tile


@dataclass(frozen=True)
class SignEmbedding(Embedding):
    """e_ij(x) = sgn(x_i − x_j), from the dense ranks (m, n) of the features in each sample."""

    value_bytes: ClassVar[int] = 8

    codes: Array

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.codes.shape[1]

    def entries(self, first: Indices, second: Indices) -> Floats:
        """Signs of the pairs."""
        return _signs(self.codes, first, second)

    def tile(self, rows: slice, cols: slice) -> Floats:
        """Signs of a tile."""
        out = np.empty((len(self), rows.stop - rows.start, cols.stop - cols.start))
        for codes, signs in zip(self.codes, out, strict=True):
            fill_signs(codes, rows.start, cols.start, signs)
        return out

    def sums(self, coefficients: Floats) -> TileSums:
        """Prepare sums that look up the signs of eight samples at a time."""
        highest = self.codes.max(axis=1, initial=0)
        if len(self) == 0 or highest.max() >= LIMIT:
            return super().sums(coefficients)
        codes = arrange(self.codes)
        tables = sign_tables(np.asarray(coefficients), highest + 1 < self.n_features)
        return lambda rows, cols: sign_sums(codes, tables, rows, cols)


@dataclass(frozen=True)
class PartialEmbedding(Embedding):
    """e_ij(x) = E sgn(σ(i) − σ(j)) over the rankings σ compatible with a partial ranking.

    Parameters
    ----------
    levels
        Number that orders the observed items, `ABSENT` for the others, (m, n).
    above
        e_ij where i is observed and j is not, and 0 where i is not observed, (m, n).
    """

    levels: Array
    above: Floats

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.levels.shape[1]

    def entries(self, first: Indices, second: Indices) -> Floats:
        """Expected signs of the pairs."""
        seen = (self.levels[:, first] != ABSENT) & (self.levels[:, second] != ABSENT)
        one_seen = self.above[:, first] - self.above[:, second]
        return np.where(seen, _signs(self.levels, first, second), one_seen)


@dataclass(frozen=True)
class WeightedEmbedding(Embedding):
    """e_ij(x) = w_ij(x) sgn(x_i − x_j), where w_ij is the sum or the product of the weights of two items.

    Parameters
    ----------
    codes
        Dense ranks from the most preferred item, (m, n).
    weights
        Weight of each item in each sample, (m, n).
    additive
        Whether w_ij is the sum.
    """

    codes: Array
    weights: Floats
    additive: bool

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.codes.shape[1]

    def entries(self, first: Indices, second: Indices) -> Floats:
        """Weighted signs of the pairs."""
        one, other = self.weights[:, first], self.weights[:, second]
        return (one + other if self.additive else one * other) * _signs(self.codes, second, first)


@dataclass(frozen=True)
class SmoothedEmbedding(Embedding):
    """e_ij(x) = E sgn(x_i + ε_i − x_j − ε_j).

    Parameters
    ----------
    values
        The samples, (m, n).
    signs
        Expected signs of blocks of pairs.
    """

    values: Floats
    signs: Signs

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.values.shape[1]

    def entries(self, first: Indices, second: Indices) -> Floats:
        """Expected signs of the pairs."""
        out, samples = np.empty((len(self), len(first))), self._panels
        block = empty_panels(len(samples) * WIDTH, STEP)
        for start in range(0, len(first), STEP):
            count = min(STEP, len(first) - start)
            i, j = np.zeros((2, STEP), dtype=np.intp)  # the last block is filled up with pairs (0, 0)
            i[:count], j[:count] = first[start : start + count], second[start : start + count]
            self.signs(i, j)(samples, block)
            lanes = block.transpose(0, 2, 1).reshape(-1, STEP)
            out[:, start : start + count] = lanes[: len(self), :count]
        return out

    @cached_property
    def _panels(self) -> Floats:
        return panels(self.values)


def _signs(values: Array, first: Indices, second: Indices) -> Floats:
    one, other = values[:, first], values[:, second]
    return np.subtract(one > other, one < other, dtype=np.float64)


# Kernels -------------------------------------------------------------------------------------------------------------


@singledispatch
def embed(kernel: Kernel, samples: Prepared) -> Embedding:
    """φ of samples that a kernel has prepared; a kernel without an exact one is refused.

    Parameters
    ----------
    kernel
        Kernel with all data-dependent parameters fixed. A kernel of your own registers its embedding:
        ``@embed.register``.
    samples
        Samples that it has prepared.

    Raises
    ------
    InputError
        If the kernel is no sum over pairs of features, or only by an approximation; it says what to do instead.

    Examples
    --------
    >>> kernel = Kendall(ties="b")
    >>> found = embed(kernel, kernel.prepare(np.array([[3.0, 1.0, 1.0]])))
    >>> found.entries(np.array([0, 1, 2]), np.array([1, 2, 0])), (found.scales**2).round(3)
    (array([[ 1.,  0., -1.]]), array([0.5]))
    """
    raise InputError(
        f"{kernel!r} is no sum over pairs of features, so that a pair has no weight in its machines: explanations are "
        "for Kendall, PartialKendall, SmoothedKendall and WeightedKendall, their multiples and .normalized()"
    )


@embed.register
def _(kernel: Kendall, samples: Prepared) -> Embedding:
    codes = _dense_codes(samples)
    if kernel.ties == "b":
        return SignEmbedding(1 / np.sqrt(samples.arrays["untied"].astype(np.float64)), 1.0, codes)
    return SignEmbedding(*_alike(samples, total_pairs(samples)), codes)


@embed.register
def _(kernel: Concordance, samples: Prepared) -> Embedding:
    return SignEmbedding(*_alike(samples, 1), _dense_codes(samples))


@embed.register
def _(kernel: PartialKendall, samples: Prepared) -> Embedding:
    order, balance, observed, last = arranged(samples)
    m, n = order.shape
    items, seen = order.astype(np.intp), np.arange(n) < observed[:, None]
    share = np.where(last[:, None] != 0, 1.0, balance / (observed[:, None] + 1.0))
    levels, above = np.empty((m, n), dtype=np.int32), np.empty((m, n))
    np.put_along_axis(levels, items, np.where(seen, balance, ABSENT).astype(np.int32), axis=1)
    np.put_along_axis(above, items, np.where(seen, share, 0.0), axis=1)
    return PartialEmbedding(*_alike(samples, n * (n - 1) // 2), levels, above)


@embed.register
def _(kernel: WeightedKendall, samples: Prepared) -> Embedding:
    if kernel.weights == "average":
        raise InputError(
            'WeightedKendall(weights="average") is a mean of kernels, each with weights of its own for every pair: '
            'explain a machine of weights="top", "additive" or "multiplicative"'
        )
    arrays, additive = samples.arrays, kernel.weights == "additive"
    return WeightedEmbedding(*_alike(samples, 1), arrays["codes"], arrays["weights"], additive)


@embed.register
def _(kernel: SmoothedKendall, samples: Prepared) -> Embedding:
    if kernel.method != "exact":
        raise InputError(
            "SmoothedKendall(method='monte-carlo') estimates its values, so that the parts would not add up to the "
            "decision value: fit the model with method='exact'"
        )
    values = samples.arrays["values"]
    n = values.shape[1]
    return SmoothedEmbedding(*_alike(samples, n * (n - 1) // 2), values, kernel.expected_signs(n))


@embed.register
def _(kernel: Scaled, samples: Prepared) -> Embedding:
    base, factor = embed(kernel.base, samples), np.sqrt(kernel.factor)
    return replace(base, scales=base.scales * factor, unit=base.unit * float(factor))


@embed.register
def _(kernel: Normalized, samples: Prepared) -> Embedding:
    base = embed(kernel.base, samples)
    return replace(base, scales=base.scales / np.sqrt(kernel.base.diagonal(samples)), unit=1.0)


@embed.register
def _(kernel: Mallows, samples: Prepared) -> Embedding:
    raise InputError(
        f"{kernel!r} is no sum over pairs of features: it gives weights to sets of pairs, and none to a pair alone. "
        "Fit the model on Kendall's kernel, whose values the store of a Mallows kernel holds too"
    )


@embed.register
def _(kernel: PairAgreement, samples: Prepared) -> Embedding:
    raise InputError(
        f"{kernel!r} has weights for its chosen pairs alone: fit a linear model on the signs that TopPairs makes of "
        "them, whose coefficients are the weights"
    )


@embed.register
def _(kernel: Pair, samples: Prepared) -> Embedding:
    raise InputError(
        f"a sum or a product of kernels, such as {kernel!r}, is no sum over pairs of features with one entry for each: "
        "fit a model on one of its kernels, and explain that"
    )


def embed_incomplete(kernel: Kernel, X: Floats, ids: Names = None) -> Embedding:
    """φ of samples (k, n) of which some features, NaN, are not observed, as `Incomplete` compares them.

    Raises
    ------
    InputError
        If the kernel is not Kendall's.
    SampleError
        If a sample orders no two features; it is named.

    Examples
    --------
    >>> found = embed_incomplete(Kendall(), np.array([[3.0, 1.0, np.nan]]))
    >>> found.entries(np.array([0, 0, 1]), np.array([1, 2, 2])).round(3), found.scales.round(3)
    (array([[ 1.   ,  0.333, -0.333]]), array([0.905]))
    """
    partial = PartialKendall()
    scales = Incomplete(kernel).scales(X, ids)
    return replace(embed(partial, partial.prepare(X)), scales=scales, unit=1.0)


def _alike(samples: Prepared, divisor: int) -> tuple[Floats, float]:
    """Scales 1 / sqrt(divisor) of all samples, and that number."""
    unit = 1 / np.sqrt(divisor)
    return np.full(len(samples), unit), float(unit)


def _dense_codes(samples: Prepared) -> Array:
    """Dense ranks (m, n) of samples, also of those that were prepared without their zeros."""
    if not samples.is_sparse:
        return samples.arrays["codes"]
    arrays, n = samples.arrays, int(samples.arrays["features"][0])
    values = np.zeros((len(samples), n))
    for row, count in zip(range(len(samples)), arrays["nonzeros"], strict=True):
        values[row, arrays["places"][row, :count]] = arrays["scores"][row, :count]
    return rank(values)[1]
