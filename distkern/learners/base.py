"""What the learners share: immutable kernels as parameters, checked input, and the promise about memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from distkern.core.errors import InputError, InputTypeError, MemoryLimitError
from distkern.core.typing import Array, Floats, Indices
from distkern.core.units import parse_bytes
from distkern.core.validation import Names, refuse_other_features
from distkern.engine.memory import available_memory
from distkern.io.source import Source, as_source
from distkern.kernels.base import Kernel
from distkern.matrix.base import BaseGram

MEMORY_FRACTION = 0.5
"""Share of the memory available now that a learner takes unless ``memory_limit`` states another amount."""

BLOCK_BYTES = 2**26
"""Bytes of one block of kernel values while a matrix is read or computed piece by piece."""

BLOCKS_OF_VIEW = 8
"""Blocks in memory at a time, at most, while a view of views of a Gram matrix is read piece by piece."""

SYMMETRY_TOLERANCE = 1e-8
"""|k(x, y) − k(y, x)| beyond this fraction of the largest |k| is an asymmetric matrix, not rounding."""

Self = TypeVar("Self", bound="KernelEstimator")


class KernelEstimator(BaseEstimator):
    """An estimator with a parameter ``kernel``: ``"precomputed"`` where X holds kernel values, or a kernel of samples.

    Kernels are immutable, so ``set_params(kernel__lam=0.1)`` puts a changed copy in the kernel's place.
    """

    kernel: Any

    def set_params(self: Self, **params: Any) -> Self:
        """Set parameters of the estimator, and of its kernel by ``kernel__<name>``."""
        nested: dict[str, dict[str, Any]] = defaultdict(dict)
        own = {}
        for key, value in params.items():
            name, delimiter, rest = key.partition("__")
            if delimiter and isinstance(params.get(name, getattr(self, name, None)), Kernel):
                nested[name][rest] = value
            else:
                own[key] = value
        super().set_params(**own)
        for name, changes in nested.items():
            setattr(self, name, getattr(self, name).set_params(**changes))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    def _takes_samples(self) -> bool:
        """Whether X holds samples and not kernel values."""
        if isinstance(self.kernel, Kernel):
            return True
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            return False
        raise InputError(f"kernel must be 'precomputed' or a kernel such as distkern.Kendall(); got {self.kernel!r}")

    def _matrix(self, X: Any, *, reset: bool) -> Any:
        """Check kernel values and count their columns: a Gram matrix stays as it is, all else becomes an array."""
        if not isinstance(X, BaseGram):
            if reset:
                _forget(self, "training_ids_")
            return validated(self, X, reset=reset, dtype=np.float64)
        if reset:
            self.n_features_in_ = X.shape[1]
            self.training_ids_ = np.array(X.col_ids, dtype=object)
        elif X.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input: a column of kernel values for every training sample"
            )
        else:
            refuse_other_columns(getattr(self, "training_ids_", None), X)
        return X

    def _samples(self, X: Any, *, reset: bool) -> Source:
        """View raw samples as a source and count their features; which values will do is the kernel's to say."""
        if isinstance(X, BaseGram):
            raise InputTypeError(
                f"{type(self).__name__} with kernel={self.kernel!r} takes samples: for a Gram matrix leave the kernel "
                "at 'precomputed'"
            )
        plain: dict[str, Any] = {"reset": reset, "dtype": "numeric", "ensure_all_finite": False}
        if isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray):
            return as_source(validated(self, X, **plain))
        if hasattr(X, "iloc"):
            validated(self, X, **plain)  # remembers the names of the features, or compares them
        try:
            source = as_source(X)
        except InputTypeError:  # lists, and what else scikit-learn takes for an array
            return as_source(validated(self, X, **plain))
        if reset:
            self.n_features_in_ = source.shape[1]
            if not hasattr(X, "iloc"):
                self._remember_features(source.features)
        elif source.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {source.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input"
            )
        else:
            known = getattr(self, "feature_names_in_", None)
            refuse_other_features(None if known is None else tuple(known), source.features, "X")
        return source

    def _remember_features(self, names: Names) -> None:
        """Keep the names of the features as scikit-learn keeps those of a DataFrame."""
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        else:
            _forget(self, "feature_names_in_")


def _forget(estimator: Any, name: str) -> None:
    """Take away what another fit left."""
    if hasattr(estimator, name):
        delattr(estimator, name)


