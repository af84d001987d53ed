"""What every kernel is, and a block of samples that it has prepared."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from numbers import Real
from types import ModuleType
from typing import Any, ClassVar, Self

import numpy as np

from distkern.core.errors import InputError, InputTypeError, SampleError
from distkern.core.typing import Array, Floats, Spec
from distkern.core.validation import Names, refuse_other_features
from distkern.io.source import as_source
from distkern.kernels.timing import drawn_samples_seconds

SPARSE = 0.3
"""Samples are prepared without their zeros where at most this fraction of the values is not zero."""

FEATURE_BYTES = 64
"""Bytes of memory to have for each feature before `Kernel.could_have_prepared` is asked about a block of anybody's."""

TRIED = 4
"""Samples that are drawn until the kernel is defined for one of them."""

STRIP_BYTES = 2**23
"""Bytes of dense values looked at a time."""


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
        Number of the block's first sample in its cohort.
    """

    arrays: Mapping[str, Array]
    start: int = 0

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    def take(self, positions: Any) -> Prepared:
        """Select some samples of the block, as a block of their own."""
        return Prepared({name: array[positions] for name, array in self.arrays.items()})

    def part(self, first: int, stop: int) -> Prepared:
        """Cut a run of samples out of the block; they keep their numbers in the cohort."""
        return Prepared({name: array[first:stop] for name, array in self.arrays.items()}, self.start + first)

    def under(self, prefix: str) -> Prepared:
        """Select the arrays that one operand of a sum or product prepared."""
        chosen = {name.removeprefix(prefix): array for name, array in self.arrays.items() if name.startswith(prefix)}
        return Prepared(chosen, self.start)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    def layout(self) -> dict[str, tuple[Any, ...]]:
        """Types and shapes of its arrays, which those of another block of the same kernel and features have, too.

        Where zeros are left out, arrays are as wide as the fullest sample of the block, and only n is compared.
        """
        padded, counts = ("places", "scores"), "features"
        return {
            name: (array.dtype, array.ndim if name.endswith(padded) else array.shape[1:])
            + (tuple(array[:1].tolist()) if name.endswith(counts) else ())
            for name, array in self.arrays.items()
        }

    def refuse_unlike(self, other: Prepared) -> None:
        """Refuse another block that holds other features, or that another kernel has prepared.

        Raises
        ------
        InputError
            Before compiled code walks both blocks with the indices of one.
        """
        if other is not self and other.layout() != self.layout():
            raise InputError(
                "the two prepared blocks are of unlike kernels or numbers of features: prepare both with this kernel, "
                "from samples with the same features"
            )

    @property
    def is_sparse(self) -> bool:
        """Whether it was prepared from samples whose zeros are left out."""
        return any(name.endswith("places") for name in self.arrays)


@dataclass(frozen=True)
class Kernel:
    """A positive semidefinite kernel with its hyperparameters: an immutable value.

    A subclass is a frozen dataclass whose fields are the hyperparameters; it gives ``name``, ``prepare``, ``tile`` and
    ``diagonal``, and ``check`` where not every sample will do.

    Calling a kernel computes in this process: ``kernel(X)`` is the Gram matrix of the rows of X, ``kernel(X, Y)`` the
    matrix between the rows of X and of Y. ``compute_gram`` does the same in tiles, on a cluster, into a store.
    """

    name: ClassVar[str] = ""
    collapses: ClassVar[bool] = False
    """Whether equal samples may be computed once: true of exact kernels only, whose values nothing else can change."""

    @property
    def takes_sparse(self) -> bool:
        """Whether ``prepare`` takes a SciPy CSR array of samples too, with the same values of the kernel."""
        return False

    @property
    def takes_bags(self) -> bool:
        """Whether samples are `Bags`."""
        return False

    def refuse_bags(self, source: Any) -> None:
        """Refuse bags where the kernel compares vectors, of which their rows would be some.

        Raises
        ------
        InputError
            If the samples are bags, and the kernel does not take those.
        """
        if source.ragged and not self.takes_bags:
            raise InputError(
                f"the samples are bags and {self!r} compares vectors: use a kernel of bags, such as MeanMap({self!r})"
            )

    # What a kernel provides ----------------------------------------------------------------------------------

    def prepare(self, X: Array, start: int = 0) -> Prepared:
        """Do the once-per-sample work for samples in rows, the first of which is number ``start`` of its cohort."""
        raise InputTypeError(f"{type(self).__name__} is no kernel of its own: use one of its subclasses")

    def tile(self, A: Prepared, B: Prepared) -> Floats:
        """Kernel values (len(A), len(B)) of two prepared blocks; ``A is B`` marks a tile on the diagonal."""
        raise InputTypeError(f"{type(self).__name__} is no kernel of its own: use one of its subclasses")

    def diagonal(self, A: Prepared) -> Floats:
        """k(x, x) of each prepared sample."""
        raise InputTypeError(f"{type(self).__name__} is no kernel of its own: use one of its subclasses")

    def bytes_per_tile(self, a: int, b: int, n: int) -> int:
        """Bytes that a tile of a × b entries on n features takes beyond the prepared blocks, its result included."""
        return 24 * a * b

    def drawn(self, count: int, n: int) -> Array:
        """Samples to measure the kernel on: normal values (count, n)."""
        return np.random.default_rng(0).normal(size=(count, n))

    def cost(self, a: int, b: int, n: int) -> float:
        """Seconds that a tile of a × b entries on n features takes on one core here, measured on drawn samples.

        Measured once a process for each kernel and n; a plan measures the samples of its own cohort instead.
        """
        return drawn_samples_seconds(self, n).of_tile(a, b)

    def stored(self) -> Kernel:
        """The kernel whose values a store keeps for this one: another one where many are made of the same values."""
        return self

    @property
    def summary(self) -> tuple[str, ...]:
        """Names of the prepared arrays, one number a sample, that `from_stored` takes."""
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

    def could_have_prepared(self, A: Prepared, n: int) -> bool:
        """Whether a block that came out of a file may be one of this kernel on n features, so that it can be used.

        Types and shapes are compared with those of a sample that is prepared here, which takes the memory of some
        samples of n features; what compiled code takes for indices is checked by ``is_sound``.
        """
        lengths = {array.shape[:1] for array in A.arrays.values()}
        if len(lengths) > 1 or (A.is_sparse and not self.takes_sparse):
            return False
        try:
            return A.layout() == _layout(self, n, A.is_sparse) and self.is_sound(A)
        except InputError:  # it takes no samples of n features
            return False

    def is_sound(self, A: Prepared) -> bool:
        """Whether values in a block of the right types and shapes are safe to compute with; True unless overridden."""
        return True

    def stored_dtype(self, n: int, dtype: str) -> str:
        """Type in which a store keeps values of samples of n features, where the user asks for ``dtype``."""
        return dtype

    def check(self, X: Array, ids: Names = None, features: Names = None) -> None:
        """Refuse samples for which the kernel is not defined.

        Raises
        ------
        SampleError
            Names the first such sample.
        """

    def resolve(self, X: Any, seed: int = 0) -> Kernel:
        """Turn parameters that depend on the cohort, as a median bandwidth does, into numbers."""
        return self

    # What all kernels share ----------------------------------------------------------------------------------

    def __call__(self, X: Any, Y: Any = None) -> Floats:
        """Kernel matrix between the rows of X and those of Y (of X by default), computed in this process."""
        rows = as_source(X)
        cols = rows if Y is None else as_source(Y)
        if rows.shape[1] != cols.shape[1] and not (rows.ragged and cols.ragged):
            raise InputError(f"X has {rows.shape[1]} features and Y has {cols.shape[1]}; they must be the same")
        refuse_other_features(cols.features, rows.features, "X")
        kernel = self.resolve(cols)
        A = kernel.prepared(rows)
        return kernel.tile(A, A if Y is None else kernel.prepared_like(A, cols))

    def prepared(self, source: Any) -> Prepared:
        """Read, check and prepare all samples of a source; without writing zeros down where they are left out."""
        if not (self.takes_sparse and source.sparse):
            return self.prepare(self.checked(source))
        X = source.read_sparse(slice(0, source.shape[0]))
        sparse = X.nnz <= SPARSE * X.shape[0] * X.shape[1]
        return self.prepare(self._checked_sparse(X, source) if sparse else self.checked(source))

    def prepared_like(self, other: Prepared, source: Any) -> Prepared:
        """Read, check and prepare all samples of a source in the layout in which others are prepared."""
        if not other.is_sparse:
            return self.prepare(self.checked(source))
        return self.prepare(self._checked_sparse(source.read_sparse(slice(0, source.shape[0])), source))

    def checked(self, source: Any) -> Array:
        """Read a whole source and check its samples by their names."""
        self.refuse_bags(source)
        X = source.read(slice(0, source.shape[0]))
        self.check(X, source.ids, source.features)
        return X

    def _checked_sparse(self, X: Any, source: Any) -> Any:
        for rows in strips(X.shape[0], X.shape[1]):
            self.check(X[rows].toarray(), None if source.ids is None else source.ids[rows], source.features)
        return X

    def normalized(self) -> Kernel:
        """k(x, y) / sqrt(k(x, x) k(y, y)): every sample scaled to norm 1 in feature space."""
        return _algebra().Normalized(self)

    def __add__(self, other: Any) -> Kernel:
        return _algebra().Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Kernel):
            return _algebra().Product(self, other)
        return _algebra().Scaled(self, float(other)) if isinstance(other, Real) else NotImplemented

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Kernel:
        return _algebra().Power(self, exponent)

    # Names and parameters ------------------------------------------------------------------------------------

    def spec(self) -> Spec:
        """Name and hyperparameters as JSON-ready values; ``registry.from_spec`` builds the kernel back."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"kernel": self.name} | {name: _plain(value) for name, value in fields.items()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Hyperparameters by name; those of the operands as ``operand__name`` when ``deep``."""
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


@lru_cache(maxsize=16)
def _layout(kernel: Kernel, n: int, sparse: bool) -> dict[str, tuple[Any, ...]]:
    """Layout of what a kernel prepares of samples of n features."""
    if sparse:
        from scipy.sparse import csr_array  # only here, so that a worker of dense samples need not load it

        return kernel.prepare(csr_array(([1.0], ([0], [0])), shape=(1, n))).layout()
    for sample in kernel.drawn(TRIED, n):
        if len(sample) != n:
            break
        with suppress(SampleError):  # another one may do
            kernel.check(sample[None])
            return kernel.prepare(sample[None]).layout()
    raise InputError(f"no sample of {n} features that was tried will do")


def _plain(value: Any) -> Any:
    """Turn a hyperparameter into what JSON holds."""
    if isinstance(value, Kernel):
        return value.spec()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _algebra() -> ModuleType:
    """The kernels made of kernels: kernels themselves, so their module needs this one first."""
    return import_module("distkern.kernels.algebra")
