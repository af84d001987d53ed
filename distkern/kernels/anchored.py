"""Kernels relative to a reference point, without the digits that a common offset of the points costs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from distkern.core.errors import InputError, InputTypeError
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names
from distkern.kernels.base import Kernel, Prepared
from distkern.kernels.trust import draw_samples
from distkern.kernels.vectors import Linear, Polynomial, VectorKernel, inner

MOST_TERMS = 32
"""Highest degree of a polynomial kernel that is expanded around a reference point."""


@dataclass(frozen=True)
class Anchored(VectorKernel):
    """k(x, y) = ⟨φ(x) − φ(z), φ(y) − φ(z)⟩ for the features φ of a linear or polynomial kernel κ and a point z.

    This is κ(x, y) − κ(x, z) − κ(z, y) + κ(z, z). Where x, y and z are far from 0 and near each other, these four
    numbers agree in many digits, and their sum has none of them. So k is computed from u = x − z and v = y − z. With
    s = ⟨z, z⟩ + c, p = ⟨u, z⟩, q = ⟨v, z⟩ and r = ⟨u, v⟩ it is r for the linear kernel, and for the polynomial one

    Σ_{k=1}^{d} C(d, k) s^(d−k) [(p + q + r)^k − p^k − q^k], with each bracket expanded.

    `KernelIGV` and `KernelBhattacharyya` depend on differences of features only, so that they have the same values on
    this kernel as on κ. They choose it, and z, where the points of a cohort are far from 0.

    Parameters
    ----------
    base
        κ: ``Linear()`` or ``Polynomial(…)`` of degree 32 at most.
    point
        z, (n,).

    Raises
    ------
    InputError
        If κ is another kernel, or the samples have another number of features than z.

    Examples
    --------
    >>> Anchored(Linear(), (1e8, 0.0))([[1e8 + 1, 2.0]])
    array([[5.]])
    >>> Anchored(Polynomial(2), (1.0,))([[2.0]], [[3.0]])  # 6² − 2² − 3² + 1
    array([[24.]])
    """

    name: ClassVar[str] = "anchored"
    base: Kernel = field(default_factory=Linear)
    point: tuple[float, ...] = (0.0,)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not can_be_anchored(self.base):
            raise InputTypeError(f"base must be Linear() or a Polynomial of degree {MOST_TERMS} at most: {self.base!r}")

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples with values that are not finite or too large, or with another number of features than z."""
        if X.shape[1] != len(self.point):
            raise InputError(f"the samples have {X.shape[1]} features and the reference point has {len(self.point)}")
        super().check(X, ids, features)

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Subtract the point; compute squared norms, and the inner products with the point."""
        arrays = dict(super().prepare(np.asarray(X, dtype=np.float64) - np.array(self.point), start).arrays)
        arrays["along"] = (arrays["values"] * np.array(self.point)).sum(axis=1)
        return Prepared(arrays, start)

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        return self._expanded(inner(A, B), A.arrays["along"][:, None], B.arrays["along"])

    def diagonal(self, A: Prepared) -> Floats:
        """k(x, x) of each prepared sample."""
        along = A.arrays["along"]
        return self._expanded(A.arrays["squares"].copy(), along, along)

    def _expanded(self, r: Floats, p: Floats, q: Floats) -> Floats:
        if not isinstance(self.base, Polynomial):
            return r
        d, t = self.base.degree, p + q
        s = math.fsum(value * value for value in self.point) + self.base.coef0
        total = np.zeros(np.shape(r))
        for k in range(1, d + 1):
            rest = sum((t + r) ** i * t ** (k - 1 - i) for i in range(k))  # ((t + r)^k − t^k) / r
            mixed = sum(math.comb(k, j) * (p**j * q ** (k - j) + p ** (k - j) * q**j) / 2 for j in range(1, k))
            total += math.comb(d, k) * s ** (d - k) * (r * rest + mixed)
        return total


def can_be_anchored(kernel: Kernel) -> bool:
    """Whether `Anchored` can have this base kernel."""
    polynomial = isinstance(kernel, Polynomial) and kernel.degree <= MOST_TERMS
    return type(kernel) is Linear or polynomial


@draw_samples.register
def _(kernel: Anchored, n: int) -> Iterator[Array]:
    """Samples of the base kernel, none of another number of features than the point has."""
    if len(kernel.point) == n:
        yield from draw_samples(kernel.base, n)