def refused_as_ours(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a function of scikit-learn and raise its complaints as distkern's errors."""
    try:
        return function(*args, **options)
    except ValueError as error:
        raise InputError(str(error)) from error
    except TypeError as error:
        raise InputTypeError(str(error)) from error


def validated(estimator: Any, X: Any, **options: Any) -> Array:
    """Let scikit-learn check X."""
    return refused_as_ours(validate_data, estimator, X, **options)


def row_blocks(rows: int, cols: int, limit: int = BLOCK_BYTES) -> Iterator[slice]:
    """Cut rows into runs whose ``cols`` float64 values each take at most ``limit`` bytes (one row at least)."""
    height = max(1, limit // max(1, 8 * cols))
    for start in range(0, rows, height):
        yield slice(start, min(start + height, rows))


def memory_at_work(rows: int, cols: int, blocks: int = 1) -> int:
    """Bytes of the blocks through which kernel values are read or checked, beside the values themselves."""
    return blocks * min(8 * rows * cols, BLOCK_BYTES)


def memory_allowed(limit: int | str | None) -> int:
    """Bytes a learner may take: the limit given, or ``MEMORY_FRACTION`` of what this process can still take now."""
    return int(available_memory() * MEMORY_FRACTION) if limit is None else parse_bytes(limit)


def require_memory(needed: int, limit: int | str | None, what: str) -> None:
    """Refuse work that cannot fit, before it starts.

    Raises
    ------
    MemoryLimitError
        If more bytes are needed than allowed; both are named.
    """
    allowed = memory_allowed(limit)
    if needed > allowed:
        source = f"{MEMORY_FRACTION:.0%} of the memory available now" if limit is None else "memory_limit"
        raise MemoryLimitError(
            f"{what} needs {needed:,} bytes of memory and {allowed:,} are allowed ({source}): use fewer samples or a "
            "machine with more memory, or raise memory_limit="
        )


def read_samples(kernel: Kernel, source: Source, rows: slice) -> Array:
    """Read some samples and let the kernel check them by their names."""
    X = source.read(rows)
    names = map(str, range(rows.start, rows.stop)) if source.ids is None else source.ids[rows]
    kernel.check(X, tuple(names), source.features)
    return X


def require_square(X: Any) -> None:
    """Refuse a training matrix whose rows and columns cannot be the same samples."""
    if X.shape[0] != X.shape[1]:
        raise InputError(
            f"the training matrix must be square, a row and a column for every sample; it has shape {tuple(X.shape)}"
        )
    if isinstance(X, BaseGram) and not X.is_symmetric:
        raise InputError(
            "the rows and the columns of the training matrix are not the same samples in the same order: slice both "
            "alike, as in gram[np.ix_(train, train)]"
        )


def require_symmetric(values: Floats) -> None:
    """Refuse a training matrix that is not symmetric up to ``SYMMETRY_TOLERANCE``."""
    asymmetry, largest = 0.0, 0.0
    for rows in row_blocks(*values.shape):
        largest = max(largest, float(values[rows].max()), -float(values[rows].min()))
        asymmetry = max(asymmetry, _largest_difference(values[rows], values[:, rows].T))
    if asymmetry > SYMMETRY_TOLERANCE * largest:
        raise InputError(
            f"the training matrix is not symmetric: k(x, y) and k(y, x) differ by up to {asymmetry:.3g}; average it "
            "with its transpose if that is rounding, and check the kernel if it is not"
        )


def _largest_difference(left: Floats, right: Floats) -> float:
    difference = left - right
    return max(float(difference.max()), -float(difference.min()))


def refuse_other_columns(known: Sequence[str] | None, gram: Any) -> None:
    """Refuse a matrix whose columns are other samples than those that a model was fitted on, as far as both have names.

    Positions name nothing: samples without names may be numbered in the matrix that they were taken from, or anew. Only
    where a model is given a matrix of samples with themselves, numbered otherwise, they are other samples for sure.

    Parameters
    ----------
    known
        Names of the training samples; None where they are not known.
    gram
        Matrix with ``col_ids``, as many as are known.

    Raises
    ------
    InputError
        Names the first column that differs.
    """
    new = tuple(gram.col_ids)
    if known is None or tuple(known) == new:
        return
    if _are_positions(known) or _are_positions(new):
        numbered = all(name.isdecimal() for name in (*known, *new))
        if not (numbered and getattr(gram, "is_symmetric", False)):
            return
    column = next(k for k, pair in enumerate(zip(known, new, strict=True)) if pair[0] != pair[1])
    raise InputError(
        f"the columns of the Gram matrix are not the samples that the model was fitted on: number {column} is "
        f"{new[column]!r}, not {known[column]!r}; give kernel values with the training samples as columns, as in "
        "gram[np.ix_(test, train)]"
    )


def _are_positions(names: Sequence[str]) -> bool:
    return all(name == str(position) for position, name in enumerate(names))


def read_matrix(gram: BaseGram) -> Floats:
    """Read a Gram matrix block by block into one array, so that no view needs temporaries of the whole size.

    Raises
    ------
    InputError
        If it holds values that are not finite.
    """
    values = np.empty(gram.shape)
    for rows, cols, block in gram.tiles():
        if not np.isfinite(block).all():
            raise InputError("the Gram matrix holds values that are not finite (NaN or infinite)")
        values[np.ix_(rows, cols)] = block
    return values


def labels_and_weights(y: Any, sample_weight: Any, samples: int) -> tuple[Array, Floats, Indices]:
    """Check labels and weights: labels and weights of the samples that count, and the positions of those."""
    labels = refused_as_ours(column_or_1d, y, warn=True)
    missing = _missing(labels)
    if len(missing):
        raise InputError(f"the label of sample {missing[0]} is missing (y contains NaN or None; {len(missing)} such)")
    refused_as_ours(check_classification_targets, labels)
    weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(len(labels), float(weights))
    for what, values in (("labels", labels), ("weights", weights)):
        if values.shape != (samples,):
            raise InputError(f"got {what} of shape {values.shape} for {samples} samples: give one for each")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise InputError("sample_weight holds values that are negative or not finite: give 0 to leave a sample out")
    kept = np.flatnonzero(weights)
    if len(kept) == 0:
        raise InputError("every sample weight is zero: no sample is left to train on")
    classes = np.unique(labels[kept])
    if len(classes) < 2:
        raise InputError(f"got 1 class, {classes.item(0)!r}: a classifier needs samples of two or more")
    return labels[kept], weights[kept], kept


def _missing(labels: Array) -> Indices:
    if labels.dtype.kind == "f":
        return np.flatnonzero(~np.isfinite(labels))
    if labels.dtype.kind != "O":
        return np.empty(0, dtype=np.intp)
    absent = [value is None or type(value).__name__ in ("NAType", "NaTType") or value != value for value in labels]
    return np.flatnonzero(absent)
