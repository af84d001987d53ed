"""Kernels on the values of vectors: linear, polynomial and Gaussian, the baselines of the papers."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from distkern.compiled.products import inner_products, mirror_upper, row_squares, squared_distances
from distkern.core.errors import InputError, SampleError
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names, name_of, refuse_infinite, refuse_nan
from distkern.io.source import as_source
from distkern.kernels.base import Kernel, Prepared, whole_power
from distkern.kernels.parameters import check_number, check_whole
from distkern.kernels.planning import bytes_per_tile

MEDIAN_SAMPLES = 1000
"""Most samples whose pairs determine the median bandwidth."""

CHECKED_BYTES = 2**20
"""Bytes of samples whose squares are computed at a time in a check."""

SMALL, LARGE = 2.0**-500, 2.0**500
"""Numbers between them can be squared without loss of digits."""


@dataclass(frozen=True)
class VectorKernel(Kernel):
    """A kernel of finite vectors that is a function of inner products, with the same bits in every tile."""

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Keep the values, and compute their squared norms."""
        values = np.ascontiguousarray(X, dtype=np.float64)
        return Prepared({"values": values, "squares": row_squares(values)}, start)

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples with missing or infinite values, or with values whose squares floating point cannot hold."""
        refuse_nan(X, ids, features)
        refuse_infinite(X, ids, features)
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.asarray(X, dtype=np.float64)
            height = max(1, CHECKED_BYTES // (8 * max(1, values.shape[1])))
            parts = [self._norms(values[start : start + height]) for start in range(0, len(values), height)]
            wrong = np.flatnonzero(~np.isfinite(np.concatenate([np.zeros(0), *parts])))
        if len(wrong):
            row = int(wrong[0])
            raise SampleError(
                "sample {sample} has values of up to {largest:.3g}, too large for {kernel!r}: k(x, x) or a squared "
                "distance is beyond what float64 holds; scale the data down",
                row,
                sample=name_of(row, ids),
                largest=float(np.abs(X[row]).max()),
                kernel=self,
            )

    def _norms(self, X: Floats) -> Floats:
        """Numbers that must be finite for each sample, k(x, x) by default."""
        return self.diagonal(self.prepare(X))


@bytes_per_tile.register
def _(kernel: VectorKernel, a: int, b: int, n: int) -> int:
    """Bytes of the padded product and its operands' current features, the result and two intermediates."""
    return 32 * a * b + 8 * (a + 128) * (b + 128) + 8 * 1024 * (a + b + 256)


def inner(A: Prepared, B: Prepared) -> Floats:
    """⟨x, y⟩ of two blocks with ``values`` and ``squares``."""
    A.refuse_unlike(B)
    values = inner_products(A.arrays["values"], B.arrays["values"], A.start, B.start)
    if A is B:
        np.fill_diagonal(mirror_upper(values), A.arrays["squares"])
    return values


def _squared_distances(A: Prepared, B: Prepared) -> Floats:
    A.refuse_unlike(B)
    a, b = A.arrays, B.arrays
    distances = squared_distances(a["values"], b["values"], a["squares"], b["squares"], A.start, B.start)
    return mirror_upper(distances) if A is B else distances


def _exponent(size: float) -> int:
    """Power of two by which numbers of this size are divided before they are squared; 0 unless they need it."""
    return 0 if size == 0 or SMALL <= size <= LARGE else int(np.frexp(float(size))[1])


def _divided(A: Prepared, exponent: int) -> Prepared:
    """A block whose values are divided by 2^exponent, which changes no digit."""
    values = np.ldexp(A.arrays["values"], -exponent)
    return Prepared({"values": values, "squares": row_squares(values)}, A.start)


@dataclass(frozen=True)
class Linear(VectorKernel):
    """k(x, y) = ⟨x, y⟩.

    Source: the linear baseline of Jiao & Vert, section 6.

    Raises
    ------
    SampleError
        If a sample holds NaN or an infinite value; the message names it.

    See Also
    --------
    Polynomial : Its powers.
    Gaussian : A kernel of distances.
    sklearn.metrics.pairwise.linear_kernel : The same for arrays.

    Notes
    -----
    Samples are rows (m, n) of finite values; the kernel has their unit squared. O(n) per pair.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    has_zero: ClassVar[bool] = True

    name: ClassVar[str] = "linear"

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        return inner(A, B)

    def diagonal(self, A: Prepared) -> Floats:
        """‖x‖² of each prepared sample."""
        return A.arrays["squares"].copy()


@dataclass(frozen=True)
class Polynomial(VectorKernel):
    """k(x, y) = (⟨x, y⟩ + c)^d.

    Source: the polynomial baseline of Jiao & Vert, section 6, homogeneous of degree 2 as in the defaults.

    Parameters
    ----------
    degree
        d, a whole number of 1 or more.
    coef0
        c ≥ 0.

    Raises
    ------
    SampleError
        If a sample holds NaN or an infinite value; the message names it.

    See Also
    --------
    Linear : Degree 1.
    Gaussian : A kernel of distances.
    sklearn.metrics.pairwise.polynomial_kernel : The same with another scale, for arrays.

    Notes
    -----
    Samples are rows (m, n) of finite values. O(n) per pair.

    Examples
    --------
    >>> Polynomial(degree=2, coef0=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    has_zero: ClassVar[bool] = True

    name: ClassVar[str] = "polynomial"
    degree: int = 2
    coef0: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self.degree, "degree")
        check_number(self.coef0, "coef0")

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        return whole_power(inner(A, B) + self.coef0, self.degree)

    def diagonal(self, A: Prepared) -> Floats:
        """(‖x‖² + c)^d of each prepared sample."""
        return whole_power(A.arrays["squares"] + self.coef0, self.degree)


