"""Two base classes of estimators: one for raw samples only, one for kernel values or raw samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from copy import copy
from functools import wraps
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError, InputTypeError
from distkern.core.feature_names import WITHOUT_THEM, find_names, missing_features
from distkern.core.typing import Array, Floats, Indices
from distkern.core.validation import Names, are_named, warn_of_constant, warn_without_names
from distkern.io.source import Source, as_source
from distkern.kernels.base import Kernel, check_source, finite_tile
from distkern.kernels.incomplete import Incomplete
from distkern.kernels.planning import bytes_per_tile
from distkern.learners.identity import identity_of, keep_identity, refuse_other_matrix
from distkern.learners.memory import BLOCKS_OF_VIEW, block_bytes, limited_to, require_memory, row_blocks
from distkern.learners.validation import (
    labelled_table,
    named_gram,
    refuse_other_columns,
    require_square,
    validated,
)
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram
from distkern.operators.checks import finite, require_symmetric

Self = TypeVar("Self", bound="KernelEstimator")


PLAIN: dict[str, Any] = {"dtype": "numeric", "ensure_all_finite": False}
"""How scikit-learn validates samples: their values are validated by the kernel, or by the learner."""


class SampleEstimator(BaseEstimator):
    """An estimator that takes samples: rows of features, in any container that `compute_gram` accepts."""

    n_features_in_: int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let all that ``fit`` calls know the memory limit of the learner."""
        super().__init_subclass__(**kwargs)
        if "fit" in vars(cls):
            cls.fit = _within_limit(vars(cls)["fit"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_clone__(self) -> Any:
        """Copy the parameters; an executor, such as a Dask client, cannot be copied and is shared."""
        executor = getattr(self, "executor", None)
        if executor is None:
            return super().__sklearn_clone__()
        bare = copy(self)
        bare.executor = None
        other = super(SampleEstimator, bare).__sklearn_clone__()
        other.executor = executor
        return other

    def _refuse_gram(self, X: Any) -> None:
        """Refuse a Gram matrix in the place of samples."""
        if isinstance(X, BaseGram):
            raise InputTypeError(f"{type(self).__name__} takes samples, not a Gram matrix: give the samples themselves")

    def _samples(self, X: Any, *, reset: bool) -> Source:
        """View raw samples as a `Source`; with ``reset``, set the attributes that describe the features, else compare.

        Values are not validated here, because each kernel has its own requirements.
        """
        self._refuse_gram(X)
        plain = PLAIN | {"reset": reset}
        if isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray):
            return as_source(validated(self, X, **plain))
        if hasattr(X, "iloc") and reset:  # scikit-learn stores the names of the columns of a DataFrame
            validated(self, X, skip_check_array=True)
        try:
            source = as_source(X)
        except InputTypeError:  # lists and other array-likes of scikit-learn
            return as_source(validated(self, X, **plain))
        if reset:
            self.n_features_in_ = source.shape[1]
            if not hasattr(X, "iloc"):
                self._set_feature_names(source.features)
            return source
        known = getattr(self, "feature_names_in_", None)
        known = None if known is None else tuple(known)
        source = source.selected(known, "X", WITHOUT_THEM if hasattr(self, "kernel") else "")
        self._refuse_other_number(source)
        warn_without_names(known, source.features, "X")
        return source

    def _refuse_other_number(self, source: Source) -> None:
        """Refuse samples with another number of features than the training samples, unless they are bags."""
        if source.shape[1] != self.n_features_in_ and not source.ragged:
            raise InputError(
                f"X has {source.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input"
            )

    def _set_feature_names(self, names: Names) -> None:
        """Set ``feature_names_in_``, or delete it if the features have no names."""
        if names is not None and are_named(names):
            self.feature_names_in_ = np.array(names, dtype=object)
        else:
            delete_attribute(self, "feature_names_in_")

    def _found_by_name(self, X: Any) -> tuple[Source, Indices]:
        """View new samples, and find each feature of the training samples among theirs: its position, −1 if absent.

        Where both sides have names, the names decide: in any order, and among others. Otherwise the position decides,
        and the number of features must be the same.

        Raises
        ------
        InputError
            If no feature is found, the number of features without names differs, or a name of the training samples
            occurs twice.
        """
        self._refuse_gram(X)
        every, plain = np.arange(self.n_features_in_), PLAIN | {"reset": False}
        if isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray):
            return as_source(validated(self, X, **plain)), every
        try:
            source = as_source(X)
        except InputTypeError:  # lists and other array-likes of scikit-learn
            return as_source(validated(self, X, **plain)), every
        known = getattr(self, "feature_names_in_", None)
        if known is not None and source.features is not None and are_named(source.features):
            places = find_names(tuple(known), source.features, "X")
            if (places < 0).all():
                raise missing_features(known, known, source.features, "X", samples=source.ids)
            return source, places
        self._refuse_other_number(source)
        warn_without_names(None if known is None else tuple(known), source.features, "X")
        return source, every


