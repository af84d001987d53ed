"""The algebra of kernels: sums, products, multiples, powers and the unit-norm form."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distkern.core.errors import InputError, InputTypeError, SampleError
from distkern.core.typing import Array, Floats
from distkern.core.validation import Names, name_of
from distkern.kernels.base import Kernel, Prepared


def _operands(A: Prepared, B: Prepared, prefix: str) -> tuple[Prepared, Prepared]:
    left = A.under(prefix)
    return left, (left if B is A else B.under(prefix))


def _is_kernel(value: Any, where: str) -> None:
    if not isinstance(value, Kernel):
        raise InputTypeError(f"{where} takes kernels, such as Kendall(); got {value!r}")


@dataclass(frozen=True)
class _Pair(Kernel):
    """Two kernels joined entry by entry."""

    left: Kernel
    right: Kernel
    join: ClassVar[Callable[[Floats, Floats], Floats]]

    def __post_init__(self) -> None:
        _is_kernel(self.left, type(self).__name__)
        _is_kernel(self.right, type(self).__name__)

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Do the once-per-sample work of both operands."""
        left, right = self.left.prepare(X, start), self.right.prepare(X, start)
        arrays = {f"left.{name}": array for name, array in left.arrays.items()}
        return Prepared(arrays | {f"right.{name}": array for name, array in right.arrays.items()}, start)

    def drawn(self, count: int, n: int) -> Array:
        """Samples to measure the kernel on, that both operands take."""
        X = self.left.drawn(count, n)
        try:
            self.right.check(X)
        except InputError:
            return self.right.drawn(count, n)
        return X

    def is_sound(self, A: Prepared) -> bool:
        """Whether each operand can compute with what it has prepared."""
        return self.left.is_sound(A.under("left.")) and self.right.is_sound(A.under("right."))

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        return type(self).join(self.left.tile(*_operands(A, B, "left.")), self.right.tile(*_operands(A, B, "right.")))

    def diagonal(self, A: Prepared) -> Floats:
        """k(x, x) of each prepared sample."""
        return type(self).join(self.left.diagonal(A.under("left.")), self.right.diagonal(A.under("right.")))

    def bytes_per_tile(self, a: int, b: int, n: int) -> int:
        """Bytes of one operand's tile held while the other is computed, and the result."""
        return 8 * a * b + max(self.left.bytes_per_tile(a, b, n), 8 * a * b + self.right.bytes_per_tile(a, b, n))

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples that one of the operands refuses."""
        self.left.check(X, ids, features)
        self.right.check(X, ids, features)

    @property
    def takes_sparse(self) -> bool:
        """Whether both operands do."""
        return self.left.takes_sparse and self.right.takes_sparse

    @property
    def takes_bags(self) -> bool:
        """Whether both operands do."""
        return self.left.takes_bags and self.right.takes_bags

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Resolve both operands."""
        return dataclasses.replace(self, left=self.left.resolve(X, seed), right=self.right.resolve(X, seed))


@dataclass(frozen=True)
class Sum(_Pair):
    """k(x, y) = k₁(x, y) + k₂(x, y); written ``k1 + k2``.

    Examples
    --------
    >>> from distkern import Linear
    >>> (Linear() + Linear())([[1.0, 2.0]])
    array([[10.]])
    """

    name: ClassVar[str] = "sum"
    join: ClassVar[Callable[[Floats, Floats], Floats]] = np.add


@dataclass(frozen=True)
class Product(_Pair):
    """k(x, y) = k₁(x, y) · k₂(x, y), positive semidefinite by Schur's theorem; written ``k1 * k2``.

    Examples
    --------
    >>> from distkern import Linear
    >>> (Linear() * Linear())([[1.0, 2.0]])
    array([[25.]])
    """

    name: ClassVar[str] = "product"
    join: ClassVar[Callable[[Floats, Floats], Floats]] = np.multiply