@dataclass(frozen=True)
class Gaussian(VectorKernel):
    """k(x, y) = exp(−‖x − y‖² / (2 σ²)).

    Source: the radial baseline of Jiao & Vert, section 6, with the median distance as bandwidth.

    Parameters
    ----------
    sigma
        σ > 0, in the unit of the values; or ``"median"``: the median distance between two samples, over all pairs of
        the cohort or, above 1,000 samples, over the pairs of 1,000 drawn samples. The cohort is all samples that the
        matrix is computed for, so that σ also depends on samples that are held out later; it does not depend on any
        label. Give a number that comes from the training samples alone where that matters.

    Raises
    ------
    SampleError
        If a sample holds NaN or an infinite value, or values so large that their squares, in units of σ, are beyond
        what float64 holds; the message names it.
    InputError
        If ``sigma="median"`` and the median distance is zero.

    See Also
    --------
    Linear : Inner products.
    Polynomial : Powers of inner products.
    sklearn.metrics.pairwise.rbf_kernel : The same with γ = 1/(2σ²), for arrays.

    Notes
    -----
    Samples are rows (m, n) of finite values. O(n) per pair. A large common offset of the samples costs no
    digits: where ‖x‖² + ‖y‖² − 2⟨x, y⟩ would cancel, the distance is summed directly. Values lie in [0, 1].

    Examples
    --------
    >>> Gaussian(sigma=1.0)([[0.0, 0.0]], [[1.0, 1.0]])  # exp(-1)
    array([[0.36787944]])
    """

    name: ClassVar[str] = "gaussian"
    sigma: float | Literal["median"] = "median"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.sigma, str):
            check_number(self.sigma, "sigma", "more than 0")

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Turn ``sigma="median"`` into the median distance between two samples of the cohort."""
        if self.sigma != "median":
            return self
        source = as_source(X)
        m = source.shape[0]
        if m < 2:
            raise InputError('sigma="median" needs two samples or more: give sigma a number')
        chosen = np.arange(m)
        if m > MEDIAN_SAMPLES:
            chosen = np.sort(np.random.default_rng(seed).choice(m, MEDIAN_SAMPLES, replace=False))
        values = np.asarray(source.read(chosen), dtype=np.float64)
        self.check(values, None if source.ids is None else [source.ids[i] for i in chosen], source.features)
        exponent = _exponent(float(np.abs(values).max()))
        sample = self.prepare(np.ldexp(values, -exponent))
        upper = _squared_distances(sample, sample)[np.triu_indices(len(sample), 1)]
        median = float(np.ldexp(np.median(np.sqrt(upper)), exponent))
        if median == 0:
            raise InputError("the median distance between two samples is zero: give sigma a number")
        return dataclasses.replace(self, sigma=median)

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        sigma = self._number()
        exponent = _exponent(sigma)
        if exponent:  # squares of such numbers lose digits or overflow
            left, sigma = _divided(A, exponent), float(np.ldexp(sigma, -exponent))
            A, B = left, (left if B is A else _divided(B, exponent))
        return np.exp(_squared_distances(A, B) / (-2 * sigma**2))

    def diagonal(self, A: Prepared) -> Floats:
        """Ones."""
        return np.ones(len(A))

    def _norms(self, X: Floats) -> Floats:
        """Squared norms in units of a power of two near σ, where σ is far from 1."""
        if isinstance(self.sigma, str):
            return np.zeros(len(X))
        return row_squares(np.ldexp(X, -_exponent(self.sigma)))

    def _number(self) -> float:
        if isinstance(self.sigma, str):
            raise InputError('sigma="median" depends on the cohort: call resolve(X) first, or give sigma a number')
        return self.sigma
