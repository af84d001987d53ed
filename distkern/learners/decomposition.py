"""Kernel principal component analysis of a Gram matrix or samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError
from distkern.core.parameters import flag, one_of
from distkern.core.sentences import Parameter, Sentence
from distkern.core.typing import Floats
from distkern.core.warning import warn
from distkern.learners.base import KernelEstimator
from distkern.learners.memory import bytes_of_reading, memory_allowed, read_matrix, require_memory
from distkern.learners.randomness import random_state_of
from distkern.learners.registry import saveable
from distkern.learners.validation import refuse_misaligned
from distkern.operators.array import ArrayGram
from distkern.operators.base import ROUNDING, BaseGram
from distkern.operators.checks import finite
from distkern.solvers.eigen import Eigenpairs, bytes_of_search, dense_eigenpairs, largest_eigenpairs

DENSE_SAMPLES = 500
"""Largest number of samples for which ``"auto"`` decomposes the whole matrix: Lanczos is not faster."""

SIGNIFICANT = 1e-7
"""A negative eigenvalue larger than this fraction of the largest eigenvalue is not caused by rounding."""

NOTHING = 1e-12
"""An eigenvalue below this fraction of the largest one counts as zero."""


@saveable
class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""Kernel principal component analysis: eigenvectors of the centred Gram matrix.

    .. math::

        K_c v_j = \lambda_j v_j, \qquad z_j(x) = \sum_i \frac{v_{ij}}{\sqrt{\lambda_j}}\, k_c(x, x_i)

    where x_i are the m training samples and k_c is the kernel centred on them, k_c(x, y) = k(x, y) − mean_i k(x, x_i) −
    mean_i k(x_i, y) + mean_ij k(x_i, x_j). Schölkopf, Smola and Müller, "Nonlinear component analysis as a kernel
    eigenvalue problem", Neural Computation 10 (1998).

    Parameters
    ----------
    n_components
        Number of components; by default all with nonzero variance, which requires the matrix in memory.
    kernel
        ``"precomputed"``: X contains kernel values, a Gram matrix or an array. A kernel such as ``Kendall()``: X
        contains samples, and the kernel values are computed in this process.
    center
        Centre in feature space; no centred copy of the matrix is made. Set to False for centred kernel values.
    eigen_solver
        ``"dense"``: LAPACK on the matrix in memory. ``"lanczos"``: block Lanczos, by products with the matrix, which is
        read into memory once if it fits, else in one pass for each product. ``"auto"``: dense for few samples or many
        components.
    tol
        Largest residual ‖K_c v − λ v‖ at which Lanczos stops, relative to the largest eigenvalue.
    max_iter
        Maximum number of products of Lanczos.
    random_state
        Seed of the start vectors of Lanczos.
    memory_limit
        Memory that fitting may use, in bytes or text such as ``"2GiB"``; by default half of the available memory.

    Attributes
    ----------
    eigenvalues_
        λ, descending, (components,).
    eigenvectors_
        v, (m, components). The entry of largest size of each is positive.
    explained_variance_ratio_
        λ divided by the trace of the centred matrix, (components,).
    residual_
        ‖K_c v − λ v‖ of each pair, (components,).
    means_, grand_mean_
        Row means of the training matrix, (m,), and its mean; only with ``center``.
    n_passes_, bytes_read_
        Passes over the matrix, and bytes read from storage.
    n_iter_
        Number of products of Lanczos; 1 for LAPACK.
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
    KernelFisherDiscriminant : Directions that separate classes.
    distkern.plot.plot_kernel_pca : The figure of two components.
    sklearn.decomposition.KernelPCA : The same for arrays that fit in memory.

    Examples
    --------
    >>> samples = np.array([[0.0, 0.0], [2.0, 1.0], [2.0, -1.0], [8.0, 0.0]])
    >>> model = KernelPCA(n_components=1).fit(samples @ samples.T)
    >>> model.transform([[9.0, 0.0]] @ samples.T).round(9)
    array([[6.]])
    >>> model.explained_variance_ratio_.round(3)
    array([0.947])
    """

    eigenvalues_: Floats
    eigenvectors_: Floats

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "precomputed",
        center: bool = True,
        eigen_solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 100,
        random_state: Any = 0,
        memory_limit: int | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.center = center
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.memory_limit = memory_limit

    def fit(self, X: Any, y: Any = None) -> KernelPCA:
        """Compute the components of the training matrix (m, m), or of the samples (m, n).

        Raises
        ------
        InputError
            If the matrix is not square and symmetric, has values that are not finite, all samples are equal in feature
            space, or the computed eigenvalues show that the matrix is not positive semidefinite.
        MemoryLimitError
            If the solver does not fit in memory; raised before the matrix is read.

        Warns
        -----
        ConvergenceWarning
            If Lanczos stops before all residuals are below the tolerance.
        """
        self._check_parameters()
        refuse_misaligned(y, X)
        gram = self._training_gram(X, self.memory_limit)
        m, before = gram.shape[0], gram.bytes_read()
        if m == 1:
            raise InputError("got 1 sample: it equals the mean, so there is no variance; give more samples")
        count = m if self.n_components is None else int(self.n_components)
        if count > m:
            raise InputError(f"n_components={count} is more than the {m} samples: give at most {m}")
        dense = self._is_dense(gram, count)
        matrix = self._read_if_possible(gram, count, dense)
        view, passes = self._centered(matrix)
        total = _total_variance(view)
        found = self._solve(view, count, dense)
        self.n_iter_ = max(1, found.passes)
        self.n_passes_ = 1 if dense or matrix is not gram else passes + found.passes
        self.bytes_read_ = gram.bytes_read() - before
        self._set_components(found, total)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Fit, and return the components of the training samples, (m, components), without another pass."""
        self.fit(X, y)
        return self.eigenvectors_ * np.sqrt(self.eigenvalues_)

    def transform(self, X: Any) -> Floats:
        """Components of new samples, (samples, components).

        Parameters
        ----------
        X
            Gram matrix or array, (samples, m); or raw samples if the estimator has a kernel.

        Raises
        ------
        InputError
            If X has another number of columns than training samples, or values that are not finite.
        """
        check_is_fitted(self)
        weights, offsets = self._expanded()
        return self._expansion(X, weights) + offsets

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def _expanded(self) -> tuple[Floats, Floats]:
        """Coefficients of the training samples, (m, components), and offsets: z(x) = Σ_i c_i k(x, x_i) + offset."""
        positive = self.eigenvalues_ > 0  # a component without variance is 0 for every sample
        weights = np.where(positive, self.eigenvectors_ / np.sqrt(np.where(positive, self.eigenvalues_, 1.0)), 0.0)
        if not self.center:
            return weights, np.zeros(weights.shape[1])
        offsets = self.grand_mean_ * weights.sum(axis=0) - self.means_ @ weights
        return weights - weights.mean(axis=0), offsets

    # Fitting ---------------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        count = self.n_components
        if count is not None and not (isinstance(count, (int, np.integer)) and count >= 1):
            raise InputError(f"n_components must be a whole number of 1 or more, or None for all; got {count!r}")
        one_of(self.eigen_solver, "eigen_solver", ("auto", "dense", "lanczos"))
        flag(self.center, "center")
        if count is None and self.eigen_solver == "lanczos":
            raise InputError("Lanczos finds a few components: give n_components, or leave eigen_solver at 'auto'")

    def _is_dense(self, gram: BaseGram, count: int) -> bool:
        """Whether to use LAPACK; refuse if it is required and the matrix does not fit in memory."""
        m, reading = gram.shape[0], bytes_of_reading(gram, self.memory_limit)
        needed = 32 * m**2 + reading  # matrix, centred matrix, LAPACK's copy, eigenvectors
        must = self.eigen_solver == "dense" or self.n_components is None
        if must:
            require_memory(needed, self.memory_limit, f"finding {count:,} components of {m:,} samples with LAPACK")
            return True
        few = m <= DENSE_SAMPLES or 10 * count > m
        return self.eigen_solver == "auto" and few and needed <= memory_allowed(self.memory_limit)

    def _read_if_possible(self, gram: BaseGram, count: int, dense: bool) -> BaseGram:
        """Read the matrix into memory if it fits; refuse if the vectors of the solver do not fit either."""
        m = gram.shape[0]
        if isinstance(gram, ArrayGram):
            return gram
        search = bytes_of_search(m, count)
        needed = 8 * m**2 + search + bytes_of_reading(gram, self.memory_limit)
        if dense or needed <= memory_allowed(self.memory_limit):
            return ArrayGram(read_matrix(gram), row_ids=gram.row_ids)
        require_memory(search, self.memory_limit, f"finding {count:,} components of {m:,} samples")
        return gram

    def _centered(self, gram: BaseGram) -> tuple[BaseGram, int]:
        """View whose eigenvectors are the components, and the number of passes to compute its means."""
        if not self.center:
            return gram, 0
        centered = gram.centered()
        self.means_, self.grand_mean_ = centered.row_means, centered.grand_mean
        finite(self.means_)
        return centered, 1

    def _solve(self, view: BaseGram, count: int, dense: bool) -> Eigenpairs:
        if dense:
            return dense_eigenpairs(read_matrix(view), count)
        seed = int(random_state_of(self.random_state).randint(2**31 - 1))
        found = largest_eigenpairs(view, count, tol=self.tol, max_passes=self.max_iter, seed=seed)
        if not found.converged:
            message = Sentence(
                "Lanczos stopped after {products} products with a residual of {residual:.3g}, {fraction:.3g} of the "
                "largest eigenvalue, above tol={bound:g}: raise {max_iter} or {tol}, or {n_components} if the last "
                "eigenvalues are nearly equal",
                products=found.passes,
                residual=found.residuals.max(),
                fraction=found.residuals.max() / np.abs(found.values).max(),
                bound=self.tol,
                max_iter=Parameter("max_iter"),
                tol=Parameter("tol"),
                n_components=Parameter("n_components"),
            )
            warn(ConvergenceWarning(message))
        return found

    def _set_components(self, found: Eigenpairs, total: float) -> None:
        largest = found.values[0]
        if found.values[-1] < -SIGNIFICANT * abs(largest) or found.values.sum() > (1 + SIGNIFICANT) * total:
            raise InputError(
                f"the matrix is not positive semidefinite: its largest eigenvalues are {found.values[0]:.6g} to "
                f"{found.values[-1]:.6g} and its trace is {total:.6g}; use a kernel that is, such as Kendall"
            )
        values = np.where(found.values > NOTHING * largest, found.values, 0.0)
        kept = slice(None) if self.n_components is not None else values > 0
        self.eigenvalues_, self.eigenvectors_ = values[kept], found.vectors[:, kept]
        self.residual_ = found.residuals[kept]
        self.explained_variance_ratio_ = self.eigenvalues_ / total


def _total_variance(view: BaseGram) -> float:
    """Trace of the matrix, from its diagonal alone."""
    diagonal = finite(view.diag())
    floor = max(view.norm_floor(), ROUNDING * float(np.abs(diagonal).max()))
    if diagonal.min() < -floor:
        raise InputError(
            f"the matrix is not positive semidefinite: sample {view.row_ids[int(diagonal.argmin())]!r} has the squared "
            f"norm {diagonal.min():.6g} in feature space; use a kernel that is, such as Kendall"
        )
    if diagonal.max() <= floor:
        raise InputError("all samples are one point in feature space: there is no variance, so no component")
    return float(diagonal.sum())