@dataclass(frozen=True)
class _Transformed(Kernel):
    """One kernel whose values are transformed entry by entry."""

    base: Kernel

    def __post_init__(self) -> None:
        _is_kernel(self.base, type(self).__name__)

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Do the once-per-sample work of the base kernel."""
        return self.base.prepare(X, start)

    def drawn(self, count: int, n: int) -> Array:
        """Samples to measure the base kernel on."""
        return self.base.drawn(count, n)

    def is_sound(self, A: Prepared) -> bool:
        """Whether the base kernel can compute with it."""
        return self.base.is_sound(A)

    def bytes_per_tile(self, a: int, b: int, n: int) -> int:
        """Bytes of the base kernel's tile and of the transformed one."""
        return self.base.bytes_per_tile(a, b, n) + 16 * a * b

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples that the base kernel refuses."""
        self.base.check(X, ids, features)

    @property
    def takes_sparse(self) -> bool:
        """Whether the base kernel does."""
        return self.base.takes_sparse

    @property
    def takes_bags(self) -> bool:
        """Whether the base kernel does."""
        return self.base.takes_bags

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Resolve the base kernel."""
        return dataclasses.replace(self, base=self.base.resolve(X, seed))


@dataclass(frozen=True)
class Scaled(_Transformed):
    """k(x, y) = c · k₁(x, y) with c > 0; written ``c * k1``.

    Examples
    --------
    >>> from distkern import Linear
    >>> (2.0 * Linear())([[1.0, 2.0]])
    array([[10.]])
    """

    name: ClassVar[str] = "scaled"
    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.factor < np.inf:
            raise InputError(f"a kernel can be multiplied by a positive finite number only, not {self.factor!r}")

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        return self.factor * self.base.tile(A, B)

    def diagonal(self, A: Prepared) -> Floats:
        """k(x, x) of each prepared sample."""
        return self.factor * self.base.diagonal(A)


@dataclass(frozen=True)
class Power(_Transformed):
    """k(x, y) = k₁(x, y)^p with a whole p ≥ 1, positive semidefinite by Schur's theorem; written ``k1 ** p``.

    Examples
    --------
    >>> from distkern import Linear
    >>> (Linear() ** 2)([[1.0, 2.0]])
    array([[25.]])
    """

    name: ClassVar[str] = "power"
    exponent: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.exponent, (int, np.integer)) or self.exponent < 1:
            raise InputError(f"a kernel can be raised to a whole power of 1 or more only, not {self.exponent!r}")

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        return whole_power(self.base.tile(A, B), self.exponent)

    def diagonal(self, A: Prepared) -> Floats:
        """k(x, x) of each prepared sample."""
        return whole_power(self.base.diagonal(A), self.exponent)


@dataclass(frozen=True)
class Normalized(_Transformed):
    """k(x, y) = k₁(x, y) / sqrt(k₁(x, x) k₁(y, y)); written ``k1.normalized()``.

    Examples
    --------
    >>> from distkern import Linear
    >>> Linear().normalized()([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """

    name: ClassVar[str] = "normalized"

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        norms_a, norms_b = np.sqrt(self.base.diagonal(A)), np.sqrt(self.base.diagonal(B))
        values = self.base.tile(A, B) / np.multiply.outer(norms_a, norms_b)
        if A is B:
            np.fill_diagonal(values, 1.0)
        return values

    def diagonal(self, A: Prepared) -> Floats:
        """Ones."""
        return np.ones(len(A))

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples that the base kernel refuses, and those it maps to zero."""
        super().check(X, ids, features)
        null = ~(self.base.diagonal(self.base.prepare(X)) > 0)
        if null.any():
            row = int(np.flatnonzero(null)[0])
            raise SampleError(f"sample {name_of(row, ids)} has k(x, x) = 0, so it cannot be scaled to norm 1", row)


def whole_power(values: Floats, exponent: int) -> Floats:
    """Raise to a whole power by multiplications in one fixed order, the same on every machine."""
    result = values
    for bit in bin(exponent)[3:]:
        result = result * result
        if bit == "1":
            result = result * values
    return result
