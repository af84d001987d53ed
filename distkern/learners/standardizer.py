"""Centring and scaling to unit norm in feature space, as lazy views of a Gram matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from distkern.core.alignment import SampleNames, aligned
from distkern.core.containers import as_floats
from distkern.core.errors import InputError
from distkern.core.parameters import flag
from distkern.core.typing import Array, Floats, Indices
from distkern.core.validation import warn_of_constant
from distkern.io.source import Source
from distkern.kernels.base import check_source, finite_tile
from distkern.kernels.incomplete import Incomplete
from distkern.learners.base import KernelEstimator
from distkern.learners.identity import identity_of
from distkern.learners.memory import read_matrix
from distkern.learners.registry import saveable
from distkern.learners.validation import refuse_misaligned, samples_of
from distkern.operators.array import ArrayGram
from distkern.operators.base import BaseGram, CenteredGram, View
from distkern.operators.checks import finite, is_symmetric
from distkern.operators.identity import Identity


@saveable
class KernelStandardizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""Centre kernel values on the training samples, then scale each sample to norm 1.

    .. math::

        k_c(x, y) &= k(x, y) - \tfrac1m\sum_t k(x, t) - \tfrac1m\sum_t k(t, y) + \tfrac1{m^2}\sum_{t,u} k(t, u) \\
        k_s(x, y) &= k_c(x, y) / \sqrt{k_c(x, x)\, k_c(y, y)}

    where t and u run over the m training samples. Jiao & Vert, *The Kendall and Mallows kernels for permutations*,
    section 6.

    Parameters
    ----------
    center
        Subtract the means.
    unit_norm
        Scale to norm 1, after centring if both are set.
    diagonal
        k(x, x) of the samples passed to ``transform``. Required if X is an array of kernel values between new samples
        (rows) and training samples (columns), because such an array does not contain k(x, x). A number if it is the
        same for all samples, such as 1.0 for the Gaussian, Mallows and tau-b Kendall kernels, or an array with one
        value for each row. The argument ``diagonal`` of ``transform`` has precedence. Not needed for Gram matrices and
        samples.
    kernel
        ``"precomputed"``: X contains kernel values, a Gram matrix or an array. A kernel such as ``Kendall()``: X
        contains samples, and the kernel values are computed in this process.
    memory_limit
        Memory for the kernel values of samples, in bytes or text such as ``"2GiB"``; by default half of the available
        memory.

    Attributes
    ----------
    diagonal_
        k(x, x) of the training samples, (m,).
    means_
        Row means of the training matrix, (m,); only with ``center``.
    grand_mean_
        Mean of the training matrix; only with ``center``.
    kernel_, prepared_
        Kernel with all data-dependent parameters fixed, and the prepared training samples; only if X contains samples.
    n_features_in_
        Number of columns of X.
    training_ids_, training_digests_, training_values_
        Names of the training samples, digests of their data, and the kernel and views of the training matrix; only if X
        is a Gram matrix that knows them. Other Gram matrices must not contradict them.
    feature_names_in_
        Names of the features; only if the samples have them. New samples must have the same names in the same order.

    See Also
    --------
    ArrayGram.centered, ArrayGram.unit_norm : The same as views of one matrix.
    sklearn.preprocessing.KernelCenterer : Centring alone.

    Notes
    -----
    The transform of a Gram matrix is a lazy view; ``fit`` reads the matrix once for the means, ``transform`` once more.
    The transform of an array is a new array. With ``set_output(transform="pandas")`` both become a DataFrame in memory,
    whose columns are named after the training samples.

    Examples
    --------
    >>> KernelStandardizer(unit_norm=False).fit([[1, 2, 3], [2, 4, 6], [3, 6, 9]]).transform([[4, 8, 12], [5, 10, 15]])
    array([[-2.,  0.,  2.],
           [-3.,  0.,  3.]])
    """

    def __init__(
        self,
        *,
        center: bool = True,
        unit_norm: bool = True,
        diagonal: float | Array | None = None,
        kernel: Any = "precomputed",
        memory_limit: int | str | None = None,
    ) -> None:
        self.center = center
        self.unit_norm = unit_norm
        self.diagonal = diagonal
        self.kernel = kernel
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any = None) -> KernelStandardizer:
        """Compute the means of the training matrix (m, m), or of the samples (m, n).

        Raises
        ------
        InputError
            If the matrix is not square and symmetric, has values that are not finite, or a sample has norm zero.
        """
        refuse_misaligned(y, X)
        self._fit_view(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and return the standardised training matrix: a lazy view of a Gram matrix, else a new array."""
        refuse_misaligned(y, X)
        view = self._fit_view(X)
        return view if isinstance(X, BaseGram) else read_matrix(view)

    def transform(self, X: Any, diagonal: float | Array | None = None) -> Any:
        """Standardise kernel values between samples (rows) and the training samples (columns).

        Parameters
        ----------
        X
            Gram matrix or array, (samples, m); or raw samples if the estimator has a kernel.
        diagonal
            k(x, x) of the rows; see the class parameter of this name.

        Returns
        -------
        Gram or ndarray
            Standardised kernel values (samples, m): a lazy view of a Gram matrix, else a new array.

        Raises
        ------
        InputError
            If X has another number of columns than training samples, if k(x, x) of the rows is required and not given,
            or if a sample has norm zero.
        """
        check_is_fitted(self)
        view = self._standardized(self._cross_matrix(X, diagonal))
        return view if isinstance(X, BaseGram) else read_matrix(view)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns of the output, which are the training samples, (m,).

        Their own names where the training matrix had them, else ``kernelstandardizer0`` and so on.
        """
        check_is_fitted(self)
        numbered = super().get_feature_names_out(input_features)
        names = getattr(self, "training_ids_", numbered)
        return names if self._takes_samples() else getattr(self, "feature_names_in_", names)

    @property
    def _n_features_out(self) -> int:
        return len(self.diagonal_)

    # Training ------------------------------------------------------------------------------------------------------

    def _fit_view(self, X: Any) -> BaseGram:
        """Set the fitted attributes; return the standardised view of the training matrix."""
        gram = self._training_gram(X, self.memory_limit)
        for name in ("center", "unit_norm"):
            flag(getattr(self, name), name)
        if self.unit_norm and self.center and gram.shape[0] == 1:
            raise InputError("got 1 sample: it equals the mean, so it has norm zero after centring; give more samples")
        self.diagonal_ = gram.row_diag()
        if self.center:
            centered = gram.centered()
            self.means_, self.grand_mean_ = centered.row_means, centered.grand_mean
            finite(self.means_), finite(self.diagonal_)
        return self._standardized(gram)

    # New samples ---------------------------------------------------------------------------------------------------

    def _cross_matrix(self, X: Any, diagonal: float | Array | None) -> BaseGram:
        """Kernel values between new samples and training samples, with k(x, x) of both as far as it is known."""
        if self._takes_samples():
            return self._computed(self._samples(X, reset=False))
        names, X = samples_of(X), self._matrix(X, reset=False)
        if isinstance(X, BaseGram):
            if X.is_symmetric and len(X) == len(self.diagonal_):
                return self._training_again(X)
            return _Rectangle(X, self._given_diagonal(diagonal, names), self.diagonal_)
        if diagonal is None and self._is_training_array(X):
            return ArrayGram(X)
        rows = self._given_diagonal(diagonal, names)
        if rows is None and self.unit_norm:
            raise InputError(
                "unit norm needs k(x, x) of the samples, which a bare array between them and the training samples does "
                "not hold: pass diagonal= to transform or to KernelStandardizer (1.0 for kernels with k(x, x) = 1), "
                "give a Gram matrix, which keeps it, or set unit_norm=False"
            )
        return _Rectangle(ArrayGram(X), rows, self.diagonal_)

    def _computed(self, source: Source) -> BaseGram:
        """Compute the kernel between samples and training samples; a symmetric matrix if both are the same samples."""
        self._require_memory(len(source), len(self.prepared_), self.memory_limit)
        if source.interleaving:
            values, squares = Incomplete(self.kernel_).against(source.read(slice(0, None)), self.prepared_, source.ids)
            return _Rectangle(ArrayGram(values, row_ids=source.ids), squares, self.diagonal_)
        prepared = self.kernel_.prepare(check_source(self.kernel_, source))
        if _same_arrays(prepared, self.prepared_):
            values = finite_tile(self.kernel_, self.prepared_, self.prepared_, source.ids, source.ids)
            return ArrayGram(values, row_ids=source.ids)
        values = finite_tile(self.kernel_, prepared, self.prepared_, source.ids)
        squares = self.kernel_.diagonal(prepared)
        if not self.kernel_.has_zero:
            warn_of_constant(squares == 0, source.ids)
        return _Rectangle(ArrayGram(values, row_ids=source.ids), squares, self.diagonal_)

    def _given_diagonal(self, diagonal: float | Array | None, names: SampleNames) -> Floats | None:
        given, count = self.diagonal if diagonal is None else diagonal, names.count
        if given is None:
            return None
        values = as_floats(aligned(given, names, "diagonal"), "diagonal")
        if values.ndim == 0:
            values = np.full(count, float(values))
        if values.shape != (count,):
            raise InputError(
                f"diagonal has shape {values.shape}; X has {count} rows, so it must be ({count},) or a number"
            )
        if not (np.isfinite(values) & (values >= 0)).all():
            raise InputError("diagonal holds values that are negative or not finite; k(x, x) is a squared norm")
        return values

    def _training_again(self, gram: BaseGram) -> BaseGram:
        if not np.array_equal(gram.row_diag(), self.diagonal_):
            raise InputError(
                "the matrix to transform is symmetric but is not the training matrix: its columns must be the training "
                "samples, as in gram[np.ix_(test, train)]"
            )
        return gram

    def _is_training_array(self, X: Floats) -> bool:
        if X.shape[0] != X.shape[1] or not np.array_equal(X.diagonal(), self.diagonal_):
            return False
        if self.center and not np.allclose(X.mean(axis=1), self.means_, rtol=1e-9, atol=1e-9 * np.abs(X).max()):
            return False
        return is_symmetric(X)

    # Training and new samples ----------------------------------------------------------------------------------------

    def _standardized(self, gram: BaseGram) -> BaseGram:
        if self.center:
            means = self.means_
            if not gram.is_symmetric:
                means = gram.matmat(np.full(gram.shape[1], 1 / gram.shape[1]))
            own = identity_of(self)
            gram = CenteredGram(gram, means, self.means_, self.grand_mean_, None if own is None else own.mark())
        if self.unit_norm:
            gram = gram.unit_norm()
        return gram


class _Rectangle(View):
    """Kernel values between new samples and training samples, with k(x, x) of both as far as it is known."""

    def __init__(self, parent: BaseGram, row_diag: Floats | None, col_diag: Floats) -> None:
        super().__init__(parent)
        self._row_diag, self._col_diag = row_diag, col_diag

    @property
    def is_symmetric(self) -> bool:
        return False

    def transformed(self, values: Floats, rows: Indices, cols: Indices) -> Floats:
        """Return the values unchanged."""
        return values

    def _product(self, V: Floats, rows: Indices | None = None, cols: Indices | None = None) -> Floats:
        return self._parent._product(V, rows, cols)

    def row_diag(self) -> Floats:
        return self._parent.row_diag() if self._row_diag is None else self._row_diag

    def col_diag(self) -> Floats:
        return self._col_diag

    @property
    def identity(self) -> Identity | None:
        return self._parent.identity


def _same_arrays(left: Any, right: Any) -> bool:
    """Whether two prepared blocks hold the same samples in the same order."""
    return len(left) == len(right) and all(
        np.array_equal(left.arrays[name], right.arrays[name]) for name in right.arrays
    )
