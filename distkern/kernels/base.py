"""What every kernel is, a block of samples that it has prepared, and the algebra of kernels."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from distkern.core.errors import InputError, InputTypeError, SampleError
from distkern.core.typing import Array, Floats, Spec
from distkern.core.validation import Names, name_of, refuse_not_finite, warn_without_names
from distkern.io.source import as_source
from distkern.kernels.parameters import check_number, check_whole, set_plain_fields

SPARSE = 0.3
"""Samples are prepared without their zeros where at most this fraction of the values is nonzero."""

SPARSE_ARRAYS = frozenset({"places", "scores", "nonzeros", "balance", "untied", "features"})
"""Arrays of samples prepared without their zeros; a block that has all of them, under one prefix, is sparse."""

PADDED, COUNTS = ("places", "scores"), ("features",)
"""Sparse arrays that are as wide as the fullest sample, and sparse arrays that hold the number of features."""

STRIP_BYTES = 2**23
"""Most bytes of dense values that are processed at a time."""


def strips(samples: int, features: int) -> Iterator[slice]:
    """Cut samples into runs whose dense values take a bounded number of bytes.

    Examples
    --------
    >>> [rows.stop for rows in strips(5, 2**19)]
    [2, 4, 5]
    """
    height = max(1, STRIP_BYTES // (8 * features))
    for start in range(0, samples, height):
        yield slice(start, min(start + height, samples))


@dataclass(frozen=True)
class Prepared:
    """A block of samples after the once-per-sample work of a kernel: sorted, ranked, squared.

    Parameters
    ----------
    arrays
        Named arrays whose first axis is the sample.
    start
        Position of the block's first sample in its cohort.
    """

    arrays: Mapping[str, Array]
    start: int = 0

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    def take(self, positions: Any) -> Prepared:
        """Select some samples of the block, as a new block."""
        return Prepared({name: array[positions] for name, array in self.arrays.items()})

    def part(self, first: int, stop: int) -> Prepared:
        """Select consecutive samples of the block; they keep their positions in the cohort."""
        return Prepared({name: array[first:stop] for name, array in self.arrays.items()}, self.start + first)

    def under(self, prefix: str) -> Prepared:
        """Select the arrays that one operand of a sum or product prepared."""
        chosen = {name.removeprefix(prefix): array for name, array in self.arrays.items() if name.startswith(prefix)}
        return Prepared(chosen, self.start)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    @property
    def is_sparse(self) -> bool:
        """Whether it was prepared from samples whose zeros are left out."""
        return bool(self._sparse_prefixes())

    def _sparse_prefixes(self) -> set[str]:
        prefixes = {name.removesuffix("places") for name in self.arrays if name.endswith("places")}
        return {prefix for prefix in prefixes if all(prefix + name in self.arrays for name in SPARSE_ARRAYS)}

    def layout(self) -> dict[str, tuple[Any, ...]]:
        """Types and shapes of the arrays: equal for two blocks of the same kernel and number of features.

        The arrays of sparse samples are as wide as the fullest sample of the block, so their width is left out and the
        number of features is taken instead.
        """
        prefixes = self._sparse_prefixes()
        padded, counts = ({prefix + name for prefix in prefixes for name in names} for names in (PADDED, COUNTS))
        return {
            name: (array.dtype, array.ndim if name in padded else array.shape[1:])
            + (tuple(array[:1].tolist()) if name in counts else ())
            for name, array in self.arrays.items()
        }

    def refuse_unlike(self, other: Prepared) -> None:
        """Refuse a block with another number of features, or one that another kernel has prepared.

        Raises
        ------
        InputError
            Before compiled code applies the indices of one block to the other.
        """
        if other is not self and other.layout() != self.layout():
            raise InputError(
                "the two prepared blocks are of unlike kernels or numbers of features: prepare both with this kernel, "
                "from samples with the same features"
            )


@dataclass(frozen=True)
class Kernel:
    """A positive semidefinite kernel with its hyperparameters: an immutable value.

    A new kernel is one class in one module: a frozen dataclass whose fields are the hyperparameters, with a ``name``,
    `prepare`, `tile` and `diagonal`, and with `check` and `resolve` where needed. The class needs no registration:
    `from_spec` finds it by its name. Three more things have defaults that rarely need to change: the methods of a
    family (`stored` to `check_summary`), the memory of a tile (`distkern.kernels.planning`) and the validation of
    stored blocks (`distkern.kernels.trust`).

    Calling a kernel computes in this process: ``kernel(X)`` is the Gram matrix of the rows of X, ``kernel(X, Y)`` the
    matrix between the rows of X and of Y. ``compute_gram`` does the same in tiles, on a cluster, into a store.

    See Also
    --------
    compute_gram : Its matrix, in a store.
    from_spec : The kernel that a description names.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class HistogramIntersection(Kernel):
    ...     name: ClassVar[str] = "histogram-intersection"
    ...
    ...     def prepare(self, X, start=0):
    ...         return Prepared({"values": np.asarray(X, dtype=np.float64)}, start)
    ...
    ...     def tile(self, A, B):
    ...         return np.minimum(A.arrays["values"][:, None], B.arrays["values"]).sum(axis=2)
    ...
    ...     def diagonal(self, A):
    ...         return A.arrays["values"].sum(axis=1)
    >>> HistogramIntersection()([[1, 2], [3, 0]])
    array([[3., 1.],
           [1., 3.]])
    """

    name: ClassVar[str] = ""
    collapses: ClassVar[bool] = False
    """Whether equal samples are computed once: only for exact kernels, whose values depend on the two samples alone."""

    has_zero: ClassVar[bool] = False
    """Whether k(x, x) = 0 is a sample like any other, the origin, and no sample without an order."""

    @property
    def directed(self) -> bool:
        """Whether samples are rankings whose largest values are the best, so that k(−x, −y) is another value."""
        return False

    @property
    def takes_sparse(self) -> bool:
        """Whether `check` and `prepare` also take a canonical SciPy CSR array of samples, with the same results."""
        return False

    @property
    def takes_bags(self) -> bool:
        """Whether samples are `Bags`."""
        return False

    __array_ufunc__ = None  # so that a NumPy number times a kernel is left to the kernel

    def __post_init__(self) -> None:
        """Turn parameters into plain Python values, and refuse those that are not of the type of their field.

        A subclass with a ``__post_init__`` of its own calls this one first.
        """
        set_plain_fields(self)

    # What an author writes -----------------------------------------------------------------------------------

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Do the once-per-sample work for samples in rows; ``start`` is the position of the first in its cohort."""
        raise InputTypeError(f"{type(self).__name__} is not a kernel itself: use one of its subclasses")

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values (len(A), len(B)) of two prepared blocks; ``A is B`` for a tile on the diagonal."""
        raise InputTypeError(f"{type(self).__name__} is not a kernel itself: use one of its subclasses")

    def diagonal(self, A: Prepared) -> Floats:
        """k(x, x) of each prepared sample."""
        raise InputTypeError(f"{type(self).__name__} is not a kernel itself: use one of its subclasses")

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples for which the kernel is not defined.

        Raises
        ------
        SampleError
            Names the first such sample.
        """

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Replace parameters that depend on the cohort, such as a median bandwidth, by numbers."""
        return self

    # What the author of a family writes: kernels that are functions of the same stored values ----------------

    def stored(self) -> Kernel:
        """Kernel whose values a store keeps for this one: another kernel where several are functions of its values."""
        return self

    @property
    def summary(self) -> tuple[str, ...]:
        """Names of the prepared arrays, one number per sample, that `from_stored` takes."""
        return ()

    def from_stored(self, values: Floats, rows: Mapping[str, Array], cols: Mapping[str, Array], n: int) -> Floats:
        """Values of this kernel from those of ``stored()``, entry by entry.

        Parameters
        ----------
        values
            Values of the stored kernel.
        rows, cols
            The summary arrays of the row and of the column samples, of shapes that broadcast to that of the values.
        n
            Number of features.
        """
        return values

    def check_summary(self, summary: Mapping[str, Array], ids: Names = None) -> None:
        """Refuse, by their summaries, stored samples for which this kernel is not defined."""

    # What all kernels share ----------------------------------------------------------------------------------

    def __call__(self, X: Any, Y: Any = None) -> Floats:
        """Kernel matrix between the rows of X and the rows of Y (X by default), computed in this process."""
        rows = as_source(X)
        cols = rows if Y is None else as_source(Y)
        rows = rows.selected(cols.features, "X")
        if rows.shape[1] != cols.shape[1] and not (rows.ragged and cols.ragged):
            raise InputError(f"X has {rows.shape[1]} features and Y has {cols.shape[1]}; they must be the same")
        if Y is not None and not cols.ragged:
            warn_without_names(cols.features, rows.features, "X")
        kernel = self.resolve(cols)
        A = prepare_source(kernel, rows)
        B = A if Y is None else prepare_source(kernel, cols, like=A)
        return finite_tile(kernel, A, B, rows.ids, cols.ids)

    def normalized(self) -> Kernel:
        """k(x, y) / sqrt(k(x, x) k(y, y)): every sample scaled to norm 1 in feature space."""
        return Normalized(self)

    def __add__(self, other: Any) -> Kernel:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        return Product(self, other) if isinstance(other, Kernel) else Scaled(self, other)

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Kernel:
        return Power(self, exponent)

    # Names and parameters ------------------------------------------------------------------------------------

    def spec(self) -> Spec:
        """Name and hyperparameters as JSON-ready values; `from_spec` builds the kernel from them.

        The spec of a kernel that is not part of distkern also has the name of its ``module``.
        """
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        reserved = fields.keys() & {"kernel", "module"}
        if reserved:
            raise InputError(f"{type(self).__name__} has a field {min(reserved)!r}, a reserved name: rename the field")
        where = {} if is_ours(type(self).__module__) else {"module": type(self).__module__}
        return {"kernel": self.name} | where | {name: _plain(value) for name, value in fields.items()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Hyperparameters by name; with ``deep`` also hyperparameters of the operands, as ``operand__name``."""
        params: dict[str, Any] = {}
        for field in dataclasses.fields(self):
            value = params[field.name] = getattr(self, field.name)
            if deep and isinstance(value, Kernel):
                params |= {f"{field.name}__{name}": inner for name, inner in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Return a copy with other hyperparameters; the kernel itself never changes.

        Raises
        ------
        InputError
            If the kernel has no parameter of that name.
        """
        names = {field.name for field in dataclasses.fields(self)}
        changes: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, deeper, inner = key.partition("__")
            if name not in names or (deeper and not isinstance(getattr(self, name), Kernel)):
                raise InputError(f"{type(self).__name__} has no parameter {key!r}; it has {sorted(self.get_params())}")
            if deeper:
                nested.setdefault(name, {})[inner] = value
            else:
                changes[name] = value
        for name, inner_params in nested.items():
            changes[name] = changes.get(name, getattr(self, name)).set_params(**inner_params)
        return dataclasses.replace(self, **changes)

    def __sklearn_clone__(self) -> Self:
        return self


def is_ours(module: str) -> bool:
    """Whether a module is part of distkern.

    Examples
    --------
    >>> is_ours("distkern.kernels.kendall"), is_ours("distkern_extras")
    (True, False)
    """
    return module.partition(".")[0] == "distkern"


def _plain(value: Any) -> Any:
    """Convert a hyperparameter to a JSON-ready value."""
    if isinstance(value, Kernel):
        return value.spec()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


# A whole cohort in this process ------------------------------------------------------------------------------------


def check_source(kernel: Kernel, source: Any) -> Array:
    """Read all samples of a source and check them; messages name them by their ids."""
    refuse_bags(kernel, source)
    X = source.read(slice(0, source.shape[0]))
    kernel.check(X, source.ids, source.features)
    return X


def prepare_source(kernel: Kernel, source: Any, like: Prepared | None = None) -> Prepared:
    """Read, check and prepare all samples of a source, without their zeros where the source is sparse.

    Parameters
    ----------
    like
        A prepared block whose layout, dense or sparse, the new one must have; by default it depends on the number of
        zeros.
    """
    sparse = kernel.takes_sparse and source.sparse if like is None else like.is_sparse
    if not sparse:
        return kernel.prepare(check_source(kernel, source))
    X = source.read_sparse(slice(0, source.shape[0]))
    if like is None and X.nnz > SPARSE * X.shape[0] * X.shape[1]:
        return kernel.prepare(check_source(kernel, source))
    kernel.check(X, source.ids, source.features)
    return kernel.prepare(X)


def finite_tile(kernel: Kernel, A: Prepared, B: Prepared, rows: Names = None, cols: Names = None) -> Floats:
    """Kernel values of two prepared blocks, all of them finite.

    Raises
    ------
    SampleError
        If a value is infinite or NaN, because sums or products were beyond what floating point holds; names its
        samples, whose names are ``rows`` and ``cols``.
    """
    if not (len(A) and len(B)):  # as of a machine without support vectors
        return np.zeros((len(A), len(B)))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        values = kernel.tile(A, B)
    refuse_not_finite(values, rows, cols, same=A is B)
    return values


def refuse_bags(kernel: Kernel, source: Any) -> None:
    """Refuse bags where the kernel compares vectors: it would take the rows of numbers that hold bags for vectors.

    Raises
    ------
    InputError
        If the samples are bags and the kernel does not take bags.
    """
    if source.ragged and getattr(kernel, "dimensions", None) == 0:
        raise InputError("the cohort has rows of counts, and these samples are bags: give rows of counts")
    if source.ragged and not kernel.takes_bags:
        raise InputError(
            f"the samples are bags and {kernel!r} compares vectors: use a kernel of bags, such as MeanMap({kernel!r})"
        )


# The algebra -------------------------------------------------------------------------------------------------------


def _operands(A: Prepared, B: Prepared, prefix: str) -> tuple[Prepared, Prepared]:
    left = A.under(prefix)
    return left, (left if B is A else B.under(prefix))


@dataclass(frozen=True)
class Pair(Kernel):
    """Two kernels joined entry by entry."""

    left: Kernel
    right: Kernel
    join: ClassVar[Callable[[Floats, Floats], Floats]]

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Do the once-per-sample work of both operands."""
        left, right = self.left.prepare(X, start), self.right.prepare(X, start)
        arrays = {f"left.{name}": array for name, array in left.arrays.items()}
        return Prepared(arrays | {f"right.{name}": array for name, array in right.arrays.items()}, start)

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        return type(self).join(self.left.tile(*_operands(A, B, "left.")), self.right.tile(*_operands(A, B, "right.")))

    def diagonal(self, A: Prepared) -> Floats:
        """k(x, x) of each prepared sample."""
        return type(self).join(self.left.diagonal(A.under("left.")), self.right.diagonal(A.under("right.")))

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
class Sum(Pair):
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
class Product(Pair):
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
class Transformed(Kernel):
    """One kernel whose values are transformed entry by entry."""

    base: Kernel

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Do the once-per-sample work of the base kernel."""
        return self.base.prepare(X, start)

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
class Scaled(Transformed):
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
        check_number(self.factor, "the factor of a kernel", "more than 0")

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        return self.factor * self.base.tile(A, B)

    def diagonal(self, A: Prepared) -> Floats:
        """k(x, x) of each prepared sample."""
        return self.factor * self.base.diagonal(A)


@dataclass(frozen=True)
class Power(Transformed):
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
        check_whole(self.exponent, "the exponent of a kernel")

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values of two prepared blocks."""
        return whole_power(self.base.tile(A, B), self.exponent)

    def diagonal(self, A: Prepared) -> Floats:
        """k(x, x) of each prepared sample."""
        return whole_power(self.base.diagonal(A), self.exponent)


@dataclass(frozen=True)
class Normalized(Transformed):
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
        with np.errstate(over="ignore", invalid="ignore"):
            squares = self.base.diagonal(self.base.prepare(X))
        refuse_not_finite(squares, ids)
        null = ~(squares >= np.finfo(np.float64).tiny)  # below it a number has fewer digits
        if null.any():
            row = int(np.flatnonzero(null)[0])
            raise SampleError(
                "sample {sample} has k(x, x) = {square:.3g}, so it cannot be scaled to norm 1: leave it out{small}",
                row,
                sample=name_of(row, ids),
                square=squares[row],
                small=", or scale its values up" if squares[row] > 0 else "",
            )


def whole_power(values: Floats, exponent: int) -> Floats:
    """Raise to a whole power by multiplications in one fixed order, the same on every machine."""
    result = values
    for bit in bin(exponent)[3:]:
        result = result * result
        if bit == "1":
            result = result * values
    return result