class KernelEstimator(SampleEstimator):
    """An estimator with a parameter ``kernel``.

    ``kernel="precomputed"``: X contains kernel values, a Gram matrix or an array. A `Kernel`: X contains samples.

    Kernels are immutable: ``set_params(kernel__lam=0.1)`` replaces the kernel by a changed copy.
    """

    kernel: Any
    kernel_: Any
    prepared_: Any
    training_ids_: Array

    def set_params(self: Self, **params: Any) -> Self:
        """Set parameters of the estimator, and parameters of its kernel as ``kernel__<name>``."""
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

    # Validation of X -------------------------------------------------------------------------------------------------

    def _refuse_gram(self, X: Any) -> None:
        """Refuse a Gram matrix where there is a kernel of samples."""
        if isinstance(X, BaseGram):
            raise InputTypeError(
                f"{type(self).__name__} with kernel={self.kernel!r} takes samples: for a Gram matrix leave the kernel "
                "at 'precomputed'"
            )

    def _takes_samples(self) -> bool:
        """Whether X contains samples; otherwise it contains kernel values."""
        if isinstance(self.kernel, Kernel):
            return True
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            return False
        raise InputError(f"kernel must be 'precomputed' or a kernel such as distkern.Kendall(); got {self.kernel!r}")

    def _matrix(self, X: Any, *, reset: bool) -> Any:
        """Validate kernel values; with ``reset``, set the attributes that describe the columns, else compare with them.

        Returns a Gram matrix unchanged, and anything else as an array.
        """
        if not isinstance(X, BaseGram):
            X = labelled_table(X)
            if reset:
                delete_attribute(self, "training_ids_")
                keep_identity(self, None)
            elif hasattr(X, "iloc") and hasattr(self, "training_ids_") and X.shape[1:] == (len(self.training_ids_),):
                columns = SimpleNamespace(col_ids=tuple(map(str, X.columns)))
                refuse_other_columns(tuple(self.training_ids_), columns)
                X = X.to_numpy()  # its names have been compared: those of a Gram matrix are no feature_names_in_
            return validated(self, X, reset=reset, dtype=np.float64)
        if reset:
            self.n_features_in_ = X.shape[1]
            self.training_ids_ = np.array(X.col_ids, dtype=object)
            keep_identity(self, X.identity)
        elif X.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input: a column of kernel values for every training sample"
            )
        else:
            self._refuse_other(X)
        return X

    def _refuse_other(self, X: BaseGram) -> None:
        """Refuse a matrix that contradicts the training matrix: other columns, or values of another kernel or view."""
        names = getattr(self, "training_ids_", getattr(self, "feature_names_in_", None))  # of a matrix, or of a frame
        refuse_other_columns(names, X)
        refuse_other_matrix(identity_of(self), X.identity, X.col_ids)

    # Kernel values ---------------------------------------------------------------------------------------------------

    def _training_gram(self, X: Any, memory_limit: int | str | None = None) -> BaseGram:
        """Kernel values between the training samples: a Gram matrix unchanged, an array, or computed from samples.

        Sets ``kernel_``, the kernel with all data-dependent parameters fixed, and ``prepared_``, the prepared samples,
        if X contains samples.
        """
        if self._takes_samples():
            source = self._samples(X, reset=True)
            self.kernel_ = self.kernel.resolve(source, 0)
            self._require_memory(len(source), len(source), memory_limit)
            self.prepared_ = self.kernel_.prepare(check_source(self.kernel_, source))
            computed = finite_tile(self.kernel_, self.prepared_, self.prepared_, source.ids, source.ids)
            return ArrayGram(computed, row_ids=source.ids)
        values = self._matrix(X, reset=True)
        require_square(values)
        if isinstance(values, BaseGram):
            return values
        require_symmetric(values)
        gram = named_gram(values, X)
        require_square(gram)  # a table may name its rows and columns in unlike orders
        return gram

    def _keep_samples(self, positions: Indices) -> None:
        """Reduce ``prepared_`` to the samples that the decision function needs, in this order."""
        if self._takes_samples():
            self.prepared_ = self.prepared_.take(positions)

    def _expansion(self, X: Any, coefficients: Floats, positions: Indices | None = None) -> Floats:
        """Σ_j k(x, x_j) c_j for each sample x of X, (samples, ...).

        Parameters
        ----------
        X
            Kernel values with all training samples, (samples, m), or raw samples.
        coefficients
            c, (m, ...), or (len(positions), ...).
        positions
            Positions of the training samples with a coefficient; all training samples by default. Only their columns
            are read. With raw samples, these are the samples kept by `_keep_samples`.
        """
        check_is_fitted(self)
        if self._takes_samples():
            source = self._samples(X, reset=False)
            parts = [np.empty((0, *coefficients.shape[1:]))]
            for rows in row_blocks(len(source), max(len(self.prepared_), source.shape[1])):
                names = None if source.ids is None else source.ids[rows]
                if source.interleaving:
                    values, _ = Incomplete(self.kernel_).against(source.read(rows), self.prepared_, names)
                else:
                    block = self.kernel_.prepare(read_samples(self.kernel_, source, rows), rows.start)
                    values = finite_tile(self.kernel_, block, self.prepared_, names)
                    if not self.kernel_.has_zero:
                        warn_of_constant(self.kernel_.diagonal(block) == 0, source.ids, rows.start)
                parts.append(values @ coefficients)
            return np.concatenate(parts)
        X = self._matrix(X, reset=False)
        gram = X if isinstance(X, BaseGram) else ArrayGram(X)
        return finite((gram if positions is None else gram[:, positions]).matmat(coefficients))

    def _require_memory(self, rows: int, cols: int, memory_limit: int | str | None) -> None:
        """Refuse to compute a kernel matrix (rows, cols) that does not fit in memory."""
        values = 16 * rows * cols + block_bytes(rows, cols, BLOCKS_OF_VIEW, memory_limit)
        needed = max(bytes_per_tile(self.kernel_, rows, cols, self.n_features_in_), values)
        require_memory(needed, memory_limit, f"the kernel between {rows:,} and {cols:,} samples")


def _within_limit(fit: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(fit)
    def limited(self: Any, *args: Any, **kwargs: Any) -> Any:
        with limited_to(getattr(self, "memory_limit", None)):
            return fit(self, *args, **kwargs)

    return limited


def delete_attribute(estimator: Any, name: str) -> None:
    """Delete an attribute that an earlier fit may have set."""
    if hasattr(estimator, name):
        delattr(estimator, name)


def read_samples(kernel: Kernel, source: Source, rows: slice) -> Array:
    """Read some samples and validate them with the kernel; its errors name the samples."""
    X = source.read(rows)
    names = map(str, range(rows.start, rows.stop)) if source.ids is None else source.ids[rows]
    kernel.check(X, tuple(names), source.features)
    return X
